// Syncs by the built service to a real Kubernetes API server over TLS, with the permissions that
// docs/sync/kubernetes.md names. The server is built by `npm run test:kubernetes`; without it the test is
// skipped. There are no controllers and no nodes: it stores and validates objects, as in any cluster.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { generateKeyPairSync } from 'node:crypto';
import fs from 'node:fs';
import https from 'node:https';
import os from 'node:os';
import path from 'node:path';
import { after, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseAllDocuments } from 'yaml';
import { copyOfProject, freePort, project, startService } from '../service.mjs';

const programs = ['etcd', 'kube-apiserver'].map((name) => path.join(project, '.sdks', name));
const isBuilt = programs.every((file) => fs.existsSync(file));
const skip = isBuilt ? false : 'kube-apiserver is not built: npm run test:kubernetes';

const ADMIN = 'made-up-token-of-an-administrator';
const secrets = '/api/v1/namespaces/demo/secrets';
let cluster;
let service;
let org;
let token;

/** Starts etcd and an API server that makes its own certificate. */
async function startCluster() {
  const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'cluster-'));
  const run = (program, ...args) => {
    const log = fs.openSync(path.join(dir, 'log'), 'a');
    const child = spawn(program, args, { cwd: dir, stdio: ['ignore', log, log] });
    fs.closeSync(log);
    after(() => child.kill('SIGKILL'));
    return child;
  };
  const client = await freePort();
  const peer = await freePort();
  const port = await freePort();
  const at = (of) => `http://127.0.0.1:${of}`;
  const peers = [
    `--listen-peer-urls=${at(peer)}`,
    `--initial-advertise-peer-urls=${at(peer)}`,
    `--initial-cluster=default=${at(peer)}`,
  ];
  run(
    programs[0],
    '--data-dir=etcd',
    `--listen-client-urls=${at(client)}`,
    `--advertise-client-urls=${at(client)}`,
    ...peers,
    '--log-level=error',
  );
  fs.writeFileSync(path.join(dir, 'tokens.csv'), `${ADMIN},admin,1,system:masters\n`);
  fs.writeFileSync(
    path.join(dir, 'account.key'),
    generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey.export({ type: 'pkcs1', format: 'pem' }),
  );
  const accounts = [
    '--service-account-issuer=https://cluster.example',
    '--service-account-key-file=account.key',
    '--service-account-signing-key-file=account.key',
  ];
  const serving = [
    '--bind-address=127.0.0.1',
    `--secure-port=${port}`,
    '--cert-dir=certificates',
    '--service-cluster-ip-range=10.0.0.0/24',
  ];
  run(
    programs[1],
    `--etcd-servers=${at(client)}`,
    ...serving,
    ...accounts,
    '--token-auth-file=tokens.csv',
    '--authorization-mode=RBAC',
    '-v=0',
  );
  const certificate = path.join(dir, 'certificates', 'apiserver.crt');
  const url = `https://127.0.0.1:${port}`;
  for (let tries = 0; ; tries++) {
    const ready =
      fs.existsSync(certificate) &&
      (await request(url, certificate, ADMIN, 'GET', '/readyz').catch(() => null));
    if (ready?.status === 200) return { url, certificate };
    assert.ok(
      tries < 300,
      `the API server does not start: ${fs.readFileSync(path.join(dir, 'log'), 'utf8').slice(-500)}`,
    );
    await sleep(200);
  }
}

/** A call of the Kubernetes API, with the server's certificate verified. */
function request(url, certificate, bearer, method, at, body, type = 'application/json') {
  const text = body === undefined ? undefined : typeof body === 'string' ? body : JSON.stringify(body);
  const headers = { Authorization: `Bearer ${bearer}`, ...(text !== undefined && { 'Content-Type': type }) };
  return new Promise((done, fail) => {
    const sent = https.request(
      new URL(at, url),
      { method, headers, ca: fs.readFileSync(certificate) },
      async (answer) => {
        const parts = await answer.toArray().catch(fail);
        const answered = Buffer.concat(parts ?? []).toString();
        done({ status: answer.statusCode, json: answered.startsWith('{') ? JSON.parse(answered) : null });
      },
    );
    sent.on('error', fail).end(text);
  });
}

const api = (method, at, body, type) =>
  request(cluster.url, cluster.certificate, ADMIN, method, at, body, type);

/** Creates an object as `kubectl apply` does. */
async function create(at, object) {
  const { status, json } = await api('POST', at, object);
  assert.equal(status, 201, JSON.stringify(json));
  return json;
}

/** The role of the documentation for a service account, and a token as of `kubectl create token`. */
async function allowed() {
  const page = fs.readFileSync(path.join(project, 'docs/sync/kubernetes.md'), 'utf8');
  const [role] = parseAllDocuments(/```yaml\n([\s\S]*?)```/.exec(page)?.[1] ?? '').map((document) =>
    document.toJS(),
  );
  await create('/api/v1/namespaces', { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'demo' } });
  const rbac = '/apis/rbac.authorization.k8s.io/v1/namespaces/demo';
  await create(`${rbac}/roles`, role);
  const account = { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 'secrets-sync' } };
  await create('/api/v1/namespaces/demo/serviceaccounts', account);
  await create(`${rbac}/rolebindings`, {
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'RoleBinding',
    metadata: { name: 'secrets-sync' },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: role.metadata.name },
    subjects: [{ kind: 'ServiceAccount', name: 'secrets-sync', namespace: 'demo' }],
  });
  const asked = {
    apiVersion: 'authentication.k8s.io/v1',
    kind: 'TokenRequest',
    spec: { expirationSeconds: 3600 },
  };
  return (await create('/api/v1/namespaces/demo/serviceaccounts/secrets-sync/token', asked)).status.token;
}

const call = (method, at, body) => service.call(method, `/orgs/${org.id}${at}`, org.key, body);

async function started() {
  cluster = await startCluster();
  token = await allowed();
  service = await startService(copyOfProject(), {
    ALLOW_PRIVATE_TARGETS: 'true',
    NODE_EXTRA_CA_CERTS: cluster.certificate,
  });
  const owner = { email: 'ann@example.com', name: 'Ann' };
  const { json } = await service.call('POST', '/orgs', service.variable('BOOTSTRAP_TOKEN'), {
    name: 'Demo',
    owner,
  });
  org = { id: json.org.id, key: json.api_key.token };
}

/** Asks for a sync and waits for its end: the results in short. */
async function sync(fields = {}, configured = {}) {
  const config = {
    apiServer: cluster.url,
    token,
    namespace: 'demo',
    secretName: 'app-secrets',
    ...configured,
  };
  const body = { platform: 'kubernetes', config, environmentId: 'production', ...fields };
  const { status, json } = await call('POST', '/integrations/sync', body);
  assert.equal(status, fields.dryRun ? 200 : 202, JSON.stringify(json));
  for (let ended = fields.dryRun ? json : null, tries = 0; ; tries++) {
    if (ended)
      return ended.results.map(({ name, action, code }) => `${name} ${action}${code ? ` ${code}` : ''}`);
    assert.ok(tries < 300, 'the sync does not end');
    const { json: now } = await call('GET', `/integrations/syncs/${json.syncId}`);
    if (now.finishedAt) ended = now;
    else await sleep(200);
  }
}

const stored = async (name = 'app-secrets') => (await api('GET', `${secrets}/${name}`)).json;
const texts = ({ data = {} }) =>
  Object.fromEntries(
    Object.entries(data).map(([key, text]) => [key, Buffer.from(text, 'base64').toString()]),
  );
const values = {
  ALPHA: 'value of alpha',
  BETA: 'välue ✓ of "beta"\nand $more',
  'path/GAMMA': 'g-123456789',
  EMPTY: '',
};

test('sync: kubernetes writes to a real API server with the documented role', {
  skip,
  timeout: 180_000,
}, async (t) => {
  await started();
  const ids = {};
  for (const [name, value] of Object.entries(values))
    ids[name] = (await call('POST', '/secrets', { name, type: 'generic', value })).json.id;
  const all = Object.keys(values).sort();
  const each = (action) => all.map((name) => `${name} ${action}`);

  await t.test('a dry run writes nothing, a sync creates the Secret, a repeat changes nothing', async () => {
    assert.deepEqual(await sync({ dryRun: true }), each('created'));
    assert.equal((await stored()).reason, 'NotFound');
    assert.deepEqual(await sync(), each('created'));
    const written = await stored();
    assert.equal(written.type, 'Opaque');
    const { 'path/GAMMA': gamma, ...rest } = values;
    assert.deepEqual(texts(written), { ...rest, path_GAMMA: gamma });
    assert.deepEqual(await sync(), each('unchanged'));
    assert.equal((await stored()).metadata.resourceVersion, written.metadata.resourceVersion);
  });

  await t.test(
    'foreign keys and labels stay, a changed value is updated, a deleted secret is pruned',
    async () => {
      const theirs = {
        metadata: { labels: { team: 'theirs' } },
        data: { THEIRS: Buffer.from('theirs').toString('base64') },
      };
      assert.equal(
        (await api('PATCH', `${secrets}/app-secrets`, theirs, 'application/merge-patch+json')).status,
        200,
      );
      await call('PATCH', `/secrets/${ids.ALPHA}`, { value: 'a newer value' });
      await call('DELETE', `/secrets/${ids['path/GAMMA']}`);
      assert.deepEqual(await sync({ prune: true }), [
        'ALPHA updated',
        'BETA unchanged',
        'EMPTY unchanged',
        'path/GAMMA deleted',
      ]);
      const written = await stored();
      assert.deepEqual(written.metadata.labels, { team: 'theirs' });
      assert.deepEqual(texts(written), {
        ALPHA: 'a newer value',
        BETA: values.BETA,
        EMPTY: '',
        THEIRS: 'theirs',
      });
    },
  );

  await t.test('refusals of the API server have the documented codes', async () => {
    const names = ['ALPHA'];
    assert.deepEqual(await sync({ names }, { token: 'made-up' }), ['ALPHA failed TARGET_AUTH']);
    assert.deepEqual(await sync({ names }, { secretName: 'another' }), ['ALPHA failed TARGET_AUTH']);
    assert.deepEqual(await sync({ names }, { token: ADMIN, namespace: 'nowhere' }), [
      'ALPHA failed TARGET_NOT_FOUND',
    ]);
    const fixed = {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name: 'fixed' },
      immutable: true,
      data: { ALPHA: 'YQ==' },
    };
    await create(secrets, fixed);
    assert.deepEqual(await sync({ names }, { token: ADMIN, secretName: 'fixed' }), [
      'ALPHA failed TARGET_REJECTED',
    ]);
    const large = {
      ...fixed,
      metadata: { name: 'large' },
      immutable: false,
      data: { BIG: Buffer.alloc(1_048_570).toString('base64') },
    };
    await create(secrets, large);
    assert.deepEqual(await sync({ names }, { token: ADMIN, secretName: 'large' }), [
      'ALPHA failed TARGET_REJECTED',
    ]);
  });

  await t.test('1,024 KB in one Secret are taken, and one byte more is refused before a call', async () => {
    for (let n = 0; n < 16; n++)
      await call('POST', '/secrets', {
        name: `BIG_${n}`,
        type: 'generic',
        value: 'x'.repeat(65_536),
        environment: 'staging',
      });
    const whole = await sync({ environmentId: 'staging' }, { token: ADMIN, secretName: 'whole' });
    assert.deepEqual(
      [whole.length, new Set(whole.map((line) => line.split(' ').slice(1).join(' ')))],
      [16, new Set(['created'])],
    );
    await call('POST', '/secrets', { name: 'ONE_MORE', type: 'generic', value: 'x', environment: 'staging' });
    const over = await sync({ environmentId: 'staging' }, { token: ADMIN, secretName: 'over' });
    assert.deepEqual(
      new Set(over.map((line) => line.split(' ').slice(1).join(' '))),
      new Set(['failed VALUE_TOO_LARGE']),
    );
    assert.equal((await stored('over')).reason, 'NotFound');
  });

  await t.test('it refuses what the made-up server of the tests refuses', async () => {
    const secret = { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'a' }, data: { A: 'YQ==' } };
    const post = async (body) => (await api('POST', secrets, body)).status;
    assert.equal(
      (await request(cluster.url, cluster.certificate, 'made-up', 'POST', secrets, secret)).status,
      401,
    );
    assert.equal(await post({ ...secret, data: { A: 'no base64' } }), 400);
    assert.equal(await post({ ...secret, data: { 'A/B': 'YQ==' } }), 422);
    assert.equal(await post({ ...secret, data: { '..A': 'YQ==' } }), 422);
    assert.equal(await post({ ...secret, metadata: { name: 'a', namespace: 'other' } }), 400);
    assert.equal(await post(secret), 201);
    assert.equal(await post(secret), 409);
    assert.equal((await api('PATCH', `${secrets}/a`, { data: {} })).status, 415);
  });
});
