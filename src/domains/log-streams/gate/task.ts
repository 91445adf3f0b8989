// The task of log streams: requests a job for each stream with entries to send, tells of what was not sent to
// an earlier target, and stores positions in D1. Also what follows from a change of a stream. Invariants: a
// job that was lost is requested again; what is left out for good is told by an event in the same turn.

import type { LogStreamKind, LogStreamRow } from '../../../db/schema';
import { ATTENDED } from '../../../delivery/gate/task';
import type { Core, RowChange } from '../../../gate/core';
import type { EventType } from '../../../gate/outbox';
import { part } from '../../../gate/part';
import { mayRun } from './maker';
import { store } from './positions';
import { CATCH_UP, DRAINED_FOR, type Drain, MINUTE, MOST_BATCH, type StreamState, states } from './states';

const TASK = 'log_streams';
/** How long new entries wait for others. */
const COLLECTED_FOR = 3000;
/** How often the lag of waiting streams is measured. */
const LOOKS = MINUTE;

/** Where a stream sends now: the target before a change, up to the entry of that change, or its own. */
export interface Target {
  row: LogStreamRow;
  /** The last entry that it gets now. */
  upto: number;
  drain: Drain | null;
}

/** Tells of something that happened to a stream without a request. */
export const tell = (
  core: Core,
  type: EventType & `LOG_STREAM_${string}`,
  { id, name, kind }: Pick<LogStreamRow, 'id' | 'name' | 'kind'>,
  data: Record<string, unknown>,
): void => core.outbox.put({ type, data: { log_stream_id: id, name, kind, ...data } }, core.now());

/** Ends what is over: an earlier target that has everything, or was tried for long enough. */
export function settle(core: Core, id: string, now: number): void {
  for (const drain of states(core).drains(id)) {
    const state = states(core).get(id);
    if (!state) return;
    const isUnderWay = (state.lease_until ?? 0) > now;
    const isMissed = state.position < drain.upto;
    if (isMissed && mayRun(core, drain.row) && (now < drain.until || isUnderWay)) return;
    if (isMissed)
      tell(core, 'LOG_STREAM_CHANGED', drain.row, {
        missing: { from: state.position + 1, to: drain.upto },
      });
    states(core).drained(id, drain.upto);
    states(core).reset(id, now);
  }
  const row = core.rows.get('log_stream', id);
  const state = states(core).get(id);
  if (!row || !state || row.disabled !== null || state.told === 1 || mayRun(core, row)) return;
  states(core).set(id, { told: 1 });
  tell(core, 'LOG_STREAM_DISABLED', row, { reason: 'maker' });
}

/** The target of a stream; null if it sends nothing. */
export function targetOf(core: Core, id: string): Target | null {
  const [drain] = states(core).drains(id);
  if (drain) return mayRun(core, drain.row) ? { row: drain.row, upto: drain.upto, drain } : null;
  const row = core.rows.get('log_stream', id);
  // safety: disabled-log-stream-not-sent
  if (!row || row.disabled !== null || !mayRun(core, row)) return null;
  return { row, upto: core.auditLog.head().sequence, drain: null };
}

/** Until when the limited rate of entries from before holds a stream back. */
export const heldUntil = ({ position, catch_up, window_at, window_bytes }: StreamState): number =>
  // safety: catch-up-rate
  position < catch_up && window_bytes + MOST_BATCH > CATCH_UP ? window_at + MINUTE : 0;

/** When a stream needs a job; null if it has nothing to send. */
export function dueAt(core: Core, id: string, now: number): number | null {
  const state = states(core).get(id);
  const target = targetOf(core, id);
  if (!target) return null;
  // Its position is still to be read from D1.
  if (!state) return now;
  const busy = Math.max(state.lease_until ?? 0, state.attended === null ? 0 : state.attended + ATTENDED);
  if (busy > now) return busy;
  if (state.disabling && !target.drain) return now;
  if (state.position >= target.upto) return null;
  const at = Math.max(state.next_at, heldUntil(state));
  return target.drain ? Math.min(at, target.drain.until) : at;
}

/** One run. */
export async function runLogStreams(core: Core, now: number): Promise<number | null> {
  if (core.rows.get('org', core.org)?.deleted_at !== null) return null;
  const ids = new Set([
    ...core.rows.within('log_stream', '').map(({ id }) => id),
    ...states(core)
      .all()
      .map(({ id }) => id),
  ]);
  const asked: string[] = [];
  let next = Number.POSITIVE_INFINITY;
  core.storage.transactionSync(() => {
    for (const id of ids) {
      settle(core, id, now);
      const at = dueAt(core, id, now);
      if (at === null) continue;
      next = Math.min(next, at <= now ? now + ATTENDED : at, now + LOOKS);
      if (at > now) continue;
      asked.push(id);
      // Noted before: a fast job may end before the queue confirms its message.
      states(core).set(id, { attended: now });
    }
  });
  await Promise.all(asked.map((id) => core.enqueue('log_stream', id)));
  const later = await store(core, now);
  next = Math.min(next, later ?? next);
  return Number.isFinite(next) ? next : null;
}

/** Before a stream changes: its target so far gets the entries up to that of the change. */
export function followLogStream(
  core: Core,
  { id, before, after, action }: RowChange<'log_stream'>,
  now: number,
): void {
  const all = states(core);
  const { sequence } = core.auditLog.head();
  if (!before && after) all.begin(id, after.starts_after, after.starts_after < sequence ? sequence : 0);
  core.schedule.at(TASK, now);
  if (!before || action === 'log_stream.disable') return;
  const isElsewhere =
    after?.disabled !== null ||
    after.credentials_sealed !== before.credentials_sealed ||
    after.format !== before.format;
  // safety: log-stream-drained-before-change
  if (isElsewhere && before.disabled === null && mayRun(core, before))
    all.drain({ id, upto: sequence + 1, until: now + DRAINED_FOR, row: before });
  if (isElsewhere || before.disabled !== null) all.reset(id, now);
  if (after && after.maker !== before.maker) all.set(id, { told: 0 });
  if (!after) all.set(id, { gone: 1 });
}

/** How long the oldest entry that each enabled stream has to send has waited, in seconds. */
export const lagsOf = (core: Core, now: number): [LogStreamKind, number][] =>
  core.rows.within('log_stream', '').flatMap((row): [LogStreamKind, number][] => {
    const state = states(core).get(row.id);
    if (row.disabled !== null || !state || state.position >= core.auditLog.head().sequence) return [];
    const from = state.position + 1;
    const [entry] = from >= core.auditLog.oldest() ? core.auditLog.from(from, 1).entries : [];
    const since = entry ? Date.parse(entry.time) : (state.time ?? row.created_at);
    return [[row.kind, Math.max(0, now - since) / 1000]];
  });

part((core) =>
  core.auditLog.follow((_, now) => {
    if (core.rows.count('log_stream') > 0) core.schedule.at(TASK, now + COLLECTED_FOR);
  }),
);
