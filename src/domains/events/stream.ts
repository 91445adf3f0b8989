// A stream of events: Server-Sent Events (WHATWG HTML, 9.2). The Worker asks the gate in rounds, each of which the gate holds until something
// happens. Invariants: nothing is sent that a round did not give, and the gate judges the caller in each; after any end the client goes on from
// the last id that it has.
import type { EventType } from '../../gate/outbox';
import type { RenderContext } from '../../http/context';
import { type FeedPage, feedOn } from './feed';
import type { EventsPart } from './gate/operations';
import { eventOut } from './wire';

/** How long the gate holds a round: then a comment keeps the connection open. */
const ROUND = 25_000;
/** How long a stream lasts; the client connects again. */
const LASTS = 3_600_000;
/** Rounds of a stream: a request may make a thousand calls. And those in which it catches up, for they are not counted as requests. */
const MOST_ROUNDS = 900;
const MOST_BEHIND = 50;

/** Pages of events as they come; null where a round brought none. It ends where the gate refuses the caller. */
async function* rounds(context: RenderContext, first: EventsPart, types: EventType[] | null): AsyncGenerator<FeedPage | null> {
  const started = Date.now();
  let [part, behind] = [first, 0];
  for (let n = 0; n < MOST_ROUNDS && Date.now() - started < LASTS; n++) {
    const page = await feedOn(context, part, types, 100);
    yield page.events.length || n === 0 ? page : null;
    // safety: catching-up-bounded
    if (page.has_more && ++behind > MOST_BEHIND) return;
    const outcome = await context.further({ after: page.next_after, types, further: true, wait: page.has_more ? 0 : ROUND });
    if (outcome.kind !== 'ok') return;
    part = outcome.data as EventsPart;
  }
}

/** Streams what the caller may see from here on. */
export function streamOf(context: RenderContext, first: EventsPart, types: EventType[] | null): Response {
  const encoder = new TextEncoder();
  const pages = rounds(context, first, types);
  const lines = (page: FeedPage) =>
    page.events
      .map((event) => eventOut(context.org, event))
      .map((event) => `id: ${event.sequence}\nevent: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`)
      .join('');
  const body = new ReadableStream<Uint8Array>({
    async pull(controller) {
      // A gate that does not answer, or a hole in what is kept, ends the stream: the client connects again and is told.
      const next = await pages.next().catch(() => ({ done: true as const, value: undefined }));
      if (next.done) return controller.close();
      controller.enqueue(encoder.encode((next.value && lines(next.value)) || ': waiting\n\n'));
    },
    async cancel() {
      await pages.return(undefined);
    },
  });
  return new Response(body, { headers: { 'Content-Type': 'text/event-stream; charset=utf-8', 'Cache-Control': 'no-store' } });
}
