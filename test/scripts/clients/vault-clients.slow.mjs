// Clients of HashiCorp Vault, unchanged, against the running service: they log in with an API key, and write,
// read, list and delete. `npm run test:vault-clients` installs them; a client that is not there is skipped.
import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { env, sharedService } from '../service.mjs';
import { folder, inVenv, missing, tools, until } from './vault-programs.mjs';

const node = path.join(folder, 'node_modules/node-vault');
const python = inVenv('python3');
const hvac = inVenv('pip');
const go = path.join(folder, 'vault-go');
const consulTemplate = path.join(folder, 'consul-template');

let service;

/**
 * Runs a client against a new organisation, at the root of the host and at the base path of the organisation.
 */
async function run(command, args, base = '') {
  const owner = { email: 'ann@example.com', name: 'Ann' };
  const { json } = await service.call('POST', '/orgs', service.variable('BOOTSTRAP_TOKEN'), {
    name: 'clients',
    owner,
  });
  const { stdout } = await promisify(execFile)(command, args, {
    env: {
      ...env,
      VAULT_ADDR: `${service.base}${base && `/compat/vault/${json.org.id}`}`,
      VAULT_MAX_RETRIES: '0',
      ROLE_ID: json.org.id,
      SECRET_ID: json.api_key.token,
      NODE_VAULT: `${node}/`,
    },
  });
  return JSON.parse(stdout);
}

const CAS = 'check-and-set parameter did not match the current version';
const ONE = { user: 'app', password: 'one' };
const TWO = { user: 'app', password: 'two' };

test('Vault: clients work unchanged', { timeout: 300_000 }, async (t) => {
  service = await sharedService();
  for (const base of ['', 'base path']) {
    await t.test(
      `hvac: a program in Python works ${base ? 'at a base path' : 'at the root'}`,
      { skip: missing(hvac) },
      async () => {
        assert.deepEqual(await run(python, [path.join(tools, 'vault_hvac.py')], base), {
          health: true,
          head: 200,
          lease: 900,
          authenticated: true,
          cas: [CAS],
          read: [TWO, 2],
          earlier: ONE,
          metadata: { team: 'core' },
          keys: ['db'],
          deleted: true,
          deletion_time: true,
          restored: TWO,
          absent: true,
          ended: true,
        });
      },
    );

    await t.test(
      `node-vault: a program in JavaScript works ${base ? 'at a base path' : 'at the root'}`,
      { skip: missing(node) },
      async () => {
        assert.deepEqual(await run(process.execPath, [path.join(tools, 'vault-node.mjs')], base), {
          health: true,
          sealed: false,
          lease: 900,
          type: 'service',
          version: 1,
          cas: [400, CAS],
          read: ONE,
          keys: ['db'],
          deleted: 404,
          ended: 403,
        });
      },
    );

    await t.test(
      `Go: a program with Vault's client works ${base ? 'at a base path' : 'at the root'}`,
      { skip: missing(go) },
      async () => {
        const { lease, ...seen } = await run(go, [], base);
        assert.equal(lease, 900);
        assert.deepEqual(seen, {
          renewable: false,
          type: 'service',
          has_expire_time: true,
          cas: [400, CAS],
          versions: [1, 2],
          read: TWO,
          earlier: ONE,
          metadata: { 'app.kubernetes.io/name': 'web' },
          keys: ['db'],
          deleted: true,
          restored: TWO,
          absent: true,
          ended: [403, 'permission denied'],
        });
      },
    );
  }

  await t.test(
    'consul-template: a file follows a change, on both mounts, and its lists work',
    { skip: missing(consulTemplate) },
    async () => {
      const { json } = await service.call('POST', '/orgs', service.variable('BOOTSTRAP_TOKEN'), {
        name: 'templates',
        owner: { email: 'ann@example.com', name: 'Ann' },
      });
      const { token } = json.api_key;
      const org = `/orgs/${json.org.id}`;
      const put = (name, value) =>
        service.call('PUT', `${org}/secrets/by-name/${name}?environment=production`, token, { value });
      await service.call('PATCH', `${org}/environments/production`, token, { lease_seconds: 1 });
      await put('app/db/user', 'app');
      await put('app/db/password', 'one');
      const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'consul-template-'));
      const template = path.join(dir, 'in');
      const file = path.join(dir, 'out');
      fs.writeFileSync(
        template,
        [
          '{{ with secret "production/data/app/db/password" }}{{ .Data.data.value }}{{ end }}',
          '{{ with secret "production.folders/app/db" }}{{ .Data.data.user }}:{{ .Data.data.password }}{{ end }}',
          '{{ range secrets "production.folders/metadata/app" }}{{ . }}{{ end }}',
        ].join(' '),
      );
      const child = spawn(
        consulTemplate,
        ['-template', `${template}:${file}`, '-vault-renew-token=false', '-log-level=err'],
        { env: { ...env, VAULT_ADDR: service.base, VAULT_TOKEN: token }, stdio: 'inherit' },
      );
      try {
        await until(file, 'one app:one db');
        await put('app/db/password', 'two');
        await until(file, 'two app:two db');
      } finally {
        child.kill('SIGKILL');
        fs.rmSync(dir, { recursive: true, force: true });
      }
    },
  );
});
