// A backup of a vault whose keys do not open: refused, and nothing is written. With the right keys, it is made.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, it } from 'node:test';
import { encrypt } from './envelope.mjs';
import { project, runScript } from './service.mjs';

const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'keys-'));
after(() => fs.rmSync(dir, { recursive: true, force: true }));
const master = Buffer.alloc(32, 7);
const ORG = 'org_0000000000000000000001';

/** A vault with one organisation, as `npm start` leaves it. */
function vault(name) {
  const state = path.join(dir, name);
  const folder = path.join(state, 'v3', 'd1', 'any');
  fs.mkdirSync(folder, { recursive: true });
  const db = new DatabaseSync(path.join(folder, 'vault.sqlite'));
  db.exec('CREATE TABLE d1_migrations (id INTEGER PRIMARY KEY, name TEXT)');
  for (const file of fs.readdirSync(path.join(project, 'migrations')).filter((one) => one.endsWith('.sql'))) {
    db.exec(fs.readFileSync(path.join(project, 'migrations', file), 'utf8'));
    db.prepare('INSERT INTO d1_migrations (name) VALUES (?)').run(file);
  }
  const wrapped = (purpose, owner) => encrypt(master, purpose, [owner, 'k1'], new Uint8Array(32));
  db.prepare('INSERT INTO deployment_keys VALUES (?, ?, ?, 0)').run('deployment', 'k1', wrapped('deployment key', 'deployment'));
  db.prepare('INSERT INTO org_keys VALUES (?, ?, ?, 0)').run(ORG, 'k1', wrapped('org key', ORG));
  db.prepare(
    "INSERT INTO orgs (id, shard, name, default_environment, created_at, updated_at, revision, mac) VALUES (?, 0, 'A', 'env', 0, 0, 1, '')",
  ).run(ORG);
  return { state, db };
}

it('backup: a vault is backed up only if its keys open', async () => {
  const { state, db } = vault('state');
  const file = path.join(dir, 'made.sql');
  const key = (fill, id = 'k1') => `${id}:${Buffer.alloc(32, fill).toString('base64')}`;
  const backUp = (MASTER_KEYS) =>
    runScript(project, ['scripts/operate/recovery/backup.mjs', '--output', file], { STATE_DIR: state, MASTER_KEYS });
  const refused = async (MASTER_KEYS, why) => {
    const { status, said } = await backUp(MASTER_KEYS);
    assert.equal(status, 1, said);
    assert.match(said, why);
    assert.equal(said.trim().split('\n').length, 1, 'one line');
    assert.ok(!fs.existsSync(file));
    assert.ok(!said.includes(Buffer.alloc(32, 1).toString('base64')), 'shows no key');
  };
  await refused(key(1), /^No backup was made, .*2 of 2 wrapped keys do not decrypt, .*another key with the id k1/m);
  await refused(key(7, 'k2'), /^No backup was made, .*MASTER_KEYS lacks k1/m);
  db.exec('CREATE TABLE lost AS SELECT * FROM org_keys; DELETE FROM org_keys');
  await refused(key(7), /^No backup was made, .*the keys of 1 of 1 organisations are missing/m);
  db.exec(
    'INSERT INTO org_keys SELECT * FROM lost; DROP TABLE lost; CREATE TABLE lost AS SELECT * FROM deployment_keys; DELETE FROM deployment_keys',
  );
  await refused(key(7), /^No backup was made, .*the deployment key is missing.*docs\/operations\/keys\.md/m);
  db.exec('INSERT INTO deployment_keys SELECT * FROM lost; DROP TABLE lost');
  const made = await backUp(key(7));
  assert.equal(made.status, 0, made.said);
  assert.ok(fs.existsSync(file));

  // The page on keys puts a missing key back from it.
  const page = fs.readFileSync(path.join(project, 'docs/operations/keys.md'), 'utf8');
  const commands = page.match(/^(sed|echo) .* >>? keys\.sql$/gm) ?? [];
  assert.equal(commands.length, 3);
  for (const command of commands) execFileSync('sh', ['-c', command.replace(/\S+\.sql (>>?)/, `'${file}' $1`)], { cwd: dir });
  const row = db.prepare('SELECT * FROM deployment_keys').get();
  db.exec('DELETE FROM deployment_keys');
  db.exec(fs.readFileSync(path.join(dir, 'keys.sql'), 'utf8'));
  assert.deepEqual(db.prepare('SELECT * FROM deployment_keys').get(), row);
});
