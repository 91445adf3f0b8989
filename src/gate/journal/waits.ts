// What a reply waits for, besides the gate's own storage: D1, where a gate that loses its storage must not
// revive what has ended, and where the Worker reads a row before it asks any gate. Everything else is
// answered at once. Invariant: a wait decides nothing; the change stands, and a repeat finds it.

import { kindOf } from '../../db/rows';
import type { SecretRow } from '../../db/schema';
import type { Core } from '../core';
import type { Wait } from '../request/call';
import type { Plan, Put } from '../request/plan';
import { mirror } from './mirror';
import { journal } from './records';

/** How long the end of access waits for D1, in milliseconds. */
export const ENDS_WITHIN = 2000;
/** How long rows wait that Workers read first. */
const READ_FIRST = 10_000;

/**
 * How the reply to a plan waits that has not been carried out yet; null if it does not. `isUrgent`: what ends
 * access or recovers an organisation must not depend on D1.
 */
export function patienceFor(
  { rows }: Core,
  { writes = [], deletes = [], statements = [] }: Plan,
  isUrgent: boolean,
): Pick<Wait, 'patience' | 'must'> | null {
  const isReadFirst =
    statements.length > 0 ||
    writes.some(
      ({ kind, row }) => kindOf(kind).isReadFirst?.(row as never, rows.get(kind, row.id) as never) ?? false,
    );
  // safety: read-first-waits
  if (isReadFirst && !isUrgent) return { patience: READ_FIRST, must: true };
  // safety: endings-wait
  return isUrgent || deletes.length > 0 || writes.some((put) => mayEnd(rows, put))
    ? { patience: ENDS_WITHIN }
    : null;
}

/** Whether a row may end access or narrow it. New values cannot, nor can new rows, apart from policies. */
function mayEnd(rows: Core['rows'], { kind, row, from }: Put): boolean {
  // safety: new-policy-waits
  if (from === 0) return kind === 'policy';
  if (kind !== 'secret') return true;
  const endOf = (secret: SecretRow | null) => secret?.expires_at ?? Number.POSITIVE_INFINITY;
  // safety: sooner-expiry-waits
  return row.deleted_at !== null || row.revoked_at !== null || endOf(row) < endOf(rows.get(kind, row.id));
}

/** How the repeat of a change waits, by the request that made it: as the change did. */
export function waitOfRepeat(core: Core, request: string): Wait {
  const needed = journal(core).readFirstOf(request);
  // safety: replayed-read-first-waits
  if (needed !== null) return { for: needed, patience: READ_FIRST, must: true };
  // The reply to the first request may never have left.
  // safety: replayed-ending-waits
  return { for: journal(core).last(), patience: ENDS_WITHIN };
}

/** Waits. Returns whether D1 has the record. */
export const arrived = (core: Core, wait: Wait): Promise<boolean> =>
  mirror(core).reached(wait.for, wait.patience);
