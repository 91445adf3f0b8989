// Live updates: the event stream reports changes, and the cached data they affect is invalidated, so that
// pages read it again. Invariants: an event only says that something changed, and is never displayed as data;
// a burst of changes is read again once; after a gap everything visible is read again.
import { VaultError } from '@secrets-vault/client';
import { type EventSourceMessage, EventSourceParserStream } from 'eventsource-parser/stream';
import { useEffect } from 'preact/hooks';
import { may, mayEverywhere } from '../session/may';
import { checkRole, state } from '../session/session';
import { forget, forgetBefore, here, streamed, vault } from './api';

/**
 * The cache keys to invalidate, by the prefix of the event type: keys of `useRead`, from general to specific.
 */
const byEvent: [RegExp, string[]][] = [
  [/^SECRET_/, ['secrets/list', 'secrets/one', 'secrets/palette', 'secrets/start']],
  [/^(CREDENTIAL|BREAK_GLASS|TRUST)_/, ['credentials']],
  [/^(MEMBER|ENROLMENT|ORG)_/, ['members']],
  [/^GRANT_/, ['grants', 'members', 'teams', 'secrets/shares']],
  [/^POLICY_/, ['policies']],
  [/^APPROVAL_/, ['approvals']],
  [/^DEVICE_/, ['devices']],
  [/^WEBHOOK_/, ['webhooks']],
  [/^LOG_STREAM_/, ['log-streams']],
  [/^UPSTREAM_/, ['upstreams']],
  [/^SYNC_/, ['syncs']],
  [/^SSO_/, ['domains', 'sso-connections']],
  [/^INCIDENT_/, ['incidents', 'credentials']],
];

/** The same by the kind of resource, for changes without an event. */
const byKind: Record<string, string[]> = {
  org: ['org'],
  environment: ['environments', 'org'],
  member: ['members'],
  passkey: ['passkeys', 'members'],
  team: ['teams'],
  team_member: ['teams', 'members'],
  grant: ['grants', 'members', 'teams', 'secrets/shares'],
  credential: ['credentials'],
  policy: ['policies'],
  approval: ['approvals'],
  device: ['devices'],
  webhook: ['webhooks'],
  log_stream: ['log-streams'],
  upstream: ['upstreams'],
  integration: ['integrations'],
  share: ['secrets/shares'],
  sync: ['syncs'],
  incident: ['incidents'],
  domain: ['domains', 'sso-connections'],
  sso_connection: ['sso-connections'],
};

/**
 * Changes come in bursts, for example during an import: how long to wait for more, and the longest wait, in
 * milliseconds.
 */
const QUIET = 100;
const MOST_QUIET = 500;

let waiting = new Set<string>();
let since = 0;
let timer: ReturnType<typeof setTimeout> | undefined;

function forgetSoon(keys: readonly string[]): void {
  if (!waiting.size) since = Date.now();
  // Most changes may end something that needs somebody, or begin it.
  for (const key of [...keys, 'overview']) waiting.add(key);
  clearTimeout(timer);
  timer = setTimeout(
    () => {
      const all = [...waiting];
      waiting = new Set();
      void forget(...all);
    },
    Math.max(0, Math.min(QUIET, since + MOST_QUIET - Date.now())),
  );
}

function onEvent({ event, data }: EventSourceMessage): void {
  if (event === 'CHANGED')
    forgetSoon((JSON.parse(data).kinds as string[]).flatMap((kind) => byKind[kind] ?? []));
  else if (event) forgetSoon(byEvent.find(([pattern]) => pattern.test(event))?.[1] ?? []);
}

/** All keys that the stream reports. */
const everything = [
  ...new Set(['overview', ...[...byEvent, ...Object.entries(byKind)].flatMap(([, keys]) => keys)]),
];

/** The service sends data every 25 seconds: a connection that is silent for longer is dead. */
const SILENT = 45_000;

/** Forwards a stream, and calls `dead` if it is silent for too long. */
function watched(dead: () => void): TransformStream<Uint8Array, Uint8Array> {
  let watch = setTimeout(dead, SILENT);
  return new TransformStream({
    transform(chunk, controller) {
      clearTimeout(watch);
      watch = setTimeout(dead, SILENT);
      controller.enqueue(chunk);
    },
    flush: () => clearTimeout(watch),
  });
}

interface Hearing {
  opened: () => void;
  /** Called with the sequence of each event. */
  heard: (sequence: number) => void;
}

/** Reads the stream until it closes. */
async function follow(
  after: number | undefined,
  leaving: AbortSignal,
  { opened, heard }: Hearing,
): Promise<void> {
  // A role that is limited to environments sees events of secrets alone.
  const seesAll = mayEverywhere('events:read');
  const dead = new AbortController();
  const { data } = await vault().api.GET('/orgs/{org_id}/events/stream', {
    params: { path: here(), query: { after, ...(seesAll && { changes: 'true' as const }) } },
    headers: { Accept: 'text/event-stream' },
    parseAs: 'stream',
    signal: AbortSignal.any([leaving, dead.signal]),
  });
  const events = (data as unknown as ReadableStream<Uint8Array>)
    .pipeThrough(watched(() => dead.abort()))
    .pipeThrough(new TextDecoderStream() as never)
    .pipeThrough(new EventSourceParserStream());
  streamed.value = seesAll ? 'all' : 'secrets';
  opened();
  try {
    for await (const message of events as unknown as AsyncIterable<EventSourceMessage>) {
      if (Number(message.id)) heard(Number(message.id));
      onEvent(message);
    }
  } finally {
    streamed.value = 'none';
  }
}

const FIRST_WAIT = 500;
const LONGEST_WAIT = 30_000;

/** Follows the stream while a member is signed in, and reconnects when it breaks. */
async function run(leaving: AbortSignal): Promise<void> {
  let last: number | undefined;
  let wait = FIRST_WAIT;
  const opened = () => {
    // Events resume where they stopped, but data without events does not. A page usually requests its own
    // list after this.
    void forgetBefore(Date.now(), ...everything);
    wait = FIRST_WAIT;
  };
  const heard = (sequence: number) => {
    last = sequence;
  };
  while (!leaving.aborted && state.value === 'in') {
    try {
      await follow(last, leaving, { opened, heard });
    } catch (error) {
      // The role cannot read events: pages refresh data that is older than half a minute.
      if (error instanceof VaultError && error.status === 403) return;
      if (error instanceof VaultError && error.status === 410) last = undefined;
    }
    if (!leaving.aborted) await pause(wait, leaving);
    wait = Math.min(wait * 2, LONGEST_WAIT);
  }
}

/** Waits, but not longer than until the network is back. */
const pause = (ms: number, leaving: AbortSignal): Promise<void> =>
  new Promise((done) => {
    const ended = new AbortController();
    const end = () => {
      ended.abort();
      done();
    };
    const until = { signal: ended.signal };
    const alarm = setTimeout(end, ms);
    until.signal.addEventListener('abort', () => clearTimeout(alarm));
    addEventListener('online', end, until);
    leaving.addEventListener('abort', end, until);
  });

export function useLive(): void {
  useEffect(() => {
    document.addEventListener('visibilitychange', checkRole);
    return () => document.removeEventListener('visibilitychange', checkRole);
  }, []);
  const isIn = state.value === 'in';
  const seesEvents = may('events:read') || may('secrets:list') || may('secrets:read');
  useEffect(() => {
    if (!isIn || !seesEvents) return;
    const ending = new AbortController();
    void run(ending.signal);
    return () => ending.abort();
  }, [isIn, seesEvents]);
}
