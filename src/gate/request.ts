// Handles one request in the gate: identifies the caller, applies the rate limit, authorises, looks for a stored response, performs the
// operation, and writes one audit entry. Invariant: refusals follow the order of the API contract, and no response is sent before its audit
// entry is written: the Durable Object holds the reply until the entry is durable.

import type { FullNeed } from '../auth/actions';
import { type Caller, mayAct } from '../auth/authorize';
import { parentIdOf } from '../db/schema';
import { ApiError, type Refusal, refuse, statusOf } from '../errors';
import type { Draft, Subject } from './audit-entry';
import { MOST_ENTRIES, RESERVE } from './audit-log';
import { commit, settle } from './commit';
import type { Core } from './core';
import { governed, governedRead, mayRevealAll, unidentified } from './hold';
import { findStored, responseToStore, storedFor, storedUnder } from './idempotency';
import { identify, identifyAgain } from './identity';
import { reportViolation } from './integrity';
import type { Identity } from './lineage';
import { mayReachNamed, namedSubject } from './named';
import { fail, type Outcome, ok } from './outcome';
import type { Plan } from './plan';
import { spend, unproven } from './possession';
import type { RateLimitState } from './rate-limit';
import { SLACK, WINDOW } from './rate-limit';
import { SEGMENT } from './segments';
import { type Ask, type Call, isRefusal, type Operation, type OperationOutcome, type Reply, refusalIn } from './types';

/** A request while the gate handles it. `isFull`: the audit log accepts only entries of urgent actions. */
interface Request {
  core: Core;
  ask: Ask;
  operation: Operation;
  need: FullNeed;
  isFull: boolean;
}

/** Creates the audit entry of a request without its outcome; `about` is what only the operation knows of its target. */
export type DraftOf = (about?: Partial<Subject>) => Draft;

const NOTHING: Subject = { resource: null, environment: null, version: null };

/** The answer of a step; omitted fields are null. */
type Answer = Pick<Reply, 'outcome'> & Partial<Omit<Reply, 'outcome' | 'd1_calls'>>;

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
  const request: Request = { core, ask, operation, need, isFull: core.auditLog.size() >= MOST_ENTRIES };
  const answered = (await unable(request)) ?? (await identified(request));
  return { rate_limit: null, credential: null, replay: null, ...answered, d1_calls: d1.calls };
}

/** Answers that do not depend on the caller: while a change is in doubt, for a report of an integrity violation, or when no audit entry can be written. */
async function unable({ core, ask, operation, need, isFull }: Request): Promise<Answer | null> {
  if (core.intents.unsettled().length) {
    const settling = settle(core, ask.org);
    if (!isApart(core, ask, operation)) await settling;
  }
  if (ask.violation) {
    reportViolation(core, ask.org, ask.violation, metBy(ask));
    // A ciphertext that cannot be decrypted is fetched again next time: D1 may have been repaired by then.
    core.ciphertexts.drop(ask.violation.resource);
    return { outcome: ok(null, { status: 204 }) };
  }
  if (isFull && (!need.urgent || core.auditLog.size() >= MOST_ENTRIES + RESERVE)) return { outcome: full };
  if (ask.keys || !(await isWhole(core, ask.org))) return null;
  reportViolation(core, ask.org, { event: 'org_key_missing', resource: ask.org }, metBy(ask));
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
async function identified(request: Request): Promise<Answer> {
  const { core, ask } = request;
  const known = identify(core, ask);
  const done = alreadyDone(core, ask, known);
  if (done) return done;
  const { rate_limit, refusal } = limit(core, ask, known);
  if (refusal) return { outcome: fail(refusal), rate_limit, credential: known.caller.id || null };
  const who = known.lookUp ? await known.lookUp().catch((error: unknown) => refusalOfError(error, ask)) : known;
  if ('code' in who) return { outcome: fail(who), rate_limit };
  return { ...(await admitted(request, who)), rate_limit };
}

/** The result of this same request if it was already performed, whatever has ended since then. It is counted only once. */
function alreadyDone(core: Core, ask: Ask, { caller, allowances }: Identity): Answer | null {
  const done = ask.repeated ? findStored(core.storedResponses, ask, caller.root, core.now()) : null;
  // safety: repeated-request-answered-as-done
  if (!done || !('same' in done) || !done.same) return null;
  const rate_limit = allowances.length ? core.rateLimit.take(allowances, core.now(), 'no').state : null;
  return { outcome: done.outcome, rate_limit, credential: caller.id || null };
}

/** Counts the request against the rate limits of the caller, and refuses it if one of them is reached. */
function limit(core: Core, ask: Ask, who: Identity): { rate_limit: RateLimitState | null; refusal: Refusal | null } {
  const [used, ...ancestors] = who.allowances;
  if (!used || ask.again) return { rate_limit: null, refusal: null };
  const taken = core.rateLimit.take(who.allowances, core.now());
  if (taken.ok) {
    const ids = ancestors.map(({ id }) => id);
    core.lastUsed.note(used.id, ids, core.now(), ask.request.place);
    return { rate_limit: taken.state, refusal: null };
  }
  const refusal = notAdmitted(core, ask, who) ?? refuse('RATE_LIMITED', { retry_after: taken.retry_after });
  core.rateLimit.refuse(used.id, draftOf(ask, who.caller, NOTHING), statusOf(refusal), core.now());
  core.schedule.at('minutes', core.now() + WINDOW);
  return { rate_limit: taken.state, refusal };
}

/** 401 for a credential that has ended or comes without the proof of its device, 404 if the path names another organisation. */
function notAdmitted(core: Core, ask: Ask, who: Identity): Refusal | null {
  const { finding, path_org, org } = ask;
  const expired = finding && statusOf(finding) === 401 ? finding : null;
  const unidentified = who.refusal ?? expired ?? unproven(core, ask, who.caller.device);
  // safety: tenant-isolation
  return unidentified ?? (path_org !== null && path_org !== org ? refuse('NOT_FOUND') : null);
}

/** Performs a request that is within the rate limit, and records it. */
async function admitted(request: Request, who: Identity): Promise<Answer> {
  const { core, ask } = request;
  const call = callOf(request, who.caller);
  const draft: DraftOf = (about) => draftOf(ask, who.caller, { ...call.subject, ...about });
  // safety: no-admission-during-panic
  const inDoubt = who.links.some((id) => core.intents.isOpen(id)) ? refuse('UNAVAILABLE', { retry_after: 1 }) : null;
  // safety: no-admission-in-doubt
  const refusal = notAdmitted(core, ask, who) ?? inDoubt;
  if (!refusal) spend(core, ask, who.caller.device);
  const performed = refusal ? { outcome: fail(refusal) } : await perform(request, call, draft);
  return record(request, who.caller, draft, performed);
}

function callOf({ core, ask, operation, need, isFull }: Request, caller: Caller): Call<unknown> {
  const call: Call<unknown> = {
    core,
    ask,
    need,
    input: ask.input,
    caller,
    subject: NOTHING,
    isExempt: () => !isFull && (operation.exempt?.(call) ?? false),
    recheck() {
      const now = identifyAgain(core, ask, call.caller);
      call.caller = now.caller;
      call.subject = subjectOf(call, operation);
      return now.refusal ?? authorise(call, operation);
    },
  };
  return call;
}

/** 403 if the caller may not do this, or not with the resource in the path. */
const authorise = (call: Call<unknown>, operation: Operation): Refusal | null =>
  mayAct(call.caller, call.need, call.ask.request.ip, call.isExempt()) ?? mayReachNamed(call) ?? operation.reach?.(call) ?? null;

type Performed = { outcome: OperationOutcome; replay?: NonNullable<Reply['replay']> };

/** The target for the audit entry, as far as it is known before the operation runs. */
const subjectOf = (call: Call<unknown>, operation: Operation): Subject =>
  call.ask.input === null ? namedSubject(call) : { ...namedSubject(call), ...operation.subject?.(call) };

/** Performs the operation, or replays a stored response. A request with an Idempotency-Key is marked as running in the meantime. */
async function perform({ core, ask, operation }: Request, call: Call<unknown>, draft: DraftOf): Promise<Performed> {
  const key = storedUnder(ask, call.caller.root);
  let isAwaited = false;
  try {
    const { finding } = ask;
    call.subject = namedSubject(call);
    const barred = authorise(call, operation);
    if (barred) return { outcome: fail(barred) };
    // A malformed name in the path is 404 only after a stored response and after errors in the body.
    if (finding && ![400, 404].includes(statusOf(finding))) return { outcome: fail(finding) };
    const subject = subjectOf(call, operation);
    // A replay changes nothing: its entry names no version.
    call.subject = { ...subject, version: null };
    const stored = replay(call, operation);
    if (stored) return stored;
    call.subject = subject;
    // safety: idempotency-in-progress
    if (ask.idempotency) core.storedResponses.running.set(key, { request: ask.request.id, since: core.now() });
    const exceeds = finding ?? refusalIn(operation.authorize?.(call, core.now()));
    if (exceeds) return { outcome: fail(exceeds) };
    const outcome = await (operation.change ? change(call, operation, draft) : read(call, operation, draft));
    isAwaited = outcome?.kind === 'more';
    return { outcome: outcome ?? fail(refuse('INTERNAL')) };
  } catch (error) {
    return { outcome: fail(refusalOfError(error, ask)) };
  } finally {
    if (!isAwaited && core.storedResponses.running.get(key)?.request === ask.request.id) core.storedResponses.running.delete(key);
  }
}

/** The stored response of the same request, or a refusal; null if there is none. A request without a key can have only its own. */
function replay(call: Call<unknown>, operation: Operation): Performed | null {
  const { core, ask, caller } = call;
  if (!ask.idempotency && !(operation.change && ask.repeated)) return null;
  const kept = findStored(core.storedResponses, ask, caller.root, core.now());
  if (kept && 'code' in kept) return { outcome: fail(kept) };
  if (kept) {
    // safety: replay-authorized
    const exceeds = ask.input === null ? null : refusalIn(operation.authorize?.(call, core.now()));
    return exceeds ? { outcome: fail(exceeds) } : { outcome: kept.outcome, replay: { one_time: kept.one_time } };
  }
  return ask.idempotency && operation.change && !core.storedResponses.hasRoom(caller.root) ? { outcome: fail(noRoom) } : null;
}

const noRoom = refuse('LIMIT_REACHED', {
  message:
    'The stored responses of this credential have reached 64 MiB. Send requests without an Idempotency-Key, or wait until older responses expire after 24 hours.',
});

async function change(call: Call<unknown>, operation: Operation, draft: DraftOf): Promise<OperationOutcome> {
  const change = operation.change as NonNullable<Operation['change']>;
  const fetched = await change.before?.(call);
  return commit(
    call,
    draft,
    () => [...change.locks(call), ...approvalLocks(call)],
    (now, locked) => {
      const judged = operation.authorize?.(call, now) ?? null;
      return refusalIn(judged) ?? change.plan(call, now, { fetched, locked, judged });
    },
    () => change.locked?.(call),
    (made, now) => governed(call, made, now),
  );
}

/** Reads. A read that an approval policy holds needs an approval, which is then used up. */
async function read(call: Call<unknown>, operation: Operation, draft: DraftOf): Promise<OperationOutcome | undefined> {
  const { ask, need } = call;
  if (ask.approval && need.reveals) return readHeld(call, operation, draft);
  const outcome = await operation.read?.(call);
  if (!need.reveals || !outcome || outcome.kind === 'refused' || outcome.data === null || outcome.reveals === 'unheld') return outcome;
  if (!outcome.reveals) throw new Error(`${ask.action} does not say what it reveals`);
  const { isHeld, bypassed } = mayRevealAll(call, outcome.reveals);
  if (bypassed.length) return { ...outcome, about: { ...outcome.about, bypassed_policies: bypassed } };
  // safety: held-read-refused
  return isHeld ? { kind: 'more', data: unidentified.more } : outcome;
}

/** Reads with an approval, or records that the read waits for one. This changes only the approval. */
const readHeld = (call: Call<unknown>, operation: Operation, draft: DraftOf): Promise<OperationOutcome> =>
  commit(
    call,
    draft,
    () => approvalLocks(call),
    (now, found) => {
      const outcome = found as OperationOutcome;
      if (outcome.kind === 'refused') return outcome.refusal;
      const { about, data, reveals } = outcome;
      const made: Plan =
        outcome.kind === 'ok'
          ? { status: outcome.status, data, isRead: true, ...(outcome.etag && { etag: outcome.etag }), about }
          : { status: 200, data, isRead: true };
      const governed = reveals ? governedRead(call, reveals, made, now) : made;
      // The final answer uses the approval, not the intermediate data for the Worker.
      // safety: approval-used-by-answer
      if (outcome.kind === 'ok' || isRefusal(governed) || 'more' in governed || governed.refusal) return governed;
      return { more: data };
    },
    async () => operation.read?.(call),
  );

/** The locks for the approval that a request uses and for the one that it would wait for. */
const approvalLocks = ({ ask: { approval }, caller }: Call<unknown>): string[] =>
  // safety: approval-locked
  approval ? [`approval:${caller.root}:${approval.digest}`, ...(approval.id === null ? [] : [approval.id])] : [];

/** Statuses of refusals that are stored under an Idempotency-Key. */
const STORED = new Set([400, 404, 409, 410, 422]);

/** Writes the audit entry, and stores the response if it has a key: in one turn, so that both become durable together or not at all. */
function record({ core, ask, operation, isFull }: Request, caller: Caller, draft: DraftOf, { outcome, replay }: Performed): Answer {
  const credential = caller.id || null;
  const { audited, about, reveals: _, events = [], ...bare } = outcome;
  if (isFull && bare.kind === 'refused') return { outcome: full, credential };
  const status = bare.kind === 'ok' ? bare.status : bare.kind === 'refused' ? statusOf(bare.refusal) : 0;
  if (!audited && status) {
    // safety: audit-before-response
    core.auditLog.append(draft(about), status, core.now());
    for (const event of events) core.outbox.put(event, core.now());
    const isStored = (bare.kind === 'ok' || STORED.has(status)) && !isAboutKeys(bare);
    if (!replay && ask.idempotency && ask.keys && isStored && core.storedResponses.hasRoom(caller.root))
      core.storedResponses.save(responseToStore(ask, caller.root, bare, null, core.now()));
  }
  if (ask.idempotency || operation.change) core.schedule.at('replays', core.now() + storedFor(ask));
  if (core.auditLog.size() >= SEGMENT) core.schedule.at('segments', core.now() + WINDOW + SLACK);
  return { outcome: bare, credential, ...(replay && { replay }) };
}

const refusalOfError = (error: unknown, ask: Ask): Refusal => (error instanceof ApiError ? error.refusal : unexpected(error, ask));

/** Whether changes in doubt do not affect this request: a read of a secret that is not in doubt need not wait for D1. */
function isApart({ rows, intents }: Core, { org, named, bearer }: Ask, { change }: Operation): boolean {
  if (
    change ||
    named.secret === undefined ||
    intents.isOpen(named.secret) ||
    intents.isOpen(org) ||
    typeof bearer === 'string' ||
    'member' in bearer ||
    'link' in bearer ||
    'trust' in bearer
  )
    return false;
  let link = rows.find('credential', bearer.kind, bearer.hash);
  while (link && !intents.isOpen(link.id)) {
    const parent = parentIdOf(link);
    if (parent === null) return true;
    link = rows.get('credential', parent);
  }
  return false;
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

const metBy = ({ request: { id, ip, user_agent } }: Ask) => ({ request_id: id, ip, user_agent });

/** Whether the org exists, and no change that deletes it is in progress: then it has a key. */
const isWhole = (core: Core, org: string) =>
  core.locks.hold([org], async () => core.rows.get('org', org)?.deleted_at === null && !core.intents.isOpen(org));

const isAboutKeys = (outcome: Outcome) => outcome.kind === 'refused' && outcome.refusal.code.startsWith('IDEMPOTENCY');

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
