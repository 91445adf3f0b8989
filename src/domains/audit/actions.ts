// Actions on the audit log and the permissions they need.
import { bootstrap, emergency, type Needs } from '../../auth/actions';

export const actions = {
  'audit.archive': bootstrap,
  'audit.checkpoint': { scopes: [], kinds: ['system'] },
  'audit.checkpoints': { scopes: ['audit:read'] },
  'audit.export': { scopes: ['audit:read'] },
  'audit.export_confirm': { scopes: [], kinds: ['api_key', 'member'], owner: true, fresh: true },
  'audit.histogram': { scopes: ['audit:read'], kinds: emergency },
  'audit.key': { scopes: ['audit:read'] },
  'audit.read': { scopes: ['audit:read'], kinds: emergency },
  'audit.readers': { scopes: ['audit:read'] },
  'audit.verify': { scopes: ['audit:read'], kinds: emergency },
} as const satisfies Needs;

declare module '../../auth/actions' {
  interface ActionNames {
    audit: keyof typeof actions;
  }
}
