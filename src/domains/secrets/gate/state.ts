// Checks of the gate's state before a secret is read or changed: changes in doubt, and the organisation's limits.
import type { SecretRow } from '../../../db/schema';
import { type Refusal, refuse } from '../../../errors';
import type { Subject } from '../../../gate/audit-entry';
import type { Core } from '../../../gate/core';
import { slugOf } from '../../../gate/named';
import type { Call } from '../../../gate/types';

const MOST_SECRETS = 100_000;
const MOST_ENCRYPTED = 4 * 1024 ** 3;

/** 503 while a change of one of these is in doubt. */
export const inDoubt = (call: Call<unknown>, ...ids: string[]): Refusal | null =>
  // safety: no-read-in-doubt
  ids.some((id) => call.core.intents.isOpen(id)) ? refuse('UNAVAILABLE', { retry_after: 1 }) : null;

/** The secret in an audit entry. */
export const subjectOf = (core: Core, { id, name, environment_id, version }: SecretRow): Partial<Subject> => ({
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
 * 409 if an organisation would have too many secrets or too many bytes of ciphertext. A change that adds nothing is allowed above the
 * limit.
 */
export function limits(core: Core, addedBytes: number, addedSecrets: number): Refusal | null {
  if (addedSecrets && core.rows.count('secret') + addedSecrets > MOST_SECRETS)
    return refuse('LIMIT_REACHED', {
      message: `An organisation can have at most ${MOST_SECRETS.toLocaleString('en')} secrets. Deleted ones count until they are purged.`,
    });
  return addedBytes > 0 && core.rows.sealedBytes() + addedBytes > MOST_ENCRYPTED
    ? refuse('LIMIT_REACHED', { message: 'An organisation can have at most 4 GiB of encrypted values.' })
    : null;
}
