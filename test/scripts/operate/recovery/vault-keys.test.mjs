// A backup of a vault whose keys do not open: refused, and nothing is written. With the right keys, it is
// made.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, it } from 'node:test';
import { closedKeys, keysIn } from '../../../../scripts/operate/vault/check-keys.mjs';
import { encrypt } from '../../envelope.mjs';
import { project, runScript } from '../../service.mjs';
import { slow } from '../../slow.mjs';

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
  db.prepare('INSERT INTO deployment_keys VALUES (?, ?, ?, 0)').run(
    'deployment',
    'k1',
    wrapped('deployment key', 'deployment'),
  );
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
    runScript(project, ['scripts/operate/recovery/backup.mjs', '--output', file], {
      STATE_DIR: state,
      MASTER_KEYS,
    });
  const refused = async (MASTER_KEYS, why) => {
    const { status, said } = await backUp(MASTER_KEYS);
    assert.equal(status, 1, said);
    assert.match(said, why);
    assert.equal(said.trim().split('\n').length, 1, 'one line');
    assert.ok(!fs.existsSync(file));
    assert.ok(!said.includes(Buffer.alloc(32, 1).toString('base64')), 'shows no key');
  };
  await refused(
    key(1),
    /^No backup was made, .*2 of 2 wrapped keys do not decrypt, .*another key with the id k1/m,
  );
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
  for (const command of commands)
    execFileSync('sh', ['-c', command.replace(/\S+\.sql (>>?)/, `'${file}' $1`)], { cwd: dir });
  const row = db.prepare('SELECT * FROM deployment_keys').get();
  db.exec('DELETE FROM deployment_keys');
  db.exec(fs.readFileSync(path.join(dir, 'keys.sql'), 'utf8'));
  assert.deepEqual(db.prepare('SELECT * FROM deployment_keys').get(), row);
});

it('backup: one key that does not open costs only its organisation', slow(120_000), async () => {
  const { state, db } = vault('one-of-two');
  const OTHER = 'org_0000000000000000000002';
  const sealed = encrypt(master, 'org key', [OTHER, 'k1'], new Uint8Array(32));
  db.prepare('INSERT INTO org_keys VALUES (?, ?, ?, 0)').run(OTHER, 'k1', sealed);
  db.prepare(
    "INSERT INTO orgs (id, shard, name, default_environment, created_at, updated_at, revision, mac) VALUES (?, 0, 'B', 'env', 0, 0, 1, '')",
  ).run(OTHER);
  const variables = { STATE_DIR: state, MASTER_KEYS: `k1:${master.toString('base64')}` };
  const run = (command, args, more = {}) =>
    runScript(project, [`scripts/operate/recovery/${command}.mjs`, ...args], { ...variables, ...more });
  const damages = {
    'its key does not open': `UPDATE org_keys SET key_sealed = 'x' WHERE org_id = '${OTHER}'`,
    'its key is missing': `DELETE FROM org_keys WHERE org_id = '${OTHER}'`,
    'MASTER_KEYS lacks k9': `UPDATE org_keys SET master_id = 'k9' WHERE org_id = '${OTHER}'`,
  };
  for (const [at, [why, sql]] of Object.entries(damages).entries()) {
    db.exec(sql);
    const file = path.join(dir, `one-${at}.sql`);
    const made = await run('backup', ['--verify', '--output', file]);
    assert.equal(made.status, 1, made.said);
    assert.match(made.said, /the keys of 1 of 2 organisations do not open/);
    assert.match(made.said, new RegExp(`  ${OTHER}: ${why}`));
    assert.doesNotMatch(made.said, new RegExp(`${ORG}:.*key`));
    assert.ok(fs.existsSync(file), why);
    const accepted = await run('backup', [
      '--except',
      OTHER,
      '--output',
      path.join(dir, `accepted-${at}.sql`),
    ]);
    assert.equal(accepted.status, 0, accepted.said);
    assert.doesNotMatch(accepted.said, /do not open/);

    const into = { STATE_DIR: path.join(dir, `restored-${at}`) };
    const plain = await run('restore', [file, '--yes'], into);
    if (why.includes('lacks')) {
      assert.equal(plain.status, 1, plain.said);
      assert.match(plain.said, /it lacks k9, .*--except/);
    }
    const restored = why.includes('lacks')
      ? await run('restore', [file, '--yes', '--except', OTHER], into)
      : plain;
    assert.equal(restored.status, 0, restored.said);
    assert.match(restored.said, new RegExp(`  ${OTHER}: ${why}`));
    db.prepare('INSERT OR REPLACE INTO org_keys VALUES (?, ?, ?, 0)').run(OTHER, 'k1', own);
  }
});

it('keys: those of two organisations that were exchanged are named, and the page exchanges them back', async () => {
  const { db } = vault('exchanged');
  const OTHER = 'org_0000000000000000000002';
  const [own, others] = [ORG, OTHER].map((id) => encrypt(master, 'org key', [id, 'k1'], new Uint8Array(32)));
  db.prepare('INSERT INTO org_keys VALUES (?, ?, ?, 0)').run(OTHER, 'k1', own);
  db.prepare('UPDATE org_keys SET key_sealed = ? WHERE org_id = ?').run(others, ORG);
  const masters = [{ id: 'k1', key: master }];
  const [said, ...more] = await closedKeys(keysIn(db), masters, 'MASTER_KEYS');
  assert.deepEqual(more, []);
  assert.match(
    said,
    new RegExp(`the row of ${ORG} has the key of ${OTHER}, that of ${OTHER} has the key of ${ORG}: see`),
  );
  const page = fs.readFileSync(path.join(project, 'docs/operations/keys.md'), 'utf8');
  const [, command] = /--command "(UPDATE org_keys [^"]+)"/.exec(page) ?? assert.fail('no command');
  db.exec(command.replaceAll('$A', ORG).replaceAll('$B', OTHER));
  assert.deepEqual(await closedKeys(keysIn(db), masters, 'MASTER_KEYS'), []);
});

it('doctor: each kind of problem of keys is named', async () => {
  const { state, db } = vault('problems');
  const insert = db.prepare('INSERT INTO org_keys VALUES (?, ?, ?, 0)');
  insert.run('org_0000000000000000000002', 'k9', 'x');
  db.prepare("UPDATE org_keys SET key_sealed = 'x' WHERE org_id = ?").run(ORG);
  db.exec(
    "INSERT INTO orgs (id, shard, name, default_environment, created_at, updated_at, revision, mac) VALUES ('org_0000000000000000000003', 0, 'C', 'env', 0, 0, 1, ''); DELETE FROM deployment_keys",
  );
  const { said } = await runScript(project, ['scripts/operate/doctor/doctor.mjs'], {
    STATE_DIR: state,
    MASTER_KEYS: `k1:${master.toString('base64')}`,
    BOOTSTRAP_TOKEN: 'x'.repeat(40),
    PORT: '9349',
  });
  const lines = said.split('\n').filter((line) => /^\w+ +keys /.test(line));
  const kinds = [
    /the deployment key is missing/,
    /the keys of 1 of 2 organisations are missing \(org_0000000000000000000003\)/,
    /1 organisation has a key and no row in the table orgs \(org_0000000000000000000002\)/,
    /MASTER_KEYS lacks k9/,
    /1 of 2 wrapped keys do not decrypt/,
  ];
  assert.equal(lines.length, kinds.length, said);
  for (const [at, kind] of kinds.entries()) assert.match(lines[at] ?? '', kind);
});

it('key rotation: a master key that is missing is named, and no step claims that it can go on', async () => {
  const { state } = vault('rotation');
  const file = path.join(dir, 'rotation.vars');
  const key = (id) => `${id}:${Buffer.alloc(32, id.charCodeAt(1)).toString('base64')}`;
  fs.writeFileSync(file, `MASTER_KEYS=${key('k2')}\n`, { mode: 0o600 });
  const rotate = (...args) =>
    runScript(project, ['scripts/operate/keys-rotate.mjs', ...args, '--keys', file], { STATE_DIR: state });
  for (const step of [[], ['add'], ['remove']]) {
    const { status, said } = await rotate(...step);
    assert.equal(status, 1, said);
    assert.match(
      said,
      /MASTER_KEYS lacks k1, which wraps 2 keys of this vault: add it after the current one \(from your copy of the file\)/,
    );
    assert.doesNotMatch(said, /rewrap(?!ped)/);
  }
  assert.equal(fs.readFileSync(file, 'utf8'), `MASTER_KEYS=${key('k2')}\n`);
  fs.writeFileSync(file, `MASTER_KEYS=${key('k2')}\nRETIRED_MASTER_KEYS=${key('k1')}\n`, { mode: 0o600 });
  assert.match((await rotate()).said, /\(it is in RETIRED_MASTER_KEYS\)/);
  fs.writeFileSync(file, `MASTER_KEYS=${key('k2')},k1:${master.toString('base64')}\n`, { mode: 0o600 });
  const known = await rotate();
  assert.equal(known.status, 0, known.said);
  assert.match(known.said, /Next: npm run keys:rotate -- rewrap/);
});

it('key rotation: the old master key stays while the new one in the file does not open every key', async () => {
  const { state, db } = vault('removal');
  const file = path.join(dir, 'removal.vars');
  const list = (fill) =>
    `MASTER_KEYS=k2:${Buffer.alloc(32, fill).toString('base64')},k1:${master.toString('base64')}\n`;
  const remove = () =>
    runScript(project, ['scripts/operate/keys-rotate.mjs', 'remove', '--keys', file], { STATE_DIR: state });
  const fresh = Buffer.alloc(32, 2);
  for (const [table, id, purpose, owner] of [
    ['deployment_keys', 'id', 'deployment key', 'deployment'],
    ['org_keys', 'org_id', 'org key', ORG],
  ])
    db.prepare(`UPDATE ${table} SET master_id = 'k2', key_sealed = ? WHERE ${id} = ?`).run(
      encrypt(fresh, purpose, [owner, 'k2'], new Uint8Array(32)),
      owner,
    );
  fs.writeFileSync(file, list(3), { mode: 0o600 });
  const told = await runScript(project, ['scripts/operate/keys-rotate.mjs', '--keys', file], {
    STATE_DIR: state,
  });
  assert.equal(told.status, 1, told.said);
  assert.match(told.said, /2 of 2 wrapped keys do not decrypt.* has another key with the id k2/);
  assert.doesNotMatch(told.said, /Next:/);
  const refused = await remove();
  assert.equal(refused.status, 1, refused.said);
  assert.match(
    refused.said,
    /2 of 2 wrapped keys do not decrypt.* has another key with the id k2.*nothing was removed/,
  );
  assert.equal(fs.readFileSync(file, 'utf8'), list(3));
  fs.writeFileSync(file, list(2), { mode: 0o600 });
  const removed = await remove();
  assert.equal(removed.status, 0, removed.said);
  assert.match(removed.said, /Removed from MASTER_KEYS: k1/);
});
