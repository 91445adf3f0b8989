// The job of automatic rotation, in the Worker: generates and encrypts a value for each waiting secret and
// sends it to the gate. Invariants: it decides nothing, because the gate checks each secret again under its
// lock; it can be repeated, run concurrently or stop at any point.
import { generate } from '../../crypto/generate';
import type { JobContext } from '../../delivery/job';
import { ApiError, statusOf } from '../../errors';
import { refusalOf, unwrap } from '../../gate/request/outcome';
import { encryptValue } from '../secrets/encryption';
import type { WaitingSecret } from './gate/rotation-operations';

/** How often one run asks for waiting secrets. The gate starts another run if more are waiting. */
const ROUNDS = 5;

export async function rotate(context: JobContext): Promise<void> {
  for (let round = 0; round < ROUNDS; round++) {
    const waiting = unwrap(await context.ask('secret.auto_rotate', {}, 'secret.rotations_waiting'))
      .data as WaitingSecret[];
    if (waiting.length === 0) return;
    for (const secret of waiting) await rotateOne(context, secret);
  }
}

async function rotateOne({ org, keys, ask }: JobContext, { id, type, etag }: WaitingSecret): Promise<void> {
  const value = encryptValue(keys, org, id, (await generate(type)).value, 1);
  const outcome = await ask('secret.auto_rotate', { id, etag, value });
  if (outcome.kind === 'ok') return;
  const refusal = refusalOf(outcome);
  // The secret has changed. If it still waits, the next round gets its new state.
  if (refusal.code === 'CONFLICT') return;
  if (statusOf(refusal) >= 500) throw new ApiError(refusal);
  const reported = await ask('secret.rotation_due', { id, reason: refusal.code });
  if (reported.kind !== 'ok' && refusalOf(reported).code !== 'CONFLICT')
    throw new ApiError(refusalOf(reported));
}
