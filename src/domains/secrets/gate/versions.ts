// Versions of secrets: their history, and their ciphertexts from the cache or D1. Invariant: rows from D1 are
// verified before they are cached or returned; a version that D1 does not have as it was written is refused
// and reported as an integrity violation.

import { and, desc, eq, getTableColumns, gte, lte } from 'drizzle-orm';
import { fromD1, macOf } from '../../../db/rows';
import { type SecretRow, secretVersions, type VersionRow } from '../../../db/schema';
import { sqlite } from '../../../db/statements';
import { ApiError, refuse } from '../../../errors';
import { reportViolation } from '../../../gate/audit/integrity';
import type { Core } from '../../../gate/core';
import { ciphertexts } from '../../../gate/journal/ciphertexts';
import { caughtUp } from '../../../gate/journal/mirror';
import { journal } from '../../../gate/journal/records';
import type { Call } from '../../../gate/request/call';
import { fail, type Outcome, ok } from '../../../gate/request/outcome';
import { namedId } from '../../../gate/request/target';
import { rowKeyOf } from '../../../gate/request/writes';
import { hasVersion } from '../rules';
import { versionOut } from '../wire';

/** A version of a secret, and the same as a key. */
export interface WantedVersion {
  secret: string;
  version: number;
}
export const keyOf = (secret: string, version: number): string => `${secret}.${version}`;

/**
 * Fetches the versions whose ciphertexts are not cached from D1, in one query; returns those that D1 has as
 * they were written.
 */
async function rightVersions(
  call: Call<unknown>,
  wanted: readonly WantedVersion[],
): Promise<Map<string, VersionRow>> {
  const { core, ask } = call;
  // CROSS JOIN fixes the order: one primary-key lookup per version, never a scan of the organisation's
  // versions.
  const query =
    'select v.* from json_each(?1) w cross join secret_versions v on v.org_id = ?2 and v.secret_id = w.value ->> 0 and v.version = w.value ->> 1';
  // What D1 does not have yet is in the journal; what has left the journal is in D1.
  // safety: unmirrored-version-read
  const here = wanted.flatMap(({ secret, version }) => journal(core).version(secret, version) ?? []);
  const isHere = new Set(here.map(({ secret_id, version }) => keyOf(secret_id, version)));
  const rest = wanted.filter(({ secret, version }) => !isHere.has(keyOf(secret, version)));
  const found = rest.length
    ? await core.database.all<Record<string, unknown>>({
        sql: query,
        params: [JSON.stringify(rest.map(({ secret, version }) => [secret, version])), ask.org],
      })
    : [];
  const versions = [...here, ...found.map((raw) => fromD1<VersionRow>(secretVersions, raw))];
  return new Map(
    versions.filter(isRight(call)).map((version) => [keyOf(version.secret_id, version.version), version]),
  );
}

/** Fetches versions from D1. If one of them is not as it was written, all are refused. */
export async function fetchVersions(
  call: Call<unknown>,
  wanted: readonly WantedVersion[],
): Promise<VersionRow[]> {
  const right = await rightVersions(call, wanted);
  const amiss = wanted.find(({ secret, version }) => !right.has(keyOf(secret, version)));
  return amiss ? miss(call, amiss) : [...right.values()];
}

/**
 * Fetches versions from D1. `broken`: those that are not as they were written, reported as integrity
 * violations.
 */
export async function fetchWhole(
  call: Call<unknown>,
  wanted: readonly WantedVersion[],
): Promise<{ right: VersionRow[]; broken: string[] }> {
  const right = await rightVersions(call, wanted);
  const broken: string[] = [];
  for (const one of wanted) {
    const key = keyOf(one.secret, one.version);
    if (!right.has(key) && isBroken(call, one)) broken.push(key);
  }
  return { right: [...right.values()], broken };
}

const isRight = (call: Call<unknown>) => {
  const key = rowKeyOf(call);
  // safety: fetched-version-mac
  return (version: Omit<VersionRow, 'value_sealed'>) => version.mac === macOf(key, 'version', version);
};

/**
 * Whether D1 does not have a version as it was written, which is reported as an integrity violation; false if
 * a concurrent change destroyed it.
 */
function isBroken({ core, ask }: Call<unknown>, { secret, version }: WantedVersion): boolean {
  const row = core.rows.get('secret', secret);
  if (row === null || !hasVersion(row, version)) return false;
  const { id: request_id, ip, user_agent } = ask.request;
  reportViolation(
    core,
    { event: 'versions_missing_or_altered', resource: secret },
    { request_id, ip, user_agent },
    { version },
  );
  return true;
}

/**
 * Refuses a version that D1 does not have as it was written: 500, or 503 if a concurrent change destroyed it.
 */
function miss(call: Call<unknown>, wanted: WantedVersion): never {
  throw new ApiError(isBroken(call, wanted) ? refuse('INTERNAL') : refuse('UNAVAILABLE', { retry_after: 1 }));
}

/** One version, from the cache or D1. Check the row again after this. */
export async function versionOf(call: Call<unknown>, secret: string, version: number): Promise<VersionRow> {
  const { core } = call;
  const kept = ciphertexts(core).get(secret, version, core.now());
  if (kept) return kept;
  const [fetched] = await fetchVersions(call, [{ secret, version }]);
  return fetched as VersionRow;
}

/** Caches a fetched ciphertext, unless its secret was destroyed in the meantime. */
export function keep(core: Core, version: VersionRow) {
  const row = core.rows.get('secret', version.secret_id);
  // safety: purged-version-not-cached
  if (
    row &&
    version.version >= row.oldest_version &&
    !ciphertexts(core).get(version.secret_id, version.version, core.now())
  )
    ciphertexts(core).keep(version, core.now());
}

export interface VersionsInput {
  limit: number;
  after: string | null;
}

/** What versions are shown of: without their ciphertext. */
export type History = Omit<VersionRow, 'value_sealed'>[];

/**
 * The versions of a secret up to a number, newest first, and one more than `limit` if there is one. Throws if
 * D1 does not have one as it was written. Check the caller again after this.
 */
export async function historyOf(
  call: Call<unknown>,
  row: SecretRow,
  newest: number,
  limit: number,
): Promise<History> {
  const { core, ask } = call;
  const { value_sealed: _, ...columns } = getTableColumns(secretVersions);
  const query = sqlite
    .select(columns)
    .from(secretVersions)
    .where(
      and(
        eq(secretVersions.org_id, ask.org),
        eq(secretVersions.secret_id, row.id),
        lte(secretVersions.version, newest),
        gte(secretVersions.version, row.oldest_version),
      ),
    )
    .orderBy(desc(secretVersions.version))
    .limit(limit + 1)
    .toSQL();
  const found = await core.database.all<History[number]>(query);
  const right = isRight(call);
  for (let number = newest, at = 0; number >= row.oldest_version && at <= limit; number--) {
    if (!hasVersion(row, number)) continue;
    const version = found[at++];
    if (version?.version !== number || !right(version)) miss(call, { secret: row.id, version: number });
  }
  return found;
}

export async function versions(call: Call<VersionsInput>): Promise<Outcome> {
  const { core, ask, input } = call;
  await caughtUp(core);
  const row = core.rows.get('secret', namedId(ask, 'secret'));
  if (!row || row.deleted_at !== null) return fail(refuse('NOT_FOUND'));
  const newest = Math.min(row.version, input.after === null ? row.version : Number(input.after) - 1);
  const found = await historyOf(call, row, newest, input.limit);
  // safety: versions-rechecked-after-fetch
  const refusal = call.recheck();
  if (refusal) return fail(refusal);
  const shown = found.slice(0, input.limit);
  return ok({
    items: shown.map((version) => versionOut(version, row.version)),
    next: found.length > input.limit ? String(shown.at(-1)?.version) : null,
  });
}
