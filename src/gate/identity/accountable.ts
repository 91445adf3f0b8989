// The members accountable for a credential: those behind it, through everything that created it. Invariant:
// they are written into a credential when it is created, so they outlast the rows of its creators.

import { credentialOfRoot } from '../../auth/authentication/bindings';
import type { Caller } from '../../auth/authorize';
import { type CredentialRow, parentIdOf } from '../../db/schema';
import type { Core } from '../core';
import type { Doer } from '../request/plan';
import { lineageOf } from '../rows/ends-with-parent';

/** An agent that is known by the members accountable for it alone. */
export const agentOf = (accountable: readonly string[]): Doer => ({
  kind: 'agent',
  id: '',
  credential: '',
  accountable,
});

/** People who are known as these members alone. */
export const membersOf = (accountable: readonly string[]): Doer => ({
  kind: 'member',
  id: '',
  credential: '',
  accountable,
});

/** The members accountable for what somebody does. */
export function accountableFor(
  core: Pick<Core, 'rows'>,
  { kind, id, credential, accountable }: Doer,
): string[] {
  if (accountable) return [...accountable];
  if (kind === 'member') return [id];
  const row = core.rows.get('credential', credential);
  return row ? accountableOf(core, row) : [];
}

/**
 * The members behind a credential. A credential of a release before 0.5.0 does not record them; its creators
 * are followed as far as their rows exist.
 */
export function accountableOf(core: Pick<Core, 'rows'>, row: CredentialRow): string[] {
  for (let at: CredentialRow | null = row; at; at = core.rows.get('credential', at.created_by)) {
    if (at.accountable) return at.accountable;
    if (at.member_id !== null) return [at.member_id];
    if (core.rows.get('member', at.created_by) || core.rows.isBuried('member', at.created_by))
      return [at.created_by];
  }
  return [];
}

/**
 * The members accountable for a root, or for what it ends with: also those who have widened it since it made
 * its sessions. None for a member, who answers for themselves.
 */
export function accountableForRoot(core: Pick<Core, 'rows'>, root: string): string[] {
  const row = core.rows.get('credential', credentialOfRoot(root));
  return row ? [...new Set(lineageOf(core, row).flatMap((link) => accountableOf(core, link)))] : [];
}

/** Whether a caller is an agent, or a credential that an agent created, directly or not. */
export function isOfAgent(
  core: Pick<Core, 'rows'>,
  { kind, credential }: Pick<Caller, 'kind' | 'credential'>,
): boolean {
  // A set yields what is added to it during the walk, and each credential once.
  const above = new Set([credential]);
  for (const id of above) {
    const row = core.rows.get('credential', id);
    if (row?.kind === 'agent') return true;
    // What a credential is revoked together with may not be what created it.
    if (row) for (const next of [row.created_by, parentIdOf(row)]) if (next !== null) above.add(next);
  }
  return kind === 'agent';
}

/**
 * Marks what an agent writes with the members accountable for it, besides those who are marked already. Null
 * for other callers.
 */
export const markOfAgent = (
  core: Pick<Core, 'rows'>,
  caller: Caller,
  before: string[] | null = null,
): { of_agent: string[] } | null =>
  // safety: work-of-agent-marked
  isOfAgent(core, caller) ? { of_agent: withCaller(core, caller, before ?? []) } : null;

/**
 * Those who are accountable already, and those who are accountable for a caller: who gives something more
 * reach answers for its use.
 */
export const withCaller = (
  core: Pick<Core, 'rows'>,
  caller: Caller,
  before: readonly string[] = [],
): string[] => [...new Set([...before, ...accountableFor(core, caller)])];
