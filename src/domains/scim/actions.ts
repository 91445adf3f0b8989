// Actions of SCIM and on its tokens. A SCIM token does what stands here under scim, and nothing else.
import type { Needs } from '../../auth/actions';

const provisioning = { scopes: [], kinds: ['scim'] } as const;

export const actions = {
  'scim_token.list': { scopes: ['tokens:read'] },
  'scim_token.create': {
    scopes: [],
    kinds: ['api_key', 'member'],
    owner: true,
    fresh: true,
    makes: true,
    held: true,
  },
  'scim_token.revoke': { scopes: ['tokens:write'], urgent: true },
  'scim.describe': provisioning,
  'scim.user_list': provisioning,
  'scim.user_read': provisioning,
  'scim.user_create': provisioning,
  'scim.user_update': { ...provisioning, urgent: true },
  'scim.user_delete': { ...provisioning, urgent: true },
  'scim.group_list': provisioning,
  'scim.group_read': provisioning,
  'scim.group_create': provisioning,
  'scim.group_update': provisioning,
  'scim.group_delete': provisioning,
} as const satisfies Needs;

declare module '../../auth/actions' {
  interface ActionNames {
    scim: keyof typeof actions;
  }
}
