// The members accountable for a credential: those behind it, through everything that created it. Invariant: they are written into a
// credential when it is created, so they outlast the rows of its creators.
import type { Caller } from '../auth/authorize';
import { DAY } from '../db/rows';
import type { Connection, CredentialRow } from '../db/schema';
import type { Core } from './core';

/** How long a member who was invited, re-enrolled, promoted or added to a team cannot approve requests of the member who did it. */
export const CONNECTED_FOR = 7 * DAY;

/** The members accountable for what a caller does. */
export function accountableFor(core: Pick<Core, 'rows'>, { kind, id, credential }: Caller): string[] {
  if (kind === 'member') return [id];
  const row = core.rows.get('credential', credential);
  return row ? accountableOf(core, row) : [];
}

/**
 * The members behind a credential. A credential of a release before 0.5.0 does not record them; its creators are followed as far as their
 * rows exist.
 */
export function accountableOf(core: Pick<Core, 'rows'>, row: CredentialRow): string[] {
  for (let at: CredentialRow | null = row; at; at = core.rows.get('credential', at.created_by)) {
    if (at.accountable) return at.accountable;
    if (at.member_id !== null) return [at.member_id];
    if (core.rows.get('member', at.created_by) || core.rows.isBuried('member', at.created_by)) return [at.created_by];
  }
  return [];
}

/** A member's connections with one more, without expired ones. */
export const connected = (before: readonly Connection[] | null, by: readonly string[], now: number): Connection[] => [
  ...(before ?? []).filter(([member, at]) => at + CONNECTED_FOR > now && !by.includes(member)),
  ...by.map((member): Connection => [member, now]),
];
