// Reading the audit log from the gate: the entries in its storage, and the sequence below which D1 holds the
// rest.

import { refuse } from '../../../errors';
import { checkpoints } from '../../../gate/archive/checkpoints';
import { type Cut, cutOf, type Missing, missingEntries } from '../../../gate/archive/gaps';
import { archive } from '../../../gate/archive/segments';
import type { Entry } from '../../../gate/audit/entry';
import type { Filter } from '../../../gate/audit/filter';
import { mirror } from '../../../gate/journal/mirror';
import { rateLimit } from '../../../gate/limits/rate-limit';
import type { Operation, OperationOutcome } from '../../../gate/request/call';
import { fail, type Outcome, ok } from '../../../gate/request/outcome';
import { slugOf } from '../../../gate/request/target';
import { mostLookedAt, seenIn, shows, type View, viewOf } from '../view';
import { checkpointOperations } from './checkpoints';
import { histogram } from './histogram';
import { readerOperations } from './readers';
import { retentionOperations } from './retention';

export interface AuditInput {
  filter: Filter;
  /** Entries older than this sequence; null for the newest. */
  before: number | null;
  limit: number;
  /** A further part of a response that already has its audit entry. */
  further: boolean;
}

export interface AuditPart {
  entries: Entry[];
  /** Pass this to the gate for the next part; null if D1 holds the rest. */
  next: number | null;
  /** The oldest sequence still in the gate; D1 holds everything older. */
  oldest: number;
  /** Older entries still in the gate because D1 rejected them. */
  held: Entry[];
  /** The last sequence deleted by retention. Rows at or below it in D1 are not part of the log. */
  cut: number;
  view: View | null;
}

const read: Operation<AuditInput> = {
  readsLog: true,
  read({ core, caller, input }): OperationOutcome {
    // Past minutes that were not yet flushed belong in the result.
    core.storage.transactionSync(() => rateLimit(core).flush(core.now()));
    const view = viewOf(caller, (id) => slugOf(core, id));
    const isShown = (entry: Entry) => shows(view, entry);
    const before = input.before ?? Number.MAX_SAFE_INTEGER;
    // safety: audit-list-steps-bounded
    const { entries: found, next } = core.auditLog.newest(
      input.filter,
      before,
      input.limit,
      isShown,
      mostLookedAt(view),
    );
    const entries = found.map((entry) => seenIn(view, entry));
    const part = {
      entries,
      next,
      oldest: core.auditLog.oldest(),
      held: core.auditLog.held(),
      cut: cutOf(core)?.sequence ?? 0,
      view,
    };
    return { ...ok(part satisfies AuditPart), audited: input.further };
  },
};

export interface VerifyPart {
  head: { sequence: number; hash: string };
  /** The first sequence to check; older entries were deleted. */
  from: number;
  /** Where retention cut the log; null if no release has recorded it. */
  cut: Cut | null;
  /** Sequences of the checkpoints that D1 must hold, starting with the one before. */
  checkpoints: number[];
  /** When this was recorded: checkpoints signed later may be ahead of `head`. */
  now: number;
  oldest: number;
  entries: Entry[];
  held: Entry[];
  missing: Missing[];
}

/** The most entries that one gate call checks. */
export const VERIFIED = 2000;
/** The most checkpoints that one call examines; more than the entries that it checks. */
export const MOST_CHECKPOINTS = 15_000;

const verify: Operation<{ from: number }> = {
  readsLog: true,
  read({ core, input }): OperationOutcome {
    const oldest = core.auditLog.oldest();
    const cut = cutOf(core);
    const from = Math.max(input.from, (cut?.sequence ?? 0) + 1);
    const { entries } = from >= oldest ? core.auditLog.from(from, VERIFIED) : { entries: [] };
    const signed = checkpoints(core).from(from - 1, MOST_CHECKPOINTS);
    const rest = { held: core.auditLog.held(), missing: missingEntries(core), now: core.now() };
    return ok({
      head: core.auditLog.head(),
      from,
      cut,
      checkpoints: signed,
      oldest,
      entries,
      ...rest,
    } satisfies VerifyPart);
  },
};

const archiveLog: Operation<{ isClosing?: true }> = {
  subject: ({ ask }) => ({ resource: ask.org }),
  async read({ core, input }): Promise<Outcome> {
    if (input.isClosing) core.rules.close(core, core.now());
    const isFollowed = await mirror(core).follow();
    // Where D1 refuses a change, it takes entries all the same.
    // safety: archived-though-not-followed
    const done = await archive(core, core.now());
    return done && isFollowed ? ok(done) : fail(refuse('UNAVAILABLE', { retry_after: 5 }));
  },
};

export const auditOperations = {
  'audit.read': read,
  'audit.histogram': histogram,
  'audit.verify': verify,
  'audit.archive': archiveLog,
  ...checkpointOperations,
  ...retentionOperations,
  ...readerOperations,
};
