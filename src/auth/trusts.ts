// Workload identity: which tokens of which issuer a trust accepts. Pure: the gate decides by it when a token is exchanged, and again in each
// request of a session token that it gave. Invariant: what a trust does not name is not accepted; text is compared exactly, case included,
// without normalisation.
import type { CredentialRow } from '../db/schema';
import type { Trust, Workload } from '../db/trusts';
import { contains, matches } from './globs';

/** Characters of a claim's value, and values of a claim that is a list: what is longer matches nothing. */
const MOST_CHARACTERS = 1024;
const MOST_VALUES = 100;

/** The texts that a claim is compared by: one for a text, number or boolean, each element of a list of texts, and none for anything else. */
export function valuesOf(payload: object, claim: string): string[] {
  const value: unknown = Object.hasOwn(payload, claim) ? payload[claim as keyof typeof payload] : undefined;
  const isText = (one: unknown): one is string => typeof one === 'string' && one.length <= MOST_CHARACTERS;
  if (isText(value)) return [value];
  // The subject is one text: a list could name somebody else's workload beside its own.
  // safety: subject-is-one-text
  if (claim === 'sub') return [];
  if (typeof value === 'boolean' || Number.isSafeInteger(value)) return [String(value)];
  return Array.isArray(value) && value.length <= MOST_VALUES && value.every(isText) ? value : [];
}

/** The globs of a claim, which may be one or a list. */
export const globsOf = (globs: string | string[]): string[] => (typeof globs === 'string' ? [globs] : globs);

/** The values of a claim that one of its globs matches. */
const matching = (globs: string | string[], values: readonly string[]): string[] =>
  values.filter((value) => globsOf(globs).some((glob) => matches(glob, value)));

/** Why a trust does not accept what a token says; null if it does. The reason names nothing that the token says. */
export function refusedBy({ issuer, audiences, claims, keys }: Trust, workload: Workload): string | null {
  // safety: trust-issuer
  if (workload.issuer !== issuer) return 'the issuer does not match';
  // safety: trust-audience
  if (!workload.audiences.some((audience) => audiences.includes(audience))) return 'the audience does not match';
  // safety: trust-key
  if (keys ? workload.key === null || !Object.hasOwn(keys, workload.key) : workload.key !== null) return 'the key is not one of the trust';
  for (const [claim, globs] of Object.entries(claims)) {
    const values = Object.hasOwn(workload.claims, claim) ? (workload.claims[claim] as string[]) : [];
    // safety: trust-claims
    if (matching(globs, values).length === 0) return `the claim ${claim} does not match`;
  }
  return null;
}

/** An accepted workload without the audiences and claim values that the trust does not match: what its session token keeps. */
export const essential = ({ audiences, claims }: Trust, workload: Workload): Workload => ({
  ...workload,
  audiences: workload.audiences.filter((audience) => audiences.includes(audience)),
  claims: Object.fromEntries(Object.entries(claims).map(([claim, globs]) => [claim, matching(globs, workload.claims[claim] ?? [])])),
});

/** Whether a trust accepts, after a change, nothing that it did not accept before, and for no longer. */
export function isNarrowerTrust(before: Trust, after: Trust): boolean {
  const isWithin = (inner: string | string[], outer: string | string[]) =>
    globsOf(inner).every((glob) => globsOf(outer).some((other) => contains(other, glob)));
  return (
    after.issuer === before.issuer &&
    after.ttl <= before.ttl &&
    after.audiences.every((audience) => before.audiences.includes(audience)) &&
    (before.keys === null ? after.keys === null : after.keys !== null && Object.keys(after.keys).every((key) => before.keys?.[key])) &&
    Object.entries(before.claims).every(
      ([claim, globs]) => Object.hasOwn(after.claims, claim) && isWithin(after.claims[claim] as string | string[], globs),
    )
  );
}

/** The last judgement of each session token. A row object is never changed: another state of a row is another object. */
const judged = new WeakMap<CredentialRow, { trust: CredentialRow; holds: boolean }>();

/** Whether a trust, as it stands now, still accepts the workload of a session token. */
export function stillAccepts(trust: CredentialRow, session: CredentialRow): boolean {
  const before = judged.get(session);
  if (before?.trust === trust) return before.holds;
  const holds = trust.trust !== null && session.workload !== null && refusedBy(trust.trust, session.workload) === null;
  judged.set(session, { trust, holds });
  return holds;
}
