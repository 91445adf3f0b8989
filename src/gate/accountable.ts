// Who is accountable for a credential: the members behind it, through all that made it. Invariant: it is written into a credential when it is made,
// so that it outlasts its makers' rows.
import type { Caller } from '../auth/authorize';
import { DAY } from '../db/rows';
import type { Connection, CredentialRow } from '../db/schema';
import type { Core } from './core';

/** For how long somebody who was invited, re-enrolled, promoted or added to a team does not approve for who did it. */
export const CONNECTED_FOR = 7 * DAY;

/** The members who are accountable for what a caller does. */
export function accountableFor(core: Pick<Core, 'rows'>, { kind, id, credential }: Caller): string[] {
  if (kind === 'member') return [id];
  const row = core.rows.get('credential', credential);
  return row ? accountableOf(core, row) : [];
}

/** The members behind a credential. One of a release before 0.5.0 does not say, and is followed through its makers as far as their rows go. */
export function accountableOf(core: Pick<Core, 'rows'>, row: CredentialRow): string[] {
  for (let at: CredentialRow | null = row; at; at = core.rows.get('credential', at.created_by)) {
    if (at.accountable) return at.accountable;
    if (at.member_id !== null) return [at.member_id];
    if (core.rows.get('member', at.created_by) || core.rows.isBuried('member', at.created_by)) return [at.created_by];
  }
  return [];
}

/** The connections of a member with one more, without those that are over. */
export const connected = (before: readonly Connection[] | null, by: readonly string[], now: number): Connection[] => [
  ...(before ?? []).filter(([member, at]) => at + CONNECTED_FOR > now && !by.includes(member)),
  ...by.map((member): Connection => [member, now]),
];
