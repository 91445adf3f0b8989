// Automatic rotation, as the gate takes part in it: it tells the Worker which secrets wait for a new value, takes each value if its secret
// still waits for it, and tells why one was not rotated. Invariant: a value is taken for exactly the secret as it was told, so that runs that
// overlap, are repeated or come late rotate nothing twice.
import type { SecretRow, SecretType } from '../../../db/schema';
import { refuse } from '../../../errors';
import { fail, ok } from '../../../gate/outcome';
import { dueOf, isToRotate, raiseDue } from '../../../gate/rotation';
import { type Call, isRefusal, type Operation, type OperationOutcome } from '../../../gate/types';
import { advance, type Kept, keptOf } from '../../secrets/gate/plans';
import { subjectOf } from '../../secrets/gate/state';
import { type EncryptedValue, etagOf } from '../../secrets/rules';

/** Secrets that the Worker is told at once, and rows that are looked at for them. */
const TOLD = 20;
const LOOKED_AT = 1000;
/** How soon the gate asks again where more wait. */
const SOON = 60_000;

/** A secret that waits for a new value; `etag` says for which one. */
export interface WaitingSecret {
  id: string;
  type: SecretType;
  etag: string;
}

/** The secrets that wait. Those that need no new value any more wait no longer. */
const waiting: Operation<Record<string, never>> = {
  read({ core }): OperationOutcome {
    const now = core.now();
    const found: WaitingSecret[] = [];
    core.storage.transactionSync(() => {
      for (const id of core.rotations.waiting(LOOKED_AT)) {
        const row = core.rows.get('secret', id);
        if (!row || !isToRotate(core, row, now)) core.rotations.settle(id);
        else if (found.length < TOLD) found.push({ id, type: row.type, etag: etagOf(row) });
        else {
          core.schedule.at('rotation', now + SOON);
          break;
        }
      }
    });
    // It does nothing that an entry would report: each rotation has its own.
    return { ...ok(found), audited: true };
  },
};

interface RotateInput {
  id: string;
  etag: string;
  value: EncryptedValue;
}

const find = ({ core, input }: Call<{ id: string }>): SecretRow | null => core.rows.get('secret', input.id);

const subject = (call: Call<{ id: string }>) => {
  const row = find(call);
  return row ? subjectOf(call.core, row) : { resource: call.input.id };
};

const rotate: Operation<RotateInput> = {
  subject,
  change: {
    locks: ({ input }) => [input.id],
    locked: (call) => keptOf(call, find(call)),
    plan(call, now, { locked: kept }) {
      const { core, input } = call;
      const row = find(call);
      // safety: rotated-once
      if (!row || etagOf(row) !== input.etag || !isToRotate(core, row, now))
        return refuse('CONFLICT', { message: 'This secret has changed meanwhile, or is not due any more.' });
      const plan = advance(call, row, input.value, {}, kept as Kept | null, now);
      if (isRefusal(plan)) return plan;
      return { ...plan, data: null, etag: undefined };
    },
  },
};

/** Tells, once a period, that a secret is due and was not rotated; it waits no longer in this period. */
const failed: Operation<{ id: string; reason: string }> = {
  subject: (call) => ({ ...subject(call), reason: call.input.reason }),
  read(call): OperationOutcome {
    const { core, input } = call;
    const now = core.now();
    const row = find(call);
    const known = core.rotations.of(input.id);
    if (!row || !known?.waiting) return fail(refuse('CONFLICT', { message: 'This secret does not wait for a new value.' }));
    const { since } = dueOf(core, row, now);
    core.storage.transactionSync(() => {
      core.rotations.set(input.id, { ...known, waiting: false, told: true });
      // safety: failure-told-once
      if (!known.told) raiseDue(core, row, since ?? known.period, input.reason, now);
    });
    return ok(null);
  },
};

export const rotationOperations = { 'secret.rotations_waiting': waiting, 'secret.auto_rotate': rotate, 'secret.rotation_due': failed };
