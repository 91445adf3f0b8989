import { expect, it } from 'vitest';
import { kubernetes } from '../../src/adapters/sync/kubernetes';
import { startKubernetes } from './fakes/kubernetes.ts';
import { keepsTheContract, running, short, sync } from './sync';

const config = {
  apiServer: 'https://cluster.example',
  token: 'made.up.service-account-token',
  namespace: 'demo',
  secretName: 'app-secrets',
};

it('sync: kubernetes keeps the contract of all platforms', async () => {
  const fake = await running(startKubernetes());
  await keepsTheContract(kubernetes, config, fake, {
    read: (name) => fake.text(name),
    foreign: () => fake.seed('app-secrets', { FOREIGN: 'theirs' }, { type: 'example.com/own' }),
    hasForeign: () =>
      fake.text('FOREIGN') === 'theirs' &&
      fake.secrets.get('demo/app-secrets')?.metadata.labels?.team === 'theirs',
    wrong: { token: 'another' },
  });
  expect(fake.secrets.get('demo/app-secrets')?.type).toBe('example.com/own');
});

it('sync: kubernetes creates a Secret that is not there, and writes one patch after', async () => {
  const fake = await running(startKubernetes());
  expect(short(await sync(kubernetes, config, fake, { A: 'a', B: 'b' }))).toEqual(['A created', 'B created']);
  expect(fake.secrets.get('demo/app-secrets')).toMatchObject({
    type: 'Opaque',
    data: { A: 'YQ==', B: 'Yg==' },
  });
  const before = fake.writes().length;
  const secrets = Object.fromEntries(Array.from({ length: 50 }, (_, i) => [`NAME_${i}`, `value ${i}`]));
  await sync(kubernetes, config, fake, secrets);
  expect(fake.writes()).toHaveLength(before + 1);
});

it('sync: kubernetes replaces slashes, and refuses keys that no Secret takes', async () => {
  const fake = await running(startKubernetes());
  const result = await sync(kubernetes, config, fake, {
    'a/b': '1',
    a_b: '2',
    'c/d.e-f': '3',
    ['x'.repeat(254)]: 'long',
  });
  expect(short(result)).toEqual([
    'a/b failed NAME_COLLISION',
    'a_b failed NAME_COLLISION',
    'c/d.e-f created',
    `${'x'.repeat(254)} failed NAME_INVALID`,
  ]);
  expect(fake.text('c_d.e-f')).toBe('3');
  expect(kubernetes.name('..', config as never)).toMatchObject({ code: 'NAME_INVALID' });
});

it('sync: kubernetes reads null as a key without bytes', async () => {
  const fake = await running(startKubernetes());
  fake.seed('app-secrets', { A: '', EMPTY: '', FOREIGN: '' });
  fake.interrupt = ({ method }) =>
    method === 'GET'
      ? { status: 200, body: { kind: 'Secret', data: { A: null, EMPTY: null, FOREIGN: null } } }
      : null;
  expect(short(await sync(kubernetes, config, fake, { A: 'a', EMPTY: '' }))).toEqual([
    'A updated',
    'EMPTY unchanged',
  ]);
  expect(fake.text('A')).toBe('a');
});

it('sync: kubernetes accepts empty values, and overwrites bytes that are not text', async () => {
  const fake = await running(startKubernetes());
  fake.seed('app-secrets', {});
  Object.assign(fake.secrets.get('demo/app-secrets') ?? {}, { data: { BYTES: '//4=', SAME: 'AA==' } });
  expect(short(await sync(kubernetes, config, fake, { EMPTY: '', BYTES: 'text', SAME: '\0' }))).toEqual([
    'BYTES updated',
    'EMPTY created',
    'SAME unchanged',
  ]);
  expect([fake.text('EMPTY'), fake.text('BYTES')]).toEqual(['', 'text']);
  expect(short(await sync(kubernetes, config, fake, { EMPTY: '' }))).toEqual(['EMPTY unchanged']);
});

it('sync: kubernetes writes nothing over the size of a Secret, and removes still', async () => {
  const fake = await running(startKubernetes());
  const first = await sync(kubernetes, config, fake, { A: 'a' });
  const secrets = Object.fromEntries(Array.from({ length: 17 }, (_, i) => [`N${i}`, 'x'.repeat(65_536)]));
  const result = await sync(kubernetes, config, fake, secrets, { owned: first.owned, gone: ['A'] });
  expect(new Set(short(result).map((line) => line.replace(/^\w+ /, '')))).toEqual(
    new Set(['deleted', 'failed VALUE_TOO_LARGE']),
  );
  expect(fake.secrets.get('demo/app-secrets')?.data).toEqual({});
});

it('sync: kubernetes tells a missing namespace, a verb that is not allowed, and an immutable Secret', async () => {
  const fake = await running(startKubernetes());
  const elsewhere = { ...config, namespace: 'elsewhere' };
  expect(short(await sync(kubernetes, elsewhere, fake, { A: 'a', B: 'b' }))).toEqual([
    'A failed TARGET_NOT_FOUND',
    'B failed TARGET_NOT_FOUND',
  ]);
  fake.denied.add('create');
  expect(short(await sync(kubernetes, config, fake, { A: 'a' }))).toEqual(['A failed TARGET_AUTH']);
  fake.seed('app-secrets', { A: 'before' }, { immutable: true });
  const immutable = await sync(kubernetes, config, fake, { A: 'after' });
  expect(immutable.results[0]).toMatchObject({
    code: 'TARGET_REJECTED',
    message: 'The target answered with status 422 (Invalid).',
  });
  fake.denied.add('get');
  expect(short(await sync(kubernetes, config, fake, { A: 'a' }))).toEqual(['A failed TARGET_AUTH']);
});

it('sync: kubernetes patches if a create is refused as existing, and if a response was lost', async () => {
  const fake = await running(startKubernetes());
  let n = 0;
  fake.interrupt = ({ method }) => {
    if (method === 'POST' && n++ === 0) fake.seed('app-secrets', { FOREIGN: 'theirs' });
    return null;
  };
  expect(short(await sync(kubernetes, config, fake, { A: 'a' }))).toEqual(['A created']);
  expect([fake.text('FOREIGN'), fake.text('A')]).toEqual(['theirs', 'a']);
  fake.secrets.clear();
  fake.interrupt = ({ method }) => (method === 'POST' && n++ === 1 ? 'after' : null);
  expect(short(await sync(kubernetes, config, fake, { A: 'a' }))).toEqual(['A created']);
  expect(fake.text('A')).toBe('a');
});

it('sync: kubernetes prunes keys, also of a Secret that is gone', async () => {
  const fake = await running(startKubernetes());
  const first = await sync(kubernetes, config, fake, { A: 'a', B: 'b' });
  fake.interrupt = ({ method }) => {
    if (method === 'PATCH') fake.secrets.clear();
    return null;
  };
  expect(short(await sync(kubernetes, config, fake, {}, { owned: first.owned, gone: ['B'] }))).toEqual([
    'B deleted',
  ]);
  expect(fake.secrets.size).toBe(0);
});

it('sync: kubernetes calls an API server behind a path, as of a proxy', async () => {
  const fake = await running(startKubernetes());
  fake.base = '/k8s/clusters/c-1';
  const result = await sync(
    kubernetes,
    { ...config, apiServer: 'https://proxy.example/k8s/clusters/c-1/' },
    fake,
    { A: 'a' },
  );
  expect(short(result)).toEqual(['A created']);
  expect(kubernetes.urls?.(config as never)).toEqual([
    { field: 'apiServer', url: 'https://cluster.example' },
  ]);
});

it.each([
  [{ apiServer: 'https://user:pass@cluster.example' }],
  [{ apiServer: 'https://cluster.example?x=1' }],
  [{ apiServer: 'file:///etc' }],
  [{ apiServer: 'https://[not-an-address' }],
  [{ apiServer: 'https://clus\tter.example' }],
  [{ namespace: 'Demo' }],
  [{ namespace: 'a/../b' }],
  [{ secretName: '../configmaps/x' }],
  [{ secretName: 'a..b' }],
  [{ token: 'two\r\nlines' }],
])('sync: kubernetes refuses the config %j', (wrong) => {
  expect(kubernetes.config.safeParse({ ...config, ...wrong }).success).toBe(false);
});

it('sync: kubernetes takes a Secret of another shape for no empty one', async () => {
  const fake = await running(startKubernetes());
  for (const body of [
    {},
    { kind: 'Status' },
    { kind: 'SecretList', items: [] },
    { kind: 'Secret', data: [] },
    { kind: 'Secret', data: { A: 1 } },
    'text',
  ]) {
    fake.interrupt = ({ method }) => (method === 'GET' ? { status: 200, body } : null);
    expect(short(await sync(kubernetes, config, fake, { A: 'a' }))).toEqual(['A failed TARGET_REJECTED']);
  }
  expect(fake.writes()).toEqual([]);
});

it('sync: the fake kubernetes refuses what the vendor would', async () => {
  const fake = await running(startKubernetes());
  const url = `${fake.url}/api/v1/namespaces/demo/secrets`;
  const headers = { Authorization: `Bearer ${fake.token}`, 'Content-Type': 'application/json' };
  const post = async (body: object) =>
    (await fetch(url, { method: 'POST', headers, body: JSON.stringify(body) })).status;
  const secret = { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'a' }, data: { A: 'YQ==' } };
  expect((await fetch(url, { method: 'POST' })).status).toBe(401);
  expect(await post({ ...secret, data: { A: 'no base64' } })).toBe(400);
  expect(await post({ ...secret, data: { 'A/B': 'YQ==' } })).toBe(422);
  expect(await post(secret)).toBe(201);
  expect(await post(secret)).toBe(409);
  expect((await fetch(`${url}/a`, { method: 'PATCH', headers, body: '{"data":{}}' })).status).toBe(415);
});

it('sync: kubernetes repeats no code that its vendor does not document, such as a value of an earlier sync', async () => {
  const fake = await running(startKubernetes());
  for (const [reason, message] of [
    ['ValueOfEarlier', 'The target answered with status 400.'],
    ['BadRequest', 'The target answered with status 400 (BadRequest).'],
  ] as const) {
    fake.interrupt = () => ({ status: 400, body: { reason } });
    expect((await sync(kubernetes, config, fake, { A: 'another' })).results).toMatchObject([{ message }]);
  }
});
