// Operations on members in the gate. Invariants: an email address is unique in an organisation, ignoring
// case; operations that create or change anything of a member lock the member's id.

import { mustBeConfirmed } from '../../../auth/authorize';
import { mayGiveRole } from '../../../auth/roles';
import { roleScopes } from '../../../auth/scopes';
import { idStart } from '../../../db/ids';
import { isSuspended, type MemberRow, type Role, roles } from '../../../db/schema';
import { refuse } from '../../../errors';
import { bringers, isKeeperFull, withTies } from '../../../gate/approvals/ties';
import type { Raised } from '../../../gate/outbox';
import type { Operation } from '../../../gate/request/call';
import { type ListInput, listed } from '../../../gate/request/listing';
import { found, type Outcome, ok } from '../../../gate/request/outcome';
import { insertion, revision } from '../../../gate/request/writes';
import { unknownEnvironment } from '../../credentials/gate/create';
import { type Status, statusOf } from '../rules';
import { access } from './access';
import { readmit } from './former';
import { distinct, enrolment, find, idsOf, isTaken, shown } from './member';
import { remove } from './remove';
import { resume, suspend } from './suspend';
import { update } from './update';

const listRoles: Operation = {
  read: (): Outcome => ok({ data: roles.map((role) => ({ role, scopes: roleScopes[role] })) }),
};

const list: Operation<ListInput & { status: Status | null }> = {
  read(call) {
    const { core, input } = call;
    return listed(core, 'member', idStart('member'), input, (row) =>
      input.status === null || statusOf(row, core.now()) === input.status ? shown(call, row) : null,
    );
  },
};

const read: Operation<Record<string, never>> = {
  read: (call) => found(find(call), (row) => shown(call, row)),
};

interface NewInput {
  id: string;
  email: string;
  name: string;
  role: Role;
  /** By id or slug. Null, or absent, for all. */
  environments?: string[] | null;
  enrolment: string;
}

const create: Operation<NewInput> = {
  subject: ({ input }) => ({ resource: input.id }),
  authorize(call) {
    const { role, environments = null } = call.input;
    return (
      mayGiveRole(call.caller, { role, environments: idsOf(call, environments) }) ??
      (role === 'owner' ? mustBeConfirmed(call.caller) : null)
    );
  },
  change: {
    plan(call, now) {
      const { core, ask, caller, input } = call;
      const { enrolment: hash, environments: refs = null, ...fields } = input;
      const environments = idsOf(call, refs);
      const unknown = unknownEnvironment(refs, environments);
      if (unknown) return unknown;
      if (isTaken(core, input.email, input.id)) return refuse('EMAIL_TAKEN');
      if (isKeeperFull(core, now))
        return refuse('LIMIT_REACHED', {
          message:
            'Too many members were invited and removed in the last seven days. Wait some days before you invite more.',
        });
      const put = insertion(call, 'member', {
        org_id: ask.org,
        ...fields,
        environments: distinct(environments),
        created_at: now,
        invited_by: caller.id,
        connections: withTies(null, bringers(call), now),
        ...enrolment(hash, now),
      });
      const describes = `invite ${input.name} as ${input.role}`;
      return {
        status: 201,
        data: shown(call, put.row as MemberRow),
        writes: [put],
        resource: input.id,
        describes,
      };
    },
  },
};

const enrol: Operation<{ enrolment: string }> = {
  change: {
    revises: find,
    plan(call, now) {
      const row = find(call);
      if (!row) return refuse('NOT_FOUND');
      // safety: suspended-member-enrols-nothing
      if (isSuspended(row))
        return refuse('CONFLICT', { message: 'This member is suspended. Resume them first.' });
      const { caller, input } = call;
      const connections = withTies(row.connections, bringers(call), now);
      const put = revision(call, 'member', row, { ...enrolment(input.enrolment, now), connections });
      const describes = `create an enrolment link for ${row.name}`;
      const events: Raised[] = [{ type: 'ENROLMENT_CREATED', data: { member_id: row.id, by: caller.id } }];
      return {
        status: 201,
        data: shown(call, put.row as MemberRow),
        writes: [put],
        events,
        resource: row.id,
        describes,
      };
    },
  },
};

export const memberOperations = {
  'role.list': listRoles,
  'member.list': list,
  'member.read': read,
  'member.create': create,
  'member.update': update,
  'member.enrol': enrol,
  'member.suspend': suspend,
  'member.resume': resume,
  'member.delete': remove,
  'member.access': access,
  'member.readmit': readmit,
};
