// Actions on syncs and the permissions they need. With an inline config, a caller also needs secrets:read:
// see gate/start.ts.
import type { Needs } from '../../auth/actions';

export const actions = {
  'integration.sync': { scopes: ['integrations:sync'], held: true },
  'integration.syncs': { scopes: ['integrations:read', 'integrations:sync'] },
  'integration.sync_status': { scopes: ['integrations:read', 'integrations:sync'] },
  'integration.sync_cancel': { scopes: ['integrations:sync'] },
  // Performed by the service itself; they have no route.
  'integration.sync_auto': { scopes: [], kinds: ['system'] },
  'integration.sync_run': { scopes: [], kinds: ['system'] },
  'integration.sync_end': { scopes: [], kinds: ['system'] },
} as const satisfies Needs;

declare module '../../auth/actions' {
  interface ActionNames {
    syncs: keyof typeof actions;
  }
}
