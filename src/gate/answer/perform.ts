// Performs an admitted request: replays its stored response, or authorises it and runs its operation. A read
// that an approval policy holds and every change pass through `commit`. Invariants: refusals follow the order
// of the API contract; whatever is revealed or changed was checked against the approval policies first.

import { type Caller, mayAct } from '../../auth/authorize';
import { ApiError, type Refusal, refuse, statusOf } from '../../errors';
import { governed, governedRead, mayRevealAll, unidentified } from '../approvals/hold';
import { type DraftOf, noSubject, type Subject } from '../audit/entry';
import { identifyAgain } from '../identity/identify';
import { waitOfRepeat } from '../journal/waits';
import { AskGate } from '../replicas/ask-gate';
import {
  type Arrived,
  type Ask,
  type Call,
  isRefusal,
  type Operation,
  type OperationOutcome,
  refusalIn,
} from '../request/call';
import { findStored, idempotencyRootOf, noRoom, storedUnder } from '../request/idempotency';
import { fail, wants } from '../request/outcome';
import type { Plan } from '../request/plan';
import { storedResponses } from '../request/stored-responses';
import { mayReachNamed, namedSubject } from '../request/target';
import { inTurns } from '../request/yielding';
import { payerOf, quotaRootOf } from '../rows/quota-root';
import { commit } from './commit';

/** The request in progress of an admitted caller. */
export function callOf(arrived: Arrived, caller: Caller): Call<unknown> {
  const { core, ask, operation, isFull } = arrived;
  const call: Call<unknown> = {
    ...arrived,
    input: ask.input,
    caller,
    subject: noSubject,
    isExempt: () => !isFull && (operation.exempt?.(call) ?? false),
    recheck() {
      const now = identifyAgain(core, ask, call.caller);
      call.caller = now.caller;
      call.subject = subjectOf(call);
      return now.refusal ?? authorise(call);
    },
  };
  return call;
}

/** 403 if the caller may not do this, or not with the resource in the path. */
const authorise = (call: Call<unknown>): Refusal | null =>
  mayAct(call.caller, call.need, call.ask.request.ip, call.isExempt()) ??
  mayReachNamed(call) ??
  call.operation.reach?.(call) ??
  null;

/** The target for the audit entry, as far as it is known before the operation runs. */
const subjectOf = (call: Call<unknown>): Subject =>
  call.ask.input === null ? namedSubject(call) : { ...namedSubject(call), ...call.operation.subject?.(call) };

/**
 * Performs the operation, or replays a stored response. A request with an Idempotency-Key is marked as
 * running in the meantime.
 */
export async function perform(call: Call<unknown>, draft: DraftOf): Promise<OperationOutcome> {
  const { core, ask, operation } = call;
  const key = storedUnder(ask, idempotencyRootOf(core, ask, call.caller));
  let isAwaited = false;
  try {
    const { finding } = ask;
    call.subject = namedSubject(call);
    const barred = authorise(call);
    if (barred) return fail(barred);
    // A malformed name in the path is 404 only after a stored response and after errors in the body.
    if (finding && ![400, 404].includes(statusOf(finding))) return fail(finding);
    const subject = subjectOf(call);
    // A replay changes nothing: its entry names no version.
    call.subject = { ...subject, version: null };
    const stored = replay(call);
    if (stored) return stored;
    call.subject = subject;
    // safety: idempotency-in-progress
    if (ask.idempotency)
      storedResponses(core).running.set(key, { request: ask.request.id, since: core.now() });
    const exceeds = finding ?? refusalIn(operation.authorize?.(call, core.now()));
    if (exceeds) return fail(exceeds);
    const outcome = await (operation.change
      ? change(call, operation.change, draft)
      : inTurns(core, payerOf(call), () => read(call, draft)));
    isAwaited = outcome?.kind === 'more';
    return outcome ?? fail(refuse('INTERNAL'));
  } catch (error) {
    if (error instanceof AskGate) throw error;
    return fail(refusalOfError(error, ask));
  } finally {
    if (ask.idempotency && !isAwaited && storedResponses(core).running.get(key)?.request === ask.request.id)
      storedResponses(core).running.delete(key);
  }
}

/**
 * The stored response of the same request, or a refusal; null if there is none. A request without a key can
 * have only its own.
 */
function replay(call: Call<unknown>): OperationOutcome | null {
  const { core, ask, caller, operation } = call;
  if (!ask.idempotency && !(operation.change && ask.repeated)) return null;
  const kept = findStored(storedResponses(core), ask, idempotencyRootOf(core, ask, caller), core.now());
  if (kept && 'code' in kept) return fail(kept);
  if (kept) {
    // safety: replay-authorized
    const exceeds = ask.input === null ? null : refusalIn(operation.authorize?.(call, core.now()));
    const waits = waitOfRepeat(core, kept.request);
    return exceeds
      ? fail(exceeds)
      : { ...kept.outcome, replay: { one_time: kept.one_time }, ...(operation.change && { waits }) };
  }
  return ask.idempotency && operation.change && !storedResponses(core).hasRoom(quotaRootOf(core, caller))
    ? fail(noRoom)
    : null;
}

async function change(
  call: Call<unknown>,
  change: NonNullable<Operation['change']>,
  draft: DraftOf,
): Promise<OperationOutcome> {
  const fetched = await inTurns(call.core, payerOf(call), () => change.before?.(call));
  return commit(call, draft, {
    locks: () => change.locks?.(call) ?? [],
    fetch: () => change.locked?.(call),
    plan(now, locked) {
      const judged = call.operation.authorize?.(call, now) ?? null;
      return refusalIn(judged) ?? change.plan(call, now, { fetched, locked, judged });
    },
    revises: () => change.revises?.(call) ?? null,
    govern: (made, now) => governed(call, made, now),
  });
}

/** Reads. A read that an approval policy holds needs an approval, which is then used up. */
async function read(call: Call<unknown>, draft: DraftOf): Promise<OperationOutcome | undefined> {
  const { ask, need, operation } = call;
  if (ask.approval && need.reveals) return readHeld(call, draft);
  const outcome = await operation.read?.(call);
  if (
    !need.reveals ||
    !outcome ||
    outcome.kind === 'refused' ||
    outcome.data === null ||
    outcome.reveals === 'unheld'
  )
    return outcome;
  if (!outcome.reveals) throw new Error(`${ask.action} does not say what it reveals`);
  const { isHeld, bypassed } = mayRevealAll(call, outcome.reveals);
  if (bypassed.length) return { ...outcome, audit: { ...outcome.audit, bypassed_policies: bypassed } };
  // safety: held-read-refused
  return isHeld ? unidentified : outcome;
}

/** Reads with an approval, or records that the read waits for one. This changes only the approval. */
const readHeld = (call: Call<unknown>, draft: DraftOf): Promise<OperationOutcome> =>
  commit(call, draft, {
    fetch: async () => call.operation.read?.(call),
    plan(now, found) {
      const outcome = found as OperationOutcome;
      if (outcome.kind === 'refused') return outcome.refusal;
      const { audit, data, reveals } = outcome;
      const made: Plan =
        outcome.kind === 'ok'
          ? { status: outcome.status, data, isRead: true, ...(outcome.etag && { etag: outcome.etag }), audit }
          : { status: 200, data, isRead: true };
      const governed = reveals ? governedRead(call, reveals, made, now) : made;
      // The final answer uses the approval, not the intermediate data for the Worker.
      // safety: approval-used-by-answer
      if (outcome.kind === 'ok' || isRefusal(governed) || 'wants' in governed || governed.refusal)
        return governed;
      return wants(outcome.wants, data);
    },
  });

/** The refusal for whatever an operation threw. */
export const refusalOfError = (error: unknown, ask: Ask): Refusal =>
  error instanceof ApiError ? error.refusal : unexpected(error, ask);

/** An internal error: logged without the data of the request, and not described to the caller. */
function unexpected(error: unknown, ask: Ask): Refusal {
  console.error(
    JSON.stringify({
      level: 'error',
      event: 'gate_fault',
      request_id: ask.request.id,
      action: ask.action,
      why: error instanceof Error ? `${error.name}: ${error.message}`.slice(0, 300) : 'unknown',
      stack: error instanceof Error ? error.stack?.slice(0, 600) : undefined,
    }),
  );
  return refuse('INTERNAL');
}
