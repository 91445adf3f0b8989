// Operations on teams in the gate. A team has grants, which apply to its members. Invariants: a caller cannot
// add a member to a team that holds more than the caller; a team is deleted together with its memberships and
// grants; who joins or leaves moves its revision; the provider alone names a group of its connection, whose
// name can give a role.

import { withinPermissions } from '../../../auth/delegation';
import { idStart } from '../../../db/ids';
import type { RowKind } from '../../../db/rows';
import type { MemberRow, TeamMemberRow, TeamRow } from '../../../db/schema';
import { type Refusal, refuse } from '../../../errors';
import { bringers, isApprovingTeam, withTies } from '../../../gate/approvals/ties';
import type { Core } from '../../../gate/core';
import { permissionsOfGrant } from '../../../gate/identity/caller';
import { isGrantAlive } from '../../../gate/identity/lifetime';
import { membershipId, membersOfTeam } from '../../../gate/identity/team-members';
import type { Call, Operation } from '../../../gate/request/call';
import { type ListInput, listed } from '../../../gate/request/listing';
import { fail, found, type Outcome } from '../../../gate/request/outcome';
import type { Put } from '../../../gate/request/plan';
import { namedId } from '../../../gate/request/target';
import { insertion, revision } from '../../../gate/request/writes';
import { teamMemberOut, teamOut } from '../wire';

/** The most teams of a member: every request of the member evaluates the grants of each. */
export const MOST_TEAMS_OF_ONE = 20;

const find = ({ core, ask }: Call<unknown>): TeamRow | null => core.rows.get('team', namedId(ask, 'team'));
const target = ({ ask }: Call<unknown>) => namedId(ask, 'team');

const list: Operation<ListInput> = {
  read: ({ core, input }) => listed(core, 'team', idStart('team'), input, teamOut),
};

const read: Operation<Record<string, never>> = {
  read: (call) => found(find(call), teamOut),
};

const create: Operation<{ id: string; name: string }> = {
  subject: ({ input }) => ({ resource: input.id }),
  change: {
    plan(call, now) {
      const { ask, input } = call;
      const put = insertion(call, 'team', { org_id: ask.org, ...input, created_at: now });
      return { status: 201, data: teamOut(put.row as TeamRow), writes: [put] };
    },
  },
};

/** Whether a team is a group of a connection, whose roles go by the names of groups. */
const isGroup = ({ rows }: Core, { provisioned }: TeamRow): boolean =>
  provisioned?.connection != null && rows.get('sso_connection', provisioned.connection) !== null;

const named = refuse('CONFLICT', {
  message:
    'An identity provider manages this team, and its name can give a role. Rename the group at the provider.',
});

const rename: Operation<{ name: string }> = {
  change: {
    revises: find,
    plan(call) {
      const { core, input } = call;
      const row = find(call);
      if (!row) return refuse('NOT_FOUND');
      // safety: group-named-by-provider
      if (isGroup(core, row) && input.name !== row.name) return named;
      const put = revision(call, 'team', row, { name: input.name });
      return { status: 200, data: teamOut(put.row as TeamRow), writes: [put] };
    },
  },
};

/** A team's row and everything that is removed with it. */
export const ofTeam = (core: Core, team: string): { kind: RowKind; id: string }[] => [
  { kind: 'team', id: team },
  ...membersOfTeam(core, team).map(({ id }) => ({ kind: 'team_member', id }) as const),
  // safety: team-deletion-deletes-grants
  ...core.rows.within('grant', team).map(({ id }) => ({ kind: 'grant', id }) as const),
];

const remove: Operation<Record<string, never>> = {
  change: {
    revises: find,
    plan(call) {
      const { core } = call;
      const row = find(call);
      if (!row) return refuse('NOT_FOUND');
      return {
        status: 204,
        data: null,
        describes: `delete the team ${row.name}`,
        deletes: ofTeam(core, row.id),
      };
    },
  },
};

// ---------------------------------------------------------------- who is in a team

const shown = (
  core: Core,
  row: TeamMemberRow,
  member: MemberRow | null = core.rows.get('member', row.member_id),
) => teamMemberOut(row, member);

const listMembers: Operation<ListInput> = {
  read(call): Outcome {
    const { core, input } = call;
    const row = find(call);
    if (!row) return fail(refuse('NOT_FOUND'));
    return listed(core, 'team_member', membershipId(row.id, ''), input, (membership) =>
      shown(core, membership),
    );
  },
};

/**
 * 403 unless the caller holds everything the team grants, for at least as long. A caller that depends on
 * another credential cannot create a membership that outlives it.
 */
function mayFill({ core, ask, caller }: Call<unknown>): Refusal | null {
  const grants = core.rows.within('grant', namedId(ask, 'team')).filter((grant) => isGrantAlive(core, grant));
  // safety: team-member-added-independently
  if (caller.isDependent && grants.length > 0)
    return refuse('SCOPE_EXCEEDS_PARENT', {
      message:
        'A credential that is revoked together with its creator cannot add members to a team that has grants.',
    });
  for (const grant of grants) {
    const exceeds = withinPermissions(caller, { ...permissionsOfGrant(grant), allowed_addresses: null });
    // safety: team-within-permissions
    if (exceeds) return exceeds;
  }
  return null;
}

const add: Operation<{ member_id: string }> = {
  subject: (call) => ({ resource: membershipId(target(call), call.input.member_id) }),
  reach: (call) => mayFill(call),
  change: {
    revises: find,
    plan(call, now) {
      const { core, ask, caller, input } = call;
      const team = find(call);
      if (!team) return refuse('NOT_FOUND');
      const member = core.rows.get('member', input.member_id);
      if (!member) return refuse('NOT_FOUND', { message: 'The member in member_id does not exist.' });
      const id = membershipId(team.id, member.id);
      const there = core.rows.get('team_member', id);
      if (there) return { status: 201, data: shown(core, there) };
      if (core.rows.within('team_member', member.id).length >= MOST_TEAMS_OF_ONE)
        return refuse('LIMIT_REACHED', { message: `A member can be in at most ${MOST_TEAMS_OF_ONE} teams.` });
      const fields = {
        org_id: ask.org,
        id,
        team_id: team.id,
        member_id: member.id,
        added_by: caller.id,
        accountable: bringers(call),
        created_at: now,
      };
      const put = insertion(call, 'team_member', fields);
      const describes = `add ${member.name} to the team ${team.name}`;
      const writes = [put, revision(call, 'team', team, {}), ...tie(call, member, now)];
      return { status: 201, data: shown(core, put.row as TeamMemberRow, member), writes, describes };
    },
  },
};

/**
 * Of a new member of an approving team: the member's own row records who added them, so leaving the team does
 * not end the tie.
 */
const tie = (call: Call<unknown>, member: MemberRow, now: number): Put[] =>
  // safety: leaving-a-team-cuts-no-tie
  isApprovingTeam(call.core, target(call))
    ? [revision(call, 'member', member, { connections: withTies(member.connections, bringers(call), now) })]
    : [];

const removeMember: Operation<Record<string, never>> = {
  subject: (call) => ({ resource: membershipId(target(call), namedId(call.ask, 'member')) }),
  change: {
    revises: find,
    plan(call) {
      const { core, ask } = call;
      const id = membershipId(target(call), namedId(ask, 'member'));
      const team = find(call);
      if (!team || !core.rows.get('team_member', id)) return refuse('NOT_FOUND');
      const member = core.rows.get('member', namedId(ask, 'member'));
      const describes = `remove ${member?.name} from the team ${team.name}`;
      const writes = [revision(call, 'team', team, {})];
      return {
        status: 204,
        data: null,
        writes,
        deletes: [{ kind: 'team_member', id }],
        describes,
      };
    },
  },
};

export const teamOperations = {
  'team.list': list,
  'team.read': read,
  'team.create': create,
  'team.update': rename,
  'team.delete': remove,
  'team_member.list': listMembers,
  'team_member.add': add,
  'team_member.remove': removeMember,
};
