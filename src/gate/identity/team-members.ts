// The memberships of a team. A membership's id is that of the team, a dot, and that of the member.
import type { TeamMemberRow } from '../../db/schema';
import type { Core } from '../core';

/** The id of a membership. */
export const membershipId = (team: string, member: string): string => `${team}.${member}`;

const PAGE = 200;

/** The memberships of a team, in id order. */
export function membersOfTeam({ rows }: Pick<Core, 'rows'>, team: string): TeamMemberRow[] {
  const found: TeamMemberRow[] = [];
  for (let after = membershipId(team, ''); ; ) {
    const page = rows.after('team_member', after, PAGE);
    const mine = page.filter(({ team_id }) => team_id === team);
    found.push(...mine);
    if (mine.length < PAGE) return found;
    after = (mine.at(-1) as TeamMemberRow).id;
  }
}
