// The event feed in the gate: returns the events in its storage, and the sequence from which the Worker must
// read D1. A stream waits here for new events. Invariant: a stream ends in the same turn as its caller. Every
// change that may end a caller wakes the stream, which authorises the caller again before returning anything.
import { type RowKind, rowKinds } from '../../../db/rows';
import { type Refusal, refuse } from '../../../errors';
import type { Core } from '../../../gate/core';
import { listeners } from '../../../gate/events/listeners';
import type { EventType, StoredEvent } from '../../../gate/outbox';
import type { Call, Operation, OperationOutcome } from '../../../gate/request/call';
import { fail, type Outcome, ok } from '../../../gate/request/outcome';
import { quotaRootOf } from '../../../gate/rows/quota-root';
import { mostLookedAt, shows, type View, viewOf } from '../view';
import { PAGE, pages } from './pages';

interface Asked {
  /** Events after this sequence; null for all stored events or, for a stream, only new ones. */
  after: number | null;
  /** The requested kinds; null for all. */
  types: EventType[] | null;
  /** A further part of a response whose audit entry is already written. */
  further: boolean;
}

/**
 * Kinds of rows whose changes are counted for user interfaces, because not every change has an event. Secrets
 * have events.
 */
const counted = (): RowKind[] => rowKinds().filter((kind) => kind !== 'secret');

/** How often rows of each kind were written since the gate started. */
export type Counts = Record<string, number>;

export interface EventsPart {
  /** The sequence after which this part starts. */
  after: number;
  /** Events in the gate that the caller may see. */
  events: StoredEvent[];
  /** The sequence up to which events were examined. */
  through: number;
  head: number;
  /** The last sequence whose event has moved to D1. */
  moved: number;
  view: View | null;
  /** Present if they were requested and the caller may see all events. */
  counts?: Counts;
}

/** What a stream gets in a round that asks for what is there already. */
const MOST_FOUND = 100;
/**
 * What a stream gets at once when an event wakes it, and how many events are examined for it. All streams
 * wake in the same turn, so the rest of many events waits for rounds of their own.
 */
const AT_ONCE = 10;
const EXAMINED_AT_ONCE = 100;

/** 410 for a page that starts before the oldest stored event. */
export const eventsGone = (first: number): Refusal =>
  refuse('EVENTS_GONE', {
    message: `The events after this sequence are no longer kept. The oldest stored event has the sequence ${first}.`,
  });

/** Events after a sequence: what the caller sees of `most`, up to `limit`. */
function look(
  { core, caller }: Call<unknown>,
  after: number,
  types: EventType[] | null,
  limit: number,
  most = Number.POSITIVE_INFINITY,
): EventsPart {
  const view = viewOf(caller);
  const asked = { view, types, after, limit, most: Math.min(most, mostLookedAt(view)) };
  return pages(core).shared(asked, () => examined(core, asked));
}

interface Looked {
  view: View | null;
  types: EventType[] | null;
  after: number;
  limit: number;
  most: number;
}

function examined(core: Core, { view, types, after, limit, most }: Looked): EventsPart {
  const { outbox } = core;
  const part = {
    after,
    events: [] as StoredEvent[],
    through: Math.max(after, outbox.moved()),
    head: outbox.head(),
    moved: outbox.moved(),
    view,
  };
  for (let looked = 0; looked < most; ) {
    const page = pages(core).read(part.through);
    for (const event of page.slice(0, most - looked)) {
      part.through = event.sequence;
      if (shows(view, types, event)) part.events.push(event);
      if (part.events.length === limit) return part;
    }
    looked += page.length;
    const isLast = page.length < PAGE && looked <= most;
    // Behind the last event that can be read, there may be others.
    // safety: feed-ends-behind-altered
    if (isLast) part.through = Math.max(part.through, part.head);
    if (isLast) return part;
  }
  return part;
}

const read: Operation<Asked & { limit: number }> = {
  read(call): OperationOutcome {
    const { core, input } = call;
    const gone = core.outbox.gone();
    const after = input.after ?? gone;
    // safety: gone-events-told
    if (after < gone) return { ...fail(eventsGone(gone + 1)), audited: input.further };
    return { ...ok(look(call, after, input.types, input.limit)), audited: input.further };
  },
};

/** The counts for a stream that requested them; null if the caller may not see all events. */
function countsOf({ core }: Call<unknown>, { view }: EventsPart, known: Counts | undefined): Counts | null {
  // safety: changes-for-who-sees-all
  if (known === undefined || view !== null) return null;
  return Object.fromEntries(counted().map((kind) => [kind, core.rows.edits(kind)]));
}

const full = refuse('LIMIT_REACHED', {
  message:
    'An organisation can have at most 1,000 streams at a time; a member, or an API key with what it created, 100.',
});

/** `leaves`: the client has left, and there are no further rounds. */
type StreamCall = Call<Asked & { wait: number; counts?: Counts; leaves?: boolean }>;

/**
 * One round of a stream: it ends when there is something to send, or after the given number of milliseconds.
 */
const stream: Operation<StreamCall['input']> = {
  async read(call: StreamCall): Promise<OperationOutcome> {
    const { core, ask, input, caller } = call;
    const answer = (outcome: Outcome): OperationOutcome => ({ ...outcome, audited: input.further });
    // All rounds of a stream are calls of one request.
    const { id } = ask.request;
    if (input.leaves) {
      listeners(core).gone(id);
      return answer(ok(null));
    }
    const gone = core.outbox.gone();
    const after = input.after ?? core.outbox.head();
    if (after < gone) return answer(fail(eventsGone(gone + 1)));
    if (!listeners(core).enter(id, quotaRootOf(core, caller), core.now())) return answer(fail(full));
    let hasEnded = true;
    try {
      const outcome = await round(call, after);
      hasEnded = outcome.kind !== 'ok';
      return answer(outcome);
    } finally {
      listeners(core).leave(id, hasEnded, core.now());
    }
  },
};

async function round(call: StreamCall, from: number): Promise<Outcome> {
  const { core, input } = call;
  const { id } = call.ask.request;
  const deadline = Date.now() + input.wait;
  for (let after = from; ; ) {
    const part =
      input.wait > 0
        ? look(call, after, input.types, AT_ONCE, EXAMINED_AT_ONCE)
        : look(call, after, input.types, MOST_FOUND);
    const counts = countsOf(call, part, input.counts);
    const hasChanged = counts !== null && counted().some((kind) => counts[kind] !== input.counts?.[kind]);
    const left = Math.min(deadline - Date.now(), endOf(call) - core.now());
    if (part.events.length || part.moved > after || part.through < part.head || hasChanged || left <= 0)
      return ok({ ...part, ...(counts && { counts }) });
    after = part.through;
    await listeners(core).wait(id, left);
    if (!listeners(core).has(id)) return ok(part);
    // safety: stream-judged-again
    const refusal = call.recheck() ?? (endOf(call) <= core.now() ? refuse('TOKEN_EXPIRED') : null);
    if (refusal) return fail(refusal);
  }
}

/** When the caller expires: the credential, or the JWT that a member sent. */
function endOf({ ask: { bearer }, caller }: Call<unknown>): number {
  // safety: stream-ends-with-jwt
  const until = typeof bearer === 'object' && 'kind' in bearer ? bearer.until : undefined;
  return Math.min(caller.expires_at ?? Number.POSITIVE_INFINITY, until ?? Number.POSITIVE_INFINITY);
}

export const eventOperations = { 'event.read': read, 'event.stream': stream };
