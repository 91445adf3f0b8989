import { expect, it } from 'vitest';
import { digitalocean } from '../../../src/adapters/sync/digitalocean';
import { startDigitalocean } from '../fakes/digitalocean.ts';
import { running, short, sync } from '../sync';
import { sdk } from './sdk';

const client = await sdk('dots-wrapper');

it.skipIf(!client)('sync: digitalocean and the dots-wrapper package see the same app', async () => {
  const fake = await running(startDigitalocean());
  const { app } = client.createApiClient({ token: fake.token, endpoint: `${fake.url}/v2` });
  const config = { token: fake.token, appId: fake.appId };
  const first = await sync(digitalocean, config, fake, { ALPHA: 'a', BETA: 'b' });
  const { data } = await app.getApp({ app_id: fake.appId });
  const { spec } = data.app;
  expect(spec.envs.map(({ key, type }: Record<string, string>) => [key, type])).toEqual([
    ['ALPHA', 'SECRET'],
    ['BETA', 'SECRET'],
  ]);
  const theirs = {
    ...spec,
    region: 'nyc',
    envs: [...spec.envs.slice(0, 1), { key: 'THEIRS', value: 'theirs', type: 'GENERAL' }],
  };
  await app.updateApp({ app_id: fake.appId, spec: theirs });
  const second = await sync(digitalocean, config, fake, { ALPHA: 'a', BETA: 'b' }, { owned: first.owned });
  expect(short(second)).toEqual(['ALPHA unchanged', 'BETA created']);
  const after = (await app.getApp({ app_id: fake.appId })).data.app.spec;
  expect(after).toMatchObject({ ...theirs, envs: [...theirs.envs, { key: 'BETA', type: 'SECRET' }] });
  expect([fake.value('ALPHA'), fake.value('THEIRS'), fake.value('BETA')]).toEqual(['a', 'theirs', 'b']);
});
