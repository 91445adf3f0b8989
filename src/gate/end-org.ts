// The end of a deleted organisation: deletes what is left of it, in D1 first. Invariant: the gate keeps what it needs to refuse its tokens, which
// is their hashes and the fact that the organisation was deleted.
import { rowKinds, tableName } from '../db/rows';
import { approvalDetails } from './approval-details';
import { ciphertexts } from './ciphertext-cache';
import type { Core } from './core';
import { deliveries } from './deliveries';
import { formerMakers } from './former-makers';
import { rotations } from './rotations';
import { syncs } from './syncs';

/** Tables of D1, values first. The organisation's own row is deleted last. */
const TABLES = new Set([
  ...['secret_versions', 'secrets'],
  ...rowKinds.filter((kind) => kind !== 'org').map(tableName),
  ...['event_segments', 'audit_segments', 'audit_checkpoints', 'commits'],
]);

/** Kinds of rows that the gate deletes. */
const CLEARED = rowKinds.filter((kind) => kind !== 'org' && kind !== 'credential');

/** Deletes the remaining data of a deleted organisation, in batches. */
export async function endOrg(core: Core, org: string, now: number): Promise<number | null> {
  for (const table of TABLES) {
    const left = await core.database.all<{ one: number }>({ sql: `select 1 one from ${table} where org_id = ? limit 1`, params: [org] });
    if (left.length === 0) continue;
    await core.database.write([
      { sql: `delete from ${table} where rowid in (select rowid from ${table} where org_id = ? limit 500)`, params: [org] },
    ]);
    return now + 1000;
  }
  const done = await core.database.write([{ sql: 'delete from orgs where id = ?', params: [org] }]);
  if (done.end !== 'done') return now + 5000;
  core.storage.transactionSync(() => core.rows.clear(CLEARED));
  core.storage.transactionSync(() => ciphertexts(core).clear());
  rotations(core).clear();
  deliveries(core).clear();
  syncs(core).clear();
  approvalDetails(core).clear();
  formerMakers(core).clear();
  return null;
}
