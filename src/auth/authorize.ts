// The decision: may this caller do that, here, from there, now? Pure: data and `now` in, a refusal or null out. The same functions
// decide in the gate and explain to people why something is allowed.
import { forms } from '../db/names';
import type { Grantee } from '../db/schema';
import { type Refusal, refuse } from '../errors';
import type { FullNeed } from './actions';
import { isWithin, rangesContain } from './addresses';
import { contains, matches, widthOf } from './globs';
import { covers, type ProviderScope, providerScopes } from './scopes';
import type { Kind } from './token';

/** Scopes, and where and until when they hold. Null means unbounded; times are milliseconds. */
export interface PermissionSet {
  scopes: readonly string[];
  environments: readonly string[] | null;
  secrets: readonly string[] | null;
  expires_at: number | null;
  /** The grant that gives it, where it is not what the credential or the role gives. */
  grant?: { id: string; grantee: { type: Grantee; id: string } };
}

/** Who asks, with all that bounds them. */
export interface Caller {
  kind: Kind | 'member' | 'trust' | 'system';
  id: string;
  name: string | null;
  parent_id: string | null;
  /** The credential that admits it: its own id, or a member's browser session. */
  credential: string;
  /** Whose idempotency keys it shares: the API key at the top, for a session token; the member, for a browser session. */
  root: string;
  /** What it holds, all together: one for a credential; for a member the role first, and one for each grant. */
  permissions: readonly [PermissionSet, ...PermissionSet[]];
  /** Every link of the lineage that is limited by address. */
  addresses: readonly (readonly string[])[];
  /** Where the org lets its members act from; null: anywhere. It does not bind what they make. */
  member_addresses: readonly string[] | null;
  expires_at: number | null;
  /** The device whose key must sign each request; null: none. */
  device: string | null;
  /** What it makes ends with it: a session token, an agent, and whatever they made. */
  isDependent: boolean;
  /** A member who has confirmed the session with a passkey in the last five minutes. */
  confirmed: boolean;
  /** A member in a terminal session, which is never confirmed. */
  isTerminal: boolean;
  /** A member who is an owner, or an API key that holds everything without limits and was made by such a one. */
  isOwner: boolean;
  /** Requests a minute. */
  rate_limit: number;
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
    // safety: expired-credential
    if (expires_at !== null && expires_at <= now) return refuse('TOKEN_EXPIRED');
  }
  return null;
}

/**
 * 403 if the caller may not do the action at all: by address, kind, scope or missing confirmation. `exempt`: needs no scope, for it concerns
 * the caller alone.
 */
export function mayAct(caller: Caller, need: FullNeed, ip: string, exempt = false): Refusal | null {
  const ranges = caller.member_addresses ? [...caller.addresses, caller.member_addresses] : caller.addresses;
  // safety: allowed-addresses
  if (!ranges.every((allowed) => isWithin(ip, allowed))) return refuse('ADDRESS_NOT_ALLOWED');
  // safety: credential-kind
  if (!need.kinds.includes(caller.kind))
    return refuse('CREDENTIAL_KIND_NOT_ALLOWED', { message: `This call needs ${need.kinds.map((kind) => kindNames[kind]).join(' or ')}.` });
  // safety: browser-required
  if (need.inBrowser && caller.isTerminal) return notInBrowser;
  const lacking = exempt ? null : lacks(caller, need);
  return lacking ?? (need.fresh ? mustBeConfirmed(caller) : null);
}

/** 403 if the caller does not hold what an action needs. */
function lacks(caller: Caller, need: FullNeed): Refusal | null {
  // safety: owner-required
  if (need.owner && !caller.isOwner)
    return refuse('INSUFFICIENT_SCOPE', { message: 'This call needs an owner, or an API key that holds the scope * without limits.' });
  if (need.scopes.length === 0 || reasons(caller.permissions, need.scopes, null).length) return null;
  const isOfSecrets = need.scopes.some((scope) => scope.startsWith('secrets:'));
  if (caller.kind === 'agent' && need.reveals && isOfSecrets)
    return denied(`This agent does not hold the scope ${need.scopes.join(' or ')}`);
  return refuse('INSUFFICIENT_SCOPE', {
    message: `This credential does not hold the scope ${need.scopes.join(' or ')}, which this call needs.`,
  });
}

const notInBrowser = refuse('CREDENTIAL_KIND_NOT_ALLOWED', {
  message: 'This call needs a browser session. A terminal session cannot be confirmed with a passkey.',
});

/** 403 for a member whose session is not confirmed. Where only some calls of an action need it, the operation asks this itself. */
export function mustBeConfirmed(caller: Caller): Refusal | null {
  if (caller.kind !== 'member' || caller.confirmed) return null;
  return caller.isTerminal ? notInBrowser : refuse('REAUTHENTICATION_REQUIRED');
}

/** What each kind of caller is called. */
export const kindNames: Record<Caller['kind'], string> = {
  api_key: 'an API key',
  session: 'a session token',
  agent: 'an agent credential',
  provider: 'a provider token',
  break_glass: 'a break-glass token',
  member: 'a browser session',
  trust: 'a trust',
  system: 'the bootstrap token',
};

const denied = (why: string) =>
  refuse('SECRET_ACCESS_DENIED', {
    message: `${why}. A caller that holds tokens:write can extend the agent with PATCH /api/v1/orgs/:org_id/agent-credentials/:id.`,
  });

const gives = ({ scopes }: PermissionSet, wanted: readonly string[]) => wanted.some((scope) => covers(scopes, scope));
const enters = ({ environments }: PermissionSet, environment: string) => environments === null || environments.includes(environment);
const names = ({ secrets }: PermissionSet, name: string) => secrets === null || secrets.some((pattern) => matches(pattern, name));

/** What a request is aimed at: an environment and, where it is about a secret, its name. `shown` is how a refusal names the environment; null where it names neither, for the request gave an id. */
export interface Target {
  environment: string;
  shown: string | null;
  name?: string;
}

/** 403 if what the caller holds for an action does not reach its target. What is outside and what does not exist look alike. */
export function mayReach(caller: Caller, { scopes, reveals }: FullNeed, target: Target): Refusal | null {
  // What needs no scope is bounded by environments and names all the same.
  const needed = scopes.length ? scopes : caller.permissions.flatMap((permissionSet) => permissionSet.scopes);
  if (reasons(caller.permissions, needed, target).length) return null;
  const isEnvironment = reasons(caller.permissions, needed, { environment: target.environment }).length === 0;
  const place =
    target.shown === null ? 'this secret' : isEnvironment ? environmentPlace(target.shown) : `a secret with the name ${target.name}`;
  if (caller.kind === 'agent' && reveals)
    return denied(`This agent may not read ${isEnvironment && target.shown !== null ? 'secrets in ' : ''}${place}`);
  return refuse('INSUFFICIENT_SCOPE', { message: `This credential may not access ${place}.` });
}

/** What a body names an environment by may be any text, and is shown only if it has the form of an id or a slug. */
const environmentPlace = (shown: string) => (forms.environment(shown) ? `the environment ${shown}` : 'this environment');

/** Where a scope would be used; null: anywhere. */
type Place = Omit<Target, 'shown'> | null;

const holds = (permissionSet: PermissionSet, scopes: readonly string[], place: Place): boolean =>
  gives(permissionSet, scopes) &&
  (place === null || (enters(permissionSet, place.environment) && (place.name === undefined || names(permissionSet, place.name))));

/** Why any of these scopes may be used there: the permission sets that give one. */
export const reasons = (permissionSets: readonly PermissionSet[], scopes: readonly string[], place: Place): readonly PermissionSet[] =>
  // safety: scopes-and-limits-of-one-permission-set
  permissionSets.filter((permissionSet) => holds(permissionSet, scopes, place));

/** Whether the caller holds any of these scopes for a name in an environment. */
export const reaches = (caller: Caller, scopes: readonly string[], environment: string, name: string): boolean =>
  caller.permissions.some((permissionSet) => holds(permissionSet, scopes, { environment, name }));

/** What is left of the steps of comparing names with patterns that one request may take. */
export interface Steps {
  /** Takes what `reaches` costs at most for a name in an environment; false once the steps are spent. */
  take(environment: string, name: string): boolean;
}

/** Counts the steps of one request that asks `reaches` about many names. */
export function stepsFor(caller: Caller, scopes: readonly string[], most: number): Steps {
  // Of the patterns that are looked at, by environment. None is looked at after a permission set that reaches all names.
  const widths = new Map<string, number>();
  const widthIn = (environment: string): number => {
    let sum = 0;
    for (const permissionSet of caller.permissions) {
      if (!gives(permissionSet, scopes) || !enters(permissionSet, environment)) continue;
      if (permissionSet.secrets === null) break;
      sum += widthOf(permissionSet.secrets);
    }
    widths.set(environment, sum);
    return sum;
  };
  let left = most;
  return {
    take(environment, name) {
      left -= name.length * (widths.get(environment) ?? widthIn(environment));
      return left >= 0;
    },
  };
}

/** Whether the caller holds any of these scopes in an environment, for whatever names. */
export const reachesEnvironment = (caller: Caller, scopes: readonly string[], environment: string): boolean =>
  caller.permissions.some((permissionSet) => holds(permissionSet, scopes, { environment }));

/** Whether the caller holds any of these scopes for the org as a whole: in all environments, for all names. */
export const reachesAll = (caller: Caller, scopes: readonly string[]): boolean =>
  caller.permissions.some(
    (permissionSet) => gives(permissionSet, scopes) && permissionSet.environments === null && permissionSet.secrets === null,
  );

/** The patterns of names to which a caller is limited in an environment, or null if some permission set reaches all of them. */
export function namesHeld(caller: Caller, scopes: readonly string[], environment: string): readonly string[] | null {
  const here = caller.permissions.filter((permissionSet) => gives(permissionSet, scopes) && enters(permissionSet, environment));
  return here.some(({ secrets }) => secrets === null) ? null : [...new Set(here.flatMap(({ secrets }) => secrets ?? []))];
}

/** What two permission sets have in common. Of names, the patterns of either that lie within one of the other: less, where two merely cross. */
export function overlap(one: PermissionSet, other: PermissionSet): PermissionSet {
  const both = (a: readonly string[], b: readonly string[], isWithin: (inner: string, outer: readonly string[]) => boolean) => [
    ...new Set([...a.filter((each) => isWithin(each, b)), ...b.filter((each) => isWithin(each, a))]),
  ];
  const bounded = (a: readonly string[] | null, b: readonly string[] | null, isWithin: Parameters<typeof both>[2]) =>
    a && b ? both(a, b, isWithin) : (a ?? b);
  return {
    scopes: both(one.scopes, other.scopes, (scope, held) => covers(held, providerScopes[scope as ProviderScope] ?? scope)),
    environments: bounded(one.environments, other.environments, (id, ids) => ids.includes(id)),
    secrets: bounded(one.secrets, other.secrets, (inner, outers) => outers.some((outer) => contains(outer, inner))),
    expires_at: one.expires_at,
  };
}

/** What a credential would hold. */
export interface Wanted extends PermissionSet {
  allowed_addresses: readonly string[] | null;
  /** The device that it is bound to; a grant or a role is bound to none. */
  device_id?: string | null;
}

/** 403 if a credential would hold more than the caller does, in any respect; the message names the first. */
export function withinPermissions(caller: Caller, wanted: Wanted): Refusal | null {
  const exceeds = (what: string) => refuse('SCOPE_EXCEEDS_PARENT', { message: `The calling credential ${what}.` });
  for (const scope of wanted.scopes) {
    // Each scope has to come from one permission set, with all that the new one would reach.
    let held = caller.permissions.filter(({ scopes }) => covers(scopes, scope));
    if (held.length === 0) return exceeds(`does not hold the scope ${scope}`);
    held = held.filter(({ environments }) => environments === null || wanted.environments?.every((id) => environments.includes(id)));
    if (held.length === 0) return exceeds('does not reach all of these environments');
    held = held.filter(
      ({ secrets }) => secrets === null || wanted.secrets?.every((inner) => secrets.some((outer) => contains(outer, inner))),
    );
    if (held.length === 0) return exceeds('does not reach all of these names');
    if (!held.some(({ expires_at }) => lasts(expires_at, wanted.expires_at)))
      return exceeds('ends earlier than the lifetime in the request');
  }
  if (!caller.addresses.every((ranges) => wanted.allowed_addresses && rangesContain(ranges, wanted.allowed_addresses)))
    return exceeds('may not be used from all of these addresses');
  // safety: permissions-bound-to-device
  if (caller.device !== null && wanted.device_id !== caller.device)
    return exceeds('is bound to a device, and gives nothing that is not bound to the same device');
  return lasts(caller.expires_at, wanted.expires_at) ? null : exceeds('ends earlier than the lifetime in the request');
}

const lasts = (outer: number | null, inner: number | null) => outer === null || (inner !== null && inner <= outer);

/** Whether nothing that a credential would hold goes beyond what it holds already, so that anyone who may change it may do this. */
export const isNarrower = (before: Wanted, after: Wanted): boolean =>
  withinPermissions({ ...nobody, permissions: [before], addresses: before.allowed_addresses ? [before.allowed_addresses] : [] }, after) ===
    null && lasts(before.expires_at, after.expires_at);

/** Nothing bounds the caller in environments, names, time or address, and nothing that it makes ends with it. */
export const standsAlone = (caller: Caller): boolean =>
  !caller.isDependent &&
  caller.expires_at === null &&
  caller.addresses.length === 0 &&
  caller.permissions[0].environments === null &&
  caller.permissions[0].secrets === null;

/** A caller that may do nothing. */
export const nobody: Caller = {
  kind: 'system',
  id: '',
  name: null,
  parent_id: null,
  credential: '',
  root: '',
  permissions: [{ scopes: [], environments: null, secrets: null, expires_at: null }],
  addresses: [],
  member_addresses: null,
  expires_at: null,
  device: null,
  isDependent: false,
  confirmed: false,
  isTerminal: false,
  isOwner: false,
  rate_limit: 0,
};
