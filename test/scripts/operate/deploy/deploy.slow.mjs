// `npm run deploy` with the real wrangler, against a stand-in for Cloudflare's API.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { describe, it } from 'node:test';
import { knownMigrations } from '../../../../scripts/shared/migrations.mjs';
import { encrypt } from '../../envelope.mjs';
import { project } from '../../service.mjs';
import { NEVER_ENDS } from '../../slow.mjs';
import { deployment } from '../deploying.mjs';

/** What a first deployment changes, in order: each migration is a query. */
const FRESH = [
  'POST /d1/database',
  'POST /queues',
  'POST /queues',
  ...knownMigrations(path.join(project, 'migrations')).map(() => 'POST /d1/database/ID/query'),
  'PATCH /workers/scripts/secrets-vault-service/secrets-bulk',
  'PUT /workers/scripts/secrets-vault-service',
  'PATCH /workers/scripts/secrets-vault-service/secrets-bulk',
  'POST /workers/scripts/secrets-vault-service/assets-upload-session',
  'POST /workers/assets/upload',
  'PUT /workers/scripts/secrets-vault-service',
];
const isUpload = (change) => /scripts\/secrets-vault-service(\/versions)?$/.test(change);

describe('npm run deploy', { timeout: NEVER_ENDS }, () => {
  it('takes secrets from the Secrets Store where wrangler.toml binds them, and makes none', async () => {
    const { dir, account, base, deploy, doctor, changes } = await deployment();
    const bound = ['MASTER_KEYS', 'BOOTSTRAP_TOKEN'].map(
      (name) => `[[secrets_store_secrets]]
binding = "${name}"
store_id = "fedcba9876543210fedcba9876543210"
secret_name = "VAULT_${name}"
`,
    );
    const toml = path.join(dir, 'wrangler.toml');
    const committed = fs.readFileSync(toml, 'utf8').replace(/^required = .*$/m, 'required = []');
    fs.writeFileSync(toml, `${committed}\n${bound.join('\n')}`);
    const done = await deploy(['--location', 'weur', '--public-url', base]);
    assert.equal(done.code, 0, done.said);
    assert.match(done.out, /^secrets {5}MASTER_KEYS and BOOTSTRAP_TOKEN: in the Secrets Store$/m);
    assert.ok(!fs.existsSync(path.join(dir, '.production.vars')));
    assert.deepEqual(
      changes().filter((change) => change.endsWith('secrets-bulk')),
      [],
    );
    const binding = (name) => account.worker.bindings.find((one) => one.name === name);
    assert.equal(binding('MASTER_KEYS').type, 'secrets_store_secret');
    assert.equal(binding('BOOTSTRAP_TOKEN').secret_name, 'VAULT_BOOTSTRAP_TOKEN');
    const checked = await doctor(['--remote']);
    assert.match(checked.out, /^ok {4}variables {3}secrets are set/m, checked.said);
  });

  it('under Workers Builds asks nothing, says which secrets to set, and then deploys', async () => {
    const { dir, account, base, deploy, changes } = await deployment();
    const builds = { CI: 'true', WORKERS_CI: '1' };
    const lacking = await deploy(['--wait', '0'], builds);
    assert.equal(lacking.code, 1);
    assert.match(
      lacking.said,
      /^MASTER_KEYS and BOOTSTRAP_TOKEN: not set\. .* the Worker secrets-vault-service /m,
    );
    assert.ok(!fs.existsSync(path.join(dir, '.production.vars')));
    // What the button does with the values of its form.
    const secrets = {
      MASTER_KEYS: `k1:${Buffer.alloc(32).toString('base64')}`,
      BOOTSTRAP_TOKEN: 'b'.repeat(64),
    };
    const none = { uploads: 1, crons: [], bindings: [], metadata: {} };
    account.worker = { ...none, secrets: new Map(Object.entries(secrets)) };
    const done = await deploy(['--wait', '0', '--public-url', base], builds);
    assert.equal(done.code, 0, done.said);
    assert.match(done.out, /^secrets {5}are set$/m);
    assert.ok(changes().some(isUpload));
  });

  it('deploys a vault to an empty account, changes only the code when repeated, and shows no secret', async () => {
    const { dir, account, base, deploy, changes, vars, started } = await deployment();
    const first = await deploy(['--location', 'weur', '--public-url', base]);
    assert.equal(first.code, 0, first.said);
    assert.deepEqual(changes().slice(0, FRESH.length), FRESH);
    assert.equal(account.databases.get('secrets-vault').hint, 'weur');
    assert.deepEqual([...account.queues.keys()], ['secrets-vault', 'secrets-vault-dead']);
    const consumer = account.queues.get('secrets-vault').consumers[0];
    assert.equal(consumer.dead_letter_queue, 'secrets-vault-dead');
    assert.equal(account.worker.crons.length, 1);
    const binding = (name) => account.worker.bindings.find((one) => one.name === name);
    assert.equal(binding('DB').id, account.databases.get('secrets-vault').uuid);
    assert.equal(binding('PUBLIC_URL').text, base);
    assert.equal(
      account.databases.get('secrets-vault').db.prepare('SELECT count(*) AS n FROM deployment_keys').get().n,
      0,
      'the tables are there',
    );

    const kept = vars();
    assert.deepEqual(Object.fromEntries(account.worker.secrets), kept);
    assert.match(kept.MASTER_KEYS, /^k1:[A-Za-z0-9+/]{43}=$/);
    assert.equal(fs.statSync(path.join(dir, '.production.vars')).mode & 0o777, 0o600);
    assert.match(first.out, /Keep \.production\.vars offline/);

    const second = await deploy(['--location', 'apac', '--wait', '5']);
    assert.equal(second.code, 0, second.said);
    assert.deepEqual(
      changes().filter((change) => /^POST \/(d1\/database|queues)$|query$|secrets-bulk$/.test(change)),
      FRESH.filter((change) => !isUpload(change) && !/\/assets/.test(change)),
    );
    assert.equal(binding('PUBLIC_URL').text, base, 'the address is taken from what is deployed');
    assert.deepEqual(vars(), kept);

    const all = [first.said, second.said, started()].join('\n');
    assert.ok(started().includes('"secret","bulk"'), 'the arguments were recorded');
    for (const value of [kept.BOOTSTRAP_TOKEN, kept.MASTER_KEYS, kept.MASTER_KEYS.slice(3)])
      assert.ok(!all.includes(value));
    const config = fs.readFileSync(path.join(dir, '.wrangler', 'production', 'wrangler.json'), 'utf8');
    assert.ok(!config.includes(kept.BOOTSTRAP_TOKEN));
    assert.equal(
      fs.readFileSync(path.join(dir, 'wrangler.toml'), 'utf8'),
      fs.readFileSync(path.join(import.meta.dirname, '../../../../wrangler.toml'), 'utf8'),
    );
  });

  it('continues after a refusal, or an interruption after the step took effect, and makes nothing twice', async () => {
    const { account, base, deploy, changes, vars } = await deployment();
    const args = ['--location', 'auto', '--public-url', base];
    const at = (method, end) => (request) => request.method === method && request.path.endsWith(end);
    const steps = [
      [
        at('POST', '/d1/database'),
        /^The database secrets-vault could not be created: .* npm run deploy again/m,
      ],
      [at('POST', '/queues'), /^The queue secrets-vault could not be created: /m],
      [
        (request) => at('POST', '/query')(request) && request.body.includes('CREATE TABLE `orgs`'),
        /^The migrations could not be applied, and the previous code is still running: /m,
      ],
      [at('PATCH', '/secrets-bulk'), /^The secrets could not be set; they are kept in \.production\.vars: /m],
      [at('PUT', '/schedules'), /^The deployment failed: /m],
    ];
    let kept;
    for (const [step, message] of steps) {
      account.broken = step;
      const refused = await deploy(args);
      assert.equal(refused.code, 1);
      assert.match(refused.said, message);
      assert.match(refused.said, /Authentication error/, "wrangler's reason is told");
      for (const secret of Object.values(vars()))
        assert.ok(!refused.said.includes(secret), 'and not what was sent');
      account.broken = () => false;
      account.lost = step;
      await deploy(args);
      account.lost = () => false;
      if (account.worker?.secrets.size) kept ??= vars();
    }
    const last = await deploy(args);
    assert.equal(last.code, 0, last.said);
    assert.equal(account.databases.size, 1);
    assert.equal(account.queues.size, 2);
    assert.deepEqual(vars(), kept, 'the secrets were made once');
    assert.deepEqual(Object.fromEntries(account.worker.secrets), kept);
    assert.equal(account.worker.crons.length, 1);
    const order = changes();
    assert.ok(
      order.lastIndexOf('POST /d1/database/ID/query') < order.findIndex(isUpload),
      'migrations come before any code',
    );
  });

  it('finds the workers.dev address on the first deployment and deploys it as PUBLIC_URL', async () => {
    const { account, deploy } = await deployment();
    const done = await deploy(['--location', 'weur', '--wait', '0']);
    assert.equal(done.code, 0, done.said);
    assert.equal(
      account.worker.bindings.find(({ name }) => name === 'PUBLIC_URL').text,
      'https://secrets-vault-service.acme.workers.dev',
    );
    assert.match(done.out, /^The vault is at https:\/\/secrets-vault-service\.acme\.workers\.dev\.$/m);
  });

  it('names the storage version of gates before it is taken, and what runs', async () => {
    const { account, base, deploy, doctor } = await deployment();
    const args = ['--location', 'weur', '--public-url', base];
    const first = await deploy(args);
    assert.match(first.out, /^release {5}\d+\.\d+\.\d+, as secrets-vault-service$/m);
    assert.ok(!/^gates /m.test(first.out), 'a new vault has no gates');
    const message = account.worker.metadata.annotations['workers/message'];
    assert.match(message, /^\d+\.\d+\.\d+, gate storage \d+$/);
    assert.match(
      (await deploy(args)).out,
      /^gates {7}storage version \d+ stays: an earlier release that knows it can be deployed again$/m,
    );
    for (const [old, text] of [
      ['0.4.0, gate storage 3', 'each goes from storage version 3 to'],
      [undefined, 'each goes to storage version'],
    ]) {
      account.worker.metadata.annotations = { 'workers/message': old };
      const { code, out } = await deploy(args);
      assert.equal(code, 0);
      assert.ok(out.indexOf(text) > 0 && out.indexOf(text) < out.indexOf('deployed '), out);
      assert.match(out, /which cannot be taken back/);
    }
    assert.match(
      (await doctor(['--remote', '--url', base])).out,
      new RegExp(`^ok +release +${message.replace('.', '\\.')}; this checkout is`, 'm'),
    );
  });

  it('deploys another vault beside the production one, which shares nothing with it', async () => {
    const { dir, account, base, deploy, doctor, vars, changes } = await deployment();
    const args = ['--location', 'weur', '--public-url', base];
    assert.equal((await deploy(args)).code, 0);
    const before = structuredClone({ ...account.worker, secrets: [...account.worker.secrets] });
    const seen = changes().length;
    const staging = { DEPLOYMENT: 'staging' };
    const done = await deploy(['--location', 'eeur', '--public-url', base], staging);
    assert.equal(done.code, 0, done.said);
    assert.match(done.out, /, as secrets-vault-service-staging$/m);
    assert.match(done.out, /^DEPLOYMENT=staging npm run doctor/m);
    assert.deepEqual(structuredClone({ ...account.worker, secrets: [...account.worker.secrets] }), before);
    assert.ok(
      !changes()
        .slice(seen)
        .some((change) => /secrets-vault-service(\/|$)/.test(change)),
    );
    assert.deepEqual([...account.databases.keys()], ['secrets-vault', 'secrets-vault-staging']);
    assert.deepEqual(
      [...account.queues.keys()],
      ['secrets-vault', 'secrets-vault-dead', 'secrets-vault-staging', 'secrets-vault-dead-staging'],
    );
    const [consumer] = account.queues.get('secrets-vault-staging').consumers;
    assert.deepEqual(
      [consumer.script, consumer.dead_letter_queue],
      ['secrets-vault-service-staging', 'secrets-vault-dead-staging'],
    );
    const worker = account.workers.get('secrets-vault-service-staging');
    const binding = (name) => worker.bindings.find((one) => one.name === name);
    assert.equal(binding('DB').id, account.databases.get('secrets-vault-staging').uuid);
    assert.equal(binding('QUEUE').queue_name, 'secrets-vault-staging');
    assert.notDeepEqual(vars('staging'), vars());
    assert.deepEqual(Object.fromEntries(worker.secrets), vars('staging'));
    assert.match((await doctor(['--remote', '--url', base], staging)).out, /^ok +keys /m);
    assert.ok(fs.existsSync(path.join(dir, '.wrangler', 'staging', 'wrangler.json')));
    for (const name of ['../x', 'Staging', 'dev', 'a'.repeat(21)]) {
      const refused = await deploy(args, { DEPLOYMENT: name });
      assert.deepEqual([refused.code, refused.said.split(':')[0]], [1, 'DEPLOYMENT is not a name']);
    }
  });

  it('refuses new keys for an old vault, keys that do not unwrap it, and keys that a CI would lose; and accepts the right ones', async () => {
    const { dir, account, base, deploy, changes } = await deployment();
    const args = ['--location', 'weur', '--public-url', base];
    const inCi = await deploy(args, { CI: 'true' });
    assert.equal(inCi.code, 1);
    assert.match(
      inCi.said,
      /^The secrets of the vault must be created, and this CI machine would lose them/m,
    );

    const right = new Uint8Array(32).fill(9);
    const { db } = account.databases.get('secrets-vault');
    db.prepare('INSERT INTO deployment_keys VALUES (?, ?, ?, 0)').run(
      'deployment',
      'k1',
      await encrypt(right, 'deployment key', ['deployment', 'k1'], new Uint8Array(32)),
    );
    const before = changes().length;
    const noKeys = await deploy(args);
    assert.equal(noKeys.code, 1);
    assert.match(
      noKeys.said,
      /^The database contains a vault, but MASTER_KEYS is not set: restore \.production\.vars/m,
    );
    const file = path.join(dir, '.production.vars');
    assert.ok(!fs.existsSync(file), 'and makes none');

    const write = (id, fill) =>
      fs.writeFileSync(
        file,
        `MASTER_KEYS=${id}:${Buffer.alloc(32, fill).toString('base64')}\nBOOTSTRAP_TOKEN=${'b'.repeat(40)}\n`,
        {
          mode: 0o600,
        },
      );
    for (const [id, fill] of [
      ['k2', 9],
      ['k1', 8],
    ]) {
      write(id, fill);
      const wrong = await deploy(args);
      assert.equal(wrong.code, 1);
      assert.match(
        wrong.said,
        /^MASTER_KEYS in \.production\.vars does not decrypt the keys of the vault in the database: /m,
      );
      assert.ok(!wrong.said.includes(Buffer.alloc(32, fill).toString('base64')));
    }
    fs.writeFileSync(file, 'MASTER_KEYS=k1:short\nBOOTSTRAP_TOKEN=abc\n', { mode: 0o600 });
    assert.match((await deploy(args)).said, /^\.production\.vars is not usable: MASTER_KEYS is malformed/m);
    assert.equal(changes().length, before, 'nothing was set by any of them');
    write('k1', 9);
    const opened = await deploy(args);
    assert.equal(opened.code, 0, opened.said);
  });

  it('refuses a database that a newer checkout has migrated, and explains a vault that does not become healthy', async () => {
    const { account, base, deploy, changes } = await deployment();
    const checks = [
      { name: 'database', ok: true },
      { name: 'queue', ok: false, message: 'nothing comes' },
    ];
    account.health = { status: 200, body: { status: 'degraded', version: '0.5.0', checks } };
    const ill = await deploy(['--location', 'weur', '--public-url', base, '--wait', '1']);
    assert.equal(ill.code, 1);
    assert.match(
      ill.said,
      /healthz does not say that callers can be served after 1 s \(queue: nothing comes\)/,
    );
    account.databases
      .get('secrets-vault')
      .db.exec("INSERT INTO d1_migrations (name) VALUES ('9999_later.sql')");
    const before = changes().length;
    const old = await deploy(['--public-url', base]);
    assert.equal(old.code, 1);
    assert.match(
      old.said,
      /^The database was migrated by a newer checkout \(9999_later\.sql\): update this one/m,
    );
    assert.equal(changes().length, before);
  });
});
