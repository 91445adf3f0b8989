// What makes a credential a risk, and the filters of the lists. Pure.
import { type Credential, statusOf } from './kinds';

export type Risk = 'no_expiry' | 'everything' | 'unused';

export const RISKS: Record<Risk, string> = {
  no_expiry: 'no expiry',
  everything: 'all scopes',
  unused: 'unused for 90 days',
};

/** The same in the width of a column. */
export const CHIPS: Record<Risk, string> = { no_expiry: 'no expiry', everything: '*', unused: 'unused' };

const UNUSED_MS = 90 * 86_400_000;

/** Since when it is unused. */
const idleSince = ({ lastUsed, created }: Credential): number => Date.parse(lastUsed ?? created);

/** The risks of a live credential. Not what its kind always is: provider tokens have no expiry. */
export function risksOf(credential: Credential, now = Date.now()): Risk[] {
  const { kind, ends, scopes } = credential;
  if (statusOf(credential) !== 'active' || kind === 'session' || kind === 'break_glass') return [];
  const found: Record<Risk, boolean> = {
    no_expiry: ends === null && kind !== 'provider',
    everything: scopes.includes('*'),
    unused: now - idleSince(credential) > UNUSED_MS,
  };
  return (Object.keys(found) as Risk[]).filter((risk) => found[risk]);
}

export interface Filters {
  search: string;
  /** A risk, `any` for at least one, or empty. */
  risk: string;
  /** Empty for the newest first. */
  sort: string;
}

export const SORTS: Record<string, string> = {
  used: 'Last used first',
  idle: 'Longest unused first',
};

const has = (text: string, part: string): boolean => text.toLowerCase().includes(part);

/** The credentials that the filters leave, in their order. */
export function filtered(rows: Credential[], { search, risk, sort }: Filters): Credential[] {
  const part = search.trim().toLowerCase();
  const left = rows.filter((row) => {
    const risks = risksOf(row);
    return (
      [row.name, row.id, row.hint].some((text) => has(text, part)) &&
      (!risk || (risk === 'any' ? risks.length > 0 : risks.includes(risk as Risk)))
    );
  });
  if (sort === 'used')
    return left.sort((a, b) => Date.parse(b.lastUsed ?? '0') - Date.parse(a.lastUsed ?? '0'));
  if (sort === 'idle') return left.sort((a, b) => idleSince(a) - idleSince(b));
  return left;
}
