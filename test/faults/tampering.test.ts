// Who may read and write every row of D1, but has neither a key nor a gate's storage, gains nothing: no value leaves but the one that is
// right, no credential can do more, and an altered row that is used is refused with an alarm in the log and in the org's audit log.
// The first org is tampered with; after each attempt the answers of all its callers are compared with those from before.
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { newToken } from '../../src/auth/token';
import { fromBase64, fromUtf8, toBase64, utf8 } from '../../src/crypto/bytes';
import { gunzip, gzip } from '../../src/crypto/gzip';
import { newId } from '../../src/db/ids';
import type { SecretRow, ShareRow, VersionRow } from '../../src/db/schema';
import { type Entry, hashOf } from '../../src/gate/audit-entry';
import { runTasks } from '../../src/gate/tasks';
import { newKey, newSession } from '../support/credentials';
import { newDevice, newKeyPair, provenBy } from '../support/device';
import { faults } from '../support/faults';
import { evict, inGate, loseStorage } from '../support/gate';
import { newPolicy } from '../support/policies';
import { sampled } from '../support/sampled';
import { newLink, view } from '../support/shares';
import { type Answer, type Caller, db, newOrg, newSecret, useWorld } from '../support/world';

useWorld();

type Row = Record<string, string | number | null>;
const all = async (sql: string, ...params: unknown[]) =>
  (
    await db
      .prepare(sql)
      .bind(...params)
      .all<Row>()
  ).results;
const run = (sql: string, ...params: unknown[]) =>
  db
    .prepare(sql)
    .bind(...params)
    .run();
const put = (table: string, row: Row) =>
  run(`insert or replace into ${table} (${Object.keys(row)}) values (${Object.keys(row).map(() => '?')})`, ...Object.values(row));

const drop = (o: Caller) => inGate(o, (gate) => gate.core.ciphertexts.clear());

/** In which state the service meets the attempt. */
const states: Record<string, (o: Caller) => unknown> = {
  'all is warm': () => {},
  'its gate is evicted': (o) => evict(o),
  'an isolate without keys': () => faults.isolate++,
  'its ciphertexts are out of the gate': drop,
  'all but storage is cold': async (o) => {
    await drop(o);
    await evict(o);
    faults.isolate++;
  },
};

let logged: string[] = [];
beforeEach(() => {
  logged = [];
  vi.spyOn(console, 'error').mockImplementation((line) => void logged.push(String(line)));
});
afterEach(() => void vi.restoreAllMocks());
const events = () => logged.map((line) => JSON.parse(line).event as string);

/** The alarms in an org's audit log, newest first, read past whatever the attack did to its callers. */
const alarms = (o: Caller) => inGate(o, (gate) => gate.core.auditLog.newest({ action: 'integrity.alarm' }, 1e9, 100).entries);

/** An org with every kind of row, callers of several ranks, and another org that shares the database. */
async function world() {
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
  const session = await newSession(o, { scopes: ['secrets:list'] });
  const { id: laptop, keys } = await newDevice(o);
  const { id: lost, keys: lostKeys } = await newDevice(o);
  const [held, left] = [await newSession(o, { device_id: laptop }), await newSession(o, { device_id: lost })];
  const thief = await newKeyPair();
  const devices = {
    ...{ laptop, lost, thief, held },
    by: { held: provenBy(held.o, keys), thief: provenBy(held.o, thief), lost: provenBy(left.o, lostKeys) },
  };
  const doomed = (await o.post('/environments', { name: 'doomed', slug: 'doomed' })).json as { id: string };
  const strict = await newPolicy(o, 'naming', { pattern: '^[A-Za-z]' });
  const loose = await newPolicy(o, 'naming', { pattern: '.' });
  const retired = await newPolicy(o, 'naming', { pattern: '^[A-Z_a-z]' });
  const tables = ['policies', 'secrets', 'secret_versions', 'credentials', 'environments', 'orgs', 'members', 'devices', 'org_keys'];
  const before: Record<string, Row[]> = {};
  for (const table of tables) before[table] = await all(`select * from ${table} where ${table === 'orgs' ? 'id' : 'org_id'} = ?`, o.id);
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
    session,
    devices,
    doomed,
    strict,
    loose,
    retired,
    before,
  };
}
type World = Awaited<ReturnType<typeof world>>;

/** What is to be compared: status, code and, where something was given out, the answer. */
const said = ({ status, json, text }: Answer) => (status < 400 ? [status, text] : [status, json?.error?.code ?? text]);

/** Every way of asking, as every caller: nothing here changes anything. */
async function asked({ o, a, staged, expired, gone, deleted, low, bound, dead, session, devices }: World) {
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
    'session reads a': () => session.o.get(`/secrets/${a.id}`),
    'session lists': () => session.o.get('/secrets'),
    'device reads a': () => devices.by.held.get(`/secrets/${a.id}`),
    'thief reads a with a stolen token': () => devices.held.o.get(`/secrets/${a.id}`),
    'thief reads a with a stolen token and a key of their own': () => devices.by.thief.get(`/secrets/${a.id}`),
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
  const [before, after] = [was, now].map((text) => (String(text).includes('"values"') ? JSON.parse(String(text)) : null));
  if (status !== 200 || !before?.values || !after?.unreadable?.length) return false;
  const left = Object.entries(before.values).filter(([name]) => !after.unreadable.includes(name));
  return JSON.stringify(Object.entries(after.values)) === JSON.stringify(left);
}

/** Each answer is as before, refused with 401 or 5xx, or lacks what it names as unreadable. Returns which are not as before. */
function expectNothingGained(before: Record<string, unknown[]>, after: Record<string, unknown[]>, why: string): string[] {
  const refused: string[] = [];
  for (const [what, answer] of Object.entries(after)) {
    if (JSON.stringify(answer) === JSON.stringify(before[what])) continue;
    const isRefused = answer[0] === 401 || (answer[0] as number) >= 500 || lacksAltered(before[what] as unknown[], answer);
    expect(isRefused, `${why}: ${what}: ${JSON.stringify(answer)}`).toBe(true);
    refused.push(what);
  }
  return refused;
}

const TABLES = [
  'policies',
  'secrets',
  'secret_versions',
  'credentials',
  'environments',
  'orgs',
  'members',
  'devices',
  'org_keys',
  'fences',
  'commits',
];
const dump = async ({ o }: World) => {
  const rows = TABLES.map((table) => all(`select * from ${table} where ${table === 'orgs' ? 'id' : 'org_id'} = ?`, o.id));
  return JSON.stringify(await Promise.all(rows));
};

/** Changes after which older copies of rows are worth putting back. */
async function moveOn({ o, a, b, expired, gone, deleted, bound, dead, devices, doomed, loose, retired }: World) {
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

const putBack =
  (table: string, which: (row: Row, world: World) => boolean = () => true) =>
  async (world: World) => {
    for (const row of world.before[table] ?? []) if (which(row, world)) await put(table, row);
  };
const set = (table: string, assignment: string, of: (world: World) => string) => (world: World) =>
  run(`update ${table} set ${assignment} where org_id = ?1 and id = ?2`, world.o.id, of(world));
const seal = 'seal_id, value_sealed, fingerprint, size, created_by, created_at, mac';
const move = (from: (w: World) => [string, string, number], to: (w: World) => [string, string, number]) => (w: World) =>
  run(
    `update secret_versions set (${seal}) = (select ${seal} from secret_versions where org_id = ?1 and secret_id = ?2 and version = ?3)
     where org_id = ?4 and secret_id = ?5 and version = ?6`,
    ...from(w),
    ...to(w),
  );

/** `alarm`: an alarm is raised where D1 has to be asked (its ciphertexts are out of the gate), which then refuses. */
const attempts: Record<string, { attempt: (world: World) => unknown; alarm?: true }> = {
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
    attempt: (w) => run('update secret_versions set value_sealed = substr(value_sealed, 1, 60) where secret_id = ?', w.a.id),
    alarm: true,
  },
  'all ciphertexts deleted': { attempt: (w) => run('delete from secret_versions where org_id = ?', w.o.id), alarm: true },
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
  'an older row of a secret, its version number lowered': { attempt: putBack('secrets', (row, w) => row.id === w.a.id) },
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
  'a secret before its expiry was shortened': { attempt: putBack('secrets', (row, w) => row.id === w.expired.id) },
  'a credential before its revocation': { attempt: putBack('credentials', (row, w) => row.id === w.dead.id) },
  'a credential before its addresses were narrowed': { attempt: putBack('credentials', (row, w) => row.id === w.bound.id) },
  'an environment before its deletion': { attempt: putBack('environments', (row, w) => row.id === w.doomed.id) },
  'a policy disabled by hand': { attempt: set('policies', 'enabled = 0', (w) => w.strict.id) },
  'a policy that applies to nothing': { attempt: set('policies', `names = '["none"]'`, (w) => w.strict.id) },
  'a policy with another pattern': { attempt: set('policies', `config = '{"pattern":"."}'`, (w) => w.strict.id) },
  'all policies deleted': { attempt: (w) => run('delete from policies where org_id = ?', w.o.id) },
  'all policies given to another organisation': {
    attempt: (w) => run('update policies set org_id = ? where org_id = ?', w.other.id, w.o.id),
  },
  'a policy before it was changed': { attempt: putBack('policies', (row, w) => row.id === w.loose.id) },
  'a policy before its deletion': { attempt: putBack('policies', (row, w) => row.id === w.retired.id) },
  'every older row at once': {
    attempt: async (w) => {
      for (const table of ['policies', 'secrets', 'secret_versions', 'credentials', 'environments', 'orgs', 'members', 'devices'])
        await putBack(table)(w);
    },
  },
  'a credential un-revoked by hand': { attempt: set('credentials', 'revoked_at = null', (w) => w.dead.id) },
  'a credential with all scopes': { attempt: set('credentials', `scopes = '["*"]', environments = null, secrets = null`, (w) => w.low.id) },
  'a credential without addresses': { attempt: set('credentials', 'allowed_addresses = null', (w) => w.bound.id) },
  'a device with the key of a thief': {
    attempt: (w) =>
      run('update devices set public_key = ? where org_id = ? and id = ?', JSON.stringify(w.devices.thief.jwk), w.o.id, w.devices.laptop),
  },
  'a device unblocked by hand': { attempt: set('devices', 'blocked_at = null', (w) => w.devices.lost) },
  'a device before it was blocked': { attempt: putBack('devices', (row, w) => row.id === w.devices.lost) },
  'a device deleted': { attempt: (w) => run('delete from devices where org_id = ? and id = ?', w.o.id, w.devices.laptop) },
  'a credential without its device': { attempt: set('credentials', 'device_id = null', (w) => w.devices.held.id) },
  'a credential that is bound to another device': {
    attempt: (w) => run('update credentials set device_id = ? where org_id = ? and id = ?', w.devices.lost, w.o.id, w.devices.held.id),
  },
  'a credential with a longer life and a higher rate': {
    attempt: set('credentials', 'expires_at = expires_at * 2, rate_limit = 1000000, dies_with = null', (w) => w.session.id),
  },
  'the hashes of a strong and a weak credential swapped': {
    attempt: async (w) => {
      const hash = Object.fromEntries(
        (await all('select id, token_hash from credentials where org_id = ?', w.o.id)).map((r) => [r.id, r.token_hash]),
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
      for (const table of ['policies', 'secrets', 'credentials', 'environments', 'members', 'devices', 'fences', 'commits'])
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

describe('tampering: who writes D1 without the keys gains nothing', () => {
  it.each(sampled(Object.entries(attempts), 12))('by %s', async (what, { attempt, alarm }) => {
    const w = await world();
    await moveOn(w);
    const before = await asked(w);
    expect(before['owner reads a']?.[0]).toBe(200);
    expect([before['low reads a']?.[0], before['dead lists']?.[0], before['bound from elsewhere']?.[0]]).toEqual([403, 401, 403]);
    const byDevice = ['device reads a', 'thief reads a with a stolen token and a key of their own', 'lost device reads a'];
    expect(byDevice.map((what) => before[what]?.[0])).toEqual([200, 401, 401]);
    expect(logged).toEqual([]);
    const stood = await dump(w);
    await attempt(w);
    expect(await dump(w)).not.toBe(stood);
    for (const [state, reach] of Object.entries(states)) {
      logged = [];
      await reach(w.o);
      const why = `${what}, ${state}`;
      const refused = expectNothingGained(before, await asked(w), why);
      if (!alarm) expect([refused, events()], why).toEqual([[], []]);
      // Who lists versions asks D1 in any state.
      if (refused.length) expect(events().length, why).toBeGreaterThan(0);
      if (alarm && /out of|cold/.test(state)) expect(refused.length, why).toBeGreaterThan(0);
    }
    const entries = await alarms(w.o);
    expect(entries.length > 0).toBe(alarm === true);
    expect(entries.every(({ actor, status }) => actor.kind === 'system' && status === 500)).toBe(true);
  });
});

describe('tampering: a purged secret that was put back', () => {
  it('cannot be read, listed or restored', async () => {
    const w = await world();
    await moveOn(w);
    await putBack('secrets', (row) => row.id === w.gone.id)(w);
    await putBack('secret_versions', (row) => row.secret_id === w.gone.id)(w);
    expect((await w.o.post(`/secrets/${w.gone.id}/restore`)).status).toBe(404);
    expect((await w.o.post(`/secrets/${w.gone.id}/rollback`, { version: 1 })).status).toBe(404);
    expect((await w.o.get('/secrets?status=deleted')).text).not.toContain(w.gone.id);
  });
});

describe('tampering: an altered value in D1', () => {
  it('is returned again as soon as D1 is corrected; the integrity violation names secret and request', async () => {
    const w = await world();
    const [right] = await all('select value_sealed from secret_versions where secret_id = ? and version = 2', w.a.id);
    await run('update secret_versions set value_sealed = ? where secret_id = ? and version = 2', 'AAAA', w.a.id);
    await drop(w.o);
    const refused = await w.o.get(`/secrets/${w.a.id}`);
    expect([refused.status, refused.json.error.code]).toEqual([500, 'INTERNAL']);
    expect(events()).toEqual(['value_does_not_open']);
    const { json } = await w.o.get('/audit-log?action=integrity.alarm');
    expect(json.data.length).toBe(1);
    expect(json.data[0]).toMatchObject({
      actor: { kind: 'system', id: 'system' },
      resource: w.a.id,
      reason: 'value_does_not_open',
      outcome: 'failed',
      status: refused.status,
      request_id: refused.headers.get('request-id'),
    });
    await run('update secret_versions set value_sealed = ? where secret_id = ? and version = 2', right?.value_sealed, w.a.id);
    expect((await w.o.get(`/secrets/${w.a.id}`)).json.value).toBe('second value of a');
    expect((await w.o.get('/audit-log/verify')).json.ok).toBe(true);
  });

  it('can become the current version by a rollback, and is then not decrypted; earlier versions stay readable', async () => {
    const w = await world();
    await run("update secret_versions set value_sealed = 'AAAA' where secret_id = ? and version = 1", w.a.id);
    await drop(w.o);
    expect((await w.o.post(`/secrets/${w.a.id}/rollback`, { version: 1 })).json.version).toBe(3);
    expect((await w.o.get(`/secrets/${w.a.id}`)).status).toBe(500);
    expect((await w.o.get(`/secrets/${w.a.id}?version=2`)).json.value).toBe('second value of a');
  });

  it('raises one integrity violation a request, however many values are altered', async () => {
    const w = await world();
    await run("update secret_versions set mac = 'x' where org_id = ?", w.o.id);
    await drop(w.o);
    const { values, unreadable } = (await w.o.get('/environments/production/values')).json;
    expect([values, unreadable]).toEqual([{}, ['A', 'B', 'D', 'E', 'G']]);
    expect((await w.o.get(`/secrets/${w.a.id}`)).status).toBe(500);
    expect((await alarms(w.o)).length).toBe(2);
  });

  it('raises none while the secret is being purged', async () => {
    const w = await world();
    faults.delay = 20;
    for (let i = 0; i < 10; i++) {
      const { id } = await newSecret(w.o);
      await drop(w.o);
      const [destroyed, ...reads] = await Promise.all([
        w.o.del(`/secrets/${id}?permanent=true`),
        ...Array.from({ length: 4 }, () => w.o.get(`/secrets/${id}`)),
        w.o.get(`/secrets/${id}/versions`),
      ]);
      expect(destroyed?.status).toBe(204);
      expect(reads.every(({ status }) => [200, 404, 503].includes(status))).toBe(true);
    }
    expect(events()).toEqual([]);
  });
});

describe('tampering: a secret or version that was altered in the storage of its gate', () => {
  it.each(['row', 'version'] as const)('is not decrypted by the Worker: its %s', async (which) => {
    const w = await world();
    await inGate(w.o, ({ core }) => {
      const row = core.rows.get('secret', w.a.id) as SecretRow;
      const version = core.ciphertexts.get(w.a.id, row.version, 0) as VersionRow;
      if (which === 'row') core.rows.put('secret', { ...row, name: 'ELSE' });
      else {
        core.ciphertexts.drop(w.a.id);
        core.ciphertexts.keep({ ...version, created_by: 'key_else' }, 0);
      }
    });
    expect((await w.o.get(`/secrets/${w.a.id}`)).json.error.code).toBe('INTERNAL');
    expect(events()).toEqual(['value_does_not_open']);
  });

  it("is not decrypted by the Worker: another organisation's, which the Worker has just decrypted for it", async () => {
    const w = await world();
    expect((await w.other.get(`/secrets/${w.theirs.id}`)).status).toBe(200);
    const theirs = await inGate(w.other, ({ core }) => ({
      row: core.rows.get('secret', w.theirs.id) as SecretRow,
      version: core.ciphertexts.get(w.theirs.id, 1, 0) as VersionRow,
    }));
    await inGate(w.o, ({ core }) => {
      core.rows.put('secret', theirs.row);
      core.ciphertexts.keep(theirs.version, 0);
    });
    expect((await w.o.get(`/secrets/${w.theirs.id}`)).json.error.code).toBe('INTERNAL');
    expect(events()).toEqual(['value_does_not_open']);
  });
});

describe('tampering: a change that meets an altered D1', () => {
  const patch = (w: World) => w.o.patch(`/secrets/${w.a.id}`, { value: 'never' });
  const cases: Record<string, { attempt: (w: World) => unknown; change: (w: World) => Promise<Answer>; names: (w: World) => string }> = {
    'a secret put back to an older row': {
      attempt: async (w) => {
        await w.o.patch(`/secrets/${w.a.id}`, { description: 'newer' });
        await putBack('secrets', (row) => row.id === w.a.id)(w);
      },
      change: patch,
      names: (w) => w.a.id,
    },
    'a row raised to the revision that comes next': {
      attempt: (w) => run('update secrets set revision = revision + 1 where id = ?', w.a.id),
      change: patch,
      names: (w) => w.a.id,
    },
    'a deleted row': { attempt: (w) => run('delete from secrets where id = ?', w.a.id), change: patch, names: (w) => w.a.id },
    'a row of another organisation': {
      attempt: (w) => run('update secrets set org_id = ? where id = ?', w.other.id, w.a.id),
      change: patch,
      names: (w) => w.a.id,
    },
    'a version that is there already': {
      attempt: (w) =>
        run(
          `insert into secret_versions (org_id, secret_id, version, ${seal}) select org_id, secret_id, 3, ${seal} from secret_versions where secret_id = ? and version = 1`,
          w.a.id,
        ),
      change: patch,
      names: (w) => w.a.id,
    },
    'a raised fence': {
      attempt: (w) => run('update fences set epoch = epoch + 5 where org_id = ?', w.o.id),
      change: patch,
      names: (w) => w.a.id,
    },
    'a fence raised by one': {
      attempt: (w) => run('update fences set epoch = epoch + 1 where org_id = ?', w.o.id),
      change: patch,
      names: (w) => w.a.id,
    },
    'a lowered fence': { attempt: (w) => run('update fences set epoch = 0 where org_id = ?', w.o.id), change: patch, names: (w) => w.a.id },
    'no fence': { attempt: (w) => run('delete from fences where org_id = ?', w.o.id), change: patch, names: (w) => w.a.id },
    'a name that a planted row takes': {
      attempt: (w) => run("update secrets set name = 'planted' where id = ?", w.b.id),
      change: (w) => w.o.post('/secrets', { name: 'planted', type: 'generic', value: 'v' }),
      names: () => '',
    },
    'a credential that is to be revoked': {
      attempt: (w) => run('update credentials set revision = 7 where id = ?', w.low.id),
      change: (w) => w.o.del(`/api-keys/${w.low.id}`),
      names: (w) => w.low.id,
    },
    'the org': {
      attempt: (w) => run('update orgs set revision = 9 where id = ?', w.o.id),
      change: (w) => w.o.patch('', { name: 'new' }),
      names: (w) => w.o.id,
    },
    'a policy that is to be changed': {
      attempt: (w) => run('update policies set revision = 9, enabled = 0 where id = ?', w.strict.id),
      change: (w) => w.o.patch(`/policies/${w.strict.id}`, { name: 'new' }),
      names: (w) => w.strict.id,
    },
    'an environment': {
      attempt: (w) => run('update environments set revision = 9 where id = ?', w.doomed.id),
      change: (w) => w.o.patch('/environments/doomed', { name: 'new' }),
      names: (w) => w.doomed.id,
    },
  };
  it.each(Object.entries(cases))('is refused with an integrity violation: %s', async (_what, { attempt, change, names }) => {
    const w = await world();
    await attempt(w);
    const before = await asked(w);
    const answer = await change(w);
    expect([answer.status, answer.json.error.code]).toEqual([503, 'UNAVAILABLE']);
    expect(events()).toContain('database_diverged');
    const [alarm, ...more] = await alarms(w.o);
    expect(alarm).toMatchObject({ reason: 'database_diverged', status: answer.status, request_id: answer.headers.get('request-id') });
    if (names(w)) expect(alarm?.resource).toBe(names(w));
    expect(more.filter(({ reason }) => reason === 'database_diverged')).toEqual([]);
    expect(expectNothingGained(before, await asked(w), _what)).toEqual([]);
  });
});

describe('tampering: a commit in doubt', () => {
  /** A revocation whose outcome the gate does not learn: its batch takes effect, or not, and D1 is away from then on. */
  const inDoubt = async (w: World, effect: 'before' | 'after') => {
    faults.fail = (kind, n) => (n === 1 && kind === 'batch' ? effect : 'before');
    faults.d1 = 0;
    const answer = await w.o.del(`/api-keys/${w.low.id}`);
    expect(answer.status).toBe(503);
    faults.fail = null;
    return answer.headers.get('request-id') as string;
  };

  it('with a deleted marker counts as not done, as it was answered, and the next change raises the integrity violation', async () => {
    const w = await world();
    const id = await inDoubt(w, 'after');
    expect((await run('delete from commits where id = ?', id)).meta.changes).toBe(1);
    expect((await w.low.o.get(`/secrets/${w.staged.id}`)).status).toBe(200);
    expect((await w.low.o.get(`/secrets/${w.a.id}`)).status).toBe(403);
    expect((await w.o.del(`/api-keys/${w.low.id}`)).status).toBe(503);
    expect((await alarms(w.o)).map(({ reason, resource }) => [reason, resource])).toEqual([['database_diverged', w.low.id]]);
  });

  it('with a forged marker counts as done, as its caller asked, and gains nothing', async () => {
    const w = await world();
    const id = await inDoubt(w, 'before');
    await run('insert into commits (id, org_id, holds, created_at) values (?, ?, 1, 0)', id, w.o.id);
    expect((await w.low.o.get(`/secrets/${w.staged.id}`)).json.error.code).toBe('TOKEN_REVOKED');
  });
});

describe('tampering: a credential in D1 that the gate does not know', () => {
  it('is refused: planted without a genuine tag, for another org, put back after its end, or altered', async () => {
    const w = await world();
    const [own] = await all('select * from credentials where id = ?', w.o.keyId);
    const forged = newToken('api_key', w.o.id, new Uint8Array(32));
    const plant = (hash: string, more: Row = {}) =>
      put('credentials', { ...(own as Row), id: `key_${crypto.randomUUID()}`, token_hash: hash, ...more });
    await plant(forged.hash);
    expect((await w.o.as(forged.token).get('/secrets')).json.error.code).toBe('UNAUTHENTICATED');
    const [foreign] = await all('select token_hash from credentials where id = ?', w.other.keyId);
    await plant(foreign?.token_hash as string);
    expect((await w.o.as(w.other.token).get(`/secrets/${w.a.id}`)).json.error.code).toBe('NOT_FOUND');
    expect(events()).toEqual([]);

    const purge = (token: World['dead']) =>
      inGate(w.o, (gate) => gate.core.storage.transactionSync(() => gate.core.rows.bury('credential', token.id, Date.now())));
    await purge(w.dead);
    expect((await w.dead.o.get('/secrets')).json.error.code).toBe('UNAUTHENTICATED');
    await purge(w.low);
    await run(`update credentials set scopes = '["*"]', environments = null, secrets = null where id = ?`, w.low.id);
    expect((await w.low.o.get(`/secrets/${w.a.id}`)).json.error.code).toBe('UNAUTHENTICATED');
    expect((await alarms(w.o)).map(({ reason, resource }) => [reason, resource])).toEqual([
      ['credential_altered', w.low.id],
      ['credential_put_back', w.dead.id],
    ]);
    const session = newId('tok');
    expect((await w.o.del(`/access-tokens/${session}`)).status).toBe(404);
    await put('credentials', { ...(own as Row), id: session, kind: 'session', token_hash: 'x' });
    expect((await w.o.del(`/access-tokens/${session}`)).status).toBe(404);
  });
});

describe('tampering: wrapped keys', () => {
  it('that are swapped between organisations, replaced or deleted unwrap nothing, and the log says so', async () => {
    const w = await world();
    const before = await asked(w);
    const keys = await all('select * from org_keys where org_id in (?, ?)', w.o.id, w.other.id);
    const [deployment] = await all('select * from deployment_keys');
    const [mine, theirs] = [w.o.id, w.other.id].map((id) => keys.find(({ org_id }) => org_id === id) as Row);
    const refused = async (event: string, answer: unknown[]) => {
      faults.isolate++;
      logged = [];
      const after = await asked(w);
      for (const [what, got] of Object.entries(after)) expect(got, what).toEqual(answer);
      expect(new Set(events())).toEqual(new Set([event]));
    };
    await put('org_keys', { ...(mine as Row), key_sealed: theirs?.key_sealed as string });
    await put('org_keys', { ...(theirs as Row), key_sealed: mine?.key_sealed as string });
    await refused('wrapped_key_does_not_open', [503, 'MISCONFIGURED']);
    await put('org_keys', { ...(mine as Row), key_sealed: deployment?.key_sealed as string });
    await refused('wrapped_key_does_not_open', [503, 'MISCONFIGURED']);
    await run('delete from org_keys where org_id = ?', w.o.id);
    await refused('org_key_missing', [503, 'UNAVAILABLE']);
    expect((await alarms(w.o))[0]).toMatchObject({ reason: 'org_key_missing', resource: w.o.id, status: 503 });
    await put('org_keys', mine as Row);
    await put('org_keys', theirs as Row);
    await put('deployment_keys', { ...(deployment as Row), key_sealed: mine?.key_sealed as string });
    await refused('wrapped_key_does_not_open', [503, 'MISCONFIGURED']);
    await run('delete from deployment_keys');
    await refused('deployment_key_missing', [503, 'MISCONFIGURED']);
    expect(await all('select * from deployment_keys')).toEqual([]);
    await put('deployment_keys', deployment as Row);
    faults.isolate++;
    expect(await asked(w)).toEqual(before);
  });
});

describe('tampering: a gate that lost its storage and recovers from D1', () => {
  const values = ([status, text]: unknown[]) => (status === 200 ? (JSON.parse(text as string).values as Record<string, string>) : {});
  const older = /older|before|destroyed|deleted secret|every older/;
  it.each(
    sampled(
      Object.entries(attempts).filter(([what]) => !older.test(what)),
      6,
    ),
  )('refuses a row with a wrong MAC: %s', async (what, { attempt }) => {
    const w = await world();
    await moveOn(w);
    const before = await asked(w);
    await attempt(w);
    await loseStorage(w.o);
    const after = await asked(w);
    for (const [asks, answer] of Object.entries(after)) {
      if (answer[0] !== 200) continue;
      expect(before[asks]?.[0], `${what}: ${asks}`).toBe(200);
      if (/lists|all/.test(asks)) continue;
      if (asks === 'owner reads the org') {
        // What is not believed does not count.
        const [{ usage, ...org }, { usage: counted, ...stood }] = [answer, before[asks] as unknown[]].map(([, text]) =>
          JSON.parse(text as string),
        );
        expect(org, `${what}: ${asks}`).toEqual(stood);
        for (const [name, count] of Object.entries(usage as Record<string, number>).filter(([name]) => name !== 'backlog'))
          expect(count, `${what}: ${name}`).toBeLessThanOrEqual(counted[name]);
        continue;
      }
      expect(answer, `${what}: ${asks}`).toEqual(before[asks]);
    }
    for (const asks of ['owner reads all', 'low reads all of staging'])
      expect(values(before[asks] as unknown[]), what).toMatchObject(values(after[asks] as unknown[]));
    if (what === 'every row of the org deleted') return;
    expect((await alarms(w.o)).at(-1)).toMatchObject({ sequence: 110_001, reason: 'gate_loaded_from_database', resource: w.o.id });
  });

  it('refuses a credential whose device is not in D1, or was altered there', async () => {
    const removals = [
      (w: World) => run('delete from devices where id = ?', w.devices.laptop),
      (w: World) => run('update devices set public_key = ? where id = ?', JSON.stringify(w.devices.thief.jwk), w.devices.laptop),
    ];
    for (const removed of removals) {
      const w = await world();
      await removed(w);
      await loseStorage(w.o);
      for (const by of [w.devices.by.held, w.devices.by.thief, w.devices.held.o])
        expect((await by.get(`/secrets/${w.a.id}`)).json.error.code).toBe('TOKEN_REVOKED');
    }
  });

  it('refuses a child whose parent is not in D1', async () => {
    const w = await world();
    const parent = await newKey(w.o);
    const child = await newSession(parent.o);
    await w.o.del(`/api-keys/${parent.id}`);
    await run('delete from credentials where id = ?', parent.id);
    await loseStorage(w.o);
    expect((await child.o.get(`/secrets/${w.a.id}`)).json.error.code).toBe('TOKEN_REVOKED');
    expect((await w.session.o.get('/secrets')).status).toBe(200);
  });

  it('accepts an older row with its own MAC; its audit log begins with the report that it recovered', async () => {
    const w = await world();
    await moveOn(w);
    await putBack('credentials', (row) => row.id === w.dead.id)(w);
    await loseStorage(w.o);
    expect((await w.dead.o.get('/secrets')).status).toBe(200);
    const { json } = await w.o.get('/audit-log');
    expect(json.data.at(-1)).toMatchObject({ sequence: 110_001, action: 'integrity.alarm', reason: 'gate_loaded_from_database' });
    const { json: verdict } = await w.o.get('/audit-log/verify');
    expect(verdict).toMatchObject({ ok: true, missing: [{ from: 1, to: 110_000, reason: 'gate_lost' }] });
  });
});

describe('tampering: audit segments', () => {
  it('that were rewritten with right hashes, or removed from the middle, are reported by verify', async () => {
    const w = await world();
    await inGate(w.o, async (gate) => {
      const { core } = gate;
      const [{ id: _, sequence, time, outcome, status, count, emergency, prev_hash, hash, ...draft }] = core.auditLog.newest({}, 1e9, 1)
        .entries as [Entry];
      core.storage.transactionSync(() => {
        for (let i = 0; i < 2500; i++) core.auditLog.append(draft, 200, Date.now());
      });
      core.now = () => Date.now() + 600_000;
      core.schedule.at('segments', Date.now());
      for (let i = 0; i < 4; i++) await runTasks(core, w.o.id);
      core.now = () => Date.now();
    });
    const segments = await all('select * from audit_segments where org_id = ? order by first_sequence', w.o.id);
    expect(segments.length).toBe(2);
    const check = async () => {
      for (let cursor = ''; ; ) {
        const { json } = await w.o.get(`/audit-log/verify${cursor && `?cursor=${cursor}`}`);
        if (!json.ok || json.next === null) return json;
        cursor = json.next;
      }
    };
    expect((await check()).ok).toBe(true);

    const last = segments[1] as Row;
    const retold = fromUtf8(await gunzip(fromBase64(last.entries as string) as Uint8Array))?.replace(
      '"status":200',
      '"status":204',
    ) as string;
    await put('audit_segments', { ...last, entries: toBase64(await gzip(utf8(retold))) });
    expect(await check()).toMatchObject({ ok: false, broken: { sequence: 1001 } });
    const rewritten = await inGate(w.o, (gate) => gate.core.auditLog.from(1, 1).entries);
    const entries: Entry[] = [];
    let prev = last.prev_hash as string;
    for (let i = 0; i < 1000; i++) {
      const entry = { ...(rewritten[0] as Entry), sequence: 1001 + i, action: 'nothing.happened', prev_hash: prev };
      prev = hashOf(entry) as string;
      entries.push({ ...entry, hash: prev });
    }
    await put('audit_segments', { ...last, last_hash: prev, entries: toBase64(await gzip(utf8(JSON.stringify(entries)))) });
    expect(await check()).toMatchObject({ ok: false, broken: { sequence: 2001 } });
    await run('delete from audit_segments where org_id = ? and first_sequence = 1001', w.o.id);
    expect(await check()).toMatchObject({ ok: false });
  });
});

describe('tampering: any column of any row with any value', () => {
  it('gives the same response as before, or a refusal with an integrity violation', async () => {
    const w = await world();
    await moveOn(w);
    const before = await asked(w);
    const places: { table: string; column: string; rowid: number }[] = [];
    for (const table of TABLES)
      for (const { rowid, ...row } of await all(`select rowid, * from ${table} where ${table === 'orgs' ? 'id' : 'org_id'} = ?`, w.o.id))
        for (const column of Object.keys(row)) places.push({ table, column, rowid: rowid as number });
    const value = fc.oneof(
      fc.constantFrom<string | number | null>(null, '', '[]', '["*"]', '{}', 'x', w.a.id, w.other.id, w.o.id, 'A', 'S', w.theirs.id),
      fc.integer({ min: -1, max: 4 }),
      fc.constant('another row’s'),
    );
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...places), value, fc.constantFrom(...Object.keys(states)), async (place, to, state) => {
        const { table, column, rowid } = place;
        const [row] = await all(`select * from ${table} where rowid = ?`, rowid);
        const other = `(select ${column} from ${table} where rowid <> ?2 order by random() limit 1)`;
        const change = to === 'another row’s' ? other : '?1';
        const changed = await run(`update ${table} set ${column} = ${change} where rowid = ?2 and ?1 is ?1`, to, rowid).catch(() => null);
        if (changed === null) return;
        logged = [];
        await states[state]?.(w.o);
        const refused = expectNothingGained(before, await asked(w), JSON.stringify({ ...place, to, state }));
        if (refused.length) expect(events().length).toBeGreaterThan(0);
        const columns = Object.keys(row as Row);
        await run(`update ${table} set (${columns}) = (${columns.map(() => '?')}) where rowid = ?`, ...Object.values(row as Row), rowid);
        faults.isolate++;
        await drop(w.o);
      }),
      { numRuns: 40 },
    );
    expect(await asked(w)).toEqual(before);
  });
});

describe('tampering: a link', () => {
  const linksOf = (o: Caller) => all('select * from shares where org_id = ?', o.id);
  /** A live link of two views, one of which is used, with a passphrase; and one of which all views are used. */
  async function linked() {
    const o = await newOrg();
    const [a, b] = [await newSecret(o, { value: 'value of a' }), await newSecret(o, { value: 'value of b' })];
    const link = await newLink(o, a.id, { max_views: 2, passphrase: 'p' });
    const open = await newLink(o, b.id, { max_views: 100 });
    const spent = await newLink(o, a.id, { max_views: 1 });
    const old = await linksOf(o);
    expect([(await view(link, 'p')).status, (await view(spent)).status]).toEqual([200, 200]);
    return { o, link, open, spent, old };
  }
  type Linked = Awaited<ReturnType<typeof linked>>;
  const altered = (assignment: string) => (w: Linked) => run(`update shares set ${assignment} where id = ?1`, w.link.id);
  const attacks: Record<string, (w: Linked) => unknown> = {
    'its views counted back': altered('views = 0'),
    'more views': altered('max_views = 100'),
    'no passphrase': altered('passphrase = null'),
    'the key of another link': (w) =>
      run('update shares set key_hash = (select key_hash from shares where id = ?2) where id = ?1', w.link.id, w.open.id),
    'the value of another link': (w) =>
      run('update shares set value_sealed = (select value_sealed from shares where id = ?2) where id = ?1', w.link.id, w.open.id),
    'another secret': (w) =>
      run('update shares set secret_id = (select secret_id from shares where id = ?2) where id = ?1', w.link.id, w.open.id),
    'another maker and a later end': altered("dies_with = 'mem_x', expires_at = expires_at * 2"),
    'its row of before': async (w) => {
      for (const row of w.old) await put('shares', row);
    },
  };

  it.each(Object.entries(attacks))('%s gains nothing', async (_, attack) => {
    const w = await linked();
    await attack(w);
    await evict(w.o);
    expect((await view(w.link)).status).toBe(403);
    expect((await view({ ...w.link, key: w.open.key })).status).toBe(410);
    expect((await view(w.spent)).status).toBe(410);
    // One view is left, if D1 lets it be counted.
    const answers = [await view(w.link, 'p'), await view(w.link, 'p')];
    for (const { status, json } of answers) expect(status === 200 ? json.value : 'value of a').toBe('value of a');
    expect(answers.filter(({ status }) => status === 200).length).toBeLessThan(2);
  });

  it.each(Object.entries(attacks).filter(([name]) => name !== 'its row of before'))(
    '%s gains nothing after the gate has lost its storage',
    async (_, attack) => {
      const w = await linked();
      await attack(w);
      await loseStorage(w.o);
      expect([200]).not.toContain((await view(w.link)).status);
      expect([200]).not.toContain((await view({ ...w.link, key: w.open.key })).status);
      const answers = [await view(w.link, 'p'), await view(w.link, 'p')];
      for (const { status, json } of answers) expect(status === 200 ? json.value : 'value of a').toBe('value of a');
      expect(answers.filter(({ status }) => status === 200).length).toBeLessThan(2);
    },
  );

  it.each(['the storage of its gate', 'D1, from which the gate loads it'])(
    'an altered value, in %s, is an integrity violation that names link and request',
    async (where) => {
      const { o, open } = await linked();
      if (where.startsWith('D1')) {
        await run("update shares set value_sealed = 'AAAA' where id = ?", open.id);
        await evict(o);
        expect((await view(open)).json.value).toBe('value of b');
        await run("update shares set value_sealed = 'AAAA' where id = ?", open.id);
        await loseStorage(o);
        // The request that loads the gate leaves an entry about that.
        await o.get('/secrets');
      } else
        await inGate(o, ({ core }) => core.rows.put('share', { ...(core.rows.get('share', open.id) as ShareRow), value_sealed: 'AAAA' }));
      const refused = await view(open);
      expect([refused.status, refused.json.error.code]).toEqual([500, 'INTERNAL']);
      expect(events().at(-1)).toBe('value_does_not_open');
      const violations = (await alarms(o)).filter(({ reason }) => reason === 'value_does_not_open');
      expect(violations).toMatchObject([
        { actor: { kind: 'system' }, resource: open.id, outcome: 'failed', request_id: refused.headers.get('request-id') },
      ]);
    },
  );
});
