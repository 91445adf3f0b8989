// The permissions that an action needs. Each domain declares its own actions (domains/NOUN/actions.ts). Deny
// by default: an undeclared action cannot be performed, and a route cannot be declared without an action.

import type { TokenKind } from './authentication/token';
import type { ProviderScope, Scope } from './scopes';

export interface Need {
  /** Any one of these; if empty, no scope is needed. */
  scopes: readonly (Scope | ProviderScope | '*')[];
  /**
   * The kinds of credentials that are allowed; by default the usual ones. `system` is the bootstrap token.
   */
  kinds?: readonly (TokenKind | 'member' | 'trust' | 'workload' | 'system')[];
  /** The response contains values of secrets. */
  reveals?: true;
  /** Only for owners. */
  owner?: true;
  /** Creates a credential. The gate rejects plans that create one for any other action. */
  makes?: true;
  /**
   * Revokes credentials or repairs the organisation: still possible when the gate's audit log is full and
   * everything else is refused.
   */
  urgent?: true;
  /** An approval policy can hold it, by its effects: see policies/effects.ts. Only for the documentation. */
  held?: true;
  /**
   * A member must have confirmed the session with a passkey in the last five minutes. No credential that a
   * member can make without a confirmation does it either: of the others, only an API key that acts as an
   * owner. See `mustBeConfirmed`.
   */
  fresh?: true;
  /**
   * A member must use a browser session, not a terminal session. Actions that need confirmation need a
   * browser session anyway.
   */
  inBrowser?: true;
}

export type Needs = Record<string, Need>;

/** A need with its kinds of credentials. */
export type FullNeed = Need & Required<Pick<Need, 'kinds'>>;

/** The names of all actions. Each domain adds its own where it declares them. */
// biome-ignore lint/suspicious/noEmptyInterface: domains extend it.
export interface ActionNames {}

export type Action = ActionNames[keyof ActionNames];

export const usualKinds = ['api_key', 'session', 'agent', 'workload', 'member'] as const;
export const emergency = ['api_key', 'session', 'agent', 'workload', 'member', 'break_glass'] as const;
export const bootstrap = { scopes: [], kinds: ['system'], urgent: true } as const satisfies Need;
/** Handled without a gate, or by the gate of a member who has just authenticated. */
export const publicCall = { scopes: [], kinds: ['member'] } as const satisfies Need;

export const fullNeed = (need: Need): FullNeed => ({ ...need, kinds: need.kinds ?? usualKinds });
