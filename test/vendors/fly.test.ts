import { expect, it } from 'vitest';
import { fly } from '../../src/adapters/sync/fly';
import { failsCleanly } from './failures';
import { startFly } from './fakes/fly.ts';
import { fastClock, keepsTheContract, running, short, sync } from './sync';

const config = { token: 'fly-token', appName: 'demo-app' };

it('sync: fly keeps the contract of all platforms', async () => {
  const fake = await running(startFly());
  await keepsTheContract(fly, config, fake, {
    read: (name) => fake.secrets[name] ?? null,
    foreign: () => Object.assign(fake.secrets, { FOREIGN: 'theirs' }),
    hasForeign: () => fake.secrets.FOREIGN === 'theirs',
    wrong: { token: 'another' },
  });
});

it('sync: fly gets one call for all names and deletions', async () => {
  const fake = await running(startFly());
  const first = await sync(fly, config, fake, { ONE: '1', TWO: '2' });
  const second = await sync(
    fly,
    config,
    fake,
    { ONE: 'changed', THREE: '3' },
    { owned: first.owned, gone: ['TWO'] },
  );
  expect(short(second)).toEqual(['ONE updated', 'THREE created', 'TWO deleted']);
  expect(fake.version).toBe(2);
  expect(fake.secrets).toEqual({ ONE: 'changed', THREE: '3' });
});

it('sync: fly takes a token with the scheme that the vendor prints before it', async () => {
  const fake = await running(startFly());
  fake.token = 'FlyV1 fm2_made_up,fm2_more';
  expect(short(await sync(fly, { ...config, token: fake.token }, fake, { A: 'a' }))).toEqual(['A created']);
  for (const token of ['', 'Bearer x', 'FlyV1  x', 'a\nb', 'FlyV1 '])
    expect(fly.config.safeParse({ ...config, token }).success).toBe(false);
});

it('sync: fly compares no digest with a value', async () => {
  const fake = await running(startFly());
  fake.secrets.A = 'theirs';
  const digest = 'made-up-digest';
  expect(short(await sync(fly, config, fake, { A: digest }))).toEqual(['A updated']);
});

it('sync: fly waits when it is called too often, and says so when it is told to wait too long', async () => {
  const fake = await running(startFly());
  fake.interrupt = (_, n) => (n <= 2 ? { status: 429, body: { error: 'made up' } } : null);
  const clock = fastClock();
  expect(short(await sync(fly, config, fake, { A: 'a' }, { clock }))).toEqual(['A created']);
  expect(clock.slept).toEqual([500, 1000]);
  fake.interrupt = ({ method }) =>
    method === 'POST' ? { status: 429, headers: { 'Retry-After': '90' }, body: {} } : null;
  const limited = await sync(fly, config, fake, { B: 'b' });
  expect(short(limited)).toEqual(['B failed TARGET_RATE_LIMITED']);
  expect(limited.retryAfter).toBe(90);
});

it('sync: fly fails cleanly', async () => {
  const fake = await running(startFly());
  await failsCleanly(fly, config, fake, {
    missing: { appName: 'another' },
    listings: [{}, [], { secrets: {} }, { secrets: [null] }, { secrets: [{ name: 1 }] }],
    read: (name) => fake.secrets[name],
  });
});

it('vendor: the fly server refuses what the vendor would', async () => {
  const fake = await running(startFly());
  const send = async (method: string, path: string, body?: unknown, headers: Record<string, string> = {}) => {
    const all = { Authorization: 'Bearer fly-token', 'Content-Type': 'application/json', ...headers };
    return (
      await fetch(fake.url + path, {
        method,
        headers: all,
        ...(body !== undefined && { body: JSON.stringify(body) }),
      })
    ).status;
  };
  const path = '/v1/apps/demo-app/secrets';
  expect(await send('GET', path, undefined, { Authorization: 'fly-token' })).toBe(401);
  expect(await send('GET', '/v1/apps/another/secrets')).toBe(404);
  expect(await send('POST', path, { values: { A: 'a' } }, { 'Content-Type': 'text/plain' })).toBe(400);
  expect(await send('POST', path, { A: 'a' })).toBe(400);
  expect(await send('POST', path, { values: { 'A-B': 'a' } })).toBe(422);
  expect(await send('POST', path, { values: { A: 1 } })).toBe(422);
  expect(await send('PUT', path, { values: { A: 'a' } })).toBe(405);
  expect(fake.version).toBe(0);
});
