// Encryption of a log stream's config, in the Worker. Invariant: the ciphertext is bound to the stream and to
// the shown part of its config, and the row's MAC is verified before decryption. So an altered database can
// neither swap credentials nor bring an earlier target back.
import { fromUtf8, utf8 } from '../../crypto/bytes';
import { equal } from '../../crypto/digest';
import { decrypt, encrypt } from '../../crypto/envelope';
import { macOf } from '../../db/rows';
import type { LogStreamKind, LogStreamRow } from '../../db/schema';
import { ApiError, refuse } from '../../errors';
import type { OrgKeys } from '../../keys/keyring';
import { type Config, shownOf } from './config';

/** A whole config; `secret` signs the requests of kind https. */
export interface Whole {
  config: Config;
  secret: string | null;
}

const contextOf = ({ org_id, id, kind, config }: Pick<LogStreamRow, 'org_id' | 'id' | 'kind' | 'config'>) => [
  org_id,
  id,
  kind,
  JSON.stringify(config),
];

/** The columns of a config. */
export function encrypted(keys: OrgKeys, org_id: string, id: string, kind: LogStreamKind, whole: Whole) {
  const config = shownOf(kind, whole.config);
  const context = contextOf({ org_id, id, kind, config });
  return {
    config,
    credentials_sealed: encrypt(keys.value, 'log stream', context, utf8(JSON.stringify(whole))),
  };
}

/** Throws INTERNAL if the row or the ciphertext was altered, or belongs to another stream. */
export function decrypted(keys: OrgKeys, org: string, row: LogStreamRow): Whole {
  // safety: log-stream-row-mac
  const holds = row.org_id === org && equal(row.mac, macOf(keys.row, 'log_stream', row));
  const plain = holds ? decrypt(keys.value, 'log stream', contextOf(row), row.credentials_sealed) : null;
  const text = plain && fromUtf8(plain);
  if (!text) throw new ApiError(refuse('INTERNAL'), { event: 'value_does_not_open', resource: row.id });
  return JSON.parse(text);
}
