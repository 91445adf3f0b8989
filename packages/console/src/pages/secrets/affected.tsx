// Whom a change of secrets affects: who read them in the last day, whom to tell, and which upstreams place
// them. Invariants: it shows what the lists of readers, upstreams, credentials and members show the
// member, and nothing for a list that they may not see; it is never green while an upstream may place one
// of them, since calls of upstreams are not reads, nor while readers of a region may be missing.
import type { components } from '@secrets-vault/client';
import { useState } from 'preact/hooks';
import { Link } from 'wouter-preact';
import { counted } from '../../counted';
import { useMembers, Who } from '../../organisation/people';
import { here, useRead, vault } from '../../requests/api';
import { may } from '../../session/may';
import { me } from '../../session/session';
import { Late, lateIn } from '../../ui/late';
import { Time } from '../../ui/parts';
import { Maker } from '../credentials/maker';
import { nameOfKind } from '../credentials/words';
import type { Secret } from './secret';

type Reader = components['schemas']['Reader'];

const DAY = 86_400_000;
const SHOWN = 5;
/** The most secrets whose readers are read: each is a request. */
const MOST = 10;

/** Without the number of reads: that is of all time. */
function Row({ reader: { actor, last_read_at } }: { reader: Reader }) {
  const { members } = useMembers();
  const person = members.find(({ id }) => id === actor.id);
  const source = actor.parent_id ?? actor.id;
  return (
    <li>
      <Who id={actor.id} name={actor.name ?? undefined} />{' '}
      <span class="dim small">
        {actor.id === me.value?.id ? 'you' : (person?.email ?? nameOfKind(actor.kind))}, last read{' '}
        <Time at={last_read_at} />.{!person && source && <Maker id={source} />}
      </span>
    </li>
  );
}

/** The readers of several secrets since a time, each once, newest first; and the answers they come from. */
async function readersSince(ids: string[], since: number, signal: AbortSignal) {
  const found = new Map<string, Reader>();
  const answers: unknown[] = [];
  for (const id of ids) {
    const { data } = await vault().api.GET('/orgs/{org_id}/secrets/{id}/readers', {
      params: { path: { ...here(), id }, query: { limit: 100 } },
      signal,
    });
    answers.push(data);
    for (const reader of data.data.filter(({ last_read_at }) => Date.parse(last_read_at) >= since)) {
      const key = `${reader.actor.kind} ${reader.actor.id}`;
      const known = found.get(key);
      if (!known || known.last_read_at < reader.last_read_at) found.set(key, reader);
    }
  }
  const readers = [...found.values()].sort((a, b) => (a.last_read_at < b.last_read_at ? 1 : -1));
  return { data: { readers, answers } };
}

type Affecting = Pick<Secret, 'id' | 'name' | 'environment'>;

/** The upstreams that place one of several secrets. */
async function upstreamsWith(secrets: Affecting[], signal: AbortSignal) {
  const places = new Set(secrets.map(({ environment, name }) => `${environment} ${name}`));
  const found = [];
  for (let cursor: string | undefined; ; ) {
    const { data } = await vault().api.GET('/orgs/{org_id}/upstreams', {
      params: { path: here(), query: { limit: 100, cursor } },
      signal,
    });
    found.push(
      ...data.data.filter((one) => one.secrets?.some((name) => places.has(`${one.environment} ${name}`))),
    );
    if (!data.next_cursor) return { data: found };
    cursor = data.next_cursor;
  }
}

/** The upstreams that place one of several secrets; undefined if that is not known. */
const usePlacing = (secrets: Affecting[]) =>
  useRead(
    ['upstreams', 'placing', ...secrets.map(({ id }) => id)],
    (signal) => upstreamsWith(secrets, signal),
    may('upstreams:read'),
  ).data;

/** Their calls use the secrets and read none, so they are in no list of readers. */
const Placing = ({ upstreams, fails }: { upstreams: { id: string; name: string }[]; fails: boolean }) => (
  <p class="note warn">
    Placed by the {upstreams.length === 1 ? 'upstream' : 'upstreams'}{' '}
    {upstreams.slice(0, SHOWN).map(({ id, name }, at) => (
      <>
        {at > 0 && ', '}
        <Link href={`/upstreams/${id}`}>{name}</Link>
      </>
    ))}
    {upstreams.length > SHOWN && ` and ${counted(upstreams.length - SHOWN, 'other')}`}.{' '}
    {fails
      ? `${upstreams.length === 1 ? 'Its' : 'Their'} calls will fail.`
      : `${upstreams.length === 1 ? 'Its' : 'Their'} calls get the new value.`}
  </p>
);

interface AffectedProps {
  secrets: Affecting[];
  /** What happens to them, as in "They will fail." */
  outcome: string;
  /** Whether calls of upstreams that place them will fail. */
  fails?: boolean;
}

/** Who read secrets in the last day, which upstreams place them, and what happens to these. */
export function Affected(props: AffectedProps) {
  const placing = usePlacing(props.secrets);
  return (
    <>
      <ReadBy {...props} isPlaced={placing === undefined || placing.length > 0} />
      {placing !== undefined && placing.length > 0 && (
        <Placing upstreams={placing} fails={props.fails ?? true} />
      )}
    </>
  );
}

function ReadBy({ secrets, outcome, isPlaced }: AffectedProps & { isPlaced: boolean }) {
  const [since] = useState(() => Date.now() - DAY);
  const ids = secrets.map(({ id }) => id);
  const isRead = ids.length <= MOST && secrets.every(({ environment }) => may('audit:read', environment));
  const { data } = useRead(
    ['secrets', 'readers', since, ...ids],
    (signal) => readersSince(ids, since, signal),
    isRead,
  );
  if (!data) return null;
  const it = ids.length === 1 ? 'it' : 'them';
  const { readers, answers } = data;
  const isWhole = !isPlaced && !lateIn(answers).length;
  if (!readers.length)
    return (
      <>
        <p class={`note ${isWhole ? 'good' : 'plain'}`}>Nobody has read {it} in the last 24 hours.</p>
        <Late answers={answers} />
      </>
    );
  const more = readers.length - SHOWN;
  return (
    <section class="note warn affected" aria-label="Affected">
      <p>
        <strong>{readers.length === 1 ? 'One reader' : counted(readers.length, 'reader')}</strong> in the last
        24 hours. {outcome}
      </p>
      <ul class="names">
        {readers.slice(0, SHOWN).map((reader) => (
          <Row key={`${reader.actor.kind} ${reader.actor.id}`} reader={reader} />
        ))}
      </ul>
      {more > 0 && <p class="small dim">And {counted(more, 'other')}.</p>}
      <Late answers={answers} />
    </section>
  );
}
