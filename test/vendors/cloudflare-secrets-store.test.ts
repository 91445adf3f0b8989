import { expect, it } from 'vitest';
import { cloudflareSecretsStore } from '../../src/adapters/sync/cloudflare-secrets-store';
import { slow } from '../packages/slow.ts';
import {
  type CloudflareSecretsStoreFake,
  secret,
  startCloudflareSecretsStore,
} from './fakes/cloudflare-secrets-store.ts';
import { keepsTheContract, running, short, sync } from './sync';

const config = {
  token: 'cloudflare-token',
  accountId: '0123456789abcdef0123456789abcdef',
  storeId: 'fedcba9876543210fedcba9876543210',
};

const named = ({ secrets }: CloudflareSecretsStoreFake, name: string) =>
  secrets.find((one) => one.name === name);
const run = (
  fake: CloudflareSecretsStoreFake,
  secrets: Record<string, string>,
  options: Parameters<typeof sync>[4] & { scopes?: string[] } = {},
) => {
  const { scopes, ...rest } = options;
  return sync(cloudflareSecretsStore, { ...config, ...(scopes && { scopes }) }, fake, secrets, rest);
};

it('sync: cloudflare-secrets-store keeps the contract of all platforms', async () => {
  const fake = await running(startCloudflareSecretsStore());
  await keepsTheContract(cloudflareSecretsStore, config, fake, {
    read: (name) => named(fake, name)?.value ?? null,
    foreign: () => fake.secrets.push(secret('FOREIGN')),
    hasForeign: () => named(fake, 'FOREIGN')?.value === 'theirs',
    wrong: { token: 'another-token' },
  });
});

it('sync: cloudflare-secrets-store creates new names in one call, and changes each other one', async () => {
  const fake = await running(startCloudflareSecretsStore());
  const names = Object.fromEntries(Array.from({ length: 20 }, (_, n) => [`NAME_${n}`, `value ${n}`]));
  const first = await run(fake, names);
  expect(fake.writes().map(({ method }) => method)).toEqual(['POST']);
  const second = await run(
    fake,
    { ...names, NAME_3: 'another', NEW: 'new' },
    { owned: first.owned, gone: ['NAME_4'] },
  );
  expect(short(second).filter((line) => !line.endsWith('unchanged'))).toEqual([
    'NAME_3 updated',
    'NEW created',
  ]);
  expect(
    fake
      .writes()
      .slice(1)
      .map(({ method }) => method),
  ).toEqual(['PATCH', 'POST']);
});

it('sync: cloudflare-secrets-store deletes before it creates, so that a full account has room', async () => {
  const fake = await running(startCloudflareSecretsStore());
  fake.most = 2;
  const first = await run(fake, { ALPHA: 'a', BETA: 'b' });
  const second = await run(fake, { ALPHA: 'a', GAMMA: 'c' }, { owned: first.owned, gone: ['BETA'] });
  expect(short(second)).toEqual(['ALPHA unchanged', 'BETA deleted', 'GAMMA created']);
});

it('sync: cloudflare-secrets-store writes the names that fit, and tells what the account cannot hold', async () => {
  const fake = await running(startCloudflareSecretsStore());
  fake.secrets.push(secret('THEIRS'));
  fake.most = 3;
  const large = 'x'.repeat(65_537);
  const { results } = await run(fake, { A: 'a', B: 'b', C: 'c', D: 'd', LARGE: large });
  expect(results.filter(({ action }) => action === 'created')).toHaveLength(2);
  const refused = results.filter(({ action }) => action === 'failed');
  expect(refused.map(({ code }) => code).sort()).toEqual([
    'TARGET_REJECTED',
    'TARGET_REJECTED',
    'VALUE_TOO_LARGE',
  ]);
  expect(refused.filter(({ message }) => message?.includes('as Cloudflare allows (100)'))).toHaveLength(2);
  expect(fake.secrets).toHaveLength(3);
  // The largest value goes through.
  fake.most = 100;
  expect(short(await run(fake, { LARGEST: 'x'.repeat(65_536) }))).toEqual(['LARGEST created']);
});

it('sync: cloudflare-secrets-store keeps comments and scopes of others, and adds its own', async () => {
  const fake = await running(startCloudflareSecretsStore());
  fake.secrets.push(secret('ALPHA', { scopes: ['ai_gateway', 'access'], comment: 'theirs' }));
  const first = await run(fake, { ALPHA: 'a', BETA: 'b' });
  expect(short(first)).toEqual(['ALPHA updated', 'BETA created']);
  expect(named(fake, 'ALPHA')).toMatchObject({
    value: 'a',
    scopes: ['ai_gateway', 'access', 'workers'],
    comment: 'theirs',
  });
  expect(named(fake, 'BETA')?.scopes).toEqual(['workers']);
  // A further scope is written although the value is equal.
  const second = await run(fake, { ALPHA: 'a', BETA: 'b' }, { ...first, scopes: ['workers', 'ai_gateway'] });
  expect(short(second)).toEqual(['ALPHA unchanged', 'BETA updated']);
  expect(named(fake, 'BETA')?.scopes).toEqual(['workers', 'ai_gateway']);
});

it('sync: cloudflare-secrets-store repeats a POST whose answer was lost, and meets names made meanwhile', async () => {
  const fake = await running(startCloudflareSecretsStore());
  let lost = 0;
  fake.interrupt = ({ method }) => (method === 'POST' && lost++ === 0 ? 'after' : null);
  expect(short(await run(fake, { ALPHA: 'a', BETA: 'b' }))).toEqual(['ALPHA created', 'BETA created']);
  expect(fake.secrets.map(({ value }) => value)).toEqual(['a', 'b']);
  fake.interrupt = ({ method, path }) => {
    if (method === 'POST' && path.endsWith('/secrets') && !named(fake, 'GAMMA'))
      fake.secrets.push(secret('GAMMA'));
    return null;
  };
  expect(short(await run(fake, { DELTA: 'd', GAMMA: 'c' }))).toEqual(['DELTA created', 'GAMMA updated']);
  expect(named(fake, 'GAMMA')?.value).toBe('c');
});

it('sync: cloudflare-secrets-store does not see deleted secrets, and creates the name anew', async () => {
  const fake = await running(startCloudflareSecretsStore());
  fake.secrets.push(secret('ALPHA', { status: 'deleted' }));
  expect(short(await run(fake, { ALPHA: 'a' }))).toEqual(['ALPHA created']);
});

slow('sync: cloudflare-secrets-store tells an unknown store, and another shape than documented', async () => {
  const fake = await running(startCloudflareSecretsStore());
  const wrong = { ...config, storeId: 'another' };
  expect(short(await sync(cloudflareSecretsStore, wrong, fake, { ALPHA: 'a' }))).toEqual([
    'ALPHA failed TARGET_NOT_FOUND',
  ]);
  for (const result of [{}, null, [null], [{ name: 'A' }], [{ id: 'x', name: 'A', scopes: 'workers' }]]) {
    fake.interrupt = ({ method }) =>
      method === 'GET' ? { status: 200, body: { success: true, errors: [], result } } : null;
    expect(short(await run(fake, { ALPHA: 'a' }))).toEqual(['ALPHA failed TARGET_REJECTED']);
  }
  // A listing without an end.
  fake.interrupt = ({ method }) =>
    method === 'GET'
      ? { status: 200, body: { success: true, result: [{ id: 'x', name: 'A', scopes: [] }] } }
      : null;
  expect(short(await run(fake, { ALPHA: 'a' }))).toEqual(['ALPHA failed TARGET_REJECTED']);
  expect(fake.writes()).toEqual([]);
});

it.each([{ scopes: [] }, { scopes: ['workers', 'workers'] }, { scopes: ['dex'] }, { storeId: '..' }])(
  'sync: cloudflare-secrets-store refuses a config with %o',
  (wrong) => {
    expect(cloudflareSecretsStore.config.safeParse({ ...config, ...wrong }).success).toBe(false);
  },
);

it('sync: the server in place of cloudflare-secrets-store is strict', async () => {
  const fake = await running(startCloudflareSecretsStore());
  const post = async (body: unknown, token = config.token) => {
    const url = `${fake.url}/client/v4/accounts/${config.accountId}/secrets_store/stores/${config.storeId}/secrets`;
    const headers = { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' };
    return (await fetch(url, { method: 'POST', headers, body: JSON.stringify(body) })).status;
  };
  const one = { name: 'A', value: 'x', scopes: ['workers'] };
  expect(await post(one)).toBe(400);
  expect(await post([])).toBe(400);
  expect(await post([{ ...one, name: 'with space' }])).toBe(400);
  expect(await post([{ ...one, scopes: [] }])).toBe(400);
  expect(await post([{ ...one, scopes: ['worker'] }])).toBe(400);
  expect(await post([{ ...one, value: 'x'.repeat(65_537) }])).toBe(400);
  expect(await post([one], 'another-token')).toBe(403);
  expect(await post([one])).toBe(200);
  // All or none.
  expect(await post([{ ...one, name: 'B' }, one])).toBe(409);
  expect(fake.secrets.map(({ name }) => name)).toEqual(['A']);
});
