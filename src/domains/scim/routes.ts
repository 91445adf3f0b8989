// HTTP routes of SCIM tokens. Providers call /scim/v2, which is in compat/scim.
import { listRoute } from '../../http/list';
import { by, route } from '../../http/route';
import { issue } from '../credentials/routes';
import * as wire from './wire';

const tokens = '/orgs/{org_id}/scim-tokens';

export const scimRoutes = [
  route({
    method: 'post',
    path: tokens,
    action: 'scim_token.create',
    tag: 'SCIM',
    summary: 'Create a SCIM token',
    description:
      'For an identity provider, which then adds, changes, suspends and removes members and teams over SCIM 2.0 at base_url. It works on /scim/v2 alone. Only an owner can create one, with an API key or in a browser session that was confirmed with a passkey in the last five minutes (`POST /auth/confirm`).',
    body: { schema: wire.ScimTokenIn },
    answers: { 201: wire.NewScimToken },
    refusals: ['REAUTHENTICATION_REQUIRED', 'LIMIT_REACHED'],
    prepare({ body }, context) {
      const { token, once } = issue('scim', context);
      const { name, connection_id = null, end_credentials = false, expires_at = null } = body;
      return {
        input: { token, name, connection_id, end_credentials, expires_at },
        once: { ...once, base_url: `${context.base}/scim/v2/${context.org}` },
      };
    },
  }),
  listRoute({
    path: tokens,
    action: 'scim_token.list',
    tag: 'SCIM',
    summary: 'List live SCIM tokens',
    answers: { 200: wire.ScimTokenPage },
  }),
  route({
    method: 'delete',
    path: `${tokens}/{id}`,
    action: 'scim_token.revoke',
    revises: true,
    tag: 'SCIM',
    summary: 'Revoke a SCIM token',
    description: 'The token is refused as soon as this request returns. What it did stays.',
    answers: { 204: null },
    refusals: ['NOT_FOUND'],
    named: by('credential'),
  }),
];
