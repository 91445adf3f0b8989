import { expect, it } from 'vitest';
import { buildkite } from '../../src/adapters/sync/buildkite';
import { CLUSTER, secret, startBuildkite } from './fakes/buildkite.ts';
import { fastClock, keepsTheContract, running, short, sync } from './sync';

const config = { token: 'buildkite-token', org: 'demo', clusterId: CLUSTER };

it('sync: buildkite keeps the contract of all platforms', async () => {
  const fake = await running(startBuildkite());
  const foreign = secret('FOREIGN');
  await keepsTheContract(buildkite, config, fake, {
    read: (name) => fake.secrets.find(({ key }) => key === name)?.value,
    foreign: () => void fake.secrets.push(foreign),
    hasForeign: () => fake.secrets.includes(foreign) && foreign.value === 'theirs',
    wrong: { token: 'another' },
  });
});

it('sync: buildkite refuses names and values before the first write', async () => {
  const fake = await running(startBuildkite());
  const result = await sync(buildkite, config, fake, {
    'app/db.pass': 'x',
    bk_token: 'x',
    BUILDKITE_X: 'x',
    BKX: 'x',
    _X: 'x',
    '/X': 'x',
    '1X': 'x',
    FITS: 'x'.repeat(8191),
    LARGE: 'x'.repeat(8192),
    EMPTY: '',
    BLANK: ' \n\t\u00a0',
  });
  expect(short(result)).toEqual([
    ...[
      '/X failed NAME_INVALID',
      '1X failed NAME_INVALID',
      'BKX failed NAME_INVALID',
      'BLANK failed VALUE_NOT_ALLOWED',
    ],
    ...[
      'BUILDKITE_X failed NAME_INVALID',
      'EMPTY failed VALUE_NOT_ALLOWED',
      'FITS created',
      'LARGE failed VALUE_TOO_LARGE',
    ],
    ...['_X failed NAME_INVALID', 'app/db.pass created', 'bk_token failed NAME_INVALID'],
  ]);
  expect(fake.secrets.map(({ key }) => key).sort()).toEqual(['FITS', 'app_db_pass']);
});

it('sync: buildkite keeps names of another case apart, and fails those that become one', async () => {
  const fake = await running(startBuildkite());
  const result = await sync(buildkite, config, fake, { 'a.b': '1', 'a/b': '2', a_B: '3' });
  expect(short(result)).toEqual(['a.b failed NAME_COLLISION', 'a/b failed NAME_COLLISION', 'a_B created']);
});

it('sync: buildkite keeps the description and the policy of a secret', async () => {
  const fake = await running(startBuildkite());
  fake.secrets.push(secret('ALPHA', { description: 'ours', policy: '- pipeline_slug: demo' }));
  expect(short(await sync(buildkite, config, fake, { ALPHA: 'new' }))).toEqual(['ALPHA updated']);
  expect(fake.secrets).toMatchObject([
    { value: 'new', description: 'ours', policy: '- pipeline_slug: demo' },
  ]);
});

it('sync: buildkite reads every page before it decides what exists', async () => {
  const fake = await running(startBuildkite());
  for (let i = 0; i < 10; i++) fake.secrets.push(secret(`OTHER_${i}`));
  expect(short(await sync(buildkite, config, fake, { OTHER_9: 'ours', NEW: 'ours' }))).toEqual([
    'NEW created',
    'OTHER_9 updated',
  ]);
});

it('sync: buildkite follows no next page on another host', async () => {
  const fake = await running(startBuildkite());
  const other = await running(startBuildkite());
  fake.interrupt = () => ({
    status: 200,
    headers: { Link: `<${other.url}/v2/x?page=2>; rel="next"` },
    body: [],
  });
  expect(short(await sync(buildkite, config, fake, { ALPHA: 'a' }))).toEqual([
    'ALPHA failed TARGET_REJECTED',
  ]);
  expect(other.requests).toEqual([]);
});

it('sync: buildkite updates names that appeared, and creates names that disappeared, after the listing', async () => {
  const fake = await running(startBuildkite());
  fake.secrets.push(secret('GOES'));
  fake.interrupt = ({ method }) => {
    if (method !== 'GET' && !fake.secrets.some(({ key }) => key === 'COMES'))
      fake.secrets.splice(0, 1, secret('COMES'));
    return null;
  };
  expect(short(await sync(buildkite, config, fake, { COMES: 'ours', GOES: 'ours' }))).toEqual([
    'COMES updated',
    'GOES created',
  ]);
  expect(fake.secrets.map(({ key, value }) => `${key} ${value}`).sort()).toEqual(['COMES ours', 'GOES ours']);
});

it.each(['POST', 'PUT', 'DELETE'])(
  'sync: buildkite repeats a %s whose answer was lost',
  async (lostMethod) => {
    const fake = await running(startBuildkite());
    fake.secrets.push(secret('THERE'));
    const first = await sync(buildkite, config, fake, { OLD: 'old' });
    let lost = 0;
    fake.interrupt = ({ method }) => (method === lostMethod && lost++ === 0 ? 'after' : null);
    const result = await sync(
      buildkite,
      config,
      fake,
      { NEW: 'ours', THERE: 'ours' },
      { owned: first.owned, gone: ['OLD'] },
    );
    expect(short(result)).toEqual(['NEW created', 'OLD deleted', 'THERE updated']);
    expect(fake.secrets.map(({ key, value }) => `${key} ${value}`)).toEqual(['THERE ours', 'NEW ours']);
  },
);

it('sync: buildkite fails names that are refused for another reason than that they exist', async () => {
  const fake = await running(startBuildkite());
  fake.interrupt = ({ method }) =>
    method === 'POST' ? { status: 422, body: { message: 'Validation failed: new-value' } } : null;
  const result = await sync(buildkite, config, fake, { ALPHA: 'new-value' });
  expect(result.results).toMatchObject([
    { code: 'TARGET_REJECTED', message: 'The target answered with status 422.' },
  ]);
});

it('sync: buildkite waits as many seconds as RateLimit-Reset says', async () => {
  const fake = await running(startBuildkite());
  const clock = fastClock();
  fake.interrupt = ({ method }, n) =>
    method === 'POST' && n === 2
      ? { status: 429, headers: { 'RateLimit-Reset': '12' }, body: { message: 'made up' } }
      : null;
  expect(short(await sync(buildkite, config, fake, { ALPHA: 'a' }, { clock }))).toEqual(['ALPHA created']);
  expect(clock.slept).toEqual([12_000]);
  fake.interrupt = () => ({
    status: 429,
    headers: { 'RateLimit-Reset': '47' },
    body: { message: 'made up' },
  });
  const result = await sync(buildkite, config, fake, { ALPHA: 'a' });
  expect([...short(result), result.retryAfter]).toEqual(['ALPHA failed TARGET_RATE_LIMITED', 47]);
});

it('sync: buildkite tells an unknown cluster, and another shape than documented', async () => {
  const fake = await running(startBuildkite());
  expect(short(await sync(buildkite, { ...config, clusterId: 'another' }, fake, { ALPHA: 'a' }))).toEqual([
    'ALPHA failed TARGET_NOT_FOUND',
  ]);
  for (const body of [{}, null, [{}], [{ key: 'A' }], [null]]) {
    fake.interrupt = ({ method }) => (method === 'GET' ? { status: 200, body } : null);
    expect(short(await sync(buildkite, config, fake, { ALPHA: 'a' }))).toEqual([
      'ALPHA failed TARGET_REJECTED',
    ]);
  }
  expect(fake.writes()).toEqual([]);
});

it('sync: the server in place of buildkite is strict', async () => {
  const fake = await running(startBuildkite());
  const send = async (method: string, path: string, body?: unknown, headers: Record<string, string> = {}) => {
    const all = { Authorization: 'Bearer buildkite-token', 'Content-Type': 'application/json', ...headers };
    const url = `${fake.url}/v2/organizations/demo/clusters/${CLUSTER}/secrets${path}`;
    return (
      await fetch(url, { method, headers: all, ...(body !== undefined && { body: JSON.stringify(body) }) })
    ).status;
  };
  expect(await send('GET', '', undefined, { Authorization: 'buildkite-token' })).toBe(401);
  expect(await send('POST', '', { key: 'A', value: ' ' })).toBe(422);
  expect(await send('POST', '', { key: 'A', value: 'x'.repeat(8192) })).toBe(422);
  expect(await send('POST', '', { key: 'bk', value: 'x' })).toBe(422);
  expect(await send('POST', '', { key: 'A', value: 'x', secret: true })).toBe(400);
  expect(await send('POST', '', { key: 'A', value: 'x' })).toBe(201);
  expect(await send('POST', '', { key: 'A', value: 'x' })).toBe(422);
  const id = fake.secrets[0]?.id;
  expect(await send('PUT', `/${id}`, { value: 'y' })).toBe(422);
  expect(await send('PUT', `/${id}/value`, { value: 'y', key: 'A' })).toBe(422);
  expect(await send('DELETE', '')).toBe(405);
  expect(fake.secrets).toMatchObject([{ key: 'A', value: 'x' }]);
});
