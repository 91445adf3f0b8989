// What the gate gives of the audit log: the entries that lie here, and from where on the rest lies in D1.
import { lostEntries } from '../../gate/adopt';
import type { Entry, Filter } from '../../gate/chain';
import type { ClosedOutcome, Operation } from '../../gate/types';

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
  /** The oldest sequence that lies in the gate: what is older lies in D1. */
  oldest: number;
}

const read: Operation<AuditInput> = {
  read({ core, input }): ClosedOutcome {
    // Minutes that are over and still uncounted belong into what is read.
    core.storage.transactionSync(() => core.budget.flush(core.now()));
    const entries = core.chain.newest(input.filter, input.before ?? Number.MAX_SAFE_INTEGER, input.limit);
    return {
      ok: true,
      status: 200,
      data: { entries, oldest: core.chain.oldest() } satisfies AuditPart,
      ...(input.further && { closed: true }),
    };
  },
};

export interface VerifyPart {
  head: { sequence: number; hash: string };
  oldest: number;
  entries: Entry[];
  /** Stretches that were lost with a database, oldest first. */
  lost: [number, number][];
}

/** Entries of the gate that one call checks. */
export const VERIFIED = 2000;

const verify: Operation<{ from: number }> = {
  read({ core, input }): ClosedOutcome {
    const oldest = core.chain.oldest();
    const entries = input.from >= oldest ? core.chain.from(input.from, VERIFIED) : [];
    return { ok: true, status: 200, data: { head: core.chain.head(), oldest, entries, lost: lostEntries(core) } satisfies VerifyPart };
  },
};

export const auditOperations = { 'audit.read': read, 'audit.verify': verify };
