// The home page: whether anything needs the member, by urgency, each row with its action in place or the
// page to act on; below, seven days of activity.
import { lazy, Suspense } from 'preact/compat';
import { useState } from 'preact/hooks';
import { Link } from 'wouter-preact';
import { forget } from '../../requests/api';
import { Button } from '../../ui/controls/button';
import { Late } from '../../ui/late';
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

const loadAct = () => import('./act');
const Act = lazy(loadAct);

interface RowProps {
  part: PartOf;
  item: Item;
  onAct: () => void;
}

function Row({ part, item, onAct }: RowProps) {
  const name = part.of?.(item) ?? item.name ?? item.kind ?? '';
  const inPlace = part.inPlace?.can(item) ? part.inPlace : null;
  const page = { href: part.at(item), 'aria-label': `${part.act}: ${name}` };
  const act = async () => {
    await loadAct();
    onAct();
  };
  return (
    <li class="need">
      <span class="need-name">
        {inPlace ? (
          <Link {...page} class="truncate">
            {name}
          </Link>
        ) : (
          <span class="truncate">{name}</span>
        )}
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
      {inPlace ? (
        <Button small onPress={act} aria-label={`${inPlace.label}: ${name}`}>
          {inPlace.label}
        </Button>
      ) : (
        <Link {...page} class="button plain small">
          {part.act}
        </Link>
      )}
    </li>
  );
}

type Acting = { part: PartOf; item: Item };

interface PartProps {
  part: PartOf;
  overview: Overview;
  onAct: (acting: Acting) => void;
}

function Part({ part, overview, onAct }: PartProps) {
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
          <Row key={item.id} part={part} item={item} onAct={() => onAct({ part, item })} />
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
  const [acting, setActing] = useState<Acting | null>(null);
  const end = () => {
    setActing(null);
    void forget('overview');
  };
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
          <Late answers={[data]} />
          {PARTS.map((part) => (
            <Part key={part.name} part={part} overview={data} onAct={setActing} />
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
      {acting?.part.inPlace && (
        <Suspense fallback={null}>
          <Act deed={acting.part.inPlace.deed} item={acting.item} onClose={end} />
        </Suspense>
      )}
    </>
  );
}
