import { expect, it } from 'vitest';
import { heroku } from '../../../src/adapters/sync/heroku';
import { startHeroku } from '../fakes/heroku.ts';
import { running, short, sync } from '../sync';
import { sdk } from './sdk';

const client = await sdk('heroku-client');

it.skipIf(!client)('sync: heroku and the heroku-client package see the same config vars', async () => {
  const fake = await running(startHeroku());
  const api = new client.default({ host: fake.url, headers: { Authorization: `Bearer ${fake.token}` } });
  const config = { token: fake.token, appName: fake.app };
  const secrets = { ALPHA: 'välue "a"\n$b', BETA: 'b' };
  const first = await sync(heroku, config, fake, secrets);
  expect(await api.get('/apps/demo-app/config-vars')).toEqual(secrets);
  await api.patch('/apps/demo-app/config-vars', {
    body: { ALPHA: 'changed there', BETA: null, THEIRS: 'theirs' },
  });
  const second = await sync(heroku, config, fake, secrets, { owned: first.owned });
  expect(short(second)).toEqual(['ALPHA updated', 'BETA created']);
  expect(await api.get('/apps/demo-app/config-vars')).toEqual({ ...secrets, THEIRS: 'theirs' });
});
