// SCIM: tokens for identity providers, and what these do with members and teams.
import type { Operation } from '../../gate/request/call';
import { ok } from '../../gate/request/outcome';
import { list } from '../credentials/gate/operations';
import { revoke } from '../credentials/gate/update';
import type { Domain } from '../domain';
import { actions } from './actions';
import { createGroup, deleteGroup, listGroups, readGroupById, updateGroup } from './gate/groups';
import { createScimToken } from './gate/scim-tokens';
import { createUser, deleteUser, listUsers, readUserById, updateUser } from './gate/users';
import { scimRoutes } from './routes';

/** What the service supports, which the Worker knows: only who asks is checked. */
const describe: Operation = { read: () => ok({}) };

export const scim = {
  tags: {
    SCIM: 'Tokens with which an identity provider manages members and teams over SCIM 2.0 (RFC 7643, RFC 7644), at /scim/v2.',
  },
  actions,
  rows: [],
  operations: {
    'scim_token.list': list('scim'),
    'scim_token.create': createScimToken,
    'scim_token.revoke': revoke('scim', () => false),
    'scim.describe': describe,
    'scim.user_list': listUsers,
    'scim.user_read': readUserById,
    'scim.user_create': createUser,
    'scim.user_update': updateUser,
    'scim.user_delete': deleteUser,
    'scim.group_list': listGroups,
    'scim.group_read': readGroupById,
    'scim.group_create': createGroup,
    'scim.group_update': updateGroup,
    'scim.group_delete': deleteGroup,
  },
  routes: scimRoutes,
  examples: {
    'ScimToken.name': 'Okta',
    'NewScimToken.name': 'Okta',
  },
} satisfies Domain;
