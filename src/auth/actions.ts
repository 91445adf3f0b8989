// Every action that a route may name, and what it needs. Deny by default: what is not in this table cannot be done, and a route
// cannot be declared without an action of it.

import type { ProviderScope, Scope } from './scopes';
import type { Kind } from './token';

interface Need {
  /** Any one of these; none means that every live credential may. */
  scopes: (Scope | ProviderScope | '*')[];
  /** The kinds of credential that may, where not the usual ones. `system` is the bootstrap token. */
  kinds?: (Kind | 'member' | 'system')[];
  /** Values leave by it. */
  reveals?: true;
  /** For owners alone. */
  owner?: true;
  /** Makes a credential. The gate carries out no plan that makes one for any other action. */
  makes?: true;
  /** Ends credentials or repairs the organisation: possible while the audit log of the gate is full and all else is refused. */
  urgent?: true;
  /** A member must have confirmed the session with a passkey in the last five minutes. Other kinds of credential need no confirmation. */
  fresh?: true;
}

const usual: NonNullable<Need['kinds']> = ['api_key', 'session', 'agent', 'member'];
const emergency: NonNullable<Need['kinds']> = ['api_key', 'session', 'agent', 'member', 'break_glass'];
const bootstrap: Need = { scopes: [], kinds: ['system'], urgent: true };
/** Answered without a gate, or with one that is asked for a member who has just proved who they are. */
const open: Need = { scopes: [], kinds: ['member'] };

export const actions = {
  'caller.read': { scopes: [], kinds: ['api_key', 'session', 'agent', 'member', 'provider', 'break_glass'] },
  'org.create': { scopes: [], kinds: ['system'], makes: true },
  'org.list': bootstrap,
  'org.recover': { ...bootstrap, makes: true },
  'org.adopt': bootstrap,
  'audit.archive': bootstrap,
  'deployment.rewrap': bootstrap,
  'org.read': { scopes: ['org:read'] },
  'org.update': { scopes: ['org:write'] },
  'org.delete': { scopes: ['org:write'], fresh: true },
  'environment.list': { scopes: ['environments:read'] },
  'environment.read': { scopes: ['environments:read'] },
  'environment.create': { scopes: ['environments:write'] },
  'environment.update': { scopes: ['environments:write'] },
  'environment.delete': { scopes: ['environments:write'] },
  'api_key.list': { scopes: ['tokens:read'] },
  'api_key.read': { scopes: ['tokens:read'] },
  'api_key.create': { scopes: ['tokens:write'], makes: true },
  'api_key.update': { scopes: ['tokens:write'] },
  'api_key.rotate': { scopes: ['tokens:write'], makes: true },
  'api_key.revoke': { scopes: ['tokens:write'], urgent: true },
  'access_token.create': { scopes: [], kinds: ['api_key'], makes: true },
  'access_token.list': { scopes: ['tokens:read'] },
  'access_token.revoke': { scopes: ['tokens:write'], urgent: true },
  'agent.list': { scopes: ['tokens:read'] },
  'agent.read': { scopes: ['tokens:read'] },
  'agent.create': { scopes: ['tokens:write'], makes: true },
  'agent.update': { scopes: ['tokens:write'] },
  'agent.revoke': { scopes: ['tokens:write'], urgent: true },
  'provider_token.list': { scopes: ['tokens:read'] },
  'provider_token.create': { scopes: ['tokens:write'], makes: true },
  'provider_token.revoke': { scopes: ['tokens:write'], urgent: true },
  'break_glass.list': { scopes: ['tokens:read'] },
  'break_glass.create': { scopes: ['*'], kinds: ['api_key', 'member'], makes: true },
  'break_glass.revoke': { scopes: ['tokens:write'], urgent: true },
  'credential.contain': { scopes: ['tokens:write'], urgent: true },
  'credential.graph': { scopes: ['tokens:read'] },
  'org.panic': { scopes: [], kinds: ['api_key', 'member'], owner: true, fresh: true, urgent: true, makes: true },
  'provider.issue': { scopes: ['issue'], kinds: ['provider'] },
  'provider.rotate': { scopes: ['rotate'], kinds: ['provider'] },
  'provider.revoke': { scopes: ['revoke'], kinds: ['provider'] },
  'role.list': { scopes: [] },
  'member.list': { scopes: ['members:read'] },
  'member.read': { scopes: ['members:read'] },
  'member.create': { scopes: ['members:write'] },
  'member.update': { scopes: ['members:write'] },
  'member.delete': { scopes: ['members:write'], urgent: true },
  'member.access': { scopes: ['members:read'] },
  'member.enrol': { scopes: [], kinds: ['api_key', 'member'], owner: true, fresh: true },
  'passkey.list': { scopes: ['members:read'] },
  'passkey.create': { scopes: [], kinds: ['member'], fresh: true },
  'passkey.update': { scopes: ['members:write'], fresh: true },
  'passkey.delete': { scopes: ['members:write'], fresh: true },
  'team.list': { scopes: ['teams:read'] },
  'team.read': { scopes: ['teams:read'] },
  'team.create': { scopes: ['teams:write'] },
  'team.update': { scopes: ['teams:write'] },
  'team.delete': { scopes: ['teams:write'] },
  'team_member.list': { scopes: ['teams:read'] },
  'team_member.add': { scopes: ['teams:write'] },
  'team_member.remove': { scopes: ['teams:write'] },
  'grant.list': { scopes: ['members:read'] },
  'grant.create': { scopes: ['members:write'] },
  'grant.delete': { scopes: ['members:write'] },
  'auth.enrol': { ...open, makes: true },
  'auth.login': { ...open, makes: true },
  'auth.refresh': open,
  'auth.logout': open,
  'auth.confirm': { scopes: [], kinds: ['member'] },
  'auth.session_list': { scopes: [], kinds: ['member'] },
  'auth.session_end': { scopes: [], kinds: ['member'] },
  'secret.create': { scopes: ['secrets:write'], kinds: emergency },
  'secret.list': { scopes: ['secrets:list', 'secrets:read'], kinds: emergency },
  'secret.read': { scopes: ['secrets:read'], kinds: emergency, reveals: true },
  'secret.read_all': { scopes: ['secrets:read'], kinds: emergency, reveals: true },
  'secret.versions': { scopes: ['secrets:list', 'secrets:read'], kinds: emergency },
  'secret.update': { scopes: ['secrets:write'], kinds: emergency },
  'secret.rotate': { scopes: ['secrets:rotate'], kinds: emergency },
  'secret.rollback': { scopes: ['secrets:write'], kinds: emergency },
  'secret.delete': { scopes: ['secrets:delete'], kinds: emergency },
  'secret.restore': { scopes: ['secrets:delete'], kinds: emergency },
  'audit.read': { scopes: ['audit:read'], kinds: emergency },
  'audit.verify': { scopes: ['audit:read'], kinds: emergency },
} as const satisfies Record<string, Need>;

export type Action = keyof typeof actions;

/** What an action needs, with every field present. */
export const needOf = (action: Action): Need & { kinds: NonNullable<Need['kinds']> } => ({
  ...(actions[action] as Need),
  kinds: (actions[action] as Need).kinds ?? usual,
});
