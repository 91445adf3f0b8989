// Actions on teams and the permissions they need.
import type { Needs } from '../../auth/actions';

export const actions = {
  'team.list': { scopes: ['teams:read'] },
  'team.read': { scopes: ['teams:read'] },
  'team.create': { scopes: ['teams:write'] },
  'team.update': { scopes: ['teams:write'] },
  'team.delete': { scopes: ['teams:write'], held: true },
  'team_member.list': { scopes: ['teams:read'] },
  'team_member.add': { scopes: ['teams:write'], held: true },
  'team_member.remove': { scopes: ['teams:write'], held: true },
} as const satisfies Needs;

declare module '../../auth/actions' {
  interface ActionNames {
    teams: keyof typeof actions;
  }
}
