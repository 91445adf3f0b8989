// Automatic rotation, in the gate: lists the secrets waiting for a new value, accepts each value if its
// secret still waits for it, and reports secrets that were not rotated. Invariant: a value is accepted only
// for the exact state of the secret that was listed, so concurrent, repeated or late runs rotate nothing
// twice.
import type { SecretRow, SecretType } from '../../../db/schema';
import { refuse } from '../../../errors';
import { type Call, isRefusal, type Operation, type OperationOutcome } from '../../../gate/request/call';
import { fail, ok } from '../../../gate/request/outcome';
import { advance, type Kept, keptOf } from '../../secrets/gate/plans';
import { subjectOf } from '../../secrets/gate/state';
import { type EncryptedValue, etagOf } from '../../secrets/rules';
import { agentsRotating, dueOf, isToRotate, raiseDue } from './due';
import { rotations } from './due-rotations';

/** Secrets listed per round, and the rows examined to find them. */
const TOLD = 20;
const LOOKED_AT = 1000;
/** How soon the gate starts another run if more are waiting. */
const SOON = 60_000;

/** A secret waiting for a new value; `etag` identifies its state. */
export interface WaitingSecret {
  id: string;
  type: SecretType;
  etag: string;
}

/** The waiting secrets. Secrets that no longer need a new value are dropped. */
const waiting: Operation<Record<string, never>> = {
  read({ core }): OperationOutcome {
    const now = core.now();
    const found: WaitingSecret[] = [];
    core.storage.transactionSync(() => {
      for (const id of rotations(core).waiting(LOOKED_AT)) {
        const row = core.rows.get('secret', id);
        if (!row || !isToRotate(core, row, now)) rotations(core).settle(id);
        else if (found.length < TOLD) found.push({ id, type: row.type, etag: etagOf(row) });
        else {
          core.schedule.at('rotation', now + SOON);
          break;
        }
      }
    });
    // It has no effect of its own to audit: each rotation has its own entry.
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
        return refuse('CONFLICT', {
          message: 'This secret has changed in the meantime or is no longer due.',
        });
      const plan = advance(call, row, input.value, {}, kept as Kept | null, now);
      if (isRefusal(plan)) return plan;
      return { ...plan, data: null, etag: undefined, doers: agentsRotating(core, row, now) };
    },
  },
};

/** Reports, once per period, that a due secret was not rotated. It then no longer waits in this period. */
const failed: Operation<{ id: string; reason: string }> = {
  subject: (call) => ({ ...subject(call), reason: call.input.reason }),
  read(call): OperationOutcome {
    const { core, input } = call;
    const now = core.now();
    const row = find(call);
    const known = rotations(core).of(input.id);
    if (!row || !known?.waiting)
      return fail(refuse('CONFLICT', { message: 'This secret is not waiting for a new value.' }));
    const { since } = dueOf(core, row, now);
    core.storage.transactionSync(() => {
      rotations(core).set(input.id, { ...known, waiting: false, announced: true });
      // safety: failure-told-once
      if (!known.announced) raiseDue(core, row, since ?? known.period, input.reason, now);
    });
    return ok(null);
  },
};

export const rotationOperations = {
  'secret.rotations_waiting': waiting,
  'secret.auto_rotate': rotate,
  'secret.rotation_due': failed,
};
