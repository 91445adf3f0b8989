// The histogram of the audit log: it counts what the list shows, to each caller.
import { beforeEach, describe, expect, it } from 'vitest';
import type { Entry } from '../../../src/gate/audit/entry';
import { newAgent, newKey } from '../../support/credentials';
import { faults } from '../../support/faults';
import { inCore } from '../../support/gate';
import { append, draft } from '../../support/governance/audit';
import { moveLog } from '../../support/storage/planted';
import { DAY, HOUR, MINUTE } from '../../support/time';
import { type Caller, newOrg, newSecret, useWorld } from '../../support/world';

useWorld();

const START = Date.parse('2027-01-01T00:00:00.000Z');
beforeEach(() => {
  faults.clock = START;
  faults.isAlarmHeld = true;
});

interface Bucket {
  time: string;
  success: number;
  denied: number;
  failed: number;
  groups: Record<string, number>;
}

const histogram = async (o: Caller, query = '') => {
  const { status, json, text } = await o.get(`/audit-log/histogram?${query}`);
  expect(status, text).toBe(200);
  return json as { from: string; to: string; complete_from: string; data: Bucket[] };
};

/** What the list shows, counted as the histogram does. */
async function countedFromList(
  o: Caller,
  query: string,
  { from, to, data }: { from: string; to: string; data: Bucket[] },
) {
  const text = (await o.get(`/audit-log?format=ndjson&${query}&from=${from}&to=${to}`)).text;
  const entries = text
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line) as Entry);
  const begins = data.map(({ time }) => Date.parse(time));
  const all: Bucket[] = data.map(({ time }) => ({ time, success: 0, denied: 0, failed: 0, groups: {} }));
  for (const { time, outcome, action, count } of entries) {
    const bucket = all[begins.findLastIndex((begin) => begin <= Date.parse(time))] as Bucket;
    bucket[outcome] += count;
    const [group = ''] = action.split('.');
    bucket.groups[group] = (bucket.groups[group] ?? 0) + count;
  }
  return all;
}

const ACTIONS = ['secret.list', 'secret.read', 'member.list', 'org.read', 'secret.delete'];
const STATUSES = [200, 403, 409];
const PLACES = [
  [null, null],
  ['staging', 'app/ONE'],
  ['staging', 'other'],
  ['production', 'app/ONE'],
] as const;

/** A log of seven days, by several actors in several places, of which the older part is in D1. */
async function newLog(seed: number, moved = 40) {
  faults.clock = START;
  const o = await newOrg();
  const staging = (await newKey(o, { scopes: ['audit:read'], environments: ['staging'] })).o;
  const names = (await newKey(o, { scopes: ['audit:read'], secrets: ['app/*'] })).o;
  let state = seed;
  const random = (most: number) => {
    state = (state * 1103515245 + 12345) % 2 ** 31;
    return Math.floor((state / 2 ** 31) * most);
  };
  await inCore(o, ({ storage, auditLog }) =>
    storage.transactionSync(() => {
      let at = START;
      for (let n = 0; n < 300; n++) {
        at += random(HOUR);
        const [environment, resource_name] = PLACES[random(PLACES.length)] as (typeof PLACES)[number];
        const actor = { kind: 'api_key', id: `key_${random(3)}`, parent_id: null, name: null };
        const action = ACTIONS[random(ACTIONS.length)] as string;
        const fields = { actor, action, environment, resource_name, resource: `sec_${random(3)}` };
        auditLog.append(draft(fields), STATUSES[random(STATUSES.length)] as number, at, 1 + random(3));
      }
      faults.clock = at + MINUTE;
    }),
  );
  await moveLog(o, moved);
  return { o, staging, names, random };
}

const FILTERS = [
  '',
  'outcome=denied',
  'action=secret.read',
  'action=secret.read,org.read',
  'actor=key_1',
  'resource=sec_2',
];

describe('audit histogram: what it counts', () => {
  it.each([1, 2, 3])('property: agrees with the list, for each caller and filter (seed %i)', async (seed) => {
    const { o, staging, names, random } = await newLog(seed);
    for (const by of [o, staging, names])
      for (const filter of FILTERS) {
        const from = START + random(3 * DAY);
        // Up to now: reading adds entries itself.
        const to = Math.min(from + 1 + random(5 * DAY), faults.clock as number);
        const span = `from=${new Date(from).toISOString()}&to=${new Date(to).toISOString()}`;
        const counted = await histogram(by, `${filter}&${span}&buckets=${1 + random(50)}`);
        expect(counted.complete_from).toBe(counted.from);
        expect(counted.data, `${filter} ${span}`).toEqual(await countedFromList(by, filter, counted));
      }
  });

  it('is of the last seven days by default, up to now, in 24 parts', async () => {
    const o = await newOrg();
    const { from, to, complete_from, data } = await histogram(o);
    expect(Date.parse(to)).toBe(START + 1);
    expect(Date.parse(from)).toBe(START + 1 - 7 * DAY);
    expect(complete_from).toBe(from);
    expect(data).toHaveLength(24);
    expect(data.at(-1)).toMatchObject({ success: 1, groups: { org: 1 } });
    expect((await o.get('/audit-log?action=audit.histogram')).json.data).toHaveLength(1);
  });

  it('counts refusals over the rate limit as requests', async () => {
    const o = await newOrg();
    const { o: agent } = await newAgent(o, { scopes: ['audit:read'], rate_limit: 1 });
    for (let n = 0; n < 5; n++) await agent.get('/audit-log');
    faults.clock = START + 2 * MINUTE;
    const { data } = await histogram(o, 'outcome=denied');
    expect(data.at(-1)?.denied).toBe(4);
  });

  it('opens 50 segments, and says from when on it is complete', async () => {
    const o = await newOrg();
    for (let n = 1; n <= 60; n++) await append(o, 5, () => ({}), START + n * MINUTE);
    faults.clock = START + HOUR + MINUTE;
    await moveLog(o, 5);
    const now = new Date(faults.clock).toISOString();
    const { from, to, complete_from, data } = await histogram(o, `to=${now}`);
    expect(Date.parse(complete_from)).toBeGreaterThan(Date.parse(from));
    const sum = (parts: Bucket[]) => parts.reduce((all, { success }) => all + success, 0);
    const rest = await histogram(o, `from=${from}&to=${complete_from}`);
    expect(rest.complete_from).toBe(rest.from);
    const again = await histogram(o, `from=${complete_from}&to=${to}`);
    expect(again.complete_from).toBe(again.from);
    // The oldest of ten segments ends a round.
    const oldest = await histogram(o, `to=${new Date(START + 49 * MINUTE + 1).toISOString()}`);
    expect(oldest.complete_from).toBe(oldest.from);
    expect(sum(data)).toBeGreaterThanOrEqual(sum(again.data));
    expect(sum(rest.data) + sum(again.data)).toBe(301);
  });

  it('refuses what is no time and no number of parts', async () => {
    const o = await newOrg();
    const at = (ms: number) => new Date(START + ms).toISOString();
    for (const query of [
      'buckets=0',
      'buckets=401',
      'from=x',
      `from=${at(2)}&to=${at(1)}`,
      `from=${at(1)}&to=${at(1)}`,
      'limit=1',
    ])
      expect((await o.get(`/audit-log/histogram?${query}`)).status, query).toBe(400);
    expect((await (await newKey(o, { scopes: ['secrets:list'] })).o.get('/audit-log/histogram')).status).toBe(
      403,
    );
  });
});

describe('audit histogram: nothing that the caller may not see', () => {
  it.each([
    ['an environment', { environments: ['staging'] }, { name: 'app/ONE', environment: 'production' }],
    ['names', { secrets: ['app/*'] }, { name: 'other/ONE', environment: 'staging' }],
  ])('permission: is the same whether or not something happened outside %s', async (_, limits, hidden) => {
    const bytes: string[] = [];
    for (const isThere of [false, true]) {
      const o = await newOrg();
      const by = (await newKey(o, { scopes: ['audit:read'], ...limits })).o;
      await newSecret(o, { name: 'app/SEEN', environment: 'staging' });
      if (isThere) await newSecret(o, hidden);
      bytes.push((await by.get('/audit-log/histogram')).text);
    }
    expect(bytes[1]).toBe(bytes[0]);
  });
});
