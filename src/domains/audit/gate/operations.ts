// What the gate gives of the audit log: the entries that lie here, and from where on the rest lies in D1.

import { refuse } from '../../../errors';
import type { Entry } from '../../../gate/audit-entry';
import type { Filter } from '../../../gate/audit-log';
import { type Cut, cutOf } from '../../../gate/cut';
import { type Missing, missingEntries } from '../../../gate/missing-entries';
import { slugOf } from '../../../gate/named';
import { fail, type Outcome, ok } from '../../../gate/outcome';
import { archive } from '../../../gate/segments';
import type { Operation, OperationOutcome } from '../../../gate/types';
import { mostLookedAt, shows, type View, viewOf } from '../view';
import { checkpointOperations } from './checkpoints';
import { readerOperations } from './readers';
import { retentionOperations } from './retention';

export interface AuditInput {
  filter: Filter;
  /** Entries older than this sequence; null for the newest. */
  before: number | null;
  limit: number;
  /** A further part of an answer that has its audit entry already. */
  further: boolean;
}

export interface AuditPart {
  entries: Entry[];
  /** Before which sequence to ask the gate again, or null: the rest lies in D1. */
  next: number | null;
  /** The oldest sequence that has not moved: what is older lies in D1. */
  oldest: number;
  /** Older entries that lie here all the same, for D1 refused them. */
  held: Entry[];
  /** The last sequence that retention has cut off: what D1 still has of it, or has again, is not the log. */
  cut: number;
  view: View | null;
}

const read: Operation<AuditInput> = {
  read({ core, caller, input }): OperationOutcome {
    // Minutes that are over and still uncounted belong into what is read.
    core.storage.transactionSync(() => core.rateLimit.flush(core.now()));
    const view = viewOf(caller, (id) => slugOf(core, id));
    const isShown = (entry: Entry) => shows(view, entry);
    const before = input.before ?? Number.MAX_SAFE_INTEGER;
    // safety: audit-list-steps-bounded
    const { entries, next } = core.auditLog.newest(input.filter, before, input.limit, isShown, mostLookedAt(view));
    const part = { entries, next, oldest: core.auditLog.oldest(), held: core.auditLog.held(), cut: cutOf(core)?.sequence ?? 0, view };
    return { ...ok(part satisfies AuditPart), audited: input.further };
  },
};

export interface VerifyPart {
  head: { sequence: number; hash: string };
  /** The sequence to check from: what is older has been cut off. */
  from: number;
  /** Where the log has been cut off; null where no release has noted it. */
  cut: Cut | null;
  /** Sequences of the checkpoints that D1 has to hold, from the one before on. */
  checkpoints: number[];
  /** When this was said: checkpoints made from then on may be ahead of `head`. */
  now: number;
  oldest: number;
  entries: Entry[];
  held: Entry[];
  missing: Missing[];
}

/** Entries of the gate that one call checks. */
export const VERIFIED = 2000;
/** Checkpoints that one call looks at: more than the entries that it checks. */
export const MOST_CHECKPOINTS = 15_000;

const verify: Operation<{ from: number }> = {
  read({ core, input }): OperationOutcome {
    const oldest = core.auditLog.oldest();
    const cut = cutOf(core);
    const from = Math.max(input.from, (cut?.sequence ?? 0) + 1);
    const { entries } = from >= oldest ? core.auditLog.from(from, VERIFIED) : { entries: [] };
    const checkpoints = core.checkpoints.from(from - 1, MOST_CHECKPOINTS);
    const rest = { held: core.auditLog.held(), missing: missingEntries(core), now: core.now() };
    return ok({ head: core.auditLog.head(), from, cut, checkpoints, oldest, entries, ...rest } satisfies VerifyPart);
  },
};

const archiveLog: Operation<Record<string, never>> = {
  subject: ({ ask }) => ({ resource: ask.org }),
  async read({ core, ask }): Promise<Outcome> {
    const done = await archive(core, ask.org, core.now());
    return done ? ok(done) : fail(refuse('UNAVAILABLE', { retry_after: 5 }));
  },
};

export const auditOperations = {
  'audit.read': read,
  'audit.verify': verify,
  'audit.archive': archiveLog,
  ...checkpointOperations,
  ...retentionOperations,
  ...readerOperations,
};
