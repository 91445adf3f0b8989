// The blast radius of a credential, or of the credentials of a person or a device: what it could read, and
// what it did read, or use through an upstream, until a time. Invariant: it shows what the graph and the
// dry run of a containment show the member, says what these leave out, and changes nothing.
import { useState } from 'preact/hooks';
import { Link } from 'wouter-preact';
import { counted } from '../../counted';
import { useParameter } from '../../navigation/router';
import { useMembers } from '../../organisation/people';
import { here, useRead, vault } from '../../requests/api';
import { may } from '../../session/may';
import { Bars, Mosaic } from '../../ui/chart';
import { Crumbs, LoadingPage, Missing } from '../../ui/page';
import { Badge, Empty, ErrorNote, PageHead, Skeleton } from '../../ui/parts';
import { type Credential, type Kind, readPage } from '../credentials/kinds';
import { nameOfKind } from '../credentials/words';
import { type Graph, named, useGraph, usePreview } from '../incident/data';
import { Incomplete, isComplete } from '../incident/incomplete';
import { type Place, placesOf, readsOver, type Seen, seenOf } from './data';
import './blast.css';

const SHOWN = 12;
/** Of the slider. */
const STEPS = 200;
const KINDS: Kind[] = ['api_key', 'agent'];
const moment = new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeStyle: 'short' });
const brief = new Intl.DateTimeFormat('en-GB', {
  day: 'numeric',
  month: 'short',
  hour: '2-digit',
  minute: '2-digit',
});

/** A place, with the secrets that were read there. */
function PlaceCard({ place: { environment, reachable, isAtLeast, seen } }: { place: Place }) {
  const all = Math.max(reachable, seen.length);
  const words = `${seen.length.toLocaleString()} of ${isAtLeast ? 'at least ' : ''}${counted(all, 'secret')} read or used`;
  const more = seen.length - SHOWN;
  return (
    <section class="card stack" aria-label={environment ?? 'Elsewhere'}>
      <h2>
        {environment ? (
          <Link href={`/secrets?${new URLSearchParams({ environment })}`}>{environment}</Link>
        ) : (
          'Gone, or not yours to list'
        )}{' '}
        <span class="dim small">{words}</span>
      </h2>
      <Mosaic all={all} bold={seen.length} label={words} />
      {seen.length > 0 && (
        <ul class="names">
          {seen.slice(0, SHOWN).map(({ id, name, time }) => (
            <li key={id} class="blast-read">
              <Link href={`/secrets/${id}`} class="mono truncate">
                {name ?? `…${id.slice(-6)}`}
              </Link>{' '}
              <span class="dim small">{brief.format(time)}</span>
            </li>
          ))}
        </ul>
      )}
      {more > 0 && <p class="small dim">And {counted(more, 'other')}.</p>}
    </section>
  );
}

interface SliderProps {
  seen: Seen[];
  from: number;
  to: number;
  until: number;
  onUntil: (until: number) => void;
}

/** When secrets were first read, and until when to look. */
function Slider({ seen, from, to, until, onUntil }: SliderProps) {
  const count = seen.filter(({ time }) => time <= until).length;
  const wordsOf = ({ all }: { all: number }) => `${counted(all, 'secret')} first read or used`;
  return (
    <section class="stack tight" aria-label="Over time">
      <Bars
        bars={readsOver(seen, from, to)}
        to={to}
        label={`${counted(seen.length, 'secret')} first read or used between ${moment.format(from)} and ${moment.format(to)}`}
        wordsOf={wordsOf}
        hint="When each secret was first read or used."
      />
      <label class="blast-slider">
        <span>
          Until <strong>{moment.format(until)}</strong>: {counted(count, 'secret')} read or used
        </span>
        <input
          type="range"
          min={0}
          max={STEPS}
          value={Math.round(((until - from) / (to - from)) * STEPS)}
          aria-valuetext={`${moment.format(until)}, ${counted(count, 'secret')} read or used`}
          onInput={({ currentTarget }) => onUntil(from + (Number(currentTarget.value) / STEPS) * (to - from))}
        />
      </label>
    </section>
  );
}

/** What lives below the credential, nearest first. */
const Below = ({ graph: { children, omitted = 0 } }: { graph: Graph }) => {
  const more = children.length + omitted - SHOWN;
  return (
    <section class="card stack" aria-label="Credentials below it">
      <h2>
        Credentials below it <span class="dim small">{(children.length + omitted).toLocaleString()}</span>
      </h2>
      {children.length === 0 && <p class="dim">It made no credential that is still valid.</p>}
      <ul class="names">
        {children.slice(0, SHOWN).map((child) => (
          <li key={child.id} style={{ paddingInlineStart: `${Math.min(child.depth - 1, 6)}rem` }}>
            <Link href={`/blast/${child.id}`}>{named(child)}</Link>{' '}
            <span class="dim small">{nameOfKind(child.kind)}</span>
          </li>
        ))}
      </ul>
      {more > 0 && <p class="small dim">And {counted(more, 'other')}.</p>}
    </section>
  );
};

/** One credential: what is below it, when it read, and where. */
function Radius({ id, isWhole }: { id: string; isWhole: boolean }) {
  const graph = useGraph(id);
  const report = usePreview(id, { rotate: false, since: '' });
  const [now] = useState(() => Date.now());
  const [chosen, setUntil] = useState<number | null>(null);
  if (graph.error)
    return isWhole ? (
      <Missing what="credential" list={['/credentials', 'Credentials']} error={graph.error} />
    ) : (
      <ErrorNote error={graph.error} onRetry={graph.refetch} />
    );
  if (!graph.data) return <LoadingPage />;
  const seen = report.data ? seenOf(report.data) : [];
  const from = (seen[0]?.time ?? now) - 1000;
  const until = chosen ?? now;
  const name = named(graph.data);
  const head = isWhole && (
    <>
      <Crumbs
        places={[
          ['/credentials', 'Credentials'],
          [`/credentials/${id}`, name],
        ]}
      />
      <PageHead
        title={`Blast radius of ${name}`}
        lead="What it and the credentials below it could read, faint, and did read or use, bold."
      />
    </>
  );
  return (
    <>
      {head}
      {!graph.data.reach.alive && (
        <p class="note warn">It is no longer valid, so it can reach nothing now.</p>
      )}
      {!may('tokens:write') && (
        <p class="note">What it did read or use is shown to members who may contain it (tokens:write).</p>
      )}
      {report.error && <ErrorNote error={report.error} onRetry={report.refetch} />}
      {may('tokens:write') && !report.data && !report.error && <Skeleton rows={3} />}
      {report.data && seen.length === 0 && (
        <p class={`note ${isComplete(report.data) ? 'good' : 'plain'}`}>It has read and used no secret.</p>
      )}
      {report.data && <Incomplete report={report.data} />}
      {seen.length > 0 && (
        <Slider seen={seen} from={from} to={now} until={until} onUntil={(time) => setUntil(time)} />
      )}
      <div class="blast">
        <Below graph={graph.data} />
        {placesOf(graph.data.reach, seen, until).map((place) => (
          <PlaceCard key={place.environment} place={place} />
        ))}
      </div>
    </>
  );
}

/** The API keys and agents that a person made, or that are bound to a device: the newest hundred of each. */
const useOwned = (id: string) =>
  useRead(
    ['credentials', 'owned', id],
    async (signal) => {
      const pages = await Promise.all(KINDS.map((kind) => readPage(kind, undefined, signal)));
      const isOwn = ({ madeBy, device }: Credential) => madeBy === id || device === id;
      return { data: pages.flatMap(({ data }) => data.data).filter(isOwn) };
    },
    may('tokens:read'),
  );

/** The name of a person or a device. */
function useOwner(id: string): string {
  const { members } = useMembers();
  const { data } = useRead(
    ['devices', 'one', id],
    (signal) =>
      vault().api.GET('/orgs/{org_id}/devices/{id}', { params: { path: { ...here(), id } }, signal }),
    id.startsWith('dev_') && may('devices:read'),
  );
  return data?.name ?? members.find((member) => member.id === id)?.name ?? `…${id.slice(-6)}`;
}

/** A person or a device: their credentials, and the radius of one of them. */
function Owned({ id }: { id: string }) {
  const name = useOwner(id);
  const { data, error, refetch } = useOwned(id);
  const [credential, choose] = useParameter('credential');
  const chosen = data?.find((each) => each.id === credential) ?? data?.[0];
  const isDevice = id.startsWith('dev_');
  return (
    <>
      <Crumbs
        places={
          isDevice
            ? [['/devices', 'Devices']]
            : [
                ['/members', 'Members'],
                [`/members/${id}`, name],
              ]
        }
      />
      <PageHead
        title={`Blast radius of ${name}`}
        lead={`What the credentials ${isDevice ? 'bound to it' : 'they made'} could read, faint, and did read or use, bold.`}
      />
      {error && <ErrorNote error={error} onRetry={refetch} />}
      {!data && !error && <Skeleton rows={4} />}
      {data?.length === 0 && (
        <Empty title="No API keys and no agents">
          {isDevice
            ? 'No credential is bound to this device.'
            : 'They made none among the newest of each kind.'}
        </Empty>
      )}
      {chosen && (
        <>
          <fieldset class="blast-owned">
            <legend class="unseen">Credentials</legend>
            {data?.map((each) => (
              <label key={each.id} class="blast-choice">
                <input
                  type="radio"
                  name="credential"
                  checked={each.id === chosen.id}
                  onChange={() => choose(each.id)}
                />
                <span class="truncate">{each.name}</span> <Badge>{nameOfKind(each.kind)}</Badge>
              </label>
            ))}
          </fieldset>
          <Radius key={chosen.id} id={chosen.id} isWhole={false} />
        </>
      )}
    </>
  );
}

export default function Blast({ params: { id = '' } }: { params: Record<string, string> }) {
  return /^(mem|dev)_/.test(id) ? <Owned key={id} id={id} /> : <Radius key={id} id={id} isWhole />;
}
