// Live updates: the event stream reports changes, and the cached data they affect is invalidated, so that pages read it again.
// Invariants: an event only says that something changed, and is never displayed as data; after a gap everything is read again.
import { type EventSourceMessage, EventSourceParserStream } from 'eventsource-parser/stream';
import { useEffect } from 'preact/hooks';
import { forget, here, queries, vault } from './api';
import { state } from './session';

/** The cache keys to invalidate, by the prefix of the event type. */
const keys: [RegExp, string[]][] = [
  [/^SECRET_/, ['secrets', 'audit']],
  [/^(CREDENTIAL|BREAK_GLASS)_/, ['credentials', 'audit']],
  [/^(MEMBER|ENROLMENT|ORG)_/, ['members', 'audit']],
  [/^(POLICY|APPROVAL)_/, ['approvals', 'policies', 'audit']],
  [/^DEVICE_/, ['devices', 'audit']],
  [/^WEBHOOK_/, ['webhooks']],
  [/^SYNC_/, ['syncs']],
  [/^AUDIT_/, ['audit']],
];

/** Listeners for events: the audit page's live view, the badge of approvals. */
export const listeners = new Set<(type: string) => void>();

function onEvent({ event }: EventSourceMessage): void {
  if (!event) return;
  const found = keys.find(([pattern]) => pattern.test(event));
  if (found) void forget(...found[1]);
  for (const listener of listeners) listener(event);
}

/** Reads the stream until it closes. @returns the sequence of the last event */
async function follow(after: number | undefined, signal: AbortSignal): Promise<number | undefined> {
  const { data } = await vault().api.GET('/orgs/{org_id}/events/stream', {
    params: { path: here(), query: { after } },
    headers: { Accept: 'text/event-stream' },
    parseAs: 'stream',
    signal,
  });
  let last = after;
  const events = (data as unknown as ReadableStream<Uint8Array>)
    .pipeThrough(new TextDecoderStream() as never)
    .pipeThrough(new EventSourceParserStream());
  for await (const message of events as unknown as AsyncIterable<EventSourceMessage>) {
    last = Number(message.id) || last;
    onEvent(message);
  }
  return last;
}

/** Follows the stream while a member is signed in. Without a stream, pages read again every 30 seconds. */
export function useLive(): void {
  useEffect(() => {
    const ending = new AbortController();
    const { signal } = ending;
    let wait = 1000;
    const run = async () => {
      let last: number | undefined;
      while (!signal.aborted && state.value === 'in') {
        const began = Date.now();
        try {
          last = await follow(last, signal);
        } catch {
          last = undefined;
          if (!signal.aborted) void queries.invalidateQueries();
        }
        wait = Date.now() - began > 60_000 ? 1000 : Math.min(wait * 2, 30_000);
        await new Promise((done) => setTimeout(done, wait));
      }
    };
    void run();
    return () => ending.abort();
  }, []);
}
