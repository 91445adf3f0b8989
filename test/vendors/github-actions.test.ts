import { expect, it } from 'vitest';
import { githubActions } from '../../src/adapters/sync/github-actions';
import {
  ENVIRONMENT,
  type GithubScope,
  ORGANISATION,
  REPOSITORY,
  startGithubActions,
} from './fakes/github-actions.ts';
import { fastClock, keepsTheContract, running, short, sync } from './sync';

const token = 'github-token';
const repository = { token, owner: 'demo', repo: 'app' };
const scopes = [
  ['a repository', repository, REPOSITORY],
  ['an environment', { ...repository, environment: 'blue/green one' }, ENVIRONMENT],
  ['an organisation', { token, org: 'demo' }, ORGANISATION],
] as const;

const started = async () => {
  const fake = await running(startGithubActions());
  const secrets = (prefix: string) => (fake.scopes.get(prefix) as GithubScope).secrets;
  return { fake, secrets };
};

it.each(scopes)(
  'sync: github-actions keeps the contract of all platforms (%s)',
  async (_what, config, prefix) => {
    const { fake, secrets } = await started();
    const foreign = { value: 'theirs', ...(prefix === ORGANISATION && { visibility: 'all' }) };
    await keepsTheContract(githubActions, config, fake, {
      read: (name) => fake.value(prefix, name),
      foreign: () => void secrets(prefix).set('FOREIGN', foreign),
      hasForeign: () => secrets(prefix).get('FOREIGN') === foreign,
      wrong: { token: 'another' },
    });
    // Each scope has its own key: nothing was sealed for another.
    for (const [, , other] of scopes) if (other !== prefix) expect(secrets(other).size).toBe(0);
  },
);

it('sync: github-actions upper-cases names, and names that become one fail', async () => {
  const { fake } = await started();
  const result = await sync(githubActions, repository, fake, {
    'api.key': 'a',
    API_KEY: 'b',
    'db/pass': 'c',
    github_x: 'd',
    '1X': 'e',
  });
  expect(short(result)).toEqual([
    ...['1X failed NAME_INVALID', 'API_KEY failed NAME_COLLISION', 'api.key failed NAME_COLLISION'],
    ...['db/pass created', 'github_x failed NAME_INVALID'],
  ]);
  expect(fake.value(REPOSITORY, 'DB_PASS')).toBe('c');
});

it('sync: github-actions reads every page before it decides what exists', async () => {
  const { fake, secrets } = await started();
  for (let i = 0; i < 10; i++) secrets(REPOSITORY).set(`OTHER_${i}`, { value: 'theirs' });
  const result = await sync(githubActions, repository, fake, { OTHER_9: 'ours', NEW: 'ours' });
  expect(short(result)).toEqual(['NEW created', 'OTHER_9 updated']);
});

it('sync: github-actions seals each value again, up to 48 KB, and sends no plain text', async () => {
  const { fake } = await started();
  const value = 'x'.repeat(49_152);
  const result = await sync(githubActions, repository, fake, {
    FITS: value,
    LARGE: `${value}x`,
    ONE: 'same value',
    TWO: 'same value',
    NONE: '',
  });
  expect(short(result)).toEqual([
    'FITS created',
    'LARGE failed VALUE_TOO_LARGE',
    'NONE created',
    'ONE created',
    'TWO created',
  ]);
  expect(fake.value(REPOSITORY, 'FITS')).toBe(value);
  const sent = fake.writes().map(({ json }) => json.encrypted_value.slice(0, 43));
  expect(new Set(sent).size).toBe(sent.length);
  expect(fake.requests.some(({ text }) => text.includes('same value'))).toBe(false);
});

it('sync: github-actions fetches the public key once a sync, none for no change, and again after a 422', async () => {
  const { fake } = await started();
  const keys = () => fake.requests.filter(({ path }) => path.endsWith('/public-key')).length;
  const secrets = Object.fromEntries(Array.from({ length: 20 }, (_, i) => [`NAME_${i}`, `value ${i}`]));
  const first = await sync(githubActions, repository, fake, secrets);
  expect(keys()).toBe(1);
  await sync(githubActions, repository, fake, secrets, first);
  expect(keys()).toBe(1);
  let puts = 0;
  fake.interrupt = ({ method }) => {
    if (method === 'PUT' && ++puts === 8) fake.rotate(REPOSITORY);
    return null;
  };
  const changed = Object.fromEntries(Object.keys(secrets).map((name) => [name, `${name} changed`]));
  const second = await sync(githubActions, repository, fake, changed, first);
  expect(second.results.every(({ action }) => action === 'updated')).toBe(true);
  expect(keys()).toBe(3);
});

it('sync: github-actions fails a name that is refused with two keys', async () => {
  const { fake } = await started();
  fake.interrupt = ({ method, path }) =>
    method === 'PUT' && path.endsWith('/BAD') ? { status: 422, body: { message: 'made up' } } : null;
  const result = await sync(githubActions, repository, fake, { BAD: 'b', GOOD: 'g' });
  expect(short(result)).toEqual(['BAD failed TARGET_REJECTED', 'GOOD created']);
});

it.each([
  ['is too short', { key_id: '1', key: 'AAAA' }],
  ['has no id', { key: Buffer.alloc(32, 1).toString('base64') }],
])('sync: github-actions takes no public key that %s', async (_what, body) => {
  const { fake } = await started();
  fake.interrupt = ({ path }) => (path.endsWith('/public-key') ? { status: 200, body } : null);
  expect(short(await sync(githubActions, repository, fake, { ALPHA: 'a' }))).toEqual([
    'ALPHA failed TARGET_REJECTED',
  ]);
  expect(fake.writes()).toEqual([]);
});

it('sync: github-actions gives new secrets of an organisation the visibility of the config; others keep theirs', async () => {
  const { fake, secrets } = await started();
  const all = secrets(ORGANISATION);
  all.set('OPEN', { value: 'theirs', visibility: 'all' });
  all.set('FEW', { value: 'theirs', visibility: 'selected', repositories: [1, 2, 3, 4, 5, 6, 7] });
  all.set('NOBODY', { value: 'theirs', visibility: 'selected', repositories: [] });
  const org = { token, org: 'demo' };
  await sync(githubActions, org, fake, { OPEN: 'a', FEW: 'b', NOBODY: 'c', NEW: 'd' });
  const kept = Object.fromEntries(
    [...all].map(([name, { visibility, repositories }]) => [name, [visibility, repositories]]),
  );
  expect(kept).toEqual({
    OPEN: ['all', undefined],
    FEW: ['selected', [1, 2, 3, 4, 5, 6, 7]],
    NOBODY: ['selected', []],
    NEW: ['private', undefined],
  });
  await sync(githubActions, { ...org, visibility: 'selected', selectedRepositoryIds: [8] }, fake, {
    NEWER: 'e',
    OPEN: 'f',
  });
  expect(all.get('NEWER')).toEqual({ value: 'e', visibility: 'selected', repositories: [8] });
  expect(all.get('OPEN')).toEqual({ value: 'f', visibility: 'all' });
});

it('sync: github-actions does not write a secret whose repositories it cannot read', async () => {
  const { fake, secrets } = await started();
  secrets(ORGANISATION).set('FEW', { value: 'theirs', visibility: 'selected', repositories: [1] });
  fake.interrupt = ({ path }) =>
    path.endsWith('/repositories') ? { status: 403, body: { message: 'made up' } } : null;
  const result = await sync(githubActions, { token, org: 'demo' }, fake, { FEW: 'ours', NEW: 'ours' });
  expect(short(result)).toEqual(['FEW failed TARGET_AUTH', 'NEW created']);
  expect(fake.value(ORGANISATION, 'FEW')).toBe('theirs');
});

const reset = (clock: { now(): number }, seconds: number) => String(Math.floor(clock.now() / 1000) + seconds);

it.each([
  [
    '403, x-ratelimit-remaining: 0',
    403,
    (clock) => ({ 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': reset(clock, 20) }),
  ],
  [
    '429, x-ratelimit-remaining: 0',
    429,
    (clock) => ({ 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': reset(clock, 20) }),
  ],
  ['403, retry-after', 403, () => ({ 'retry-after': '20' })],
] as [string, number, (clock: { now(): number }) => Record<string, string>][])(
  'sync: github-actions waits as requested by %s',
  async (_what, status, headers) => {
    const { fake } = await started();
    const clock = fastClock();
    let refused = 0;
    fake.interrupt = ({ method }) =>
      method === 'PUT' && refused++ === 0
        ? { status, headers: headers(clock), body: { message: 'made up' } }
        : null;
    expect(short(await sync(githubActions, repository, fake, { ALPHA: 'a' }, { clock }))).toEqual([
      'ALPHA created',
    ]);
    expect(clock.slept.reduce((a, b) => a + b)).toBeGreaterThan(18_000);
  },
);

it('sync: github-actions tells a secondary rate limit without headers from a missing permission', async () => {
  const { fake } = await started();
  const answer = (message: string) =>
    (fake.interrupt = ({ method }) => (method === 'PUT' ? { status: 403, body: { message } } : null));
  answer('You have exceeded a secondary rate limit. Please wait a few minutes before you try again.');
  expect(short(await sync(githubActions, repository, fake, { ALPHA: 'a' }))).toEqual([
    'ALPHA failed TARGET_RATE_LIMITED',
  ]);
  answer('Resource not accessible by personal access token');
  expect(short(await sync(githubActions, repository, fake, { ALPHA: 'a', BETA: 'b' }))).toEqual([
    ...['ALPHA failed TARGET_AUTH', 'BETA failed TARGET_AUTH'],
  ]);
});

it('sync: github-actions repeats a PUT whose answer was lost', async () => {
  const { fake } = await started();
  let lost = 0;
  fake.interrupt = ({ method }) => (method === 'PUT' && lost++ === 0 ? 'after' : null);
  expect(short(await sync(githubActions, repository, fake, { ALPHA: 'a' }))).toEqual(['ALPHA created']);
  expect(fake.writes().map(({ text }) => text)[0]).toBe(fake.writes()[1]?.text);
  expect(short(await sync(githubActions, repository, fake, { ALPHA: 'b' }, { begun: ['ALPHA'] }))).toEqual([
    'ALPHA updated',
  ]);
});

it('sync: github-actions tells an environment that does not exist, and another shape than documented', async () => {
  const { fake } = await started();
  const wrong = { ...repository, environment: 'staging' };
  expect(short(await sync(githubActions, wrong, fake, { ALPHA: 'a' }))).toEqual([
    'ALPHA failed TARGET_NOT_FOUND',
  ]);
  for (const body of [
    [],
    { total_count: 0 },
    { secrets: [] },
    { total_count: 5, secrets: [] },
    { total_count: 1, secrets: [{}] },
  ]) {
    fake.interrupt = ({ method }) => (method === 'GET' ? { status: 200, body } : null);
    expect(short(await sync(githubActions, repository, fake, { ALPHA: 'a' }))).toEqual([
      'ALPHA failed TARGET_REJECTED',
    ]);
  }
  expect(fake.writes()).toEqual([]);
});

it.each([
  ['owner without repo', { token, owner: 'demo' }],
  ['neither a repository nor an organisation', { token }],
  ['a repository and an organisation', { ...repository, org: 'demo' }],
  ['an environment of an organisation', { token, org: 'demo', environment: 'production' }],
  ['visibility of a repository', { ...repository, visibility: 'all' }],
  ['selected without repositories', { token, org: 'demo', visibility: 'selected' }],
  ['repositories without selected', { token, org: 'demo', visibility: 'all', selectedRepositoryIds: [1] }],
  ['an owner with a slash', { ...repository, owner: 'a/b' }],
  ['a repository that leads elsewhere', { ...repository, repo: '..' }],
  ['an environment that leads elsewhere', { ...repository, environment: '..' }],
])('sync: github-actions takes no config with %s', (_what, config) => {
  expect(githubActions.config.safeParse(config).success).toBe(false);
});

it('sync: the server in place of github-actions is strict', async () => {
  const { fake } = await started();
  const good = {
    Authorization: `Bearer ${token}`,
    Accept: 'application/vnd.github+json',
    'X-GitHub-Api-Version': '2022-11-28',
  };
  const send = async (path: string, headers: Record<string, string>, method = 'GET', body?: unknown) => {
    const json = { 'Content-Type': 'application/json', ...headers };
    return (
      await fetch(`${fake.url}${path}`, {
        method,
        headers: json,
        ...(body !== undefined && { body: JSON.stringify(body) }),
      })
    ).status;
  };
  expect(await send(`${REPOSITORY}/secrets`, good)).toBe(200);
  expect(await send(`${REPOSITORY}/secrets`, { ...good, Authorization: `Bearer x${token}` })).toBe(401);
  expect(await send(`${REPOSITORY}/secrets`, { ...good, Accept: '*/*' })).toBe(400);
  expect(await send('/repos/demo/other/actions/secrets', good)).toBe(404);
  const { keyId } = fake.scopes.get(REPOSITORY) as GithubScope;
  expect(await send(`${REPOSITORY}/secrets/A`, good, 'PUT', { encrypted_value: 'AAAA', key_id: keyId })).toBe(
    422,
  );
  expect(
    await send(`${REPOSITORY}/secrets/A`, good, 'PUT', { encrypted_value: 'plain text', key_id: keyId }),
  ).toBe(422);
  expect(
    await send(`${REPOSITORY}/secrets/GITHUB_A`, good, 'PUT', { encrypted_value: '', key_id: keyId }),
  ).toBe(422);
  expect(await send(`${ORGANISATION}/secrets/NOBODY/repositories`, good)).toBe(404);
  expect(await send(`${REPOSITORY}/secrets/NOBODY`, good, 'DELETE')).toBe(404);
  for (const { secrets } of fake.scopes.values()) expect(secrets.size).toBe(0);
});
