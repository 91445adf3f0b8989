import { expect, it } from 'vitest';
import { cloudflareWorkers } from '../../src/adapters/sync/cloudflare-workers';
import { startCloudflareWorkers } from './fakes/cloudflare-workers.ts';
import { keepsTheContract, running, short, sync } from './sync';

const config = {
  token: 'cloudflare-token',
  accountId: '0123456789abcdef0123456789abcdef',
  scriptName: 'demo-worker',
};

it.each([true, 404, 405] as const)(
  'sync: cloudflare-workers keeps the contract of all platforms (bulk call: %s)',
  async (bulk) => {
    const fake = await running(startCloudflareWorkers());
    fake.bulk = bulk;
    await keepsTheContract(cloudflareWorkers, config, fake, {
      read: (name) => fake.secrets[name] ?? null,
      foreign: () => Object.assign(fake.secrets, { FOREIGN: 'theirs' }),
      hasForeign: () => fake.secrets.FOREIGN === 'theirs',
      wrong: { token: 'another-token' },
    });
  },
);

it('sync: cloudflare-workers deploys one version for all names, deletions too, and none for no change', async () => {
  const fake = await running(startCloudflareWorkers());
  const secrets = Object.fromEntries(Array.from({ length: 50 }, (_, i) => [`NAME_${i}`, `value ${i}`]));
  const first = await sync(cloudflareWorkers, config, fake, secrets);
  expect(fake.versions).toBe(1);
  expect(fake.writes()[0]?.headers['content-type']).toBe('application/merge-patch+json');
  await sync(cloudflareWorkers, config, fake, secrets, first);
  expect(fake.versions).toBe(1);
  const second = await sync(
    cloudflareWorkers,
    config,
    fake,
    { NAME_0: 'another' },
    { owned: first.owned, gone: ['NAME_1'] },
  );
  expect(short(second)).toEqual(['NAME_0 updated', 'NAME_1 deleted']);
  expect(fake.versions).toBe(2);
  expect(Object.keys(fake.secrets)).toHaveLength(49);
});

it('sync: cloudflare-workers sends at most 100 operations in a call', async () => {
  const fake = await running(startCloudflareWorkers());
  const secrets = Object.fromEntries(Array.from({ length: 150 }, (_, i) => [`NAME_${i}`, `value ${i}`]));
  const result = await sync(cloudflareWorkers, config, fake, secrets);
  expect(result.results.every(({ action }) => action === 'created')).toBe(true);
  expect(fake.secrets).toEqual(secrets);
  expect(fake.versions).toBe(2);
});

it('sync: cloudflare-workers refuses more than 5 KB before the first write', async () => {
  const fake = await running(startCloudflareWorkers());
  const result = await sync(cloudflareWorkers, config, fake, {
    FITS: 'x'.repeat(5120),
    LARGE: 'x'.repeat(5121),
    WIDE: 'é'.repeat(2561),
  });
  expect(short(result)).toEqual([
    'FITS created',
    'LARGE failed VALUE_TOO_LARGE',
    'WIDE failed VALUE_TOO_LARGE',
  ]);
});

it.each([true, 405] as const)(
  'sync: cloudflare-workers advises to deploy the newest version (bulk call: %s)',
  async (bulk) => {
    const fake = await running(startCloudflareWorkers());
    Object.assign(fake, { bulk, deployed: false });
    const result = await sync(cloudflareWorkers, config, fake, { ALPHA: 'a', BETA: 'b' });
    expect(short(result)).toEqual(['ALPHA failed TARGET_REJECTED', 'BETA failed TARGET_REJECTED']);
    expect(result.results[0]?.message).toBe(
      'The target answered with status 400 (10215). The newest version of the Worker is not deployed: deploy it, then sync again.',
    );
    // It is not tried again.
    expect(fake.writes()).toHaveLength(bulk === true ? 1 : 3);
  },
);

it('sync: cloudflare-workers reads success: false in a 200 as a refusal', async () => {
  const fake = await running(startCloudflareWorkers());
  fake.interrupt = ({ method }) =>
    method === 'PATCH'
      ? { status: 200, body: { success: false, errors: [{ code: 10001, message: 'made up' }], result: null } }
      : null;
  const result = await sync(cloudflareWorkers, config, fake, { ALPHA: 'a' });
  expect(result.results[0]).toMatchObject({
    code: 'TARGET_REJECTED',
    message: 'The target answered with status 200 (10001).',
  });
});

it.each([
  ['an unknown script', { scriptName: 'another' }, 'TARGET_NOT_FOUND'],
  ['a malformed token', { token: 'short' }, 'TARGET_AUTH'],
])('sync: cloudflare-workers tells %s', async (_what, wrong, code) => {
  const fake = await running(startCloudflareWorkers());
  expect(short(await sync(cloudflareWorkers, { ...config, ...wrong }, fake, { ALPHA: 'a' }))).toEqual([
    `ALPHA failed ${code}`,
  ]);
  expect(fake.writes()).toEqual([]);
});

it.each(['PATCH', 'PUT'])('sync: cloudflare-workers repeats a %s whose answer was lost', async (method) => {
  const fake = await running(startCloudflareWorkers());
  if (method === 'PUT') fake.bulk = 404;
  let lost = 0;
  fake.interrupt = (request) => (request.method === method && lost++ === 0 ? 'after' : null);
  expect(short(await sync(cloudflareWorkers, config, fake, { ALPHA: 'a' }))).toEqual(['ALPHA created']);
  expect(fake.secrets).toEqual({ ALPHA: 'a' });
});

it('sync: cloudflare-workers stops if a rate limit asks for too long, one by one too', async () => {
  const fake = await running(startCloudflareWorkers());
  fake.bulk = 404;
  fake.interrupt = ({ method, json }) =>
    method === 'PUT' && json.name === 'B'
      ? { status: 429, headers: { 'Retry-After': '300' }, body: { success: false, errors: [{ code: 971 }] } }
      : null;
  const result = await sync(
    cloudflareWorkers,
    config,
    fake,
    Object.fromEntries([...'ABCDEFGHIJ'].map((name) => [name, 'value'])),
  );
  expect(result.retryAfter).toBe(300);
  expect(result.results.find(({ name }) => name === 'B')?.code).toBe('TARGET_RATE_LIMITED');
  expect(result.results.find(({ name }) => name === 'J')?.code).toBe('NOT_ATTEMPTED');
});

it.each([
  ['no list', { success: true, errors: [], result: null }],
  ['no result', { success: true, errors: [] }],
  ['no envelope', []],
  ['an entry without a name', { success: true, errors: [], result: [{ type: 'secret_text' }] }],
])('sync: cloudflare-workers reads %s as no listing', async (_what, body) => {
  const fake = await running(startCloudflareWorkers());
  fake.interrupt = ({ method }) => (method === 'GET' ? { status: 200, body } : null);
  expect(short(await sync(cloudflareWorkers, config, fake, { ALPHA: 'a' }))).toEqual([
    'ALPHA failed TARGET_REJECTED',
  ]);
  expect(fake.writes()).toEqual([]);
});

it('sync: the server in place of cloudflare-workers is strict', async () => {
  const fake = await running(startCloudflareWorkers());
  const url = `${fake.url}/client/v4/accounts/${config.accountId}/workers/scripts/${config.scriptName}`;
  const send = async (method: string, path: string, body: unknown, headers: Record<string, string> = {}) => {
    const merge = {
      Authorization: `Bearer ${config.token}`,
      'Content-Type': 'application/merge-patch+json',
      ...headers,
    };
    const reply = await fetch(`${url}${path}`, { method, headers: merge, body: JSON.stringify(body) });
    const { errors } = (await reply.json()) as { errors: { code: number }[] };
    return `${reply.status} ${errors[0]?.code}`;
  };
  const secret = (name: string, text = 'x') => ({ [name]: { name, text, type: 'secret_text' } });
  expect(
    await send('PATCH', '/secrets-bulk', { secrets: secret('A') }, { 'Content-Type': 'text/plain' }),
  ).toBe('415 10001');
  expect(await send('PATCH', '/secrets-bulk', { secrets: {} })).toBe('400 10001');
  expect(await send('PATCH', '/secrets-bulk', { secrets: secret('1A') })).toBe('400 10021');
  expect(await send('PATCH', '/secrets-bulk', { secrets: secret('A', 'x'.repeat(5121)) })).toBe('400 10054');
  expect(
    await send('PATCH', '/secrets-bulk', { secrets: { A: { name: 'B', text: 'x', type: 'secret_text' } } }),
  ).toBe('400 10021');
  const many = Object.assign({}, ...Array.from({ length: 101 }, (_, i) => secret(`N${i}`)));
  expect(await send('PATCH', '/secrets-bulk', { secrets: many })).toBe('400 10001');
  expect(await send('DELETE', '/secrets/NOBODY', undefined)).toBe('404 10056');
  expect(await send('PUT', '/secrets', { name: 'A' }, { 'Content-Type': 'application/json' })).toBe(
    '400 10021',
  );
  expect(fake.secrets).toEqual({});
});
