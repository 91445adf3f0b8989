// Which credentials and grants are alive, and how many. Invariant: a credential whose ancestor, member, passkey or device is gone has ended, and so
// has one that a panic ended.
import { ended, type Lifetime } from '../auth/authorize';
import { type CredentialRow, type DeviceRow, type GrantRow, type OrgRow, parentIdOf } from '../db/schema';
import type { Refusal } from '../errors';
import type { Core } from './core';
import { lineageOf } from './lineage';

/** 401 if a lineage has ended by now, in any of the ways in which one can. */
export function endOf(core: Core, org: string, lineage: readonly CredentialRow[]): Refusal | null {
  const orgRow = core.rows.get('org', org);
  return ended(
    lineage.map((row) => lifetimeOf(core, orgRow, row)),
    core.now(),
  );
}

function lifetimeOf(core: Core, org: OrgRow | null, row: CredentialRow): Lifetime {
  const isGone =
    isPast(org, row) ||
    (row.member_id !== null && !core.rows.get('member', row.member_id)) ||
    (row.passkey_id !== null && !core.rows.get('passkey', row.passkey_id)) ||
    (row.device_id !== null && isBlocked(core, core.rows.get('device', row.device_id)));
  return { expires_at: row.expires_at, revoked_at: row.revoked_at ?? (isGone ? 0 : null) };
}

/**
 * Whether a device is good for nothing any more, for good: it is gone or blocked, or the member it is assigned to is gone. Neither ids of members
 * nor of devices are used again, and a blocked device is assigned to nobody else: so what ended with it stays ended.
 */
export const isBlocked = ({ rows }: Core, device: DeviceRow | null): boolean =>
  // safety: blocked-device-ends-credentials
  device === null || device.blocked_at !== null || (device.member_id !== null && !rows.get('member', device.member_id));

/** Whether a panic ended it. */
export const isPast = (
  org: Pick<OrgRow, 'generation' | 'keys_generation' | 'spared'> | null,
  { id, kind, generation }: Pick<CredentialRow, 'id' | 'kind' | 'generation'>,
): boolean =>
  (generation ?? 0) < ((kind === 'api_key' || kind === 'trust' ? org?.keys_generation : org?.generation) ?? 0) && org?.spared !== id;

/** Whether a credential, by its whole lineage, may be used. */
export const isAlive = (core: Core, org: string, row: CredentialRow): boolean => endOf(core, org, lineageOf(core, row)) === null;

/** How many credentials were alive, by the rows of a gate. What ends by time alone may count for so long after it. */
const counted = new WeakMap<Core['rows'], { n: number; edits: number; until: number }>();
const COUNTED = 5000;

/** The credentials, session tokens apart, that are alive by their own row and ended with their device: how many, by device and parent. */
export const endedWithDevices = (core: Core, org: OrgRow, now: number) =>
  core.bound.live(now, org).filter(({ device }) => isBlocked(core, core.rows.get('device', device)));

/** How many credentials are alive, brief ones apart: by their own rows, and those that end with others by theirs too. */
export function countLive(core: Core, org: string, now: number): number {
  const edits = core.rows.edits();
  const before = counted.get(core.rows);
  if (before?.edits === edits && now < before.until && now >= before.until - COUNTED) return before.n;
  const orgRow = core.rows.get('org', org);
  if (!orgRow) return 0;
  // Each is judged once, however many end with it.
  const known = new Map<string, boolean>();
  const hasLivingParent = (row: CredentialRow): boolean => {
    const parent = parentIdOf(row);
    return parent === null || lives(parent);
  };
  const lives = (id: string): boolean => {
    const judged = known.get(id);
    if (judged !== undefined) return judged;
    const row = core.rows.get('credential', id);
    const alive = row !== null && endOf(core, org, [row]) === null && hasLivingParent(row);
    known.set(id, alive);
    return alive;
  };
  // safety: count-by-lineage
  const below = core.rows.liveBelow(now, orgRow).reduce((sum, { parent, n }) => (parent === null || lives(parent) ? sum + n : sum), 0);
  // safety: count-by-device
  const n = endedWithDevices(core, orgRow, now).reduce((sum, { parent, n }) => (parent === null || lives(parent) ? sum - n : sum), below);
  counted.set(core.rows, { n, edits, until: now + COUNTED });
  return n;
}

/** Whether a grant is good, and so are the agent that has it and the credential that it ends with. */
export function isGrantAlive(core: Core, org: string, grant: GrantRow): boolean {
  if (grant.expires_at !== null && grant.expires_at <= core.now()) return false;
  const agent = grant.grantee_type === 'agent' ? core.rows.get('credential', grant.grantee_id) : undefined;
  if (agent === null || (agent && !isAlive(core, org, agent))) return false;
  const parentId = parentIdOf(grant);
  if (parentId === null) return true;
  const parent = core.rows.get('credential', parentId);
  return parent !== null && isAlive(core, org, parent);
}
