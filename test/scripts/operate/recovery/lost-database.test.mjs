// A local database that is lost, emptied or incomplete is never taken for a new or a whole one. Without
// SLOW=1, all commands run on one loss and one damage, and of the others the check that the commands share.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, it } from 'node:test';
import { applyMigrations } from '../../../../scripts/operate/vault/migrate.mjs';
import { incompleteness } from '../../../../scripts/operate/vault/schema.mjs';
import { lostDatabase, orgsOfGates, vaultFile } from '../../../../scripts/operate/vault/state-dir.mjs';
import { putState, releases } from '../../releases/fixtures.mjs';
import { copyOfProject, freePort, launch, runCommand } from '../../service.mjs';
import { NEVER_ENDS, slow } from '../../slow.mjs';

/** A vault of an earlier release in the tables of this one. */
async function vault() {
  const dir = copyOfProject();
  putState(releases.at(-1) ?? '', dir);
  const state = path.join(dir, '.wrangler', 'state');
  await applyMigrations(state);
  const run = (/** @type {string} */ command, /** @type {string[]} */ args = [], variables = {}) =>
    runCommand(dir, command, args, variables);
  const file = /** @type {string} */ (vaultFile(state));
  const change = (/** @type {string} */ sql) => {
    const db = new DatabaseSync(file, { timeout: 5000 });
    db.exec(sql);
    db.close();
  };
  const saved = `${state}.saved`;
  /** Keeps the state, or puts it back as it was kept. */
  const keep = () => fs.cpSync(state, saved, { recursive: true });
  const putBack = () => {
    fs.rmSync(state, { recursive: true });
    fs.cpSync(saved, state, { recursive: true });
  };
  return { dir, state, run, file, change, keep, putBack };
}

/** Of the ways to lose something, those on which all commands run. @param {Record<string, unknown>} ways */
const inFull = (ways) => Object.keys(ways).slice(0, process.env.SLOW ? undefined : 1);

/** @param {string} stdout @param {string} name */
const checkOf = (stdout, name) => JSON.parse(stdout).checks.find(({ check }) => check === name);

it('lost database: nothing begins a new vault beside the gates of the old one', {
  timeout: NEVER_ENDS,
}, async () => {
  const { dir, state, run, file, change, keep, putBack } = await vault();
  const made = await run('backup', ['--output', 'b.sql']);
  assert.equal(made.status, 0, made.said);
  keep();
  const losses = {
    emptied: () =>
      change(
        'DELETE FROM deployment_keys; DELETE FROM org_keys; DELETE FROM orgs; DELETE FROM secrets; DELETE FROM secret_versions',
      ),
    truncated: () => fs.truncateSync(file),
    deleted: () => fs.rmSync(file),
  };
  for (const [how, lose] of Object.entries(losses)) {
    lose();
    if (how !== 'emptied') for (const end of ['-wal', '-shm']) fs.rmSync(file + end, { force: true });
    assert.match(
      String(lostDatabase(state)),
      /the gates beside it have some, such as org_\w+: it was lost or emptied/,
      how,
    );
    if (!inFull(losses).includes(how)) {
      putBack();
      continue;
    }
    for (const [command, args] of /** @type {const} */ ([
      ['start', []],
      ['backup', ['--output', `${how}.sql`]],
    ])) {
      // The variable is for commands with --remote: that names another vault of the account.
      const variables = {
        PORT: String(await freePort()),
        ...(command === 'backup' && { DEPLOYMENT: 'staging' }),
      };
      const { status, said } = await run(command, [...args], variables);
      assert.equal(status, 1, `${how}: ${said}`);
      assert.match(
        said,
        /the gates beside it have some, such as org_\w+: it was lost or emptied\. Restore a backup with npm run restore/,
        how,
      );
    }
    assert.ok(!fs.existsSync(path.join(dir, `${how}.sql`)));
    const { status, stdout } = await run('doctor', ['--json']);
    assert.equal(status, 1);
    assert.equal(checkOf(stdout, 'keys').verdict, 'fail', how);
    assert.match(checkOf(stdout, 'keys').message, /lost or emptied/);
    const restored = await run('restore', ['b.sql']);
    assert.equal(restored.status, 0, restored.said);
    assert.equal(checkOf((await run('doctor', ['--json'])).stdout, 'keys').verdict, 'ok', how);
  }
  assert.ok(!fs.existsSync(path.join(state, 'set-aside')));
});

it('incomplete database: a missing table, column or index is named, and nothing is backed up without it', {
  ...slow(NEVER_ENDS),
}, async () => {
  const { dir, state, run, file, change, keep, putBack } = await vault();
  const made = await run('backup', ['--output', 'b.sql']);
  assert.equal(made.status, 0, made.said);
  keep();
  assert.equal(checkOf((await run('doctor', ['--json'])).stdout, 'tables').verdict, 'ok');
  const damages = {
    'the table org_keys': 'DROP TABLE org_keys',
    'the column generated of secret_versions': 'ALTER TABLE secret_versions DROP COLUMN generated',
    'the index secrets_live_name': 'DROP INDEX secrets_live_name',
  };
  let aside = 0;
  for (const [what, sql] of Object.entries(damages)) {
    change(sql);
    if (!inFull(damages).includes(what)) {
      const db = new DatabaseSync(file, { readOnly: true });
      const found = await incompleteness(async (query, params) => db.prepare(query).all(...params));
      db.close();
      assert.match(String(found), new RegExp(`lacks ${what}, .*npm run restore -- FILE --replace`));
      putBack();
      continue;
    }
    const said = [];
    const doctor = await run('doctor', ['--deep', '--json']);
    assert.equal(doctor.status, 1, what);
    assert.equal(checkOf(doctor.stdout, 'tables').verdict, 'fail', what);
    assert.match(checkOf(doctor.stdout, 'tables').message, new RegExp(`lacks ${what}`));
    for (const [command, args] of /** @type {const} */ ([
      ['backup', ['--verify', '--output', 'no.sql']],
      ['restore', ['b.sql', '--rows']],
      ['restore', ['b.sql']],
    ])) {
      const refused = await run(command, [...args]);
      assert.equal(refused.status, 1, `${what}: ${refused.said}`);
      assert.match(refused.said, new RegExp(`lacks ${what}`));
      said.push(refused.said);
    }
    assert.ok(!fs.existsSync(path.join(dir, 'no.sql')));
    const asked = await run('backup', ['--incomplete', '--output', `${what}.sql`]);
    assert.equal(asked.status, 1, asked.said);
    assert.match(asked.said, /Incomplete as asked/);
    assert.ok(fs.existsSync(path.join(dir, `${what}.sql`)), asked.said);
    for (const text of [...said, doctor.said, asked.said])
      assert.doesNotMatch(text, /\n +at /, 'no stack trace');
    const restored = await run('restore', ['b.sql', '--replace']);
    assert.equal(restored.status, 0, restored.said);
    assert.match(restored.said, /It is now in .*set-aside/);
    assert.equal(fs.readdirSync(path.join(state, 'set-aside')).length, ++aside);
    assert.equal(
      (await run('doctor', ['--deep', '--json'])).stdout.includes('"tables","verdict":"ok"'),
      true,
      what,
    );
  }
});

it('lost database: --new sets the old vault aside, and only where its database is lost', {
  ...slow(NEVER_ENDS),
}, async () => {
  const { dir, state, run, change } = await vault();
  const refused = await run('start', ['--new'], { PORT: String(await freePort()) });
  assert.equal(refused.status, 1);
  assert.match(refused.said, /--new is for a vault whose database is lost/);
  change('DELETE FROM deployment_keys; DELETE FROM org_keys; DELETE FROM orgs');
  const service = launch(dir, {}, await freePort(), ['--new']);
  after(() => service.stop().catch(() => {}));
  await service.ready();
  const { status, json } = await service.call('GET', '/orgs', service.variable('BOOTSTRAP_TOKEN'));
  assert.deepEqual([status, json.data], [200, []]);
  const [aside] = fs.readdirSync(path.join(state, 'set-aside'));
  assert.ok(fs.existsSync(path.join(state, 'set-aside', String(aside), 'v3', 'd1')));
  assert.match(service.said(), /What was left of the old vault is now in .*set-aside/);
});

it('lost database: doctor names an organisation of which only the gate is left', {
  ...slow(NEVER_ENDS),
}, async () => {
  const { state, run, file, change } = await vault();
  const [org] = orgsOfGates(state);
  const other = new DatabaseSync(file, { readOnly: true }).prepare('SELECT count(*) AS n FROM orgs').get();
  change(`DELETE FROM orgs WHERE id = '${org}'; DELETE FROM org_keys WHERE org_id = '${org}'`);
  if (Number(other?.n) < 2)
    change("INSERT INTO org_keys SELECT 'org_x', master_id, key_sealed, 1 FROM deployment_keys");
  const { stdout } = await run('doctor', ['--json']);
  const { verdict, message } = checkOf(stdout, 'keys');
  assert.equal(verdict, 'fail');
  assert.match(message, new RegExp(org));
});
