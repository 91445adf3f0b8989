// Actions on webhooks and the permissions they need. The service itself performs the last two: they have no
// route.
import type { Needs } from '../../auth/actions';

export const actions = {
  'webhook.list': { scopes: ['webhooks:read'] },
  'webhook.read': { scopes: ['webhooks:read'] },
  'webhook.deliveries': { scopes: ['webhooks:read'] },
  'webhook.create': { scopes: ['webhooks:write'] },
  'webhook.update': { scopes: ['webhooks:write'] },
  'webhook.delete': { scopes: ['webhooks:write'] },
  'webhook.rotate_secret': { scopes: ['webhooks:write'] },
  'webhook.test': { scopes: ['webhooks:write'] },
  'webhook.redeliver': { scopes: ['webhooks:write'] },
  'webhook.deliver': { scopes: [], kinds: ['system'] },
  'webhook.disable': { scopes: [], kinds: ['system'] },
} as const satisfies Needs;

declare module '../../auth/actions' {
  interface ActionNames {
    webhooks: keyof typeof actions;
  }
}
