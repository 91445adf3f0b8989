// Exporting the entries past retention and confirming the export. Invariant: if a retention period is set,
// nothing is deleted before a caller with owner rights has sent the hash at which the export ends.
import { mustReachAll } from '../../../auth/authorize';
import { equal } from '../../../crypto/digest';
import { DAY } from '../../../db/rows';
import { type Refusal, refuse } from '../../../errors';
import { checkpoints, type SegmentEnd, type Statement } from '../../../gate/archive/checkpoints';
import { type Cut, cutOf, type Missing, missingEntries } from '../../../gate/archive/gaps';
import type { Entry } from '../../../gate/audit/entry';
import type { Core } from '../../../gate/core';
import type { Call, Operation, OperationOutcome } from '../../../gate/request/call';
import { fail, type Outcome, ok } from '../../../gate/request/outcome';
import { exportedThrough, noteExported, retentionDays } from '../../../gate/tasks/retention';

export interface ExportPart {
  cut: Cut | null;
  /** The checkpoint at the end of the export; null if nothing is past retention. */
  end: Statement | null;
  held: Entry[];
  missing: Missing[];
}

/** The newest segment end that is past retention; null if there is none after the cut. */
function pastEnd(core: Core): SegmentEnd | null {
  const end = checkpoints(core).endBefore(
    core.now() - retentionDays(core, core.org) * DAY,
    Number.MAX_SAFE_INTEGER,
  );
  return end && end.sequence > (cutOf(core)?.sequence ?? 0) ? end : null;
}

/** 403 for a limited caller: an export is of the whole log, and its confirmation lets entries be deleted. */
const whole = ({ caller }: Call<unknown>): Refusal | null =>
  // safety: export-by-unlimited-callers
  mustReachAll(caller, ['audit:read'], 'export the audit log');

const exportPast: Operation<{ further: boolean }> = {
  subject: ({ ask }) => ({ resource: ask.org }),
  // safety: audit-export-whole
  authorize: whole,
  read({ core, input }): OperationOutcome {
    if (input.further) return { ...ok(null), audited: true };
    const end = pastEnd(core);
    const statement =
      end &&
      (checkpoints(core).statement(end.sequence) ?? {
        sequence: end.sequence,
        hash: end.hash,
        time: core.now(),
      });
    return ok({
      cut: cutOf(core),
      end: statement,
      held: core.auditLog.held(),
      missing: missingEntries(core),
    } satisfies ExportPart);
  },
};

const confirm: Operation<{ sequence: number; hash: string }> = {
  subject: ({ ask, input }) => ({ resource: ask.org, version: input.sequence }),
  read({ core, input }): Outcome {
    const cut = cutOf(core)?.sequence ?? 0;
    const end = checkpoints(core).end(input.sequence);
    // safety: export-confirmed-by-hash
    if (!end || !equal(end.hash, input.hash))
      return fail(
        refuse('CONFLICT', {
          message: 'No export ends with this sequence and hash. Take both from the last line of the export.',
        }),
      );
    if (end.sequence > cut && end.sequence > (pastEnd(core)?.sequence ?? 0))
      return fail(refuse('CONFLICT', { message: 'These entries are not past retention yet.' }));
    core.storage.transactionSync(() => noteExported(core, end.sequence));
    core.schedule.at('retention', core.now());
    return ok({ exported_through: Math.max(exportedThrough(core), end.sequence), deleted_through: cut });
  },
};

export const retentionOperations = { 'audit.export': exportPast, 'audit.export_confirm': confirm };
