// Versions of secrets that the database lost or damaged are restored from a backup, one by one; nothing that
// was destroyed returns.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { it } from 'node:test';
import { statementsFor } from '../../../../scripts/operate/recovery/restore-rows.mjs';
import { isLegal } from '../../../../scripts/operate/recovery/sql-dump.mjs';
import { openKeys, rowsOf } from '../../../../scripts/operate/vault/every-row.mjs';
import { parseMasterKeys } from '../../../../scripts/operate/vault/master-keys.mjs';
import { applyMigrations } from '../../../../scripts/operate/vault/migrate.mjs';
import { gateFile, vaultFile } from '../../../../scripts/operate/vault/state-dir.mjs';
import { putState, releases } from '../../releases/fixtures.mjs';
import { copyOfProject, runCommand } from '../../service.mjs';
import { slow } from '../../slow.mjs';

/** A vault of an earlier release in the tables of this one, and a backup of it: b.sql. */
async function vault() {
  const dir = copyOfProject();
  const left = putState(releases.at(-1) ?? '', dir);
  const state = path.join(dir, '.wrangler', 'state');
  await applyMigrations(state);
  const file = /** @type {string} */ (vaultFile(state));
  /** @template T @param {(db: DatabaseSync) => T} change @returns {T} */
  const inDatabase = (change) => {
    const db = new DatabaseSync(file, { timeout: 5000 });
    try {
      return change(db);
    } finally {
      db.close();
    }
  };
  const run = (/** @type {string} */ command, /** @type {string[]} */ args, variables = {}) =>
    runCommand(dir, command, args, variables);
  const mend = async (/** @type {string} */ backup = 'b.sql') => {
    const { status, stdout, said } = await run('restore', [backup, '--rows', '--json']);
    assert.ok(stdout, said);
    return { status, said, ...JSON.parse(stdout) };
  };
  const versions = () =>
    inDatabase((db) =>
      db
        .prepare('SELECT * FROM secret_versions ORDER BY org_id, secret_id, version')
        .all()
        .map((row) => ({ ...row })),
    );
  const others = () =>
    inDatabase((db) =>
      ['secrets', 'orgs', 'credentials', 'journal_positions', 'audit_segments'].map((table) =>
        db.prepare(`SELECT * FROM ${table} ORDER BY 1, 2`).all(),
      ),
    );
  const made = await run('backup', ['--output', 'b.sql']);
  assert.equal(made.status, 0, made.said);
  const masters = parseMasterKeys(left.variables.MASTER_KEYS) ?? [];
  /**
   * Changes a row as the service would: with its MAC.
   * @param {any} secret
   * @param {string} at
   * @param {string} kind
   * @param {any} changes
   */
  const put = async ({ org_id, id }, at, kind, changes) => {
    const db = new DatabaseSync(file);
    const { source, keys } = await openKeys(rowsOf(db), masters);
    const raw = db.prepare(`SELECT * FROM ${at}`).get(org_id, id);
    const row = {
      ...(kind === 'secret' ? source.readable(kind, raw) : source.fromD1(source.secretVersions, raw)),
      ...changes,
    };
    const mac = source.macOf(keys.get(org_id).row, kind, row);
    for (const [column, value] of Object.entries({ ...changes, mac }))
      db.prepare(`UPDATE ${at.replace(' WHERE', ` SET ${column} = ? WHERE`)}`).run(
        /** @type {any} */ (value),
        org_id,
        id,
      );
    db.close();
  };
  const change = (/** @type {any} */ secret, /** @type {Record<string, any>} */ changes) =>
    put(secret, 'secrets WHERE org_id = ? AND id = ?', 'secret', changes);
  const alter = (
    /** @type {any} */ secret,
    /** @type {number} */ version,
    /** @type {Record<string, any>} */ changes,
  ) =>
    put(
      secret,
      `secret_versions WHERE org_id = ? AND secret_id = ? AND version = ${version}`,
      'version',
      changes,
    );
  return { dir, inDatabase, run, mend, versions, others, change, alter };
}

/** Secrets, those with most versions first. @param {DatabaseSync} db @returns {any[]} */
const secretsOf = (db) =>
  db.prepare('SELECT * FROM secrets WHERE deleted_at IS NULL ORDER BY version DESC, id').all();

const lose = (/** @type {DatabaseSync} */ db, { org_id, id }, /** @type {number} */ version) =>
  db
    .prepare('DELETE FROM secret_versions WHERE org_id = ? AND secret_id = ? AND version = ?')
    .run(org_id, id, version);
const zero = (
  /** @type {DatabaseSync} */ db,
  { org_id, id },
  /** @type {number} */ version,
  value = 'AAAA',
) =>
  db
    .prepare('UPDATE secret_versions SET value_sealed = ? WHERE org_id = ? AND secret_id = ? AND version = ?')
    .run(value, org_id, id, version);

it('restore: --rows restores the versions that are missing or do not open, and changes nothing else', {
  ...slow(200_000),
}, async () => {
  const { inDatabase, run, mend, versions, others } = await vault();
  const before = versions();
  const rest = others();
  const nothing = await run('restore', ['b.sql', '--rows']);
  assert.equal(nothing.status, 0, nothing.said);
  assert.match(nothing.said, /Every version of every secret is there and opens: nothing was changed/);
  const [old, missing, zeroed, forged] = inDatabase(secretsOf);
  assert.ok(old.version > 1, 'one has an old version');
  inDatabase((db) => {
    lose(db, old, 1);
    lose(db, missing, missing.version);
    zero(db, zeroed, zeroed.version);
    db.prepare(
      "UPDATE secret_versions SET created_by = 'key_forged' WHERE secret_id = ? AND version = ?",
    ).run(forged.id, forged.version);
  });
  const shown = await mend();
  assert.equal(shown.status, 0, shown.said);
  const expected = [[old, 1], ...[missing, zeroed, forged].map((secret) => [secret, secret.version])].map(
    ([{ org_id: org, id: secret, name }, version]) => ({ org, secret, name, version }),
  );
  const byId = (/** @type {any} */ a, /** @type {any} */ b) => (a.secret < b.secret ? -1 : 1);
  assert.deepEqual(shown.restored.sort(byId), expected.sort(byId));
  assert.deepEqual([shown.left, shown.closed, shown.altered], [[], [], []]);
  assert.deepEqual(versions(), before);
  assert.deepEqual(others(), rest);
  for (const row of before) assert.ok(!shown.said.includes(String(row.value_sealed)));
  const { checks } = JSON.parse((await run('doctor', ['--deep', '--json'])).stdout);
  assert.deepEqual(
    checks.filter(({ check }) => check === 'rows').map(({ verdict }) => verdict),
    ['ok'],
  );
  assert.deepEqual((await mend()).restored, [], 'a repeat finds nothing');
});

it('restore: --rows never brings back what was destroyed, and says what it leaves', {
  timeout: 200_000,
}, async () => {
  const { inDatabase, run, mend, versions, change } = await vault();
  const [destroyed, gone, trashed, purged, altered] = inDatabase(secretsOf);
  assert.ok(destroyed.version > 1);
  await change(destroyed, { oldest_version: 2 });
  await change(trashed, { deleted_at: Date.now() - 1 });
  await change(purged, { deleted_at: 1 });
  inDatabase((db) => {
    zero(db, destroyed, 1);
    for (const table of ['secret_versions WHERE secret_id', 'secrets WHERE id'])
      db.prepare(`DELETE FROM ${table} = ?`).run(gone.id);
    lose(db, trashed, trashed.version);
    zero(db, purged, purged.version);
    db.prepare("UPDATE secrets SET name = 'forged' WHERE id = ?").run(altered.id);
    lose(db, altered, altered.version);
  });
  const before = versions();
  const first = await mend();
  assert.equal(first.status, 1, first.said);
  assert.deepEqual(
    new Set(first.restored.map(({ secret }) => secret)),
    new Set([trashed.id, gone.id]),
    'a deleted secret that can be restored has its versions, and one that its gate has too',
  );
  assert.deepEqual(
    first.secrets.map(({ secret }) => secret),
    [gone.id],
  );
  const whyOf = ({ id }) => first.left.find(({ secret }) => secret === id)?.why;
  assert.equal(whyOf(destroyed), 'it was destroyed on purpose');
  assert.equal(whyOf(purged), 'its secret was deleted');
  assert.match(whyOf(altered), /^the row of its secret was altered/);
  assert.deepEqual(first.altered, [altered.id]);
  assert.equal(first.left.length, 3);
  const isTrashed = ({ secret_id }) => secret_id === trashed.id || secret_id === gone.id;
  assert.deepEqual(
    versions().filter((row) => !isTrashed(row)),
    before.filter((row) => !isTrashed(row)),
  );
  inDatabase((db) => lose(db, destroyed, 1));
  assert.ok(
    !(await mend()).left.some(({ secret }) => secret === destroyed.id),
    'a destroyed version is not missing',
  );
  const told = await run('restore', ['b.sql', '--rows']);
  assert.equal(told.status, 1);
  assert.match(
    told.said,
    /0 versions restored from the backup of .*\.\n2 versions not restored:\n {2}org_\w+: /,
  );
});

it('restore: --rows takes no row that does not open, of another organisation or of another history', {
  ...slow(200_000),
}, async () => {
  const { inDatabase, run, mend, versions, change, alter } = await vault();
  const [old, closed, lacking] = inDatabase(secretsOf);
  const foreign = inDatabase(secretsOf).find(({ org_id }) => org_id !== closed.org_id);
  assert.ok(foreign, 'there are two organisations');
  // The backup of somebody who put other rows into it.
  inDatabase((db) => {
    zero(db, closed, closed.version);
    lose(db, lacking, lacking.version);
    const theirs = db
      .prepare('SELECT * FROM secret_versions WHERE secret_id = ? AND version = ?')
      .get(closed.id, closed.version);
    lose(db, foreign, foreign.version);
    const moved = { ...theirs, org_id: foreign.org_id, secret_id: foreign.id, version: foreign.version };
    const columns = Object.keys(moved);
    db.prepare(`INSERT INTO secret_versions (${columns}) VALUES (${columns.map(() => '?')})`).run(
      .../** @type {any[]} */ (Object.values(moved)),
    );
  });
  assert.equal((await run('backup', ['--output', 'bad.sql'])).status, 0);
  inDatabase((db) => {
    for (const secret of [closed, foreign]) lose(db, secret, secret.version);
  });
  const before = versions();
  const refused = await mend('bad.sql');
  assert.equal(refused.status, 1);
  assert.deepEqual(refused.restored, []);
  const whyOf = (/** @type {any} */ { left }, /** @type {any} */ { id }) =>
    left.find(({ secret }) => secret === id)?.why;
  for (const secret of [closed, foreign])
    assert.equal(whyOf(refused, secret), "the backup's row does not open either");
  assert.equal(whyOf(refused, lacking), 'the backup does not have it');
  assert.deepEqual(versions(), before);
  assert.equal((await mend()).status, 0, 'an older backup has them');

  // The vault went on from an older backup: the same numbers were given to other values.
  await change(lacking, { seal_id: 'another' });
  await alter(old, old.version, { created_by: 'key_another' });
  inDatabase((db) => {
    lose(db, lacking, lacking.version);
    lose(db, old, 1);
  });
  const forked = await mend();
  assert.deepEqual([forked.status, forked.restored], [1, []]);
  assert.equal(whyOf(forked, lacking), 'the backup has another value under this number');
  assert.match(whyOf(forked, old), /^the backup has other values of this secret: it is of another history/);
});

it('restore: --rows refuses a damaged backup, other keys and other options', {
  timeout: 100_000,
}, async () => {
  const { dir, inDatabase, run, versions } = await vault();
  const [secret] = inDatabase(secretsOf);
  inDatabase((db) => lose(db, secret, secret.version));
  const before = versions();
  fs.writeFileSync(path.join(dir, 'cut.sql'), fs.readFileSync(path.join(dir, 'b.sql')).subarray(0, -200));
  const other = { MASTER_KEYS: `k1:${Buffer.alloc(32, 7).toString('base64')}` };
  for (const [args, variables, expected] of /** @type {const} */ ([
    [['cut.sql', '--rows'], {}, /damaged or incomplete/],
    [['b.sql', '--rows'], other, /org_\w+ was not looked at: its key does not open/],
    [['--rows'], {}, /^Use: /],
    [['b.sql', '--rows', '--replace'], {}, /^Use: /],
    [['b.sql', '--rows', '--adopt'], {}, /^Use: /],
    [
      ['--adopt', '--remote', '--reason', 'a test'],
      {},
      /^BOOTSTRAP_TOKEN is missing: set it to the deployment's/,
    ],
    [['b.sql', '--rows'], { STATE_DIR: 'nothing' }, /There is no vault in /],
  ])) {
    const { status, said } = await run('restore', [...args], variables);
    assert.equal(status, 1, said);
    assert.match(said, expected);
    assert.doesNotMatch(said, /\n +at /, 'no stack trace');
  }
  assert.deepEqual(versions(), before);
});

it('restore: --rows writes a version only while its secret is as it was, in statements that D1 accepts', () => {
  const guard = { org: 'org_1', secret: 'sec_1', version: 1, guard: 'the MAC' };
  const value_sealed = 'QUJD'.repeat(50_000);
  const write = (/** @type {string} */ mac) => {
    const db = new DatabaseSync(':memory:');
    db.exec(`CREATE TABLE secrets (org_id, id, mac);
      CREATE TABLE secret_versions (org_id, secret_id, version, value_sealed, mac, PRIMARY KEY (org_id, secret_id, version))`);
    db.prepare("INSERT INTO secrets VALUES ('org_1', 'sec_1', ?), ('org_2', 'sec_1', 'the MAC')").run(mac);
    db.exec(
      "INSERT INTO secret_versions VALUES ('org_1', 'sec_1', 1, 'AAAA', 'm'), ('org_2', 'sec_1', 1, 'BBBB', 'n')",
    );
    const raw = { org_id: 'org_1', secret_id: 'sec_1', version: 1, value_sealed, mac: 'm' };
    const statements = statementsFor({ ...guard, raw });
    assert.ok(statements.every(isLegal));
    for (const statement of statements) db.exec(statement);
    return db
      .prepare('SELECT value_sealed FROM secret_versions ORDER BY org_id')
      .all()
      .map((row) => row.value_sealed);
  };
  assert.deepEqual(write('the MAC'), [value_sealed, 'BBBB']);
  assert.deepEqual(write('that of a deletion meanwhile'), ['AAAA', 'BBBB']);
});

it('restore: a new secret that its gate has yet to send to the database is left to the gate', async () => {
  const { dir, inDatabase, mend } = await vault();
  const [{ org_id, id }] = inDatabase(secretsOf);
  inDatabase((db) => {
    db.prepare('DELETE FROM secrets WHERE org_id = ? AND id = ?').run(org_id, id);
    db.prepare('DELETE FROM secret_versions WHERE org_id = ? AND secret_id = ?').run(org_id, id);
    db.prepare("INSERT INTO journal_positions VALUES (?, 'term', 4, 'rec', 1)").run(org_id);
  });
  const gate = new DatabaseSync(gateFile(path.join(dir, '.wrangler', 'state'), org_id));
  gate.exec('CREATE TABLE journal (n INTEGER NOT NULL, part INTEGER NOT NULL, body TEXT NOT NULL)');
  gate
    .prepare('INSERT INTO journal VALUES (1, 0, ?)')
    .run(JSON.stringify({ writes: [{ kind: 'secret', row: { id }, from: 0 }], deletes: [] }));
  const stand = gate.prepare('INSERT OR REPLACE INTO meta (key, value) VALUES (?, ?)');
  stand.run('term', 'term');
  stand.run('position', '[4,"rec"]');
  assert.deepEqual((await mend()).secrets, []);
  // It cannot send it to a database that stands elsewhere.
  stand.run('position', '[5,"next"]');
  gate.close();
  assert.deepEqual(
    (await mend()).secrets.map(({ secret }) => secret),
    [id],
  );
});
