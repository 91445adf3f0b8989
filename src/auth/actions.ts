// What an action needs. Each domain declares its own actions (domains/NOUN/actions.ts). Deny by default: an action that is not declared cannot
// be done, and a route cannot be declared without an action.

import type { ProviderScope, Scope } from './scopes';
import type { Kind } from './token';

export interface Need {
  /** Any one of these; none means that every live credential may. */
  scopes: readonly (Scope | ProviderScope | '*')[];
  /** The kinds of credential that may; by default the usual ones. `system` is the bootstrap token. */
  kinds?: readonly (Kind | 'member' | 'trust' | 'system')[];
  /** Its response holds values of secrets. */
  reveals?: true;
  /** For owners alone. */
  owner?: true;
  /** Creates a credential. The gate carries out no plan that creates one for any other action. */
  makes?: true;
  /** Changes policies: the gate judges no other change meanwhile, and changes policies for no other action. */
  governs?: true;
  /** Revokes credentials or repairs the organisation: possible while the audit log of the gate is full and all else is refused. */
  urgent?: true;
  /** An approval policy can hold it, by its effects: see auth/effects.ts. For the documentation. */
  held?: true;
  /** A member must have confirmed the session with a passkey in the last five minutes. Other kinds of credential need no confirmation. */
  fresh?: true;
  /** A member must do it in a browser session: a terminal session may not. What needs a confirmation needs a browser session anyway. */
  inBrowser?: true;
}

export type Needs = Record<string, Need>;

/** A need with its kinds. */
export type FullNeed = Need & Required<Pick<Need, 'kinds'>>;

/** The names of the actions of each domain, which adds them where it declares them. */
// biome-ignore lint/suspicious/noEmptyInterface: domains extend it.
export interface ActionNames {}

export type Action = ActionNames[keyof ActionNames];

const usual = ['api_key', 'session', 'agent', 'member'] as const;
export const emergency = ['api_key', 'session', 'agent', 'member', 'break_glass'] as const;
export const bootstrap = { scopes: [], kinds: ['system'], urgent: true } as const satisfies Need;
/** Answered without a gate, or by the gate of a member who has just proved who they are. */
export const publicCall = { scopes: [], kinds: ['member'] } as const satisfies Need;

export const fullNeed = (need: Need): FullNeed => ({ ...need, kinds: need.kinds ?? usual });
