// Delegation: what a caller may give to a credential that it creates or changes. Pure. Invariant: nobody
// gives more than they hold, in any respect: scope, environment, name, upstream, time, address, device and
// what `svc mcp` may do.

import type { McpLimits } from '../db/mcp-limits';
import { type Refusal, refuse } from '../errors';
import { rangesContain } from './addresses';
import { type Caller, nobody, type PermissionSet } from './authorize';
import { contains } from './globs';
import { isWithinMcp } from './mcp-limits';
import { covers } from './scopes';

/** What a credential would hold. */
export interface Wanted extends PermissionSet {
  allowed_addresses: readonly string[] | null;
  /** The device that it is bound to; a grant or a role has none. */
  device_id?: string | null;
  /** What `svc mcp` may do with it; a grant or a role has none. */
  mcp_limits?: McpLimits | null;
}

/** 403 if a credential would hold more than the caller in any respect; the message names the first. */
export function withinPermissions(caller: Caller, wanted: Wanted): Refusal | null {
  const exceeds = (what: string) =>
    refuse('SCOPE_EXCEEDS_PARENT', { message: `The calling credential ${what}.` });
  for (const scope of wanted.scopes) {
    // A single permission set must give the scope for everything that the new credential would reach.
    let held = caller.permissions.filter(({ scopes }) => covers(scopes, scope));
    if (held.length === 0) return exceeds(`does not hold the scope ${scope}`);
    held = held.filter(
      ({ environments }) =>
        environments === null || wanted.environments?.every((id) => environments.includes(id)),
    );
    if (held.length === 0) return exceeds('does not reach all of these environments');
    held = held.filter(
      ({ secrets }) =>
        secrets === null || wanted.secrets?.every((inner) => secrets.some((outer) => contains(outer, inner))),
    );
    if (held.length === 0) return exceeds('does not reach all of these names');
    // safety: upstreams-within-creator
    held = held.filter(
      ({ upstreams }) =>
        upstreams === null ||
        wanted.upstreams?.every((inner) => upstreams.some((outer) => contains(outer, inner))),
    );
    if (held.length === 0) return exceeds('does not reach all of these upstreams');
    if (!held.some(({ expires_at }) => lasts(expires_at, wanted.expires_at)))
      return exceeds('expires before the lifetime in the request ends');
  }
  if (
    !caller.addresses.every(
      (ranges) => wanted.allowed_addresses && rangesContain(ranges, wanted.allowed_addresses),
    )
  )
    return exceeds('cannot be used from all of these addresses');
  // safety: permissions-bound-to-device
  if (caller.device !== null && wanted.device_id !== caller.device)
    return exceeds('is bound to a device, so what it creates must be bound to the same device');
  // safety: mcp-limits-within-creator
  if (wanted.mcp_limits !== undefined && !isWithinMcp(caller.mcp_limits, wanted.mcp_limits))
    return exceeds('has limits for svc mcp, so what it creates or changes must have no wider ones');
  return lasts(caller.expires_at, wanted.expires_at)
    ? null
    : exceeds('expires before the lifetime in the request ends');
}

const lasts = (outer: number | null, inner: number | null) =>
  outer === null || (inner !== null && inner <= outer);

/**
 * Whether the new permissions do not exceed the existing ones, so that anyone allowed to change the
 * credential can apply them.
 */
export const isNarrower = (before: Wanted, after: Wanted): boolean => {
  const holder: Caller = {
    ...nobody,
    permissions: [before],
    addresses: before.allowed_addresses ? [before.allowed_addresses] : [],
    mcp_limits: before.mcp_limits ?? null,
  };
  return withinPermissions(holder, after) === null && lasts(before.expires_at, after.expires_at);
};

/**
 * The caller has no limits to environments, names, upstreams, time or address, and credentials it creates do
 * not depend on it.
 */
export const standsAlone = (caller: Caller): boolean =>
  !caller.isDependent &&
  caller.expires_at === null &&
  caller.addresses.length === 0 &&
  caller.permissions[0].environments === null &&
  caller.permissions[0].secrets === null &&
  caller.permissions[0].upstreams === null;
