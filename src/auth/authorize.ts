// The decision: may this caller do that, here, from there, now? Pure: data and `now` in, a refusal or null out.
import { type Refusal, refuse } from '../errors';
import { type Action, needOf } from './actions';
import { isWithin, rangesContain } from './addresses';
import { contains, matches } from './globs';
import { covers, exceeding } from './scopes';
import type { Kind } from './token';

/** Who asks, with all that bounds them. Null means unbounded; times are milliseconds. */
export interface Caller {
  kind: Kind | 'system';
  id: string;
  name: string | null;
  parent_id: string | null;
  /** Whose idempotency keys it shares: the API key at the top, for a session token. */
  root: string;
  scopes: readonly string[];
  environments: readonly string[] | null;
  secrets: readonly string[] | null;
  /** Every link of the lineage that is limited by address. */
  addresses: readonly (readonly string[])[];
  expires_at: number | null;
}

/** What ends a credential: its own end, or that of one it descends from. */
export interface Lifetime {
  expires_at: number | null;
  revoked_at: number | null;
}

/** 401 if any link of a lineage (itself first) has ended, else null. */
export function ended(lineage: readonly Lifetime[], now: number): Refusal | null {
  for (const { expires_at, revoked_at } of lineage) {
    if (revoked_at !== null && revoked_at <= now) return refuse('TOKEN_REVOKED');
    if (expires_at !== null && expires_at <= now) return refuse('TOKEN_EXPIRED');
  }
  return null;
}

/** 403 if the caller may not do the action at all: by address, kind or scope. `exempt`: needs no scope, for it concerns the caller alone. */
export function mayAct(caller: Caller, action: Action, ip: string, exempt = false): Refusal | null {
  const need = needOf(action);
  if (!caller.addresses.every((ranges) => isWithin(ip, ranges))) return refuse('ADDRESS_NOT_ALLOWED');
  if (!need.kinds.includes(caller.kind))
    return refuse('CREDENTIAL_KIND_NOT_ALLOWED', { message: `This needs ${need.kinds.map((kind) => kinds[kind]).join(' or ')}.` });
  if (exempt || need.scopes.length === 0 || need.scopes.some((scope) => covers(caller.scopes, scope))) return null;
  return refuse('INSUFFICIENT_SCOPE', {
    message: `This needs the scope ${need.scopes.join(' or ')}, which this credential does not hold.`,
  });
}

const kinds: Record<Caller['kind'], string> = {
  api_key: 'an API key',
  session: 'a session token',
  agent: 'an agent credential',
  provider: 'a provider token',
  break_glass: 'a break-glass token',
  system: 'the bootstrap token',
};

/** 403 if the environment lies outside the caller's. `shown` is how the refusal names it. */
export const mayEnter = (caller: Caller, environment: string, shown: string): Refusal | null =>
  caller.environments === null || caller.environments.includes(environment)
    ? null
    : refuse('INSUFFICIENT_SCOPE', { message: `This credential does not reach the environment ${shown}.` });

/** 403 if the name lies outside the caller's patterns. */
export const mayName = (caller: Caller, name: string): Refusal | null =>
  reachesName(caller, name) ? null : refuse('INSUFFICIENT_SCOPE', { message: `This credential does not reach the name ${name}.` });

export const reachesName = (caller: Caller, name: string): boolean =>
  caller.secrets === null || caller.secrets.some((pattern) => matches(pattern, name));

/** What a credential would hold. */
export interface Holding {
  scopes: readonly string[];
  environments: readonly string[] | null;
  secrets: readonly string[] | null;
  allowed_addresses: readonly string[] | null;
  expires_at: number | null;
}

/** 403 if a credential would hold more than the caller does, in any respect; the message names the first. */
export function withinHolding(caller: Caller, wanted: Holding): Refusal | null {
  const exceeds = (what: string) => refuse('SCOPE_EXCEEDS_PARENT', { message: `The calling credential does not hold ${what} itself.` });
  const scope = exceeding(caller.scopes, wanted.scopes);
  if (scope !== null) return exceeds(`the scope ${scope}`);
  if (caller.environments && !wanted.environments?.every((id) => caller.environments?.includes(id)))
    return exceeds('all of these environments');
  if (caller.secrets && !wanted.secrets?.every((inner) => caller.secrets?.some((outer) => contains(outer, inner))))
    return exceeds('all of these names');
  if (!caller.addresses.every((ranges) => wanted.allowed_addresses && rangesContain(ranges, wanted.allowed_addresses)))
    return exceeds('all of these addresses');
  if (caller.expires_at !== null && (wanted.expires_at === null || wanted.expires_at > caller.expires_at))
    return exceeds('so long a lifetime');
  return null;
}

/** Whether nothing bounds the caller in environments or names: it may act on the org as a whole. */
export const isUnbounded = (caller: Caller): boolean => caller.environments === null && caller.secrets === null;
