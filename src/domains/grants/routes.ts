// HTTP routes of grants.
import { newId } from '../../db/ids';
import { listRoute } from '../../http/list';
import { by, route } from '../../http/route';
import * as wire from './wire';

const grants = '/orgs/{org_id}/grants';

export const grantRoutes = [
  route({
    method: 'post',
    path: grants,
    action: 'grant.create',
    tag: 'Grants',
    summary: 'Create a grant',
    description:
      'Gives a member or a team access to secrets in addition to roles. The caller must hold what it grants. A grant created by a session token or an agent is revoked together with its creator.',
    body: { schema: wire.GrantIn },
    answers: { 201: wire.Grant },
    refusals: ['SCOPE_EXCEEDS_PARENT', 'NOT_FOUND', 'LIMIT_REACHED'],
    prepare: ({ body }) => ({
      input: {
        id: newId('grt'),
        grantee: body.grantee,
        permission: body.permission,
        environments: body.environments ?? null,
        secrets: body.secrets ?? null,
        upstreams: body.upstreams ?? null,
        expires_at: body.expires_at ?? null,
      },
    }),
  }),
  listRoute({
    path: grants,
    action: 'grant.list',
    tag: 'Grants',
    summary: 'List live grants',
    query: wire.GrantQuery,
    answers: { 200: wire.GrantPage },
    filters: (query) => ({ grantee: query.grantee ?? null }),
  }),
  route({
    method: 'get',
    path: `${grants}/{id}`,
    action: 'grant.list',
    operation: 'grant.read',
    tag: 'Grants',
    summary: 'Show a grant',
    answers: { 200: wire.Grant },
    refusals: ['NOT_FOUND'],
    named: by('grant'),
  }),
  route({
    method: 'delete',
    path: `${grants}/{id}`,
    action: 'grant.delete',
    tag: 'Grants',
    summary: 'Delete a grant',
    description: 'The access ends as soon as this request returns.',
    answers: { 204: null },
    refusals: ['NOT_FOUND'],
    named: by('grant'),
  }),
];
