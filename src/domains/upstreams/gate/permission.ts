// Who may see, change and use an upstream, and whether its maker still may. Invariants: whoever makes one, or
// changes where it sends, may read each secret that it places; an upstream works only while that is so.
import { type Caller, reaches, usesThrough } from '../../../auth/authorize';
import type { CredentialRow, UpstreamRow } from '../../../db/schema';
import { type Refusal, refuse } from '../../../errors';
import type { Core } from '../../../gate/core';
import { callerOf, memberOf } from '../../../gate/identity/caller';
import { endOf } from '../../../gate/identity/lifetime';
import { hasMemberEnded } from '../../../gate/identity/members';
import { lineageOf } from '../../../gate/rows/ends-with-parent';

type Placed = Pick<UpstreamRow, 'environment_id' | 'secrets'>;

/** Whether a caller holds one of these scopes for each secret that an upstream places. */
export const holdsEach = (caller: Caller, scopes: readonly string[], { environment_id, secrets }: Placed) =>
  secrets.every((name) => reaches(caller, scopes, environment_id, name));

/** Whether a caller may use an upstream: it is bounded to its name, and holds each secret. */
export const mayUse = (caller: Caller, { name, environment_id, secrets }: UpstreamRow): boolean =>
  secrets.every((secret) => usesThrough(caller, name, environment_id, secret));

/** Whether a caller is shown the whole row. */
export const mayInspect = (caller: Caller, row: Placed): boolean =>
  holdsEach(caller, ['upstreams:read'], row) || holdsEach(caller, ['upstreams:write'], row);

/** The upstreams that somebody may use, of those that a caller may see. */
export const usableBy = ({ rows }: Pick<Core, 'rows'>, asker: Caller, user: Caller): UpstreamRow[] =>
  // safety: usable-upstreams-within-reach
  rows.within('upstream', '').filter((row) => isVisible(asker, row) && mayUse(user, row));

/** Whether a caller is shown an upstream at all. */
export const isVisible = (caller: Caller, row: UpstreamRow): boolean =>
  mayInspect(caller, row) || mayUse(caller, row);

/** 403 unless the caller may make or change an upstream that places these secrets. */
export function mayMake(caller: Caller, row: Placed): Refusal | null {
  // safety: upstream-within-maker
  for (const scope of ['upstreams:write', 'secrets:read'])
    if (!holdsEach(caller, [scope], row))
      return refuse('INSUFFICIENT_SCOPE', {
        message: `This credential does not hold the scope ${scope} for each secret that the upstream places.`,
      });
  return null;
}

/** The most rotations of an API key that are followed. */
const MOST_SUCCESSORS = 100;

/**
 * The credential that stands for one that made an upstream: itself, or the key that a rotation put in its
 * place. A key that was revoked in another way than by its rotation has nobody in its place.
 */
function standingFor(core: Core, row: CredentialRow): CredentialRow | null {
  let current = row;
  for (let followed = 0; followed < MOST_SUCCESSORS; followed++) {
    if (endOf(core, lineageOf(core, current)) === null) return current;
    const next = current.successor_id === null ? null : core.rows.get('credential', current.successor_id);
    // Rotation without an overlap revokes the old key in the turn that makes the new one.
    // safety: upstream-of-revoked-key-stops
    if (!next || (current.revoked_at !== null && current.revoked_at !== next.created_at)) return null;
    current = next;
  }
  return null;
}

/** The maker as a caller; null if it has ended. */
export function makerOf(core: Core, { maker, generation, taken_at }: UpstreamRow): Caller | null {
  const member = core.rows.get('member', maker);
  if (member) {
    // A panic ends a member's sessions but not the member.
    // safety: upstream-before-panic
    const isBefore = generation < (core.rows.get('org', core.org)?.generation ?? 0);
    return isBefore || hasMemberEnded(core, maker, taken_at) ? null : memberOf(core, maker, member);
  }
  const row = core.rows.get('credential', maker);
  const standing = row && standingFor(core, row);
  return standing && callerOf(core, lineageOf(core, standing));
}

/** Whether an upstream works: its maker is there, and may still read what it places. */
export function works(core: Core, row: UpstreamRow): boolean {
  if (core.rows.get('org', core.org)?.deleted_at !== null) return false;
  if (core.rows.get('environment', row.environment_id) === null) return false;
  const maker = makerOf(core, row);
  // safety: upstream-maker-judged-again
  return maker !== null && holdsEach(maker, ['secrets:read'], row);
}
