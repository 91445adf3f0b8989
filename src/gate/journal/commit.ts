// Commits: the only way to change an organisation. A plan is built while its rows are locked, recorded
// durably as an intent, written to D1 in one batch, and only then applied here, with its audit entry and
// stored response, in one turn. Invariants: D1 has a commit's marker if and only if it has its rows; a batch
// carries the gate's epoch and fails once another epoch has begun; each row is changed from exactly the
// revision that the plan saw.

import { type Refusal, refuse, statusOf } from '../../errors';
import { matchesETag, revisionTag } from '../../etag';
import { namingViolation } from '../approvals/policies';
import type { Draft, DraftOf } from '../audit/entry';
import { reportViolation } from '../audit/integrity';
import type { Core } from '../core';
import { raisedBy } from '../events/raised';
import { payerOf, quotaRootOf } from '../limits/quota-root';
import { withinQuotas } from '../limits/quotas';
import { type Call, isRefusal, type OperationOutcome } from '../request/call';
import { noRoom, replayRootOf, responseToStore } from '../request/idempotency';
import { fail, type Outcome, ok } from '../request/outcome';
import { storedResponses } from '../request/stored-responses';
import { inTurns } from '../request/yielding';
import { ciphertexts } from '../rows/ciphertexts';
import { apply, takeEffect } from './apply';
import { batchOf, isLocalPlan } from './batch';
import { isTooLarge } from './d1';
import { caughtUp, epochOf, settled } from './fence';
import { type Intent, intents } from './intents';
import { locks } from './locks';
import { isBehind, marks } from './marks';
import type { Plan, Proposal } from './plan';

/** A change, as a commit carries it out. */
export interface Change {
  /**
   * The names to lock. Evaluated again under the locks, because a name may refer to another secret by then.
   */
  locks(): string[];
  /** Fetches data while the names are locked. */
  fetch?(): Promise<unknown> | undefined;
  plan(now: number, fetched: unknown): Proposal;
  /** The row whose revision If-Match names. */
  revises?(): { revision: number } | null;
  /** Applies the approval policies to a plan: see approvals/hold.ts. */
  govern?(made: Plan, now: number): Proposal;
}

/**
 * Builds a plan under locks and carries it out. Writes the audit entry of a success; the caller writes that
 * of a refusal.
 */
export async function commit(call: Call<unknown>, draft: DraftOf, change: Change): Promise<OperationOutcome> {
  const { core, need } = call;
  const names = change.locks();
  const held = new Set(names);
  // Policies must not change while a change is checked against them: an entry after a policy change in the
  // audit log was checked against the new policies.
  // safety: policies-stand-while-judged
  const policies = { name: 'policies in force', isShared: !need.governs };
  const underLocks = async (): Promise<OperationOutcome | null> => {
    await isBehind(core, true);
    // safety: caller-rechecked-after-fetch
    const fetched = await inTurns(core, payerOf(call), () => change.fetch?.());
    // safety: names-resolved-under-lock
    if (!change.locks().every((name) => held.has(name))) return null;
    return inTurns(
      core,
      payerOf(call),
      () => {
        const now = core.now();
        return { now, made: planned(call, change, fetched, now) };
      },
      ({ now, made }) => ('kind' in made ? made : carryOut(call, made, draft(made.audit), now)),
    );
  };
  return (await locks(core).run(names, underLocks, policies)) ?? commit(call, draft, change);
}

/** The plan of a change, checked against everything that may refuse it; otherwise the outcome. */
function planned(
  call: Call<unknown>,
  change: Change,
  fetched: unknown,
  now: number,
): Plan | OperationOutcome {
  const open = intents(call.core);
  // safety: caller-rechecked-under-lock
  const refusal = call.recheck();
  if (refusal) return fail(refusal);
  // Nothing changes while another change is in doubt: a repeat of that change under its Idempotency-Key could
  // not be recognised yet.
  // safety: no-change-in-doubt, no-change-during-adoption, no-change-by-older-gate
  if (open.isPaused || open.unsettled().length || marks(call.core).isBehind !== false)
    return fail(refuse('UNAVAILABLE', { retry_after: 1 }));
  const asked = change.plan(now, fetched);
  const proposed = revisionConflict(call, change, asked) ?? asked;
  if (!isPlan(proposed)) return notPlanned(proposed);
  // safety: naming-policies-enforced
  const violation = namingViolation(call, proposed);
  if (violation) return violation;
  const governed = change.govern?.(proposed, now) ?? proposed;
  if (!isPlan(governed)) return notPlanned(governed);
  assertDeclared(call, governed);
  const { core, ask, caller } = call;
  // safety: responses-being-stored-count
  if (ask.idempotency && !storedResponses(core).hasRoom(quotaRootOf(core, caller), open.storing()))
    return fail(noRoom);
  const made = withinQuotas(call, governed, now);
  return isPlan(made) ? made : notPlanned(made);
}

/**
 * 412 if the resource has another revision than If-Match names. Refusals that come first in the contract's
 * order stand.
 */
function revisionConflict({ ask }: Call<unknown>, change: Change, proposed: Proposal): Refusal | null {
  const row = ask.if_match == null ? null : change.revises?.();
  // safety: revision-if-match
  if (!row || matchesETag(ask.if_match as string, revisionTag(row.revision))) return null;
  return 'code' in proposed && statusOf(proposed) < 409 ? null : refuse('REVISION_CONFLICT');
}

const isPlan = (proposed: Proposal): proposed is Plan => !('wants' in proposed) && !isRefusal(proposed);

const notPlanned = (proposed: Exclude<Proposal, Plan>): OperationOutcome =>
  'wants' in proposed ? proposed : fail(proposed);

/** Throws if an action does what it is not declared to do: its locks depend on the declaration. */
function assertDeclared({ ask, need }: Call<unknown>, { writes = [], deletes = [] }: Plan): void {
  const makes = writes.some(({ kind, from }) => kind === 'credential' && from === 0);
  if (makes && !need.makes) throw new Error(`${ask.action} is not declared to make credentials`);
  const governs = [...writes, ...deletes].some(({ kind }) => kind === 'policy');
  if (governs && !need.governs) throw new Error(`${ask.action} is not declared to change policies`);
}

/**
 * Records the intent, writes the batch, and applies both as far as D1 has taken them. A plan without rows or
 * statements is only answered.
 */
async function carryOut(
  call: Call<unknown>,
  made: Plan,
  draft: Draft,
  now: number,
): Promise<OperationOutcome> {
  const { core } = call;
  const outcome: Outcome = made.refusal
    ? fail(made.refusal)
    : ok(made.data, { status: made.status, ...(made.etag && { etag: made.etag }) });
  if (!made.writes?.length && !made.deletes?.length && !made.statements?.length)
    return { ...outcome, audit: made.audit, ...(made.events && { events: made.events }) };
  const intent = intentOf(call, made, outcome, draft, now);
  if (isLocalPlan(made)) {
    core.storage.transactionSync(() => takeEffect(core, intent));
    return { ...outcome, audited: true };
  }
  // safety: intent-before-batch
  intents(core).put(intent);
  intents(core).running.add(intent.id);
  try {
    const end = await write(core, intent, made);
    if (end === 'done') {
      core.storage.transactionSync(() => {
        apply(core, intent, true);
        for (const version of made.versions ?? []) ciphertexts(core).keep(version, now);
      });
      return { ...outcome, audited: true };
    }
    if (end === 'unknown') {
      // The intent stays; the next request or the scheduled task settles it.
      core.schedule.at('settle', core.now() + 1000);
      return { ...fail(refuse('UNAVAILABLE', { retry_after: 2 })), audited: true };
    }
    intents(core).drop(intent.id);
    return fail(end === 'never' ? refuse('UNAVAILABLE', { retry_after: 1 }) : end);
  } finally {
    intents(core).running.delete(intent.id);
  }
}

function intentOf(call: Call<unknown>, made: Plan, outcome: Outcome, draft: Draft, now: number): Intent {
  const { core, ask, caller } = call;
  const events = raisedBy(core, made, ask.action);
  const payer = quotaRootOf(core, caller);
  return {
    id: ask.request.id,
    at: now,
    ...(!isLocalPlan(made) && { mark: marks(core).next(now) }),
    puts: (made.writes ?? []).map(({ kind, row }) => ({ kind, row }) as Intent['puts'][number]),
    gone: made.deletes ?? [],
    root: payer,
    environments: made.environments ?? [],
    draft,
    status: made.status,
    // safety: events-follow-from-rows
    ...(events.length && { events }),
    keep:
      made.refusal || made.isRead
        ? null
        : responseToStore(
            ask,
            { root: replayRootOf(core, ask, caller), payer },
            outcome,
            made.resource ?? null,
            now,
          ),
    ...(made.details && { details: made.details }),
    destroyed: made.destroyed ?? [],
    trimmed: made.trimmed ?? [],
  };
}

/** Runs the batch until its outcome is known, if D1 responds. */
async function write(
  core: Core,
  intent: Intent,
  plan: Plan,
): Promise<'done' | 'never' | 'unknown' | Refusal> {
  for (let attempt = 0; attempt < 3; attempt++) {
    const epoch = epochOf(core);
    const end = await core.database.write(
      batchOf(core.org, intent, plan, { epoch, after: marks(core).applied() }),
    );
    if (end.end === 'done') return 'done';
    if (end.end === 'unknown') {
      const present = await settled(core, [intent.id]);
      if (present === null) return 'unknown';
      // safety: lost-reply-settled-by-marker
      return present.has(intent.id) ? 'done' : 'never';
    }
    if (isTooLarge(end.why))
      return refuse('INTERNAL', {
        message: 'This change is too large for the database. Nothing was changed.',
      });
    if (end.why.includes('commits.id')) return 'done';
    // If the gate considers a name unused, only a commit in doubt or a row that this organisation never wrote
    // can use it in D1.
    const taken = end.why.includes('secrets.name') || end.why.includes('secrets_live_name');
    if (taken && intents(core).unsettled().length) return refuse('SECRET_NAME_TAKEN');
    // The marker's guard failed. A commit in doubt may have raised the epoch in the meantime; then this one
    // is retried.
    const raised = epochOf(core) !== epoch || (await caughtUp(core, epoch));
    // An unresponsive D1 is not an integrity violation.
    // safety: outage-is-no-violation
    if (raised === null) return 'never';
    if (!raised && epochOf(core) === epoch) {
      const violation = {
        event: 'database_diverged',
        resource: intent.draft.resource ?? core.org,
        status: 503,
      } as const;
      reportViolation(core, violation, intent.draft, { why: end.why });
      return refuse('UNAVAILABLE', {
        message:
          "The database does not match the records of this organisation (an integrity violation). The deployment's log has the details. If the database has lost rows that this organisation had, the operator first runs npm run restore -- FILE --rows. After a restore of a whole backup, the operator must call POST /api/v1/orgs/:org_id/adopt, which gives up secrets that the database lacks.",
        retry_after: 60,
      });
    }
  }
  return 'never';
}

/**
 * Settles intents left open by earlier requests or an earlier instance of this gate. Returns whether none is
 * open any more.
 */
export async function settle(core: Core): Promise<boolean> {
  const open = intents(core).unsettled();
  if (open.length === 0) return true;
  return locks(core).run(['settle'], async () => {
    const ids = intents(core)
      .unsettled()
      .map(({ id }) => id);
    if (ids.length === 0) return true;
    const present = await settled(core, ids);
    if (present === null) {
      core.schedule.at('settle', core.now() + 5000);
      return false;
    }
    core.storage.transactionSync(() => {
      // safety: intent-settled-by-marker
      for (const intent of intents(core).unsettled())
        if (ids.includes(intent.id)) apply(core, intent, present.has(intent.id));
    });
    return intents(core).unsettled().length === 0;
  });
}
