// Which claims a trust may name, whatever its issuer; `auth/authentication/issuers.ts` says what each issuer
// needs. Pure. Invariant: a trust names the workload that it accepts.
import { callerClaims, globsOf } from '../../auth/authentication/issuers';
import type { Claims } from '../../db/trusts';

/** Claims that have their own fields in a trust, or say nothing about the workload. */
const RESERVED = new Set(['iss', 'aud', 'exp', 'nbf', 'iat', 'jti']);

/** Whether a glob has more than wildcards. */
const isSpecific = (glob: string) => /[^*?]/.test(glob);

/** What is wrong with the claims of a trust, worded to follow the field's name; null if nothing is. */
export function problemOf(claims: Claims): { claim: string | null; problem: string } | null {
  const reserved = Object.keys(claims).find((claim) => RESERVED.has(claim));
  if (reserved !== undefined)
    return { claim: reserved, problem: 'is not allowed here: use issuer and audiences' };
  const isNamed = (claim: string) => globsOf(claims[claim] as string | string[]).every(isSpecific);
  const naming = Object.keys(claims).filter((claim) => callerClaims.has(claim));
  // Of any other claim, and beside one that names the workload, * says that the token must have it.
  const wild = Object.hasOwn(claims, 'sub') ? ['sub'] : naming;
  // safety: trust-names-workload
  if (wild.length && !wild.some(isNamed))
    return { claim: wild[0] as string, problem: 'must not consist only of wildcards' };
  if (naming.length) return null;
  return {
    claim: null,
    problem:
      'must contain sub, or another claim that names the calling workload, such as repository or project_path',
  };
}
