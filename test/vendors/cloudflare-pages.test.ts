import { expect, it } from 'vitest';
import { cloudflarePages } from '../../src/adapters/sync/cloudflare-pages';
import { startCloudflarePages } from './fakes/cloudflare-pages.ts';
import { keepsTheContract, running, short, sync } from './sync';

const config = {
  token: 'cloudflare-token',
  accountId: '0123456789abcdef0123456789abcdef',
  projectName: 'demo-site',
};

it.each(['production', 'preview'] as const)(
  'sync: cloudflare-pages keeps the contract of all platforms (%s)',
  async (environment) => {
    const fake = await running(startCloudflarePages());
    const vars = () => (fake.configs[environment].env_vars ??= {});
    await keepsTheContract(cloudflarePages, { ...config, environment }, fake, {
      read: (name) => vars()[name]?.value ?? null,
      foreign: () => Object.assign(vars(), { FOREIGN: { type: 'plain_text', value: 'theirs' } }),
      hasForeign: () => vars().FOREIGN?.value === 'theirs' && vars().FOREIGN?.type === 'plain_text',
      wrong: { token: 'another-token' },
    });
    expect(
      Object.keys(fake.configs[environment === 'preview' ? 'production' : 'preview'].env_vars ?? {}),
    ).toEqual([]);
  },
);

it('sync: cloudflare-pages writes to production by default, in one call, and leaves all other settings', async () => {
  const fake = await running(startCloudflarePages());
  const before = structuredClone(fake.configs);
  const first = await sync(cloudflarePages, config, fake, { ALPHA: 'a', BETA: 'b' });
  const second = await sync(
    cloudflarePages,
    config,
    fake,
    { ALPHA: 'another' },
    { owned: first.owned, gone: ['BETA'] },
  );
  expect(short(second)).toEqual(['ALPHA updated', 'BETA deleted']);
  expect(fake.writes()).toHaveLength(2);
  const { env_vars, ...rest } = fake.configs.production;
  expect(env_vars).toEqual({ ALPHA: { type: 'secret_text', value: 'another' } });
  expect(rest).toEqual({
    compatibility_date: '2026-01-01',
    kv_namespaces: { KV: { namespace_id: 'made-up' } },
  });
  expect(fake.configs.preview).toEqual(before.preview);
  for (const { json } of fake.writes())
    expect(Object.keys(json.deployment_configs.production)).toEqual(['env_vars']);
});

it('sync: cloudflare-pages makes a variable in plain view a secret, even if the value is equal', async () => {
  const fake = await running(startCloudflarePages());
  fake.configs.production.env_vars = { ALPHA: { type: 'plain_text', value: 'a' } };
  expect(short(await sync(cloudflarePages, config, fake, { ALPHA: 'a' }))).toEqual(['ALPHA updated']);
  expect(fake.configs.production.env_vars).toEqual({ ALPHA: { type: 'secret_text', value: 'a' } });
});

it('sync: cloudflare-pages repeats a PATCH whose answer was lost', async () => {
  const fake = await running(startCloudflarePages());
  let lost = 0;
  fake.interrupt = ({ method }) => (method === 'PATCH' && lost++ === 0 ? 'after' : null);
  expect(short(await sync(cloudflarePages, config, fake, { ALPHA: 'a' }))).toEqual(['ALPHA created']);
});

it('sync: cloudflare-pages tells an unknown project, and another shape than documented', async () => {
  const fake = await running(startCloudflarePages());
  const wrong = { ...config, projectName: 'another' };
  expect(short(await sync(cloudflarePages, wrong, fake, { ALPHA: 'a' }))).toEqual([
    'ALPHA failed TARGET_NOT_FOUND',
  ]);
  for (const result of [
    {},
    null,
    { deployment_configs: null },
    { deployment_configs: { production: { env_vars: [] } } },
  ]) {
    fake.interrupt = ({ method }) =>
      method === 'GET' ? { status: 200, body: { success: true, errors: [], result } } : null;
    expect(short(await sync(cloudflarePages, config, fake, { ALPHA: 'a' }))).toEqual([
      'ALPHA failed TARGET_REJECTED',
    ]);
  }
  expect(fake.writes()).toEqual([]);
});

it('sync: the server in place of cloudflare-pages is strict', async () => {
  const fake = await running(startCloudflarePages());
  const patch = async (body: unknown, token = config.token) => {
    const url = `${fake.url}/client/v4/accounts/${config.accountId}/pages/projects/${config.projectName}`;
    const headers = { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' };
    return (await fetch(url, { method: 'PATCH', headers, body: JSON.stringify(body) })).status;
  };
  const of = (env_vars: unknown) => ({ deployment_configs: { production: { env_vars } } });
  expect(await patch({})).toBe(400);
  expect(await patch({ deployment_configs: { staging: {} } })).toBe(400);
  expect(await patch(of({ A: 'x' }))).toBe(400);
  expect(await patch(of({ A: { type: 'secret', value: 'x' } }))).toBe(400);
  expect(await patch(of({ '1A': { type: 'secret_text', value: 'x' } }))).toBe(400);
  expect(await patch(of({ A: { type: 'secret_text', value: 'x' } }), 'another-token')).toBe(403);
  // What is sent replaces what was there: an adapter that echoes other settings overwrites them.
  expect(await patch({ deployment_configs: { preview: { compatibility_date: '2020-01-01' } } })).toBe(200);
  expect(fake.configs.preview.compatibility_date).toBe('2020-01-01');
});
