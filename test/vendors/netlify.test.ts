import { expect, it } from 'vitest';
import { netlify } from '../../src/adapters/sync/netlify';
import { failsCleanly } from './failures';
import { type NetlifyFake, startNetlify } from './fakes/netlify.ts';
import { fastClock, keepsTheContract, running, short, sync } from './sync';

const config = { token: 'netlify-token', accountId: 'demo-team', siteId: 'site-1' };
const both = { ...config, contexts: ['production', 'deploy-preview'] };

for (const [what, given] of Object.entries({ 'one context': config, 'two contexts': both })) {
  it(`sync: netlify keeps the contract of all platforms, with ${what}`, async () => {
    const fake = await running(startNetlify());
    fake.add('FOREIGN', { all: 'theirs' });
    await keepsTheContract(netlify, given, fake, {
      read: (name) => fake.value(name, what === 'one context' ? 'production' : 'deploy-preview') ?? null,
      foreign: () => {},
      hasForeign: () => fake.value('FOREIGN') === 'theirs',
      wrong: { token: 'another' },
    });
    expect([...fake.vars.keys()]).toEqual(['FOREIGN', 'ALPHA', 'BETA']);
    expect(fake.team.size).toBe(0);
  });
}

it('sync: netlify fails cleanly', async () => {
  const fake = await running(startNetlify());
  await failsCleanly(netlify, config, fake, {
    missing: { siteId: 'another' },
    listings: [{}, { data: [] }, [null], [{ key: 'A' }], [{ values: [] }], [{ key: 'A', values: [null] }]],
    read: (name) => fake.value(name),
    creates: 'once',
  });
  expect(short(await sync(netlify, { ...config, accountId: 'another' }, fake, { A: 'a' }))).toEqual([
    'A failed TARGET_NOT_FOUND',
  ]);
});

it('sync: netlify gets one call for all new names, as secrets, for the site', async () => {
  const fake = await running(startNetlify());
  const many = Object.fromEntries(Array.from({ length: 40 }, (_, i) => [`NAME_${i}`, `value ${i}`]));
  await sync(netlify, { ...both, scopes: ['functions'] }, fake, many);
  expect(fake.writes()).toHaveLength(1);
  expect(fake.requests.every(({ query }) => query.get('site_id') === 'site-1')).toBe(true);
  expect(fake.vars.get('NAME_7')).toMatchObject({
    is_secret: true,
    scopes: ['functions'],
    values: [
      { context: 'production', value: 'value 7' },
      { context: 'deploy-preview', value: 'value 7' },
    ],
  });
  const bare = await running(startNetlify());
  await sync(netlify, config, bare, { A: 'a' });
  expect(bare.writes()[0]?.json).toEqual([
    { key: 'A', is_secret: true, values: [{ context: 'production', value: 'a' }] },
  ]);
});

it('sync: netlify keeps other contexts, scopes and the secrecy of existing variables', async () => {
  const fake = await running(startNetlify());
  fake.add(
    'A',
    { production: 'old', dev: 'theirs', 'branch-deploy': 'theirs' },
    { scopes: ['builds'], is_secret: false },
  );
  fake.add('B', { all: 'theirs' });
  const before = ({ vars }: NetlifyFake) => structuredClone(vars.get('A'));
  const was = before(fake);
  const first = await sync(netlify, { ...config, scopes: ['functions'] }, fake, { A: 'new', B: 'ours' });
  expect(short(first)).toEqual(['A updated', 'B updated']);
  expect(fake.vars.get('A')).toEqual({
    ...was,
    values: was?.values.map((each) => (each.context === 'production' ? { ...each, value: 'new' } : each)),
  });
  expect([fake.value('B'), fake.value('B', 'dev')]).toEqual(['ours', 'theirs']);
});

it('sync: netlify prunes the values of our contexts, and the name only with its last one', async () => {
  const fake = await running(startNetlify());
  fake.add('SHARED', { dev: 'theirs' });
  const first = await sync(netlify, both, fake, { SHARED: 'ours', OURS: 'ours' });
  const pruned = await sync(netlify, both, fake, {}, { owned: first.owned, gone: ['SHARED', 'OURS'] });
  expect(short(pruned)).toEqual(['OURS deleted', 'SHARED deleted']);
  expect([...fake.vars.keys()]).toEqual(['SHARED']);
  expect(fake.vars.get('SHARED')?.values).toMatchObject([{ context: 'dev', value: 'theirs' }]);
});

it('sync: netlify does not prune a name whose value changed after the listing', async () => {
  const fake = await running(startNetlify());
  const first = await sync(netlify, config, fake, { A: 'ours' });
  fake.interrupt = ({ method, path }) => {
    if (method === 'GET' && path.endsWith('/env/A'))
      fake.vars.get('A')?.values.push({ id: 'late', context: 'dev', value: 'theirs' });
    return null;
  };
  expect(short(await sync(netlify, config, fake, {}, { owned: first.owned, gone: ['A'] }))).toEqual([
    'A deleted',
  ]);
  expect(fake.vars.get('A')?.values).toEqual([{ id: 'late', context: 'dev', value: 'theirs' }]);
});

it('sync: netlify never compares with a masked value, and writes if a context has none', async () => {
  const fake = await running(startNetlify());
  fake.add('MASKED', { production: 'theirs' }, { is_secret: true });
  fake.add('SHOWN', { production: 'equal', 'deploy-preview': 'equal' });
  fake.add('HALF', { production: 'equal' });
  fake.add('ALL', { all: 'equal' });
  const result = await sync(netlify, both, fake, {
    MASKED: '********************',
    SHOWN: 'equal',
    HALF: 'equal',
    ALL: 'equal',
  });
  expect(short(result)).toEqual(['ALL unchanged', 'HALF updated', 'MASKED updated', 'SHOWN unchanged']);
  expect(fake.value('HALF', 'deploy-preview')).toBe('equal');
  const values = fake.vars.get('MASKED');
  if (values) values.values = values.values.filter(({ context }) => context === 'production');
  const again = await sync(netlify, both, fake, { MASKED: '********************' }, { owned: result.owned });
  expect(short(again)).toEqual(['MASKED updated']);
});

it('sync: netlify: a name that was created concurrently is updated, and does not stop other new names', async () => {
  const fake = await running(startNetlify());
  fake.interrupt = ({ method }, n) => {
    if (method === 'POST' && n === 2) fake.add('LATE', { production: 'theirs', dev: 'theirs' });
    return null;
  };
  expect(short(await sync(netlify, config, fake, { LATE: 'ours', NEW: 'ours' }))).toEqual([
    'LATE updated',
    'NEW created',
  ]);
  expect([fake.value('LATE'), fake.value('LATE', 'dev'), fake.value('NEW')]).toEqual([
    'ours',
    'theirs',
    'ours',
  ]);
});

it('sync: netlify: a name that was deleted concurrently is created', async () => {
  const fake = await running(startNetlify());
  fake.add('A', { production: 'theirs' });
  fake.interrupt = ({ method }) => {
    if (method === 'PATCH') fake.vars.delete('A');
    return null;
  };
  expect(short(await sync(netlify, config, fake, { A: 'ours' }))).toEqual(['A created']);
  expect(fake.value('A')).toBe('ours');
});

it('sync: netlify: the refusal of one name stops no other', async () => {
  const fake = await running(startNetlify());
  // Of six digits: a code that is part of what was sent, such as of the port of the fake, is not shown.
  const isBad = (text: string) => text.includes('"BAD"');
  fake.interrupt = ({ method, text }) =>
    method === 'POST' && isBad(text) ? { status: 422, body: { code: 104_220, message: text } } : null;
  const result = await sync(netlify, config, fake, { BAD: 'the bad value', GOOD: 'good' });
  expect(short(result)).toEqual(['BAD failed TARGET_REJECTED', 'GOOD created']);
  expect(result.results[0]?.message).toBe('The target answered with status 422 (104220).');
});

it('sync: netlify is not called again after a rate limit that is too long, and written names are kept', async () => {
  const fake = await running(startNetlify());
  fake.add('OLD', { production: 'theirs' });
  const clock = fastClock();
  const reset = String(Math.floor(clock.now() / 1000) + 3600);
  fake.interrupt = ({ method }) =>
    method === 'PATCH' ? { status: 429, headers: { 'X-RateLimit-Reset': reset }, body: {} } : null;
  const result = await sync(netlify, config, fake, { NEW: 'new', OLD: 'ours' }, { clock });
  expect(short(result)).toEqual(['NEW created', 'OLD failed TARGET_RATE_LIMITED']);
  expect(result.retryAfter).toBe(3600);
  expect(fake.requests).toHaveLength(3);
});

it('sync: netlify takes contexts and scopes that secrets can have', () => {
  for (const more of [
    { contexts: [] },
    { contexts: ['all'] },
    { contexts: ['production', 'production'] },
    { scopes: ['post-processing'] },
    { scopes: [] },
  ])
    expect(netlify.config.safeParse({ ...config, ...more }).success).toBe(false);
  for (const more of [{}, { contexts: ['dev', 'branch-deploy'] }, { scopes: ['builds', 'runtime'] }])
    expect(netlify.config.safeParse({ ...config, ...more }).success).toBe(true);
  const { siteId: _, ...team } = config;
  expect(netlify.config.safeParse(team).success).toBe(false);
});

it('vendor: the netlify server refuses what the vendor would', async () => {
  const fake = await running(startNetlify());
  const send = async (method: string, path: string, body?: unknown, headers: Record<string, string> = {}) => {
    const all = { Authorization: 'Bearer netlify-token', 'Content-Type': 'application/json', ...headers };
    const url = `${fake.url}/api/v1/accounts/demo-team/env${path}?site_id=site-1`;
    return (
      await fetch(url, { method, headers: all, ...(body !== undefined && { body: JSON.stringify(body) }) })
    ).status;
  };
  const values = [{ context: 'production', value: 'a' }];
  expect(await send('GET', '', undefined, { Authorization: 'netlify-token' })).toBe(401);
  expect(await send('POST', '', { key: 'A', values })).toBe(422);
  expect(await send('POST', '', [{ key: 'A-B', values }])).toBe(422);
  expect(
    await send('POST', '', [{ key: 'A', is_secret: true, values: [{ context: 'all', value: 'a' }] }]),
  ).toBe(422);
  expect(await send('POST', '', [{ key: 'A', is_secret: true, scopes: ['post-processing'], values }])).toBe(
    422,
  );
  expect(await send('POST', '', [{ key: 'A', values: [{ context: 'branch', value: 'a' }] }])).toBe(422);
  expect(await send('PATCH', '/A', values[0])).toBe(404);
  expect(await send('POST', '', [{ key: 'A', values }])).toBe(201);
  expect(await send('POST', '', [{ key: 'A', values }])).toBe(409);
  expect(await send('PATCH', '/A', { ...values[0], scopes: ['builds'] })).toBe(422);
  expect(await send('DELETE', '/A/value/none')).toBe(404);
});
