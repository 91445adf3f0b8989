// Workload identity: which tokens of which issuer a trust accepts. Pure. The gate evaluates it when a token
// is exchanged, and again in each request of the resulting session token. Invariant: only what a trust names
// is accepted; text is compared exactly, including case, without normalisation.
import type { CredentialRow } from '../../db/schema';
import type { Trust, Workload } from '../../db/trusts';
import { contains, matches } from '../globs';
import { callerProblem, GOOGLE, globsOf } from './issuers';

/**
 * The most characters of a claim's value and the most values of a list claim: anything longer does not match.
 */
const MOST_CHARACTERS = 1024;
const MOST_VALUES = 100;

/**
 * The values of a claim for comparison: a text, number or boolean is one value, a list of texts gives one
 * value each. Anything else has none.
 */
export function valuesOf(payload: object, claim: string): string[] {
  const value: unknown = Object.hasOwn(payload, claim) ? payload[claim as keyof typeof payload] : undefined;
  const isText = (one: unknown): one is string => typeof one === 'string' && one.length <= MOST_CHARACTERS;
  if (isText(value)) return [value];
  // The subject must be a single text.
  // safety: subject-is-one-text
  if (claim === 'sub') return [];
  if (typeof value === 'boolean' || Number.isSafeInteger(value)) return [String(value)];
  return Array.isArray(value) && value.length <= MOST_VALUES && value.every(isText) ? value : [];
}

/** The values of a claim that match one of its globs. */
const matching = (globs: string | string[], values: readonly string[]): string[] =>
  values.filter((value) => globsOf(globs).some((glob) => matches(glob, value)));

/**
 * Whether a trust that names an address must not accept a token, because its issuer does not vouch for the
 * address. Google always says whether it does; other issuers may not say it.
 */
export function isUnverifiedAddress({ issuer, claims }: Trust, payload: object): boolean {
  if (!Object.hasOwn(claims, 'email')) return false;
  if (!Object.hasOwn(payload, 'email_verified')) return GOOGLE.test(issuer);
  return valuesOf(payload, 'email_verified')[0] !== 'true';
}

/** Why a trust does not accept a token; null if it does. The reason contains no data from the token. */
export function refusedBy({ issuer, audiences, claims, keys }: Trust, workload: Workload): string | null {
  // An earlier release may have stored it. It accepts nothing until it is changed.
  // safety: stored-trust-names-caller
  if (callerProblem(issuer, claims) !== null) return 'the trust does not name the caller: change its claims';
  // safety: trust-issuer
  if (workload.issuer !== issuer) return 'the issuer does not match';
  // safety: trust-audience
  if (!workload.audiences.some((audience) => audiences.includes(audience)))
    return 'the audience does not match';
  // safety: trust-key
  if (keys ? workload.key === null || !Object.hasOwn(keys, workload.key) : workload.key !== null)
    return 'the key does not belong to the trust';
  for (const [claim, globs] of Object.entries(claims)) {
    const values = Object.hasOwn(workload.claims, claim) ? (workload.claims[claim] as string[]) : [];
    // safety: trust-claims
    if (matching(globs, values).length === 0) return `the claim ${claim} does not match`;
  }
  return null;
}

/** The parts of an accepted workload that the decision depends on, to store with its session token. */
export const essential = ({ audiences, claims }: Trust, workload: Workload): Workload => ({
  ...workload,
  audiences: workload.audiences.filter((audience) => audiences.includes(audience)),
  claims: Object.fromEntries(
    Object.entries(claims).map(([claim, globs]) => [claim, matching(globs, workload.claims[claim] ?? [])]),
  ),
});

/** Whether a changed trust accepts nothing that it did not accept before, and for no longer. */
export function isNarrowerTrust(before: Trust, after: Trust): boolean {
  const isWithin = (inner: string | string[], outer: string | string[]) =>
    globsOf(inner).every((glob) => globsOf(outer).some((other) => contains(other, glob)));
  return (
    after.issuer === before.issuer &&
    after.ttl <= before.ttl &&
    // safety: reuse-widens-trust
    (before.reuse === true || after.reuse !== true) &&
    after.audiences.every((audience) => before.audiences.includes(audience)) &&
    (before.keys === null
      ? after.keys === null
      : after.keys !== null && Object.keys(after.keys).every((key) => before.keys?.[key])) &&
    Object.entries(before.claims).every(
      ([claim, globs]) =>
        Object.hasOwn(after.claims, claim) && isWithin(after.claims[claim] as string | string[], globs),
    )
  );
}

/** Recent decisions on session tokens. Row objects are immutable: a changed row is a new object. */
const judged = new WeakMap<CredentialRow, { trust: CredentialRow; holds: boolean }>();

/** Whether a trust, in its current state, still accepts the workload of a session token. */
export function stillAccepts(trust: CredentialRow, session: CredentialRow): boolean {
  const before = judged.get(session);
  if (before?.trust === trust) return before.holds;
  const holds =
    trust.trust !== null && session.workload !== null && refusedBy(trust.trust, session.workload) === null;
  judged.set(session, { trust, holds });
  return holds;
}
