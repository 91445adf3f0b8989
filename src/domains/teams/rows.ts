// The rows of teams and their members.
import { rowKind } from '../../db/rows';
import { type TeamMemberRow, type TeamRow, teamMembers, teams } from '../../db/schema';
import { lasting } from '../../gate/limits/quotas';

declare module '../../db/rows' {
  interface RowTypes {
    team: TeamRow;
    team_member: TeamMemberRow;
  }
}

export const team = rowKind('team', {
  table: teams,
  space: () => '',
  key: () => null,
  added: ['provisioned'],
  quota: lasting(1000, undefined, 'teams'),
});

export const teamMember = rowKind('team_member', {
  table: teamMembers,
  space: (row) => row.member_id,
  key: (row) => row.team_id,
  added: ['accountable', 'held_by'],
  quota: 'bounded for each member when one is added',
});
