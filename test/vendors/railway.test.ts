// biome-ignore-all lint/suspicious/noTemplateCurlyInString: values that look like references.

import { expect, it } from 'vitest';
import { railway } from '../../src/adapters/sync/railway';
import { failsCleanly } from './failures';
import { startRailway } from './fakes/railway.ts';
import { fastClock, keepsTheContract, running, short, sync } from './sync';

const shared = { token: 'account-token', projectId: 'project-1', environmentId: 'environment-1' };
const service = { ...shared, serviceId: 'service-1' };
const byProject = { ...service, token: 'project-token', tokenType: 'project' };

for (const [what, config] of Object.entries({ shared, service, byProject })) {
  it(`sync: railway keeps the contract of all platforms, ${what}`, async () => {
    const fake = await running(startRailway());
    const vars = what === 'shared' ? fake.shared : fake.service;
    await keepsTheContract(railway, config, fake, {
      read: (name) => vars[name] ?? null,
      foreign: () => Object.assign(vars, { FOREIGN: 'theirs' }),
      hasForeign: () => vars.FOREIGN === 'theirs',
      wrong: { token: 'another' },
    });
    expect(what === 'shared' ? fake.service : fake.shared).toEqual({});
    expect(fake.deployments).toBe(0);
  });
}

it('sync: railway fails cleanly', async () => {
  const fake = await running(startRailway());
  await failsCleanly(railway, service, fake, {
    missing: { projectId: 'another' },
    listings: [
      {},
      [],
      { data: null },
      { data: { variables: null } },
      { data: { variables: [] } },
      { errors: {} },
    ],
    read: (name) => fake.service[name],
  });
  for (const missing of [{ environmentId: 'another' }, { serviceId: 'another' }])
    expect(short(await sync(railway, { ...service, ...missing }, fake, { A: 'a' }))).toEqual([
      'A failed TARGET_NOT_FOUND',
    ]);
});

it('sync: railway gets one call for all names and one more for all deletions', async () => {
  const fake = await running(startRailway());
  const many = Object.fromEntries(Array.from({ length: 40 }, (_, i) => [`NAME_${i}`, `value ${i}`]));
  const first = await sync(railway, service, fake, many);
  expect(fake.writes()).toHaveLength(1);
  fake.service.FOREIGN = 'theirs';
  const second = await sync(
    railway,
    service,
    fake,
    { NAME_0: 'changed' },
    { owned: first.owned, gone: ['NAME_1', 'NAME_2', 'NAME_3'] },
  );
  expect(short(second)).toEqual(['NAME_0 updated', 'NAME_1 deleted', 'NAME_2 deleted', 'NAME_3 deleted']);
  expect(fake.writes()).toHaveLength(3);
  expect(Object.keys(fake.service)).toHaveLength(38);
});

it('sync: railway never sends a token of one kind in the header of the other', async () => {
  const fake = await running(startRailway());
  await sync(railway, byProject, fake, { A: 'a' });
  await sync(railway, service, fake, { A: 'a' });
  expect(
    fake.requests.map(({ headers }) => [headers.authorization, headers['project-access-token']]),
  ).toEqual([
    [undefined, 'project-token'],
    [undefined, 'project-token'],
    ['Bearer account-token', undefined],
  ]);
});

it('sync: railway compares values as they were set, and refuses values that would be read as a reference', async () => {
  const fake = await running(startRailway());
  fake.service.DATABASE = '${{Postgres.URL}}';
  const result = await sync(railway, service, fake, {
    DATABASE: '${{Postgres.URL}}',
    OPEN: 'a ${{ b',
    PLAIN: '${A} {{b}} $${c}',
  });
  expect(short(result)).toEqual([
    'DATABASE failed VALUE_NOT_ALLOWED',
    'OPEN failed VALUE_NOT_ALLOWED',
    'PLAIN created',
  ]);
  expect(fake.service.DATABASE).toBe('${{Postgres.URL}}');
  expect(fake.requests[0]?.json.query).toContain('unrendered: true');
});

it('sync: railway with a variable that is sealed: it has no value, and is written', async () => {
  const fake = await running(startRailway());
  fake.interrupt = ({ json }) =>
    json.query.startsWith('query') ? { status: 200, body: { data: { variables: { SEALED: null } } } } : null;
  expect(short(await sync(railway, service, fake, { SEALED: 'ours' }))).toEqual(['SEALED updated']);
});

it('sync: railway with errors next to data has written nothing that it can confirm', async () => {
  const fake = await running(startRailway());
  const errors = [{ message: 'Problem processing request', extensions: { code: 'INTERNAL_SERVER_ERROR' } }];
  fake.interrupt = ({ json }) =>
    json.query.startsWith('mutation')
      ? { status: 200, body: { data: { variableCollectionUpsert: true }, errors } }
      : null;
  const result = await sync(railway, service, fake, { A: 'a' });
  expect(short(result)).toEqual(['A failed TARGET_REJECTED']);
  expect(result.results[0]?.message).toBe('The target answered with status 200 (INTERNAL_SERVER_ERROR).');
  fake.interrupt = ({ json }) =>
    json.query.startsWith('mutation')
      ? { status: 200, body: { data: { variableCollectionUpsert: false } } }
      : null;
  expect(short(await sync(railway, service, fake, { A: 'a' }))).toEqual(['A failed TARGET_REJECTED']);
});

it('sync: railway reports each deletion separately', async () => {
  const fake = await running(startRailway());
  const first = await sync(railway, service, fake, { GONE: 'g', KEPT: 'k', MINE: 'm', THEIRS: 't' });
  const errors = [
    { message: 'Variable not found', path: ['d0'] },
    { message: 'Not Authorized', path: ['d1'] },
    { message: 'Problem processing request', path: ['d2'] },
  ];
  fake.interrupt = ({ json }) =>
    json.query.startsWith('mutation') ? { status: 200, body: { data: { d3: true }, errors } } : null;
  const pruned = await sync(
    railway,
    service,
    fake,
    {},
    { owned: first.owned, gone: ['GONE', 'KEPT', 'MINE', 'THEIRS'] },
  );
  expect(short(pruned)).toEqual([
    'GONE deleted',
    'KEPT failed TARGET_AUTH',
    'MINE failed TARGET_REJECTED',
    'THEIRS deleted',
  ]);
});

it('sync: railway: a deletion that the vendor does not confirm has failed', async () => {
  const fake = await running(startRailway());
  const { owned } = await sync(railway, service, fake, { ONE: '1', TWO: '2' });
  for (const body of [
    { errors: [{ message: 'Bad syntax' }] },
    { errors: 'x', data: { d0: true, d1: true } },
    { data: {} },
    {},
    [],
    'no JSON',
  ]) {
    fake.interrupt = ({ json }) => (json.query.startsWith('mutation') ? { status: 200, body } : null);
    const pruned = await sync(railway, service, fake, {}, { owned, gone: ['ONE', 'TWO'] });
    expect([body, ...short(pruned)]).toEqual([
      body,
      'ONE failed TARGET_REJECTED',
      'TWO failed TARGET_REJECTED',
    ]);
  }
});

it('sync: railway deletes names one by one if one has disappeared', async () => {
  const fake = await running(startRailway());
  const { owned } = await sync(railway, service, fake, { ONE: '1', TWO: '2', THREE: '3' });
  fake.interrupt = ({ json }) => {
    if (json.query.startsWith('mutation')) delete fake.service.TWO;
    return null;
  };
  const pruned = await sync(railway, service, fake, {}, { owned, gone: ['ONE', 'TWO', 'THREE'] });
  expect(short(pruned)).toEqual(['ONE deleted', 'THREE deleted', 'TWO deleted']);
  expect(fake.service).toEqual({});
});

it('sync: railway waits if a rate limit has status 200', async () => {
  const fake = await running(startRailway());
  const limited = {
    status: 200,
    headers: { 'Retry-After': '9' },
    body: { errors: [{ message: 'Rate limit exceeded' }] },
  };
  fake.interrupt = (_, n) => (n === 1 ? limited : null);
  const clock = fastClock();
  expect(short(await sync(railway, service, fake, { A: 'a' }, { clock }))).toEqual(['A created']);
  expect(clock.slept).toEqual([9000]);
});

it('vendor: the railway server refuses what the vendor would', async () => {
  const fake = await running(startRailway());
  const send = async (query: string, variables: unknown, headers: Record<string, string> = {}) => {
    const all = { Authorization: 'Bearer account-token', 'Content-Type': 'application/json', ...headers };
    const answer = await fetch(`${fake.url}/graphql/v2`, {
      method: 'POST',
      headers: all,
      body: JSON.stringify({ query, variables }),
    });
    return ((await answer.json()) as { errors?: { message: string }[] }).errors?.[0]?.message ?? null;
  };
  const upsert = 'mutation ($i: VariableCollectionUpsertInput!) { variableCollectionUpsert(input: $i) }';
  const place = { projectId: 'project-1', environmentId: 'environment-1' };
  expect(await send(upsert, { i: { ...place, variables: { A: 'a' } } })).toBe(null);
  expect(
    await send(upsert, { i: { ...place, variables: { A: 'a' } } }, { Authorization: 'Bearer project-token' }),
  ).toBe('Not Authorized');
  expect(await send(upsert, { i: { ...place, variables: { A: 1 } } })).toContain('map of texts');
  expect(await send(upsert, { i: { ...place, variables: { 'A-B': 'a' } } })).toBe('Invalid variable name');
  expect(await send(upsert, { i: { ...place, extra: 1, variables: {} } })).toContain('extra');
  expect(await send('query { variables(projectId: "project-1") }', {})).toContain('environmentId');
  expect(await send('mutation { nothing }', {})).toContain('nothing');
});
