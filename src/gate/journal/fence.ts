// The fence: the epoch of a gate in D1. Every batch carries the epoch, so raising it ends all batches that
// are still under way. Invariant: what D1 does not have after the epoch was raised will never take effect.

import type { Core } from '../core';
import { locks } from './locks';

/** The epoch of this gate's batches. */
export const epochOf = (core: Core): number => Number(core.meta.get('epoch') ?? 1);

/**
 * Which of these commits D1 has, for certain: the epoch is raised first, so none of them can take effect
 * later. Null if D1 does not respond.
 */
export async function settled(core: Core, ids: string[]): Promise<Set<string> | null> {
  return locks(core).run(['epoch'], async () => {
    const next = epochOf(core) + 1;
    core.meta.set('raising', String(next));
    // An organisation being created has no fence yet; with this one its batch can no longer take effect.
    const raise =
      'insert into fences (org_id, epoch) values (?, ?) on conflict do update set epoch = excluded.epoch where epoch = excluded.epoch - 1';
    // safety: epoch-raised
    await core.database.write([{ sql: raise, params: [core.org, next] }]);
    // safety: epoch-raise-confirmed
    if (!(await caughtUp(core, next - 1))) return null;
    const found = await core.database
      .all<{ id: string }>({
        sql: 'select id from commits where org_id = ? and id in (select value from json_each(?))',
        params: [core.org, JSON.stringify(ids)],
      })
      .catch(() => null);
    return found && new Set(found.map(({ id }) => id));
  });
}

/**
 * Whether the fence is where this gate was raising it from `epoch`, even if the response to the raise was
 * lost. Null if D1 does not respond.
 */
export async function caughtUp(core: Core, epoch: number): Promise<boolean | null> {
  const fence = await core.database
    .all<{ epoch: number }>({ sql: 'select epoch from fences where org_id = ?', params: [core.org] })
    .catch(() => null);
  if (fence === null) return null;
  const current = fence[0]?.epoch;
  // safety: epoch-raised-by-this-gate
  if (current === undefined || current !== epoch + 1 || core.meta.get('raising') !== String(current))
    return false;
  core.meta.set('epoch', String(current));
  return true;
}
