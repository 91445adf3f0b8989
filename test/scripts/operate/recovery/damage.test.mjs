// Damaged rows are named: by doctor --deep, by backup --verify, and in a database that cannot be read.
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { openEverything, openKeys, rowsOf } from '../../../../scripts/operate/vault/every-row.mjs';
import { differences } from '../../../../scripts/operate/vault/lost-rows.mjs';
import { parseMasterKeys } from '../../../../scripts/operate/vault/master-keys.mjs';
import { applyMigrations } from '../../../../scripts/operate/vault/migrate.mjs';
import { gateFile, replicaFile, vaultFile } from '../../../../scripts/operate/vault/state-dir.mjs';
import { fromSource } from '../../../../scripts/operate/vault/worker-source.mjs';
import { putState, releases } from '../../releases/fixtures.mjs';
import { copyOfProject, env, project, runCommand as run } from '../../service.mjs';
import { slow } from '../../slow.mjs';

/** A vault of an earlier release, and its database. */
function vault(dir = copyOfProject()) {
  const left = putState(releases.at(-1) ?? '', dir);
  const state = path.join(dir, '.wrangler', 'state');
  const file = /** @type {string} */ (vaultFile(state));
  const inDatabase = (/** @type {(db: DatabaseSync) => any} */ change) => {
    const db = new DatabaseSync(file, { timeout: 5000 });
    try {
      return change(db);
    } finally {
      db.close();
    }
  };
  return { dir, left, state, file, inDatabase, masters: parseMasterKeys(left.variables.MASTER_KEYS) ?? [] };
}

const SECRETS = 'SELECT org_id, id, name, version FROM secrets WHERE deleted_at IS NULL ORDER BY id LIMIT 3';

/** Takes a version away, zeroes a ciphertext, and alters a row. */
const damage = (/** @type {DatabaseSync} */ db) => {
  const [missing, zeroed, altered] = /** @type {any[]} */ (db.prepare(SECRETS).all());
  db.prepare('DELETE FROM secret_versions WHERE secret_id = ? AND version = ?').run(
    missing.id,
    missing.version,
  );
  db.prepare('UPDATE secret_versions SET value_sealed = ? WHERE secret_id = ? AND version = ?').run(
    'AAAA',
    zeroed.id,
    zeroed.version,
  );
  db.prepare('UPDATE secrets SET name = ? WHERE id = ?').run('forged', altered.id);
  return { missing, zeroed, altered };
};

it('doctor: --deep names each row that does not open, and the exit code says so', {
  timeout: 120_000,
}, async () => {
  const { dir, state, inDatabase } = vault();
  const whole = await run(dir, 'doctor', ['--deep', '--json']);
  assert.equal(JSON.parse(whole.stdout).checks.at(-1).verdict, 'ok', whole.said);
  const { missing, zeroed, altered } = inDatabase(damage);
  const { status, stdout, said } = await run(dir, 'doctor', ['--deep', '--json']);
  assert.equal(status, 1, said);
  const lines = JSON.parse(stdout).checks.filter(({ check }) => check === 'rows');
  const messages = lines.map(({ message }) => message).join('\n');
  assert.match(
    messages,
    new RegExp(
      `${missing.org_id}: secrets ${missing.id} .* version ${missing.version}: its stored value is missing`,
    ),
  );
  assert.match(
    messages,
    new RegExp(
      `secret_versions ${zeroed.id} \\(${zeroed.name}\\) version ${zeroed.version}: its value does not open`,
    ),
  );
  assert.match(messages, new RegExp(`secrets ${altered.id} \\(forged\\): it was altered`));
  assert.match(lines.at(-1).message, /^3 faults in \d+ rows: npm run restore -- FILE --rows brings secrets/);
  assert.ok(!fs.existsSync(path.join(state, 'deep-check.json')), 'its place is not kept once it is done');
});

it('doctor: --deep continues where it was interrupted, and keeps what it found', {
  timeout: 60_000,
}, async () => {
  const { state, file, masters } = vault(fs.mkdtempSync(path.join(os.tmpdir(), 'damaged-')));
  const db = new DatabaseSync(file);
  after(() => db.close());
  damage(db);
  const placeFile = path.join(state, 'deep-check.json');
  /** @type {string[]} */
  const asked = [];
  const check = (/** @type {number} */ pages) => {
    const rows = (/** @type {string} */ sql, /** @type {any[]} */ params) => {
      const table = sql.includes('LIMIT') && / AS "#", \* FROM (\w+)/.exec(sql)?.[1];
      if (table && pages-- === 0) throw new Error('interrupted');
      if (table) asked.push(table);
      return db.prepare(sql).all(...params);
    };
    return openEverything(rows, masters, { placeFile });
  };
  for (const pages of [3, 4]) await assert.rejects(check(pages), /interrupted/);
  const { faults, opened } = await check(1000);
  assert.deepEqual(
    asked.filter((table, i) => table !== asked[i - 1]),
    [...new Set(asked)].sort(),
    'it does not begin again',
  );
  assert.deepEqual(
    faults.map(({ table, what }) => `${table}: ${what}`),
    [
      'secret_versions: its value does not open',
      'secrets: it was altered: its MAC is wrong',
      'secrets: its stored value is missing',
    ],
  );
  assert.equal((await openEverything(db, masters)).opened, opened);
  assert.ok(!fs.existsSync(placeFile));
});

it('doctor: --deep looks at each table whose rows have a MAC or a ciphertext', async () => {
  const db = new DatabaseSync(':memory:');
  const migrations = path.join(project, 'migrations');
  const names = fs.readdirSync(migrations).filter((name) => name.endsWith('.sql'));
  for (const name of names.sort()) db.exec(fs.readFileSync(path.join(migrations, name), 'utf8'));
  const protectedTables = db
    .prepare(
      `SELECT DISTINCT t.name FROM sqlite_master t JOIN pragma_table_info(t.name) c
       WHERE t.type = 'table' AND (c.name = 'mac' OR c.name LIKE '%\\_sealed' ESCAPE '\\') ORDER BY 1`,
    )
    .all()
    .map(({ name }) => String(name));
  assert.ok(protectedTables.length > 10, protectedTables.join());
  /** @type {Set<string>} */
  const asked = new Set();
  await openEverything((sql, params) => {
    for (const [, table] of sql.matchAll(/FROM (\w+)/g)) asked.add(table);
    return db.prepare(sql).all(...params);
  }, []);
  assert.deepEqual(
    protectedTables.filter((table) => !asked.has(table)),
    [],
  );
});

it('doctor: --deep names a gate that cannot be read, and compares the others', async () => {
  const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'gates-'));
  const torn = 'org_torn';
  const bare = 'org_bare';
  const whole = 'org_whole';
  fs.mkdirSync(path.dirname(gateFile(dir, torn)), { recursive: true });
  fs.writeFileSync(gateFile(dir, torn), 'no database '.repeat(400));
  for (const org of [bare, whole]) {
    const gate = new DatabaseSync(gateFile(dir, org));
    gate.exec('CREATE TABLE rows (id TEXT)');
    if (org === whole)
      gate.exec("CREATE TABLE meta (key TEXT, value TEXT); INSERT INTO meta VALUES ('org', 'x')");
    gate.close();
  }
  const orgs = new Map([torn, bare, whole].map((org) => [org, {}]));
  const found = await differences(() => [], dir, orgs, { rowKinds: () => [] });
  assert.deepEqual(
    found.map(({ org, table }) => [org, table]),
    [torn, bare].map((org) => [org, 'gate']),
  );
  assert.match(String(found[0]?.what), /gate -- reset org_torn/);
});

it('doctor: --deep names a row whose ciphertext was emptied or taken away', slow(120_000), async () => {
  const { state, file, masters } = vault(fs.mkdtempSync(path.join(os.tmpdir(), 'emptied-')));
  await applyMigrations(state);
  const db = new DatabaseSync(file);
  after(() => db.close());
  const { source, keys } = await openKeys(rowsOf(db), masters);
  const [org, mine] = [...keys][0];
  const { encrypt } = await fromSource("export { encrypt } from './src/crypto/envelope';");
  const url = encrypt(mine.value, 'webhook URL', [org, 'whk_lost', '{}'], Buffer.from('x'));
  const secret = encrypt(mine.value, 'webhook secret', [org, 'whk_lost'], Buffer.from('x'));
  /** A row as the service would store it, with these columns. @param {any} kind @param {any} given */
  const insert = (kind, given) => {
    const table = source.tableName(kind);
    const columns = /** @type {any[]} */ (db.prepare(`SELECT * FROM pragma_table_info('${table}')`).all());
    const raw = Object.fromEntries(
      columns.map(({ name, type, notnull }) => [name, !notnull ? null : type === 'INTEGER' ? 0 : '{}']),
    );
    Object.assign(raw, { org_id: org }, given);
    raw.mac = source.macOf(mine.row, kind, source.readable(kind, raw));
    db.prepare(`INSERT INTO ${table} (${Object.keys(raw)}) VALUES (${Object.keys(raw).map(() => '?')})`).run(
      .../** @type {any[]} */ (Object.values(raw)),
    );
  };
  const sealed = Buffer.alloc(60, 1).toString('base64');
  insert('share', { id: 'shr_whole', value_sealed: sealed });
  insert('share', { id: 'shr_emptied', value_sealed: '' });
  insert('share', { id: 'shr_cut', value_sealed: sealed.slice(0, 16) });
  insert('integration', { id: 'int_emptied', config: '{}', credentials_sealed: '' });
  insert('integration', { id: 'int_lost', config: '{}', credentials_sealed: null });
  insert('sync', { id: 'syn_stored', status: 'queued', integration_id: 'int_x' });
  insert('sync', { id: 'syn_ended', status: 'completed', config: '{}', finished_at: 1 });
  insert('sync', { id: 'syn_lost', status: 'queued', config: '{}' });
  const late = Date.now() + 3_600_000;
  insert('webhook', { id: 'whk_lost', url_sealed: url, secret_sealed: secret, old_secret_until: late });
  insert('webhook', { id: 'whk_empty', url_sealed: url, secret_sealed: '' });
  const { faults } = await openEverything(db, masters);
  assert.deepEqual(
    faults
      .map(({ id }) => id)
      .filter((id) => /^(shr|int|syn|whk)_/.test(id))
      .sort(),
    ['int_emptied', 'int_lost', 'shr_cut', 'shr_emptied', 'syn_lost', 'whk_empty', 'whk_lost'],
  );
});

it('backup: --verify makes the backup, names what does not open in it, and fails', {
  timeout: 120_000,
}, async () => {
  const { dir, inDatabase } = vault();
  const good = await run(dir, 'backup', ['--verify', '--output', 'good.sql']);
  assert.equal(good.status, 0, good.said);
  assert.match(good.said, /All \d+ rows with a MAC or ciphertext open/);
  const { missing, zeroed } = inDatabase(damage);
  const bad = await run(dir, 'backup', ['--verify', '--output', 'bad.sql', '--json']);
  assert.equal(bad.status, 1, bad.said);
  const { faults } = JSON.parse(bad.stdout);
  assert.deepEqual(faults.map(({ id }) => id).includes(missing.id), true);
  assert.deepEqual(
    faults.find(({ id }) => id === zeroed.id),
    {
      org: zeroed.org_id,
      table: 'secret_versions',
      id: zeroed.id,
      version: zeroed.version,
      what: 'its value does not open',
      name: zeroed.name,
    },
  );
  assert.ok(fs.existsSync(path.join(dir, 'bad.sql')), 'the rest is worth keeping');
  const other = `k1:${Buffer.alloc(32, 7).toString('base64')}`;
  const closed = await run(dir, 'backup', ['--verify', '--output', 'closed.sql'], { MASTER_KEYS: other });
  assert.equal(closed.status, 1);
  assert.match(closed.said, /No backup was made, because it could not be decrypted: /);
  assert.ok(!fs.existsSync(path.join(dir, 'closed.sql')));
});

it('restore: a damaged database is named before anything is changed, with what to type', {
  timeout: 120_000,
}, async () => {
  const { dir, file } = vault();
  assert.equal((await run(dir, 'backup', ['--output', 'b.sql'])).status, 0);
  const db = new DatabaseSync(file);
  const page = Number(
    db.prepare("SELECT rootpage FROM sqlite_master WHERE name = 'secrets'").get()?.rootpage,
  );
  db.close();
  const whole = fs.readFileSync(file);
  const torn = Buffer.from(whole);
  torn.fill(0x5a, (page - 1) * 4096, page * 4096);
  fs.writeFileSync(file, torn);
  const { status, said } = await run(dir, 'restore', ['b.sql']);
  assert.equal(status, 1);
  assert.match(
    said,
    /cannot be read .*pass --replace to set it aside and restore the backup; nothing was changed/,
  );
  assert.doesNotMatch(said, /\n +at /);
});

it('restore: an export silences nothing about organisations that it is not of', {
  timeout: 120_000,
}, async () => {
  const { dir, file } = vault();
  assert.equal((await run(dir, 'backup', ['--output', 'b.sql'])).status, 0);
  const db = new DatabaseSync(file);
  const org = String(db.prepare('SELECT id FROM orgs WHERE deleted_at IS NULL').get()?.id);
  db.close();
  const entry = { time: new Date().toISOString(), action: 'org.read', status: 200 };
  for (const [resource, untold] of /** @type {const} */ ([
    [org, 1],
    ['org_0123456789ABCDEFGHIJKL', 2],
  ])) {
    fs.writeFileSync(path.join(dir, 'log.ndjson'), `${JSON.stringify({ ...entry, resource })}\n`);
    const STATE_DIR = path.join(dir, `restored-${untold}`);
    const { said } = await run(dir, 'restore', ['b.sql', '--ended', 'log.ndjson'], { STATE_DIR });
    assert.match(said, new RegExp(`works again for ${untold} of 2 organisations`));
  }
});

it('backup: one that is cut off has another name, and the next one is whole', {
  ...slow(120_000),
}, async () => {
  const { dir, inDatabase } = vault();
  inDatabase((db) => {
    const insert = db.prepare('INSERT INTO commits (id, org_id, holds, created_at) VALUES (?, ?, 1, 0)');
    db.exec('BEGIN');
    for (let n = 0; n < 200_000; n++) insert.run(`filler-${n}`, 'org_x');
    db.exec('COMMIT');
  });
  const file = path.join(dir, 'b.sql');
  const cut = spawn(process.execPath, ['scripts/operate/recovery/backup.mjs', '--output', file], {
    cwd: dir,
    env,
    stdio: 'ignore',
  });
  const ended = new Promise((done) => cut.once('exit', done));
  while (cut.exitCode === null && !(fs.existsSync(`${file}.part`) && fs.statSync(`${file}.part`).size > 0))
    await sleep(5);
  cut.kill('SIGKILL');
  await ended;
  assert.ok(!fs.existsSync(file), 'a backup that is not complete does not have its name');
  assert.ok(fs.existsSync(`${file}.part`));
  const made = await run(dir, 'backup', ['--output', 'b.sql']);
  assert.equal(made.status, 0, made.said);
  assert.deepEqual(
    fs.readdirSync(dir).filter((name) => name.startsWith('b.sql')),
    ['b.sql'],
  );
  assert.match((await run(dir, 'backup', ['--output', 'b.sql'])).said, /already exists: name another file/);
});

it('restore: --replace restores in place of a database that cannot be read, and keeps its files', {
  ...slow(200_000),
}, async () => {
  const { dir, state, file } = vault();
  assert.equal((await run(dir, 'backup', ['--output', 'b.sql'])).status, 0);
  const inPlaceOf = (/** @type {string} */ taken, /** @type {() => void} */ put) => () => {
    fs.rmSync(taken, { recursive: true, force: true });
    put();
  };
  const folder = path.dirname(file);
  for (const [what, spoil] of /** @type {const} */ ([
    ['a folder', inPlaceOf(file, () => fs.mkdirSync(file))],
    ['a folder as its WAL', inPlaceOf(`${file}-wal`, () => fs.mkdirSync(`${file}-wal`))],
    ['a file in place of its folder', inPlaceOf(folder, () => fs.writeFileSync(folder, ''))],
    ['garbage', () => fs.writeFileSync(file, Buffer.alloc(65_536, 0x5a))],
    [
      'a torn page',
      () =>
        fs.writeFileSync(
          file,
          Buffer.concat([fs.readFileSync(file).subarray(0, 4096), Buffer.alloc(61_440, 0x5a)]),
        ),
    ],
  ])) {
    for (const end of ['-wal', '-shm']) fs.rmSync(file + end, { force: true });
    spoil();
    const looked = await run(dir, 'doctor', []);
    assert.match(looked.said, /^fail {2}keys .*(restore|Restore)/m, what);
    assert.doesNotMatch(looked.said, /the disk reports an error/);
    const made = await run(dir, 'backup', ['--output', `no-${what.length}.sql`]);
    assert.equal(made.status, 1, what);
    assert.doesNotMatch(made.said, /\n +at /, 'no stack trace');
    const refused = await run(dir, 'restore', ['b.sql']);
    assert.equal(refused.status, 1);
    assert.match(refused.said, /cannot be read|not empty|unchanged|damaged/, refused.said);
    assert.doesNotMatch(refused.said, /\n +at /, 'no stack trace');
    const restored = await run(dir, 'restore', ['b.sql', '--replace']);
    assert.equal(restored.status, 0, `${what}: ${restored.said}`);
    assert.match(restored.said, /cannot be read .*It is now in .*set-aside/);
    assert.doesNotMatch(restored.said, /in database main/);
    assert.match(restored.said, /rows of .* are restored/);
  }
  assert.equal(fs.readdirSync(path.join(state, 'set-aside')).length, 5);
});

it('gate: the replica of a stopped vault is set aside, and no other file', async () => {
  const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'replica-'));
  after(() => fs.rmSync(dir, { recursive: true, force: true }));
  const org = `org_${'0'.repeat(22)}`;
  const [file, other] = ['oc', 'weur'].map((region) => replicaFile(dir, org, region));
  fs.mkdirSync(path.dirname(file), { recursive: true });
  for (const one of [file, other]) fs.writeFileSync(one, 'no database');
  const reset = (region, ...more) =>
    run(project, 'gate', ['reset', org, '--region', region, ...more], { STATE_DIR: dir });
  const asked = await reset('oc');
  assert.equal(asked.status, 1);
  assert.match(asked.said, /Nothing was changed: pass --yes/);
  const done = await reset('oc', '--yes');
  assert.equal(done.status, 0, done.said);
  assert.match(done.said, /^Lost with the replica of org_0{22} in oc: audit entries of its last reads/m);
  assert.deepEqual([fs.existsSync(file), fs.existsSync(other)], [false, true]);
  const [aside] = fs.readdirSync(path.join(dir, 'set-aside'));
  assert.deepEqual(fs.readdirSync(path.join(dir, 'set-aside', aside)), [path.basename(file)]);
  assert.match((await reset('oc', '--yes')).said, /does not have the replica of .*: nothing was changed/);
});

it('keys: the commands of the page put back keys that are missing, and none of a deleted organisation', {
  ...slow(120_000),
}, async () => {
  const { dir, state, inDatabase } = vault();
  const made = await run(dir, 'backup', ['--output', 'vault-2026-01-01T000000Z.sql']);
  assert.equal(made.status, 0, made.said);
  const keys = () =>
    inDatabase((db) =>
      db
        .prepare('SELECT * FROM deployment_keys')
        .all()
        .concat(db.prepare('SELECT * FROM org_keys ORDER BY 1').all()),
    );
  const before = keys();
  assert.ok(before.length >= 3, 'more than one organisation');
  const [missing, deleted] = inDatabase((db) =>
    db.prepare('SELECT org_id FROM org_keys ORDER BY 1').all(),
  ).map(({ org_id }) => org_id);
  inDatabase((db) => {
    db.exec('DELETE FROM deployment_keys');
    for (const org of [missing, deleted]) db.prepare('DELETE FROM org_keys WHERE org_id = ?').run(org);
    db.prepare('UPDATE orgs SET deleted_at = 1 WHERE id = ?').run(deleted);
  });
  const page = fs.readFileSync(path.join(project, 'docs', 'operations', 'keys.md'), 'utf8');
  const [, block = ''] = /runs it -->\n```sh\n(sed [^`]*)```/.exec(page) ?? [];
  const commands = block.replace('.wrangler/state', state).replace(/^npm start$/m, '');
  const { status, stderr } = spawnSync('sh', ['-ec', commands], { cwd: dir, encoding: 'utf8' });
  assert.equal(status, 0, stderr);
  assert.deepEqual(
    keys(),
    before.filter(({ org_id }) => org_id !== deleted),
  );
});
