import { expect, it } from 'vitest';
import { gitlabCi } from '../../src/adapters/sync/gitlab-ci';
import { type GitlabVariable, GROUP, PROJECT, startGitlabCi, variable } from './fakes/gitlab-ci.ts';
import { keepsTheContract, running, short, sync } from './sync';

const token = 'glpat-made-up';
const config = { token, projectId: 'demo/app' };

const started = async () => {
  const fake = await running(startGitlabCi());
  return { fake, rows: fake.owners.get(PROJECT) as GitlabVariable[] };
};

it.each([
  ['a project', config, PROJECT, '*'],
  ['a group', { token, groupId: 42 }, GROUP, '*'],
  ['an environment scope', { ...config, scope: 'review/*' }, PROJECT, 'review/*'],
] as const)(
  'sync: gitlab-ci keeps the contract of all platforms (%s)',
  async (_what, given, owner, scope) => {
    const { fake } = await started();
    const foreign = variable({ key: 'FOREIGN', environment_scope: scope });
    await keepsTheContract(gitlabCi, given, fake, {
      read: (name) => fake.row(owner, name, scope)?.value,
      foreign: () => void fake.owners.get(owner)?.push(foreign),
      hasForeign: () => fake.row(owner, 'FOREIGN', scope) === foreign && foreign.value === 'theirs',
      wrong: { token: 'another' },
    });
  },
);

it('sync: gitlab-ci reads, changes and deletes only rows of its own scope', async () => {
  const { fake, rows } = await started();
  const others = ['*', 'staging', 'production/eu'].map((environment_scope) =>
    variable({ key: 'DB_PASS', environment_scope }),
  );
  rows.push(...others);
  const scoped = { ...config, scope: 'production' };
  const first = await sync(gitlabCi, scoped, fake, { DB_PASS: 'one-value', OLD: 'old-value' });
  expect(short(first)).toEqual(['DB_PASS created', 'OLD created']);
  const second = await sync(
    gitlabCi,
    scoped,
    fake,
    { DB_PASS: 'two-value' },
    { owned: first.owned, gone: ['OLD'] },
  );
  expect(short(second)).toEqual(['DB_PASS updated', 'OLD deleted']);
  expect(rows).toEqual([
    ...others,
    expect.objectContaining({ key: 'DB_PASS', value: 'two-value', environment_scope: 'production' }),
  ]);
  expect(others.every(({ value }) => value === 'theirs')).toBe(true);
});

it('sync: gitlab-ci masks if it can, and says if it cannot', async () => {
  const { fake } = await started();
  const secrets = {
    PLAIN: 'long-enough',
    DOLLAR: 'with$dollar',
    UMLAUT: 'pässwörter',
    QUOTED: '"\'{}[]!#',
    SHORT: 'seven77',
    SPACED: 'with a space',
    LINES: 'line one\nline two',
    TAB: 'with\ta-tab',
    EMPTY: '',
  };
  const result = await sync(gitlabCi, config, fake, secrets);
  expect(result.results.every(({ action }) => action === 'created')).toBe(true);
  const unmasked = ['EMPTY', 'LINES', 'SHORT', 'SPACED', 'TAB'];
  expect(
    result.results.filter(({ message }) => message?.startsWith('GitLab cannot mask')).map(({ name }) => name),
  ).toEqual(unmasked);
  for (const [key, value] of Object.entries(secrets))
    expect(fake.row(PROJECT, key)).toMatchObject({
      value,
      raw: true,
      masked: !unmasked.includes(key),
      variable_type: 'env_var',
    });
});

it('sync: gitlab-ci writes equal values that are expanded, a file or unmasked', async () => {
  const { fake, rows } = await started();
  const good = { value: 'same-value', raw: true, masked: true };
  rows.push(variable({ key: 'GOOD', ...good }), variable({ key: 'EXPANDED', ...good, raw: false }));
  rows.push(
    variable({ key: 'FILE', ...good, variable_type: 'file' }),
    variable({ key: 'UNMASKED', ...good, masked: false }),
  );
  rows.push(variable({ key: 'SHORT', value: 'short', raw: true }));
  const secrets = {
    GOOD: 'same-value',
    EXPANDED: 'same-value',
    FILE: 'same-value',
    UNMASKED: 'same-value',
    SHORT: 'short',
  };
  const result = await sync(gitlabCi, config, fake, secrets);
  expect(short(result)).toEqual([
    'EXPANDED updated',
    'FILE updated',
    'GOOD unchanged',
    'SHORT unchanged',
    'UNMASKED updated',
  ]);
  expect(
    rows
      .filter(({ key }) => key !== 'SHORT')
      .every(({ raw, masked, variable_type }) => raw && masked && variable_type === 'env_var'),
  ).toBe(true);
});

it('sync: gitlab-ci protects new variables if configured, and never removes protection', async () => {
  const { fake, rows } = await started();
  rows.push(variable({ key: 'GUARDED', protected: true }), variable({ key: 'OPEN' }));
  await sync(gitlabCi, config, fake, { GUARDED: 'new-value', OPEN: 'new-value', NEW: 'new-value' });
  expect(Object.fromEntries(rows.map((row) => [row.key, row.protected]))).toEqual({
    GUARDED: true,
    OPEN: false,
    NEW: false,
  });
  await sync(gitlabCi, { ...config, protected: true }, fake, { OPEN: 'newer-value', NEWER: 'new-value' });
  expect(Object.fromEntries(rows.map((row) => [row.key, row.protected]))).toEqual({
    GUARDED: true,
    OPEN: true,
    NEW: false,
    NEWER: true,
  });
});

it('sync: gitlab-ci keeps hidden variables hidden, and refuses values that cannot be masked for them', async () => {
  const { fake, rows } = await started();
  rows.push(
    variable({ key: 'HIDDEN', masked: true, hidden: true, raw: true }),
    variable({ key: 'LINES', masked: true, hidden: true, raw: true }),
  );
  const first = await sync(gitlabCi, config, fake, { HIDDEN: 'new-value', LINES: 'a b' });
  expect(short(first)).toEqual(['HIDDEN updated', 'LINES failed VALUE_NOT_ALLOWED']);
  expect(rows).toMatchObject([
    { value: 'new-value', hidden: true, masked: true },
    { value: 'theirs', hidden: true },
  ]);
  expect(short(await sync(gitlabCi, config, fake, { HIDDEN: 'new-value' }, first))).toEqual([
    'HIDDEN unchanged',
  ]);
});

it('sync: gitlab-ci reads every page before it decides what exists', async () => {
  const { fake, rows } = await started();
  for (let i = 0; i < 10; i++) rows.push(variable({ key: `OTHER_${i}` }));
  expect(short(await sync(gitlabCi, config, fake, { OTHER_9: 'our-value', NEW: 'our-value' }))).toEqual([
    'NEW created',
    'OTHER_9 updated',
  ]);
});

it('sync: gitlab-ci updates names that appeared, and creates names that disappeared, after the listing', async () => {
  const { fake, rows } = await started();
  rows.push(variable({ key: 'GOES' }));
  fake.interrupt = ({ method }) => {
    if (method !== 'GET' && !rows.some(({ key }) => key === 'COMES'))
      rows.splice(0, 1, variable({ key: 'COMES', protected: true }));
    return null;
  };
  expect(short(await sync(gitlabCi, config, fake, { COMES: 'our-value', GOES: 'our-value' }))).toEqual([
    'COMES updated',
    'GOES created',
  ]);
  expect(fake.row(PROJECT, 'COMES')).toMatchObject({ value: 'our-value', protected: true });
});

it.each(['POST', 'PUT', 'DELETE'])(
  'sync: gitlab-ci repeats a %s whose answer was lost',
  async (lostMethod) => {
    const { fake, rows } = await started();
    rows.push(variable({ key: 'THERE' }));
    const first = await sync(gitlabCi, config, fake, { OLD: 'old-value' });
    let lost = 0;
    fake.interrupt = ({ method }) => (method === lostMethod && lost++ === 0 ? 'after' : null);
    const result = await sync(
      gitlabCi,
      config,
      fake,
      { NEW: 'our-value', THERE: 'our-value' },
      { owned: first.owned, gone: ['OLD'] },
    );
    expect(short(result)).toEqual(['NEW created', 'OLD deleted', 'THERE updated']);
    expect(rows.map(({ key, value }) => `${key} ${value}`).sort()).toEqual([
      'NEW our-value',
      'THERE our-value',
    ]);
  },
);

it('sync: gitlab-ci settles a step that was begun before', async () => {
  const { fake } = await started();
  await sync(gitlabCi, config, fake, { ALPHA: 'our-value' });
  fake.interrupt = ({ method }) => (method === 'GET' ? { status: 200, body: [] } : null);
  expect(short(await sync(gitlabCi, config, fake, { ALPHA: 'new-value' }, { begun: ['ALPHA'] }))).toEqual([
    'ALPHA created',
  ]);
  expect(fake.row(PROJECT, 'ALPHA')?.value).toBe('new-value');
});

it('sync: gitlab-ci fails names that are refused for another reason than that they exist', async () => {
  const { fake } = await started();
  fake.interrupt = ({ method }) =>
    method === 'POST' ? { status: 400, body: { message: { value: ['is invalid: our-value'] } } } : null;
  const result = await sync(gitlabCi, config, fake, { ALPHA: 'our-value' });
  expect(result.results).toMatchObject([
    { code: 'TARGET_REJECTED', message: 'The target answered with status 400.' },
  ]);
  expect(fake.writes()).toHaveLength(1);
});

it('sync: gitlab-ci waits as requested by a rate limit', async () => {
  const { fake } = await started();
  fake.interrupt = ({ method }, n) =>
    method === 'POST' && n === 2
      ? { status: 429, headers: { 'Retry-After': '5' }, body: 'Retry later' }
      : null;
  expect(short(await sync(gitlabCi, config, fake, { ALPHA: 'our-value' }))).toEqual(['ALPHA created']);
  fake.interrupt = () => ({ status: 429, headers: { 'Retry-After': '60' }, body: 'Retry later' });
  const result = await sync(gitlabCi, config, fake, { ALPHA: 'our-value' });
  expect([...short(result), result.retryAfter]).toEqual(['ALPHA failed TARGET_RATE_LIMITED', 60]);
});

it('sync: gitlab-ci tells an unknown project, and another shape than documented', async () => {
  const { fake } = await started();
  const wrong = { token, projectId: 7 };
  expect(short(await sync(gitlabCi, wrong, fake, { ALPHA: 'our-value' }))).toEqual([
    'ALPHA failed TARGET_NOT_FOUND',
  ]);
  for (const body of [{}, null, [{}], [{ key: 'A' }], ['A']]) {
    fake.interrupt = ({ method }) => (method === 'GET' ? { status: 200, body } : null);
    expect(short(await sync(gitlabCi, config, fake, { ALPHA: 'our-value' }))).toEqual([
      'ALPHA failed TARGET_REJECTED',
    ]);
  }
  expect(fake.writes()).toEqual([]);
});

it('sync: gitlab-ci calls the host of the config', () => {
  const urls: string[] = [];
  const client = { call: (call: { url: string }) => Promise.reject(urls.push(call.url)), next: () => '' };
  const open = (given: object) =>
    (
      gitlabCi
        .open(client as never, gitlabCi.config.parse({ ...config, ...given }) as never)
        .list() as Promise<unknown>
    ).catch(() => {});
  for (const given of [{}, { host: 'gitlab.example.com:8443' }, { host: '[2001:db8::1]' }]) void open(given);
  expect(urls.map((url) => new URL(url).host)).toEqual([
    'gitlab.com',
    'gitlab.example.com:8443',
    '[2001:db8::1]',
  ]);
  expect(gitlabCi.urls?.({ host: 'gitlab.example.com:8443' } as never)).toEqual([
    { field: 'host', url: 'https://gitlab.example.com:8443/' },
  ]);
  for (const host of [
    '',
    'a b',
    'user@host',
    'host/path',
    'https://host',
    'host?x',
    'host#x',
    'host:',
    'host:123456',
    '..',
    'a..b',
  ])
    expect(gitlabCi.config.safeParse({ ...config, host }).success, host).toBe(false);
});

it.each([
  ['neither project nor group', { token }],
  ['project and group', { ...config, groupId: 1 }],
  ['a path that leads elsewhere', { token, projectId: '../x' }],
  ['a path that leads elsewhere inside', { token, projectId: 'a/../x' }],
  ['a negative id', { token, projectId: -1 }],
  ['an empty scope', { ...config, scope: '' }],
  ['an unknown field', { ...config, masked: false }],
])('sync: gitlab-ci takes no config with %s', (_what, given) => {
  expect(gitlabCi.config.safeParse(given).success).toBe(false);
});

it('sync: the server in place of gitlab-ci is strict', async () => {
  const { fake, rows } = await started();
  const send = async (method: string, path: string, body?: unknown, headers: Record<string, string> = {}) => {
    const all = { 'PRIVATE-TOKEN': token, 'Content-Type': 'application/json', ...headers };
    return (
      await fetch(`${fake.url}${PROJECT}/variables${path}`, {
        method,
        headers: all,
        ...(body !== undefined && { body: JSON.stringify(body) }),
      })
    ).status;
  };
  expect(await send('GET', '', undefined, { 'PRIVATE-TOKEN': 'another' })).toBe(401);
  expect(await send('POST', '', { key: 'A-B', value: 'x' })).toBe(400);
  expect(await send('POST', '', { key: 'A', value: 'short', masked: true, raw: true })).toBe(400);
  expect(await send('POST', '', { key: 'A', value: 'with$dollar', masked: true })).toBe(400);
  expect(await send('POST', '', { key: 'A', value: 'x', masked: 'yes' })).toBe(400);
  expect(await send('POST', '', { key: 'A', value: 'x' }, { 'Content-Type': 'text/plain' })).toBe(400);
  expect(rows).toEqual([]);
  rows.push(variable({ key: 'A' }), variable({ key: 'A', environment_scope: 'production' }));
  expect(await send('POST', '', { key: 'A', value: 'x' })).toBe(400);
  expect(await send('PUT', '/A', { value: 'x' })).toBe(409);
  expect(await send('DELETE', '/A')).toBe(409);
  expect(await send('DELETE', '/A?filter%5Benvironment_scope%5D=staging')).toBe(404);
  expect(await send('DELETE', '/A?filter%5Benvironment_scope%5D=production')).toBe(204);
});

it('sync: gitlab-ci repeats no code that its vendor does not document, such as a value of an earlier sync', async () => {
  const fake = await running(startGitlabCi());
  for (const [error, message] of [
    ['ValueOfEarlier', 'The target answered with status 400.'],
    ['invalid_request', 'The target answered with status 400 (invalid_request).'],
  ] as const) {
    fake.interrupt = () => ({ status: 400, body: { error } });
    expect((await sync(gitlabCi, config, fake, { A: 'another' })).results).toMatchObject([{ message }]);
  }
});
