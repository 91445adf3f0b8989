// Encryption of values, in the Worker. Before a value is decrypted, the rows that say whose it is are
// verified, so data written to the database without the organisation's key is rejected.

import QuickLRU from 'quick-lru';
import { fromUtf8, tuple, utf8 } from '../../crypto/bytes';
import { equal, hmacHex } from '../../crypto/digest';
import { type Decrypter, decrypterOf, encrypt } from '../../crypto/envelope';
import { newId } from '../../db/ids';
import { macOf } from '../../db/rows';
import type { SecretRow } from '../../db/schema';
import { ApiError, refuse } from '../../errors';
import type { OrgKeys } from '../../keys/keyring';
import type { Delivered, EncryptedValue, Readable } from './rules';

/** The keyed digest of a value. */
export const fingerprintOf = (keys: OrgKeys, value: Uint8Array): string =>
  hmacHex(keys.fingerprint, tuple('svc/v1/fingerprint', value));

/**
 * Encrypts a value for a secret, bound to a random id: the gate assigns the version number later.
 * `generated`: this service generated the value.
 */
export function encryptValue(
  keys: OrgKeys,
  org: string,
  secret: string,
  value: string,
  generated: 1 | null = null,
): EncryptedValue {
  const plain = utf8(value);
  const seal_id = newId('ver');
  return {
    seal_id,
    value_sealed: encrypt(keys.value, 'secret value', [org, secret, seal_id], plain),
    fingerprint: fingerprintOf(keys, plain),
    size: plain.length,
    generated,
  };
}

/** A secret and a version with verified MACs, and a function to decrypt the value. */
interface Checked extends Readable {
  decrypt: Decrypter;
}

/**
 * Recently verified rows by seal id. On the next read, comparing keys and text is enough. Contains no values.
 */
const known = new QuickLRU<string, Checked & { keys: OrgKeys; text: string }>({ maxSize: 1000 });

/**
 * Decrypts a delivered value; throws INTERNAL if a row or the ciphertext was altered or belongs to another
 * secret.
 */
export async function decryptValue(
  keys: OrgKeys,
  org: string,
  delivered: Delivered,
): Promise<Readable & { value: string }> {
  const { row, version, decrypt } =
    'text' in delivered ? await checkText(keys, org, delivered) : await check(keys, org, delivered);
  const plain = await decrypt();
  const value = plain && fromUtf8(plain);
  if (value === null) throw altered(row);
  return { row, version, value };
}

async function checkText(
  keys: OrgKeys,
  org: string,
  { seal_id, text }: { seal_id: string; text: string },
): Promise<Checked> {
  const before = known.get(seal_id);
  // safety: checked-under-these-keys
  if (before && before.keys === keys && before.text === text) return before;
  const found = await check(keys, org, JSON.parse(text));
  known.set(seal_id, { ...found, keys, text });
  return found;
}

async function check(keys: OrgKeys, org: string, { row, version }: Readable): Promise<Checked> {
  const isCurrent = version.version === row.version;
  const holds =
    row.org_id === org &&
    version.org_id === org &&
    version.secret_id === row.id &&
    (!isCurrent || version.seal_id === row.seal_id) &&
    // safety: decrypted-secret-mac
    equal(row.mac, macOf(keys.row, 'secret', row)) &&
    // safety: decrypted-version-mac
    equal(version.mac, macOf(keys.row, 'version', version));
  if (!holds) throw altered(row);
  return {
    row,
    version,
    decrypt: await decrypterOf(keys.value, [org, row.id, version.seal_id], version.value_sealed),
  };
}

/** The gate reports it as an integrity violation: see `handle`. */
const altered = ({ id }: SecretRow) =>
  new ApiError(refuse('INTERNAL'), { event: 'value_does_not_open', resource: id });
