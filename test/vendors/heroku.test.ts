import { expect, it } from 'vitest';
import { heroku } from '../../src/adapters/sync/heroku';
import { startHeroku } from './fakes/heroku.ts';
import { keepsTheContract, running, short, sync } from './sync';

const config = { token: 'heroku-token', appName: 'demo-app' };

it('sync: heroku keeps the contract of all platforms', async () => {
  const fake = await running(startHeroku());
  await keepsTheContract(heroku, config, fake, {
    read: (name) => fake.vars[name] ?? null,
    foreign: () => Object.assign(fake.vars, { DATABASE_URL: 'postgres://made-up' }),
    hasForeign: () => fake.vars.DATABASE_URL === 'postgres://made-up',
    wrong: { token: 'another' },
  });
});

it('sync: heroku gets one release for all names, and none for no change', async () => {
  const fake = await running(startHeroku());
  const secrets = Object.fromEntries(Array.from({ length: 50 }, (_, i) => [`NAME_${i}`, `value ${i}`]));
  const first = await sync(heroku, config, fake, secrets);
  expect(fake.releases).toBe(1);
  await sync(heroku, config, fake, secrets, first);
  expect(fake.releases).toBe(1);
  await sync(heroku, config, fake, { NAME_0: 'another' }, { owned: first.owned, gone: ['NAME_1'] });
  expect(fake.releases).toBe(2);
  expect(fake.vars).not.toHaveProperty('NAME_1');
});

it('sync: heroku refuses reserved names before the first write', async () => {
  const fake = await running(startHeroku());
  const result = await sync(heroku, config, fake, { HEROKU_X: 'x', __Y: 'y', '1Z': 'z', GOOD: 'g' });
  expect(short(result)).toEqual(['1Z failed NAME_INVALID', 'GOOD created', 'HEROKU_X failed NAME_INVALID', '__Y failed NAME_INVALID']);
});
