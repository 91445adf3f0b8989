// The actions of syncs, and what each needs. With an inline config a caller needs secrets:read besides: see gate/start.ts.
import type { Needs } from '../../auth/actions';

export const actions = {
  'integration.sync': { scopes: ['integrations:sync'], held: true },
  'integration.syncs': { scopes: ['integrations:read', 'integrations:sync'] },
  'integration.sync_status': { scopes: ['integrations:read', 'integrations:sync'] },
  'integration.sync_cancel': { scopes: ['integrations:sync'] },
  // The service's own: no route does them.
  'integration.sync_auto': { scopes: [], kinds: ['system'] },
  'integration.sync_run': { scopes: [], kinds: ['system'] },
  'integration.sync_end': { scopes: [], kinds: ['system'] },
} as const satisfies Needs;

declare module '../../auth/actions' {
  interface ActionNames {
    syncs: keyof typeof actions;
  }
}
