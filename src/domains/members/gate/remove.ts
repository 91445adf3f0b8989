// Removing a member. Invariant: a removed member leaves no passkey, membership or grant behind, and their
// browser sessions are refused because the row is gone.

import { mustBeConfirmed } from '../../../auth/authorize';
import { mayRemoveMember } from '../../../auth/roles';
import { covers } from '../../../auth/scopes';
import type { RowKind } from '../../../db/rows';
import type { CredentialRow, MemberRow } from '../../../db/schema';
import { type Refusal, refuse } from '../../../errors';
import { keeperOf, kept } from '../../../gate/approvals/ties';
import type { Core } from '../../../gate/core';
import { isAlive } from '../../../gate/identity/lifetime';
import type { Plan, Put } from '../../../gate/journal/plan';
import { portion, revision } from '../../../gate/journal/writes';
import type { Call, Operation } from '../../../gate/request/call';
import { descendants } from '../../../gate/rows/descendants';
import { find, isLastOwner } from './member';

/** Live credentials that a member created, without session tokens and browser sessions. */
function madeBy(core: Core, member: string): CredentialRow[] {
  return descendants(core)
    .madeBy([member], core.now())
    .flatMap(({ id, live }) => {
      const row = live ? core.rows.get('credential', id) : null;
      return row && row.kind !== 'browser' && isAlive(core, row) ? [row] : [];
    });
}

/** A removed member may have left more credentials than one request can revoke. */
const isLeft = ({ core, ask, input }: Call<{ revoke: boolean }>, made: readonly CredentialRow[]) =>
  input.revoke && made.length > 0 && core.rows.isBuried('member', ask.named.member as string);

export const remove: Operation<{ revoke: boolean }> = {
  reach(call) {
    const row = find(call);
    return (
      row &&
      (mayRemoveMember(call.caller, row) ?? (row.role === 'owner' ? mustBeConfirmed(call.caller) : null))
    );
  },
  authorize({ caller, input }): Refusal | null {
    // safety: revocation-needs-scope
    if (!input.revoke || caller.permissions.some(({ scopes }) => covers(scopes, 'tokens:write'))) return null;
    return refuse('INSUFFICIENT_SCOPE', {
      message: 'With revoke_credentials=true, this request needs the scope tokens:write.',
    });
  },
  change: {
    revises: find,
    plan(call, now) {
      const { core, ask, input } = call;
      const row = find(call);
      const made = madeBy(core, ask.named.member as string);
      if (!row && !isLeft(call, made)) return refuse('NOT_FOUND');
      if (row && isLastOwner(core, row)) return refuse('LAST_OWNER');
      const named = portion(made);
      const remaining = made.length - named.length;
      const ended = input.revoke ? named : [];
      const plan: Plan = {
        status: 200,
        data: {
          credentials: named.map(({ kind, id, name }) => ({ kind, id, name })),
          ...(remaining && { remaining }),
        },
        writes: [
          ...ended.map((credential) => revision(call, 'credential', credential, { revoked_at: now })),
          ...(row ? keptTies(call, row, now) : []),
        ],
        describes: `remove the member ${row?.name ?? ''}`,
      };
      return row ? { ...plan, deletes: belongings(core, row), resource: row.id, destroyed: [row.id] } : plan;
    },
  },
};

/** The change of an owner's row that keeps the ties of a member who is removed. */
function keptTies(call: Call<unknown>, row: MemberRow, now: number): Put[] {
  const keeper = keeperOf(call.core, row.id);
  const connections = keeper && kept(call.core, keeper, row, now);
  return keeper && connections ? [revision(call, 'member', keeper, { connections })] : [];
}

/** A member's row and everything that is removed with it. */
function belongings({ rows }: Core, { id }: MemberRow): { kind: RowKind; id: string }[] {
  // safety: member-removal-removes-grants
  const kinds = ['passkey', 'team_member', 'grant', 'sso_link'] as const;
  return [
    { kind: 'member', id },
    ...kinds.flatMap((kind) => rows.within(kind, id).map((row) => ({ kind, id: row.id }))),
  ];
}
