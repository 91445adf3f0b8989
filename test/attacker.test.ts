// Who may read and write every row of D1, but has neither a key nor a gate's storage, gains nothing: no value leaves but the one that is
// right, no credential can do more, and an altered row that is used is refused with an alarm in the log and in the org's audit log.
// The first org is tampered with; after each attempt the answers of all its callers are compared with those from before.
import { evictDurableObject, runInDurableObject } from 'cloudflare:test';
import { env } from 'cloudflare:workers';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { Gate } from '../src/gate';
import { faults } from './faults';
import { type Answer, type Caller, db, newKey, newOrg, newSecret, newSession, useWorld } from './world';

useWorld();

type Row = Record<string, string | number | null>;
const gateOf = (o: Caller) => (env as unknown as { GATE: DurableObjectNamespace }).GATE.getByName(o.id);
const inGate = <T>(o: Caller, run: (gate: Gate, state: DurableObjectState) => T | Promise<T>) =>
  runInDurableObject(gateOf(o), (gate, state) => run(gate as unknown as Gate, state));
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

const lose = async (o: Caller) => {
  await inGate(o, (_gate, state) => state.storage.deleteAll());
  await evictDurableObject(gateOf(o));
};
const drop = (o: Caller) => inGate(o, (gate) => gate.core.seals.clear());

/** In which state the service meets the attempt. */
const states: Record<string, (o: Caller) => unknown> = {
  'all is warm': () => {},
  'its gate is evicted': (o) => evictDurableObject(gateOf(o)),
  'an isolate without keys': () => faults.isolate++,
  'its ciphertexts are out of the gate': drop,
  'all but storage is cold': async (o) => {
    await drop(o);
    await evictDurableObject(gateOf(o));
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
const alarms = (o: Caller) => inGate(o, (gate) => gate.core.chain.newest({ action: 'integrity.alarm' }, 1e9, 100));

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
  const doomed = (await o.post('/environments', { name: 'doomed', slug: 'doomed' })).json as { id: string };
  const tables = ['secrets', 'secret_versions', 'credentials', 'environments', 'orgs', 'members', 'org_keys'];
  const before: Record<string, Row[]> = {};
  for (const table of tables) before[table] = await all(`select * from ${table} where ${table === 'orgs' ? 'id' : 'org_id'} = ?`, o.id);
  return { o, other, a, b, staged, expired, theirs, gone, deleted, low, bound, dead, session, doomed, before };
}
type World = Awaited<ReturnType<typeof world>>;

/** What is to be compared: status, code and, where something was given out, the answer. */
const said = ({ status, json, text }: Answer) => (status < 400 ? [status, text] : [status, json?.error?.code ?? text]);

/** Every way of asking, as every caller: nothing here changes anything. */
async function asked({ o, a, b, staged, expired, gone, deleted, low, bound, dead, session }: World) {
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
  };
  const answers: Record<string, unknown[]> = {};
  for (const [what, ask] of Object.entries(paths)) answers[what] = said(await ask());
  return answers;
}

/** Each answer is as before, or a refusal with 401 or 5xx. Answers which were refused. */
function expectNothingGained(before: Record<string, unknown[]>, after: Record<string, unknown[]>, why: string): string[] {
  const refused: string[] = [];
  for (const [what, answer] of Object.entries(after)) {
    if (JSON.stringify(answer) === JSON.stringify(before[what])) continue;
    expect(answer[0] === 401 || (answer[0] as number) >= 500, `${why}: ${what}: ${JSON.stringify(answer)}`).toBe(true);
    refused.push(what);
  }
  return refused;
}

/** Changes after which older copies of rows are worth putting back. */
async function moveOn({ o, a, b, expired, gone, deleted, bound, dead, doomed }: World) {
  await o.del(`/secrets/${gone.id}?permanent=true`);
  await o.del(`/secrets/${deleted.id}`);
  await o.patch(`/secrets/${a.id}`, { value: 'third value of a' });
  await o.patch(`/secrets/${b.id}`, { name: 'renamed' });
  await o.patch(`/secrets/${expired.id}`, { ttlSeconds: 1800 });
  await o.patch(`/api-keys/${bound.id}`, { allowed_addresses: ['203.0.113.0/24'] });
  await o.del(`/api-keys/${dead.id}`);
  await o.del(`/environments/${doomed.id}`);
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
  'every older row at once': {
    attempt: async (w) => {
      for (const table of ['secrets', 'secret_versions', 'credentials', 'environments', 'orgs', 'members']) await putBack(table)(w);
    },
  },
  'a credential un-revoked by hand': { attempt: set('credentials', 'revoked_at = null', (w) => w.dead.id) },
  'a credential with all scopes': { attempt: set('credentials', `scopes = '["*"]', environments = null, secrets = null`, (w) => w.low.id) },
  'a credential without addresses': { attempt: set('credentials', 'allowed_addresses = null', (w) => w.bound.id) },
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
      for (const table of ['secrets', 'credentials', 'environments', 'members', 'fences', 'commits'])
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

describe('who writes D1 without the keys gains nothing', () => {
  it.each(Object.entries(attempts))('by %s', async (what, { attempt, alarm }) => {
    const w = await world();
    await moveOn(w);
    const before = await asked(w);
    expect(before['owner reads a']?.[0]).toBe(200);
    expect([before['low reads a']?.[0], before['dead lists']?.[0], before['bound from elsewhere']?.[0]]).toEqual([403, 401, 403]);
    expect(logged).toEqual([]);
    await attempt(w);
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
