// `npm run doctor`: a well vault passes every check, and each kind of fault is named, with what to do and
// without a value.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, it } from 'node:test';
import { lackingBindings, neededBindings } from '../../../../scripts/operate/doctor/bindings.mjs';
import { readToml } from '../../../../scripts/operate/vault/deployment-config.mjs';
import { encrypt } from '../../envelope.mjs';
import { copyOfProject, env, freePort, project, startService } from '../../service.mjs';
import { NEVER_ENDS } from '../../slow.mjs';
import { deployment } from '../deploying.mjs';

const doctor = (dir, variables = {}, args = []) => {
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    ['scripts/operate/doctor/doctor.mjs', ...args],
    {
      cwd: dir,
      encoding: 'utf8',
      env: { ...env, ...variables },
    },
  );
  assert.equal(stderr, '');
  return { status, stdout };
};
const verdicts = (stdout) =>
  Object.fromEntries(
    [...stdout.matchAll(/^(ok|warn|fail) +(\w+) /gm)].map(([, verdict, check]) => [check, verdict]),
  );

/** The checks of /healthz that the page on monitoring lists, in its order. */
const checksOfPage = () => {
  const page = fs.readFileSync(path.join(project, 'docs/operations/monitoring.md'), 'utf8');
  return [
    ...page
      .slice(0, page.indexOf('### A clock'))
      .matchAll(/^\| `(\w+)` \| [^|]+ \| [^|]*`(?:down|degraded)`/gm),
  ].map(([, name]) => name);
};

describe('npm run doctor', { timeout: NEVER_ENDS }, () => {
  it('reports nothing wrong with a running vault, and each thing that is broken in it', async () => {
    const dir = copyOfProject();
    const unused = { PORT: String(await freePort()) };
    const fresh = doctor(dir, unused);
    assert.equal(fresh.status, 1, 'no service answers');
    assert.deepEqual(verdicts(fresh.stdout), {
      variables: 'ok',
      bindings: 'ok',
      keys: 'ok',
      migrations: 'warn',
      service: 'fail',
    });
    assert.match(
      fresh.stdout,
      /^fail +service +does not respond at .*: run npm start; if it is already running, set PORT and HOST to its values\.$/m,
    );
    assert.ok(
      !fs.existsSync(path.join(dir, '.dev.vars')) && !fs.existsSync(path.join(dir, '.wrangler')),
      'it makes nothing',
    );

    const { port, stop, call, variable } = await startService(dir);
    const org = await call('POST', '/orgs', variable('BOOTSTRAP_TOKEN'), {
      name: 'Acme',
      owner: { email: 'you@example.com', name: 'You' },
    });
    assert.equal(org.status, 201);
    const well = doctor(dir, { PORT: String(port) });
    assert.equal(well.status, 0, well.stdout);
    const all = [
      'variables',
      'bindings',
      'disk',
      'keys',
      'tables',
      'migrations',
      'clock',
      'service',
      ...checksOfPage(),
    ];
    assert.deepEqual(verdicts(well.stdout), Object.fromEntries(all.map((check) => [check, 'ok'])));
    assert.match(well.stdout, /^ok +keys +2 wrapped keys decrypt \(k1\)$/m);
    const json = JSON.parse(doctor(dir, { PORT: String(port) }, ['--json']).stdout);
    assert.deepEqual([json.ok, json.vault, json.checks.map(({ check }) => check)], [true, 'local', all]);
    await stop();

    const vars = path.join(dir, '.dev.vars');
    const whole = fs.readFileSync(vars, 'utf8');
    const key = variable('MASTER_KEYS').slice(3);
    const folder = path.join(dir, '.wrangler/state/v3/d1/miniflare-D1DatabaseObject');
    const file = fs
      .readdirSync(folder)
      .find((name) => name.endsWith('.sqlite') && name !== 'metadata.sqlite');
    const sql = (statement) => {
      const db = new DatabaseSync(path.join(folder, file));
      db.exec(statement);
      db.close();
    };
    /**
     * @param {() => void} damage
     * @param {RegExp} line
     * @param {() => void} repair
     * @param {Record<string, string>} [variables]
     */
    const broken = (damage, line, repair, variables = {}) => {
      damage();
      const { status, stdout } = doctor(dir, { ...unused, ...variables });
      repair();
      assert.match(stdout, line);
      assert.equal(status, 1, 'nothing answers there, and more is wrong');
      assert.ok(!stdout.includes(key) && !stdout.includes(variable('BOOTSTRAP_TOKEN')));
    };
    const write = (text) => () => fs.writeFileSync(vars, text);
    const nothing = () => {};
    const restore = write(whole);

    broken(
      () => {
        fs.renameSync(vars, `${vars}.whole`);
        fs.mkdirSync(vars);
      },
      /^fail +service +its address is not known without \.dev\.vars/m,
      () => {
        fs.rmdirSync(vars);
        fs.renameSync(`${vars}.whole`, vars);
      },
    );
    broken(
      write(whole.replace(key, key.slice(1))),
      /^fail +variables +MASTER_KEYS is malformed at key 1: .*\.$/m,
      restore,
    );
    broken(nothing, /^fail +variables +PUBLIC_URL is not an origin: /m, nothing, { PUBLIC_URL: 'nonsense' });
    broken(
      () => fs.chmodSync(vars, 0o644),
      /^warn +variables +\.dev\.vars can be read by others .* chmod 600/m,
      () => fs.chmodSync(vars, 0o600),
    );
    broken(
      () => fs.renameSync(vars, `${vars}.away`),
      /^fail +variables +MASTER_KEYS is missing: /m,
      () => fs.renameSync(`${vars}.away`, vars),
    );
    broken(
      write(whole.replace('k1:', 'k2:')),
      /^fail +keys +MASTER_KEYS lacks k1, .* add it after/m,
      restore,
    );
    broken(
      write(whole.replace(key, Buffer.alloc(32, 1).toString('base64'))),
      /^fail +keys +2 of 2 wrapped keys do not decrypt, the first belonging to deployment: MASTER_KEYS has another key with the id k1/m,
      restore,
    );
    broken(
      () => sql('UPDATE org_keys SET key_sealed = (SELECT key_sealed FROM deployment_keys)'),
      /^fail +keys +1 of 2 wrapped keys do not decrypt, the first belonging to org_\w+: /m,
      nothing,
    );
    broken(
      () => sql('DELETE FROM org_keys'),
      /^fail +keys +the keys of 1 of 1 organisations are missing \(org_\w+\).*docs\/operations\/keys\.md/m,
      nothing,
    );
    broken(
      () => sql('CREATE TABLE lost AS SELECT * FROM deployment_keys; DELETE FROM deployment_keys'),
      /^fail +keys +the deployment key is missing, so no credential is accepted: .*docs\/operations\/keys\.md/m,
      () => sql('INSERT INTO deployment_keys SELECT * FROM lost; DROP TABLE lost'),
    );
    const wrong = path.join(dir, '.wrangler', 'sate');
    broken(nothing, /^fail +keys +STATE_DIR names a directory without a vault: correct it/m, nothing, {
      STATE_DIR: wrong,
    });
    assert.ok(!fs.existsSync(wrong), 'and makes none');
    broken(
      () => sql("INSERT INTO d1_migrations (name) VALUES ('9999_later.sql')"),
      /^fail +migrations +9999_later\.sql was applied by a newer checkout: update/m,
      () => sql("DELETE FROM d1_migrations WHERE name = '9999_later.sql'"),
    );
    const toml = path.join(dir, 'wrangler.toml');
    const config = fs.readFileSync(toml, 'utf8');
    broken(
      () => fs.writeFileSync(toml, config.replace('binding = "QUEUE"', 'binding = "Q"')),
      /^fail +bindings +wrangler\.toml lacks QUEUE in queues\.producers: /m,
      () => fs.writeFileSync(toml, config),
    );
    broken(
      () => fs.writeFileSync(toml, '[['),
      /^fail +bindings +wrangler\.toml cannot be read: /m,
      () => fs.writeFileSync(toml, config),
    );
    broken(
      () => fs.writeFileSync(path.join(folder, 'torn.sqlite'), 'no database'.repeat(100)),
      /^fail +migrations +STATE_DIR contains a database that cannot be read: /m,
      () => fs.rmSync(path.join(folder, 'torn.sqlite')),
    );
    // A page in the middle, so that the first ones can still be read.
    const intact = fs.readFileSync(path.join(folder, file));
    const reader = new DatabaseSync(path.join(folder, file));
    const page = Number(
      reader.prepare("SELECT rootpage FROM sqlite_master WHERE name = 'org_keys'").get()?.rootpage,
    );
    reader.close();
    broken(
      () => {
        const damaged = Buffer.from(intact);
        damaged.fill(0x5a, (page - 1) * 4096, page * 4096);
        fs.writeFileSync(path.join(folder, file), damaged);
      },
      /^fail +keys +STATE_DIR contains a database that cannot be read: the database is damaged: .*--replace\.$/m,
      () => fs.writeFileSync(path.join(folder, file), intact),
    );
    const holder = new DatabaseSync(path.join(folder, file));
    broken(
      () => holder.exec('PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = DELETE; BEGIN EXCLUSIVE'),
      /^fail +keys +STATE_DIR contains a database that cannot be read: another process has locked the database: wait/m,
      () => holder.close(),
    );
    broken(
      () => fs.renameSync(path.join(dir, '.wrangler'), path.join(dir, 'moved')),
      /^fail +keys +there is no vault in \.wrangler\/state: set STATE_DIR/m,
      () => fs.renameSync(path.join(dir, 'moved'), path.join(dir, '.wrangler')),
    );
  });

  it('checks a deployment: account, secrets, bindings, migrations, keys, clock and health', async () => {
    const { dir, account, base, doctor: look } = await deployment();
    const remote = async (variables) => {
      const { code, out, said } = await look(['--remote', '--url', base], variables);
      assert.equal(said, out);
      return { code, out };
    };
    const nothing = await remote();
    assert.equal(nothing.code, 1);
    assert.match(
      nothing.out,
      /^fail +account +The account Acme has no database secrets-vault: run npm run deploy/m,
    );

    // What a deployment leaves behind.
    account.databases.set('secrets-vault', {
      uuid: '5f6e7d8c-0000-4000-8000-000000000001',
      name: 'secrets-vault',
      hint: null,
      db: new DatabaseSync(':memory:'),
    });
    const { db } = account.databases.get('secrets-vault');
    db.exec('CREATE TABLE d1_migrations (name TEXT)');
    for (const name of fs
      .readdirSync(path.join(project, 'migrations'))
      .filter((file) => file.endsWith('.sql'))) {
      db.exec(fs.readFileSync(path.join(project, 'migrations', name), 'utf8'));
      db.prepare('INSERT INTO d1_migrations VALUES (?)').run(name);
    }
    const master = Buffer.alloc(32, 7);
    db.prepare('INSERT INTO deployment_keys VALUES (?, ?, ?, 0)').run(
      'deployment',
      'k1',
      encrypt(master, 'deployment key', ['deployment', 'k1'], new Uint8Array(32)),
    );
    db.prepare('INSERT INTO org_keys VALUES (?, ?, ?, 0)').run('org_1', 'k1', 'sealed');
    const bindings = [
      'DB',
      'GATE',
      'REPLICA',
      'THROTTLE',
      'DEVICE_LOGIN',
      'ISSUER_KEYS',
      'DOMAIN_OWNER',
      'METRICS',
      'QUEUE',
      'ASSETS',
      'DNS_OVER_HTTPS_URL',
      'ALLOW_PRIVATE_TARGETS',
      'PLATFORM_BASE_URLS',
      'COMMIT',
      'WORKER_NAME',
      'LOCAL_QUEUE',
    ].map((name) => ({
      name,
      type: 'any',
    }));
    account.worker = {
      secrets: new Map([
        ['MASTER_KEYS', ''],
        ['BOOTSTRAP_TOKEN', ''],
      ]),
      bindings: [...bindings, { name: 'PUBLIC_URL', type: 'plain_text', text: 'https://vault.example.com' }],
      uploads: 1,
      crons: [],
    };
    const keys = `k1:${master.toString('base64')}`;
    const well = await remote({ MASTER_KEYS: keys });
    assert.equal(well.code, 0, well.out);
    const own = ['account', 'variables', 'release', 'bindings', 'keys', 'tables', 'migrations', 'clock'];
    const checks = [...own, 'service', 'database', 'gate', 'queue'];
    assert.deepEqual(verdicts(well.out), Object.fromEntries(checks.map((check) => [check, 'ok'])));
    assert.ok(!well.out.includes(master.toString('base64')));

    db.exec('ALTER TABLE webhooks RENAME TO lost');
    const incomplete = await remote({ MASTER_KEYS: keys });
    db.exec('ALTER TABLE lost RENAME TO webhooks');
    assert.equal(incomplete.code, 1);
    assert.match(incomplete.out, /^fail +tables +the database lacks the table webhooks.*D1 Time Travel/m);

    db.exec("DELETE FROM d1_migrations WHERE name LIKE '0004%'");
    const unrecorded = await remote({ MASTER_KEYS: keys });
    assert.equal(unrecorded.code, 1);
    assert.match(unrecorded.out, /^fail +migrations +the record that 0004_\w+\.sql was applied is lost/m);

    db.exec("UPDATE org_keys SET master_id = 'k0'; DELETE FROM d1_migrations");
    account.worker.secrets.delete('BOOTSTRAP_TOKEN');
    account.worker.bindings = account.worker.bindings.filter(({ name }) => name !== 'QUEUE');
    account.clockOff = -60_000;
    const parts = [
      { name: 'gate', ok: true },
      { name: 'queue', ok: false, message: 'Nothing comes.' },
    ];
    account.health = { status: 200, body: { status: 'degraded', version: '0.5.0', checks: parts } };
    fs.writeFileSync(path.join(dir, '.production.vars'), `MASTER_KEYS=${keys}\n`, { mode: 0o600 });
    const ill = await remote();
    assert.equal(ill.code, 1);
    for (const line of [
      /^fail +variables +BOOTSTRAP_TOKEN not set: run npm run deploy/m,
      /^fail +bindings +the deployment lacks QUEUE(, BOOTSTRAP_TOKEN)?: run npm run deploy/m,
      /^fail +keys +MASTER_KEYS of the shell or \.production\.vars lacks k0/m,
      /^warn +migrations +0000_foundation\.sql.* not applied: npm run deploy applies them/m,
      /^fail +clock +this machine and the service are (59|60) s apart/m,
      /^warn +service +serves callers, but not all of it works/m,
      /^fail +queue +Nothing comes\. Next: /m,
      /^ok +gate /m,
    ])
      assert.match(ill.out, line);

    account.signedIn = false;
    account.health = { status: 200, body: { hello: 'world' } };
    fs.rmSync(path.join(dir, '.production.vars'));
    const away = await remote();
    assert.match(
      away.out,
      /^fail +account +CLOUDFLARE_API_TOKEN is set but was not accepted: create a token/m,
    );
    assert.match(away.out, /^fail +service +the server at http\S+ is not a vault/m);

    const offline = await look(['--remote', '--url', base], {
      CLOUDFLARE_API_BASE_URL: 'http://127.0.0.1:1/client/v4',
    });
    assert.equal(offline.code, 1);
    assert.match(
      offline.out,
      /^fail +account +Cloudflare cannot be reached from this machine: check the network/m,
    );
    assert.doesNotMatch(offline.out, /not accepted/);
  });

  it('knows each binding that the code uses', () => {
    const needed = neededBindings(fs.readFileSync(path.join(project, 'src/env.ts'), 'utf8'));
    assert.deepEqual(needed.map(({ name }) => name).slice(0, 11), [
      'DB',
      'GATE',
      'REPLICA',
      'THROTTLE',
      'DEVICE_LOGIN',
      'ISSUER_KEYS',
      'DOMAIN_OWNER',
      'METRICS',
      'QUEUE',
      'ASSETS',
      'MASTER_KEYS',
    ]);
    const toml = readToml();
    assert.deepEqual(lackingBindings(toml, needed), []);
    assert.deepEqual(lackingBindings({ ...toml, secrets: {} }, needed), [
      'MASTER_KEYS in vars, or secrets.required',
      'BOOTSTRAP_TOKEN in vars, or secrets.required',
    ]);
    assert.deepEqual(lackingBindings({ ...toml, assets: undefined }, needed), ['ASSETS in assets']);
    assert.deepEqual(
      lackingBindings({ ...toml, migrations: [] }, needed).length,
      toml.durable_objects.bindings.length,
    );
    assert.deepEqual(lackingBindings({ ...toml, triggers: {} }, needed), ['a schedule in triggers.crons']);
    assert.equal(lackingBindings(toml, [{ name: 'AI', type: 'Ai' }]).length, 1);
  });
});
