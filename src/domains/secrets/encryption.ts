// Encryption of values, in the Worker. Before anything is decrypted, the rows that say whose value it is are checked: what the
// database was made to say without the org's key does not pass.

import QuickLRU from 'quick-lru';
import { fromUtf8, tuple, utf8 } from '../../crypto/bytes';
import { equal, hmacHex } from '../../crypto/digest';
import * as envelope from '../../crypto/envelope';
import type { OrgKeys } from '../../crypto/keyring';
import { newId } from '../../db/ids';
import type { SecretRow, VersionRow } from '../../db/schema';
import { ApiError, refuse } from '../../errors';
import { macOf } from '../../gate/rows';
import type { Delivered, EncryptedValue } from './rules';

/** Encrypts a value for a secret, bound to a random id of its own: the gate numbers the version later. `generated`: this service made the value. */
export function encryptValue(keys: OrgKeys, org: string, secret: string, value: string, generated: 1 | null = null): EncryptedValue {
  const plain = utf8(value);
  const seal_id = newId('ver');
  return {
    seal_id,
    value_sealed: envelope.encrypt(keys.value, 'secret value', [org, secret, seal_id], plain),
    fingerprint: hmacHex(keys.fingerprint, tuple('svc/v1/fingerprint', plain)),
    size: plain.length,
    generated,
  };
}

/** Rows that this isolate has found right, word for word, by their MACs: the next time a comparison does. */
const known = new QuickLRU<string, string>({ maxSize: 2500 });

function isRight(keys: OrgKeys, kind: 'secret' | 'version', row: SecretRow | VersionRow): boolean {
  const text = JSON.stringify(row);
  if (known.get(row.mac) === text) return true;
  const holds = equal(row.mac, macOf(keys.row, kind, row));
  if (holds) known.set(row.mac, text);
  return holds;
}

/** Opens a delivered value; refuses as INTERNAL if a row or the ciphertext was altered or is another's. */
export async function decryptValue(keys: OrgKeys, org: string, { row, version }: Delivered): Promise<string> {
  const isCurrent = version.version === row.version;
  const holds =
    row.org_id === org &&
    version.org_id === org &&
    version.secret_id === row.id &&
    (!isCurrent || version.seal_id === row.seal_id) &&
    isRight(keys, 'secret', row) &&
    isRight(keys, 'version', { ...version, value_sealed: '' });
  const plain = holds ? await envelope.decryptValue(keys.value, [org, row.id, version.seal_id], version.value_sealed) : null;
  const value = plain && fromUtf8(plain);
  if (value === null) {
    // The gate reports it once it is told: see `handle`.
    throw new ApiError(refuse('INTERNAL'), { event: 'value_does_not_open', resource: row.id });
  }
  return value;
}
