// The positions of log streams in D1. A gate stores each a minute after it moved, at the latest, and reads
// them where it lost its storage: then entries that D1 has are sent again rather than left out. Invariant: a
// position counts only with its MAC; without it, a stream begins again where it began.
import { tuple } from '../../../crypto/bytes';
import { equal, hmacHex } from '../../../crypto/digest';
import type { Core } from '../../../gate/core';
import { MINUTE, type StreamState, states } from './states';

/** The MAC of a position under the key for rows. */
export const positionMac = (key: Uint8Array, org: string, id: string, sequence: number): string =>
  hmacHex(key, tuple('svc/v1/log-stream-position', org, id, String(sequence)));

/** Gives every stream without a state its position from D1. Throws UNAVAILABLE if D1 does not respond. */
export async function restore(core: Core, key: Uint8Array): Promise<void> {
  const lacking = () => core.rows.within('log_stream', '').filter(({ id }) => !states(core).get(id));
  if (lacking().length === 0) return;
  const found = await core.database.all<{ id: string; sequence: number; mac: string }>({
    sql: 'select id, sequence, mac from log_stream_positions where org_id = ?',
    params: [core.org],
  });
  const head = core.auditLog.head().sequence;
  core.storage.transactionSync(() => {
    for (const { id, starts_after } of lacking()) {
      const stored = found.find((one) => one.id === id);
      // safety: stored-position-mac
      const isGenuine = stored && equal(stored.mac, positionMac(key, core.org, id, stored.sequence));
      states(core).begin(id, Math.min(isGenuine ? stored.sequence : starts_after, head), head);
    }
  });
}

/** Stores in D1 what has moved. Returns when to store the rest, or null. */
export async function store(core: Core, now: number): Promise<number | null> {
  const moved = states(core)
    .all()
    .filter(({ position, stored, mac, gone }) => gone === 0 && mac !== null && position !== stored);
  const due = moved.filter(({ stored_at }) => stored_at + MINUTE <= now);
  const gone = states(core)
    .all()
    .filter((state) => state.gone === 1 && states(core).drains(state.id).length === 0);
  const next =
    moved.length > due.length ? Math.min(...moved.map(({ stored_at }) => stored_at + MINUTE)) : null;
  if (due.length + gone.length === 0) return next;
  const { end } = await core.database.write([
    ...due.map((state) => put(core, state)),
    ...gone.map(({ id }) => removal(core, id)),
  ]);
  if (end !== 'done') return now + MINUTE;
  core.storage.transactionSync(() => {
    for (const { id, position } of due) states(core).set(id, { stored: position, stored_at: now });
    for (const { id } of gone) states(core).forget(id);
  });
  return next === null ? null : Math.max(next, now);
}

const put = ({ org }: Core, { id, position, mac }: StreamState) => ({
  sql: 'insert or replace into log_stream_positions (org_id, id, sequence, mac) values (?, ?, ?, ?)',
  params: [org, id, position, mac],
});

const removal = ({ org }: Core, id: string) => ({
  sql: 'delete from log_stream_positions where org_id = ? and id = ?',
  params: [org, id],
});
