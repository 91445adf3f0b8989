// biome-ignore-all lint/suspicious/noTemplateCurlyInString: values that look like references.

import { expect, it } from 'vitest';
import { digitalocean } from '../../src/adapters/sync/digitalocean';
import { failsCleanly } from './failures';
import { startDigitalocean } from './fakes/digitalocean.ts';
import { fastClock, keepsTheContract, running, short, sync } from './sync';

const app = { token: 'digitalocean-token', appId: 'app-1' };
const web = { ...app, component: 'web' };

for (const [what, config] of Object.entries({ app, web })) {
  const component = what === 'app' ? undefined : what;

  it(`sync: digitalocean keeps the contract of all platforms, ${what}`, async () => {
    const fake = await running(startDigitalocean());
    const holder = component ? fake.spec.services[0] : fake.spec;
    fake.plain.set('EV[1:theirs]', 'theirs');
    holder.envs = [{ key: 'FOREIGN', value: 'EV[1:theirs]', scope: 'RUN_TIME', type: 'SECRET' }];
    await keepsTheContract(digitalocean, config, fake, {
      read: (name) => fake.value(name, component) ?? null,
      foreign: () => {},
      hasForeign: () => fake.value('FOREIGN', component) === 'theirs',
      wrong: { token: 'another' },
    });
  });

  it(`sync: digitalocean fails cleanly, ${what}`, async () => {
    const fake = await running(startDigitalocean());
    await failsCleanly(digitalocean, config, fake, {
      missing: { appId: 'another' },
      listings: [
        {},
        [],
        { app: null },
        { app: {} },
        { app: { spec: [] } },
        { app: { spec: { envs: {}, services: [{ name: 'web', envs: 'x' }] } } },
      ],
      read: (name) => fake.value(name, component),
    });
  });
}

it('sync: digitalocean writes all names and deletions as one deployment, and sends everything else back unchanged', async () => {
  const fake = await running(startDigitalocean());
  fake.plain.set('EV[1:theirs]', 'theirs');
  const theirs = [
    { key: 'PLAIN', value: 'theirs', scope: 'BUILD_TIME', type: 'GENERAL' },
    { key: 'SEALED', value: 'EV[1:theirs]', scope: 'RUN_TIME', type: 'SECRET' },
    { key: 'BARE', value: 'no scope or type' },
  ];
  const more = {
    alerts: [{ rule: 'DEPLOYMENT_FAILED' }],
    databases: [{ name: 'db', engine: 'PG' }],
    ingress: { rules: [] },
    envs: theirs,
  };
  Object.assign(fake.spec, structuredClone(more));
  const before = structuredClone(fake.spec);
  const first = await sync(digitalocean, app, fake, { ONE: '1', TWO: '2', PLAIN: 'ours' });
  expect(short(first)).toEqual(['ONE created', 'PLAIN updated', 'TWO created']);
  expect(fake.deployments).toBe(1);
  await sync(
    digitalocean,
    app,
    fake,
    { ONE: 'changed', PLAIN: 'ours' },
    { owned: first.owned, gone: ['TWO'] },
  );
  expect(fake.deployments).toBe(2);
  const { envs, ...rest } = fake.spec;
  const { envs: _, ...restBefore } = before;
  expect(rest).toEqual(restBefore);
  expect(envs.map(({ key, scope, type }: Record<string, string>) => [key, scope, type])).toEqual([
    ['PLAIN', 'BUILD_TIME', 'SECRET'],
    ['SEALED', 'RUN_TIME', 'SECRET'],
    ['BARE', undefined, undefined],
    ['ONE', 'RUN_AND_BUILD_TIME', 'SECRET'],
  ]);
  expect(fake.value('SEALED')).toBe('theirs');
  await sync(
    digitalocean,
    app,
    fake,
    { ONE: 'changed', PLAIN: 'ours' },
    { owned: [...first.owned.filter(({ name }) => name === 'PLAIN')] },
  );
});

it('sync: digitalocean reads the app again just before it writes', async () => {
  const fake = await running(startDigitalocean());
  fake.interrupt = ({ method }, n) => {
    // Between the listing and the second read somebody else deploys.
    if (method === 'GET' && n === 2)
      Object.assign(fake.spec, { envs: [{ key: 'LATE', value: 'theirs' }], region: 'nyc' });
    return null;
  };
  expect(short(await sync(digitalocean, app, fake, { A: 'a' }))).toEqual(['A created']);
  expect(fake.spec).toMatchObject({ region: 'nyc', envs: [{ key: 'LATE', value: 'theirs' }, { key: 'A' }] });
});

it('sync: digitalocean writes only to one component, of any kind, and reports a missing one', async () => {
  const fake = await running(startDigitalocean());
  const config = { ...app, component: 'queue', scope: 'RUN_TIME' };
  expect(short(await sync(digitalocean, config, fake, { A: 'a' }))).toEqual(['A created']);
  expect(fake.spec.workers[0].envs).toMatchObject([{ key: 'A', scope: 'RUN_TIME', type: 'SECRET' }]);
  expect(fake.spec.envs ?? fake.spec.services[0].envs).toBe(undefined);
  expect(short(await sync(digitalocean, { ...app, component: 'none' }, fake, { A: 'a' }))).toEqual([
    'A failed TARGET_NOT_FOUND',
  ]);
});

it('sync: digitalocean refuses values that the vendor would change', async () => {
  const fake = await running(startDigitalocean());
  const result = await sync(digitalocean, app, fake, {
    SELF: 'a ${_self.PRIVATE_URL}',
    DB: '${db.DATABASE_URL}',
    URL: '${APP_URL}/x',
    CIPHER: 'EV[1:made-up]',
    OTHER: 'EV [1] ${VAR} $APP_URL ${} {db.X}',
  });
  expect(short(result)).toEqual([
    'CIPHER failed VALUE_NOT_ALLOWED',
    'DB failed VALUE_NOT_ALLOWED',
    'OTHER created',
    'SELF failed VALUE_NOT_ALLOWED',
    'URL failed VALUE_NOT_ALLOWED',
  ]);
});

it('sync: digitalocean compares with a value that is not secret, never with a ciphertext', async () => {
  const fake = await running(startDigitalocean());
  fake.spec.envs = [
    { key: 'PLAIN', value: 'equal', type: 'GENERAL' },
    { key: 'CIPHER', value: 'EV[1:theirs]', type: 'SECRET' },
  ];
  fake.plain.set('EV[1:theirs]', 'theirs');
  expect(short(await sync(digitalocean, app, fake, { PLAIN: 'equal', CIPHER: 'theirs' }))).toEqual([
    'CIPHER updated',
    'PLAIN unchanged',
  ]);
});

it('sync: digitalocean: a rate limit is kept until the time in the response', async () => {
  const fake = await running(startDigitalocean());
  const clock = fastClock();
  const reset = String(Math.floor(clock.now() / 1000) + 12);
  fake.interrupt = (_, n) =>
    n === 1
      ? { status: 429, headers: { 'ratelimit-reset': reset }, body: { id: 'too_many_requests' } }
      : null;
  expect(short(await sync(digitalocean, app, fake, { A: 'a' }, { clock }))).toEqual(['A created']);
  expect(clock.slept).toEqual([12_000]);
});

it('vendor: the digitalocean server refuses what the vendor would', async () => {
  const fake = await running(startDigitalocean());
  const send = async (method: string, body?: unknown, headers: Record<string, string> = {}) => {
    const all = {
      Authorization: 'Bearer digitalocean-token',
      'Content-Type': 'application/json',
      ...headers,
    };
    return (
      await fetch(`${fake.url}/v2/apps/app-1`, {
        method,
        headers: all,
        ...(body !== undefined && { body: JSON.stringify(body) }),
      })
    ).status;
  };
  const envs = (each: unknown) => ({ spec: { name: 'demo', envs: [each] } });
  expect(await send('GET', undefined, { Authorization: 'digitalocean-token' })).toBe(401);
  expect(await send('PATCH', { spec: { name: 'demo' } })).toBe(405);
  expect(await send('PUT', { name: 'demo' })).toBe(400);
  expect(await send('PUT', { spec: {} })).toBe(400);
  expect(await send('PUT', envs({ key: 'A-B', value: 'a' }))).toBe(400);
  expect(await send('PUT', envs({ key: 'A', value: 'a', type: 'OTHER' }))).toBe(400);
  expect(await send('PUT', envs({ key: 'A', value: 'a', scope: 'RUNTIME' }))).toBe(400);
  expect(await send('PUT', envs({ key: 'A', value: 'EV[1:unknown]', type: 'SECRET' }))).toBe(400);
  expect(
    await send('PUT', {
      spec: {
        name: 'demo',
        envs: [
          { key: 'A', value: 'a' },
          { key: 'A', value: 'b' },
        ],
      },
    }),
  ).toBe(400);
  expect(fake.deployments).toBe(0);
});
