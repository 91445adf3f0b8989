// An organisation with every kind of row, what its callers are answered, and the attempts of somebody who
// writes D1 without the keys.

import { expect } from 'vitest';
import { fromBase64, fromUtf8 } from '../../../src/crypto/bytes';
import { gunzip } from '../../../src/crypto/gzip';
import type { Entry } from '../../../src/gate/audit/entry';
import { ciphertexts } from '../../../src/gate/journal/ciphertexts';
import { newAgent, newKey } from '../credentials';
import { inGate } from '../gate';
import { newPolicy } from '../governance/policies';
import { newDevice, newKeyPair, provenBy } from '../signin/device';
import { type Answer, type Caller, db, newOrg, newSecret } from '../world';

export type Row = Record<string, string | number | null>;
export const all = async (sql: string, ...params: unknown[]) =>
  (
    await db
      .prepare(sql)
      .bind(...params)
      .all<Row>()
  ).results;
export const run = (sql: string, ...params: unknown[]) =>
  db
    .prepare(sql)
    .bind(...params)
    .run();
export const put = (table: string, row: Row) =>
  run(
    `insert or replace into ${table} (${Object.keys(row)}) values (${Object.keys(row).map(() => '?')})`,
    ...Object.values(row),
  );

export const drop = (o: Caller) => inGate(o, (gate) => ciphertexts(gate.core).clear());

/** The alarms in an org's audit log, newest first, read past whatever the attack did to its callers. */
export async function alarms(o: Caller): Promise<Entry[]> {
  const here = await inGate(
    o,
    (gate) => gate.core.auditLog.newest({ action: 'integrity.alarm' }, 1e9, 100).entries,
  );
  const segments = await db
    .prepare('select entries from audit_segments where org_id = ? order by first_sequence desc')
    .bind(o.id)
    .all();
  const moved: Entry[] = [];
  for (const { entries } of segments.results) {
    const text = fromUtf8(await gunzip(fromBase64(entries as string) as Uint8Array)) as string;
    moved.push(
      ...(JSON.parse(text) as Entry[]).toReversed().filter(({ action }) => action === 'integrity.alarm'),
    );
  }
  return [...here, ...moved];
}

/** An org with every kind of row, callers of several ranks, and another org that shares the database. */
export async function world() {
  const o = await newOrg();
  const other = await newOrg();
  const a = await newSecret(o, { name: 'A', value: 'present value of a' });
  await o.patch(`/secrets/${a.id}`, { value: 'second value of a' });
  const b = await newSecret(o, { name: 'B', value: 'present value of b' });
  const staged = await newSecret(o, { name: 'S', environment: 'staging', value: 'present value of s' });
  const expired = await newSecret(o, { name: 'E', value: 'present value of e', ttlSeconds: 3600 });
  const theirs = await newSecret(other, { name: 'A', value: 'value of the other org' });
  const gone = await newSecret(o, { name: 'G', value: 'a destroyed value' });
  const deleted = await newSecret(o, { name: 'D', value: 'a deleted value' });
  const low = await newKey(o, { scopes: ['secrets:read'], environments: ['staging'], secrets: ['S'] });
  const bound = await newKey(o, { scopes: ['*'], allowed_addresses: ['203.0.113.0/24', '198.51.100.0/24'] });
  const dead = await newKey(o);
  const agent = await newAgent(o, { scopes: ['secrets:list'] });
  const { id: laptop, keys } = await newDevice(o);
  const { id: lost, keys: lostKeys } = await newDevice(o);
  const held = await newAgent(o, { device_id: laptop });
  const left = await newAgent(o, { device_id: lost });
  const thief = await newKeyPair();
  const devices = {
    laptop,
    lost,
    thief,
    held,
    by: { held: provenBy(held.o, keys), thief: provenBy(held.o, thief), lost: provenBy(left.o, lostKeys) },
  };
  const doomed = (await o.post('/environments', { name: 'doomed', slug: 'doomed' })).json as { id: string };
  const strict = await newPolicy(o, 'naming', { pattern: '^[A-Za-z]' });
  const loose = await newPolicy(o, 'naming', { pattern: '.' });
  const retired = await newPolicy(o, 'naming', { pattern: '^[A-Z_a-z]' });
  const tables = [
    'policies',
    'secrets',
    'secret_versions',
    'credentials',
    'environments',
    'orgs',
    'members',
    'devices',
    'org_keys',
  ];
  const before: Record<string, Row[]> = {};
  for (const table of tables)
    before[table] = await all(`select * from ${table} where ${table === 'orgs' ? 'id' : 'org_id'} = ?`, o.id);
  return {
    o,
    other,
    a,
    b,
    staged,
    expired,
    theirs,
    gone,
    deleted,
    low,
    bound,
    dead,
    agent,
    devices,
    doomed,
    strict,
    loose,
    retired,
    before,
  };
}
export type World = Awaited<ReturnType<typeof world>>;

/** What is to be compared: status, code and, where something was given out, the answer. */
const said = ({ status, json, text }: Answer) =>
  status < 400 ? [status, text] : [status, json?.error?.code ?? text];

/** Every way of asking, as every caller: nothing here changes anything. */
export async function asked({
  o,
  a,
  staged,
  expired,
  gone,
  deleted,
  low,
  bound,
  dead,
  agent,
  devices,
}: World) {
  const paths = {
    'owner reads a': () => o.get(`/secrets/${a.id}`),
    'owner reads the first version of a': () => o.get(`/secrets/${a.id}?version=1`),
    'owner reads a by name': () => o.get('/secrets/by-name/A'),
    'owner reads b by name': () => o.get('/secrets/by-name/B'),
    'owner reads staging': () => o.get('/secrets/by-name/S?environment=staging'),
    'owner reads what expires': () => o.get(`/secrets/${expired.id}`),
    'owner reads what was destroyed': () => o.get(`/secrets/${gone.id}`),
    'owner reads what was deleted': () => o.get(`/secrets/${deleted.id}`),
    'owner reads all': () => o.get('/environments/production/values'),
    'owner lists': () => o.get('/secrets'),
    'owner lists deleted ones': () => o.get('/secrets?status=deleted'),
    'owner lists versions': () => o.get(`/secrets/${a.id}/versions`),
    'owner lists environments': () => o.get('/environments'),
    'owner reads the org': () => o.get(''),
    'owner lists policies': () => o.get('/policies'),
    'owner gives a name against a policy': () => o.call('PUT', '/secrets/by-name/9', { value: 'v' }),
    'low reads its own': () => low.o.get(`/secrets/${staged.id}`),
    'low reads a': () => low.o.get(`/secrets/${a.id}`),
    'low reads b by name in staging': () => low.o.get('/secrets/by-name/B?environment=staging'),
    'low reads all of staging': () => low.o.get('/environments/staging/values'),
    'low lists': () => low.o.get('/secrets'),
    'low lists keys': () => low.o.get('/api-keys'),
    'bound from elsewhere': () => bound.o.get('/secrets', { 'CF-Connecting-IP': '198.51.100.9' }),
    'dead lists': () => dead.o.get('/secrets'),
    'agent reads a': () => agent.o.get(`/secrets/${a.id}`),
    'agent lists': () => agent.o.get('/secrets'),
    'device reads a': () => devices.by.held.get(`/secrets/${a.id}`),
    'thief reads a with a stolen token': () => devices.held.o.get(`/secrets/${a.id}`),
    'thief reads a with a stolen token and a key of their own': () =>
      devices.by.thief.get(`/secrets/${a.id}`),
    'lost device reads a': () => devices.by.lost.get(`/secrets/${a.id}`),
  };
  const answers: Record<string, unknown[]> = {};
  // What waits in the gate grows with each request.
  const withoutBacklog = (text: unknown) => String(text).replace(/,"backlog":\{[^}]*\}/, '');
  for (const [what, ask] of Object.entries(paths)) {
    const [status, text] = said(await ask());
    answers[what] = [status, withoutBacklog(text)];
  }
  return answers;
}

/** Whether a bulk read is that of before without the values that it names as unreadable. */
function lacksAltered([, was]: unknown[], [status, now]: unknown[]): boolean {
  const [before, after] = [was, now].map((text) =>
    String(text).includes('"versions"') ? JSON.parse(String(text)) : null,
  );
  if (status !== 200 || !before?.values || !after?.unreadable?.length) return false;
  const left = Object.entries(before.values).filter(([name]) => !after.unreadable.includes(name));
  return JSON.stringify(Object.entries(after.values)) === JSON.stringify(left);
}

/**
 * Each answer is as before, refused with 401 or 5xx, or lacks what it names as unreadable. Returns which are
 * not as before.
 */
export function expectNothingGained(
  before: Record<string, unknown[]>,
  after: Record<string, unknown[]>,
  why: string,
): string[] {
  const refused: string[] = [];
  for (const [what, answer] of Object.entries(after)) {
    if (JSON.stringify(answer) === JSON.stringify(before[what])) continue;
    const isRefused =
      answer[0] === 401 || (answer[0] as number) >= 500 || lacksAltered(before[what] as unknown[], answer);
    expect(isRefused, `${why}: ${what}: ${JSON.stringify(answer)}`).toBe(true);
    refused.push(what);
  }
  return refused;
}

export const TABLES = [
  'policies',
  'secrets',
  'secret_versions',
  'credentials',
  'environments',
  'orgs',
  'members',
  'devices',
  'org_keys',
  'journal_positions',
];
export const dump = async ({ o }: World) => {
  const rows = TABLES.map((table) =>
    all(`select * from ${table} where ${table === 'orgs' ? 'id' : 'org_id'} = ?`, o.id),
  );
  return JSON.stringify(await Promise.all(rows));
};

/** Changes after which older copies of rows are worth putting back. */
export async function moveOn({
  o,
  a,
  b,
  expired,
  gone,
  deleted,
  bound,
  dead,
  devices,
  doomed,
  loose,
  retired,
}: World) {
  await o.del(`/secrets/${gone.id}?permanent=true`);
  await o.del(`/secrets/${deleted.id}`);
  await o.patch(`/secrets/${a.id}`, { value: 'third value of a' });
  await o.patch(`/secrets/${b.id}`, { name: 'renamed' });
  await o.patch(`/secrets/${expired.id}`, { ttlSeconds: 1800 });
  await o.patch(`/api-keys/${bound.id}`, { allowed_addresses: ['203.0.113.0/24'] });
  await o.del(`/api-keys/${dead.id}`);
  await o.del(`/environments/${doomed.id}`);
  await o.patch(`/policies/${loose.id}`, { config: { pattern: '^[A-Z]' }, applies_to: { names: ['9'] } });
  await o.del(`/policies/${retired.id}`);
  await o.post(`/devices/${devices.lost}/block`);
}

export const putBack =
  (table: string, which: (row: Row, world: World) => boolean = () => true) =>
  async (world: World) => {
    for (const row of world.before[table] ?? []) if (which(row, world)) await put(table, row);
  };
export const set = (table: string, assignment: string, of: (world: World) => string) => (world: World) =>
  run(`update ${table} set ${assignment} where org_id = ?1 and id = ?2`, world.o.id, of(world));
export const seal = 'seal_id, value_sealed, fingerprint, size, created_by, created_at, mac';
const move =
  (from: (w: World) => [string, string, number], to: (w: World) => [string, string, number]) => (w: World) =>
    run(
      `update secret_versions set (${seal}) = (select ${seal} from secret_versions where org_id = ?1 and secret_id = ?2 and version = ?3)
     where org_id = ?4 and secret_id = ?5 and version = ?6`,
      ...from(w),
      ...to(w),
    );

/**
 * `alarm`: an alarm is raised where D1 has to be asked (its ciphertexts are out of the gate), which then
 * refuses.
 */
export const attempts: Record<string, { attempt: (world: World) => unknown; alarm?: true }> = {
  'a ciphertext moved to another secret': {
    attempt: move(
      (w) => [w.o.id, w.b.id, 1],
      (w) => [w.o.id, w.a.id, 3],
    ),
    alarm: true,
  },
  'a ciphertext moved to another version': {
    attempt: move(
      (w) => [w.o.id, w.a.id, 1],
      (w) => [w.o.id, w.a.id, 3],
    ),
    alarm: true,
  },
  'a ciphertext moved to another environment': {
    attempt: move(
      (w) => [w.o.id, w.a.id, 3],
      (w) => [w.o.id, w.staged.id, 1],
    ),
    alarm: true,
  },
  'a ciphertext of another organisation': {
    attempt: move(
      (w) => [w.other.id, w.theirs.id, 1],
      (w) => [w.o.id, w.a.id, 3],
    ),
    alarm: true,
  },
  'only the ciphertext of another version': {
    attempt: (w) =>
      run(
        'update secret_versions set value_sealed = (select value_sealed from secret_versions where secret_id = ?1 and version = 1) where secret_id = ?1 and version = 3',
        w.a.id,
      ),
    alarm: true,
  },
  'a ciphertext that is cut': {
    attempt: (w) =>
      run(
        'update secret_versions set value_sealed = substr(value_sealed, 1, 60) where secret_id = ?',
        w.a.id,
      ),
    alarm: true,
  },
  'all ciphertexts deleted': {
    attempt: (w) => run('delete from secret_versions where org_id = ?', w.o.id),
    alarm: true,
  },
  'a version renumbered': {
    attempt: (w) => run('update secret_versions set version = 4 where secret_id = ? and version = 3', w.a.id),
    alarm: true,
  },
  'names of two secrets swapped': {
    attempt: async (w) => {
      await set('secrets', "name = 'tmp'", () => w.a.id)(w);
      await set('secrets', "name = 'A'", () => w.b.id)(w);
      await set('secrets', "name = 'B'", () => w.a.id)(w);
    },
  },
  'environments of two secrets swapped': {
    attempt: (w) =>
      run(
        'update secrets set environment_id = (select environment_id from secrets x where x.id = iif(secrets.id = ?1, ?2, ?1)) where id in (?1, ?2)',
        w.a.id,
        w.staged.id,
      ),
  },
  'a secret moved into reach of a bounded caller': {
    attempt: set(
      'secrets',
      "environment_id = (select environment_id from secrets x where x.name = 'S' and x.org_id = ?1), name = 'S2'",
      (w) => w.a.id,
    ),
  },
  'an older row of a secret, its version number lowered': {
    attempt: putBack('secrets', (row, w) => row.id === w.a.id),
  },
  'an older row and version row, both with their own MACs': {
    attempt: async (w) => {
      await putBack('secrets', (row) => row.id === w.a.id)(w);
      await putBack('secret_versions', (row) => row.secret_id === w.a.id)(w);
      await run('delete from secret_versions where secret_id = ? and version = 3', w.a.id);
    },
    alarm: true,
  },
  'a secret before its rename': { attempt: putBack('secrets', (row, w) => row.id === w.b.id) },
  'a destroyed secret, row and ciphertext': {
    attempt: async (w) => {
      await putBack('secrets', (row) => row.id === w.gone.id)(w);
      await putBack('secret_versions', (row) => row.secret_id === w.gone.id)(w);
    },
  },
  'a deleted secret': { attempt: putBack('secrets', (row, w) => row.id === w.deleted.id) },
  'a secret before its expiry was shortened': {
    attempt: putBack('secrets', (row, w) => row.id === w.expired.id),
  },
  'a credential before its revocation': { attempt: putBack('credentials', (row, w) => row.id === w.dead.id) },
  'a credential before its addresses were narrowed': {
    attempt: putBack('credentials', (row, w) => row.id === w.bound.id),
  },
  'an environment before its deletion': {
    attempt: putBack('environments', (row, w) => row.id === w.doomed.id),
  },
  'a policy disabled by hand': { attempt: set('policies', 'enabled = 0', (w) => w.strict.id) },
  'a policy that applies to nothing': { attempt: set('policies', `names = '["none"]'`, (w) => w.strict.id) },
  'a policy with another pattern': {
    attempt: set('policies', `config = '{"pattern":"."}'`, (w) => w.strict.id),
  },
  'all policies deleted': { attempt: (w) => run('delete from policies where org_id = ?', w.o.id) },
  'all policies given to another organisation': {
    attempt: (w) => run('update policies set org_id = ? where org_id = ?', w.other.id, w.o.id),
  },
  'a policy before it was changed': { attempt: putBack('policies', (row, w) => row.id === w.loose.id) },
  'a policy before its deletion': { attempt: putBack('policies', (row, w) => row.id === w.retired.id) },
  'every older row at once': {
    attempt: async (w) => {
      for (const table of [
        'policies',
        'secrets',
        'secret_versions',
        'credentials',
        'environments',
        'orgs',
        'members',
        'devices',
      ])
        await putBack(table)(w);
    },
  },
  'a credential un-revoked by hand': { attempt: set('credentials', 'revoked_at = null', (w) => w.dead.id) },
  'a credential with all scopes': {
    attempt: set('credentials', `scopes = '["*"]', environments = null, secrets = null`, (w) => w.low.id),
  },
  'a credential without addresses': {
    attempt: set('credentials', 'allowed_addresses = null', (w) => w.bound.id),
  },
  'a device with the key of a thief': {
    attempt: (w) =>
      run(
        'update devices set public_key = ? where org_id = ? and id = ?',
        JSON.stringify(w.devices.thief.jwk),
        w.o.id,
        w.devices.laptop,
      ),
  },
  'a device unblocked by hand': { attempt: set('devices', 'blocked_at = null', (w) => w.devices.lost) },
  'a device before it was blocked': { attempt: putBack('devices', (row, w) => row.id === w.devices.lost) },
  'a device deleted': {
    attempt: (w) => run('delete from devices where org_id = ? and id = ?', w.o.id, w.devices.laptop),
  },
  'a credential without its device': {
    attempt: set('credentials', 'device_id = null', (w) => w.devices.held.id),
  },
  'a credential that is bound to another device': {
    attempt: (w) =>
      run(
        'update credentials set device_id = ? where org_id = ? and id = ?',
        w.devices.lost,
        w.o.id,
        w.devices.held.id,
      ),
  },
  'a credential with a longer life and a higher rate': {
    attempt: set(
      'credentials',
      'expires_at = expires_at * 2, rate_limit = 1000000, dies_with = null',
      (w) => w.agent.id,
    ),
  },
  'the hashes of a strong and a weak credential swapped': {
    attempt: async (w) => {
      const hash = Object.fromEntries(
        (await all('select id, token_hash from credentials where org_id = ?', w.o.id)).map((r) => [
          r.id,
          r.token_hash,
        ]),
      );
      await set('credentials', "token_hash = 'tmp'", () => w.low.id)(w);
      await run('update credentials set token_hash = ? where id = ?', hash[w.low.id] as string, w.o.keyId);
      await run('update credentials set token_hash = ? where id = ?', hash[w.o.keyId] as string, w.low.id);
    },
  },
  'the slugs of environments swapped, and the default one changed': {
    attempt: async (w) => {
      await run("update environments set slug = 'x' where org_id = ? and slug = 'production'", w.o.id);
      await run("update environments set slug = 'production' where org_id = ? and slug = 'staging'", w.o.id);
      await run("update environments set slug = 'staging' where org_id = ? and slug = 'x'", w.o.id);
      await run(
        "update orgs set default_environment = (select id from environments where org_id = ?1 and slug = 'production') where id = ?1",
        w.o.id,
      );
    },
  },
  'every row of the org deleted': {
    attempt: async (w) => {
      for (const table of [
        'policies',
        'secrets',
        'credentials',
        'environments',
        'members',
        'devices',
        'journal_positions',
      ])
        await run(`delete from ${table} where org_id = ?`, w.o.id);
      await run('delete from orgs where id = ?', w.o.id);
    },
  },
  'every row of the org given to another': {
    attempt: async (w) => {
      for (const table of ['secrets', 'secret_versions', 'credentials'])
        await run(`update ${table} set org_id = ? where org_id = ?`, w.other.id, w.o.id);
    },
    alarm: true,
  },
};
