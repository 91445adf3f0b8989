// The secret in an audit entry, and the organisation's limits for secrets.
import type { SecretRow } from '../../../db/schema';
import { type Refusal, refuse } from '../../../errors';
import type { Subject } from '../../../gate/audit/entry';
import type { Core } from '../../../gate/core';
import { wholeQuotas } from '../../../gate/limits/quotas';
import type { Call } from '../../../gate/request/call';
import { namedId, slugOf } from '../../../gate/request/target';

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
  const row = core.rows.get('secret', namedId(ask, 'secret'));
  return row ? subjectOf(core, row) : {};
}

/**
 * 409 if an organisation would have too many secrets or too many bytes of ciphertext. A change that adds
 * nothing is allowed above the limit.
 */
export function limits(core: Core, addedBytes: number, addedSecrets: number): Refusal | null {
  if (addedSecrets && core.rows.count('secret') + addedSecrets > wholeQuotas.secrets)
    return refuse('LIMIT_REACHED', {
      message: `An organisation can have at most ${wholeQuotas.secrets.toLocaleString('en')} secrets. Deleted ones count until they are purged.`,
    });
  return addedBytes > 0 && core.rows.sealedBytes() + addedBytes > wholeQuotas.sealedBytes
    ? refuse('LIMIT_REACHED', { message: 'An organisation can have at most 4 GiB of encrypted values.' })
    : null;
}
