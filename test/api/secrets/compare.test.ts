// Comparing environments: the state of each name, without a read of any value, and equality only for whoever
// could read the values.

import { describe, expect, it } from 'vitest';
import { newAgent, newKey } from '../../support/credentials';
import { faults } from '../../support/faults';
import { newApprovalPolicy } from '../../support/governance/approvals';
import { slow } from '../../support/slow';
import { type Caller, newOrg, useWorld } from '../../support/world';

useWorld();

const put = (o: Caller, environment: string, name: string, value: string) =>
  o.call('PUT', `/secrets/by-name/${name}?environment=${environment}`, { value });
const compare = (o: Caller, query = 'staging,production') =>
  o.get(`/environments/compare?environments=${query}`);

/** The statuses of each name, in the order of the environments. */
async function statuses(o: Caller, query?: string): Promise<Record<string, string[]>> {
  const { status, json, text } = await compare(o, query);
  expect(status, text).toBe(200);
  const rows: { name: string; environments: { status: string }[] }[] = json.data;
  return Object.fromEntries(
    rows.map(({ name, environments }) => [name, environments.map((state) => state.status)]),
  );
}

/** An organisation with names in every state. */
async function newPair() {
  const o = await newOrg();
  await put(o, 'staging', 'SAME', 'a value');
  await put(o, 'production', 'SAME', 'a value');
  await put(o, 'staging', 'OTHER', 'one');
  await put(o, 'production', 'OTHER', 'two');
  await put(o, 'staging', 'LEFT', 'x');
  await put(o, 'production', 'RIGHT', 'x');
  return o;
}

describe('compare environments: the state of each name', () => {
  slow('is told with version and time, from keyed digests, without a read of a value', async () => {
    const o = await newPair();
    await put(o, 'production', 'OTHER', 'three');
    faults.d1 = 0;
    const { json } = await compare(o);
    expect(json.data.map(({ name }: { name: string }) => name)).toEqual(['LEFT', 'OTHER', 'RIGHT', 'SAME']);
    const time = expect.stringMatching(/^2/);
    expect(json.data[1].environments).toEqual([
      { environment: 'staging', status: 'different', version: 1, time, group: 0 },
      { environment: 'production', status: 'different', version: 2, time, group: 1 },
    ]);
    expect(json.data[0].environments[1]).toEqual({
      environment: 'production',
      status: 'absent',
      version: null,
      time: null,
      group: null,
    });
    expect(await statuses(o)).toEqual({
      LEFT: ['present', 'absent'],
      OTHER: ['different', 'different'],
      RIGHT: ['absent', 'present'],
      SAME: ['same', 'same'],
    });
    expect(JSON.stringify(json)).not.toMatch(/fingerprint|a value|three/);
    expect(faults.d1).toBe(0);
    const { data } = (await o.get('/secrets?environment=production&sort=name')).json;
    for (const { id } of data) expect((await o.get(`/secrets/${id}/readers`)).json.data).toEqual([]);
    expect((await o.get('/audit-log?action=secret.compare')).json.data.length).toBeGreaterThan(0);
    expect((await o.get('/audit-log?action=secret.read,secret.read_all')).json.data).toEqual([]);
  });

  slow('covers several environments, by id or slug, a prefix, and pages', async () => {
    const o = await newPair();
    await put(o, 'development', 'OTHER', 'one');
    const { data } = (await o.get('/environments')).json;
    const id = data.find(({ slug }: { slug: string }) => slug === 'staging').id;
    expect((await statuses(o, `development,${id},production`)).OTHER).toEqual([
      'different',
      'different',
      'different',
    ]);
    const [{ environments }] = (await compare(o, `development,${id},production&prefix=OTHER`)).json.data;
    expect(environments.map(({ group }: { group: number }) => group)).toEqual([0, 0, 1]);
    expect((await statuses(o, `development,${id}`)).OTHER).toEqual(['same', 'same']);
    expect(Object.keys(await statuses(o, 'staging,production&prefix=S'))).toEqual(['SAME']);
    const names: string[] = [];
    for (let cursor = ''; ; ) {
      const { json } = await compare(o, `staging,production&limit=1${cursor && `&cursor=${cursor}`}`);
      expect(json.data).toHaveLength(1);
      names.push(json.data[0].name);
      if (!json.has_more) break;
      cursor = json.next_cursor;
    }
    expect(names).toEqual(['LEFT', 'OTHER', 'RIGHT', 'SAME']);
  });

  slow(
    'is not that of a deleted secret, and says of an expired or revoked one only that it exists',
    async () => {
      const o = await newPair();
      const idOf = async (name: string) =>
        (await o.get(`/secrets?environment=staging&prefix=${name}`)).json.data[0].id;
      await o.del(`/secrets/${await idOf('SAME')}`);
      await o.call('PUT', '/secrets/by-name/OTHER?environment=staging', { value: 'two', ttlSeconds: 60 });
      expect((await statuses(o)).OTHER).toEqual(['same', 'same']);
      faults.clock = Date.now() + 61_000;
      expect(await statuses(o)).toMatchObject({ SAME: ['absent', 'present'], OTHER: ['present', 'present'] });
      faults.clock = null;
    },
  );

  slow('refuses what is no list of different environments', async () => {
    const o = await newPair();
    for (const query of [
      '',
      'staging',
      'staging,',
      'staging,staging',
      Array.from({ length: 11 }, (_, i) => `e${i}`).join(','),
    ])
      expect((await compare(o, query)).status, query).toBe(400);
    expect((await compare(o, 'staging,nowhere')).status).toBe(404);
    expect((await o.get('/environments/compare')).status).toBe(400);
  });
});

describe('compare environments: what a caller learns', () => {
  it('is not whether values are equal, for a caller that may only list', async () => {
    const o = await newPair();
    const { o: lister } = await newKey(o, { scopes: ['secrets:list'] });
    expect(await statuses(lister)).toMatchObject({
      SAME: ['present', 'present'],
      OTHER: ['present', 'present'],
    });
    const { o: writer } = await newKey(o, { scopes: ['secrets:write'] });
    expect((await compare(writer)).json.error.code).toBe('INSUFFICIENT_SCOPE');
  });

  it('stays within the environments and names of the caller', async () => {
    const o = await newPair();
    const { o: one } = await newAgent(o, { environments: ['staging'] });
    for (const query of ['staging,production', 'production,staging', 'staging,nowhere'])
      expect((await compare(one, query)).json.error.code, query).toBe('INSUFFICIENT_SCOPE');
    for (const secrets of [['SAM*'], ['*AME']]) {
      const { o: some } = await newAgent(o, { secrets });
      expect(await statuses(some)).toEqual({ SAME: ['same', 'same'] });
    }
  });

  it('is not equality of a value whose read needs an approval', async () => {
    const o = await newPair();
    await newApprovalPolicy(o, ['secret.read'], {
      applies_to: { names: ['SAME'], environments: ['production'] },
    });
    expect(await statuses(o)).toMatchObject({
      SAME: ['present', 'present'],
      OTHER: ['different', 'different'],
    });
  });
});
