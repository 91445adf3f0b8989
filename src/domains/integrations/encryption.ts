// Encryption of a connection's credentials, in the Worker. Invariant: a ciphertext is bound to its
// organisation and row, and the row's MAC is verified before decryption, so an altered database can neither
// swap credentials nor send them to another address.
import { fromUtf8, utf8 } from '../../crypto/bytes';
import { equal } from '../../crypto/digest';
import { decrypt, encrypt } from '../../crypto/envelope';
import { macOf, type RowTypes } from '../../db/rows';
import type { IntegrationRow } from '../../db/schema';
import { ApiError, refuse } from '../../errors';
import type { OrgKeys } from '../../keys/keyring';
import type { Config, Parts } from './config';

export const encryptCredentials = (keys: OrgKeys, org: string, id: string, credentials: Config): string =>
  encrypt(keys.value, 'connection', [org, id], utf8(JSON.stringify(credentials)));

/**
 * The credentials that a row holds. Throws INTERNAL if it has none, or if the row or the ciphertext was
 * altered or belongs to another row.
 */
export function credentialsOf<K extends 'integration' | 'sync'>(
  keys: OrgKeys,
  org: string,
  kind: K,
  row: RowTypes[K],
): Config {
  // safety: credentials-row-mac
  const holds = row.org_id === org && equal(row.mac, macOf(keys.row, kind, row));
  const plain =
    holds && row.credentials_sealed !== null
      ? decrypt(keys.value, 'connection', [org, row.id], row.credentials_sealed)
      : null;
  const text = plain && fromUtf8(plain);
  if (!text) throw new ApiError(refuse('INTERNAL'), { event: 'value_does_not_open', resource: row.id });
  return JSON.parse(text);
}

/** A stored config. Throws as `credentialsOf` does. */
export const decryptConfig = (keys: OrgKeys, org: string, row: IntegrationRow): Parts => ({
  shown: row.config,
  credentials: credentialsOf(keys, org, 'integration', row),
});
