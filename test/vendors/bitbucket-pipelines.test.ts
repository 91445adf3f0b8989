import { expect, it } from 'vitest';
import { bitbucketPipelines } from '../../src/adapters/sync/bitbucket-pipelines';
import {
  ENVIRONMENT_ID,
  REPOSITORY,
  startBitbucketPipelines,
  variable,
} from './fakes/bitbucket-pipelines.ts';
import { keepsTheContract, running, short, sync } from './sync';

const config = { apiToken: 'bitbucket-token', workspace: 'demo', repo: 'app' };

it.each([
  ['a repository', {}, 'repository'],
  ['an environment', { environment: `{${ENVIRONMENT_ID}}` }, 'environment'],
  ['an environment without braces', { environment: ENVIRONMENT_ID }, 'environment'],
] as const)(
  'sync: bitbucket-pipelines keeps the contract of all platforms (%s)',
  async (_what, more, where) => {
    const fake = await running(startBitbucketPipelines());
    const foreign = variable('FOREIGN', false);
    await keepsTheContract(bitbucketPipelines, { ...config, ...more }, fake, {
      read: (name) => fake[where].find(({ key }) => key === name)?.value,
      foreign: () => void fake[where].push(foreign),
      hasForeign: () => fake[where].includes(foreign) && foreign.value === 'theirs',
      wrong: { apiToken: 'another' },
    });
    expect(fake[where].filter(({ key }) => key !== 'FOREIGN').every(({ secured }) => secured)).toBe(true);
    expect(fake[where === 'repository' ? 'environment' : 'repository']).toEqual([]);
  },
);

it('sync: bitbucket-pipelines sends an e-mail address and an API token as Basic, an access token alone as Bearer', async () => {
  const fake = await running(startBitbucketPipelines());
  fake.authorization = `Basic ${Buffer.from('ann@demo.invalid:bitbucket-token').toString('base64')}`;
  expect(
    short(await sync(bitbucketPipelines, { ...config, email: 'ann@demo.invalid' }, fake, { ALPHA: 'a' })),
  ).toEqual(['ALPHA created']);
  expect(short(await sync(bitbucketPipelines, config, fake, { ALPHA: 'a' }))).toEqual([
    'ALPHA failed TARGET_AUTH',
  ]);
  for (const email of ['', 'ann', 'a:b@demo.invalid', 'a b@demo.invalid', 'a@b\r\nX: y'])
    expect(bitbucketPipelines.config.safeParse({ ...config, email }).success, email).toBe(false);
});

it.each([true, false])(
  'sync: bitbucket-pipelines reads every page before it decides what exists (next: %s)',
  async (links) => {
    const fake = await running(startBitbucketPipelines());
    fake.links = links;
    for (let i = 0; i < 10; i++) fake.repository.push(variable(`OTHER_${i}`));
    expect(short(await sync(bitbucketPipelines, config, fake, { OTHER_9: 'ours', NEW: 'ours' }))).toEqual([
      'NEW created',
      'OTHER_9 updated',
    ]);
  },
);

it('sync: bitbucket-pipelines follows no next page on another host', async () => {
  const fake = await running(startBitbucketPipelines());
  const other = await running(startBitbucketPipelines());
  fake.interrupt = () => ({
    status: 200,
    body: { values: [], next: `${other.url}${REPOSITORY}/pipelines_config/variables/?page=2` },
  });
  expect(short(await sync(bitbucketPipelines, config, fake, { ALPHA: 'a' }))).toEqual([
    'ALPHA failed TARGET_REJECTED',
  ]);
  expect(other.requests).toEqual([]);
});

it('sync: bitbucket-pipelines secures a variable in plain view, even if the value is equal', async () => {
  const fake = await running(startBitbucketPipelines());
  fake.repository.push(variable('OPEN', false, 'same'), variable('OTHER', false));
  expect(short(await sync(bitbucketPipelines, config, fake, { OPEN: 'same' }))).toEqual(['OPEN updated']);
  expect(fake.repository).toMatchObject([
    { key: 'OTHER', secured: false, value: 'theirs' },
    { key: 'OPEN', secured: true, value: 'same' },
  ]);
  expect(fake.writes().map(({ method }) => method)).toEqual(['DELETE', 'POST']);
});

it.each(['DELETE', 'POST'])(
  'sync: bitbucket-pipelines secures a variable although the answer to its %s was lost',
  async (lostMethod) => {
    const fake = await running(startBitbucketPipelines());
    fake.repository.push(variable('OPEN', false));
    let lost = 0;
    fake.interrupt = ({ method }) => (method === lostMethod && lost++ === 0 ? 'after' : null);
    expect(short(await sync(bitbucketPipelines, config, fake, { OPEN: 'ours' }))).toEqual(['OPEN updated']);
    expect(fake.repository).toMatchObject([{ key: 'OPEN', secured: true, value: 'ours' }]);
  },
);

it('sync: bitbucket-pipelines updates names that appeared, and creates names that disappeared, after the listing', async () => {
  const fake = await running(startBitbucketPipelines());
  fake.repository.push(variable('GOES'), variable('A'), variable('B'), variable('C'));
  fake.interrupt = ({ method }) => {
    if (method !== 'GET' && !fake.repository.some(({ key }) => key === 'COMES'))
      fake.repository.splice(0, 1, variable('X'), variable('COMES'));
    return null;
  };
  expect(short(await sync(bitbucketPipelines, config, fake, { COMES: 'ours', GOES: 'ours' }))).toEqual([
    'COMES updated',
    'GOES created',
  ]);
  expect(
    fake.repository
      .filter(({ value }) => value === 'ours')
      .map(({ key }) => key)
      .sort(),
  ).toEqual(['COMES', 'GOES']);
});

it.each(['POST', 'PUT', 'DELETE'])(
  'sync: bitbucket-pipelines repeats a %s whose answer was lost',
  async (lostMethod) => {
    const fake = await running(startBitbucketPipelines());
    fake.repository.push(variable('THERE'));
    const first = await sync(bitbucketPipelines, config, fake, { OLD: 'old' });
    let lost = 0;
    fake.interrupt = ({ method }) => (method === lostMethod && lost++ === 0 ? 'after' : null);
    const result = await sync(
      bitbucketPipelines,
      config,
      fake,
      { NEW: 'ours', THERE: 'ours' },
      { owned: first.owned, gone: ['OLD'] },
    );
    expect(short(result)).toEqual(['NEW created', 'OLD deleted', 'THERE updated']);
    expect(fake.repository.map(({ key, value }) => `${key} ${value}`)).toEqual(['THERE ours', 'NEW ours']);
  },
);

it('sync: bitbucket-pipelines tells an unknown repository, and another shape than documented', async () => {
  const fake = await running(startBitbucketPipelines());
  const wrong = { ...config, repo: 'another' };
  expect(short(await sync(bitbucketPipelines, wrong, fake, { ALPHA: 'a' }))).toEqual([
    'ALPHA failed TARGET_NOT_FOUND',
  ]);
  for (const body of [[], {}, { values: {} }, { values: [{ key: 'A' }] }, { values: [], size: 3 }]) {
    fake.interrupt = ({ method }) => (method === 'GET' ? { status: 200, body } : null);
    expect(short(await sync(bitbucketPipelines, config, fake, { ALPHA: 'a' }))).toEqual([
      'ALPHA failed TARGET_REJECTED',
    ]);
  }
  expect(fake.writes()).toEqual([]);
});

it('sync: the server in place of bitbucket-pipelines is strict', async () => {
  const fake = await running(startBitbucketPipelines());
  const send = async (method: string, path: string, body?: unknown, headers: Record<string, string> = {}) => {
    const all = { Authorization: 'Bearer bitbucket-token', 'Content-Type': 'application/json', ...headers };
    return (
      await fetch(`${fake.url}${REPOSITORY}${path}`, {
        method,
        headers: all,
        ...(body !== undefined && { body: JSON.stringify(body) }),
      })
    ).status;
  };
  const given = { key: 'A', value: 'x', secured: true };
  expect(await send('GET', '/pipelines_config/other/')).toBe(404);
  expect(await send('GET', '/pipelines_config/variables/?pagelen=101')).toBe(400);
  expect(
    await send('GET', '/pipelines_config/variables/', undefined, { Authorization: 'Bearer other' }),
  ).toBe(401);
  expect(await send('POST', '/pipelines_config/variables/', { key: 'A', value: 'x' })).toBe(400);
  expect(await send('POST', '/pipelines_config/variables/', given, { 'Content-Type': 'text/plain' })).toBe(
    400,
  );
  expect(await send('POST', '/pipelines_config/variables/', given)).toBe(201);
  expect(await send('POST', '/pipelines_config/variables/', given)).toBe(409);
  const uuid = encodeURIComponent(fake.repository[0]?.uuid as string);
  expect(await send('PUT', `/pipelines_config/variables/${uuid}`, { ...given, secured: false })).toBe(400);
  expect(await send('PUT', `/pipelines_config/variables/${uuid}`, { ...given, value: 'y' })).toBe(200);
  expect(await send('DELETE', '/pipelines_config/variables/%7Bnobody%7D')).toBe(404);
});
