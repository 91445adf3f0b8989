// A stream of events: Server-Sent Events (WHATWG HTML, 9.2), or one WebSocket message per event. The Worker
// polls the gate in rounds, and the gate holds each round until something happens. Invariants: only events
// returned by a round are sent, and each round authorises the caller again; whenever a stream ends, the
// client can resume from the last id it received. A client that leaves frees its place in the gate.
import type { EventType, StoredEvent } from '../../gate/outbox';
import type { RenderContext } from '../../http/context';
import { type FeedPage, feedOn } from './feed';
import type { Counts, EventsPart } from './gate/operations';
import { inTurn } from './turns';
import { eventOut } from './wire';

/** How long the gate holds a round. */
const ROUND = 25_000;
/**
 * How often a comment keeps the connection open. A connection that its client closed is only noticed when
 * something is sent, unless the platform tells.
 */
const COMMENT = 5_000;
/** How long a stream lasts; then the client reconnects. */
const LASTS = 3_600_000;
/**
 * The most rounds of a stream, because a request may make 1,000 calls; and the most catch-up rounds, which do
 * not count as requests.
 */
const MOST_ROUNDS = 900;
const MOST_BEHIND = 50;
/** Events of a page. */
const PAGE = 100;

/**
 * What a WebSocket carries. The runtime does not tell what a client has read, and keeps in memory what it has
 * not.
 */
export const socketBounds = { characters: 8 * 1024 * 1024 };
/** Codes of closing (RFC 6455, 7.4.1, and the IANA registry). */
const DONE = 1000;
const TRY_AGAIN_LATER = 1013;

/** A page of events, and the kinds of rows that have changed since the round before. */
type Round = FeedPage & { changed: string[] };

const changedBetween = (before: Counts, { counts = before }: EventsPart): string[] =>
  Object.keys(counts).filter((kind) => counts[kind] !== before[kind]);

/**
 * Pages of events as they arrive; null for a round without anything. It ends when the gate refuses the
 * caller.
 */
async function* rounds(
  context: RenderContext,
  first: EventsPart,
  types: EventType[] | null,
): AsyncGenerator<Round | null> {
  const started = Date.now();
  let part = first;
  let page = await feedOn(context, part, types, PAGE);
  let behind = 0;
  let wait = 0;
  let { counts } = first;
  for (let n = 0; n < MOST_ROUNDS && Date.now() - started < LASTS; n++) {
    const changed = counts ? changedBetween(counts, part) : [];
    counts = part.counts ?? counts;
    yield page.events.length || changed.length || n === 0 ? { ...page, changed } : null;
    // safety: catching-up-bounded
    if (page.has_more && wait === 0 && ++behind > MOST_BEHIND) return;
    wait = page.has_more ? 0 : ROUND;
    const input = { after: page.next_after, types, further: true, wait, counts };
    const read = async (): Promise<FeedPage | null> => {
      const outcome = await context.further(input);
      if (outcome.kind !== 'ok') return null;
      part = outcome.data as EventsPart;
      return feedOn(context, part, types, PAGE);
    };
    const following = await (wait === 0 ? inTurn(read) : read());
    if (!following) return;
    page = following;
  }
}

/** The client has left: tells the gate, which holds a round. */
const leave = ({ further, defer }: RenderContext): void =>
  defer(further({ after: null, types: null, further: true, wait: 0, leaves: true }).catch(() => {}));

/** What a promise resolves to, or null if it takes longer. */
function within<T>(promise: Promise<T>, ms: number): Promise<T | null> {
  let timer: ReturnType<typeof setTimeout>;
  const late = new Promise<null>((resolve) => {
    timer = setTimeout(resolve, ms, null);
  });
  return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}

/** Streams new events that the caller may see. */
export function streamOf(context: RenderContext, first: EventsPart, types: EventType[] | null): Response {
  const encoder = new TextEncoder();
  const pages = rounds(context, first, types);
  const lines = ({ events, changed }: Round) =>
    [
      ...events
        .map((event) => eventOut(context.org, event))
        .map((event) => `id: ${event.sequence}\nevent: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`),
      // Without an id, so that it does not count as the last event received.
      ...(changed.length ? [`event: CHANGED\ndata: ${JSON.stringify({ kinds: changed })}\n\n`] : []),
    ].join('');
  // If the gate does not respond or a range is missing, the stream ends. The client reconnects and gets the
  // error.
  const read = () => pages.next().catch(() => ({ done: true as const, value: undefined }));
  let reading: ReturnType<typeof read> | null = null;
  const body = new ReadableStream<Uint8Array>({
    async pull(controller) {
      reading ??= read();
      const next = await within(reading, COMMENT);
      if (next !== null) reading = null;
      if (next?.done) return controller.close();
      controller.enqueue(encoder.encode((next?.value && lines(next.value)) || ': waiting\n\n'));
    },
    cancel() {
      // It ends after the round that the gate holds.
      void pages.return(undefined).catch(() => {});
      leave(context);
    },
  });
  return new Response(body, {
    headers: { 'Content-Type': 'text/event-stream; charset=utf-8', 'Cache-Control': 'no-store' },
  });
}

/** The same over a WebSocket, with the messages of each event. Messages from the client are ignored. */
export function socketOf(
  context: RenderContext,
  first: EventsPart,
  types: EventType[] | null,
  messagesOf: (event: StoredEvent) => object[] = (event) => [eventOut(context.org, event)],
): Response {
  const { 0: client, 1: server } = new WebSocketPair();
  server.accept();
  let isOpen = true;
  for (const end of ['close', 'error'] as const)
    server.addEventListener(end, () => {
      if (isOpen) leave(context);
      isOpen = false;
    });
  const send = async () => {
    let sent = 0;
    for await (const page of rounds(context, first, types)) {
      if (!isOpen) return DONE;
      for (const message of (page?.events ?? []).flatMap(messagesOf)) {
        const text = JSON.stringify(message);
        sent += text.length;
        // safety: socket-bytes-bounded
        if (sent > socketBounds.characters) return TRY_AGAIN_LATER;
        server.send(text);
      }
    }
    return DONE;
  };
  send()
    .catch(() => DONE)
    .then((code) => {
      isOpen = false;
      server.close(code);
    })
    .catch(() => {});
  return new Response(null, { status: 101, webSocket: client });
}
