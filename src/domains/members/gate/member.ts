// Finding and showing members in the gate, and what their operations share.

import { permissionsOfRole } from '../../../auth/roles';
import { DAY } from '../../../db/rows';
import type { MemberRow } from '../../../db/schema';
import type { Core } from '../../../gate/core';
import { limitsShown } from '../../../gate/identity/limits-shown';
import { actingMembers } from '../../../gate/identity/members';
import type { Call } from '../../../gate/request/call';
import { environmentOf, namedId } from '../../../gate/request/target';
import { memberOut } from '../wire';

/** A member as shown to callers. */
export function shown(call: Call<unknown>, row: MemberRow): object {
  const { core } = call;
  const { environments } = limitsShown(call, permissionsOfRole(row));
  return memberOut(row, { environments, passkeys: core.rows.within('passkey', row.id).length }, core.now());
}

/** The fields of a new enrolment, by the hash of its token. It is valid for 24 hours. */
export const enrolment = (enrolment_hash: string, now: number) => ({
  enrolment_hash,
  enrolment_made_at: now,
  enrolment_ends_at: now + DAY,
});

export const noEnrolment = { enrolment_hash: null, enrolment_made_at: null, enrolment_ends_at: null };

/** The owner with the oldest row, or with the given email; null if there is none. */
export function ownerOf(core: Core, email: string | null): MemberRow | null {
  const owners = ownersOf(core).filter((row) => email === null || keyOf(row.email) === keyOf(email));
  return owners.sort((a, b) => (a.id < b.id ? -1 : 1))[0] ?? null;
}

/** The owners who count: a suspended one does not. */
export const ownersOf = (core: Core) => actingMembers(core).filter(({ role }) => role === 'owner');
// safety: email-case-insensitive
const keyOf = (email: string) => email.toLowerCase();
export const isTaken = (core: Core, email: string, by: string) => {
  const other = core.rows.find('member', '', keyOf(email));
  return other !== null && other.id !== by;
};

export const find = ({ core, ask }: Call<unknown>): MemberRow | null =>
  core.rows.get('member', namedId(ask, 'member'));

export const isLastOwner = (core: Core, row: MemberRow) =>
  row.role === 'owner' && ownersOf(core).every(({ id }) => id === row.id);

/** The ids of environments, as many as were asked for; an empty id for one that does not exist. */
export const idsOf = ({ core }: Call<unknown>, refs: readonly string[] | null): string[] | null =>
  refs?.map((ref) => environmentOf(core, ref)?.id ?? '') ?? null;

/** Each id once, in one order: whoever names the same environments again changes nothing. */
export const distinct = (ids: readonly string[] | null): string[] | null => ids && [...new Set(ids)].sort();
