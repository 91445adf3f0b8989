// Groups: teams as an identity provider sees and changes them. Invariants: SCIM changes only teams that it
// made, and in them only its own hold on memberships; a person whom a person or a claim of single sign-on
// added stays; other teams are shown without members.
import { idStart } from '../../../db/ids';
import type { MemberRow, TeamRow } from '../../../db/schema';
import { type Refusal, refuse } from '../../../errors';
import { isApprovingTeam, withTies } from '../../../gate/approvals/ties';
import type { Plan, Put } from '../../../gate/journal/plan';
import { insertion, revision } from '../../../gate/journal/writes';
import { type Call, isRefusal, type Operation } from '../../../gate/request/call';
import { fail, type Outcome, ok } from '../../../gate/request/outcome';
import { membershipId, membersOfTeam } from '../../../gate/rows/team-members';
import { MOST_TEAMS_OF_ONE, ofTeam } from '../../teams/gate/operations';
import { badRequest, immutable } from '../problems';
import type { FilterTerm, GroupChange, MembersStep } from '../reading';
import { findUser, type ListInput, tokenOf } from './users';

/** What the Worker renders a group from. */
export interface GroupFacts {
  id: string;
  display: string;
  external_id: string | null;
  created_at: number;
  members: { id: string; name: string }[];
}

/** Whether SCIM made a team, for the people of the calling token. */
const isOwn = (call: Call<unknown>, { provisioned }: TeamRow): boolean =>
  // safety: teams-of-own-connection
  provisioned !== null && provisioned.connection === tokenOf(call).connection;

const find = ({ core, ask }: Call<unknown>): TeamRow | null =>
  core.rows.get('team', ask.named.team as string);

const heldBy = ({ core }: Call<unknown>, team: string) =>
  membersOfTeam(core, team).filter(({ held_by }) => held_by?.includes('scim'));

function factsOf(call: Call<unknown>, row: TeamRow, withMembers: boolean): GroupFacts {
  const members = withMembers && isOwn(call, row) ? heldBy(call, row.id) : [];
  return {
    id: row.id,
    display: row.name,
    external_id: isOwn(call, row) ? (row.provisioned?.external_id ?? null) : null,
    created_at: row.created_at,
    members: members.flatMap(({ member_id }) => {
      const member = findUser(call, member_id);
      return member ? [{ id: member.id, name: member.name }] : [];
    }),
  };
}

const MOST_TEAMS = 2000;
const teamsOf = ({ core }: Call<unknown>) => core.rows.after('team', idStart('team'), MOST_TEAMS);

function matches(call: Call<unknown>, row: TeamRow, { attribute, value }: FilterTerm): boolean {
  if (typeof value !== 'string') return false;
  switch (attribute) {
    case 'id':
      return row.id === value;
    case 'displayname':
      return row.name.toLowerCase() === value.toLowerCase();
    case 'externalid':
      return isOwn(call, row) && row.provisioned?.external_id === value;
    case 'members':
      return (
        isOwn(call, row) &&
        (call.core.rows.get('team_member', membershipId(row.id, value))?.held_by?.includes('scim') ?? false)
      );
    default:
      return false;
  }
}

export const listGroups: Operation<ListInput & { members: boolean }> = {
  read(call): Outcome {
    const { terms, start, count, members } = call.input;
    const found = teamsOf(call).filter((row) => terms.every((term) => matches(call, row, term)));
    const page = found.slice(start - 1, start - 1 + count);
    return ok({ total: found.length, start, resources: page.map((row) => factsOf(call, row, members)) });
  },
};

export const readGroupById: Operation<{ members: boolean }> = {
  read(call): Outcome {
    const row = find(call);
    return row ? ok(factsOf(call, row, call.input.members)) : fail(refuse('NOT_FOUND'));
  },
};

/** The people who are to be in a group after some steps. */
function after(before: readonly string[], steps: readonly MembersStep[]): Set<string> {
  const ids = new Set(before);
  for (const { op, ids: named } of steps) {
    if (op === 'replace') ids.clear();
    for (const id of named) {
      if (op === 'remove') ids.delete(id);
      else ids.add(id);
    }
  }
  return ids;
}

/** What changes the memberships of a team. */
function membershipsOf(
  call: Call<unknown>,
  team: string,
  steps: readonly MembersStep[],
  now: number,
): Pick<Plan, 'writes' | 'deletes'> | Refusal {
  const { core, ask, caller } = call;
  const before = heldBy(call, team).map(({ member_id }) => member_id);
  const wanted = after(before, steps);
  const writes: Put[] = [];
  for (const id of wanted) {
    if (before.includes(id)) continue;
    const member = findUser(call, id);
    if (!member) return badRequest('invalidValue', 'members names a user that does not exist.');
    const row = core.rows.get('team_member', membershipId(team, id));
    // A person whom a person added stays theirs.
    if (row) {
      if (row.held_by) writes.push(revision(call, 'team_member', row, { held_by: [...row.held_by, 'scim'] }));
      continue;
    }
    if (core.rows.within('team_member', id).length >= MOST_TEAMS_OF_ONE)
      return refuse('LIMIT_REACHED', { message: `A user can be in at most ${MOST_TEAMS_OF_ONE} teams.` });
    const fields = { org_id: ask.org, id: membershipId(team, id), team_id: team, member_id: id };
    writes.push(
      insertion(call, 'team_member', {
        ...fields,
        added_by: caller.id,
        accountable: [],
        created_at: now,
        held_by: ['scim'],
      }),
      ...marked(call, team, member, now),
    );
  }
  const deletes: Plan['deletes'] = [];
  for (const row of heldBy(call, team).filter(({ member_id }) => !wanted.has(member_id))) {
    const others = row.held_by?.filter((one) => one !== 'scim') ?? [];
    // safety: scim-keeps-places-of-claims
    if (others.length > 0) writes.push(revision(call, 'team_member', row, { held_by: others }));
    else deletes.push({ kind: 'team_member', id: row.id });
  }
  return { writes, deletes };
}

/** Of somebody who joins a team that decides: leaving it again does not undo that they decide nothing yet. */
const marked = (call: Call<unknown>, team: string, member: MemberRow, now: number): Put[] =>
  isApprovingTeam(call.core, team)
    ? [revision(call, 'member', member, { connections: withTies(member.connections, [call.caller.id], now) })]
    : [];

const isNameTaken = (call: Call<unknown>, name: string, by: string): boolean =>
  teamsOf(call).some((row) => row.id !== by && row.name.toLowerCase() === name.toLowerCase());

const TAKEN = refuse('EMAIL_TAKEN', { message: 'Another group has this displayName.' });
const MOST_NAME = 100;

/** The memberships, and the members, of what a plan wrote. */
const membersIn = (call: Call<unknown>, ids: Iterable<string>) =>
  [...ids].flatMap((id) => {
    const member = findUser(call, id);
    return member ? [{ id, name: member.name }] : [];
  });

export const createGroup: Operation<{ id: string; change: GroupChange }> = {
  subject: ({ input }) => ({ resource: input.id }),
  change: {
    plan(call, now): Plan | Refusal {
      const { ask, caller, input } = call;
      const { display, external_id = null, members } = input.change;
      if (display === undefined) return badRequest('invalidValue', 'displayName is required.');
      if (display.length > MOST_NAME)
        return badRequest('invalidValue', 'displayName has at most 100 characters.');
      if (isNameTaken(call, display, input.id)) return TAKEN;
      const provisioned = { connection: tokenOf(call).connection, token: caller.id, external_id };
      const put = insertion(call, 'team', {
        org_id: ask.org,
        id: input.id,
        name: display,
        created_at: now,
        provisioned,
      });
      const joined = membershipsOf(call, input.id, members, now);
      if (isRefusal(joined)) return joined;
      const facts = {
        ...factsOf(call, put.row as TeamRow, false),
        members: membersIn(call, after([], members)),
      };
      return { status: 201, data: facts, writes: [put, ...(joined.writes ?? [])], resource: input.id };
    },
  },
};

/** 404 or 409 unless a team is SCIM's own. */
function own(call: Call<unknown>): TeamRow | Refusal {
  const row = find(call);
  if (!row) return refuse('NOT_FOUND');
  return isOwn(call, row) ? row : immutable('People manage this team: SCIM cannot change it.');
}

export const updateGroup: Operation<{ change: GroupChange }> = {
  change: {
    plan(call, now): Plan | Refusal {
      const row = own(call);
      if (isRefusal(row)) return row;
      const { display = row.name, external_id, members } = call.input.change;
      if (display.length > MOST_NAME)
        return badRequest('invalidValue', 'displayName has at most 100 characters.');
      if (isNameTaken(call, display, row.id)) return TAKEN;
      const changed = membershipsOf(call, row.id, members, now);
      if (isRefusal(changed)) return changed;
      const provisioned = row.provisioned && {
        ...row.provisioned,
        ...(external_id !== undefined && { external_id }),
      };
      const put = revision(call, 'team', row, { name: display, provisioned });
      const ids = after(
        heldBy(call, row.id).map(({ member_id }) => member_id),
        members,
      );
      const facts = { ...factsOf(call, put.row as TeamRow, false), members: membersIn(call, ids) };
      return {
        status: 200,
        data: facts,
        writes: [put, ...(changed.writes ?? [])],
        deletes: changed.deletes ?? [],
        resource: row.id,
      };
    },
  },
};

export const deleteGroup: Operation<Record<string, never>> = {
  change: {
    plan(call) {
      const row = own(call);
      if (isRefusal(row)) return row;
      return { status: 204, data: null, deletes: ofTeam(call.core, row.id), resource: row.id };
    },
  },
};
