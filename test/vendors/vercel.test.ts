import { expect, it } from 'vitest';
import { vercel } from '../../src/adapters/sync/vercel';
import { failsCleanly } from './failures';
import { startVercel } from './fakes/vercel.ts';
import { fastClock, keepsTheContract, running, short, sync } from './sync';

const config = { token: 'vercel-token', projectId: 'prj_1' };
const both = { ...config, targets: ['production', 'preview'] };
const sensitive = { ...both, type: 'sensitive' };

for (const [what, given] of Object.entries({
  'one target': config,
  'two targets': both,
  'sensitive variables': sensitive,
})) {
  it(`sync: vercel keeps the contract of all platforms, with ${what}`, async () => {
    const fake = await running(startVercel());
    for (let i = 0; i < 7; i++)
      fake.add({ key: `FOREIGN_${i}`, value: 'theirs', target: ['production', 'development'] });
    const before = structuredClone(fake.envs);
    await keepsTheContract(vercel, given, fake, {
      read: (name) => fake.value(name, given === config ? 'production' : 'preview') ?? null,
      foreign: () => {},
      hasForeign: () => JSON.stringify(fake.envs.slice(0, 7)) === JSON.stringify(before),
      wrong: { token: 'another' },
    });
    expect(
      fake.envs
        .slice(7)
        .every(
          ({ type, target }) =>
            type === (given === sensitive ? 'sensitive' : 'encrypted') && target.length > 0,
        ),
    ).toBe(true);
  });
}

it('sync: vercel fails cleanly', async () => {
  const fake = await running(startVercel());
  await failsCleanly(vercel, config, fake, {
    missing: { projectId: 'another' },
    listings: [
      {},
      [],
      { envs: {} },
      { envs: [null] },
      { envs: [{ key: 'A', target: ['production'] }] },
      { envs: [{ id: 'x', target: 'production' }] },
    ],
    read: (name) => fake.value(name),
  });
});

it('sync: vercel names the team on every call', async () => {
  const fake = await running(startVercel());
  fake.team = 'team_1';
  fake.add({ key: 'WIDE', value: 'theirs', target: ['production', 'preview'] });
  const team = { ...config, teamId: 'team_1' };
  const first = await sync(vercel, team, fake, { WIDE: 'ours', A: 'a' });
  await sync(vercel, team, fake, { WIDE: 'ours' }, { owned: first.owned, gone: ['A'] });
  expect(new Set(fake.requests.map(({ method }) => method))).toEqual(
    new Set(['GET', 'PATCH', 'POST', 'DELETE']),
  );
  expect(fake.requests.every(({ query }) => query.get('teamId') === 'team_1')).toBe(true);
  expect(short(await sync(vercel, config, fake, { A: 'a' }))).toEqual(['A failed TARGET_NOT_FOUND']);
  expect(short(await sync(vercel, { ...config, teamId: 'another' }, fake, { A: 'a' }))).toEqual([
    'A failed TARGET_AUTH',
  ]);
});

it('sync: vercel gets one call for all names and one for all deletions', async () => {
  const fake = await running(startVercel());
  const many = Object.fromEntries(Array.from({ length: 40 }, (_, i) => [`NAME_${i}`, `value ${i}`]));
  const first = await sync(vercel, both, fake, many);
  expect(fake.writes()).toHaveLength(1);
  const second = await sync(
    vercel,
    both,
    fake,
    { NAME_0: 'changed', NEW: 'new' },
    { owned: first.owned, gone: ['NAME_1', 'NAME_2'] },
  );
  expect(short(second)).toEqual(['NAME_0 updated', 'NAME_1 deleted', 'NAME_2 deleted', 'NEW created']);
  expect(fake.writes().map(({ method, path }) => `${method} ${path}`)).toEqual([
    'POST /v10/projects/prj_1/env',
    'POST /v10/projects/prj_1/env',
    'DELETE /v1/projects/prj_1/env',
  ]);
});

it('sync: vercel: a variable that spans more targets keeps its value in the others', async () => {
  const fake = await running(startVercel());
  const wide = fake.add({
    key: 'A',
    value: 'theirs',
    target: ['production', 'preview', 'development'],
    comment: 'theirs',
  });
  const custom = fake.add({
    key: 'B',
    value: 'theirs',
    target: ['production'],
    customEnvironmentIds: ['env_staging'],
  });
  const first = await sync(vercel, config, fake, { A: 'ours', B: 'ours' });
  expect(short(first)).toEqual(['A updated', 'B updated']);
  expect(fake.envs).toMatchObject([
    { ...wide, target: ['preview', 'development'] },
    { ...custom, target: [] },
    { key: 'A', value: 'ours', target: ['production'] },
    { key: 'B', value: 'ours', target: ['production'] },
  ]);
  expect(fake.writes().map(({ method, json }) => [method, method === 'PATCH' ? json : null])).toEqual([
    ['PATCH', { target: ['preview', 'development'] }],
    ['PATCH', { target: [] }],
    ['POST', null],
  ]);
  // Pruned: ours goes, theirs stays.
  const pruned = await sync(vercel, config, fake, {}, { owned: first.owned, gone: ['A', 'B'] });
  expect(short(pruned)).toEqual(['A deleted', 'B deleted']);
  expect(fake.envs).toEqual(
    [wide, custom].map((env) => expect.objectContaining({ id: env.id, value: 'theirs' })),
  );
});

it('sync: vercel: a variable that was widened concurrently is pruned only from our targets', async () => {
  const fake = await running(startVercel());
  const first = await sync(vercel, config, fake, { A: 'ours' });
  Object.assign(fake.envs[0] as object, { target: ['production', 'preview'] });
  expect(short(await sync(vercel, config, fake, {}, { owned: first.owned, gone: ['A'] }))).toEqual([
    'A deleted',
  ]);
  expect(fake.envs).toMatchObject([{ key: 'A', value: 'ours', target: ['preview'] }]);
});

it('sync: vercel updates variables of single targets, and creates one for the targets without one', async () => {
  const fake = await running(startVercel());
  const one = fake.add({ key: 'A', value: 'theirs', target: ['production'], comment: 'keep' });
  const three = { ...both, targets: ['production', 'preview', 'development'] };
  expect(short(await sync(vercel, three, fake, { A: 'ours' }))).toEqual(['A updated']);
  expect(fake.envs).toMatchObject([
    { id: one.id, value: 'ours', target: ['production'], comment: 'keep' },
    { key: 'A', value: 'ours', target: ['preview', 'development'] },
  ]);
  expect(fake.writes()).toHaveLength(1);
});

it('sync: vercel does not change variables of a Git branch, of the system and of other targets', async () => {
  const fake = await running(startVercel());
  const branch = fake.add({ key: 'A', value: 'theirs', target: ['preview'], gitBranch: 'feature' });
  const other = fake.add({ key: 'A', value: 'theirs', target: ['development'] });
  const before = structuredClone([branch, other]);
  const first = await sync(vercel, both, fake, { A: 'ours' });
  expect(short(first)).toEqual(['A created']);
  expect(short(await sync(vercel, both, fake, {}, { owned: first.owned, gone: ['A'] }))).toEqual([
    'A deleted',
  ]);
  expect(fake.envs).toEqual(before);
});

it('sync: vercel keeps sensitive variables sensitive, and never compares with a hidden value', async () => {
  const fake = await running(startVercel());
  fake.add({ key: 'HIDDEN', value: 'theirs', type: 'sensitive', target: ['production'] });
  fake.add({ key: 'PLAIN', value: 'equal', type: 'plain', target: ['production'] });
  fake.add({ key: 'SEALED', value: 'theirs', target: ['production'] });
  const cipher = Buffer.from('sealed theirs').toString('base64');
  const result = await sync(vercel, config, fake, { HIDDEN: 'ours', PLAIN: 'equal', SEALED: cipher });
  expect(short(result)).toEqual(['HIDDEN updated', 'PLAIN unchanged', 'SEALED updated']);
  expect(fake.envs.map(({ type }) => type)).toEqual(['sensitive', 'plain', 'encrypted']);
});

it('sync: vercel writes again if one of the targets lost its value', async () => {
  const fake = await running(startVercel());
  const first = await sync(vercel, both, fake, { A: 'ours' });
  Object.assign(fake.envs[0] as object, { target: ['production'] });
  expect(short(await sync(vercel, both, fake, { A: 'ours' }, first))).toEqual(['A updated']);
  expect([fake.value('A'), fake.value('A', 'preview')]).toEqual(['ours', 'ours']);
});

it('sync: vercel: names refused in a 201 response have failed, and nothing that it echoes is reported', async () => {
  const fake = await running(startVercel());
  const failed = (code: string) => [
    {
      error: {
        code,
        message: 'the value',
        key: 'BAD',
        envVarKey: 'BAD',
        value: 'the value',
        target: ['production'],
      },
    },
  ];
  fake.interrupt = ({ method }) =>
    method === 'POST'
      ? { status: 201, body: { created: [{ key: 'GOOD' }], failed: failed('BAD_REQUEST') } }
      : null;
  const result = await sync(vercel, config, fake, { BAD: 'the value', GOOD: 'g', UNTOLD: 'u' });
  expect(short(result)).toEqual([
    'BAD failed TARGET_REJECTED',
    'GOOD created',
    'UNTOLD failed TARGET_REJECTED',
  ]);
  expect(result.results[0]?.message).toBe('The target answered with status 201 (BAD_REQUEST).');
  fake.interrupt = ({ method }) =>
    method === 'POST' ? { status: 201, body: { created: [], failed: failed('the value') } } : null;
  expect(JSON.stringify(await sync(vercel, config, fake, { BAD: 'the value' }))).not.toContain('the value');
});

it('sync: vercel: a key that was created concurrently is updated or narrowed', async () => {
  const fake = await running(startVercel());
  fake.interrupt = ({ method }, n) => {
    if (method === 'POST' && n === 2)
      fake.add({ key: 'LATE', value: 'theirs', target: ['production', 'preview'] });
    return null;
  };
  expect(short(await sync(vercel, config, fake, { LATE: 'ours', NEW: 'ours' }))).toEqual([
    'LATE updated',
    'NEW created',
  ]);
  expect([fake.value('LATE'), fake.value('LATE', 'preview'), fake.value('NEW')]).toEqual([
    'ours',
    'theirs',
    'ours',
  ]);
});

it('sync: vercel deletes names one by one if one has disappeared', async () => {
  const fake = await running(startVercel());
  const first = await sync(vercel, config, fake, { ONE: '1', TWO: '2' });
  fake.interrupt = ({ method, path }) => {
    if (method === 'DELETE' && path.startsWith('/v1/'))
      fake.envs = fake.envs.filter(({ key }) => key !== 'TWO');
    return null;
  };
  expect(short(await sync(vercel, config, fake, {}, { owned: first.owned, gone: ['ONE', 'TWO'] }))).toEqual([
    'ONE deleted',
    'TWO deleted',
  ]);
  expect(fake.envs).toEqual([]);
});

it('sync: vercel: one that cannot be narrowed stops no other', async () => {
  const fake = await running(startVercel());
  const wide = fake.add({ key: 'WIDE', value: 'theirs', target: ['production', 'preview'] });
  fake.interrupt = ({ method }) =>
    method === 'PATCH' ? { status: 403, body: { error: { code: 'forbidden' } } } : null;
  const first = await sync(vercel, config, fake, { WIDE: 'ours', NEW: 'ours' });
  expect(short(first)).toEqual(['NEW created', 'WIDE failed TARGET_AUTH']);
  expect(fake.value('WIDE')).toBe(wide.value);
});

it('sync: vercel finishes an interrupted change between narrowing and creating', async () => {
  const fake = await running(startVercel());
  fake.add({ key: 'A', value: 'theirs', target: ['production', 'preview'] });
  fake.interrupt = ({ method }) => (method === 'POST' ? { status: 400, body: {} } : null);
  const cut = await sync(vercel, config, fake, { A: 'ours' });
  expect(short(cut)).toEqual(['A failed TARGET_REJECTED']);
  fake.interrupt = null;
  const again = await sync(vercel, config, fake, { A: 'ours' }, { begun: ['A'] });
  expect(short(again)).toEqual(['A created']);
  expect([fake.value('A'), fake.value('A', 'preview')]).toEqual(['ours', 'theirs']);
});

it('sync: vercel: a rate limit is kept until the time in the error', async () => {
  const fake = await running(startVercel());
  const clock = fastClock();
  const limit = {
    remaining: 0,
    reset: Math.floor(clock.now() / 1000) + 8,
    resetMs: clock.now() + 8000,
    total: 120,
  };
  fake.interrupt = (_, n) =>
    n === 1 ? { status: 429, body: { error: { code: 'rate_limited', limit } } } : null;
  expect(short(await sync(vercel, config, fake, { A: 'a' }, { clock }))).toEqual(['A created']);
  expect(clock.slept).toEqual([8000]);
});

it('sync: vercel takes targets and types that belong together', () => {
  for (const more of [
    { targets: [] },
    { targets: ['staging'] },
    { targets: ['preview', 'preview'] },
    { type: 'plain' },
    { type: 'sensitive', targets: ['development'] },
  ])
    expect(vercel.config.safeParse({ ...config, ...more }).success).toBe(false);
  for (const more of [{}, { type: 'sensitive' }, { targets: ['development'] }])
    expect(vercel.config.safeParse({ ...config, ...more }).success).toBe(true);
});

it('vendor: the vercel server refuses what the vendor would', async () => {
  const fake = await running(startVercel());
  const send = async (method: string, path: string, body?: unknown, headers: Record<string, string> = {}) => {
    const all = { Authorization: 'Bearer vercel-token', 'Content-Type': 'application/json', ...headers };
    const answer = await fetch(fake.url + path, {
      method,
      headers: all,
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    const { failed, error } = (await answer.json()) as {
      failed?: { error: { code: string } }[];
      error?: { code: string };
    };
    return [answer.status, failed?.[0]?.error.code ?? error?.code ?? null];
  };
  const env = { key: 'A', value: 'a', type: 'encrypted', target: ['production'] };
  const path = '/v10/projects/prj_1/env';
  expect(await send('GET', path, undefined, { Authorization: 'vercel-token' })).toEqual([403, 'forbidden']);
  expect(await send('POST', path, [{ ...env, key: 'A-B' }])).toEqual([201, 'INVALID_KEY']);
  expect(await send('POST', path, [{ ...env, target: [] }])).toEqual([201, 'BAD_REQUEST']);
  expect(await send('POST', path, [{ ...env, type: 'sensitive', target: ['development'] }])).toEqual([
    201,
    'BAD_REQUEST',
  ]);
  expect(await send('POST', path, [{ ...env, value: 'x'.repeat(65_537) }])).toEqual([201, 'BAD_REQUEST']);
  expect(await send('POST', path, [env])).toEqual([201, null]);
  expect(await send('POST', path, [env])).toEqual([201, 'ENV_ALREADY_EXISTS']);
  expect(await send('POST', `${path}?upsert=true`, [{ ...env, target: ['production', 'preview'] }])).toEqual([
    201,
    'ENV_CONFLICT',
  ]);
  expect(await send('POST', `${path}?upsert=true`, [{ ...env, type: 'sensitive' }])).toEqual([201, null]);
  expect(await send('POST', `${path}?upsert=true`, [env])).toEqual([201, 'BAD_REQUEST']);
  expect(await send('PATCH', '/v9/projects/prj_1/env/env_1', { key: 'A', value: 'b' })).toEqual([
    400,
    'bad_request',
  ]);
  expect(await send('DELETE', '/v1/projects/prj_1/env', { ids: ['none'] })).toEqual([404, 'ENV_NOT_FOUND']);
});
