// What `npm run deploy` does before it reaches an account. The rest is in deploy.slow.mjs.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { describe, it } from 'node:test';
import {
  productionConfig,
  readToml,
  samlConfig,
} from '../../../../scripts/operate/vault/deployment-config.mjs';
import { copyOfProject, env, project } from '../../service.mjs';
import { slow } from '../../slow.mjs';
import { deployment } from '../deploying.mjs';

const deploy = (dir, args, variables = {}) =>
  spawnSync(process.execPath, [path.join(dir, 'scripts/operate/deploy/deploy.mjs'), ...args], {
    cwd: dir,
    encoding: 'utf8',
    env: { ...env, ...variables },
  });

it('wrangler deploy: says at once that npm run deploy is what makes a vault', () => {
  const built = (args, variables) =>
    spawnSync(process.execPath, [path.join(project, 'scripts/build/assets.mjs'), ...args], {
      encoding: 'utf8',
      env: { ...env, WRANGLER_COMMAND: 'deploy', ...variables },
    });
  const alone = built([], {});
  assert.equal(alone.status, 1);
  assert.match(alone.stderr, /^wrangler deploy alone .* Run npm run deploy\./);
  assert.equal(built(['--for-deployment'], {}).status, 0);
  assert.equal(built([], { RUN_BY_SCRIPT: '1' }).status, 0);
});

it('deploy button: asks for each secret that the Worker requires, describes it, and proposes no value', () => {
  const text = (name) => fs.readFileSync(path.join(project, name), 'utf8');
  const { secrets } = readToml();
  const asked = text('.dev.vars.example')
    .split('\n')
    .filter((line) => line && !line.startsWith('#'));
  assert.deepEqual(
    asked,
    secrets.required.map((name) => `${name}=`),
  );
  assert.deepEqual(Object.keys(JSON.parse(text('package.json')).cloudflare.bindings), secrets.required);
});

describe('npm run deploy', () => {
  it('lists its steps offline with --dry-run, and changes nothing', () => {
    const dir = copyOfProject();
    const listing = () => fs.readdirSync(dir).sort().join();
    const before = listing();
    const { status, stdout } = deploy(
      dir,
      ['--dry-run', '--location', 'weur', '--public-url', 'https://vault.example.com'],
      {
        CLOUDFLARE_API_BASE_URL: 'http://127.0.0.1:1',
      },
    );
    assert.equal(status, 0);
    assert.equal(listing(), before);
    const config = '--config .wrangler/production/wrangler.json';
    const commands = [
      'npx wrangler d1 create secrets-vault --location weur',
      'npx wrangler queues create secrets-vault',
      'npx wrangler queues create secrets-vault-dead',
      `npx wrangler d1 migrations apply DB --remote ${config}`,
      `npx wrangler secret bulk ${config}`,
      `npx wrangler deploy --durable-objects-code-update-mode immediate --message '[^']+' ${config}`,
      'https://vault.example.com/healthz',
    ];
    const at = commands.map((command) =>
      stdout.search(new RegExp(`${command.replaceAll('.', '\\.')}$`, 'm')),
    );
    assert.ok(
      at.every((place, index) => place > (at[index - 1] ?? 0)),
      `${at}\n${stdout}`,
    );
  });

  it('refuses options that it cannot follow', () => {
    for (const [args, message] of [
      [['--location', 'mars'], /^--location is not a valid place: pass one of weur, /],
      [['--public-url', 'http://vault.example.com'], /^--public-url is not an https origin/],
      [['--public-url', 'https://vault.example.com/path'], /^--public-url is not an https origin/],
      [['--wait', 'long'], /^--wait is not a number of seconds/],
      [['--locations', 'weur'], /^Unknown option '--locations'/],
    ]) {
      const { status, stderr } = deploy(project, args);
      assert.equal(status, 1);
      assert.match(stderr, message);
    }
  });

  it(
    'explains a missing sign-in and an ambiguous account before it changes anything',
    slow(120_000),
    async () => {
      const { account, deploy: run, changes } = await deployment();
      account.signedIn = false;
      const out = await run(['--location', 'weur']);
      assert.equal(out.code, 1);
      assert.match(
        out.said,
        /^CLOUDFLARE_API_TOKEN is set but was not accepted: create a token with the permissions /,
      );
      account.signedIn = true;
      const placeless = await run([]);
      assert.equal(placeless.code, 1);
      assert.match(
        placeless.said,
        /^The database must be created, and cannot be moved later: pass --location with one of weur, /m,
      );
      account.others = [{ id: 'f'.repeat(32), name: 'Other', type: 'standard' }];
      const several = await run(['--location', 'weur', '--wait', '0'], { CLOUDFLARE_ACCOUNT_ID: undefined });
      assert.equal(several.code, 1);
      assert.match(
        several.said,
        /^This sign-in reaches several accounts: set CLOUDFLARE_ACCOUNT_ID to one of them\.\n {2}0123456789abcdef0123456789abcdef Acme\n {2}f+ Other$/m,
      );
      assert.deepEqual(changes(), []);
    },
  );

  it('gives wrangler the committed configuration with the ids of the account, and working paths', () => {
    const toml = readToml();
    const config = productionConfig(toml, 'an-id', 'https://vault.example.com');
    const from = path.join(project, '.wrangler', 'production');
    assert.equal(path.resolve(from, config.main), path.join(project, toml.main));
    assert.equal(path.resolve(from, config.d1_databases[0].migrations_dir), path.join(project, 'migrations'));
    assert.equal(path.resolve(from, config.alias.zod), path.join(project, toml.alias.zod));
    assert.equal(config.d1_databases[0].database_id, 'an-id');
    assert.equal(config.vars.PUBLIC_URL, 'https://vault.example.com');
    assert.equal(config.vars.WORKER_NAME, toml.name);
    for (const part of [
      'name',
      'compatibility_date',
      'compatibility_flags',
      'durable_objects',
      'migrations',
      'queues',
      'triggers',
      'secrets',
      'minify',
    ])
      assert.deepEqual(config[part], toml[part], part);
    assert.equal(toml.vars.PUBLIC_URL, '', 'the committed one is left alone');
    assert.equal(config.services, undefined);
  });

  it('deploys the SAML Worker before the vault that calls it, if that is asked for', slow(120_000), () => {
    const dir = copyOfProject();
    const { status, stdout } = deploy(dir, ['--dry-run', '--location', 'weur', '--saml']);
    assert.equal(status, 0);
    const saml = stdout.indexOf('npx wrangler deploy --config .wrangler/production/saml.json');
    assert.ok(saml > 0 && saml < stdout.indexOf('npx wrangler deploy --durable-objects'), stdout);
    const config = samlConfig();
    const from = path.join(project, '.wrangler', 'production');
    for (const file of [config.main, ...Object.values(config.alias)])
      assert.ok(fs.existsSync(path.resolve(from, file)), file);
    const vault = productionConfig(readToml(), 'an-id', 'https://vault.example.com', '', true);
    assert.deepEqual(vault.services, [{ binding: 'SAML', service: config.name }]);
  });
});
