// What a handler knows about one request. Services take this, never Hono's context.

import type { Action } from '../auth/actions';
import type { Proof } from '../auth/authentication/dpop';
import type { TokenRef } from '../auth/authentication/token';
import { toCursor } from '../db/page';
import type { Region } from '../db/regions';
import type { Env, Settings } from '../env';
import type { IntegrityViolation, Refusal } from '../errors';
import type { Ask, Bound, Named, RateLimitState, Reply, RequestFacts } from '../gate/request/call';
import type { Outcome } from '../gate/request/outcome';
import type { DeploymentKeys, Keyring, OrgKeys, WrappedKey } from '../keys/keyring';
import type { Place } from './calls/region';
import type { RequestHeaders } from './input/headers';

/** The caller of a request. */
export interface Authenticated {
  /** The token as sent; null for a bound Worker, which has none. */
  bearer: string | null;
  /** What the token refers to, or the bound Worker; null for the bootstrap token. */
  genuine: TokenRef | Bound | null;
  /** The gate refuses it, so it is counted and audited like any request with a genuine credential. */
  isExpired: boolean;
  /** The contents of the DPoP header, and whether the token was sent with the DPoP scheme. */
  proof?: Proof;
  isDpop?: true;
  deployment: DeploymentKeys;
}

/** The input for handling any request. */
export interface Incoming {
  request: Request;
  headers: RequestHeaders;
  env: Env;
  settings: Settings;
  base: string;
  facts: RequestFacts;
  trace: Trace;
  params: Record<string, string>;
  /** Where the caller is. */
  place: Place;
  /** The client cannot name an approval: see `Ask.approval`. */
  approvalIsFound?: true;
  /** The Worker that sends it through a binding. */
  bound?: Bound;
  /** The caller of a signed request, who has no token. */
  caller?: Authenticated;
  /** For how long its response is stored under its Idempotency-Key, in milliseconds, if not for a day. */
  storedFor?: number;
  defer(work: Promise<unknown>): void;
}

/** What every handler gets. */
export interface BaseContext {
  env: Env;
  settings: Settings;
  /** The public origin of this deployment. */
  base: string;
  request: RequestFacts;
  /** Where the caller is. */
  place: Place;
  deployment: DeploymentKeys;
  keyring: Keyring;
  trace: Trace;
  defer(work: Promise<unknown>): void;
}

/** The organisation of a request. */
export interface Org {
  org: string;
  keys: OrgKeys | null;
  /** The wrapped key of an organisation being created. */
  wrapped: WrappedKey | null;
}

/** What a handler gets to prepare a request for the gate. */
export interface Context extends BaseContext, Org {}

/** What a handler gets to render the gate's result. */
export interface RenderContext extends Context {
  /** The ETag from the gate. */
  etag: string | null;
  /**
   * Asks the gate for a further part of the operation, under the same request id. `counts`: against the rate
   * limit, as a request of its own.
   */
  further(input: unknown, how?: { counts?: boolean }): Promise<Outcome>;
  /** Reports an alteration that the response only names, so it is recorded although the request succeeds. */
  report(violation: IntegrityViolation): Promise<void>;
  /**
   * Calls the gate for another action of the same caller, under a separate request id. It counts against the
   * rate limit only if it says so.
   */
  also(asked: Also): Promise<Outcome>;
}

/** What a handler gets to create what the gate asked for. */
export type MoreContext = Context & Pick<RenderContext, 'further'>;

/** Another action for the gate. */
export interface Also {
  action: Action;
  operation?: string;
  named?: Named;
  input: unknown;
  /** As a request of its own. */
  counts?: boolean;
}

/** What a handler gets for a request without a credential. */
export interface PublicContext extends BaseContext {
  headers: Headers;
  /**
   * Calls the gate of an organisation with the route's action, or another operation of that action. `again`:
   * for a further round.
   */
  ask(
    org: string,
    keys: OrgKeys,
    bearer: Ask['bearer'],
    input: unknown,
    how?: { operation?: string; again?: boolean },
  ): Promise<Reply>;
  /** Counts a refused attempt by this address. Returns the refusal unchanged, or 429 after too many. */
  count(refusal: Refusal): Promise<Refusal>;
}

/** The response to such a request. */
export type PublicAnswer = { headers?: Record<string, string>; rate_limit?: RateLimitState | null } & (
  | { status: number; json?: unknown }
  | { refusal: Refusal }
);

/** The data for the log line, besides the request itself. */
export interface Trace {
  route: string;
  org: string | null;
  credential: string | null;
  gate_calls: number;
  gate_ms: number;
  d1_calls: number;
  code: string | null;
  /** The region whose replica answered. */
  region?: Region;
}

/** The organisation's keys; every handler that prepares or renders for an organisation has them. */
export function keysOf(context: Pick<Context, 'keys'>): OrgKeys {
  if (!context.keys) throw new Error('a route without an org asked for its keys');
  return context.keys;
}

/** A page of a list, with the cursor for the next one. */
export const pageOf = (
  context: Pick<Context, 'deployment' | 'org'>,
  list: string,
  slice: { items: unknown[]; next: string | null },
) => ({
  data: slice.items,
  next_cursor:
    slice.next === null ? null : toCursor(context.deployment.cursor, context.org, list, slice.next),
  has_more: slice.next !== null,
});
