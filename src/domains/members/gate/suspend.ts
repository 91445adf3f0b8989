// Suspending and resuming a member. Invariants: while members are suspended, they act, decide and count as
// little as removed ones (`gate/identity/members.ts`); role, teams, grants and passkeys wait for them; what
// they began before does not come back.

import { mustBeConfirmed } from '../../../auth/authorize';
import { mayGiveRole, mayRemoveMember } from '../../../auth/roles';
import { idStart } from '../../../db/ids';
import { type CredentialRow, isSuspended, type MemberRow } from '../../../db/schema';
import { refuse } from '../../../errors';
import { bringers, withTies } from '../../../gate/approvals/ties';
import type { Core } from '../../../gate/core';
import { descendants } from '../../../gate/identity/descendants';
import type { Call, Operation } from '../../../gate/request/call';
import type { Put } from '../../../gate/request/plan';
import { revision } from '../../../gate/request/writes';
import { leaving, madeBy, mayRevoke } from './left';
import { find, isLastOwner, noEnrolment, shown } from './member';

/** 403 unless the caller may remove the member; an owner only with a confirmation. */
export function mayEnd(call: Call<unknown>) {
  const { caller } = call;
  const row = find(call);
  return row && (mayRemoveMember(caller, row) ?? (row.role === 'owner' ? mustBeConfirmed(caller) : null));
}

/** The sessions of a member in browsers and terminals that have not been revoked. */
const sessionsOf = (core: Core, member: string): CredentialRow[] =>
  descendants(core)
    .browserSessions(member)
    .flatMap((id) => core.rows.get('credential', id) ?? []);

/** What suspends a member: the member's row, and the end of each session. */
export function suspending(call: Call<unknown>, row: MemberRow, now: number): Put[] {
  // Sessions would count again once the member is resumed.
  // safety: suspension-ends-sessions
  const ended = sessionsOf(call.core, row.id).map((one) =>
    revision(call, 'credential', one, { revoked_at: now }),
  );
  const fields = { suspended_at: now, suspended_by: call.caller.id, ...noEnrolment };
  return [revision(call, 'member', row, fields), ...ended];
}

/** Of a suspension that there is: the caller's from now on, if SCIM could lift it. */
function takingOver(call: Call<unknown>, row: MemberRow): Put[] {
  // safety: suspension-by-person-lasts
  const isTheirs = row.suspended_by?.startsWith(idStart('scim')) ?? false;
  return isTheirs ? [revision(call, 'member', row, { suspended_by: call.caller.id })] : [];
}

/** Who resumes a member: the token itself for SCIM, which ties nobody. */
const resumers = (call: Call<unknown>): string[] =>
  call.caller.kind === 'scim' ? [call.caller.id] : bringers(call);

/** What ends a suspension. */
export const resuming = (call: Call<unknown>, row: MemberRow, now: number): Put =>
  revision(call, 'member', row, {
    suspended_at: null,
    suspended_by: null,
    resumed_at: Math.max(now, row.suspended_at ?? 0, row.resumed_at ?? 0),
    // Whoever lets a member act again brings in somebody who could decide what they ask.
    // safety: resumption-ties
    connections: withTies(row.connections, resumers(call), now),
  });

export const suspend: Operation<{ revoke: boolean }> = {
  reach: mayEnd,
  authorize: mayRevoke,
  change: {
    revises: find,
    plan(call, now) {
      const { core } = call;
      const row = find(call);
      if (!row) return refuse('NOT_FOUND');
      // safety: last-owner-not-suspended
      if (isLastOwner(core, row)) return refuse('LAST_OWNER');
      const left = leaving(call, madeBy(core, row.id), now);
      const puts = isSuspended(row) ? takingOver(call, row) : suspending(call, row, now);
      return {
        status: 200,
        data: { ...shown(call, (puts[0]?.row ?? row) as MemberRow), ...left.data },
        writes: [...puts, ...left.writes],
        describes: `suspend the member ${row.name}`,
      };
    },
  },
};

export const resume: Operation<Record<string, never>> = {
  reach: mayEnd,
  authorize(call) {
    const row = find(call);
    // safety: resumed-within-permissions
    return row && mayGiveRole(call.caller, row);
  },
  change: {
    revises: find,
    plan(call, now) {
      const row = find(call);
      if (!row) return refuse('NOT_FOUND');
      if (!isSuspended(row)) return { status: 200, data: shown(call, row) };
      const put = resuming(call, row, now);
      const describes = `resume the member ${row.name} as ${row.role}`;
      return { status: 200, data: shown(call, put.row as MemberRow), writes: [put], describes };
    },
  },
};
