// Actions on approvals and the permissions they need. Only members decide, in browser sessions; a credential
// cannot.
import type { Needs } from '../../auth/actions';

export const actions = {
  'approval.list': { scopes: ['approvals:read'] },
  'approval.read': { scopes: ['approvals:read'] },
  'approval.approve': { scopes: ['approvals:decide'], kinds: ['member'], fresh: true, inBrowser: true },
  'approval.reject': { scopes: ['approvals:decide'], kinds: ['member'], inBrowser: true },
  'approval.cancel': { scopes: ['approvals:read'] },
} as const satisfies Needs;

declare module '../../auth/actions' {
  interface ActionNames {
    approvals: keyof typeof actions;
  }
}
