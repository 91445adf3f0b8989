// Groups: teams as an identity provider sees and changes them. Invariants: SCIM changes only teams that it
// made or that the connection of its token maps, and in them only its own hold on memberships; a person whom
// a person or a claim of single sign-on added stays; of a mapped team it changes nothing else; other teams
// are shown without members; a role is given only by a mapping of the connection.

import { idStart } from '../../../db/ids';
import type { MemberRow, SsoConnectionRow, TeamRow } from '../../../db/schema';
import { type Refusal, refuse } from '../../../errors';
import { isApprovingTeam, withTies } from '../../../gate/approvals/ties';
import { membershipId, membersOfTeam } from '../../../gate/identity/team-members';
import { type Call, isRefusal, type Operation } from '../../../gate/request/call';
import { fail, type Outcome, ok } from '../../../gate/request/outcome';
import type { Plan, Put } from '../../../gate/request/plan';
import { namedId } from '../../../gate/request/target';
import { insertion, revision } from '../../../gate/request/writes';
import { bringing, repositioned } from '../../sso-signin/gate/given';
import { giveRole, isMadeFor, mappedGroupOf, scimGroupsOf } from '../../sso-signin/gate/groups';
import { MOST_TEAMS_OF_ONE, ofTeam } from '../../teams/gate/operations';
import { badRequest, immutable } from '../problems';
import type { FilterTerm, GroupChange, MembersStep } from '../reading';
import { connectionOf, findUser, type ListInput, tokenOf } from './users';

/** What the Worker renders a group from. */
export interface GroupFacts {
  id: string;
  display: string;
  external_id: string | null;
  created_at: number;
  members: { id: string; name: string }[];
}

/** Whether SCIM made a team, for the people of the calling token. */
const isOwn = (call: Call<unknown>, team: TeamRow): boolean => isMadeFor(tokenOf(call).connection, team);

/** The group of the provider that the connection of the calling token maps to a team of people. */
const mappedOf = (call: Call<unknown>, team: TeamRow): string | null =>
  mappedGroupOf(connectionOf(call), team);

/** Whether the calling token fills a team. */
const isFilled = (call: Call<unknown>, team: TeamRow): boolean =>
  // safety: scim-fills-its-teams
  isOwn(call, team) || mappedOf(call, team) !== null;

/** The name by which the provider knows a team. */
const nameOf = (call: Call<unknown>, team: TeamRow): string => mappedOf(call, team) ?? team.name;

const find = ({ core, ask }: Call<unknown>): TeamRow | null => core.rows.get('team', namedId(ask, 'team'));

const heldBy = ({ core }: Call<unknown>, team: string) =>
  membersOfTeam(core, team).filter(({ held_by }) => held_by?.includes('scim'));

function factsOf(call: Call<unknown>, row: TeamRow, withMembers: boolean): GroupFacts {
  const members = withMembers && isFilled(call, row) ? heldBy(call, row.id) : [];
  return {
    id: row.id,
    display: nameOf(call, row),
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
      return nameOf(call, row).toLowerCase() === value.toLowerCase();
    case 'externalid':
      return isOwn(call, row) && row.provisioned?.external_id === value;
    case 'members':
      return (
        isFilled(call, row) &&
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

/** A team that a change fills: its group's name before and after, and the steps in between. */
interface Filling {
  team: string;
  before: string | null;
  after: string | null;
  steps: readonly MembersStep[];
}

/** A new place in a team, which SCIM holds. */
function placed(call: Call<unknown>, team: string, member: string, now: number): Put {
  const { ask, caller } = call;
  const connection = connectionOf(call);
  return insertion(call, 'team_member', {
    org_id: ask.org,
    id: membershipId(team, member),
    team_id: team,
    member_id: member,
    added_by: caller.id,
    accountable: connection ? bringing(connection, now) : [],
    created_at: now,
    held_by: ['scim'],
  });
}

/** What changes the memberships of a team, and what its members then are. */
function membershipsOf(
  call: Call<unknown>,
  filling: Filling,
  now: number,
): Pick<Plan, 'writes' | 'deletes'> | Refusal {
  const { core } = call;
  const { team, steps } = filling;
  const before = heldBy(call, team).map(({ member_id }) => member_id);
  const wanted = after(before, steps);
  const writes: Put[] = [];
  const joined = new Set<string>();
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
    writes.push(placed(call, team, id, now));
    joined.add(id);
  }
  const deletes: Plan['deletes'] = [];
  for (const row of heldBy(call, team).filter(({ member_id }) => !wanted.has(member_id))) {
    const others = row.held_by?.filter((one) => one !== 'scim') ?? [];
    // safety: scim-keeps-places-of-claims
    if (others.length > 0) writes.push(revision(call, 'team_member', row, { held_by: others }));
    else deletes.push({ kind: 'team_member', id: row.id });
  }
  const people = peopleAfter(call, filling, { before: new Set(before), wanted, joined }, now);
  return { writes: [...writes, ...people], deletes };
}

interface Moved {
  before: ReadonlySet<string>;
  wanted: ReadonlySet<string>;
  joined: ReadonlySet<string>;
}

/**
 * The members whom a change of a group gives or takes a role, by a mapping of the connection, and those who
 * join a team that decides: leaving it again does not undo that they decide nothing yet.
 */
function peopleAfter(call: Call<unknown>, filling: Filling, { before, wanted, joined }: Moved, now: number) {
  const { core, caller } = call;
  const connection = connectionOf(call);
  const isDeciding = isApprovingTeam(core, filling.team);
  const by = [caller.id, ...(connection ? bringing(connection, now) : [])];
  return [...new Set([...before, ...wanted])].flatMap((id): Put[] => {
    const member = core.rows.get('member', id);
    if (!member) return [];
    const was = before.has(id) ? filling.before : null;
    const is = wanted.has(id) ? filling.after : null;
    const position = connection && was !== is ? roleAfter(call, connection, member, was, is) : null;
    if (!position && !(isDeciding && joined.has(id))) return [];
    // safety: scim-gain-ties
    const connections = withTies(member.connections, by, now);
    return [revision(call, 'member', member, { ...position, connections })];
  });
}

/** Another position of a member who leaves one group for another, if one of them is mapped to a role. */
function roleAfter(
  call: Call<unknown>,
  connection: SsoConnectionRow,
  member: MemberRow,
  was: string | null,
  is: string | null,
) {
  const moved = [was, is].flatMap((name) => name ?? []);
  // safety: scim-role-of-own-people
  if (!giveRole(connection, moved) || member.provisioned?.connection !== connection.id) return null;
  const groups = scimGroupsOf(call.core, connection, member.id);
  const left = was === null ? groups : groups.toSpliced(groups.indexOf(was), 1);
  return repositioned(call, connection, member, is === null ? left : [...left, is]);
}

const isNameTaken = (call: Call<unknown>, name: string, by: string): boolean =>
  teamsOf(call).some(
    (row) =>
      row.id !== by && [row.name, nameOf(call, row)].some((one) => one.toLowerCase() === name.toLowerCase()),
  );

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
      const filling = { team: input.id, before: null, after: display, steps: members };
      const joined = membershipsOf(call, filling, now);
      if (isRefusal(joined)) return joined;
      const facts = {
        ...factsOf(call, put.row as TeamRow, false),
        members: membersIn(call, after([], members)),
      };
      return { status: 201, data: facts, writes: [put, ...(joined.writes ?? [])], resource: input.id };
    },
  },
};

/** 404 or 409 unless the calling token fills a team. */
function filled(call: Call<unknown>): TeamRow | Refusal {
  const row = find(call);
  if (!row) return refuse('NOT_FOUND');
  return isFilled(call, row) ? row : immutable('People manage this team: SCIM cannot change it.');
}

/** What changes of a team itself; null for nothing. A mapped team keeps its name, and has no `externalId`. */
function renamed(
  call: Call<unknown>,
  row: TeamRow,
  { display, external_id }: GroupChange,
): Partial<TeamRow> | null | Refusal {
  const isRenamed = display !== undefined && display !== nameOf(call, row);
  // safety: mapped-team-keeps-name
  if (!isOwn(call, row))
    return isRenamed ? immutable('People manage this team: SCIM changes its members alone.') : null;
  if (display !== undefined && display.length > MOST_NAME)
    return badRequest('invalidValue', 'displayName has at most 100 characters.');
  if (isRenamed && isNameTaken(call, display, row.id)) return TAKEN;
  const provisioned = row.provisioned && {
    ...row.provisioned,
    ...(external_id !== undefined && { external_id }),
  };
  return { name: display ?? row.name, provisioned };
}

export const updateGroup: Operation<{ change: GroupChange }> = {
  change: {
    plan(call, now): Plan | Refusal {
      const row = filled(call);
      if (isRefusal(row)) return row;
      const { change } = call.input;
      const fields = renamed(call, row, change);
      if (fields && isRefusal(fields)) return fields;
      const before = nameOf(call, row);
      const put = revision(call, 'team', row, fields ?? {});
      const is = nameOf(call, put.row as TeamRow);
      const filling = { team: row.id, before, after: is, steps: change.members };
      const changed = membershipsOf(call, filling, now);
      if (isRefusal(changed)) return changed;
      const ids = after(
        heldBy(call, row.id).map(({ member_id }) => member_id),
        change.members,
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
    plan(call, now): Plan | Refusal {
      const row = filled(call);
      if (isRefusal(row)) return row;
      // safety: mapped-team-not-deleted
      if (!isOwn(call, row)) return immutable('People manage this team: SCIM cannot delete it.');
      const steps = [{ op: 'replace' as const, ids: [] }];
      const emptied = membershipsOf(call, { team: row.id, before: row.name, after: null, steps }, now);
      if (isRefusal(emptied)) return emptied;
      const people = emptied.writes?.filter(({ kind }) => kind === 'member') ?? [];
      return {
        status: 204,
        data: null,
        writes: people,
        deletes: ofTeam(call.core, row.id),
        resource: row.id,
      };
    },
  },
};
