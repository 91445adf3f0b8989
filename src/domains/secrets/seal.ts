// Sealing and opening of values, in the Worker. Before anything is opened, the rows that say whose value it is are checked: what the
// database was made to say without the org's key does not pass.
import { fromUtf8, tuple, utf8 } from '../../crypto/bytes';
import { equal, hmacHex } from '../../crypto/digest';
import { open, seal } from '../../crypto/envelope';
import type { OrgKeys } from '../../crypto/keyring';
import { newId } from '../../db/ids';
import { ApiError, refuse } from '../../errors';
import { macOf } from '../../gate/rows';
import type { Delivered, SealedValue } from './operations';

/** Seals a value for a secret, bound to a random id of its own: the gate numbers the version later. */
export function sealValue(keys: OrgKeys, org: string, secret: string, value: string): SealedValue {
  const plain = utf8(value);
  const seal_id = newId('ver');
  return {
    seal_id,
    value_sealed: seal(keys.value, 'secret value', [org, secret, seal_id], plain),
    fingerprint: hmacHex(keys.fingerprint, tuple('svc/v1/fingerprint', plain)),
    size: plain.length,
  };
}

/** Opens a delivered value; refuses as INTERNAL if a row or the ciphertext was altered or is another's. */
export function openValue(keys: OrgKeys, org: string, { row, version }: Delivered): string {
  const isCurrent = version.version === row.version;
  const holds =
    row.org_id === org &&
    version.org_id === org &&
    version.secret_id === row.id &&
    (!isCurrent || version.seal_id === row.seal_id) &&
    equal(row.mac, macOf(keys.row, 'secret', row)) &&
    equal(version.mac, macOf(keys.row, 'version', version));
  const plain = holds ? open(keys.value, 'secret value', [org, row.id, version.seal_id], version.value_sealed) : null;
  const value = plain && fromUtf8(plain);
  if (value === null) {
    // The gate raises the alarm once it is told: see `handle`.
    throw new ApiError(refuse('INTERNAL'), { event: 'value_does_not_open', resource: row.id });
  }
  return value;
}
