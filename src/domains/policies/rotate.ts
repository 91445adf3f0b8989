// The job of automatic rotation, in the Worker: generates and encrypts a value for each secret that waits for one, and has the gate put it in
// place. Invariants: it decides nothing, since the gate judges each secret again under its lock; it may be repeated, overlap with itself or
// end anywhere.
import { generate } from '../../crypto/generate';
import type { JobContext } from '../../delivery/job';
import { ApiError, statusOf } from '../../errors';
import { refusalOf, unwrap } from '../../gate/outcome';
import { encryptValue } from '../secrets/encryption';
import type { WaitingSecret } from './gate/rotation';

/** How often one run asks for secrets: the gate asks for another run while more wait. */
const ROUNDS = 5;

export async function rotate(context: JobContext): Promise<void> {
  for (let round = 0; round < ROUNDS; round++) {
    const waiting = unwrap(await context.ask('secret.auto_rotate', {}, 'secret.rotations_waiting')).data as WaitingSecret[];
    if (waiting.length === 0) return;
    for (const secret of waiting) await rotateOne(context, secret);
  }
}

async function rotateOne({ org, keys, ask }: JobContext, { id, type, etag }: WaitingSecret): Promise<void> {
  const value = encryptValue(keys, org, id, (await generate(type)).value, 1);
  const outcome = await ask('secret.auto_rotate', { id, etag, value });
  if (outcome.kind === 'ok') return;
  const refusal = refusalOf(outcome);
  // It has changed: if it still waits, the next round has it as it is then.
  if (refusal.code === 'CONFLICT') return;
  if (statusOf(refusal) >= 500) throw new ApiError(refusal);
  const told = await ask('secret.rotation_due', { id, reason: refusal.code });
  if (told.kind !== 'ok' && refusalOf(told).code !== 'CONFLICT') throw new ApiError(refusalOf(told));
}
