// Whose a state directory is, and what it holds.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, describe, it } from 'node:test';
import { pathToFileURL } from 'node:url';
import { damageIn } from '../../../../scripts/operate/doctor/objects.mjs';
import { applyMigrations } from '../../../../scripts/operate/vault/migrate.mjs';
import {
  claimState,
  gateFile,
  inspectState,
  isInUse,
  setAlarmsAside,
  vaultFile,
} from '../../../../scripts/operate/vault/state-dir.mjs';
import { knownMigrations } from '../../../../scripts/shared/migrations.mjs';

const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'state-'));
after(() => fs.rmSync(dir, { recursive: true, force: true }));

const elsewhere = (call, of) => {
  const module = pathToFileURL(
    path.resolve(import.meta.dirname, '../../../../scripts/operate/vault/state-dir.mjs'),
  ).href;
  const code = `console.log((await import('${module}')).${call}(${JSON.stringify(of)}) ?? 'mine')`;
  return spawnSync(process.execPath, ['--input-type=module', '-e', code], { encoding: 'utf8' }).stdout.trim();
};
const claimElsewhere = (of) => elsewhere('claimState', of);
const inUseElsewhere = (of) => elsewhere('isInUse', of) === 'true';

describe('state directory', () => {
  it('is created on demand and belongs to one process at a time, as long as it runs', () => {
    const of = path.join(dir, 'deep', 'down');
    assert.equal(claimElsewhere(of), 'mine');
    assert.equal(claimState(of), undefined);
    assert.match(claimElsewhere(of), /^STATE_DIR is in use by another npm start: stop /);
  });

  it('belongs to a runtime that outlived its npm start, until that ends', () => {
    const of = path.join(dir, 'outlived');
    const folder = path.join(of, 'v3', 'do', 'secrets-vault-service-Gate');
    fs.mkdirSync(folder, { recursive: true });
    // What a runtime keeps open as long as it runs.
    const runtime = new DatabaseSync(path.join(folder, 'metadata.sqlite'));
    runtime.exec('PRAGMA journal_mode = WAL; CREATE TABLE alarms (at INTEGER)');
    assert.match(claimElsewhere(of), /^STATE_DIR is in use by a runtime \(workerd\) .*: end that process, /);
    assert.equal(inUseElsewhere(of), true);
    runtime.close();
    assert.equal(inUseElsewhere(of), false);
    assert.equal(claimElsewhere(of), 'mine');
    assert.equal(claimState(of), undefined);
    assert.equal(isInUse(of), true);
  });

  it('can be read on a full disk, from a copy elsewhere', { skip: process.platform === 'win32' }, () => {
    const of = path.join(dir, 'full');
    const folder = path.join(of, 'v3', 'd1', 'one');
    fs.mkdirSync(folder, { recursive: true });
    fs.mkdirSync(path.join(of, 'v3', 'do'));
    const db = new DatabaseSync(path.join(folder, 'db.sqlite'));
    db.exec('PRAGMA journal_mode = WAL; CREATE TABLE d1_migrations (name)');
    // What an unclean end leaves: changes that are only in the journal.
    for (const end of ['', '-wal'])
      fs.copyFileSync(path.join(folder, `db.sqlite${end}`), path.join(folder, `left.sqlite${end}`));
    db.close();
    fs.rmSync(path.join(folder, 'db.sqlite'));
    const scratch = fs.mkdtempSync(path.join(dir, 'scratch-'));
    const module = pathToFileURL(
      path.resolve(import.meta.dirname, '../../../../scripts/operate/vault/state-dir.mjs'),
    ).href;
    const code = `const { readableState } = await import('${module}');
      console.log(readableState(${JSON.stringify(of)}, ${JSON.stringify(scratch)}))`;
    const file = path.join(dir, 'copy.mjs');
    fs.writeFileSync(file, code);
    const run = (limit) =>
      spawnSync('bash', ['-c', `trap '' XFSZ; ulimit -f ${limit}; exec "$0" "$1"`, process.execPath, file], {
        encoding: 'utf8',
      }).stdout.trim();
    // No file may grow to 32 KiB, which the index of the journal needs.
    assert.equal(run(20), scratch);
    assert.equal(path.relative(scratch, vaultFile(scratch)), path.join('v3', 'd1', 'one', 'left.sqlite'));
    assert.deepEqual(fs.readdirSync(path.join(scratch, 'v3')), ['d1', 'do']);
    assert.equal(run('unlimited'), of);
  });

  it('is refused if it is not a directory', () => {
    const file = path.join(dir, 'file');
    fs.writeFileSync(file, '');
    for (const of of [file, path.join(file, 'below')])
      assert.match(claimState(of), /^STATE_DIR is not a writable directory: set it/);
  });

  it('reports its migrations and whether it holds a vault', () => {
    const of = path.join(dir, 'vault');
    assert.deepEqual(inspectState(of), { applied: new Set(), hasVault: false });
    const folder = path.join(of, 'v3', 'd1', 'miniflare-D1DatabaseObject');
    fs.mkdirSync(folder, { recursive: true });
    fs.writeFileSync(path.join(folder, 'metadata.sqlite'), 'not looked at');
    const db = new DatabaseSync(path.join(folder, 'abc.sqlite'));
    db.exec(
      "PRAGMA journal_mode = WAL; CREATE TABLE d1_migrations (name TEXT); INSERT INTO d1_migrations VALUES ('0000_a.sql'), ('0001_b.sql'); CREATE TABLE deployment_keys (id TEXT)",
    );
    assert.deepEqual(inspectState(of), { applied: new Set(['0000_a.sql', '0001_b.sql']), hasVault: false });
    db.exec("INSERT INTO deployment_keys VALUES ('k1')");
    db.close();
    assert.equal(inspectState(of).hasVault, true);
  });

  it('knows the migrations of this checkout by their files', () => {
    const folder = path.join(dir, 'migrations');
    fs.mkdirSync(path.join(folder, 'meta'), { recursive: true });
    for (const name of ['0000_a.sql', 'README.md']) fs.writeFileSync(path.join(folder, name), '');
    assert.deepEqual(knownMigrations(folder), ['0000_a.sql']);
    assert.deepEqual(knownMigrations(path.join(dir, 'none')), []);
  });

  it('takes each migration once, as a whole or not at all', async () => {
    const of = path.join(dir, 'migrated');
    const all = new Set(knownMigrations(path.resolve(import.meta.dirname, '../../../../migrations')));
    await applyMigrations(of);
    assert.deepEqual(inspectState(of).applied, all);
    await applyMigrations(of);
    // One of which the first statement works, and the second does not.
    const name = '0007_workload_identity.sql';
    const first = 'trust';
    const second = 'workload';
    const db = new DatabaseSync(/** @type {string} */ (vaultFile(of)));
    after(() => db.close());
    db.exec(`DELETE FROM d1_migrations WHERE name = '${name}'; ALTER TABLE credentials DROP COLUMN ${first}`);
    await assert.rejects(applyMigrations(of), new RegExp(`duplicate column name: ${second}`));
    const columns = db.prepare("SELECT name FROM pragma_table_info('credentials')").all();
    assert.deepEqual(
      [inspectState(of).applied.has(name), columns.some((column) => column.name === first)],
      [false, false],
    );
    db.exec(`ALTER TABLE credentials DROP COLUMN ${second}`);
    await applyMigrations(of);
    assert.deepEqual(inspectState(of).applied, all);
  });

  it('names damaged files of Durable Objects with what to do, and sets those with alarms aside', () => {
    const of = path.join(dir, 'damaged');
    const org = 'org_0355yltbNqfHKaEsGX6zOi';
    const at = (/** @type {string} */ name) => path.join(of, 'v3', name);
    const alarms = ['d1/miniflare-D1DatabaseObject', 'do/secrets-vault-service-Gate'].map((folder) =>
      at(`${folder}/metadata.sqlite`),
    );
    const metrics = at('do/secrets-vault-service-Metrics/0123.sqlite');
    const whole = at('do/secrets-vault-service-Throttle/metadata.sqlite');
    const database = at('d1/miniflare-D1DatabaseObject/0123.sqlite');
    for (const file of [...alarms, metrics, whole, database, gateFile(of, 'health'), gateFile(of, org)]) {
      fs.mkdirSync(path.dirname(file), { recursive: true });
      if (file === whole || file === database) {
        const db = new DatabaseSync(file);
        db.exec(
          `CREATE TABLE d1_migrations (name TEXT); CREATE TABLE orgs (id TEXT); INSERT INTO orgs VALUES ('${org}')`,
        );
        db.close();
      } else fs.writeFileSync(file, 'no database '.repeat(400));
    }
    fs.mkdirSync(gateFile(of, 'deployment'));
    const said = damageIn(of);
    assert.equal(said.length, 6);
    for (const part of [
      /is damaged: stop the service, and run npm run gate -- reset deployment\.$/,
      /-Gate\/\w+\.sqlite in STATE_DIR is damaged: it is the gate of org_\w+\. Stop .* reset org_\w+ --reason/,
      /is damaged: stop the service, and run npm run gate -- reset health\.$/,
      /-Metrics\/0123\.sqlite in STATE_DIR is damaged: see "Objects of no organisation"/,
      /-Gate\/metadata\.sqlite in STATE_DIR is damaged: restart the service/,
    ])
      assert.ok(
        said.some((line) => part.test(line)),
        `${part} in ${said.join('\n')}`,
      );
    const emptied = new DatabaseSync(database);
    emptied.exec('DELETE FROM orgs');
    emptied.close();
    const then = damageIn(of).join('\n');
    assert.match(then, /-Gate\/\w+\.sqlite in STATE_DIR is damaged: it is a gate of no organisation that/);
    assert.doesNotMatch(then, /-Gate\/\w+\.sqlite in STATE_DIR is damaged: see "Objects of no/);
    const to = setAlarmsAside(of);
    assert.ok(to);
    for (const file of alarms) {
      assert.equal(fs.existsSync(file), false);
      assert.ok(fs.existsSync(path.join(to, path.relative(of, file))));
    }
    assert.ok(fs.existsSync(whole) && fs.existsSync(metrics));
    assert.equal(setAlarmsAside(of), undefined);
    assert.equal(damageIn(of).length, 4);
    assert.deepEqual(damageIn(path.join(dir, 'nowhere')), []);
  });
});
