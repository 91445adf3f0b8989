// Who may use log streams, and whether a stream's maker still may. Invariant: only a caller without limits to
// environments or names can have the audit log of the whole organisation sent, and a stream sends nothing
// once its maker could not make it any more.
import { type Caller, mustReachAll, reasons } from '../../../auth/authorize';
import type { LogStreamRow } from '../../../db/schema';
import { type Refusal, refuse } from '../../../errors';
import type { Core } from '../../../gate/core';
import { callerOf, memberOf } from '../../../gate/identity/caller';
import { endOf } from '../../../gate/identity/lifetime';
import type { Call } from '../../../gate/request/call';
import { lineageOf } from '../../../gate/rows/ends-with-parent';

const SCOPES = ['audit:read', 'webhooks:write'] as const;

/** 403 unless the caller holds each scope, for the whole organisation. */
function reachesLog(caller: Caller): Refusal | null {
  for (const scope of SCOPES) {
    if (reasons(caller.permissions, [scope], null).length === 0)
      return refuse('INSUFFICIENT_SCOPE', {
        message: `This credential does not hold the scope ${scope}, which this request needs.`,
      });
    const limited = mustReachAll(caller, [scope], 'use log streams');
    if (limited) return limited;
  }
  return null;
}

// safety: log-streams-by-unlimited-callers
export const whole = ({ caller }: Call<unknown>): Refusal | null => reachesLog(caller);

/** The maker as a caller; null if it has ended. */
function makerOf(core: Core, { maker, generation }: LogStreamRow): Caller | null {
  const org = core.rows.get('org', core.org);
  const member = core.rows.get('member', maker);
  if (member) {
    // A panic ends a member's sessions but not the member.
    // safety: log-stream-before-panic
    const isStopped = generation < (org?.generation ?? 0) || member.suspended_at !== null;
    return isStopped ? null : memberOf(core, maker, member);
  }
  const row = core.rows.get('credential', maker);
  if (!row) return null;
  const lineage = lineageOf(core, row);
  return endOf(core, lineage) === null ? callerOf(core, lineage) : null;
}

/** Whether a stream may send: its maker is there, and may still make it. */
export function mayRun(core: Core, row: LogStreamRow): boolean {
  if (core.rows.get('org', core.org)?.deleted_at !== null) return false;
  const maker = makerOf(core, row);
  // safety: log-stream-maker-judged-again
  return maker !== null && reachesLog(maker) === null;
}
