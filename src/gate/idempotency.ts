// Answers that are kept: under the Idempotency-Key of a POST for 24 hours, and under the request id of every change for a few minutes,
// so that the Worker may repeat a call whose reply was lost. Encrypted; a one-time value inside only under a key of its bearer.
// Invariant: an answer is written in the same turn as the effect that it reports.
import { fromUtf8, utf8 } from '../crypto/bytes';
import { decrypt, encrypt } from '../crypto/envelope';
import { DAY } from '../db/rows';
import { ApiError, type Refusal, refuse } from '../errors';
import type { Outcome } from './outcome';
import { readOutcome, writeOutcome } from './rollout';
import type { StoredResponse, StoredResponses } from './stored-responses';
import type { Ask } from './types';

/** For how long the answer of a change without a key is kept, in milliseconds: the Worker may repeat a call whose reply was lost. */
const LOST_REPLY = 300_000;

/** For how long the answer of a request is kept. */
export const storedFor = ({ idempotency }: Ask): number => (idempotency ? DAY : LOST_REPLY);

/** Under which key the answer of a request is kept: its Idempotency-Key, which belongs to the caller's root, or else its own id. */
export const storedUnder = (ask: Ask, root: string): string =>
  // safety: retry-known-by-request-id, idempotency-key-per-root
  ask.idempotency ? `key:${root}:${ask.idempotency.key}` : `request:${ask.request.id}`;

/** Encrypts an answer for keeping. Of a refusal by validation the details are left out: they are made again, and quote what was sent. */
export function responseToStore(ask: Ask, root: string, outcome: Outcome, resource: string | null, now: number): StoredResponse {
  if (!ask.keys) throw new ApiError(refuse('UNAVAILABLE', { retry_after: 1 }));
  const key = storedUnder(ask, root);
  const kept =
    outcome.kind === 'refused' && outcome.refusal === ask.finding
      ? { ...outcome, refusal: { ...outcome.refusal, details: undefined } }
      : outcome;
  return {
    key,
    root,
    request: ask.request.id,
    digest: ask.idempotency?.digest ?? '',
    answer: encrypt(ask.keys.answer, 'kept answer', [ask.org, key], utf8(JSON.stringify(writeOutcome(kept)))),
    one_time: ask.one_time,
    resource,
    keep_until: now + storedFor(ask),
  };
}

/** What a request finds under its key: an earlier answer, a refusal, or nothing. */
export function findStored(
  storedResponses: StoredResponses,
  ask: Ask,
  root: string,
  now: number,
): { outcome: Outcome; one_time: string | null; same: boolean } | Refusal | null {
  const key = storedUnder(ask, root);
  const kept = storedResponses.find(key, now);
  const same = kept?.request === ask.request.id;
  // safety: idempotency-key-digest
  if (kept && ask.idempotency && kept.digest !== ask.idempotency.digest) return refuse('IDEMPOTENCY_KEY_REUSED');
  if (kept && ask.keys) {
    const opened = decrypt(ask.keys.answer, 'kept answer', [ask.org, key], kept.answer);
    const text = opened && fromUtf8(opened);
    if (text) return { outcome: withDetails(readOutcome(JSON.parse(text)), ask), one_time: kept.one_time, same };
    return refuse('INTERNAL');
  }
  const running = storedResponses.running.get(key);
  if (ask.idempotency && running && running.request !== ask.request.id && now - running.since < 60_000)
    return refuse('IDEMPOTENCY_IN_PROGRESS', { retry_after: 1 });
  return null;
}

/** A refusal by validation as it was answered first: the request is the same, and so is what is wrong with it. */
const withDetails = (outcome: Outcome, { finding }: Ask): Outcome =>
  outcome.kind === 'refused' && finding?.code === outcome.refusal.code ? { ...outcome, refusal: finding } : outcome;
