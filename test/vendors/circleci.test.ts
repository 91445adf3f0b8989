import { expect, it } from 'vitest';
import { circleci } from '../../src/adapters/sync/circleci';
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
  expect(short(await sync(circleci, config, fake, { EMPTY: '' }))).toEqual(['EMPTY failed VALUE_NOT_ALLOWED']);
});
