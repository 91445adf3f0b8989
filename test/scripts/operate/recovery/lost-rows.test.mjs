// Rows that are missing are found, although each row that is there opens: by doctor --deep from the gates,
// and in a backup by itself.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import { gapsTold, lostRows, newestEntries } from '../../../../scripts/operate/vault/lost-rows.mjs';
import { gateFile, vaultFile } from '../../../../scripts/operate/vault/state-dir.mjs';
import { copyOfProject, runCommand, startService } from '../../service.mjs';
import { slow } from '../../slow.mjs';

it('lost rows: doctor --deep names each, backup --verify some, and restore --rows puts secrets back', {
  ...slow(300_000),
}, async () => {
  const dir = copyOfProject();
  const service = await startService(dir);
  const run = (/** @type {string} */ command, /** @type {string[]} */ args) =>
    runCommand(dir, command, args, { PORT: String(service.port) });
  const founded = await service.call('POST', '/orgs', service.variable('BOOTSTRAP_TOKEN'), {
    name: 'Acme',
    owner: { email: 'you@example.com', name: 'You' },
  });
  const org = founded.json.org.id;
  const token = founded.json.api_key.token;
  const call = (
    /** @type {string} */ method,
    /** @type {string} */ at,
    /** @type {any} */ body = undefined,
  ) => service.call(method, `/orgs/${org}${at}`, token, body);
  const ids = {};
  for (const name of ['ONE', 'TWO', 'THREE'])
    ids[name] = (
      await call('POST', '/secrets', { name, type: 'generic', value: `value of ${name}` })
    ).json.id;
  await call('PATCH', `/secrets/${ids.TWO}`, { value: 'second' });
  const hook = await call('POST', '/webhooks', {
    url: 'https://example.com/hook',
    events: ['SECRET_CREATED'],
  });
  const key = await call('POST', '/api-keys', { name: 'ci', scopes: ['secrets:read'] });
  assert.deepEqual([hook.status, key.status], [201, 201]);
  const gone = await call('POST', '/api-keys', { name: 'gone', scopes: ['secrets:read'] });
  await call('DELETE', `/api-keys/${gone.json.api_key?.id ?? gone.json.id}`);
  const rowsOf = async () => {
    const { status, stdout, said } = await run('doctor', ['--deep', '--json']);
    assert.doesNotMatch(said, /\n +at /);
    const checks = JSON.parse(stdout).checks.filter(({ check }) => check === 'rows');
    return { status, text: checks.map(({ message }) => message).join('\n'), verdict: checks.at(-1).verdict };
  };
  const whole = await rowsOf();
  assert.equal(whole.verdict, 'ok', whole.text);
  const made = await run('backup', ['--verify', '--output', 'b.sql']);
  assert.equal(made.status, 0, made.said);

  const db = new DatabaseSync(/** @type {string} */ (vaultFile(path.join(dir, '.wrangler', 'state'))), {
    timeout: 10_000,
  });
  const before = db.prepare('SELECT * FROM secrets ORDER BY id').all();
  const segments = db.prepare('SELECT * FROM audit_segments ORDER BY first_sequence').all();
  assert.ok(segments.length >= 1, 'the backup has moved the entries');
  db.prepare('DELETE FROM secrets WHERE id = ?').run(ids.ONE);
  for (const sql of ['DELETE FROM secrets WHERE id = ?', 'DELETE FROM secret_versions WHERE secret_id = ?'])
    db.prepare(sql).run(ids.TWO);
  db.prepare('DELETE FROM webhooks').run();
  db.prepare("DELETE FROM credentials WHERE name = 'ci'").run();
  const lost = await rowsOf();
  assert.equal(lost.status, 1);
  assert.match(lost.text, new RegExp(`secrets ${ids.ONE} \\(ONE\\): only the gate has it`));
  assert.match(lost.text, new RegExp(`secrets ${ids.TWO} \\(TWO\\): only the gate has it`));
  assert.match(lost.text, /webhooks whk_\w+.*: only the gate has it/);
  assert.match(lost.text, /credentials key_\w+ \(ci\): only the gate has it/);
  assert.doesNotMatch(lost.text, /THREE|gone/);
  const verified = await run('backup', ['--verify', '--output', 'c.sql', '--json']);
  assert.equal(verified.status, 1);
  assert.deepEqual(
    JSON.parse(verified.stdout).faults.map(({ table, id, what }) => [table, id, what]),
    [['secrets', ids.ONE, 'its row is missing, and 1 of its versions are there']],
  );

  const mended = await run('restore', ['b.sql', '--rows']);
  assert.equal(mended.status, 0, mended.said);
  assert.match(mended.said, new RegExp(`${ids.ONE} \\(ONE\\)`));
  assert.deepEqual(db.prepare('SELECT * FROM secrets ORDER BY id').all(), before);
  for (const [name, value] of Object.entries({ ONE: 'value of ONE', TWO: 'second', THREE: 'value of THREE' }))
    assert.equal((await call('GET', `/secrets/by-name/${name}`)).json.value, value);
  assert.equal((await call('PATCH', `/secrets/${ids.ONE}`, { value: 'later' })).status, 200);
  db.prepare('DELETE FROM audit_segments WHERE first_sequence = 1').run();
  assert.match((await rowsOf()).text, /audit_segments 1: the entries 1 to \d+ are missing/);
  const again = await run('restore', ['b.sql', '--rows']);
  assert.equal(again.status, 0, again.said);
  assert.match(again.said, /audit entries 1 to \d+ restored/);
  assert.deepEqual(
    db.prepare('SELECT * FROM audit_segments ORDER BY first_sequence').all().slice(0, segments.length),
    segments,
  );
  assert.equal((await call('GET', '/audit-log/verify')).json.ok, true);
  assert.equal((await run('backup', ['--output', 'd.sql'])).status, 0);
  // The newest: nothing in the database is behind the gap.
  db.prepare(
    'DELETE FROM audit_segments WHERE first_sequence = (SELECT max(first_sequence) FROM audit_segments)',
  ).run();
  assert.match((await rowsOf()).text, /audit_segments \d+: the entries \d+ to \d+ are missing/);
  db.prepare('DELETE FROM audit_segments').run();
  assert.match((await rowsOf()).text, /audit_segments 1: the entries 1 to \d+ are missing/);
  assert.equal((await run('restore', ['d.sql', '--rows'])).status, 0);
  assert.equal((await call('GET', '/audit-log/verify')).json.ok, true);
  const after = await rowsOf();
  assert.doesNotMatch(after.text, /secrets sec_/);
  // The gates have all other rows, and what is encrypted in them.
  assert.match(after.text, /has the gates write all other rows back/);
  const adopted = await run('restore', ['--adopt', '--reason', 'rows were lost']);
  assert.equal(adopted.status, 0, adopted.said);
  assert.equal((await rowsOf()).verdict, 'ok');
  db.prepare("UPDATE webhooks SET url_sealed = ''").run();
  assert.match((await rowsOf()).text, /webhooks whk_\w+.*: its URL or signing secret does not open/);
  await run('restore', ['--adopt', '--reason', 'rows were emptied']);
  assert.equal((await rowsOf()).verdict, 'ok');
  // A value that no backup has, and the gate still has: its row comes back, and the value is stored again.
  const late = (await call('POST', '/secrets', { name: 'LATE', type: 'generic', value: 'late' })).json.id;
  while (!db.prepare('SELECT 1 FROM secrets WHERE id = ?').get(late)) await sleep(50); // it follows
  db.prepare('DELETE FROM secrets WHERE id = ?').run(late);
  db.prepare('DELETE FROM secret_versions WHERE secret_id = ?').run(late);
  const part = await run('restore', ['d.sql', '--rows']);
  assert.equal(part.status, 1, part.said);
  assert.match(part.said, /the row of \S+: sec_\w+ \(LATE\) restored/);
  assert.match(part.said, /\(LATE\) version 1: the backup does not have it/);
  assert.equal((await run('restore', ['--adopt', '--reason', 'went back'])).status, 0);
  const { value } = (await call('GET', `/secrets/${late}`)).json;
  assert.equal(value, 'late');
  assert.equal((await call('POST', `/secrets/${late}/rotate`, { value })).json.version, 2);
  assert.match((await rowsOf()).text, /\(LATE\) version 1: its stored value is missing/);
  assert.equal((await call('DELETE', `/secrets/${late}?permanent=true`)).status, 204);
  assert.equal((await rowsOf()).verdict, 'ok');
  db.close();
});

it('lost rows: an organisation whose own row is lost gets it back from its gate, and all of it from a backup too', {
  ...slow(300_000),
}, async () => {
  const dir = copyOfProject();
  const service = await startService(dir);
  const run = (/** @type {string} */ command, /** @type {string[]} */ args) =>
    runCommand(dir, command, args, { PORT: String(service.port) });
  const owner = { email: 'you@example.com', name: 'You' };
  const found = async (/** @type {string} */ name) =>
    (await service.call('POST', '/orgs', service.variable('BOOTSTRAP_TOKEN'), { name, owner })).json;
  const acme = await found('Acme');
  const globex = (await found('Globex')).org.id;
  const { id } = acme.org;
  const call = (
    /** @type {string} */ method,
    /** @type {string} */ at,
    /** @type {any} */ body = undefined,
  ) => service.call(method, `/orgs/${id}${at}`, acme.api_key.token, body);
  await call('POST', '/secrets', { name: 'ONE', type: 'generic', value: 'of Acme' });
  assert.equal((await run('backup', ['--output', 'b.sql'])).status, 0);
  const db = new DatabaseSync(/** @type {string} */ (vaultFile(path.join(dir, '.wrangler', 'state'))), {
    timeout: 10_000,
  });
  const rows = () => db.prepare('SELECT * FROM orgs WHERE id = ?').all(id);
  const before = rows();
  const adopt = ['--adopt', '--reason', 'rows were lost'];

  db.prepare('DELETE FROM orgs WHERE id = ?').run(id);
  const others = await run('restore', adopt);
  assert.match(others.said, /1 organisation has adopted/, 'the database does not list it');
  assert.deepEqual(rows(), []);
  assert.match((await run('restore', ['b.sql', '--only', id])).said, /^Use: /m);
  const unknown = await run('restore', [...adopt, '--only', 'org_0000000000000000000000']);
  assert.equal(unknown.status, 1, unknown.said);
  assert.match(unknown.said, /did not accept.*\n +org_0000000000000000000000: 404/);
  const mended = await run('restore', [...adopt, '--only', id]);
  assert.equal(mended.status, 0, mended.said);
  assert.deepEqual(rows(), before);

  // All of it: the commands of the pages, in the order of the page.
  const tables = ['orgs', 'org_keys', 'secrets', 'secret_versions', 'environments', 'members', 'credentials'];
  const [key] = db.prepare('SELECT * FROM org_keys WHERE org_id = ?').all(id);
  for (const table of [...tables, 'audit_segments', 'fences', 'commits'])
    db.prepare(`DELETE FROM ${table} WHERE ${table === 'orgs' ? 'id' : 'org_id'} = ?`).run(id);
  db.prepare(`INSERT INTO org_keys (${Object.keys(key)}) VALUES (${Object.keys(key).map(() => '?')})`).run(
    .../** @type {any[]} */ (Object.values(key)),
  );
  const put = await run('restore', ['b.sql', '--rows']);
  assert.equal(put.status, 0, put.said);
  assert.match(put.said, /ONE/);
  const again = await run('restore', [...adopt, '--only', id]);
  assert.equal(again.status, 0, again.said);
  assert.equal((await call('PATCH', '', { name: 'Acme again' })).status, 200);
  assert.equal((await call('GET', '/secrets/by-name/ONE')).json.value, 'of Acme');
  assert.equal((await call('GET', '/audit-log/verify')).json.ok, true);
  const whole = await run('doctor', ['--deep', '--json']);
  const checks = JSON.parse(whole.stdout).checks.filter(({ check }) => check === 'rows');
  assert.equal(checks.at(-1).verdict, 'ok', JSON.stringify(checks));

  // One that is to stay lost is not looked for any more.
  for (const table of [...tables, 'fences', 'commits'])
    db.prepare(`DELETE FROM ${table} WHERE ${table === 'orgs' ? 'id' : 'org_id'} = ?`).run(globex);
  db.close();
  const keysCheck = async () => {
    const { stdout } = await run('doctor', ['--json']);
    return JSON.parse(stdout).checks.find(({ check }) => check === 'keys');
  };
  assert.match((await keysCheck()).message, new RegExp(`lost an organisation with row and key .${globex}`));
  assert.match((await run('gate', ['give-up', globex, '--yes'])).said, /nothing was changed/, 'it runs');
  await service.stop();
  assert.match((await run('gate', ['give-up', id, '--yes'])).said, /its gate stays.*nothing was changed/);
  assert.match((await run('gate', ['give-up', globex])).said, /Nothing was changed: pass --yes/);
  const given = await run('gate', ['give-up', globex, '--yes']);
  assert.equal(given.status, 0, given.said);
  assert.match(given.said, /are now in .*set-aside/);
  assert.equal((await keysCheck()).verdict, 'ok');
});

it('doctor: gaps of an audit log that adjoin are one', async () => {
  const missing = [
    { from: 5, to: 5, reason: 'restore' },
    { from: 6, to: 8, reason: 'gate_lost' },
    { from: 9, to: 9, reason: 'restore' },
  ];
  const entries = gzipSync(JSON.stringify([{ missing }, { missing: [{ from: 20, to: 30 }] }]));
  const rows = async () => [{ entries: entries.toString('base64') }];
  assert.deepEqual(await gapsTold(rows, 'org_one'), [
    { from: 5, to: 9 },
    { from: 20, to: 30 },
  ]);
});

it('doctor: audit entries that a gate knows to be lost are not named, also where gaps adjoin', async () => {
  const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'lost-'));
  const org = 'org_0123456789ABCDEFGHIJKL';
  const file = gateFile(dir, org);
  fs.mkdirSync(path.dirname(file), { recursive: true });
  const gate = new DatabaseSync(file);
  gate.exec(`CREATE TABLE meta (key text PRIMARY KEY, value text);
    CREATE TABLE rows (kind text, id text);
    CREATE TABLE audit (sequence integer PRIMARY KEY, body text);
    CREATE TABLE held_entries (sequence integer PRIMARY KEY, body text)`);
  const note = (/** @type {string} */ key, /** @type {any} */ value) =>
    gate.prepare('INSERT OR REPLACE INTO meta VALUES (?, ?)').run(key, JSON.stringify(value));
  note('oldest', 31);
  note('chain', { sequence: 30, hash: 'thirty' });
  // Lost with the gate twice, and by a restore.
  const missing = [
    { from: 11, to: 19, reason: 'gate_lost' },
    { from: 20, to: 20, reason: 'restore' },
    { from: 21, to: 29, reason: 'gate_lost' },
    [30, 30],
  ];
  note('lost', missing);
  const ten = { org_id: org, first: 1, last: 10, prev_hash: 'genesis', to: 10, last_hash: 'ten' };
  const database =
    (/** @type {any[]} */ ...segments) =>
    async (/** @type {string} */ sql) =>
      sql.includes('ORDER BY first_sequence DESC')
        ? segments.slice(-1)
        : sql.includes('ORDER BY org_id, first_sequence')
          ? segments
          : [];
  assert.deepEqual(await newestEntries(database(ten), gate, org), []);
  // The next segment has moved, and the entry that tells of the gap has not.
  const next = { org_id: org, first: 31, last: 40, prev_hash: 'thirty', last_hash: 'forty' };
  const keys = new Map([[org, {}]]);
  assert.deepEqual(await lostRows(database(ten, next), keys, dir), []);
  const named = (/** @type {any[]} */ found) => found.map(({ what }) => what);
  assert.deepEqual(named(await lostRows(database(ten, next), keys)), ['the entries 11 to 30 are missing']);
  note('lost', missing.slice(1));
  assert.deepEqual(named(await newestEntries(database(ten), gate, org)), [
    'the entries 11 to 30 are missing',
  ]);
  assert.deepEqual(named(await lostRows(database(ten, next), keys, dir)), [
    'the entries 11 to 30 are missing',
  ]);
  gate.close();
});
