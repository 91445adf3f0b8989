// Encryption of a connection's client secret, in the Worker. Invariant: a ciphertext is bound to its
// organisation and row, and the row's MAC is verified before decryption, so an altered database can neither
// swap client secrets nor send one to another address.
import { fromUtf8, utf8 } from '../../crypto/bytes';
import { equal } from '../../crypto/digest';
import { decrypt, encrypt } from '../../crypto/envelope';
import { macOf } from '../../db/rows';
import type { SsoConnectionRow } from '../../db/schema';
import { ApiError, refuse } from '../../errors';
import type { OrgKeys } from '../../keys/keyring';

export const encryptClientSecret = (keys: OrgKeys, org: string, id: string, secret: string): string =>
  encrypt(keys.value, 'client secret', [org, id], utf8(secret));

/**
 * Decrypts the client secret of a connection. Throws INTERNAL if the row or the ciphertext was altered or
 * belongs to another connection.
 */
export function decryptClientSecret(keys: OrgKeys, org: string, row: SsoConnectionRow): string {
  // safety: sso-connection-row-mac
  const holds = row.org_id === org && equal(row.mac, macOf(keys.row, 'sso_connection', row));
  const plain =
    holds && row.client_secret_sealed !== null
      ? decrypt(keys.value, 'client secret', [org, row.id], row.client_secret_sealed)
      : null;
  const text = plain && fromUtf8(plain);
  if (text === null)
    throw new ApiError(refuse('INTERNAL'), { event: 'value_does_not_open', resource: row.id });
  return text;
}
