// Removing a member. Invariant: a removed member leaves no passkey, membership or grant behind, and their
// browser sessions are refused because the row is gone.

import type { RowKind } from '../../../db/rows';
import type { CredentialRow, MemberRow } from '../../../db/schema';
import { refuse } from '../../../errors';
import { keeperOf, kept } from '../../../gate/approvals/ties';
import type { Core } from '../../../gate/core';
import type { Call, Operation } from '../../../gate/request/call';
import type { Plan, Put } from '../../../gate/request/plan';
import { namedId } from '../../../gate/request/target';
import { revision } from '../../../gate/request/writes';
import { remembering } from './former';
import { leaving, madeBy, mayRevoke } from './left';
import { find, isLastOwner } from './member';
import { mayEnd } from './suspend';

/** A removed member may have left more credentials than one request can revoke. */
const isLeft = ({ core, ask, input }: Call<{ revoke: boolean }>, made: readonly CredentialRow[]) =>
  input.revoke && made.length > 0 && core.rows.isBuried('member', namedId(ask, 'member'));

export const remove: Operation<{ revoke: boolean }> = {
  reach: mayEnd,
  authorize: mayRevoke,
  change: {
    revises: find,
    plan(call, now) {
      const { core, ask } = call;
      const row = find(call);
      const made = madeBy(core, namedId(ask, 'member'));
      if (!row && !isLeft(call, made)) return refuse('NOT_FOUND');
      if (row && isLastOwner(core, row)) return refuse('LAST_OWNER');
      const left = leaving(call, made, now);
      const plan: Plan = {
        status: 200,
        data: left.data,
        writes: [...left.writes, ...(row ? [...keptTies(call, row, now), remembering(call, row, now)] : [])],
        describes: `remove the member ${row?.name ?? ''}`,
      };
      return row ? { ...plan, deletes: belongings(core, row), resource: row.id, destroyed: [row.id] } : plan;
    },
  },
};

/** The change of an owner's row that keeps the ties of a member who is removed. */
export function keptTies(call: Call<unknown>, row: MemberRow, now: number): Put[] {
  const keeper = keeperOf(call.core, row.id);
  const connections = keeper && kept(call.core, keeper, row, now);
  return keeper && connections ? [revision(call, 'member', keeper, { connections })] : [];
}

/** A member's row and everything that is removed with it. */
export function belongings({ rows }: Core, { id }: MemberRow): { kind: RowKind; id: string }[] {
  // safety: member-removal-removes-grants
  const kinds = ['passkey', 'team_member', 'grant', 'sso_link'] as const;
  return [
    { kind: 'member', id },
    ...kinds.flatMap((kind) => rows.within(kind, id).map((row) => ({ kind, id: row.id }))),
  ];
}
