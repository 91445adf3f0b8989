import { expect, it } from 'vitest';
import { hcpTerraform } from '../../src/adapters/sync/hcp-terraform';
import {
  startHcpTerraform,
  type TerraformVariable,
  VARSET,
  variable,
  WORKSPACE,
} from './fakes/hcp-terraform.ts';
import { keepsTheContract, running, short, sync } from './sync';

const token = 'terraform-token';
const config = { token, workspaceId: 'ws-demo' };

const started = async () => {
  const fake = await running(startHcpTerraform());
  return { fake, rows: fake.owners.get(WORKSPACE) as TerraformVariable[] };
};

it.each([
  ['a workspace', config, WORKSPACE, 'env'],
  ['a variable set', { token, varsetId: 'varset-demo' }, VARSET, 'env'],
  ['Terraform variables', { ...config, category: 'terraform' }, WORKSPACE, 'terraform'],
] as const)(
  'sync: hcp-terraform keeps the contract of all platforms (%s)',
  async (_what, given, owner, category) => {
    const { fake } = await started();
    const rows = fake.owners.get(owner) as TerraformVariable[];
    const foreign = variable('FOREIGN', { category, sensitive: false });
    await keepsTheContract(hcpTerraform, given, fake, {
      read: (name) => rows.find(({ key }) => key === name)?.value,
      foreign: () => void rows.push(foreign),
      hasForeign: () => rows.includes(foreign) && foreign.value === 'theirs',
      wrong: { token: 'another' },
    });
    for (const row of rows)
      if (row !== foreign) expect(row).toMatchObject({ category, sensitive: true, hcl: false });
  },
);

it('sync: hcp-terraform reads, changes and deletes only variables of its own category', async () => {
  const { fake, rows } = await started();
  const other = variable('region', { category: 'terraform' });
  rows.push(other, variable('OLD', { category: 'terraform' }));
  const first = await sync(hcpTerraform, config, fake, { region: 'one', OLD: 'old' });
  expect(short(first)).toEqual(['OLD created', 'region created']);
  const second = await sync(
    hcpTerraform,
    config,
    fake,
    { region: 'two' },
    { owned: first.owned, gone: ['OLD'] },
  );
  expect(short(second)).toEqual(['OLD deleted', 'region updated']);
  expect(rows.map(({ key, category, value }) => `${key} ${category} ${value}`)).toEqual([
    'region terraform theirs',
    'OLD terraform theirs',
    'region env two',
  ]);
});

it.each(['links', 'meta'] as const)(
  'sync: hcp-terraform reads every page before it decides what exists (%s)',
  async (paging) => {
    const { fake, rows } = await started();
    fake.paging = paging;
    for (let i = 0; i < 10; i++) rows.push(variable(`OTHER_${i}`));
    expect(short(await sync(hcpTerraform, config, fake, { OTHER_9: 'ours', NEW: 'ours' }))).toEqual([
      'NEW created',
      'OTHER_9 updated',
    ]);
  },
);

it('sync: hcp-terraform makes equal values in plain view or HCL sensitive and literal', async () => {
  const { fake, rows } = await started();
  rows.push(
    variable('OPEN', { sensitive: false, value: 'same', description: 'theirs' }),
    variable('HCL', { hcl: true, value: 'same' }),
  );
  expect(short(await sync(hcpTerraform, config, fake, { OPEN: 'same', HCL: 'same' }))).toEqual([
    'HCL updated',
    'OPEN updated',
  ]);
  expect(rows).toMatchObject([
    { key: 'OPEN', sensitive: true, hcl: false, description: 'theirs' },
    { key: 'HCL', sensitive: true, hcl: false },
  ]);
});

it('sync: hcp-terraform updates names that appeared, and creates names that disappeared, after the listing', async () => {
  const { fake, rows } = await started();
  rows.push(variable('GOES'));
  fake.interrupt = ({ method }) => {
    if (method !== 'GET' && !rows.some(({ key }) => key === 'COMES')) rows.splice(0, 1, variable('COMES'));
    return null;
  };
  expect(short(await sync(hcpTerraform, config, fake, { COMES: 'ours', GOES: 'ours' }))).toEqual([
    'COMES updated',
    'GOES created',
  ]);
  expect(rows.map(({ key, value }) => `${key} ${value}`).sort()).toEqual(['COMES ours', 'GOES ours']);
});

it.each(['POST', 'PATCH', 'DELETE'])(
  'sync: hcp-terraform repeats a %s whose answer was lost',
  async (lostMethod) => {
    const { fake, rows } = await started();
    rows.push(variable('THERE'));
    const first = await sync(hcpTerraform, config, fake, { OLD: 'old' });
    let lost = 0;
    fake.interrupt = ({ method }) => (method === lostMethod && lost++ === 0 ? 'after' : null);
    const result = await sync(
      hcpTerraform,
      config,
      fake,
      { NEW: 'ours', THERE: 'ours' },
      { owned: first.owned, gone: ['OLD'] },
    );
    expect(short(result)).toEqual(['NEW created', 'OLD deleted', 'THERE updated']);
    expect(rows.map(({ key, value }) => `${key} ${value}`)).toEqual(['THERE ours', 'NEW ours']);
  },
);

it('sync: hcp-terraform tells an unknown workspace, a refused value, and another shape than documented', async () => {
  const { fake } = await started();
  const wrong = { token, workspaceId: 'ws-other' };
  expect(short(await sync(hcpTerraform, wrong, fake, { ALPHA: 'a' }))).toEqual([
    'ALPHA failed TARGET_NOT_FOUND',
  ]);
  fake.interrupt = ({ method }) =>
    method === 'POST'
      ? {
          status: 422,
          body: { errors: [{ status: '422', title: 'invalid attribute', detail: 'new-value' }] },
        }
      : null;
  const refused = await sync(hcpTerraform, config, fake, { ALPHA: 'new-value' });
  expect(refused.results).toMatchObject([
    { code: 'TARGET_REJECTED', message: 'The target answered with status 422.' },
  ]);
  const writes = fake.writes().length;
  for (const body of [
    [],
    {},
    { data: {} },
    { data: [{ id: 'var-1' }] },
    { data: [{ attributes: { key: 'A', category: 'env' } }] },
  ]) {
    fake.interrupt = ({ method }) => (method === 'GET' ? { status: 200, body } : null);
    expect(short(await sync(hcpTerraform, config, fake, { ALPHA: 'a' }))).toEqual([
      'ALPHA failed TARGET_REJECTED',
    ]);
  }
  expect(fake.writes()).toHaveLength(writes);
});

it('sync: hcp-terraform recognises a rate limit', async () => {
  const { fake } = await started();
  fake.interrupt = (_request, n) =>
    n < 3
      ? {
          status: 429,
          headers: { 'x-ratelimit-reset': '0.5' },
          body: { errors: [{ status: '429', title: 'Too many requests' }] },
        }
      : null;
  expect(short(await sync(hcpTerraform, config, fake, { ALPHA: 'a' }))).toEqual(['ALPHA created']);
});

it.each([
  ['neither workspace nor variable set', { token }],
  ['both', { ...config, varsetId: 'varset-demo' }],
  ['another category', { ...config, category: 'policy-set' }],
  ['a workspace that leads elsewhere', { token, workspaceId: '..' }],
])('sync: hcp-terraform takes no config with %s', (_what, given) => {
  expect(hcpTerraform.config.safeParse(given).success).toBe(false);
});

it('sync: the server in place of hcp-terraform is strict', async () => {
  const { fake, rows } = await started();
  const send = async (
    method: string,
    path: string,
    attributes?: unknown,
    more: { id?: string; type?: string; contentType?: string; token?: string } = {},
  ) => {
    const headers = {
      Authorization: `Bearer ${more.token ?? token}`,
      'Content-Type': more.contentType ?? 'application/vnd.api+json',
    };
    const body =
      attributes &&
      JSON.stringify({ data: { type: more.type ?? 'vars', ...(more.id && { id: more.id }), attributes } });
    return (
      await fetch(`${fake.url}${WORKSPACE}${path}`, {
        method,
        headers,
        ...(typeof body === 'string' && { body }),
      })
    ).status;
  };
  const given = { key: 'A', value: 'x', category: 'env', hcl: false, sensitive: true };
  expect(await send('POST', '', given, { contentType: 'application/json' })).toBe(415);
  expect(await send('POST', '', given, { token: 'another' })).toBe(401);
  expect(await send('POST', '', given, { type: 'var' })).toBe(422);
  expect(await send('POST', '', { ...given, category: 'other' })).toBe(422);
  expect(await send('POST', '', { ...given, hcl: 'no' })).toBe(422);
  expect(await send('POST', '', given)).toBe(201);
  expect(await send('POST', '', given)).toBe(422);
  const id = rows[0]?.id as string;
  expect(await send('PATCH', `/${id}`, { value: 'y' })).toBe(422);
  expect(await send('PATCH', `/${id}`, { sensitive: false }, { id })).toBe(422);
  expect(await send('DELETE', '')).toBe(404);
  expect(rows).toMatchObject([given]);
});
