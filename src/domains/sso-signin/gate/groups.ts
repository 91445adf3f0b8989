// The groups of a connection as SCIM fills them: teams that SCIM made for it, and teams of people that it
// maps. Such a team goes by the group's name at the provider.
import type { SsoConnectionRow, TeamRow } from '../../../db/schema';
import type { Core } from '../../../gate/core';

type Reader = Pick<Core, 'rows'>;

/** Whether SCIM made a team, for the people of a connection, or for those of none. */
export const isMadeFor = (connection: string | null, { provisioned }: TeamRow): boolean =>
  // safety: teams-of-own-connection
  provisioned !== null && provisioned.connection === connection;

/** The group that a connection maps to a team of people: the first one, if there are several. */
export const mappedGroupOf = (
  connection: Pick<SsoConnectionRow, 'id' | 'team_mappings'> | null,
  team: TeamRow,
): string | null =>
  connection && !isMadeFor(connection.id, team)
    ? (connection.team_mappings.find(({ team_id }) => team_id === team.id)?.group ?? null)
    : null;

/** The names of the groups in which SCIM has put a member. */
export const scimGroupsOf = ({ rows }: Reader, connection: SsoConnectionRow, member: string): string[] =>
  rows.within('team_member', member).flatMap(({ team_id, held_by }) => {
    const team = held_by?.includes('scim') ? rows.get('team', team_id) : null;
    if (!team) return [];
    return isMadeFor(connection.id, team) ? [team.name] : (mappedGroupOf(connection, team) ?? []);
  });

/** Whether one of some groups gives a role. */
export const giveRole = ({ role_mappings }: SsoConnectionRow, groups: readonly string[]): boolean =>
  role_mappings.some(({ group }) => groups.includes(group));
