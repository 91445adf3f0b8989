import { expect, it } from 'vitest';
import { circleci } from '../../src/adapters/sync/circleci';
import { failsCleanly } from './failures';
import { startCircleci } from './fakes/circleci.ts';
import { keepsTheContract, running, short, sync } from './sync';

const config = { token: 'circleci-token', projectSlug: 'gh/demo/app' };

it('sync: circleci keeps the contract of all platforms', async () => {
  const fake = await running(startCircleci());
  await keepsTheContract(circleci, config, fake, {
    read: (name) => fake.vars[name] ?? null,
    foreign: () => Object.assign(fake.vars, { FOREIGN: 'theirs' }),
    hasForeign: () => fake.vars.FOREIGN === 'theirs',
    wrong: { token: 'another' },
  });
});

it('sync: circleci reads every page before it decides what exists', async () => {
  const fake = await running(startCircleci());
  for (let i = 0; i < 10; i++) fake.vars[`OTHER_${i}`] = 'theirs';
  const result = await sync(circleci, config, fake, { OTHER_9: 'ours', NEW: 'ours' });
  expect(short(result)).toEqual(['NEW created', 'OTHER_9 updated']);
});

it('sync: circleci takes no empty value', async () => {
  const fake = await running(startCircleci());
  expect(short(await sync(circleci, config, fake, { EMPTY: '' }))).toEqual([
    'EMPTY failed VALUE_NOT_ALLOWED',
  ]);
});

it('sync: circleci fails cleanly', async () => {
  const fake = await running(startCircleci());
  await failsCleanly(circleci, config, fake, {
    missing: { projectSlug: 'gh/demo/another' },
    listings: [{}, [], { items: {} }, { items: [null] }, { items: [{ value: 'x' }] }],
    read: (name) => fake.vars[name],
  });
});

it('vendor: the circleci server refuses what the vendor would', async () => {
  const fake = await running(startCircleci());
  const send = async (method: string, path: string, body?: unknown, headers: Record<string, string> = {}) => {
    const all = { 'Circle-Token': 'circleci-token', 'Content-Type': 'application/json', ...headers };
    const url = `${fake.url}/api/v2/project/gh/demo/app/envvar${path}`;
    return (
      await fetch(url, { method, headers: all, ...(body !== undefined && { body: JSON.stringify(body) }) })
    ).status;
  };
  expect(await send('GET', '', undefined, { 'Circle-Token': 'another' })).toBe(401);
  expect(await send('POST', '', { name: 'A', value: '' })).toBe(400);
  expect(await send('POST', '', { name: 'A-B', value: 'a' })).toBe(400);
  expect(await send('POST', '', { name: 'A', value: 'a', extra: 1 })).toBe(400);
  expect(await send('POST', '', { name: 'A', value: 'a' }, { 'Content-Type': 'text/plain' })).toBe(400);
  expect(await send('PUT', '/A', { value: 'a' })).toBe(404);
  expect(await send('DELETE', '/A')).toBe(404);
  expect(fake.vars).toEqual({});
});
