import { expect, it } from 'vitest';
import { render } from '../../src/adapters/sync/render';
import { failsCleanly } from './failures';
import { startRender } from './fakes/render.ts';
import { fastClock, keepsTheContract, running, short, sync } from './sync';

const service = { token: 'render-token', serviceId: 'srv-1' };
const group = { token: 'render-token', envGroupId: 'evg-1' };

for (const [what, config] of Object.entries({ service, group })) {
  it(`sync: render keeps the contract of all platforms, in a ${what}`, async () => {
    const fake = await running(startRender());
    const vars = (what === 'service' ? fake.services['srv-1'] : fake.groups['evg-1']) as Record<
      string,
      string
    >;
    await keepsTheContract(render, config, fake, {
      read: (name) => vars[name] ?? null,
      foreign: () => Object.assign(vars, { FOREIGN: 'theirs' }),
      hasForeign: () => vars.FOREIGN === 'theirs',
      wrong: { token: 'another' },
    });
  });

  it(`sync: render fails cleanly, in a ${what}`, async () => {
    const fake = await running(startRender());
    const vars = (what === 'service' ? fake.services['srv-1'] : fake.groups['evg-1']) as Record<
      string,
      string
    >;
    await failsCleanly(render, config, fake, {
      missing: what === 'service' ? { serviceId: 'srv-2' } : { envGroupId: 'evg-2' },
      listings: [
        {},
        { envVars: null },
        [null],
        [{ cursor: 'x' }],
        [{ envVar: { key: 'A', value: 'a' } }],
        { envVars: [{ value: 'a' }] },
      ],
      read: (name) => vars[name],
    });
  });
}

it('sync: render reads every page, up to an empty one, before it decides what exists', async () => {
  const fake = await running(startRender());
  const vars = fake.services['srv-1'] as Record<string, string>;
  for (let i = 0; i < 9; i++) vars[`OTHER_${i}`] = 'theirs';
  const result = await sync(render, service, fake, { OTHER_8: 'ours', NEW: 'ours' });
  expect(short(result)).toEqual(['NEW created', 'OTHER_8 updated']);
  expect(Object.keys(vars)).toHaveLength(10);
});

it('sync: render does not read pages that lead to themselves', async () => {
  const fake = await running(startRender());
  fake.interrupt = ({ method }) =>
    method === 'GET' ? { status: 200, body: [{ cursor: 'same', envVar: { key: 'A', value: 'a' } }] } : null;
  expect(short(await sync(render, service, fake, { A: 'a' }))).toEqual(['A failed TARGET_REJECTED']);
  expect(fake.requests).toHaveLength(2);
});

it('sync: render never makes the call that deletes every other variable', async () => {
  const fake = await running(startRender());
  const first = await sync(render, service, fake, { ONE: '1', TWO: '2' });
  await sync(render, service, fake, { ONE: 'changed' }, { owned: first.owned, gone: ['TWO'] });
  expect(fake.writes().every(({ path }) => /\/env-vars\/[A-Z]+$/.test(path))).toBe(true);
});

it('sync: render compares with the current value, whoever wrote it', async () => {
  const fake = await running(startRender());
  fake.services['srv-1'] = { A: 'equal', B: 'other' };
  expect(short(await sync(render, service, fake, { A: 'equal', B: 'ours' }))).toEqual([
    'A unchanged',
    'B updated',
  ]);
  expect(fake.writes()).toHaveLength(1);
});

it('sync: render takes either a service or a group', () => {
  for (const config of [
    { token: 't' },
    { ...service, ...group },
    { ...service, extra: 1 },
    { token: 't', serviceId: '../x' },
  ])
    expect(render.config.safeParse(config).success).toBe(false);
  for (const config of [service, group]) expect(render.config.safeParse(config).success).toBe(true);
});

it('sync: render: a rate limit is kept for the seconds in the response', async () => {
  const fake = await running(startRender());
  fake.interrupt = (_, n) =>
    n === 3
      ? {
          status: 429,
          headers: { 'Ratelimit-Limit': '400', 'Ratelimit-Remaining': '0', 'Ratelimit-Reset': '11' },
        }
      : null;
  const clock = fastClock();
  expect(short(await sync(render, service, fake, { A: 'a', B: 'b' }, { clock }))).toEqual([
    'A created',
    'B created',
  ]);
  expect(clock.slept).toEqual([11_000]);
});

it('sync: a render group that lists its variables as a service does is read so', async () => {
  const fake = await running(startRender());
  const vars = [{ cursor: 'c1', envVar: { key: 'A', value: 'theirs' } }];
  fake.interrupt = ({ method, path, query }) => {
    if (method !== 'GET') return null;
    return path === '/v1/env-groups/evg-1'
      ? { status: 404 }
      : { status: 200, body: query.has('cursor') ? [] : vars };
  };
  expect(short(await sync(render, group, fake, { A: 'ours' }))).toEqual(['A updated']);
});

it('vendor: the render server refuses what the vendor would', async () => {
  const fake = await running(startRender());
  const send = async (method: string, path: string, body?: unknown, headers: Record<string, string> = {}) => {
    const all = { Authorization: 'Bearer render-token', 'Content-Type': 'application/json', ...headers };
    return (
      await fetch(`${fake.url}/v1${path}`, {
        method,
        headers: all,
        ...(body !== undefined && { body: JSON.stringify(body) }),
      })
    ).status;
  };
  expect(await send('GET', '/services/srv-1/env-vars', undefined, { Authorization: 'render-token' })).toBe(
    401,
  );
  expect(await send('GET', '/services/srv-1/env-vars?limit=101')).toBe(400);
  expect(await send('GET', '/env-groups/evg-1/env-vars')).toBe(404);
  expect(await send('PUT', '/services/srv-1/env-vars/A', { value: 1 })).toBe(400);
  expect(await send('PUT', '/services/srv-1/env-vars/A', { key: 'A', value: 'a' })).toBe(400);
  expect(
    await send('PUT', '/services/srv-1/env-vars/A', { value: 'a' }, { 'Content-Type': 'text/plain' }),
  ).toBe(400);
  expect(await send('DELETE', '/services/srv-1/env-vars/A')).toBe(404);
  expect(await send('POST', '/services/srv-1/env-vars', [])).toBe(405);
});
