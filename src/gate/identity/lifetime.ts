// Which credentials and grants are alive, and how many. Invariant: a credential whose member, passkey, device
// or connection is gone has ended, and so has one that a panic or single sign-on ended. With which other
// credentials it ends: rows/ends-with-parent.ts.

import { ended, type Lifetime } from '../../auth/authorize';
import { credentialKinds } from '../../db/credential-kinds';
import { type CredentialRow, type DeviceRow, type GrantRow, type OrgRow, parentIdOf } from '../../db/schema';
import type { Refusal } from '../../errors';
import type { Core } from '../core';
import { lineageOf } from '../rows/ends-with-parent';
import { bound } from './device-bound';
import { actingMember, hasMemberEnded } from './members';
import { hasSessionEnded } from './sso';

/** 401 if a lineage has ended, for any reason. */
export function endOf(core: Core, lineage: readonly CredentialRow[]): Refusal | null {
  const orgRow = core.rows.get('org', core.org);
  return ended(
    lineage.map((row) => lifetimeOf(core, orgRow, row)),
    core.now(),
  );
}

function lifetimeOf(core: Core, org: OrgRow | null, row: CredentialRow): Lifetime {
  const isGone =
    isEndedByPanic(org, row) ||
    (row.member_id !== null && !actingMember(core, row.member_id)) ||
    (row.passkey_id !== null && !core.rows.get('passkey', row.passkey_id)) ||
    (row.kind === 'browser' && hasSessionEnded(core, row)) ||
    // safety: scim-token-ends-with-connection
    (row.scim?.connection != null && !core.rows.get('sso_connection', row.scim.connection)) ||
    (row.device_id !== null && isBlocked(core, core.rows.get('device', row.device_id)));
  return { expires_at: row.expires_at, revoked_at: row.revoked_at ?? (isGone ? 0 : null) };
}

/**
 * Whether a device is permanently unusable: it is gone or blocked, or its member is gone or was suspended
 * since. Ids of members and devices are never reused, and a blocked device is not assigned to anyone else, so
 * that credentials that ended with it stay ended.
 */
export const isBlocked = (core: Core, device: DeviceRow | null): boolean =>
  // safety: blocked-device-ends-credentials
  device === null ||
  device.blocked_at !== null ||
  (device.member_id !== null && hasMemberEnded(core, device.member_id, device.assigned_at ?? 0));

/** Whether a panic revoked the credential. */
export const isEndedByPanic = (
  org: Pick<OrgRow, 'generation' | 'keys_generation' | 'spared'> | null,
  { id, kind, generation }: Pick<CredentialRow, 'id' | 'kind' | 'generation'>,
): boolean => (generation ?? 0) < (org?.[credentialKinds[kind].endedBy] ?? 0) && org?.spared !== id;

/** Whether a credential may be used, including all its ancestors. */
export const isAlive = (core: Core, row: CredentialRow): boolean =>
  endOf(core, lineageOf(core, row)) === null;

/**
 * The number of active credentials, by the rows of a gate. A credential that expires may still be counted for
 * this long.
 */
const counted = new WeakMap<Core['rows'], { n: number; edits: number; until: number }>();
const COUNTED = 5000;

/**
 * The number of credentials, by device and parent, that are active by their own row but ended with their
 * device; without session tokens.
 */
export const endedWithDevices = (core: Core, org: OrgRow, now: number) =>
  bound(core)
    .live(now, org)
    .filter(({ device }) => isBlocked(core, core.rows.get('device', device)));

/**
 * The number of active credentials, without short-lived ones: by their own rows and those of the credentials
 * that they end with.
 */
export function countLive(core: Core, now: number): number {
  const edits = core.rows.edits();
  const before = counted.get(core.rows);
  if (before?.edits === edits && now < before.until && now >= before.until - COUNTED) return before.n;
  const orgRow = core.rows.get('org', core.org);
  if (!orgRow) return 0;
  // Each parent is checked only once, however many credentials end with it.
  const known = new Map<string, boolean>();
  const hasLivingParent = (row: CredentialRow): boolean => {
    const parent = parentIdOf(row);
    return parent === null || lives(parent);
  };
  const lives = (id: string): boolean => {
    const judged = known.get(id);
    if (judged !== undefined) return judged;
    const row = core.rows.get('credential', id);
    const alive = row !== null && endOf(core, [row]) === null && hasLivingParent(row);
    known.set(id, alive);
    return alive;
  };
  // safety: count-by-lineage
  const below = core.rows
    .liveBelow(now, orgRow)
    .reduce((sum, { parent, n }) => (parent === null || lives(parent) ? sum + n : sum), 0);
  // safety: count-by-device
  const n = endedWithDevices(core, orgRow, now).reduce(
    (sum, { parent, n }) => (parent === null || lives(parent) ? sum - n : sum),
    below,
  );
  counted.set(core.rows, { n, edits, until: now + COUNTED });
  return n;
}

/** Whether a grant is good, and so are the agent that has it and the credential that it ends with. */
export function isGrantAlive(core: Core, grant: GrantRow): boolean {
  if (grant.expires_at !== null && grant.expires_at <= core.now()) return false;
  const agent = grant.grantee_type === 'agent' ? core.rows.get('credential', grant.grantee_id) : undefined;
  if (agent === null || (agent && !isAlive(core, agent))) return false;
  const parentId = parentIdOf(grant);
  if (parentId === null) return true;
  const parent = core.rows.get('credential', parentId);
  return parent !== null && isAlive(core, parent);
}
