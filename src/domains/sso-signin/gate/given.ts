// What the groups of a person give at a sign-in: a role, and places in teams. Invariants: a role or a place
// that a person gave is never changed; whoever gains something by it is tied to the connection and to those
// who changed it lately, so for a week they decide nothing.
import type { MemberRow, SsoConnectionRow, TeamMemberRow, TeamRow } from '../../../db/schema';
import { formerChangers, isApprovingTeam, recentlyTied, withTies } from '../../../gate/approvals/ties';
import { membershipId, membersOfTeam } from '../../../gate/identity/team-members';
import type { Call } from '../../../gate/request/call';
import type { Plan, Put } from '../../../gate/request/plan';
import { insertion, revision } from '../../../gate/request/writes';
import { roleOf, teamsOf } from '../rules';
import { giveRole, isMadeFor, scimGroupsOf } from './groups';

/** The most teams of a member, as for teams that people fill. */
export const MOST_TEAMS = 20;

type Rows = Required<Pick<Plan, 'writes' | 'deletes'>>;

/** The ids of environments that there are. */
const existing = ({ core }: Call<unknown>, ids: readonly string[] | null): string[] | null =>
  ids && [...new Set(ids)].filter((id) => core.rows.get('environment', id)).sort();

/** The role for somebody of these groups, where the connection gives it. */
export function positionOf(call: Call<unknown>, connection: SsoConnectionRow, groups: readonly string[]) {
  const { role, environments } = roleOf(connection, groups);
  return { role, environments: existing(call, environments) };
}

/** Those who are tied to whoever a connection brings in, by id: the connection stands for its provider. */
export const bringing = ({ id, changed_by }: SsoConnectionRow, now: number): string[] => [
  id,
  ...recentlyTied(changed_by, now),
];

/** The places in teams that a claim gives and takes. `gains`: one is of a team that decides approvals. */
export function places(
  call: Call<unknown>,
  connection: SsoConnectionRow,
  member: string,
  groups: readonly string[],
  now: number,
): Rows & { gains: boolean } {
  const { rows } = call.core;
  const wanted = teamsOf(connection.team_mappings, groups);
  const writes: Put[] = [];
  const deletes: Rows['deletes'] = [];
  const touched = new Set<string>();
  let gains = false;
  const has = rows.within('team_member', member);
  let count = has.length;
  for (const { team_id } of connection.team_mappings) {
    const team = rows.get('team', team_id);
    if (!team || touched.has(team_id)) continue;
    const row = has.find((one) => one.team_id === team_id);
    const put = row ? held(call, row, wanted.has(team_id)) : null;
    if (put) writes.push(put);
    if (row && put === undefined) deletes.push({ kind: 'team_member', id: row.id });
    const isJoining = !row && wanted.has(team_id) && count < MOST_TEAMS;
    if (isJoining) {
      writes.push(joining(call, connection, team, member, now));
      count++;
      gains ||= isApprovingTeam(call.core, team_id);
    }
    if (isJoining || put === undefined) writes.push(revision(call, 'team', team, {}));
    touched.add(team_id);
  }
  return { writes, deletes, gains };
}

/**
 * A place as the claim leaves it: null if that changes nothing, undefined if nothing holds it any more. A
 * person's is not touched.
 */
function held(call: Call<unknown>, row: TeamMemberRow, isWanted: boolean): Put | null | undefined {
  const { held_by } = row;
  // safety: sso-keeps-places-by-hand
  if (held_by === null || held_by.includes('claim') === isWanted) return null;
  const others = held_by.filter((one) => one !== 'claim');
  if (!isWanted && others.length === 0) return undefined;
  return revision(call, 'team_member', row, { held_by: isWanted ? [...others, 'claim'] : others });
}

/**
 * What a connection loses with teams that it no longer maps: the places that the claim or SCIM holds there
 * for its people. SCIM keeps its hold on a team that it made.
 */
export function leftPlaces(call: Call<unknown>, before: SsoConnectionRow, after: SsoConnectionRow): Rows {
  const { core } = call;
  const writes: Put[] = [];
  const deletes: Rows['deletes'] = [];
  const mapped = new Set(after.team_mappings.map(({ team_id }) => team_id));
  const left = new Set(before.team_mappings.map(({ team_id }) => team_id).filter((id) => !mapped.has(id)));
  for (const id of left) {
    const team = core.rows.get('team', id);
    if (!team) continue;
    const keeps = isMadeFor(before.id, team);
    const known = writes.length + deletes.length;
    for (const row of membersOfTeam(core, id)) {
      const member = core.rows.get('member', row.member_id);
      // safety: unmapped-team-keeps-others
      if (row.held_by === null || member?.provisioned?.connection !== before.id) continue;
      const held_by = row.held_by.filter((one) => keeps && one === 'scim');
      if (held_by.length === row.held_by.length) continue;
      if (held_by.length === 0) deletes.push({ kind: 'team_member', id: row.id });
      else writes.push(revision(call, 'team_member', row, { held_by }));
    }
    if (writes.length + deletes.length > known) writes.push(revision(call, 'team', team, {}));
  }
  return { writes, deletes };
}

const joining = (
  call: Call<unknown>,
  connection: SsoConnectionRow,
  team: TeamRow,
  member: string,
  now: number,
): Put =>
  insertion(call, 'team_member', {
    org_id: call.ask.org,
    id: membershipId(team.id, member),
    team_id: team.id,
    member_id: member,
    added_by: connection.id,
    accountable: bringing(connection, now),
    created_at: now,
    held_by: ['claim'],
  });

/** The groups that decide the role at a sign-in: those of SCIM where they give one, else the claim's. */
export function deciding(
  { core }: Call<unknown>,
  connection: SsoConnectionRow,
  { id }: MemberRow,
  claimed: readonly string[],
): readonly string[] {
  const groups = scimGroupsOf(core, connection, id);
  return giveRole(connection, groups) ? groups : claimed;
}

/** The position of a member of these groups, if it is another one and a connection gave the present one. */
export function repositioned(
  call: Call<unknown>,
  connection: SsoConnectionRow,
  { role, environments, provisioned }: MemberRow,
  groups: readonly string[],
): Pick<MemberRow, 'role' | 'environments'> | null {
  // safety: sso-keeps-role-by-hand
  if (!provisioned?.role || role === 'owner') return null;
  const position = positionOf(call, connection, groups);
  const isSame =
    position.role === role && JSON.stringify(position.environments) === JSON.stringify(environments);
  return isSame ? null : position;
}

/** What a sign-in changes of a member who is linked already, or now. */
export function changed(
  call: Call<unknown>,
  connection: SsoConnectionRow,
  member: MemberRow,
  groups: readonly string[] | null,
  { gains, isLinking, isProven }: { gains: boolean; isLinking: boolean; isProven: boolean },
  now: number,
): Partial<MemberRow> {
  const before = member.provisioned;
  const position =
    groups && repositioned(call, connection, member, deciding(call, connection, member, groups));
  const provisioned = {
    made: before?.made ?? false,
    connection: connection.id,
    role: before?.role ?? false,
    groups: [...(groups ?? before?.groups ?? [])],
    scim: before?.scim ?? null,
  };
  const isSame = JSON.stringify(provisioned) === JSON.stringify(before);
  // A provider that acts for somebody who did not prove it brings them in, as whoever gives a role does.
  // safety: sso-gain-ties
  const isTied = position !== null || gains || (isLinking && !isProven);
  const isMoved = before?.connection != null && before.connection !== connection.id;
  const by = [
    ...(isTied ? bringing(connection, now) : []),
    // safety: other-connection-cuts-no-tie
    ...(isMoved ? formerChangers(call.core, before.connection as string, now) : []),
  ];
  return {
    ...position,
    ...(!isSame && { provisioned }),
    ...(by.length > 0 && { connections: withTies(member.connections, by, now) }),
    ...(member.enrolled_at === null && {
      enrolled_at: now,
      // The inviter may still have the link.
      enrolment_hash: null,
      enrolment_made_at: null,
      enrolment_ends_at: null,
    }),
  };
}
