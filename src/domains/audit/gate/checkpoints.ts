// Checkpoints in the gate: which points of the chain need a signature, and storing signatures in D1.
// Invariants: the gate decides what is signed and stores its own statement with the signature; signing writes
// no audit entries, so it never causes more of itself.
import { DAY } from '../../../db/rows';
import { auditCheckpoints } from '../../../db/schema';
import { insertOf } from '../../../db/statements';
import { refuse } from '../../../errors';
import { checkpoints, type Statement } from '../../../gate/archive/checkpoints';
import type { Operation, OperationOutcome } from '../../../gate/request/call';
import { locks } from '../../../gate/request/locks';
import { fail, ok } from '../../../gate/request/outcome';

/** The most statements that one job signs. */
const MOST = 50;

export interface Signed {
  sequence: number;
  key_id: string;
  signature: string;
}

/** The statements waiting for a signature. */
const wanted: Operation<Record<string, never>> = {
  read: ({ core }): OperationOutcome => ({
    ...ok(checkpoints(core).waiting(MOST) satisfies Statement[]),
    audited: true,
  }),
};

/** Stores the signatures of waiting statements. */
const store: Operation<{ signed: Signed[] }> = {
  async read({ core, ask, input }): Promise<OperationOutcome> {
    return locks(core).run(['checkpoints'], async () => {
      const signatures = new Map(input.signed.map((one) => [one.sequence, one]));
      const rows = checkpoints(core)
        .waiting(MOST)
        .flatMap((statement) => {
          const signed = signatures.get(statement.sequence);
          // safety: checkpoint-stored-as-stated
          return signed ? [{ ...signed, ...statement, org_id: ask.org }] : [];
        });
      const statements = rows.map((row) => {
        const { sql, params } = insertOf(auditCheckpoints, row);
        // Replace any row that D1 has for this sequence: only the gate's own statement is the checkpoint.
        return { sql: sql.replace('insert into', 'insert or replace into'), params };
      });
      const stored = statements.length ? await core.database.write(statements) : null;
      // safety: checkpoint-stored-before-noted
      if (stored && stored.end !== 'done')
        return { ...fail(refuse('UNAVAILABLE', { retry_after: 5 })), audited: true };
      core.storage.transactionSync(() => {
        for (const { sequence } of rows) checkpoints(core).stored(sequence);
        const newest = rows.at(-1);
        const day = newest && String(Math.floor(newest.time / DAY));
        if (newest && core.meta.get('checkpoint_day') !== day) {
          core.meta.set('checkpoint_day', day as string);
          const { org_id: _, time, ...data } = newest;
          core.outbox.put(
            { type: 'AUDIT_CHECKPOINT', data: { ...data, time: new Date(time).toISOString() } },
            core.now(),
          );
        }
      });
      return { ...ok(null, { status: 204 }), audited: true };
    });
  },
};

/** Checks only permission; the data comes from D1 and the Worker. */
const permitted: Operation<{ further?: boolean }> = {
  read: ({ input }): OperationOutcome => ({ ...ok(null), audited: input.further ?? false }),
};

export const checkpointOperations = {
  'audit.checkpoint': wanted,
  'audit.checkpoint_store': store,
  'audit.checkpoints': permitted,
  'audit.key': permitted,
};
