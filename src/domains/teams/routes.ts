import { newId } from '../../db/ids';
import { listRoute } from '../../http/list';
import { by, route } from '../../http/route';
import * as wire from './wire';

const teams = '/orgs/{org_id}/teams';
const inTeam = `${teams}/{id}/members`;

export const teamRoutes = [
  route({
    method: 'post',
    path: teams,
    action: 'team.create',
    tag: 'Teams',
    summary: 'Create a team',
    body: { schema: wire.TeamIn },
    answers: { 201: wire.Team },
    refusals: ['LIMIT_REACHED'],
    prepare: ({ body }) => ({ input: { id: newId('team'), name: body.name } }),
  }),
  listRoute({
    path: teams,
    action: 'team.list',
    tag: 'Teams',
    summary: 'List teams',
    answers: { 200: wire.TeamPage },
  }),
  route({
    method: 'get',
    path: `${teams}/{id}`,
    action: 'team.read',
    tag: 'Teams',
    summary: 'Show a team',
    answers: { 200: wire.Team },
    refusals: ['NOT_FOUND'],
    named: by('team'),
  }),
  route({
    method: 'patch',
    path: `${teams}/{id}`,
    action: 'team.update',
    revises: true,
    tag: 'Teams',
    summary: 'Rename a team',
    body: { schema: wire.TeamIn },
    answers: { 200: wire.Team },
    refusals: ['NOT_FOUND'],
    named: by('team'),
    prepare: ({ body }) => ({ input: body }),
  }),
  route({
    method: 'delete',
    path: `${teams}/{id}`,
    action: 'team.delete',
    revises: true,
    tag: 'Teams',
    summary: 'Delete a team',
    description: 'Also deletes the memberships and grants of the team.',
    answers: { 204: null },
    refusals: ['NOT_FOUND'],
    named: by('team'),
  }),
  route({
    method: 'post',
    path: inTeam,
    action: 'team_member.add',
    revises: true,
    tag: 'Teams',
    summary: 'Add a member to a team',
    description:
      "The caller must hold everything that the team's grants give. Raises the team's revision, which If-Match names. Safe to repeat.",
    body: { schema: wire.TeamMemberIn },
    answers: { 201: wire.TeamMember },
    refusals: ['NOT_FOUND', 'SCOPE_EXCEEDS_PARENT', 'LIMIT_REACHED'],
    named: by('team'),
    prepare: ({ body }) => ({ input: body }),
  }),
  listRoute({
    path: inTeam,
    action: 'team_member.list',
    tag: 'Teams',
    summary: 'List the members of a team',
    answers: { 200: wire.TeamMemberPage },
    refusals: ['NOT_FOUND'],
    named: by('team'),
  }),
  route({
    method: 'delete',
    path: `${inTeam}/{member_id}`,
    action: 'team_member.remove',
    revises: true,
    tag: 'Teams',
    summary: 'Remove a member from a team',
    description: "Raises the team's revision, which If-Match names.",
    answers: { 204: null },
    refusals: ['NOT_FOUND'],
    named: ({ params }) => ({ team: params.id as string, member: params.member_id as string }),
  }),
];
