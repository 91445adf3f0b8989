import { expect, it } from 'vitest';
import { heroku } from '../../src/adapters/sync/heroku';
import { failsCleanly } from './failures';
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
  expect(short(result)).toEqual([
    '1Z failed NAME_INVALID',
    'GOOD created',
    'HEROKU_X failed NAME_INVALID',
    '__Y failed NAME_INVALID',
  ]);
});

it('sync: heroku fails cleanly', async () => {
  const fake = await running(startHeroku());
  await failsCleanly(heroku, config, fake, {
    missing: { appName: 'another' },
    listings: [[], 5],
    read: (name) => fake.vars[name],
  });
});

it('vendor: the heroku server refuses what the vendor would', async () => {
  const fake = await running(startHeroku());
  const send = async (method: string, body?: unknown, headers: Record<string, string> = {}) => {
    const accept = 'application/vnd.heroku+json; version=3';
    const all = {
      Accept: accept,
      Authorization: 'Bearer heroku-token',
      'Content-Type': 'application/json',
      ...headers,
    };
    const url = `${fake.url}/apps/demo-app/config-vars`;
    return (
      await fetch(url, { method, headers: all, ...(body !== undefined && { body: JSON.stringify(body) }) })
    ).status;
  };
  expect(await send('GET', undefined, { Accept: 'application/json' })).toBe(404);
  expect(await send('GET', undefined, { Authorization: 'heroku-token' })).toBe(401);
  expect(await send('PUT', { A: 'a' })).toBe(404);
  expect(await send('PATCH', { A: 'a' }, { 'Content-Type': 'text/plain' })).toBe(400);
  expect(await send('PATCH', { HEROKU_A: 'a' })).toBe(422);
  expect(await send('PATCH', { A: 1 })).toBe(422);
  expect(await send('PATCH', { A: 'x'.repeat(65_536) })).toBe(422);
  expect(fake.releases).toBe(0);
});
