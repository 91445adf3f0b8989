// Actions on members and roles and the permissions they need.
import type { Needs } from '../../auth/actions';

export const actions = {
  'role.list': { scopes: [] },
  'member.list': { scopes: ['members:read'] },
  'member.read': { scopes: ['members:read'] },
  'member.create': { scopes: ['members:write'], held: true },
  'member.update': { scopes: ['members:write'], held: true },
  'member.suspend': { scopes: ['members:write'], urgent: true, held: true },
  'member.resume': { scopes: ['members:write'], held: true },
  'member.delete': { scopes: ['members:write'], urgent: true, held: true },
  'member.access': { scopes: ['members:read'] },
  'member.readmit': { scopes: [], kinds: ['api_key', 'member'], owner: true, fresh: true },
  'member.enrol': { scopes: [], kinds: ['api_key', 'member'], owner: true, fresh: true, held: true },
} as const satisfies Needs;

declare module '../../auth/actions' {
  interface ActionNames {
    members: keyof typeof actions;
  }
}
