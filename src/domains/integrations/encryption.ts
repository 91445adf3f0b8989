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
 * The credentials that a row holds; null if it has none, or if their ciphertext was altered or belongs to
 * another row. Throws INTERNAL if the row itself was altered.
 */
function opened<K extends 'integration' | 'sync'>(
  keys: OrgKeys,
  org: string,
  kind: K,
  row: RowTypes[K],
): Config | null {
  // safety: credentials-row-mac
  if (row.org_id !== org || !equal(row.mac, macOf(keys.row, kind, row))) throw altered(row);
  const plain =
    row.credentials_sealed === null
      ? null
      : decrypt(keys.value, 'connection', [org, row.id], row.credentials_sealed);
  const text = plain && fromUtf8(plain);
  return text ? JSON.parse(text) : null;
}

const altered = ({ id }: { id: string }) =>
  new ApiError(refuse('INTERNAL'), { event: 'value_does_not_open', resource: id });

/** The credentials that a row holds. Throws INTERNAL if it has none, or if any of it was altered. */
export function credentialsOf<K extends 'integration' | 'sync'>(
  keys: OrgKeys,
  org: string,
  kind: K,
  row: RowTypes[K],
): Config {
  const credentials = opened(keys, org, kind, row);
  if (credentials === null) throw altered(row);
  return credentials;
}

/** A stored config. Throws as `credentialsOf` does. */
export const decryptConfig = (keys: OrgKeys, org: string, row: IntegrationRow): Parts => ({
  shown: row.config,
  credentials: credentialsOf(keys, org, 'integration', row),
});

/** A stored config that is to be changed: without credentials that do not open, so new ones replace them. */
export const changeableConfig = (keys: OrgKeys, org: string, row: IntegrationRow): Parts => ({
  shown: row.config,
  credentials: opened(keys, org, 'integration', row) ?? {},
});
