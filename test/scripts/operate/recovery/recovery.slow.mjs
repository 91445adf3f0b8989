// A vault with one broken gate, and a restore where gates are gone: everybody else goes on, what is left out
// is named, and what was revoked after the backup stays revoked if an export of the audit log says so.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { gateFile, vaultFile } from '../../../../scripts/operate/vault/state-dir.mjs';
import { copyOfProject, runCommand as run, startService } from '../../service.mjs';
import { NEVER_ENDS } from '../../slow.mjs';

/**
 * @param {string} dir
 * @param {string} script
 * @param {string[]} args
 * @param {Record<string, string>} [variables]
 */
const noTrace = (/** @type {{ said: string }} */ { said }) => assert.doesNotMatch(said, /\n +at .*:\d+:\d+/);

/**
 * An organisation with a secret.
 * @param {Awaited<ReturnType<typeof startService>>} service
 * @param {string} name
 */
async function newOrg(service, name) {
  const owner = { email: 'a@example.com', name: 'A' };
  const { json } = await service.call('POST', '/orgs', service.variable('BOOTSTRAP_TOKEN'), { name, owner });
  const at = `/orgs/${json.org.id}`;
  const key = json.api_key.token;
  const secret = await service.call('POST', `${at}/secrets`, key, {
    name: 'S',
    type: 'generic',
    value: `of ${name}`,
  });
  assert.equal(secret.status, 201);
  return { id: json.org.id, at, key };
}

/** Until D1 has so many versions: it follows the gates within about a second, on a slow machine later. */
async function followed(/** @type {string} */ state, /** @type {number} */ versions) {
  const db = new DatabaseSync(/** @type {string} */ (vaultFile(state)), { readOnly: true, timeout: 10_000 });
  const count = () => Number(db.prepare('SELECT count(*) AS n FROM secret_versions').get()?.n);
  while (count() < versions) await sleep(200);
  db.close();
}

it('backup, restore --adopt, gate: one broken gate of two hurts one organisation, and is replaced', {
  timeout: NEVER_ENDS,
}, async () => {
  const dir = copyOfProject();
  const state = path.join(dir, '.wrangler', 'state');
  let service = await startService(dir);
  const bad = await newOrg(service, 'Bad');
  const good = await newOrg(service, 'Good');
  const read = async ({ at, key }) => {
    const { status, json } = await service.call('GET', `${at}/secrets/by-name/S`, key);
    return json.value ?? status;
  };
  await followed(state, 2);
  await service.stop();
  const file = gateFile(state, bad.id);
  assert.ok(fs.existsSync(file), 'the file of the gate is where it is expected');
  for (const end of ['-wal', '-shm']) fs.rmSync(file + end, { force: true });
  fs.writeFileSync(file, Buffer.alloc(65_536, 0x5a));
  service = await startService(dir);
  assert.deepEqual([await read(bad), await read(good)], [503, 'of Good']);
  const at = ['--url', service.base];

  const made = await run(dir, 'backup', ['--output', 'b.sql', '--json', ...at]);
  assert.equal(made.status, 1, made.said);
  assert.ok(fs.existsSync(path.join(dir, 'b.sql')), 'the backup is made');
  assert.match(
    made.said,
    new RegExp(
      `The backup is complete, except for the newest changes and audit entries of 1 of 2 .*\\n +${bad.id}: 503 UNAVAILABLE`,
    ),
  );
  const { archived, not_archived, left } = JSON.parse(made.stdout);
  assert.deepEqual([archived, not_archived, left.map(({ org }) => org)], [1, 1, [bad.id]]);
  const without = await run(dir, 'backup', ['--output', 'c.sql', '--except', bad.id, ...at]);
  assert.equal(without.status, 0, without.said);
  assert.match(without.said, new RegExp(`Left out as asked.*: ${bad.id}`));
  const unknown = await run(dir, 'backup', ['--output', 'd.sql', '--except', 'org_none', ...at]);
  assert.match(unknown.said, /--except names org_none, which is no organisation/);

  const adopted = await run(dir, 'restore', ['--adopt', '--reason', 'a test', '--json', ...at]);
  assert.equal(adopted.status, 1, adopted.said);
  assert.match(
    adopted.said,
    new RegExp(`1 of 2 organisations did not accept the database.*\\n +${bad.id}: 503`),
  );
  assert.deepEqual(Object.keys(JSON.parse(adopted.stdout).adopted), [good.id]);
  const spared = await run(dir, 'restore', ['--adopt', '--reason', 'a test', '--except', bad.id, ...at]);
  assert.equal(spared.status, 0, spared.said);
  for (const one of [made, without, unknown, adopted, spared]) noTrace(one);

  // A running service cannot replace a gate whose file the runtime cannot open; a stopped one can.
  const reset = ['reset', bad.id, '--reason', 'its file was damaged', '--yes'];
  const variables = { PORT: String(service.port) };
  assert.match((await run(dir, 'gate', ['reset', bad.id])).said, /--reason is missing/);
  assert.match((await run(dir, 'gate', reset.slice(0, 4))).said, /Lost:.*Nothing was changed: pass --yes/s);
  const running = await run(dir, 'gate', reset, variables);
  assert.equal(running.status, 1, running.said);
  assert.match(running.said, /was not reset \(503 UNAVAILABLE\).*Stop the service, and run this again/s);
  // A database that is away is no reason to set a gate aside that has changes to send.
  const locked = new DatabaseSync(/** @type {string} */ (vaultFile(state)), { timeout: 10_000 });
  locked.exec('BEGIN EXCLUSIVE');
  const away = await run(dir, 'gate', ['reset', good.id, ...reset.slice(2)], variables);
  locked.close();
  assert.equal(away.status, 1, away.said);
  assert.match(away.said, /Nothing was changed: .*once the database answers/);
  assert.doesNotMatch(away.said, /sets the files/);
  assert.match(away.said, /Lost:\n.*changes that the database does not have/);
  await service.stop();
  const aside = await run(dir, 'gate', reset);
  assert.equal(aside.status, 0, aside.said);
  assert.match(aside.said, /are now in .*set-aside.*Start the service, and run this again/s);
  assert.ok(!fs.existsSync(file));
  service = await startService(dir);
  const recorded = await run(dir, 'gate', reset, { PORT: String(service.port) });
  assert.equal(recorded.status, 0, recorded.said);
  assert.deepEqual([await read(bad), await read(good)], ['of Bad', 'of Good']);
  const log = (await service.call('GET', `${bad.at}/audit-log?action=org.reset_gate`, bad.key)).json.data;
  assert.equal(log[0].reason, 'its file was damaged');
  const whole = await run(dir, 'backup', ['--verify', '--output', 'e.sql', '--url', service.base]);
  assert.equal(whole.status, 0, whole.said);
  assert.equal(
    (
      await run(dir, 'gate', ['reset', 'org_0000000000000000000000', '--reason', 'x', '--yes'], {
        PORT: String(service.port),
      })
    ).status,
    1,
  );
});

it('restore: into an empty deployment, what was revoked after the backup works again, or not with --ended', {
  timeout: NEVER_ENDS,
}, async () => {
  const dir = copyOfProject();
  let service = await startService(dir);
  const org = await newOrg(service, 'One');
  const newKey = async (name) =>
    (await service.call('POST', `${org.at}/api-keys`, org.key, { name, scopes: ['secrets:*', 'tokens:*'] }))
      .json;
  const revoked = await newKey('revoked');
  const stays = await newKey('stays');
  const stolen = await newKey('stolen');
  const child = await service.call('POST', `${org.at}/api-keys`, stolen.token, {
    name: 'of the thief',
    scopes: ['secrets:read'],
  });
  assert.equal(child.status, 201);
  const made = await run(dir, 'backup', ['--output', 'b.sql', '--url', service.base]);
  assert.equal(made.status, 0, made.said);
  await service.call('DELETE', `${org.at}/api-keys/${revoked.id}`, org.key);
  assert.equal(
    (await service.call('POST', `${org.at}/credentials/${stolen.id}/contain`, org.key, {})).status,
    200,
  );
  const text = await (
    await fetch(`${service.base}/api/v1${org.at}/audit-log?format=ndjson`, {
      headers: { Authorization: `Bearer ${org.key}` },
    })
  ).text();
  fs.writeFileSync(path.join(dir, 'log.ndjson'), text);
  await service.stop();
  const alive = async (key) => (await service.call('GET', `${org.at}/secrets`, key.token)).status;

  const plain = path.join(dir, 'plain');
  const told = await run(dir, 'restore', ['b.sql'], { STATE_DIR: plain });
  assert.equal(told.status, 0, told.said);
  assert.match(
    told.said,
    /revoked or deleted after 20.* works again for 1 of 1 organisations.*--ended FILE.*contain: true/s,
  );
  service = await startService(dir, { STATE_DIR: plain });
  assert.deepEqual([await alive(revoked), await alive(stolen)], [200, 200], 'as it says');
  await service.stop();

  const refused = await run(dir, 'restore', ['b.sql', '--ended', 'b.sql'], {
    STATE_DIR: path.join(dir, 'none'),
  });
  assert.match(refused.said, /is no audit entry.*nothing was changed/s);
  const safe = path.join(dir, 'safe');
  const ended = await run(dir, 'restore', ['b.sql', '--ended', 'log.ndjson', '--json'], { STATE_DIR: safe });
  assert.equal(ended.status, 0, ended.said);
  assert.deepEqual(
    JSON.parse(ended.stdout)
      .ended.credentials.map(({ id }) => id)
      .sort(),
    [revoked.id, stolen.id, child.json.id].sort(),
  );
  service = await startService(dir, { STATE_DIR: safe });
  assert.deepEqual(
    [await alive(revoked), await alive(stolen), await alive(child.json), await alive(stays)],
    [401, 401, 401, 200],
  );
  const adopted = await run(dir, 'restore', ['--adopt', '--reason', 'a test', '--url', service.base]);
  assert.equal(adopted.status, 0, adopted.said);
  assert.match(adopted.said, /began again from the database at .* does not know what was revoked/);
  assert.equal(await alive(revoked), 401);
  await service.stop();

  const drilled = await run(dir, 'drill', ['b.sql', '--json']);
  assert.equal(drilled.status, 0, drilled.said);
  const { organisations, faults, rpo_seconds, rto_seconds } = JSON.parse(drilled.stdout);
  assert.deepEqual([organisations, faults], [1, []]);
  assert.ok(rpo_seconds > 0 && rto_seconds > 0);
  const old = await run(dir, 'drill', ['b.sql', '--max-age', '0.0001']);
  assert.equal(old.status, 1);
  assert.match(old.said, /RPO: .*RTO: .*older than 0.0001 hours/s);
  assert.match((await run(dir, 'drill', ['elsewhere'])).said, /does not exist: name a backup/);
});

it('restore --rows: a running service reads what was restored at once', { timeout: NEVER_ENDS }, async () => {
  const dir = copyOfProject();
  const state = path.join(dir, '.wrangler', 'state');
  let service = await startService(dir);
  const org = await newOrg(service, 'Acme');
  const second = await service.call('POST', `${org.at}/secrets`, org.key, {
    name: 'T',
    type: 'generic',
    value: 'the second',
  });
  assert.equal(second.status, 201);
  const destroyed = await service.call('POST', `${org.at}/secrets`, org.key, {
    name: 'U',
    type: 'generic',
    value: 'destroyed',
  });
  assert.equal((await run(dir, 'backup', ['--output', 'b.sql', '--url', service.base])).status, 0);
  assert.equal(
    (await service.call('DELETE', `${org.at}/secrets/${destroyed.json.id}?permanent=true`, org.key)).status,
    204,
  );
  await service.stop();
  // A gate that remembers no values.
  for (const end of ['', '-wal', '-shm']) fs.rmSync(gateFile(state, org.id) + end, { force: true });
  const inDatabase = (/** @type {string} */ sql) => {
    const db = new DatabaseSync(/** @type {string} */ (vaultFile(state)), { timeout: 5000 });
    const { changes } = db.prepare(sql).run();
    db.close();
    return changes;
  };
  assert.equal(
    inDatabase("DELETE FROM secret_versions WHERE secret_id = (SELECT id FROM secrets WHERE name = 'S')"),
    1,
  );
  assert.equal(
    inDatabase(
      "UPDATE secret_versions SET value_sealed = 'AAAA' WHERE secret_id = (SELECT id FROM secrets WHERE name = 'T')",
    ),
    1,
  );
  service = await startService(dir);
  const read = async (/** @type {string} */ name) => {
    const { status, json } = await service.call('GET', `${org.at}/secrets/by-name/${name}`, org.key);
    return json.value ?? status;
  };
  const bulk = async () =>
    (await service.call('GET', `${org.at}/environments/production/values`, org.key)).json;
  assert.deepEqual([await read('S'), await read('T')], [500, 500]);
  const { status, said } = await run(dir, 'restore', ['b.sql', '--rows']);
  assert.equal(status, 0, said);
  assert.match(said, /^2 versions restored from the backup of /);
  assert.deepEqual([await read('S'), await read('T'), await read('U')], ['of Acme', 'the second', 404]);
  assert.equal((await bulk()).unreadable, undefined);
  const made = await service.call('POST', `${org.at}/secrets`, org.key, {
    name: 'V',
    type: 'generic',
    value: 'after',
  });
  assert.equal(made.status, 201, 'the gate accepts changes');
});

it('gate: a damaged gate of the health check is told, and set aside', { timeout: NEVER_ENDS }, async () => {
  const dir = copyOfProject();
  let service = await startService(dir);
  const org = await newOrg(service, 'Acme');
  await service.stop();
  const file = gateFile(path.join(dir, '.wrangler', 'state'), 'health');
  for (const end of ['-wal', '-shm']) fs.rmSync(file + end, { force: true });
  const reset = (/** @type {string[]} */ ...more) => run(dir, 'gate', ['reset', 'health', ...more]);
  assert.match((await reset()).said, /Lost with the gate health: .*Nothing was changed: pass --yes/s);
  fs.writeFileSync(file, Buffer.alloc(65_536, 0x5a));
  const done = await reset('--yes');
  assert.equal(done.status, 0, done.said);
  assert.match(done.said, /are now in .*set-aside/);
  service = await startService(dir);
  const health = await (await fetch(`${service.base}/healthz`)).json();
  assert.deepEqual(
    health.checks.find(({ name }) => name === 'gate'),
    { name: 'gate', ok: true },
  );
  const read = await service.call('GET', `${org.at}/secrets/by-name/S`, org.key);
  assert.equal(read.json.value, 'of Acme');
  assert.match((await reset('--yes')).said, /nothing was changed/, 'it runs');
  await service.stop();
});

it('backup: says what the service says that its database has lost, and exits with 1', {
  timeout: NEVER_ENDS,
}, async () => {
  const dir = copyOfProject();
  const service = await startService(dir);
  const lost = await newOrg(service, 'Lost');
  await newOrg(service, 'Other');
  const health = async () => (await (await fetch(`${service.base}/healthz`)).json()).status;
  const until = async (/** @type {string} */ status) => {
    while ((await health()) !== status) await new Promise((done) => setTimeout(done, 1000));
  };
  await until('ok');
  const db = new DatabaseSync(/** @type {string} */ (vaultFile(path.join(dir, '.wrangler', 'state'))), {
    timeout: 10_000,
  });
  db.prepare('DELETE FROM orgs WHERE id = ?').run(lost.id);
  db.close();
  await until('degraded');
  const at = ['--url', service.base];
  const made = await run(dir, 'backup', ['--output', 'b.sql', ...at]);
  assert.equal(made.status, 1, made.said);
  assert.match(made.said, /the service says of it:\n +The database has lost the row of 1 organisation/);
  assert.ok(fs.existsSync(path.join(dir, 'b.sql')));
  const mended = await run(dir, 'restore', [
    '--adopt',
    '--only',
    lost.id,
    '--reason',
    'its row was lost',
    ...at,
  ]);
  assert.equal(mended.status, 0, mended.said);
  // The service has not looked again yet.
  const again = await run(dir, 'backup', ['--output', 'c.sql', ...at]);
  assert.equal(again.status, 0, again.said);
  await service.stop();
});
