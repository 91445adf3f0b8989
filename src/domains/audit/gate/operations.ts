// What the gate gives of the audit log: the entries that lie here, and from where on the rest lies in D1.

import { refuse } from '../../../errors';
import type { Entry, Filter } from '../../../gate/audit-log';
import { type Missing, missingEntries } from '../../../gate/missing-entries';
import { slugOf } from '../../../gate/named';
import { fail, type Outcome, ok } from '../../../gate/outcome';
import { archive } from '../../../gate/segments';
import type { Operation, OperationOutcome } from '../../../gate/types';
import { mostLookedAt, shows, type View, viewOf } from '../view';

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
    const part = { entries, next, oldest: core.auditLog.oldest(), held: core.auditLog.held(), view };
    return { ...ok(part satisfies AuditPart), audited: input.further };
  },
};

export interface VerifyPart {
  head: { sequence: number; hash: string };
  oldest: number;
  entries: Entry[];
  held: Entry[];
  missing: Missing[];
}

/** Entries of the gate that one call checks. */
export const VERIFIED = 2000;

const verify: Operation<{ from: number }> = {
  read({ core, input }): OperationOutcome {
    const oldest = core.auditLog.oldest();
    const { entries } = input.from >= oldest ? core.auditLog.from(input.from, VERIFIED) : { entries: [] };
    const part = { head: core.auditLog.head(), oldest, entries, held: core.auditLog.held(), missing: missingEntries(core) };
    return ok(part satisfies VerifyPart);
  },
};

const archiveLog: Operation<Record<string, never>> = {
  subject: ({ ask }) => ({ resource: ask.org }),
  async read({ core, ask }): Promise<Outcome> {
    const done = await archive(core, ask.org, core.now());
    return done ? ok(done) : fail(refuse('UNAVAILABLE', { retry_after: 5 }));
  },
};

export const auditOperations = { 'audit.read': read, 'audit.verify': verify, 'audit.archive': archiveLog };
