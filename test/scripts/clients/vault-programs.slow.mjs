// Programs that people run, unchanged, against the service: command lines, agents, tools of developers,
// Ansible, Spring and External Secrets Operator, with the configurations of docs/guides/vault-clients.md.
// `npm run test:vault-clients` installs them; a program that is not there is skipped.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { parse } from 'yaml';
import { env, project, sharedService } from '../service.mjs';
import {
  folder,
  inVenv,
  missing,
  newOrganisation,
  ofGuide,
  ran,
  scratch,
  startOpenBao,
  tools,
  until,
  workload,
} from './vault-programs.mjs';

const bao = inVenv('bao');
const fnox = path.join(folder, 'fnox/bin/fnox');
const varlock = path.join(folder, 'node_modules/varlock/bin/cli.js');
const secretspec = path.join(folder, 'secretspec');
const ansible = path.join(folder, 'ansible_collections/community/hashi_vault');
const classPath = path.join(folder, 'vault-spring.class-path');
const externalSecrets = path.join(folder, 'external-secrets');
const go = path.join(folder, 'vault-go');

let service;
let org;
/** The variables of a terminal that uses the service as its Vault. */
let variables;

test('Vault: programs work unchanged', { timeout: 1_800_000 }, async (t) => {
  service = await sharedService();
  org = await newOrganisation(service);
  await org.put('app/db/user', 'app');
  await org.put('app/db/password', 'one');
  await org.put('app/database-url', 'postgres://app@db/app');
  variables = {
    VAULT_ADDR: service.base,
    BAO_ADDR: service.base,
    VAULT_TOKEN: org.token,
    BAO_TOKEN: org.token,
  };

  await t.test("OpenBao's command line", { timeout: 600_000, skip: missing(bao) }, async (t) => {
    const at = ['-mount=production'];
    const run = (...args) => ran(bao, args, { cwd: scratch(), variables });
    const json = async (...args) => JSON.parse((await run(...args)).stdout);
    const refused = (...args) =>
      run(...args).then(
        () => 'nothing',
        ({ message }) => message,
      );

    await t.test('bao kv: it writes, changes, reads, lists, rolls back, deletes and restores', async () => {
      await run('kv', 'put', ...at, '-cas=0', 'cli/db', 'user=app', 'password=one');
      assert.match(await refused('kv', 'put', ...at, '-cas=0', 'cli/db', 'user=x'), /check-and-set/);
      await run('kv', 'patch', ...at, 'cli/db', 'password=two');
      assert.equal((await run('kv', 'get', ...at, '-field=password', 'cli/db')).stdout, 'two');
      await run('kv', 'metadata', 'put', ...at, '-custom-metadata=team=core', 'cli/db');
      const { data } = await json('kv', 'metadata', 'get', '-format=json', ...at, 'cli/db');
      assert.deepEqual([data.current_version, data.custom_metadata], [2, { team: 'core' }]);
      assert.deepEqual(await json('kv', 'list', '-format=json', ...at, 'cli'), ['db']);
      await run('kv', 'rollback', ...at, '-version=1', 'cli/db');
      const read = await json('kv', 'get', '-format=json', ...at, 'cli/db');
      assert.deepEqual(read.data.data, { user: 'app', password: 'one' });
      assert.equal(read.data.metadata.version, 3);
      await run('kv', 'delete', ...at, 'cli/db');
      const deleted = await json('kv', 'get', '-format=json', ...at, 'cli/db').catch(
        (error) => error.message,
      );
      assert.match(JSON.stringify(deleted), /deletion_time/);
      await run('kv', 'undelete', ...at, '-versions=3', 'cli/db');
      assert.equal((await run('kv', 'get', ...at, '-field=user', 'cli/db')).stdout, 'app');
      await run('kv', 'metadata', 'delete', ...at, 'cli/db');
      assert.match(await refused('kv', 'get', ...at, 'cli/db'), /No value found/);
    });

    await t.test('bao: status, mounts, logins and tokens', async () => {
      assert.equal((await json('status', '-format=json')).sealed, false);
      assert.ok('production.folders/' in (await json('secrets', 'list', '-format=json')));
      const login = ['auth/approle/login', `role_id=${org.id}`, `secret_id=${org.token}`];
      const { auth } = await json('write', '-format=json', ...login);
      assert.match(auth.client_token, /^svcsess_/);
      const below = await json('token', 'create', '-format=json');
      assert.match(below.auth.client_token, /^svcsess_/);
      assert.match(await refused('kv', 'get', '-wrap-ttl=60', ...at, 'app/database-url'), /not supported/);
      assert.match(await refused('kv', 'get', 'secret/app'), /preflight capability check returned 403/);
    });
  });

  await t.test('bao agent: a file follows a change', { timeout: 300_000, skip: missing(bao) }, async () => {
    const own = await newOrganisation(service);
    await own.call('PATCH', '/environments/production', { lease_seconds: 1 });
    await own.put('app/db/user', 'app');
    await own.put('app/db/password', 'one');
    const cwd = scratch();
    fs.writeFileSync(path.join(cwd, 'role'), own.id);
    fs.writeFileSync(path.join(cwd, 'key'), own.token, { mode: 0o600 });
    fs.writeFileSync(path.join(cwd, 'agent.hcl'), ofGuide('hcl', 'auto_auth', service.base));
    const child = spawn(bao, ['agent', '-config=agent.hcl', '-log-level=error'], {
      cwd,
      env: { ...env, HOME: cwd },
      stdio: 'inherit',
    });
    try {
      await until(path.join(cwd, 'db.env'), 'DB_USER=app\nDB_PASSWORD=one\n');
      await own.put('app/db/password', 'two');
      await until(path.join(cwd, 'db.env'), 'DB_USER=app\nDB_PASSWORD=two\n');
    } finally {
      child.kill('SIGKILL');
    }
  });

  await t.test(
    'fnox: it gives a program its secrets',
    {
      timeout: 300_000,
      skip: missing(fnox) || missing(bao),
    },
    async () => {
      const cwd = scratch();
      // fnox runs the command line of Vault; OpenBao's is the same.
      fs.symlinkSync(bao, path.join(cwd, 'vault'));
      fs.writeFileSync(path.join(cwd, 'fnox.toml'), ofGuide('toml', 'type = "vault"', service.base));
      const { stdout } = await ran(fnox, ['exec', '--', 'sh', '-c', 'echo $DATABASE_URL $DB_PASSWORD'], {
        cwd,
        variables: { ...variables, PATH: `${cwd}:${process.env.PATH}` },
      });
      assert.equal(stdout, 'postgres://app@db/app one\n');
    },
  );

  await t.test(
    'SecretSpec: it reads with a token and with approle',
    {
      timeout: 300_000,
      skip: missing(secretspec),
    },
    async () => {
      await org.put('secretspec/shop/default/DATABASE_URL', 'postgres://app@db/shop');
      const cwd = scratch();
      fs.writeFileSync(path.join(cwd, 'secretspec.toml'), ofGuide('toml', 'revision', service.base));
      const approle = { VAULT_ROLE_ID: org.id, VAULT_SECRET_ID: org.token };
      const host = service.base.replace('http://', '');
      for (const provider of ['vault', 'openbao'])
        for (const query of ['', '&auth=approle']) {
          const { stdout } = await ran(
            inVenv('python3'),
            [path.join(tools, 'vault_secretspec.py'), `${provider}://${host}/production?tls=false${query}`],
            { cwd, variables: { PYTHONPATH: secretspec, ...(query ? approle : variables) } },
          );
          assert.deepEqual(JSON.parse(stdout), { DATABASE_URL: 'postgres://app@db/shop' });
        }
    },
  );

  await t.test(
    'varlock: its plugin reads both mounts',
    { timeout: 300_000, skip: missing(varlock) },
    async () => {
      const cwd = scratch();
      fs.symlinkSync(path.join(folder, 'node_modules'), path.join(cwd, 'node_modules'));
      fs.writeFileSync(path.join(cwd, 'package.json'), '{"name":"app","private":true}');
      fs.writeFileSync(path.join(cwd, '.env.schema'), ofGuide('ini', '@initHcpVault', service.base));
      const { stdout } = await ran(process.execPath, [varlock, 'load', '--format', 'json'], {
        cwd,
        variables,
      });
      assert.deepEqual(JSON.parse(stdout), {
        DATABASE_URL: 'postgres://app@db/app',
        DB_PASSWORD: 'one',
      });
    },
  );

  await t.test(
    'Ansible: the lookup of the guide, a write, a read by approle and a deletion',
    {
      timeout: 600_000,
      skip: missing(ansible) || missing(inVenv('ansible-playbook')),
    },
    async () => {
      const cwd = scratch();
      const at = { engine_mount_point: 'production', path: 'ansible/db', url: service.base };
      const tasks = [
        ...parse(ofGuide('yaml', 'vault_kv2_get', service.base)),
        { 'community.hashi_vault.vault_kv2_write': { ...at, data: { user: 'app' }, cas: 0 } },
        {
          'community.hashi_vault.vault_kv2_get': {
            ...at,
            auth_method: 'approle',
            role_id: org.id,
            secret_id: org.token,
          },
          register: 'read',
        },
        { 'ansible.builtin.debug': { msg: 'read {{ read.secret }} {{ read.metadata.version }}' } },
        { 'community.hashi_vault.vault_kv2_delete': at },
      ];
      fs.writeFileSync(
        path.join(cwd, 'play.json'),
        JSON.stringify([{ hosts: 'localhost', gather_facts: false, tasks }]),
      );
      const { stdout } = await ran(
        inVenv('ansible-playbook'),
        [
          '-i',
          'localhost,',
          '-c',
          'local',
          '-e',
          `ansible_python_interpreter=${inVenv('python3')}`,
          'play.json',
        ],
        { cwd, variables: { ...variables, ANSIBLE_COLLECTIONS_PATH: folder } },
      );
      assert.match(stdout, /"msg": "app"/);
      assert.match(stdout, /read \{'user': 'app'\} 1/);
      assert.match(stdout, /ok=5 +changed=2 +unreachable=0 +failed=0/);
    },
  );

  await t.test(
    'Spring: properties come from a folder, and its template writes, reads, lists and deletes',
    {
      timeout: 600_000,
      skip: missing(classPath),
    },
    async () => {
      const cwd = scratch();
      fs.writeFileSync(path.join(cwd, 'application.yml'), ofGuide('yaml', 'default-context', service.base));
      const { stdout } = await ran(
        'java',
        [
          ...['-cp', fs.readFileSync(classPath, 'utf8').trim()],
          path.join(tools, 'vault-spring/VaultSpring.java'),
          '--spring.config.location=file:./application.yml',
        ],
        { cwd, variables },
      );
      assert.deepEqual(
        stdout.split('\n').filter((line) => line.startsWith('seen ')),
        ['seen app:one', 'seen {password=one, user=app}', 'seen [db]', 'seen null'],
      );
    },
  );

  await t.test(
    'Go: a workload logs in with the token of its cluster',
    {
      timeout: 300_000,
      skip: missing(go),
    },
    async () => {
      const jwt = await workload(org, 'cluster-go', 'system:serviceaccount:default:app');
      const { stdout } = await ran(go, [], {
        cwd: scratch(),
        variables: { VAULT_ADDR: service.base, ROLE: `${org.id}/cluster-go`, JWT: jwt },
      });
      assert.deepEqual(JSON.parse(stdout), {
        lease: 3600,
        read: { value: 'postgres://app@db/app' },
        ended: 403,
      });
    },
  );

  await t.test("GitLab CI: the job's token reads the secret of the guide", { timeout: 60_000 }, async () => {
    const { deploy } = parse(ofGuide('yaml', 'VAULT_ID_TOKEN', service.base, org.id));
    const [field = '', mount] = deploy.secrets.DATABASE_PASSWORD.vault.split('@');
    const jwt = await workload(org, 'gitlab', 'project_path:acme/app:ref_type:branch:ref:main');
    const ask = async (method, to, body, token = '') => {
      const response = await fetch(`${service.base}/v1/${to}`, {
        method,
        headers: { 'X-Vault-Token': token, 'X-Vault-Request': 'true' },
        ...(body && { body: JSON.stringify(body) }),
      });
      return { status: response.status, ...(await response.json()) };
    };
    // The runner logs in at auth/jwt and reads data/ of the engine at the path before the last slash.
    const login = await ask('PUT', 'auth/jwt/login', { role: deploy.variables.VAULT_AUTH_ROLE, jwt });
    assert.equal(login.status, 200);
    const at = `${mount}/data/${path.posix.dirname(field)}`;
    const { data } = await ask('GET', at, null, login.auth.client_token);
    assert.equal(data.data[path.posix.basename(field)], 'one');
  });

  await t.test(
    'Move from Vault: the walk of the guide, from a server of OpenBao',
    {
      timeout: 600_000,
      skip: missing(bao),
    },
    async () => {
      const old = await startOpenBao(bao, 'secret-2');
      const cwd = scratch();
      fs.symlinkSync(bao, path.join(cwd, 'vault'));
      // `bao` would take BAO_ADDR first, which `vault` does not know.
      const atOld = { VAULT_ADDR: old.base, VAULT_TOKEN: old.token };
      const there = (...args) =>
        ran(bao, ['kv', 'put', '-mount=secret-2', ...args], { cwd, variables: atOld });
      await there('app/login', 'user=app', 'password=s3cret');
      await there('app/login/second', 'port=5432');
      await there('root', 'value=top');
      const blocks = ['walk()', '--keep-paths', 'staging.folders/data', 'vault kv put'].map((part) =>
        ofGuide('sh', part, service.base),
      );
      const script = blocks
        .join('\n')
        // The guide moves the service to itself, and names `secret` for the mount of Vault.
        .replace(/^OLD=.*$/m, `OLD=${old.base} OLD_TOKEN=${old.token} MOUNT=secret-2`)
        .replaceAll('-mount=secret ', '-mount=secret-2 ');
      const { stdout } = await ran('bash', ['-e', '-o', 'pipefail', '-c', script], {
        cwd,
        variables: {
          ...atOld,
          VAULT: service.base,
          KEY: org.token,
          SVC_URL: service.base,
          SVC_TOKEN: org.token,
          SVC_ORG_ID: org.id,
          SVC_KEYCHAIN: 'off',
          PATH: `${cwd}:${path.join(project, 'node_modules/.bin')}:${process.env.PATH}`,
        },
      });
      assert.match(stdout, /app\/login\/user/);
      assert.ok(stdout.includes('"data":{"password":"s3cret","user":"app"}'), stdout);
      const read = async (at) => {
        const headers = { 'X-Vault-Token': org.token };
        const answer = await fetch(`${service.base}/v1/${at}`, { headers });
        return (await answer.json()).data.data;
      };
      assert.deepEqual(await read('staging.folders/data/app/login/second'), { port: '5432' });
      assert.deepEqual(await read('staging/data/root/value'), { value: 'top' });
      assert.deepEqual(await read('production/data/app/login'), { user: 'app', password: 's3cret' });
    },
  );

  await t.test(
    'External Secrets Operator',
    { timeout: 900_000, skip: missing(externalSecrets) },
    async (t) => {
      const guide = () => {
        const [store, wanted] = ofGuide('yaml', 'kind: SecretStore', service.base).split('---\n');
        return { store: parse(store ?? ''), wanted: parse(wanted ?? '') };
      };
      /**
       * @param {object} auth of the provider
       * @param {Record<string, object>} secrets
       * @param {object[]} steps
       */
      const reconciled = async (auth, secrets, steps) => {
        const cwd = scratch();
        // The provider makes a client for the API server, which it asks nothing here.
        const cluster = { clusters: [{ name: 'c', cluster: { server: 'https://127.0.0.1:1' } }] };
        const context = { contexts: [{ name: 'c', context: { cluster: 'c' } }], 'current-context': 'c' };
        const kubeconfig = { apiVersion: 'v1', kind: 'Config', ...cluster, ...context };
        fs.writeFileSync(path.join(cwd, 'kubeconfig'), JSON.stringify(kubeconfig));
        const { store } = guide();
        Object.assign(store.spec.provider.vault, { auth });
        const { stdout } = await ran(externalSecrets, [], {
          cwd,
          variables: { KUBECONFIG: path.join(cwd, 'kubeconfig') },
          input: JSON.stringify({ store, secrets, steps }),
        });
        return JSON.parse(stdout);
      };
      const key = { name: 'svc-credential', key: 'token' };
      const byToken = { tokenSecretRef: key };
      const reads = () => [{ get: guide().wanted.spec.data[0].remoteRef }];

      await t.test('ESO: each way to sign in reads the secret of the guide', async () => {
        const jwt = await workload(org, 'external-secrets', 'system:serviceaccount:default:eso');
        const role = `${org.id}/external-secrets`;
        const ways = [
          [byToken, org.token],
          [{ appRole: { path: 'approle', roleId: org.id, secretRef: key } }, org.token],
          [{ kubernetes: { mountPath: 'kubernetes', role, secretRef: key } }, jwt],
          [{ jwt: { path: 'jwt', role, secretRef: key } }, jwt],
        ];
        for (const [auth, token] of ways)
          assert.deepEqual(
            await reconciled(auth, { 'svc-credential': { token } }, [...reads(), ...reads()]),
            ['postgres://app@db/app', 'postgres://app@db/app'],
            JSON.stringify(auth),
          );
      });

      await t.test('ESO: by version, by path, a folder of keys, and what a search finds', async () => {
        await org.put('eso/a', 'one');
        await org.put('eso/a', 'two');
        await org.put('eso/b', 'three');
        const secrets = { 'svc-credential': { token: org.token } };
        const seen = await reconciled(byToken, secrets, [
          { get: { key: 'eso/a', property: 'value', version: '1' } },
          { get: { key: 'production/data/eso/b', property: 'value' } },
          { extract: { key: 'eso/a' } },
          { find: { path: 'eso', name: { regexp: 'a$' } } },
          { get: { key: 'eso/none', property: 'value' } },
        ]);
        assert.deepEqual(seen, [
          'one',
          'three',
          { value: 'two' },
          { 'eso/a': '{"value":"two"}' },
          'no secret',
        ]);
      });

      await t.test('ESO: PushSecret writes, changes and deletes', async () => {
        const secrets = { 'svc-credential': { token: org.token } };
        const remoteRef = { remoteKey: 'eso/pushed' };
        const push = (secret) => ({ push: { match: { remoteRef } }, secret });
        const seen = await reconciled(byToken, secrets, [
          push({ user: 'app' }),
          push({ user: 'app', password: 'one' }),
          { extract: { key: 'eso/pushed' } },
          { delete: remoteRef },
          { extract: { key: 'eso/pushed' } },
        ]);
        assert.deepEqual(seen, [
          'pushed',
          'pushed',
          { user: 'app', password: 'one' },
          'deleted',
          'no secret',
        ]);
      });

      await t.test('ESO: a rotation reaches it, and a revoked key stops it', async () => {
        const { token, id } = await org.call('POST', '/api-keys', { name: 'eso', scopes: ['secrets:read'] });
        const secrets = { 'svc-credential': { token } };
        assert.deepEqual(await reconciled(byToken, secrets, reads()), ['postgres://app@db/app']);
        await org.put('app/database-url', 'postgres://app@db/rotated');
        assert.deepEqual(await reconciled(byToken, secrets, reads()), ['postgres://app@db/rotated']);
        await org.put('app/database-url', 'postgres://app@db/app');
        await org.call('DELETE', `/api-keys/${id}`);
        const [refused] = await reconciled(byToken, secrets, reads());
        assert.match(refused.error, /403|permission denied|invalid/i);
      });
    },
  );
});
