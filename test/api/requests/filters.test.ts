// Filters of lists: each finds exactly the items that its documentation says, on every page, and for the
// audit log in the gate and in D1 alike. The filters come from the route table, so a new one without a row
// here fails.
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { routes } from '../../../src/domains';
import type { Entry } from '../../../src/gate/audit/entry';
import { reportViolation } from '../../../src/gate/audit/integrity';
import { newAgent, newKey, newSession } from '../../support/credentials';
import { inCore } from '../../support/gate';
import { newApprovalPolicy, newOffice } from '../../support/governance/approvals';
import { append } from '../../support/governance/audit';
import { deliverAll, newWebhook, useReceivers } from '../../support/integrations/webhooks';
import { newGrant, newMember, newTeam } from '../../support/people';
import { newLink, view } from '../../support/shares';
import { newSignedIn } from '../../support/signin/browser';
import { newDevice } from '../../support/signin/device';
import { few, slow } from '../../support/slow';
import { BOOTSTRAP, type Caller, newOrg, newSecret, send, useWorld } from '../../support/world';

useWorld();
useReceivers();

const OF_ORG = '/orgs/{org_id}';
/** Parameters of lists that are no filters: how to list, and what to compare. */
const OTHER = new Set(['limit', 'cursor', 'format', 'sort', 'delimiter', 'environments']);
const isList = ({ answers }: (typeof routes)[number]) =>
  answers[200] instanceof z.ZodObject && 'next_cursor' in answers[200].shape && 'data' in answers[200].shape;
const FILTERS = routes
  .filter((route) => route.method === 'get' && isList(route))
  .flatMap(({ path, query }) =>
    Object.keys((query as z.ZodObject | undefined)?.shape ?? {})
      .filter((name) => !OTHER.has(name))
      .map((name) => `${path.slice(OF_ORG.length)} ${name}`),
  );

// biome-ignore lint/suspicious/noExplicitAny: tests look into answers freely
type Item = any;

/** All items of a list, page by page. */
async function all(o: Caller, path: string, limit = 3): Promise<Item[]> {
  const items: Item[] = [];
  for (let cursor = ''; ; ) {
    const { json, status, text } = await o.get(
      `${path}${path.includes('?') ? '&' : '?'}limit=${limit}${cursor}`,
    );
    if (status !== 200) throw new Error(text);
    items.push(...json.data);
    if (!json.next_cursor) return items;
    cursor = `&cursor=${json.next_cursor}`;
  }
}

/** What identifies an item. A comparison is of a name. */
const idOf = ({ id, name }: Item): string => id ?? name;

interface Prepared {
  o: Caller;
  /** The path of the list, without a filter. */
  path: string;
  /** Everything that a filter may find; the list without a filter if absent. */
  items?: Item[];
  values: string[];
  is(item: Item, value: string): boolean;
}

async function secrets(): Promise<Omit<Prepared, 'values' | 'is'>> {
  const o = await newOrg();
  const made = [];
  for (const [name, type, environment, tags] of [
    ['app/A', 'generic', 'production', { team: 'core' }],
    ['app/B', 'password', 'staging', { team: 'web' }],
    ['APP/C', 'generic', 'production', { team: 'core', tier: '1' }],
    ['app_D', 'api_key', 'development', {}],
    ['over', 'generic', 'production', {}],
  ] as const)
    made.push(
      await newSecret(o, { name, type, environment, tags, ...(name === 'over' && { ttlSeconds: 1 }) }),
    );
  await o.del(`/secrets/${made[3]?.id}`);
  await new Promise((resolve) => setTimeout(resolve, 1100));
  const items = [];
  for (const { id } of made) items.push(...(await all(o, `/secrets?id=${id}`)));
  return { o, path: '/secrets', items };
}
const notDeleted = ({ status }: Item) => status !== 'deleted';

async function deliveries(): Promise<Omit<Prepared, 'values' | 'is'>> {
  const o = await newOrg();
  const { id } = await newWebhook(o);
  await newSecret(o);
  await deliverAll(o);
  await newSecret(o);
  return { o, path: `/webhooks/${id}/deliveries` };
}

async function office() {
  const { o, ann, asked } = await newOffice();
  await newApprovalPolicy(o, ['secret.rotate']);
  const ids = [];
  for (let n = 0; n < 3; n++) {
    const { id } = await newSecret(o);
    ids.push((await asked.post(`/secrets/${id}/rotate`, { value: 'x' })).json.error.approval.id);
  }
  await asked.post(`/approvals/${ids[1]}/cancel`);
  await ann.o.post(`/approvals/${ids[2]}/approve`);
  return { o: ann.o as Caller, path: '/approvals' };
}

const lists: Record<string, () => Promise<Prepared>> = {
  '/secrets environment': async () => ({
    ...(await secrets()),
    values: ['production', 'staging', 'development'],
    is: (one, value) => notDeleted(one) && one.environment === value,
  }),
  '/secrets type': async () => ({
    ...(await secrets()),
    values: ['generic', 'password', 'api_key', 'private_key'],
    is: (one, value) => notDeleted(one) && one.type === value,
  }),
  '/secrets prefix': async () => ({
    ...(await secrets()),
    values: ['app/', 'app', 'APP', 'o', 'x', '%', '_'],
    is: (one, value) => notDeleted(one) && one.name.startsWith(value),
  }),
  '/secrets contains': async () => ({
    ...(await secrets()),
    values: ['app', 'PP/', 'o', 'x', '%', '_'],
    is: (one, value) => notDeleted(one) && one.name.toLowerCase().includes(value.toLowerCase()),
  }),
  '/secrets status': async () => ({
    ...(await secrets()),
    values: ['active', 'expired', 'revoked', 'deleted'],
    is: (one, value) => one.status === value,
  }),
  '/secrets tag': async () => ({
    ...(await secrets()),
    values: ['team', 'team:core', 'team:web', 'tier:1', 'tier:2', 'core'],
    is(one, value) {
      const [key = '', tagged] = value.split(':');
      return notDeleted(one) && (tagged === undefined ? key in one.tags : one.tags[key] === tagged);
    },
  }),
  '/secrets id': async () => {
    const made = await secrets();
    return {
      ...made,
      values: [...(made.items ?? []).map(({ id }) => id), 'sec_0'],
      is: (one, value) => one.id === value,
    };
  },
  '/members status': async () => {
    const { o } = await newSignedIn();
    for (let n = 0; n < 4; n++) await newMember(o);
    return {
      o,
      path: '/members',
      values: ['invited', 'active', 'lapsed'],
      is: (one, value) => one.status === value,
    };
  },
  '/devices status': async () => {
    const { o } = await devices();
    return { o, path: '/devices', values: ['active', 'blocked'], is: (one, value) => one.status === value };
  },
  '/devices member_id': async () => {
    const { o, members } = await devices();
    return { o, path: '/devices', values: members, is: (one, value) => one.member_id === value };
  },
  '/grants grantee': async () => {
    const o = await newOrg();
    const member = (await newMember(o)).id;
    const team = await newTeam(o);
    const agent = (await newAgent(o)).id;
    for (let n = 0; n < 2; n++) await newGrant(o, 'member', member);
    await newGrant(o, 'team', team);
    await o.post('/grants', { grantee: { type: 'agent', id: agent }, permission: 'read' });
    return {
      o,
      path: '/grants',
      values: [member, team, agent, 'mem_0'],
      is: (one, value) => one.grantee.id === value,
    };
  },
  '/approvals status': async () => ({
    ...(await office()),
    values: ['pending', 'approved', 'rejected', 'cancelled', 'used', 'expired', 'void'],
    is: (one, value) => one.status === value,
  }),
  '/approvals waiting_for': async () => ({
    ...(await office()),
    values: ['me'],
    is: (one) => one.status === 'pending',
  }),
  '/incidents credential': async () => {
    const o = await newOrg();
    const keys = [(await newKey(o)).id, (await newKey(o)).id];
    for (const id of [...keys, keys[0]]) await o.post(`/credentials/${id}/contain`, {});
    return {
      o,
      path: '/incidents',
      values: [...keys, 'key_0'],
      is: (one, value) => one.credential?.id === value,
    };
  },
  '/environments/compare prefix': async () => {
    const { o } = await secrets();
    const path = '/environments/compare?environments=production,staging';
    return { o, path, values: ['app/', 'APP', 'o', '%'], is: (one, value) => one.name.startsWith(value) };
  },
  '/incidents status': async () => {
    const o = await newOrg();
    for (let n = 0; n < 4; n++) await o.post(`/credentials/${(await newKey(o)).id}/contain`, {});
    const [{ id }] = await all(o, '/incidents');
    await o.patch(`/incidents/${id}`, { status: 'closed' });
    return { o, path: '/incidents', values: ['open', 'closed'], is: (one, value) => one.status === value };
  },
  '/webhooks/{id}/deliveries status': async () => ({
    ...(await deliveries()),
    values: ['pending', 'delivered', 'failed'],
    is: (one, value) => one.status === value,
  }),
};

async function devices() {
  const o = await newOrg();
  const members = [(await newMember(o)).id, (await newMember(o)).id];
  for (let n = 0; n < 4; n++) {
    const { id } = await newDevice(o);
    if (n < 3) await o.post(`/devices/${id}/assign`, { member_id: members[n % 2] });
    if (n === 1) await o.post(`/devices/${id}/block`);
  }
  return { o, members };
}

describe('filters', () => {
  it('all are in this test', () => {
    const known = [...Object.keys(lists), ...Object.keys(audited).map((name) => `/audit-log ${name}`)];
    expect(known.sort()).toEqual(FILTERS.sort());
  });

  it.each(few(Object.entries(lists), 4))('%s', async (what, prepare) => {
    const { o, path, items, values, is } = await prepare();
    const every = items ?? (await all(o, path));
    const filter = `${path}${path.includes('?') ? '&' : '?'}${what.split(' ')[1]}`;
    const found = await Promise.all(values.map((value) => all(o, `${filter}=${encodeURIComponent(value)}`)));
    for (const [index, value] of values.entries())
      expect(found[index]?.map(idOf).sort(), value).toEqual(
        every
          .filter((one) => is(one, value))
          .map(idOf)
          .sort(),
      );
    // The items tell the filter's values apart.
    expect(found.some(({ length }) => length > 0)).toBe(true);
  });
});

// ---------------------------------------------------------------- audit log

/** Entries of every kind of actor, outcome and subject; the older half in D1. */
async function history() {
  const { o, browser } = await newSignedIn();
  const make = async () => {
    const secret = await newSecret(o);
    await newSession(o).then((session) => session.o.get(`/secrets/${secret.id}`));
    await newAgent(o).then((agent) => agent.o.get(`/secrets/${secret.id}`));
    await browser.o.get(`/secrets/${secret.id}`);
    await newKey(o, { scopes: ['secrets:list'] }).then((key) => key.o.get(`/secrets/${secret.id}`));
    await o.get('/secrets/sec_0');
    await o.post('/integrations/import', {
      source: 'svc',
      onConflict: 'overwrite',
      data: { [secret.name]: crypto.randomUUID() },
    });
    await newLink(o, secret.id).then(view);
    await send('POST', `/api/v1/orgs/${o.id}/recovery`, { token: BOOTSTRAP, body: { reason: 'lost' } });
    const met = { request_id: crypto.randomUUID(), ip: '', user_agent: null };
    await inCore(o, (core) =>
      reportViolation(core, { event: 'database_diverged', resource: secret.id }, met),
    );
    // As releases before 0.5.0 wrote it.
    await append(o, 1, () => ({
      actor: { kind: 'system', id: null, parent_id: null, name: null },
      action: 'integrity.alarm',
      resource: secret.id,
    }));
    await append(o, 1, () => ({
      actor: { kind: 'trust', id: null, parent_id: null, name: 'ci' },
      action: 'auth.exchange_refused',
    }));
  };
  await make();
  await send('POST', `/api/v1/orgs/${o.id}/audit-log/archive`, { token: BOOTSTRAP });
  await make();
  return o;
}

const audited: Record<
  string,
  { values(entries: Entry[]): string[]; is(entry: Entry, value: string): boolean }
> = {
  actor: {
    values: (entries) => [
      'system',
      'key_0',
      ...entries.flatMap(({ actor: { id, kind, parent_id } }) =>
        [id ?? [], (kind === 'member' && parent_id) || []].flat(),
      ),
    ],
    is: ({ actor: { id, kind, parent_id } }, value) =>
      id === value ||
      (kind === 'member' && parent_id === value) ||
      (value === 'system' && kind === 'system' && id === null),
  },
  action: {
    values: (entries) => ['secret.read,integrity.alarm', 'none', ...entries.map(({ action }) => action)],
    is: ({ action }, value) => value.split(',').includes(action),
  },
  resource: {
    values: (entries) => ['sec_0', ...entries.flatMap(({ resource }) => resource ?? [])],
    is: ({ resource, imported }, value) =>
      resource === value || Object.hasOwn(imported?.versions ?? {}, value),
  },
  outcome: { values: () => ['success', 'denied', 'failed'], is: ({ outcome }, value) => outcome === value },
  from: { values: (entries) => entries.map(({ time }) => time), is: ({ time }, value) => time >= value },
  to: { values: (entries) => entries.map(({ time }) => time), is: ({ time }, value) => time < value },
};

describe('filters of the audit log', () => {
  slow('find every entry that they describe, in the gate and in D1', async () => {
    const o = await history();
    const entries: Entry[] = (await all(o, '/audit-log', 100)).filter(
      ({ action }) => action !== 'audit.read',
    );
    const segments = await inCore(o, ({ auditLog }) => auditLog.oldest());
    expect(entries.filter(({ sequence }) => sequence < segments).length).toBeGreaterThan(10);
    for (const [name, { values, is }] of Object.entries(audited)) {
      const distinct = [...new Set(values(entries))];
      for (const value of distinct) {
        const found = (await all(o, `/audit-log?${name}=${encodeURIComponent(value)}`, 20)).filter(
          ({ action }) => action !== 'audit.read',
        );
        const expected = entries.filter((entry) => is(entry, value));
        expect(
          found.map(({ sequence }) => sequence),
          `${name}=${value}`,
        ).toEqual(expected.map(({ sequence }) => sequence));
      }
    }
  });

  slow(
    'actor=system finds integrity violations and scheduled work, those of earlier releases too',
    async () => {
      const o = await history();
      const found = await all(o, '/audit-log?actor=system&action=integrity.alarm');
      expect(found.map(({ actor }) => actor.id)).toEqual([null, 'system', null, 'system']);
      expect(new Set(found.map(({ actor }) => actor.kind))).toEqual(new Set(['system']));
    },
  );

  it('actor=bootstrap finds what the operator did, and the id of a link who viewed it, which actor=system does not', async () => {
    const o = await newOrg();
    const { id } = await newSecret(o);
    const link = (await o.post(`/secrets/${id}/share`, { kind: 'link', expires_in: 600, max_views: 1 })).json;
    expect((await send('POST', `/s/${link.id}`, { body: { key: link.url.split('#')[1] } })).status).toBe(200);
    const by = async (actor: string) =>
      (await o.get(`/audit-log?actor=${actor}`)).json.data.map(({ action }: Entry) => action);
    const kinds = async (actor: string) =>
      (await o.get(`/audit-log?actor=${actor}`)).json.data.map((entry: Entry) => entry.actor.kind);
    expect([await by('bootstrap'), await by(link.id)]).toEqual([['org.create'], ['secret.share_view']]);
    expect([await kinds('bootstrap'), await kinds(link.id)]).toEqual([['system'], ['system']]);
    const system = await by('system');
    expect(['org.create', 'secret.share_view'].filter((action) => system.includes(action))).toEqual([]);
  });

  slow('a resource that looks like a path of JSON finds nothing', async () => {
    const o = await history();
    for (const value of ["$.a' or 1=1 --", '$', '"', '*', '%']) {
      const { status, json } = await o.get(`/audit-log?resource=${encodeURIComponent(value)}`);
      expect([status, json.data], value).toEqual([200, []]);
    }
  });
});
