// The authorisation decision: may this caller do this, to this target, from this address, now? Pure: returns
// a refusal or null. The same functions decide in the gate and explain access to people.

import type { McpLimits } from '../db/mcp-limits';
import { forms } from '../db/names';
import type { Grantee } from '../db/schema';
import type { Workload } from '../db/trusts';
import { type Refusal, refuse } from '../errors';
import type { FullNeed } from './actions';
import { isWithin } from './addresses';
import type { TokenKind } from './authentication/token';
import { contains, matches, widthOf } from './globs';
import { covers, type ProviderScope, providerScopes } from './scopes';

/** Scopes, and where and until when they apply. Null means no limit; times are in milliseconds. */
export interface PermissionSet {
  scopes: readonly string[];
  environments: readonly string[] | null;
  secrets: readonly string[] | null;
  /** Patterns on the names of upstreams, through which secrets are used. */
  upstreams: readonly string[] | null;
  expires_at: number | null;
  /** The grant that gives it; absent if the credential itself or the role does. */
  grant?: { id: string; grantee: { type: Grantee; id: string } };
}

/** The caller, with all its limits. */
export interface Caller {
  kind: TokenKind | 'member' | 'trust' | 'workload' | 'system';
  id: string;
  /** Of a Worker that is bound to the service: what its configuration says. */
  name: string | null;
  parent_id: string | null;
  /** The credential that was presented: the caller's own id, or a member's browser session. */
  credential: string;
  /**
   * Who shares its idempotency keys: for a session token the API key at the top, for a browser session the
   * member.
   */
  root: string;
  /** Everything it holds: one set for a credential; for a member first the role, then one set per grant. */
  permissions: readonly [PermissionSet, ...PermissionSet[]];
  /** The address limits of every credential in the lineage. */
  addresses: readonly (readonly string[])[];
  /**
   * The organisation's address limits for members; null means any address. They do not limit credentials
   * created by members.
   */
  member_addresses: readonly string[] | null;
  expires_at: number | null;
  /** The device whose key must sign each request; null for none. */
  device: string | null;
  /** What `svc mcp` may do with it; null for no limits. */
  mcp_limits: McpLimits | null;
  /**
   * Credentials that it creates are revoked together with it: session tokens, agents and their descendants.
   */
  isDependent: boolean;
  /** A member who confirmed the session with a passkey in the last five minutes. */
  confirmed: boolean;
  /** A member in a terminal session, which is never confirmed. */
  isTerminal: boolean;
  /**
   * A member who is an owner, or an API key with all permissions and no limits that was created by an owner.
   */
  isOwner: boolean;
  /** Requests per minute. */
  rate_limit: number;
  /** Of a Worker that is bound to the service: what it is accepted for. */
  workload?: Workload;
}

/** What ends a credential: its own expiry or revocation, or that of an ancestor. */
export interface Lifetime {
  expires_at: number | null;
  revoked_at: number | null;
}

/** 401 if any credential of a lineage (the caller's first) has ended, else null. */
export function ended(lineage: readonly Lifetime[], now: number): Refusal | null {
  for (const { expires_at, revoked_at } of lineage) {
    // A recorded revocation is in force whatever the clock says.
    // safety: revoked-credential
    if (revoked_at !== null) return refuse('TOKEN_REVOKED');
    // safety: expired-credential
    if (expires_at !== null && expires_at <= now) return refuse('TOKEN_EXPIRED');
  }
  return null;
}

/**
 * 403 if the caller may not perform the action at all: address, kind, scope or missing confirmation.
 * `exempt`: needs no scope, because it concerns only the caller.
 */
export function mayAct(caller: Caller, need: FullNeed, ip: string, exempt = false): Refusal | null {
  const ranges = caller.member_addresses ? [...caller.addresses, caller.member_addresses] : caller.addresses;
  // safety: allowed-addresses
  if (!ranges.every((allowed) => isWithin(ip, allowed))) return refuse('ADDRESS_NOT_ALLOWED');
  // safety: credential-kind
  if (!need.kinds.includes(caller.kind))
    return refuse('CREDENTIAL_KIND_NOT_ALLOWED', {
      message: `This request needs ${need.kinds.map((kind) => kindNames[kind]).join(' or ')}.`,
    });
  // safety: browser-required
  if (need.inBrowser && caller.isTerminal) return notInBrowser;
  const lacking = exempt ? null : lacks(caller, need);
  return lacking ?? (need.fresh ? mustBeConfirmed(caller) : null);
}

/** 403 if the caller lacks the permissions of an action. */
function lacks(caller: Caller, need: FullNeed): Refusal | null {
  // safety: owner-required
  if (need.owner && !caller.isOwner)
    return refuse('INSUFFICIENT_SCOPE', {
      message: 'This request needs an owner, or an API key with the scope * and no limits.',
    });
  if (need.scopes.length === 0 || reasons(caller.permissions, need.scopes, null).length) return null;
  const isOfSecrets = need.scopes.some((scope) => scope.startsWith('secrets:'));
  if (caller.kind === 'agent' && need.reveals && isOfSecrets)
    return denied(`This agent does not hold the scope ${need.scopes.join(' or ')}`);
  return refuse('INSUFFICIENT_SCOPE', {
    message: `This credential does not hold the scope ${need.scopes.join(' or ')}, which this request needs.`,
  });
}

const notInBrowser = refuse('CREDENTIAL_KIND_NOT_ALLOWED', {
  message: 'This request needs a browser session. A terminal session cannot be confirmed with a passkey.',
});

const notConfirmed = refuse('INSUFFICIENT_SCOPE', {
  message:
    'This request needs a member who confirms it with a passkey, or an API key with the scope * and no limits that an owner created.',
});

/**
 * 403 for a caller who has not confirmed it: a member whose session is not confirmed, and any credential that
 * a member can make in such a session. An API key that acts as an owner is none of those: making or rotating
 * one takes a confirmation. Operations that need this only in some cases check it themselves.
 */
export function mustBeConfirmed(caller: Caller): Refusal | null {
  if (caller.kind === 'member') {
    if (caller.confirmed) return null;
    return caller.isTerminal ? notInBrowser : refuse('REAUTHENTICATION_REQUIRED');
  }
  // safety: confirmation-not-delegated
  return caller.isOwner || caller.kind === 'system' ? null : notConfirmed;
}

/** The name of each kind of caller. */
export const kindNames: Record<Caller['kind'], string> = {
  api_key: 'an API key',
  session: 'a session token',
  agent: 'an agent credential',
  provider: 'a provider token',
  break_glass: 'a break-glass token',
  scim: 'a SCIM token',
  member: 'a browser session',
  trust: 'a trust',
  workload: 'a bound Worker',
  system: 'the bootstrap token',
};

const denied = (why: string) =>
  refuse('SECRET_ACCESS_DENIED', {
    message: `${why}. A caller that holds tokens:write can extend the agent with PATCH /api/v1/orgs/:org_id/agent-credentials/:id.`,
  });

const gives = ({ scopes }: PermissionSet, wanted: readonly string[]) =>
  wanted.some((scope) => covers(scopes, scope));
/** Whether a permission set includes an environment, given by id. */
export const enters = ({ environments }: PermissionSet, environment: string) =>
  environments === null || environments.includes(environment);
const names = ({ secrets }: PermissionSet, name: string) =>
  secrets === null || secrets.some((pattern) => matches(pattern, name));

/**
 * The target of a request: an environment and, for a secret, its name. `shown` is how a refusal names the
 * environment; null if it must name neither, because the request contained an id.
 */
export interface Target {
  environment: string;
  shown: string | null;
  name?: string;
}

/**
 * 403 if the caller's permissions do not include the target. A target outside them looks the same as a
 * non-existent one.
 */
export function mayReach(caller: Caller, { scopes, reveals }: FullNeed, target: Target): Refusal | null {
  // An action that needs no scope is still limited to the caller's environments and names.
  const needed = scopes.length ? scopes : caller.permissions.flatMap((permissionSet) => permissionSet.scopes);
  if (reasons(caller.permissions, needed, target).length) return null;
  const isEnvironment = reasons(caller.permissions, needed, { environment: target.environment }).length === 0;
  const place =
    target.shown === null
      ? 'this secret'
      : isEnvironment
        ? environmentPlace(target.shown)
        : `a secret with the name ${target.name}`;
  if (caller.kind === 'agent' && reveals)
    return denied(
      `This agent may not read ${isEnvironment && target.shown !== null ? 'secrets in ' : ''}${place}`,
    );
  return refuse('INSUFFICIENT_SCOPE', { message: `This credential may not access ${place}.` });
}

/** A body can contain any text as an environment. It is shown only if it has the form of an id or a slug. */
const environmentPlace = (shown: string) =>
  forms.environment(shown) ? `the environment ${shown}` : 'this environment';

/** Where a scope would be used; null means anywhere. */
type Place = Omit<Target, 'shown'> | null;

const holds = (permissionSet: PermissionSet, scopes: readonly string[], place: Place): boolean =>
  gives(permissionSet, scopes) &&
  (place === null ||
    (enters(permissionSet, place.environment) &&
      (place.name === undefined || names(permissionSet, place.name))));

/** The permission sets that give one of these scopes at a place. */
export const reasons = (
  permissionSets: readonly PermissionSet[],
  scopes: readonly string[],
  place: Place,
): readonly PermissionSet[] =>
  // safety: scopes-and-limits-of-one-permission-set
  permissionSets.filter((permissionSet) => holds(permissionSet, scopes, place));

/** Whether the caller holds any of these scopes for a name in an environment. */
export const reaches = (
  caller: Caller,
  scopes: readonly string[],
  environment: string,
  name: string,
): boolean => caller.permissions.some((permissionSet) => holds(permissionSet, scopes, { environment, name }));

/** The scopes that let a caller use a secret: who may read it may use it. */
export const USING = ['secrets:use', 'secrets:read'] as const;

/** Whether the caller may use a name in an environment through an upstream. */
export const usesThrough = (caller: Caller, upstream: string, environment: string, name: string): boolean =>
  caller.permissions.some(
    (permissionSet) =>
      // safety: use-within-upstreams
      (permissionSet.upstreams === null ||
        permissionSet.upstreams.some((pattern) => matches(pattern, upstream))) &&
      holds(permissionSet, USING, { environment, name }),
  );

/** The remaining matching steps of a request. */
export interface Steps {
  /**
   * Subtracts the most that `reaches` can cost for a name in an environment; false once the steps are spent.
   */
  take(environment: string, name: string): boolean;
}

/** Counts the matching steps of a request that calls `reaches` for many names. */
export function stepsFor(caller: Caller, scopes: readonly string[], most: number): Steps {
  // The total pattern width by environment. No pattern after a permission set that reaches all names is
  // evaluated.
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

/** Whether the caller holds any of these scopes for at least some names in an environment. */
export const reachesEnvironment = (caller: Caller, scopes: readonly string[], environment: string): boolean =>
  caller.permissions.some((permissionSet) => holds(permissionSet, scopes, { environment }));

/** Whether the caller holds any of these scopes for the whole organisation: all environments, all names. */
export const reachesAll = (caller: Caller, scopes: readonly string[]): boolean =>
  caller.permissions.some(
    (permissionSet) =>
      gives(permissionSet, scopes) && permissionSet.environments === null && permissionSet.secrets === null,
  );

/** 403 if the caller does not hold a scope for the whole organisation. `does` completes "cannot …". */
export const mustReachAll = (caller: Caller, scopes: readonly string[], does: string): Refusal | null =>
  reachesAll(caller, scopes)
    ? null
    : refuse('INSUFFICIENT_SCOPE', {
        message: `A credential limited to environments or names cannot ${does}.`,
      });

/** The name patterns that limit a caller in an environment; null if some permission set reaches all names. */
export function namesHeld(
  caller: Caller,
  scopes: readonly string[],
  environment: string,
): readonly string[] | null {
  const here = caller.permissions.filter(
    (permissionSet) => gives(permissionSet, scopes) && enters(permissionSet, environment),
  );
  return here.some(({ secrets }) => secrets === null)
    ? null
    : [...new Set(here.flatMap(({ secrets }) => secrets ?? []))];
}

/**
 * The intersection of two permission sets. For names: the patterns of either that are contained in one of the
 * other, which is less than the true intersection if two only overlap.
 */
export function overlap(one: PermissionSet, other: PermissionSet): PermissionSet {
  const both = (
    a: readonly string[],
    b: readonly string[],
    isWithin: (inner: string, outer: readonly string[]) => boolean,
  ) => [...new Set([...a.filter((each) => isWithin(each, b)), ...b.filter((each) => isWithin(each, a))])];
  const bounded = (
    a: readonly string[] | null,
    b: readonly string[] | null,
    isWithin: Parameters<typeof both>[2],
  ) => (a && b ? both(a, b, isWithin) : (a ?? b));
  return {
    scopes: both(one.scopes, other.scopes, (scope, held) =>
      covers(held, providerScopes[scope as ProviderScope] ?? scope),
    ),
    environments: bounded(one.environments, other.environments, (id, ids) => ids.includes(id)),
    secrets: bounded(one.secrets, other.secrets, (inner, outers) =>
      outers.some((outer) => contains(outer, inner)),
    ),
    // safety: upstreams-within-ancestors
    upstreams: bounded(one.upstreams, other.upstreams, (inner, outers) =>
      outers.some((outer) => contains(outer, inner)),
    ),
    expires_at: one.expires_at,
  };
}

/** A caller without permissions. */
export const nobody: Caller = {
  kind: 'system',
  id: '',
  name: null,
  parent_id: null,
  credential: '',
  root: '',
  permissions: [{ scopes: [], environments: null, secrets: null, upstreams: null, expires_at: null }],
  addresses: [],
  member_addresses: null,
  expires_at: null,
  device: null,
  mcp_limits: null,
  isDependent: false,
  confirmed: false,
  isTerminal: false,
  isOwner: false,
  rate_limit: 0,
};
