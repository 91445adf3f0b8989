// Request and response schemas of teams and their members.

import { z } from '@hono/zod-openapi';
import { exampleId } from '../../db/ids';
import type { MemberRow, TeamMemberRow, TeamRow } from '../../db/schema';
import { iso, Name, pageOf, Revision, Time } from '../../http/wire';

export const TeamIn = z.strictObject({ name: Name.openapi({ example: 'Payments' }) }).openapi('TeamIn');
export const Team = z
  .object({
    id: z.string().openapi({ example: exampleId('team') }),
    revision: Revision,
    name: z.string(),
    created_at: Time,
  })
  .openapi('Team');
export const TeamPage = pageOf(Team, 'TeamPage');

const MemberId = z
  .string()
  .min(1)
  .max(64)
  .openapi({ example: exampleId('member') });
export const TeamMemberIn = z.strictObject({ member_id: MemberId }).openapi('TeamMemberIn');
export const TeamMember = z
  .object({
    team_id: z.string().openapi({ example: exampleId('team') }),
    member_id: MemberId,
    name: z.string().openapi({ description: "The member's name." }),
    added_by: z.string(),
    created_at: Time,
  })
  .openapi('TeamMember');
export const TeamMemberPage = pageOf(TeamMember, 'TeamMemberPage');

export const teamOut = ({ id, revision, name, created_at }: TeamRow): z.infer<typeof Team> => ({
  id,
  revision,
  name,
  created_at: iso(created_at),
});

export const teamMemberOut = (row: TeamMemberRow, member: MemberRow | null): z.infer<typeof TeamMember> => ({
  team_id: row.team_id,
  member_id: row.member_id,
  name: member?.name ?? '',
  added_by: row.added_by,
  created_at: iso(row.created_at),
});
