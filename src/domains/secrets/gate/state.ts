// Checks of the gate's state before a secret is read or changed: changes in doubt, and the organisation's
// limits.
import type { SecretRow } from '../../../db/schema';
import { type Refusal, refuse } from '../../../errors';
import type { Subject } from '../../../gate/audit/entry';
import type { Core } from '../../../gate/core';
import { intents } from '../../../gate/journal/intents';
import { wholeQuotas } from '../../../gate/limits/quotas';
import type { Call } from '../../../gate/request/call';
import { slugOf } from '../../../gate/request/target';

/** 503 while a change of one of these is in doubt. */
export const inDoubt = (call: Call<unknown>, ...ids: string[]): Refusal | null =>
  // safety: no-read-in-doubt
  ids.some((id) => intents(call.core).isOpen(id)) ? refuse('UNAVAILABLE', { retry_after: 1 }) : null;

/** The secret in an audit entry. */
export const subjectOf = (
  core: Core,
  { id, name, environment_id, version }: SecretRow,
): Partial<Subject> => ({
  resource: id,
  resource_name: name,
  environment: slugOf(core, environment_id),
  version,
});

/** The same for the secret whose id is in the path. */
export function aboutSecret({ core, ask }: Call<unknown>): Partial<Subject> {
  const row = core.rows.get('secret', ask.named.secret as string);
  return row ? subjectOf(core, row) : {};
}

/**
 * 409 if an organisation would have too many secrets or too many bytes of ciphertext. A change that adds
 * nothing is allowed above the limit.
 */
export function limits(core: Core, addedBytes: number, addedSecrets: number): Refusal | null {
  // safety: secrets-being-added-count
  if (
    addedSecrets &&
    core.rows.count('secret') + intents(core).adding('secret').length + addedSecrets > wholeQuotas.secrets
  )
    return refuse('LIMIT_REACHED', {
      message: `An organisation can have at most ${wholeQuotas.secrets.toLocaleString('en')} secrets. Deleted ones count until they are purged.`,
    });
  const growth = ({ id, sealed_size }: SecretRow) =>
    Math.max(0, sealed_size - (core.rows.get('secret', id)?.sealed_size ?? 0));
  // safety: secret-bytes-being-added-count
  const bytes = intents(core)
    .writing('secret')
    .reduce((sum, { row }) => sum + growth(row), core.rows.sealedBytes());
  return addedBytes > 0 && bytes + addedBytes > wholeQuotas.sealedBytes
    ? refuse('LIMIT_REACHED', { message: 'An organisation can have at most 4 GiB of encrypted values.' })
    : null;
}
