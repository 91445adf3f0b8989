// Roles of members: who may give a role, and who may change whom. Pure. Invariants: no one gives a role that
// holds more than they do; only owners create owners; no one changes a member whose role holds more than they
// do, and an owner ranks above everyone who is not one; who is limited to environments gives no role and
// removes nobody.
import type { MemberRow } from '../db/schema';
import { type Refusal, refuse } from '../errors';
import { type Caller, nobody, type PermissionSet, reachesAll } from './authorize';
import { standsAlone, type Wanted, withinPermissions } from './delegation';
import { roleScopes } from './scopes';

/** A role, and the environments in which it holds. */
export type Position = Pick<MemberRow, 'role' | 'environments'>;

/** The permissions that a role gives. */
export const permissionsOfRole = ({ role, environments }: Position): PermissionSet => ({
  scopes: roleScopes[role],
  environments,
  secrets: null,
  upstreams: null,
  expires_at: null,
});

/** The same as what somebody would give. A member acts from any address. */
export const wantedOfRole = (position: Position): Wanted => ({
  ...permissionsOfRole(position),
  allowed_addresses: null,
});

/** 403 unless the caller may give a member this role. */
export function mayGiveRole(caller: Caller, position: Position): Refusal | null {
  // safety: role-given-without-limits
  if (!standsAlone(caller))
    return refuse('SCOPE_EXCEEDS_PARENT', {
      message:
        'A caller that is limited to environments, names, addresses or a lifetime, or that is revoked together with another, cannot invite members or change roles.',
    });
  // safety: owner-made-by-owner
  if (position.role === 'owner' && !caller.isOwner)
    return refuse('SCOPE_EXCEEDS_PARENT', { message: 'Only an owner can make a member an owner.' });
  // safety: role-within-permissions
  return withinPermissions(caller, wantedOfRole(position));
}

/** Whether a role includes everything that the caller holds, and more. */
function outranks(position: Position, caller: Caller): boolean {
  // safety: owner-outranks-others
  if (position.role === 'owner') return !caller.isOwner;
  const member: Caller = { ...nobody, permissions: [permissionsOfRole(position)] };
  return (
    caller.permissions.every(
      (permissionSet) => withinPermissions(member, { ...permissionSet, allowed_addresses: null }) === null,
    ) &&
    // safety: rank-within-permissions
    withinPermissions(caller, wantedOfRole(position)) !== null
  );
}

/** 403 if a member's role ranks above the caller. */
export const mayChangeMember = (caller: Caller, position: Position): Refusal | null =>
  outranks(position, caller)
    ? refuse('SCOPE_EXCEEDS_PARENT', {
        message: 'The role of this member holds more than the calling credential.',
      })
    : null;

/**
 * The same for removing a member: their grants may reach further than their role, and what a caller ends must
 * not reach further than it.
 */
export const mayRemoveMember = (caller: Caller, position: Position): Refusal | null =>
  // A grant without limits does not lift those of the scope.
  // safety: member-removed-without-limits
  reachesAll(caller, ['members:write'])
    ? mayChangeMember(caller, position)
    : refuse('SCOPE_EXCEEDS_PARENT', {
        message:
          'A caller that is limited to environments or names cannot remove members: they may reach further.',
      });
