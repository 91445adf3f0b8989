// Handles one request in the gate: identifies the caller, applies the rate limit, has the operation performed
// (perform.ts), and writes one audit entry. Invariants: refusals follow the order of the API contract; no
// response is sent before its audit entry is written, because the Durable Object holds the reply until the
// entry is durable.

import type { FullNeed } from '../../auth/actions';
import type { Caller } from '../../auth/authorize';
import { type Refusal, refuse, statusOf } from '../../errors';
import { SEGMENT } from '../archive/segments';
import { type Draft, type DraftOf, noSubject, systemEntry } from '../audit/entry';
import { reportViolation } from '../audit/integrity';
import { MOST_ENTRIES, RESERVE } from '../audit/log';
import type { Core } from '../core';
import { spend, unproven } from '../identity/device-proofs';
import { type Identity, identify } from '../identity/identify';
import { ciphertexts } from '../journal/ciphertexts';
import { arrived, waitOfRepeat } from '../journal/waits';
import { lastUsed } from '../limits/last-used';
import { rateLimit, SLACK, WINDOW } from '../limits/rate-limit';
import type {
  Arrived,
  Ask,
  Call,
  Operation,
  OperationOutcome,
  RateLimitState,
  Reply,
  Wait,
} from '../request/call';
import { findStored, idempotencyRootOf, responseToStore, storedFor } from '../request/idempotency';
import { fail, type Outcome, ok } from '../request/outcome';
import { permits } from '../request/permits';
import { storedResponses } from '../request/stored-responses';
import { quotaRootOf } from '../rows/quota-root';
import { callOf, perform, refusalOfError } from './perform';

/** The answer of a step; omitted fields are null. */
type Answer = Pick<Reply, 'outcome'> & Partial<Omit<Reply, 'outcome' | 'd1_calls'>> & { waits?: Wait };

/** The operations of all domains by name, and what each action needs. */
export interface Abilities {
  operations: Record<string, Operation>;
  actions: Record<string, FullNeed>;
}

/** Answers one request. */
export async function answer(shared: Core, { operations, actions }: Abilities, ask: Ask): Promise<Reply> {
  const d1 = { calls: 0 };
  const core: Core = { ...shared, database: counted(shared.database, d1) };
  const operation = operations[ask.operation];
  const need = actions[ask.action];
  if (!operation || !need) throw new Error(`no operation ${ask.operation} of ${ask.action}`);
  const request: Arrived = { core, ask, operation, need, ...roomOf(core) };
  underWay.set(core.rows, (underWay.get(core.rows) ?? 0) + 1);
  const { waits, ...answered } = await answerOf(request).finally(() =>
    underWay.set(core.rows, (underWay.get(core.rows) ?? 1) - 1),
  );
  const [isInD1] = await Promise.all([
    waits ? arrived(core, waits) : true,
    // A job must not wait for itself.
    // safety: no-reply-before-permits-end
    operation.change && !operation.endsNothing && ask.bearer !== 'system'
      ? permits(core).settled()
      : undefined,
  ]);
  if (!isInD1 && waits?.must) answered.outcome = notInD1;
  else if (!isInD1 && waits?.isOwn) noteLate(core, ask);
  return { rate_limit: null, credential: null, replay: null, ...answered, d1_calls: d1.calls };
}

/**
 * Notes that a reply went without D1. The entry of the change cannot say so: it is written as the change is
 * decided.
 */
function noteLate(core: Core, ask: Ask): void {
  core.auditLog.append(
    systemEntry({
      action: 'database.late',
      resource: ask.org,
      reason: 'answered before the database had it',
      ...requestFields(ask),
    }),
    200,
    core.now(),
  );
}

const notInD1 = fail(
  refuse('UNAVAILABLE', {
    message:
      'The database does not respond. The change has been made, and takes effect everywhere once it does: repeat the request with the same Idempotency-Key to get its response.',
    retry_after: 5,
  }),
);

const answerOf = async (request: Arrived): Promise<Answer> => unable(request) ?? identified(request);

/** How many requests are under way, by the rows of a gate: each writes an entry in the end. */
const underWay = new WeakMap<Core['rows'], number>();

/** Whether the audit log can take one more entry, of an urgent action too. */
function roomOf({ auditLog, rows }: Core): Pick<Arrived, 'isFull' | 'isReserveFull'> {
  // safety: entries-under-way-count
  const entries = auditLog.size() + (underWay.get(rows) ?? 0);
  return { isFull: entries >= MOST_ENTRIES, isReserveFull: entries >= MOST_ENTRIES + RESERVE };
}

/**
 * Answers that do not depend on the caller: for a report of an integrity violation, or when no audit entry
 * can be written.
 */
function unable({ core, ask, need, isFull, isReserveFull }: Arrived): Answer | null {
  if (ask.violation) {
    reportViolation(core, ask.violation, requestFields(ask));
    // A ciphertext that cannot be decrypted is fetched again next time: D1 may have been repaired by then.
    ciphertexts(core).drop(ask.violation.resource);
    return { outcome: ok(null, { status: 204 }) };
  }
  if (isFull && (!need.urgent || isReserveFull)) return { outcome: full };
  if (ask.keys || core.rows.get('org', core.org)?.deleted_at !== null) return null;
  reportViolation(core, { event: 'org_key_missing', resource: ask.org, status: 503 }, requestFields(ask));
  return { outcome: fail(refuse('UNAVAILABLE', { retry_after: 60 })) };
}

const full = fail(
  refuse('UNAVAILABLE', {
    message:
      'The audit log cannot take more entries right now. Only requests that revoke credentials or recover the organisation work until the database responds again.',
    retry_after: 30,
  }),
);

/** Identifies the caller, applies the rate limit, and continues with the admitted request. */
async function identified(arrived: Arrived): Promise<Answer> {
  const { core, ask } = arrived;
  const known = identify(core, ask);
  const done = alreadyDone(arrived, known);
  if (done) return done;
  const { rate_limit, refusal } = limit(core, ask, known);
  if (refusal) return { outcome: fail(refusal), rate_limit, credential: known.caller.id || null };
  const who = known.lookUp
    ? await known.lookUp().catch((error: unknown) => refusalOfError(error, ask))
    : known;
  if ('code' in who) return { outcome: fail(who), rate_limit };
  return { ...(await admitted(arrived, who)), rate_limit };
}

/**
 * The result of this same request if it was already performed, whatever has ended since then. It is counted
 * only once.
 */
function alreadyDone(
  { core, ask, operation, need }: Arrived,
  { caller, allowances }: Identity,
): Answer | null {
  const done = ask.repeated
    ? findStored(storedResponses(core), ask, idempotencyRootOf(core, ask, caller), core.now())
    : null;
  // safety: repeated-request-answered-as-done
  if (!done || !('same' in done) || !done.same) return null;
  const rate_limit = allowances.length ? rateLimit(core).take(allowances, core.now(), 'no').state : null;
  // The gate may have ended while the first reply waited, and may yet lose its storage.
  // safety: repeated-call-waits
  const waits = operation.change && {
    ...waitOfRepeat(core, done.request),
    ...(need.urgent && { isOwn: true as const }),
  };
  return { outcome: done.outcome, rate_limit, credential: caller.id || null, ...(waits && { waits }) };
}

/** Counts the request against the rate limits of the caller, and refuses it if one of them is reached. */
function limit(
  core: Core,
  ask: Ask,
  who: Identity,
): { rate_limit: RateLimitState | null; refusal: Refusal | null } {
  const [used, ...ancestors] = who.allowances;
  if (!used || ask.again) return { rate_limit: null, refusal: null };
  const taken = rateLimit(core).take(who.allowances, core.now());
  if (taken.ok) {
    const ids = ancestors.map(({ id }) => id);
    lastUsed(core).note(used.id, ids, core.now(), ask.request.place);
    return { rate_limit: taken.state, refusal: null };
  }
  const refusal = notAdmitted(core, ask, who) ?? refuse('RATE_LIMITED', { retry_after: taken.retry_after });
  rateLimit(core).refuse(used.id, draftOf(ask, who.caller, noSubject), statusOf(refusal), core.now());
  core.schedule.at('minutes', core.now() + WINDOW);
  return { rate_limit: taken.state, refusal };
}

/**
 * 401 for a credential that has ended or comes without the proof of its device, 404 if the path names another
 * organisation.
 */
function notAdmitted(core: Core, ask: Ask, who: Identity): Refusal | null {
  const { finding, path_org, org } = ask;
  const expired = finding && statusOf(finding) === 401 ? finding : null;
  const unidentified = who.refusal ?? expired ?? unproven(core, ask, who.caller.device);
  // safety: tenant-isolation
  return unidentified ?? (path_org !== null && path_org !== org ? refuse('NOT_FOUND') : null);
}

/** Performs a request that is within the rate limit, and records it. */
async function admitted(arrived: Arrived, who: Identity): Promise<Answer> {
  const { core, ask } = arrived;
  const call = callOf(arrived, who.caller);
  const draft: DraftOf = (about) => draftOf(ask, who.caller, { ...call.subject, ...about });
  const refusal = notAdmitted(core, ask, who);
  if (!refusal) spend(core, ask, who.caller.device);
  const outcome: OperationOutcome = refusal ? fail(refusal) : await perform(call, draft);
  return record(arrived, who.caller, draft, outcome);
}

/** Statuses of refusals that are stored under an Idempotency-Key. */
const STORED = new Set([400, 404, 409, 410, 422]);

/**
 * Writes the audit entry, and stores the response if it has a key: in one turn, so that both become durable
 * together or not at all.
 */
function record(
  { core, ask, operation, isFull }: Arrived,
  caller: Caller,
  draft: DraftOf,
  outcome: OperationOutcome,
): Answer {
  const credential = caller.id || null;
  const { audited, audit, reveals: _, replay, events = [], waits, intent, ...bare } = outcome;
  if (isFull && bare.kind === 'refused') return { outcome: full, credential };
  const status = bare.kind === 'ok' ? bare.status : bare.kind === 'refused' ? statusOf(bare.refusal) : 0;
  if (!audited && status) {
    intent?.(core, draft(audit));
    // safety: audit-before-response
    if (!intent) core.auditLog.append(draft(audit), status, core.now());
    for (const event of events) core.outbox.put(event, core.now());
    const isStored = (bare.kind === 'ok' || STORED.has(status)) && !isAboutKeys(bare);
    const payer = quotaRootOf(core, caller);
    if (!replay && ask.idempotency && ask.keys && isStored && storedResponses(core).hasRoom(payer))
      storedResponses(core).save(
        responseToStore(ask, { root: idempotencyRootOf(core, ask, caller), payer }, bare, null, core.now()),
      );
  }
  if (ask.idempotency || operation.change) core.schedule.at('replays', core.now() + storedFor(ask));
  if (core.auditLog.size() >= SEGMENT) core.schedule.at('segments', core.now() + WINDOW + SLACK);
  return { outcome: bare, credential, ...(replay && { replay }), ...(waits && { waits }) };
}

function draftOf(ask: Ask, caller: Caller, subject: Call['subject']): Draft {
  const { reason, action = ask.action, ...target } = subject;
  return {
    actor: { kind: caller.kind, id: caller.id || null, parent_id: caller.parent_id, name: caller.name },
    action,
    ...target,
    resource: target.resource || null,
    reason: reason ?? ask.request.reason,
    request_id: ask.request.id,
    ip: ask.request.ip,
    user_agent: ask.request.user_agent,
  };
}

const requestFields = ({ request: { id, ip, user_agent } }: Ask) => ({ request_id: id, ip, user_agent });

const isAboutKeys = (outcome: Outcome) =>
  outcome.kind === 'refused' && outcome.refusal.code.startsWith('IDEMPOTENCY');

/** The same database, with a counter for the calls of one request. */
function counted(database: Core['database'], trace: { calls: number }): Core['database'] {
  const count = <T>(answer: T): T => {
    trace.calls++;
    return answer;
  };
  return {
    all: (statement) => count(database.all(statement)),
    write: (statements) => count(database.write(statements)),
  };
}
