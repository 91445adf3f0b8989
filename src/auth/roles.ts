// Roles of members: who may give a role, and who may change whom. Pure. Invariants: no one gives a role that holds more than they do; only
// owners create owners; no one changes a member whose role holds more than they do, and an owner ranks above everyone who is not one.
import type { Role } from '../db/schema';
import { type Refusal, refuse } from '../errors';
import { type Caller, nobody } from './authorize';
import { standsAlone, type Wanted, withinPermissions } from './delegation';
import { roleScopes } from './scopes';

/** The permissions of a role: no limits and no expiry. */
const permissionsOfRole = (role: Role): Wanted => ({
  scopes: roleScopes[role],
  environments: null,
  secrets: null,
  allowed_addresses: null,
  expires_at: null,
});

/** 403 unless the caller may give a member this role. */
export function mayGiveRole(caller: Caller, role: Role): Refusal | null {
  // safety: role-given-without-limits
  if (!standsAlone(caller))
    return refuse('SCOPE_EXCEEDS_PARENT', {
      message:
        'A credential that is limited to environments, names, addresses or a lifetime, or that is revoked together with another, cannot invite members or change roles.',
    });
  // safety: owner-made-by-owner
  if (role === 'owner' && !caller.isOwner) return refuse('SCOPE_EXCEEDS_PARENT', { message: 'Only an owner can make a member an owner.' });
  // safety: role-within-permissions
  return withinPermissions(caller, permissionsOfRole(role));
}

/** Whether a role includes everything that the caller holds, and more. */
function outranks(role: Role, caller: Caller): boolean {
  // safety: owner-outranks-others
  if (role === 'owner') return !caller.isOwner;
  const member: Caller = { ...nobody, permissions: [permissionsOfRole(role)] };
  return (
    caller.permissions.every((permissionSet) => withinPermissions(member, { ...permissionSet, allowed_addresses: null }) === null) &&
    // safety: rank-within-permissions
    withinPermissions(caller, permissionsOfRole(role)) !== null
  );
}

/** 403 if a member's role ranks above the caller. */
export const mayChangeMember = (caller: Caller, role: Role): Refusal | null =>
  outranks(role, caller)
    ? refuse('SCOPE_EXCEEDS_PARENT', { message: 'The role of this member holds more than the calling credential.' })
    : null;

/** The same for removing a member: a role has no limits to environments or names, and what a caller ends must not reach further than it. */
export const mayRemoveMember = (caller: Caller, role: Role): Refusal | null =>
  // safety: member-removed-without-limits
  caller.permissions.some(({ environments, secrets }) => environments === null && secrets === null)
    ? mayChangeMember(caller, role)
    : refuse('SCOPE_EXCEEDS_PARENT', {
        message: 'A credential that is limited to environments or names cannot remove members: their roles reach further.',
      });
