// Commits: the only way to change an organisation. A plan is built and carried out in one turn: its rows,
// audit entry, events, stored response, and the record of the journal from which D1 follows. Invariants:
// nothing is awaited between judging a plan and carrying it out; what D1 could refuse is refused before.

import { utf8 } from '../../crypto/bytes';
import { type Refusal, refuse, statusOf } from '../../errors';
import { matchesETag, revisionTag } from '../../etag';
import { namingViolation } from '../approvals/policies';
import type { Draft, DraftOf } from '../audit/entry';
import type { Core } from '../core';
import { raisedBy } from '../events/raised';
import { takeEffect } from '../journal/apply';
import { isInD1 } from '../journal/batch';
import { isBehind } from '../journal/behind';
import { barred, noteRecorded } from '../journal/mirror';
import { type ChangeRecord, journal } from '../journal/records';
import { ENDS_WITHIN, patienceFor } from '../journal/waits';
import { withinQuotas } from '../limits/quotas';
import { isFollowed } from '../replicas/regions';
import { type Call, isRefusal, type OperationOutcome } from '../request/call';
import { idempotencyRootOf, noRoom, responseToStore } from '../request/idempotency';
import { locks } from '../request/locks';
import { fail, type Outcome, ok } from '../request/outcome';
import { placesUnread } from '../request/placed';
import type { Plan, Proposal } from '../request/plan';
import { storedResponses } from '../request/stored-responses';
import { inTurns } from '../request/yielding';
import { payerOf, quotaRootOf } from '../rows/quota-root';

/** A change, as a commit carries it out. */
export interface Change {
  /**
   * What `fetch` must be alone with: the names to lock. Evaluated again under the locks, because a name may
   * refer to another secret by then.
   */
  locks?(): string[];
  /** Fetches data for the plan. */
  fetch?(): Promise<unknown> | undefined;
  plan(now: number, fetched: unknown): Proposal;
  /** The row whose revision If-Match names. */
  revises?(): { revision: number } | null;
  /** Applies the approval policies to a plan: see approvals/hold.ts. */
  govern?(made: Plan, now: number): Proposal;
}

/**
 * Builds a plan and carries it out, in one turn. Writes the audit entry of a success; the caller writes that
 * of a refusal.
 */
export async function commit(call: Call<unknown>, draft: DraftOf, change: Change): Promise<OperationOutcome> {
  const { core } = call;
  const names = change.locks?.() ?? [];
  const held = new Set(names);
  const underLocks = async (): Promise<OperationOutcome | null> => {
    await isBehind(core, true);
    // safety: caller-rechecked-after-fetch
    const fetched = await inTurns(core, payerOf(call), () => change.fetch?.());
    // safety: names-resolved-under-lock
    if (change.locks?.().some((name) => !held.has(name))) return null;
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
  return (await locks(core).run(names, underLocks)) ?? commit(call, draft, change);
}

/** The plan of a change, checked against everything that may refuse it; otherwise the outcome. */
function planned(
  call: Call<unknown>,
  change: Change,
  fetched: unknown,
  now: number,
): Plan | OperationOutcome {
  // safety: caller-rechecked-under-lock
  const refusal = call.recheck() ?? barred(call.core, call.need.urgent ?? false);
  if (refusal) return fail(refusal);
  const asked = change.plan(now, fetched);
  const proposed = revisionConflict(call, change, asked) ?? asked;
  if (!isPlan(proposed)) return notPlanned(proposed);
  // safety: naming-policies-enforced
  const violation = namingViolation(call, proposed);
  if (violation) return violation;
  const unread = placesUnread(call, proposed);
  if (unread) return fail(unread);
  const governed = change.govern?.(proposed, now) ?? proposed;
  if (!isPlan(governed)) return notPlanned(governed);
  assertDeclared(call, governed);
  const { core, ask, caller } = call;
  if (ask.idempotency && !storedResponses(core).hasRoom(quotaRootOf(core, caller))) return fail(noRoom);
  const made = withinQuotas(call, governed, now);
  if (!isPlan(made)) return notPlanned(made);
  return fitsDatabase(made) ? made : fail(tooLarge);
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

/** Throws if an action does what it is not declared to do. */
function assertDeclared({ ask, need }: Call<unknown>, { writes = [] }: Plan): void {
  const makes = writes.some(({ kind, from }) => kind === 'credential' && from === 0);
  if (makes && !need.makes) throw new Error(`${ask.action} is not declared to make credentials`);
}

/**
 * The most bytes of one row: D1 allows 2 MB, with the names of its columns.
 * https://developers.cloudflare.com/d1/platform/limits/
 */
const MOST_ROW = 1_900_000;
/** UTF-16 units that are certainly fewer bytes. */
const SMALL = MOST_ROW / 3;

const tooLarge = refuse('INTERNAL', {
  message: 'This change is too large for the database. Nothing was changed.',
});

/** Whether D1 can take each row. */
const fitsDatabase = ({ writes = [], versions = [] }: Plan): boolean =>
  // safety: row-fits-database
  [...writes.map(({ row }) => row), ...versions].every((row) => {
    const text = JSON.stringify(row);
    return text.length <= SMALL || utf8(text).length <= MOST_ROW;
  });

/** Carries out a plan, in one turn. A plan without rows or statements is only answered. */
function carryOut(call: Call<unknown>, made: Plan, draft: Draft, now: number): OperationOutcome {
  const { core, ask, caller, need } = call;
  const outcome: Outcome = made.refusal
    ? fail(made.refusal)
    : ok(made.data, { status: made.status, ...(made.etag && { etag: made.etag }) });
  if (!made.writes?.length && !made.deletes?.length && !made.statements?.length)
    return {
      ...outcome,
      audit: made.audit,
      ...(made.intent && !made.refusal && { intent: made.intent }),
      ...(made.events && { events: made.events }),
      // It may say that something has ended already.
      // safety: repeated-ending-waits
      ...(need.urgent && { waits: { for: journal(core).last(), patience: ENDS_WITHIN } }),
    };
  const payer = quotaRootOf(core, caller);
  const keep =
    made.refusal || made.isRead
      ? null
      : responseToStore(
          ask,
          { root: idempotencyRootOf(core, ask, caller), payer },
          outcome,
          made.resource ?? null,
          now,
        );
  // safety: events-follow-from-rows
  const events = raisedBy(core, made, ask.action);
  const patience = patienceFor(core, made, need.urgent ?? false);
  const record = recordOf(core, made, draft, now);
  const n = core.storage.transactionSync(() => {
    const revised = takeEffect(core, { plan: made, at: now, root: payer, draft, events, keep });
    // safety: recorded-with-effect
    return (
      record && journal(core).append({ ...record, revised, ...(patience?.must && { isReadFirst: true }) })
    );
  });
  if (n === null) return { ...outcome, audited: true };
  noteRecorded(core, now);
  return { ...outcome, audited: true, ...(patience && { waits: { for: n, isOwn: true, ...patience } }) };
}

/**
 * What D1 and replicas have to know of a plan. Session tokens are in the gate alone: where there are no
 * replicas, nobody has to know of new ones, and this is null.
 */
function recordOf(core: Core, made: Plan, draft: Draft, at: number): ChangeRecord | null {
  const { writes = [], deletes = [], statements = [], versions = [], trimmed = [] } = made;
  const others = deletes.length + statements.length + versions.length;
  const isSent = isFollowed(core);
  // The end of one is known to D1 by its position: a gate whose storage is put back from a copy notices it.
  // safety: endings-marked-in-d1
  if (others === 0 && writes.every((put) => !isInD1(put) && put.from === 0) && !isSent) return null;
  return {
    id: crypto.randomUUID(),
    request: draft.request_id,
    at,
    resource: draft.resource,
    writes: writes.filter(isInD1),
    ...(isSent && { local: writes.filter((put) => !isInD1(put)) }),
    deletes,
    versions,
    trimmed,
    statements,
  };
}
