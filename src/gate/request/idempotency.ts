// Idempotency: a repeated request gets the first response. A POST is known by its Idempotency-Key for 24
// hours, and every change by its request id for a few minutes, so that the Worker can repeat a call whose
// response was lost. Responses are encrypted; one-time values inside are also encrypted with a key derived
// from the caller's token. Invariant: a response is stored in the same turn as the effect that it reports.
import type { Caller } from '../../auth/authorize';
import { fromUtf8, utf8 } from '../../crypto/bytes';
import { sha256 } from '../../crypto/digest';
import { decrypt, encrypt } from '../../crypto/envelope';
import { DAY } from '../../db/rows';
import { ApiError, type Refusal, refuse } from '../../errors';
import type { Core } from '../core';
import type { Ask } from './call';
import type { Outcome } from './outcome';
import { readOutcome, writeOutcome } from './rollout';
import type { StoredResponse, StoredResponses } from './stored-responses';

/**
 * How long the response of a change without a key is stored, in milliseconds: the Worker may repeat a call
 * whose response was lost.
 */
const LOST_REPLY = 300_000;

/** How long the response of a request is stored. */
export const storedFor = ({ idempotency }: Ask): number =>
  idempotency ? (idempotency.storedFor ?? DAY) : LOST_REPLY;

/**
 * The idempotency root of a caller, whose Idempotency-Keys it uses. Those of a trust end once it accepts
 * other tokens, so that whoever changes that finds no response to the workloads of before.
 */
export function idempotencyRootOf(
  { rows }: Pick<Core, 'rows'>,
  { idempotency }: Ask,
  { root }: Caller,
): string {
  const trust = idempotency ? rows.get('credential', root)?.trust : null;
  if (!trust) return root;
  const { issuer, audiences, claims, keys } = trust;
  // safety: idempotency-key-of-accepted-workloads
  return `${root}:${sha256(JSON.stringify([issuer, audiences, claims, keys]))}`;
}

/**
 * The key under which a response is stored: the Idempotency-Key, which belongs to a root
 * (`idempotencyRootOf`), or the request id.
 */
export const storedUnder = (ask: Ask, root: string): string =>
  // safety: retry-known-by-request-id, idempotency-key-per-root
  ask.idempotency ? `key:${root}:${ask.idempotency.key}` : `request:${ask.request.id}`;

/** 409 for a request with an Idempotency-Key whose response there is no room for. */
export const noRoom = refuse('LIMIT_REACHED', {
  message:
    'The stored responses of this member or API key, and of what it created, have reached 64 MiB. Send requests without an Idempotency-Key, or wait until older responses expire after 24 hours.',
});

/**
 * Encrypts a response for storage, which counts for `payer`. The details of a validation error are left out:
 * they quote the request and are recalculated.
 */
export function responseToStore(
  ask: Ask,
  { root, payer }: { root: string; payer: string },
  outcome: Outcome,
  resource: string | null,
  now: number,
): StoredResponse {
  if (!ask.keys) throw new ApiError(refuse('UNAVAILABLE', { retry_after: 1 }));
  const key = storedUnder(ask, root);
  const kept =
    outcome.kind === 'refused' && outcome.refusal === ask.finding
      ? { ...outcome, refusal: { ...outcome.refusal, details: undefined } }
      : outcome;
  return {
    key,
    root: payer,
    request: ask.request.id,
    digest: ask.idempotency?.digest ?? '',
    answer: encrypt(ask.keys.answer, 'kept answer', [ask.org, key], utf8(JSON.stringify(writeOutcome(kept)))),
    one_time: ask.one_time,
    resource,
    keep_until: now + storedFor(ask),
  };
}

/** A stored response: of which request, and whether that is the same one. */
interface Found {
  outcome: Outcome;
  one_time: string | null;
  request: string;
  same: boolean;
}

/** The stored result for a request: an earlier response, a refusal, or nothing. */
export function findStored(
  storedResponses: StoredResponses,
  ask: Ask,
  root: string,
  now: number,
): Found | Refusal | null {
  const key = storedUnder(ask, root);
  const kept = storedResponses.find(key, now);
  const same = kept?.request === ask.request.id;
  // safety: idempotency-key-digest
  if (kept && ask.idempotency && kept.digest !== ask.idempotency.digest)
    return refuse('IDEMPOTENCY_KEY_REUSED');
  if (kept && ask.keys) {
    const opened = decrypt(ask.keys.answer, 'kept answer', [ask.org, key], kept.answer);
    const text = opened && fromUtf8(opened);
    if (text)
      return {
        outcome: withDetails(readOutcome(JSON.parse(text)), ask),
        one_time: kept.one_time,
        request: kept.request,
        same,
      };
    return refuse('INTERNAL');
  }
  const running = storedResponses.running.get(key);
  if (ask.idempotency && running && running.request !== ask.request.id && now - running.since < 60_000)
    return refuse('IDEMPOTENCY_IN_PROGRESS', { retry_after: 1 });
  return null;
}

/** Restores the details of a stored validation error: the same request has the same errors. */
const withDetails = (outcome: Outcome, { finding }: Ask): Outcome =>
  outcome.kind === 'refused' && finding?.code === outcome.refusal.code
    ? { ...outcome, refusal: finding }
    : outcome;
