// The gate's part in sending: it hands the next batch of a stream to the job, and records the result.
// Invariants: entries leave in the order of their sequence, and none is passed over but by retention or a
// loss that the log itself names; neither leasing nor reporting writes an audit entry, so that sending does
// not cause more to send.
import type { LogStreamRow } from '../../../db/schema';
import { ATTENDED } from '../../../delivery/gate/task';
import { cutOf, type Missing, missingEntries } from '../../../gate/archive/gaps';
import type { Entry } from '../../../gate/audit/entry';
import type { Core } from '../../../gate/core';
import type { Operation, OperationOutcome } from '../../../gate/request/call';
import { ok } from '../../../gate/request/outcome';
import { LONGEST_PERMIT, permits } from '../../../gate/request/permits';
import { revision, rowKeyOf } from '../../../gate/request/writes';
import { positionMac, restore } from './positions';
import { type Failure, MINUTE, MOST_BATCH, type StreamState, states } from './states';
import { dueAt, heldUntil, settle, targetOf, tell } from './task';

/** The most entries of a batch. */
export const MOST_ENTRIES = 500;

export type Result =
  /** Up to an entry; `hash` and `time` are those of the last one that was sent, if any was. */
  | { kind: 'taken'; sequence: number; hash: string | null; time: number | null }
  | ({ kind: 'failed' } & Failure)
  /** Nothing was sent: the permit had run out, or D1 was away. */
  | { kind: 'withheld' };

export interface DeliverInput {
  stream: string;
  report: { lease: number; from: number; bytes: number; result: Result } | null;
  /** Whether the job continues. */
  more: boolean;
}

/** A batch to send. */
export interface Work {
  row: LogStreamRow;
  lease: number;
  /** The position before it, and the hash of that entry if it is known. */
  from: number;
  hash: string | null;
  /** The last sequence that it may contain, and that a gap may be skipped to. */
  to: number;
  upto: number;
  /** The entries; null if they are in D1, where the Worker reads them. */
  entries: Entry[] | null;
  /** What it takes to read on in D1: see `partsFrom`. */
  oldest: number;
  held: Entry[];
  missing: Missing[];
  isWhole: boolean;
  /** The request must begin so many milliseconds after this was asked for. */
  lasts: number;
}

export interface Given {
  disabling: boolean;
  work: Work | null;
}

const holderOf = (id: string, lease: number): string => `${id} ${lease}`;

export const deliver: Operation<DeliverInput> = {
  async read(call): Promise<OperationOutcome> {
    const { core, input } = call;
    const key = rowKeyOf(call);
    await restore(core, key);
    return { ...ok(core.storage.transactionSync(() => step(core, input, key))), audited: true };
  },
};

function step(core: Core, { stream, report, more }: DeliverInput, key: Uint8Array): Given {
  const now = core.now();
  if (report) note(core, stream, report, key, now);
  if (core.rows.get('org', core.org)?.deleted_at !== null) return { disabling: false, work: null };
  settle(core, stream, now);
  const state = states(core).get(stream);
  const target = state && targetOf(core, stream);
  const disabling = (state?.disabling ?? null) !== null && target !== null && target?.drain === null;
  const work =
    state && target && more && !disabling ? next(core, state, target.row, target.upto, key, now) : null;
  // Another job may be running: a queue may deliver a message twice.
  const isBusy = (states(core).get(stream)?.lease_until ?? 0) > now;
  if (state && !isBusy) states(core).set(stream, { attended: null });
  const due = disabling ? now + ATTENDED : dueAt(core, stream, now);
  if (due !== null) core.schedule.at('log_streams', due);
  return { disabling, work };
}

/** Records the result of a batch. */
function note(
  core: Core,
  id: string,
  { lease, from, bytes, result }: NonNullable<DeliverInput['report']>,
  key: Uint8Array,
  now: number,
): void {
  permits(core).giveBack(holderOf(id, lease));
  const state = states(core).get(id);
  // Its lease has run out, and another job may have taken its place.
  // safety: late-log-report-ignored
  if (state?.lease !== lease) return;
  if (state.position < state.catch_up) {
    const isNew = now - state.window_at >= MINUTE;
    const window_bytes = (isNew ? 0 : state.window_bytes) + bytes;
    states(core).set(id, { window_bytes, ...(isNew && { window_at: now }) });
  }
  const [drain] = states(core).drains(id);
  if (result.kind === 'failed') states(core).failed(state, result, drain !== undefined, now);
  else if (result.kind === 'withheld') states(core).set(id, { lease_until: null, next_at: now + WITHHELD });
  // A seek came in between: what was sent counts for nothing.
  // safety: seek-outlasts-batch
  else if (state.position !== from) states(core).set(id, { lease_until: null, batch_to: null });
  else {
    states(core).took(state, result);
    states(core).set(id, { mac: positionMac(key, core.org, id, result.sequence) });
  }
}

/** How long a batch waits that could not be sent for a reason of our own. */
const WITHHELD = 1000;

/** The next batch, leased; null if there is none now. */
function next(
  core: Core,
  before: StreamState,
  row: LogStreamRow,
  upto: number,
  key: Uint8Array,
  now: number,
): Work | null {
  const state = afterCut(core, before, row, key);
  // safety: one-log-batch-at-a-time
  const isBusy = (state.lease_until ?? 0) > now;
  if (isBusy || state.position >= upto || Math.max(state.next_at, heldUntil(state)) > now) return null;
  const { log, from } = { log: core.auditLog, from: state.position + 1 };
  const oldest = log.oldest();
  const isHere = from >= oldest;
  const last = Math.min(upto, state.position + MOST_ENTRIES, isHere ? upto : oldest - 1);
  // A batch that was not reported as taken is sent again as it was.
  const to =
    state.batch_to !== null && state.batch_to > state.position ? Math.min(last, state.batch_to) : last;
  const entries = isHere
    ? log.from(from, MOST_ENTRIES, MOST_BATCH).entries.filter(({ sequence }) => sequence <= to)
    : null;
  const lease = states(core).take(state, entries?.at(-1)?.sequence ?? to, now);
  // Nothing is sent after the reply to what ends the maker, or the organisation.
  // safety: log-batch-begins-under-permit
  permits(core).give(holderOf(state.id, lease), LONGEST_PERMIT, () => targetOf(core, state.id) === null);
  return {
    row,
    lease,
    from: state.position,
    hash: state.hash,
    to,
    upto,
    entries,
    oldest,
    held: isHere ? [] : log.held(),
    missing: isHere ? [] : missingEntries(core),
    isWhole: cutOf(core) === null,
    lasts: LONGEST_PERMIT,
  };
}

/** Passes over what retention has deleted, and tells of it. */
function afterCut(core: Core, state: StreamState, row: LogStreamRow, key: Uint8Array): StreamState {
  const cut = cutOf(core);
  if (!cut || state.position > cut.sequence) return state;
  const isMissed = state.position < cut.sequence;
  // safety: log-stream-gap-told
  if (isMissed)
    tell(core, 'LOG_STREAM_CHANGED', row, { missing: { from: state.position + 1, to: cut.sequence } });
  const mac = positionMac(key, core.org, state.id, cut.sequence);
  states(core).set(state.id, {
    position: cut.sequence,
    hash: cut.hash,
    mac,
    ...(isMissed && { batch_to: null }),
  });
  return { ...state, position: cut.sequence, hash: cut.hash, ...(isMissed && { batch_to: null }) };
}

/** Disables a stream if its attempts still call for it. */
export const disable: Operation<{ stream: string }> = {
  subject: ({ input }) => ({ resource: input.stream }),
  change: {
    plan(call, now) {
      const { core, input } = call;
      const row = core.rows.get('log_stream', input.stream);
      const reason = states(core).get(input.stream)?.disabling ?? null;
      if (!row || row.disabled !== null || reason === null) return { status: 204, data: null };
      const put = revision(call, 'log_stream', row, { disabled: reason, updated_at: now });
      return { status: 204, data: null, writes: [put], audit: { reason } };
    },
  },
};
