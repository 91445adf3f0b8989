// Changing a member. Invariants: there is always an owner, who is not limited to environments; a link that
// somebody else has serves only for the role that they gave, where they gave it.

import { mustBeConfirmed } from '../../../auth/authorize';
import { hasMoved, isReaddressed } from '../../../auth/policies/effects-of-people';
import { mayChangeMember, mayGiveRole, type Position } from '../../../auth/roles';
import type { MemberRow, Role } from '../../../db/schema';
import { invalid, type Refusal, refuse } from '../../../errors';
import { listInWords } from '../../../gate/approvals/shown';
import { bringers, withTies } from '../../../gate/approvals/ties';
import type { Core } from '../../../gate/core';
import type { Call, Operation } from '../../../gate/request/call';
import { slugOf } from '../../../gate/request/target';
import { revision } from '../../../gate/request/writes';
import { unknownEnvironment } from '../../credentials/gate/create';
import { distinct, find, idsOf, isLastOwner, isTaken, noEnrolment, shown } from './member';

interface UpdateInput {
  email: string | null;
  name: string | null;
  role: Role | null;
  /** By id or slug; null lifts the limit, and undefined leaves it. */
  environments?: string[] | null;
}

/** The role of a member after an update, and whether it differs in any respect. */
function positionAfter(call: Call<UpdateInput>, row: MemberRow): Position & { isOther: boolean } {
  const { role, environments } = call.input;
  const after = {
    role: role ?? row.role,
    environments: environments === undefined ? row.environments : distinct(idsOf(call, environments)),
  };
  return { ...after, isOther: after.role !== row.role || hasMoved(row, { ...row, ...after }) };
}

/** 400 for an owner with limits. */
const limitedOwner = ({ role, environments }: Position): Refusal | null =>
  // safety: owner-without-limits
  role === 'owner' && environments !== null
    ? invalid('environments', 'must be null for an owner, who is not limited to environments')
    : null;

export const update: Operation<UpdateInput> = {
  reach(call) {
    const row = find(call);
    return row && row.id !== call.caller.id ? mayChangeMember(call.caller, row) : null;
  },
  authorize(call) {
    const row = find(call);
    const after = row && positionAfter(call, row);
    if (!row || !after?.isOther) return null;
    // safety: owner-demotion-confirmed
    return (
      mayGiveRole(call.caller, after) ??
      ([after.role, row.role].includes('owner') ? mustBeConfirmed(call.caller) : null)
    );
  },
  change: {
    revises: find,
    plan(call, now) {
      const { core, caller } = call;
      const { email, name } = call.input;
      const row = find(call);
      if (!row) return refuse('NOT_FOUND');
      if (email !== null && isTaken(core, email, row.id)) return refuse('EMAIL_TAKEN');
      const { isOther, ...after } = positionAfter(call, row);
      const asked = call.input.environments ?? null;
      const problem = unknownEnvironment(asked, idsOf(call, asked)) ?? limitedOwner(after);
      if (problem) return problem;
      // safety: last-owner
      if (after.role !== 'owner' && isLastOwner(core, row)) return refuse('LAST_OWNER');
      const isTied =
        isOther || (caller.id !== row.id && isReaddressed(row, { ...row, email: email ?? row.email }));
      const put = revision(call, 'member', row, {
        ...(email !== null && { email }),
        ...(name !== null && { name }),
        ...after,
        // A role that a person gives is theirs, whatever the member's groups are.
        ...(isOther && row.provisioned?.role && { provisioned: { ...row.provisioned, role: false } }),
        // safety: address-by-another-ties
        ...(isTied && { connections: withTies(row.connections, bringers(call), now) }),
        // The inviter may still have the URL, so it stays valid only for the role they gave, where they gave
        // it.
        // safety: enrolment-for-given-role
        ...(isOther && row.invited_by !== caller.id && noEnrolment),
      });
      const describes = isOther
        ? describedChange(core, row, after)
        : `change the address of ${row.name} to ${(put.row as MemberRow).email}`;
      return { status: 200, data: shown(call, put.row as MemberRow), writes: [put], describes };
    },
  },
};

/** What a change of a role is, for those who decide it. */
function describedChange(core: Core, { name, role, environments }: MemberRow, after: Position): string {
  const where = ({ environments: ids }: Pick<Position, 'environments'>) =>
    ids ? listInWords(ids.map((id) => slugOf(core, id))) : 'all environments';
  return role === after.role
    ? `change where ${name} is ${role} from ${where({ environments })} to ${where(after)}`
    : `change the role of ${name} from ${role} to ${after.role}`;
}
