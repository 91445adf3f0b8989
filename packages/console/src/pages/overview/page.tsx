// The home page: whether anything needs the member, by urgency, each row with the place to act; below, seven
// days of activity.
import { Link } from 'wouter-preact';
import { Badge, ErrorNote, PageHead, Skeleton, Time } from '../../ui/parts';
import { Activity } from './activity';
import { type Item, type Overview, useOverview } from './data';
import { PARTS, type PartOf } from './parts';
import './overview.css';

/** The verdict in one sentence. */
const verdictOf = (total: number): string =>
  total === 0
    ? 'All clear'
    : total === 1
      ? 'One thing needs you'
      : `${total.toLocaleString()} things need you`;

function Row({ part, item }: { part: PartOf; item: Item }) {
  const name = part.of?.(item) ?? item.name ?? item.kind ?? '';
  return (
    <li class="need">
      <span class="need-name">
        <span class="truncate">{name}</span>
        {item.environment && <Badge>{item.environment}</Badge>}
      </span>
      <span class="dim small need-when">
        {item.time && (
          <>
            {part.when} <Time at={item.time} />
          </>
        )}
        {part.why && item.detail && `, ${part.why(item.detail)}`}
      </span>
      <Link href={part.at(item)} class="button plain small" aria-label={`${part.act}: ${name}`}>
        {part.act}
      </Link>
    </li>
  );
}

function Part({ part, overview }: { part: PartOf; overview: Overview }) {
  const found = overview[part.name];
  if (!found?.count) return null;
  const more = found.count - found.data.length;
  return (
    <section class="needs" aria-label={part.title}>
      <h2>
        {part.title} <Badge tone={part.tone}>{found.count}</Badge>
      </h2>
      <ul>
        {found.data.map((item) => (
          <Row key={item.id} part={part} item={item} />
        ))}
      </ul>
      {more > 0 && (
        <Link href={part.all} class="small">
          {more} more
        </Link>
      )}
    </section>
  );
}

export default function Page() {
  const { data, error, isPending, refetch } = useOverview();
  const looked = data ? PARTS.filter(({ name }) => data[name]).length : 0;
  return (
    <>
      <PageHead
        title="Overview"
        lead={data && <span class={data.total ? 'health' : 'health clear'}>{verdictOf(data.total)}</span>}
      />
      {error && <ErrorNote error={error} onRetry={refetch} />}
      {isPending && <Skeleton rows={5} />}
      {data && (
        <div class="overview">
          {PARTS.map((part) => (
            <Part key={part.name} part={part} overview={data} />
          ))}
          {data.total === 0 && looked > 0 && (
            <p class="note good">Nothing that your role shows you needs somebody.</p>
          )}
          {looked === 0 && (
            <p class="note">
              Your role shows nothing here. <Link href="/settings">Your account</Link> has your passkeys and
              sessions.
            </p>
          )}
          {data.activity && <Activity activity={data.activity} />}
        </div>
      )}
    </>
  );
}
