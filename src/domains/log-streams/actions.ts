// Actions on log streams and the permissions they need. Each route also needs audit:read: see
// `gate/maker.ts`. The service itself performs the last two: they have no route.
import type { Needs } from '../../auth/actions';

export const actions = {
  'log_stream.list': { scopes: ['webhooks:write'] },
  'log_stream.read': { scopes: ['webhooks:write'] },
  'log_stream.create': { scopes: ['webhooks:write'] },
  'log_stream.update': { scopes: ['webhooks:write'] },
  'log_stream.delete': { scopes: ['webhooks:write'] },
  'log_stream.seek': { scopes: ['webhooks:write'] },
  'log_stream.test': { scopes: ['webhooks:write'] },
  'log_stream.deliver': { scopes: [], kinds: ['system'] },
  'log_stream.disable': { scopes: [], kinds: ['system'] },
} as const satisfies Needs;

declare module '../../auth/actions' {
  interface ActionNames {
    logStreams: keyof typeof actions;
  }
}
