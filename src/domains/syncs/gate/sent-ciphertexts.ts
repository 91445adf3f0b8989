// The ciphertexts of secrets that a sync sends. Invariant: they are returned for rows of the current turn, or
// the caller checks again after fetching.
import type { SecretRow, VersionRow } from '../../../db/schema';
import { ciphertexts } from '../../../gate/journal/ciphertexts';
import type { Call } from '../../../gate/request/call';
import { writeReadable } from '../../../gate/request/rollout';
import { slugOf } from '../../../gate/request/target';
import { fetchVersions, keep } from '../../secrets/gate/versions';
import type { Delivered } from '../../secrets/rules';

/** The current versions of these secrets, from the cache or from D1. */
export async function deliveredOf(call: Call<unknown>, rows: readonly SecretRow[]): Promise<Delivered[]> {
  const { core } = call;
  const now = core.now();
  const found = new Map<string, VersionRow>();
  for (const { id, version } of rows) {
    const cached = ciphertexts(core).get(id, version, now);
    if (cached) found.set(id, cached);
  }
  const missing = rows.filter(({ id }) => !found.has(id)).map(({ id, version }) => ({ secret: id, version }));
  // Caching these may evict those found.
  for (const version of missing.length ? await fetchVersions(call, missing) : []) {
    found.set(version.secret_id, version);
    keep(core, version);
  }
  return rows.flatMap((row) => {
    const version = found.get(row.id);
    return version
      ? [writeReadable({ row, version, environment: slugOf(core, row.environment_id), now })]
      : [];
  });
}

/** The first rows that fit one response of the gate. */
export function fitting(rows: readonly SecretRow[], most: { secrets: number; bytes: number }): SecretRow[] {
  let bytes = 0;
  const past = rows.findIndex(({ size }, i) => {
    bytes += size * 1.4 + 1024;
    return i > 0 && (i >= most.secrets || bytes > most.bytes);
  });
  return past < 0 ? [...rows] : rows.slice(0, past);
}
