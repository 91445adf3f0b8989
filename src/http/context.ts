// What a handler knows of one request. Services take this, never Hono's context.

import type { Action } from '../auth/actions';
import type { DeploymentKeys, Keyring, OrgKeys, WrappedKey } from '../crypto/keyring';
import { toCursor } from '../db/page';
import type { Env, Settings } from '../env';
import type { Refusal } from '../errors';
import type { Outcome } from '../gate/outcome';
import type { RateLimitState } from '../gate/rate-limit';
import type { Ask, Named, Reply, RequestFacts } from '../gate/types';
import type { RequestHeaders } from './headers';

/** What every request is handled with. */
export interface Incoming {
  request: Request;
  headers: RequestHeaders;
  env: Env;
  settings: Settings;
  base: string;
  facts: RequestFacts;
  trace: Trace;
  params: Record<string, string>;
  defer(work: Promise<unknown>): void;
}

/** What every handler has. */
export interface BaseContext {
  env: Env;
  settings: Settings;
  /** Origin under which this deployment is known. */
  base: string;
  request: RequestFacts;
  deployment: DeploymentKeys;
  keyring: Keyring;
  trace: Trace;
  defer(work: Promise<unknown>): void;
}

/** The organisation that a request is about. */
export interface Org {
  org: string;
  keys: OrgKeys | null;
  /** The wrapped key of an organisation that is being created. */
  wrapped: WrappedKey | null;
}

/** What a handler has that prepares a request for the gate. */
export interface Context extends BaseContext, Org {}

/** What a handler has that renders what the gate answered. */
export interface RenderContext extends Context {
  /** The ETag that the gate gave. */
  etag: string | null;
  /** The operation asks its gate for a further part under the same request. */
  further(input: unknown): Promise<Outcome>;
  /** Asks the gate for something else, for the same caller, under a request id of its own. It does not count against a rate limit. */
  also(asked: Also): Promise<Outcome>;
}

/** What a handler has that makes what the gate asked for. */
export type MoreContext = Context & Pick<RenderContext, 'further'>;

/** Something else that the gate is asked. */
export interface Also {
  action: Action;
  operation?: string;
  named?: Named;
  input: unknown;
}

/** What a handler has of a request that needs no credential. */
export interface PublicContext extends BaseContext {
  headers: Headers;
  /** Asks the gate of an org to do what the route is about, or another operation of its action. */
  ask(org: string, keys: OrgKeys, bearer: Ask['bearer'], input: unknown, operation?: string): Promise<Reply>;
  /** Counts a refused attempt by this address: the refusal as it is, or 429 after too many. */
  count(refusal: Refusal): Promise<Refusal>;
}

/** What such a request is answered with. */
export type PublicAnswer = { headers?: Record<string, string>; rate_limit?: RateLimitState | null } & (
  | { status: number; json?: unknown }
  | { refusal: Refusal }
);

/** What the log line of a request says besides the request itself. */
export interface Trace {
  route: string;
  org: string | null;
  credential: string | null;
  gate_calls: number;
  gate_ms: number;
  d1_calls: number;
  code: string | null;
}

/** The org's keys; every handler that prepares or renders for an org has them. */
export function keysOf(context: Pick<Context, 'keys'>): OrgKeys {
  if (!context.keys) throw new Error('a route without an org asked for its keys');
  return context.keys;
}

/** A page of a list, with the cursor of the next. */
export const pageOf = (context: Pick<Context, 'deployment' | 'org'>, list: string, slice: { items: unknown[]; next: string | null }) => ({
  data: slice.items,
  next_cursor: slice.next === null ? null : toCursor(context.deployment.cursor, context.org, list, slice.next),
  has_more: slice.next !== null,
});
