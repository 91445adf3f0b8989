import { expect, it } from 'vitest';
import { netlify } from '../../../src/adapters/sync/netlify';
import { startNetlify } from '../fakes/netlify.ts';
import { running, short, sync } from '../sync';
import { sdk } from './sdk';

const client = await sdk('@netlify/api');

it.skipIf(!client)('sync: netlify and the @netlify/api package see the same variables', async () => {
  const fake = await running(startNetlify());
  const api = new client.NetlifyAPI(fake.token, { scheme: 'http', host: fake.url.slice('http://'.length) });
  const site = { accountId: fake.account, siteId: fake.site };
  const config = { token: fake.token, ...site, contexts: ['production', 'deploy-preview'] };
  const first = await sync(netlify, config, fake, { ALPHA: 'a', BETA: 'b', GAMMA: 'c' });
  const listed = await api.getEnvVars(site);
  expect(listed.map(({ key, is_secret }: Record<string, unknown>) => [key, is_secret])).toEqual([
    ['ALPHA', true],
    ['BETA', true],
    ['GAMMA', true],
  ]);
  await api.setEnvVarValue({ ...site, key: 'ALPHA', body: { context: 'dev', value: 'theirs' } });
  await api.deleteEnvVar({ ...site, key: 'BETA' });
  const open = { key: 'OPEN', values: [{ context: 'all', value: 'theirs' }] };
  await api.createEnvVars({ ...site, body: [open] });
  const { values } = await api.getEnvVar({ ...site, key: 'GAMMA' });
  await api.deleteEnvVarValue({ ...site, key: 'GAMMA', id: values[1].id });
  const second = await sync(
    netlify,
    config,
    fake,
    { ALPHA: 'a', BETA: 'b', GAMMA: 'c', OPEN: 'ours' },
    { owned: first.owned },
  );
  expect(short(second)).toEqual(['ALPHA unchanged', 'BETA created', 'GAMMA updated', 'OPEN updated']);
  expect(
    (await api.getEnvVar({ ...site, key: 'OPEN' })).values.map(({ context }: { context: string }) => context),
  ).toEqual(['all', 'production', 'deploy-preview']);
  expect((await api.getEnvVar({ ...site, key: 'ALPHA' })).values).toMatchObject([
    {},
    {},
    { context: 'dev', value: 'theirs' },
  ]);
  expect(await api.getEnvVars({ accountId: fake.account })).toEqual([]);
});
