// What holds of an org whenever nothing is under way: D1 and its gate hold the same rows, versions are
// without gaps, no ciphertext is left of a secret that is gone, what is counted is what there is, D1 gets all
// changes, and no alarm was raised where nobody altered anything.
import type { SecretRow } from '../../src/db/schema';
import { mirror } from '../../src/gate/journal/mirror';
import { inCore } from '../support/gate';
import { type Caller, db } from '../support/world';

interface Row {
  id: string;
  revision: number;
  mac: string;
}

const tables = {
  org: 'orgs',
  secret: 'secrets',
  credential: 'credentials',
  environment: 'environments',
  member: 'members',
  passkey: 'passkeys',
  team: 'teams',
  team_member: 'team_members',
  grant: 'grants',
  device: 'devices',
  policy: 'policies',
  approval: 'approvals',
  incident: 'incidents',
};

/** What does not hold, or null. `expected`: reasons of alarms where somebody altered rows. */
export async function problemOf(o: Caller, expected: string[] = []): Promise<string | null> {
  const isFollowed = await inCore(o, (core) => mirror(core).follow());
  if (!isFollowed) return 'D1 does not have all changes';
  const { rows, alarms, sealed, counted } = await inCore(o, (core) => {
    const { sql } = core.storage;
    const held = sql
      .exec<{ kind: string; body: string }>('select kind, body from rows where body is not null')
      .toArray();
    return {
      rows: held.map(({ kind, body }) => ({ kind, row: JSON.parse(body) as Row & SecretRow })),
      // Nobody has altered anything here, so that every alarm is a false one; that a gate loaded is no more
      // than news.
      alarms: sql
        .exec<{ reason: string }>(
          "select body ->> 'reason' reason from audit where action = 'integrity.alarm'",
        )
        .toArray()
        .filter(({ reason }) => reason !== 'gate_loaded_from_database' && !expected.includes(reason)),
      sealed: sql.exec<{ secret: string }>('select distinct secret from seals').toArray(),
      counted: { secrets: core.rows.count('secret'), bytes: core.rows.sealedBytes() },
    };
  });
  if (alarms.length) return `a false alarm: ${alarms.map(({ reason }) => reason)}`;
  for (const [kind, table] of Object.entries(tables)) {
    const owner = kind === 'org' ? 'id' : 'org_id';
    const stored = (
      await db.prepare(`select id, revision, mac from ${table} where ${owner} = ?`).bind(o.id).all<Row>()
    ).results;
    // Session tokens are in the gate alone.
    const held = rows
      .filter((one) => one.kind === kind && !one.row.id.startsWith('tok_'))
      .map(({ row }) => row);
    for (const row of held) {
      const there = stored.find(({ id }) => id === row.id);
      if (there?.revision !== row.revision || there.mac !== row.mac)
        return `D1 has ${JSON.stringify(there)}, the gate ${JSON.stringify(row)}`;
    }
    const more = stored.filter(({ id }) => !held.some((row) => row.id === id));
    if (more.length) return `D1 has ${JSON.stringify(more)}, the gate has not`;
  }
  const versions = (
    await db
      .prepare(
        'select secret_id, version, length(value_sealed) bytes from secret_versions where org_id = ? order by version',
      )
      .bind(o.id)
      .all<{ secret_id: string; version: number; bytes: number }>()
  ).results;
  const secrets = rows.filter(({ kind }) => kind === 'secret').map(({ row }) => row);
  const bytesOf = (list: typeof versions) => list.reduce((sum, { bytes }) => sum + bytes, 0);
  if (counted.secrets !== secrets.length)
    return `the gate counts ${counted.secrets} secrets of ${secrets.length}`;
  if (counted.bytes !== bytesOf(versions))
    return `the gate counts ${counted.bytes} sealed bytes of ${bytesOf(versions)}`;
  for (const { id, version, oldest_version, lost_versions, sealed_size } of secrets) {
    const own = versions.filter(({ secret_id }) => secret_id === id);
    if (sealed_size !== bytesOf(own))
      return `a secret at ${version} counts ${sealed_size} sealed bytes of ${bytesOf(own)}`;
    const kept = own.map((one) => one.version);
    const expected: number[] = [];
    for (let number = oldest_version; number <= version; number++)
      if (!lost_versions?.some(([first, last]) => number >= first && number <= last)) expected.push(number);
    if (kept.join() !== expected.join()) return `the versions of a secret at ${version} are ${kept}`;
  }
  const isGone = (secret: string) => !secrets.some(({ id }) => id === secret);
  if (versions.some(({ secret_id }) => isGone(secret_id)))
    return 'ciphertext is left of a secret that is gone';
  if (sealed.some(({ secret }) => isGone(secret)))
    return 'the gate keeps the ciphertext of a secret that is gone';
  return null;
}
