// Calls of upstreams, as the gate judges and records them: who may call what, what is durable when, and what
// ends a call. What is sent is tested with the forwarding.
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { utf8 } from '../../../src/crypto/bytes';
import { newId } from '../../../src/db/ids';
import { DAY } from '../../../src/db/rows';
import { actions, routes } from '../../../src/domains';
import { shownBody } from '../../../src/domains/upstreams/call/shown';
import { recordLost } from '../../../src/domains/upstreams/gate/use';
import { runTasks } from '../../../src/gate/tasks/run';
import { bodies } from '../../support/bodies';
import { contain, newAgent, newKey } from '../../support/credentials';
import { faults, until } from '../../support/faults';
import { evict, inCore } from '../../support/gate';
import { approvalIn, newApprovalPolicy, newOffice } from '../../support/governance/approvals';
import { begin, newUpstream, tell, upstreamIn } from '../../support/integrations/upstreams';
import { counted } from '../../support/limits/rows';
import { signIn } from '../../support/signin/browser';
import {
  type Answer,
  BOOTSTRAP,
  type Caller,
  db,
  newOrg,
  newSecret,
  send,
  useWorld,
  whoami,
} from '../../support/world';

useWorld();
beforeEach(() => {
  faults.clock = Date.now();
});
const later = (ms: number) => {
  faults.clock = (faults.clock ?? Date.now()) + ms;
};

const entries = async (o: Caller, action = 'secret.use') =>
  (await o.get(`/audit-log?action=${action}`)).json.data;
const intentOf = async (o: Caller, name: string, input = {}) => {
  const { data, code } = await begin(o, name, input);
  if (!data) throw new Error(`no call: ${code}`);
  return data.intent;
};
const answer = (o: Caller, intent: string, fields = {}) =>
  tell(o, 'answered', { intent, status: 200, code: null, request_bytes: 12, ...fields });
/** Ends a call. While one goes on, a reply to what ends it waits for its lease. */
const breakOff = (o: Caller, intent: string) =>
  answer(o, intent, { status: null, code: 'TARGET_UNREACHABLE' });

describe('use: permission', () => {
  it('permission: secrets:use is enough, and gives the ciphertexts to the Worker alone', async () => {
    const o = await newOrg();
    await newSecret(o, { name: 'KEY', value: 'a-value-of-the-key' });
    const { id, name } = await newUpstream(o, { name: 'stripe' }, 'KEY');
    const { o: user, id: key } = await newKey(o, { scopes: ['secrets:use'] });
    const { data } = await begin(user, name);
    expect(data).toMatchObject({ upstream: { id, name }, held: null, timeout_seconds: 30 });
    expect(JSON.stringify(data)).not.toContain('a-value-of-the-key');
    expect(await answer(o, data?.intent as string)).toEqual({ may: true });
    const [entry] = await entries(o);
    expect(entry).toMatchObject({
      actor: { id: key },
      resource: id,
      resource_name: 'stripe',
      environment: 'production',
      status: 200,
      outcome: 'success',
      use: {
        host: 'api.example.com',
        method: 'GET',
        path: '/v1/x',
        request_bytes: 12,
        secrets: [{ name: 'KEY', version: 1 }],
      },
    });
  });

  it('permission: what is outside the bounds of a credential is refused', async () => {
    const o = await newOrg();
    await newSecret(o, { name: 'a/KEY' });
    const { name } = await newUpstream(o, { name: 'stripe-live' }, 'a/KEY');
    const codeFor = async (fields: object) => {
      const { o: user } = await newKey(o, { name: 'k', ...fields });
      const { code = 'ok' } = await begin(user, name);
      return code;
    };
    expect(await codeFor({ scopes: ['secrets:use'], upstreams: ['stripe-*'] })).toBe('ok');
    expect(await codeFor({ scopes: ['secrets:read'] })).toBe('ok');
    expect(await codeFor({ scopes: ['secrets:use'], upstreams: ['stripe-test'] })).toBe('NOT_FOUND');
    expect(await codeFor({ scopes: ['secrets:read'], upstreams: ['x'] })).toBe('NOT_FOUND');
    expect(await codeFor({ scopes: ['secrets:use'], secrets: ['b/*'] })).toBe('SECRET_ACCESS_DENIED');
    expect(await codeFor({ scopes: ['secrets:use'], environments: ['staging'] })).toBe(
      'SECRET_ACCESS_DENIED',
    );
    expect(await codeFor({ scopes: ['secrets:list', 'upstreams:write'] })).toBe('INSUFFICIENT_SCOPE');
    const { o: user } = await newKey(o, { scopes: ['secrets:use'] });
    expect((await begin(user, 'unknown')).code).toBe('NOT_FOUND');
    expect(
      (await entries(o)).filter(({ outcome }: { outcome: string }) => outcome !== 'success'),
    ).not.toEqual([]);
  });

  it('permission: scope, names and upstreams of different grants do not add up', async () => {
    const o = await newOrg();
    await newSecret(o, { name: 'KEY' });
    await newUpstream(o, { name: 'one' }, 'KEY');
    const { o: agent } = await newAgent(o, { scopes: ['secrets:use'], upstreams: ['two'] });
    expect((await begin(agent, 'one')).code).toBe('NOT_FOUND');
  });

  it('permission: a child has the upstreams of its creator at most', async () => {
    const o = await newOrg();
    const { o: user } = await newKey(o, { scopes: ['secrets:use', 'tokens:write'], upstreams: ['a*'] });
    const body = { name: 'c', scopes: ['secrets:use'] };
    const wide = await user.post('/agent-credentials', { ...body, upstreams: ['*'] });
    expect([wide.status, wide.json.error?.code]).toEqual([403, 'SCOPE_EXCEEDS_PARENT']);
    expect((await user.post('/agent-credentials', body)).json.upstreams).toEqual(['a*']);
    expect((await user.post('/agent-credentials', { ...body, upstreams: ['ab'] })).json.upstreams).toEqual([
      'ab',
    ]);
    const { token } = (await user.post('/access-tokens', { ttlSeconds: 60 })).json;
    expect((await whoami({ token })).json.upstreams).toEqual(['a*']);
  });

  it('use: only what is allowed, of secrets that can be read, while the maker may read them', async () => {
    const o = await newOrg();
    const secret = await newSecret(o, { name: 'KEY' });
    const key = await newKey(o, { scopes: ['upstreams:write', 'secrets:read'] });
    const allow = [{ methods: ['POST'], paths: ['/v1/*'], headers: { 'X-Target': 'Get*' } }];
    const { name } = await newUpstream(key.o, { name: 'u', allow }, 'KEY');
    const codeFor = async (input: object) => {
      const { data, code } = await begin(o, name, input);
      if (data) await breakOff(o, data.intent);
      return code ?? 'ok';
    };
    const fit = { method: 'POST', headers: [['x-target', 'GetItem']] as const };
    expect(await codeFor(fit)).toBe('ok');
    for (const other of [
      { method: 'GET' },
      { path: '/v2/x' },
      { path: '/v1/../x' },
      { path: '/v1/%2e%2e/x' },
      { path: '/v1//..' },
      { headers: [] },
      { headers: [['x-target', 'PutItem']] },
    ])
      expect([other, await codeFor({ ...fit, ...other })]).toEqual([other, 'USE_NOT_ALLOWED']);
    expect(await codeFor({ ...fit, bytes: 10 * 1024 ** 2 + 1 })).toBe('PAYLOAD_TOO_LARGE');
    await contain(o, key.id);
    expect(await codeFor(fit)).toBe('USE_NOT_ALLOWED');
    await o.patch(`/upstreams/${(await o.get('/upstreams')).json.data[0].id}`, { rate_limit: 100 });
    expect(await codeFor(fit)).toBe('ok');
    await o.del(`/secrets/${secret.id}`);
    expect(await codeFor(fit)).toBe('USE_NOT_ALLOWED');
  });
});

describe('use: bounds', () => {
  it('use: a secret that has expired is not placed', async () => {
    const o = await newOrg();
    await newSecret(o, { name: 'KEY', ttlSeconds: 60 });
    const { name } = await newUpstream(o, {}, 'KEY');
    expect((await begin(o, name)).code).toBeUndefined();
    later(61_000);
    expect((await begin(o, name)).code).toBe('SECRET_EXPIRED');
  });

  it('permission: an agent that is narrowed narrows what it made', async () => {
    const o = await newOrg();
    await newSecret(o, { name: 'KEY' });
    const { name } = await newUpstream(o, { name: 'one' }, 'KEY');
    const above = await newAgent(o, { scopes: ['secrets:use', 'tokens:write'] });
    const below = await newAgent(above.o, { scopes: ['secrets:use'] });
    await breakOff(o, await intentOf(below.o, name));
    await o.patch(`/agent-credentials/${above.id}`, { upstreams: ['two'] });
    expect((await begin(below.o, name)).code).toBe('NOT_FOUND');
  });

  it('permission: a limited caller is shown no upstreams beyond its own', async () => {
    const o = await newOrg();
    const { id } = await newKey(o, { scopes: ['secrets:use'], upstreams: ['stripe', 'hidden'] });
    const { o: limited } = await newKey(o, { scopes: ['tokens:read'], upstreams: ['str*'] });
    expect((await limited.get(`/api-keys/${id}`)).json.upstreams).toEqual(['stripe']);
  });

  it('permission: a grant for use gives the upstreams that it names, and no value', async () => {
    const o = await newOrg();
    const secret = await newSecret(o, { name: 'KEY' });
    await newUpstream(o, { name: 'one' }, 'KEY');
    await newUpstream(o, { name: 'two' }, 'KEY');
    const browser = await signIn(o, 'viewer');
    const { id } = (await whoami({ token: browser.o.token })).json;
    const grantee = { type: 'member', id };
    const without = await o.post('/grants', { grantee, permission: 'use' });
    expect(without.json.error.details).toMatchObject([{ path: 'upstreams' }]);
    const made = await o.post('/grants', { grantee, permission: 'use', upstreams: ['one'] });
    expect(made.json).toMatchObject({ permission: 'use', upstreams: ['one'] });
    const { data } = (await browser.o.get('/upstreams')).json;
    expect(data.map((one: { name: string }) => one.name)).toEqual(['one']);
    expect((await browser.o.get(`/secrets/${secret.id}`)).status).toBe(403);
    expect((await browser.o.get(`/secrets`)).json.data).toHaveLength(1);
  });

  it('exposure: a report tells uses from reads, and names the upstreams that were made', async () => {
    const o = await newOrg();
    const used = await newSecret(o);
    const read = await newSecret(o);
    const scopes = ['secrets:use', 'secrets:read', 'upstreams:write'];
    const key = await newKey(o, { scopes });
    const { id, name } = await newUpstream(key.o, {}, used.name);
    const intent = await intentOf(key.o, name);
    await answer(o, intent, { status: 404 });
    await tell(o, 'ended', { intent, response_bytes: 7, how: 'complete', isNoted: false });
    await key.o.get(`/secrets/${read.id}`);
    const { json } = await contain(o, key.id);
    expect(json).toMatchObject({
      read: [{ secret_id: read.id }],
      used: [{ secret_id: used.id, version: 1, name: used.name }],
      upstreams: [{ id, name, action: 'upstream.create' }],
    });
  });

  it('exposure: what anybody used through an upstream that it made or changed is to be rotated', async () => {
    const o = await newOrg();
    const changed = await newSecret(o);
    const made = await newSecret(o);
    const honest = await newSecret(o);
    const theirs = await newUpstream(o, {}, changed.name);
    const other = await newUpstream(o, {}, honest.name);
    const key = await newKey(o, { scopes: ['secrets:read', 'upstreams:write'] });
    const evil = { base_url: 'https://evil.example.com' };
    await key.o.patch(`/upstreams/${theirs.id}`, evil);
    const own = await newUpstream(key.o, evil, made.name);
    const use = async (caller: Caller, { name }: { name: string }) => {
      const intent = await intentOf(caller, name);
      await answer(o, intent);
      await tell(o, 'ended', { intent, response_bytes: 7, how: 'complete', isNoted: false });
    };
    await use(o, theirs);
    await use(key.o, own);
    await use(key.o, other);
    const due = [{ secret_id: changed.id }, { secret_id: made.id }];
    const preview = await contain(o, key.id, { rotate: 'generated', dry_run: true });
    expect(preview.json).toMatchObject({
      read: [],
      used: [...due, { secret_id: honest.id }],
      rotation_due: due,
    });
    const { json } = await contain(o, key.id, { rotate: 'generated' });
    expect(json.rotation_due).toEqual(preview.json.rotation_due);
    const left = async () => (await o.get(`/incidents/${json.incident_id}`)).json.rotation;
    expect(await left()).toMatchObject({ total: 2, rotated: 0 });
    // Whoever revives it without a change of its host still sends the values there.
    await o.patch(`/upstreams/${own.id}`, { timeout_seconds: 20 });
    await o.patch(`/secrets/${made.id}`, { value: 'a-new-value-of-the-key' });
    await use(o, own);
    expect(await left()).toMatchObject({ total: 2, rotated: 0 });
    // Once somebody else says where it sends, uses expose nothing: a new value stays new.
    await o.patch(`/upstreams/${theirs.id}`, { base_url: 'https://api.example.com' });
    await o.patch(`/secrets/${changed.id}`, { value: 'a-new-value-of-the-key' });
    await use(o, theirs);
    expect(await left()).toMatchObject({ total: 2, rotated: 1 });
  });

  it('exposure: an upstream that was made long before the period counts', async () => {
    const o = await newOrg();
    const placed = await newSecret(o);
    const key = await newKey(o, { scopes: ['secrets:read', 'upstreams:write'] });
    const { name } = await newUpstream(key.o, {}, placed.name);
    later(10 * DAY);
    const since = new Date(faults.clock ?? 0).toISOString();
    const intent = await intentOf(o, name);
    await answer(o, intent);
    await tell(o, 'ended', { intent, response_bytes: 7, how: 'complete', isNoted: false });
    const due = [{ secret_id: placed.id }];
    expect((await contain(o, key.id, { rotate: 'generated', since })).json).toMatchObject({
      used: due,
      rotation_due: due,
    });
  });

  it('audit: an auditor who is limited to names sees no use of others', async () => {
    const o = await newOrg();
    await newSecret(o, { name: 'a/KEY' });
    const { name } = await newUpstream(o, { name: 'b-upstream' }, 'a/KEY');
    await answer(o, await intentOf(o, name));
    const seen = async (secrets: string[]) => {
      const { o: auditor } = await newKey(o, { scopes: ['audit:read'], secrets });
      return (await entries(auditor)).length;
    };
    expect([await seen(['a/*']), await seen(['b*'])]).toEqual([1, 0]);
  });
});

describe('use: the walk', () => {
  it('permission: secrets:use alone reads no value, by any route', async () => {
    const o = await newOrg();
    const value = 'a-value-that-stays-4711';
    const secret = await newSecret(o, { name: 'KEY', value });
    await newUpstream(o, { name: 'one' }, 'KEY');
    const { o: user } = await newKey(o, { scopes: ['secrets:use', 'secrets:list', 'upstreams:read'] });
    const { o: agent } = await newAgent(o, { scopes: ['secrets:use'] });
    for (const route of routes.filter(({ path, public: open }) => !open && !path.endsWith('/stream')))
      for (const by of [user, agent]) {
        later(1000);
        const path = route.path
          .replace('{org_id}', o.id)
          .replace('{name}', 'KEY')
          .replace('{environment}', 'production')
          .replace(/\{\w+\}/g, secret.id);
        const body = route.body ? bodies[`${route.method.toUpperCase()} ${route.path}`] : undefined;
        const { text, status } = await send(route.method.toUpperCase(), `/api/v1${path}`, {
          token: by.token,
          body,
        });
        for (const form of [value, btoa(value), encodeURIComponent(value)])
          expect(text, `${route.method} ${route.path}`).not.toContain(form);
        if (route.need.reveals) expect([route.path, status >= 400]).toEqual([route.path, true]);
      }
    for (const { scopes, reveals } of Object.values(actions))
      if (reveals) expect(scopes).not.toContain('secrets:use');
  });
});

describe('use: intents and entries', () => {
  it('audit: an intent is there before the answer, and has one entry', async () => {
    const o = await newOrg();
    const { name } = await newUpstream(o);
    const intent = await intentOf(o, name);
    expect(await entries(o)).toEqual([]);
    await evict(o);
    expect(await answer(o, intent, { status: 402 })).toEqual({ may: true });
    expect(await answer(o, intent, { status: 200 })).toEqual({ may: false });
    expect(await entries(o)).toMatchObject([{ status: 402, outcome: 'failed' }]);
  });

  it('audit: a call of which nothing is heard failed for an unknown reason', async () => {
    const o = await newOrg();
    const { name } = await newUpstream(o);
    const intent = await intentOf(o, name);
    later(30_000 + 16_000);
    await inCore(o, (core) => runTasks(core));
    expect(await entries(o)).toMatchObject([{ outcome: 'failed', reason: 'unknown' }]);
    // Its answer comes too late to be given, or to be recorded again.
    expect(await answer(o, intent)).toEqual({ may: false });
    expect(await entries(o)).toHaveLength(1);
  });

  it('audit: a call whose stored record was altered has an integrity alarm, and keeps no other from its entry', async () => {
    const o = await newOrg();
    const { id, name } = await newUpstream(o);
    const altered = [
      ['draft', 'garbage'],
      ['caller', '{'],
      ['draft', '{}'],
      ['caller', 'null'],
    ];
    const calls = [];
    for (const [column, value] of altered) {
      const call = await intentOf(o, name);
      await inCore(o, ({ storage }) =>
        storage.sql.exec(`update use_intents set ${column} = ? where id = ?`, value, call),
      );
      calls.push(call);
    }
    const whole = await intentOf(o, name);
    // Nobody can tell whose call it is, so its answer is not given.
    expect(await answer(o, calls[0] as string)).toEqual({ may: false });
    later(30_000 + 16_000);
    await inCore(o, (core) => runTasks(core));
    expect(await entries(o)).toMatchObject([{ request_id: whole, reason: 'unknown' }]);
    const told = (await entries(o, 'integrity.alarm')).map((entry: Record<string, unknown>) => [
      entry.request_id,
      entry.resource,
      entry.reason,
    ]);
    expect(told.sort()).toEqual(calls.map((call) => [call, id, 'upstream_call_altered']).sort());
    later(61_000);
    await inCore(o, (core) => runTasks(core));
    expect(await entries(o, 'integrity.alarm')).toHaveLength(altered.length);
    expect(await inCore(o, ({ storage }) => [...storage.sql.exec('select id from use_intents')])).toEqual([]);
  });

  it('audit: a call under way has its entry before its gate is given up', async () => {
    const o = await newOrg();
    const { name } = await newUpstream(o);
    const intent = await intentOf(o, name);
    const body = { reason: 'its storage is broken' };
    const reset = await send('POST', `/api/v1/orgs/${o.id}/gate/reset`, { token: BOOTSTRAP, body });
    expect(reset.json).toMatchObject({ audit_entries_archived: true });
    expect(await entries(o)).toMatchObject([{ outcome: 'failed', reason: 'unknown' }]);
    expect(await answer(o, intent)).toEqual({ may: false });
    expect((await begin(o, name)).code).toBeUndefined();
  });

  it('audit: an upstream without an answer has the status of our refusal', async () => {
    const o = await newOrg();
    const { name } = await newUpstream(o);
    const intent = await intentOf(o, name);
    await answer(o, intent, { status: null, code: 'TARGET_UNREACHABLE' });
    expect(await entries(o)).toMatchObject([{ status: 502, outcome: 'failed' }]);
  });

  it('audit: the end of a long stream has an entry of its own, once', async () => {
    const o = await newOrg();
    const { name } = await newUpstream(o);
    const intent = await intentOf(o, name);
    await answer(o, intent);
    const end = { intent, response_bytes: 7, how: 'upstream_broke_off', isNoted: true };
    await tell(o, 'ended', end);
    await tell(o, 'ended', end);
    expect(await entries(o, 'secret.use_end')).toMatchObject([
      { outcome: 'failed', use: { ended: 'upstream_broke_off', response_bytes: 7 } },
    ]);
  });
});

describe('use: what ends a call', () => {
  it('revocation: an answer may not begin or go on once credential, upstream or right has ended', async () => {
    const o = await newOrg();
    const ends: [string, (ids: { key: string; upstream: string }) => Promise<unknown>][] = [
      ['the credential', ({ key }) => o.del(`/api-keys/${key}`)],
      ['the upstream', ({ upstream }) => o.del(`/upstreams/${upstream}`)],
    ];
    for (const [what, end] of ends) {
      const { id: upstream, name } = await newUpstream(o);
      const { id: key, o: user } = await newKey(o, { scopes: ['secrets:use'] });
      const streaming = await intentOf(user, name);
      const waiting = await intentOf(user, name);
      await answer(o, streaming);
      expect([what, await tell(o, 'alive', { intent: streaming })]).toEqual([what, { may: true }]);
      const reply = end({ key, upstream });
      const isOver = async () => !(await tell(o, 'alive', { intent: streaming })).may;
      await until(isOver);
      expect([what, await isOver()]).toEqual([what, true]);
      expect([what, await answer(o, waiting)]).toEqual([what, { may: false }]);
      await tell(o, 'ended', {
        intent: streaming,
        response_bytes: 7,
        how: 'credential_ended',
        isNoted: false,
      });
      await reply;
    }
    // Each call has its entry all the same.
    expect(await entries(o)).toHaveLength(4);
  });
});

describe('use: leases', () => {
  // No lease runs out meanwhile, however slow the machine is.
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() });
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  /** The end of a key, and whether its reply is there. */
  async function ending(o: Caller, user: Caller, key: string, name: string) {
    const state = { isReplied: false };
    const reply = o.del(`/api-keys/${key}`).then((answer) => {
      state.isReplied = true;
      return answer;
    });
    // The reply waits for D1 too.
    const stored = db.prepare('select id from credentials where id = ? and revoked_at is not null').bind(key);
    await until(async () => (await stored.first()) !== null);
    for (let n = 0; n < 5; n++) await begin(user, name);
    return { state, reply };
  }

  it('revocation: its reply waits until the Worker has broken the call off', async () => {
    const o = await newOrg();
    const { name } = await newUpstream(o);
    const { id: key, o: user } = await newKey(o, { scopes: ['secrets:use'] });
    const intent = await intentOf(user, name);
    const { state, reply } = await ending(o, user, key, name);
    expect(state.isReplied).toBe(false);
    expect(await answer(o, intent, { status: null, code: 'TOKEN_REVOKED' })).toEqual({ may: false });
    expect((await reply).status).toBe(204);
  });

  it('revocation: its reply waits for calls that began before the gate did', async () => {
    const o = await newOrg();
    const { name } = await newUpstream(o);
    const { id: key, o: user } = await newKey(o, { scopes: ['secrets:use'] });
    const intent = await intentOf(user, name);
    await evict(o);
    const { state, reply } = await ending(o, user, key, name);
    expect(state.isReplied).toBe(false);
    await answer(o, intent, { status: null, code: 'TOKEN_REVOKED' });
    expect((await reply).status).toBe(204);
  });

  it('revocation: a question that the gate holds is answered in the turn of the end', async () => {
    const o = await newOrg();
    const { name } = await newUpstream(o);
    const { id: key, o: user } = await newKey(o, { scopes: ['secrets:use'] });
    const intent = await intentOf(user, name);
    const held = tell(o, 'alive', { intent, wait: 3_600_000 });
    const reply = o.del(`/api-keys/${key}`);
    expect(await held).toEqual({ may: false });
    await answer(o, intent, { status: null, code: 'TOKEN_REVOKED' });
    await reply;
  });

  it('audit: an upload that takes longer than the answer may is not lost while its Worker asks', async () => {
    const o = await newOrg();
    const { name } = await newUpstream(o, { timeout_seconds: 1 });
    const intent = await intentOf(o, name);
    for (let n = 0; n < 5; n++) {
      later(10_000);
      expect(await tell(o, 'alive', { intent })).toEqual({ may: true });
      await inCore(o, (core) => runTasks(core));
    }
    expect(await entries(o)).toEqual([]);
    expect(await answer(o, intent)).toEqual({ may: true });
  });

  it('audit: what the gate is told or asked twice, since a reply was lost, counts once', async () => {
    const o = await newOrg();
    const { name } = await newUpstream(o, { rate_limit: 2 });
    const facts = { ip: '203.0.113.7', user_agent: null, reason: null, place: null };
    const request = { id: newId('req'), ...facts };
    const first = await begin(o, name, {}, undefined, { request });
    const second = await begin(o, name, {}, undefined, { request, repeated: true });
    expect(second.data?.intent).toBe(first.data?.intent);
    expect((await begin(o, name)).code).toBeUndefined();
    expect((await begin(o, name)).code).toBe('RATE_LIMITED');
    const third = await begin(o, name, {}, undefined, { request, repeated: true });
    expect(third.data?.intent).toBe(first.data?.intent);
    const intent = first.data?.intent as string;
    const told = { intent, status: 200, code: null, request_bytes: 1 };
    expect(await tell(o, 'answered', told)).toEqual({ may: true });
    expect(await tell(o, 'answered', told, { repeated: true })).toEqual({ may: true });
    expect((await entries(o)).filter(({ status }: { status: number }) => status === 200)).toHaveLength(1);
  });
});

describe('use: rates', () => {
  it('rate limit: an upstream has its own calls a minute', async () => {
    const o = await newOrg();
    const { name } = await newUpstream(o, { rate_limit: 2 });
    for (let n = 0; n < 2; n++) await answer(o, await intentOf(o, name));
    expect((await begin(o, name)).refusal).toMatchObject({ code: 'RATE_LIMITED', retry_after: 60 });
    later(60_001);
    expect((await begin(o, name)).code).toBeUndefined();
  });

  it('rate limit: an organisation and a root have their calls a minute', async () => {
    const o = await newOrg();
    const { name } = await newUpstream(o);
    const { o: other } = await newKey(o, { scopes: ['secrets:use'] });
    const plant = (root: string, count: number) =>
      inCore(o, (core) => {
        for (let n = 0; n < count; n++)
          core.storage.sql.exec(
            "insert into use_intents values (?, 'ups', ?, '{}', '{}', ?, 0, 1)",
            ...[`${root} ${n}`, root, core.now()],
          );
      }).then(() => evict(o));
    await plant(o.keyId, 600);
    expect((await begin(o, name)).code).toBe('RATE_LIMITED');
    expect((await begin(other, name)).code).toBeUndefined();
    await plant('key_0', 400);
    expect((await begin(other, name)).code).toBe('RATE_LIMITED');
    later(60_001);
    expect((await begin(o, name)).code).toBeUndefined();
  });

  it('cost: what a call and the look for lost ones read does not grow with the calls of the last minute', async () => {
    const o = await newOrg();
    const { name } = await newUpstream(o, { rate_limit: 1000 });
    const call = async () => {
      const intent = await intentOf(o, name);
      await answer(o, intent);
      await tell(o, 'ended', { intent, response_bytes: 1, how: 'complete', isNoted: false });
    };
    const look = () => inCore(o, (core) => recordLost(core, core.now()));
    const costs = async () => [(await counted(o, call)).cost.rows, (await counted(o, look)).cost.rows];
    await call();
    const few = await costs();
    for (let n = 0; n < 20; n++) await call();
    expect(await costs()).toEqual(few);
  });

  it('rate limit: one root has 25 calls at a time, and a place is free once a call has ended', async () => {
    const o = await newOrg();
    const { name } = await newUpstream(o);
    const { o: other } = await newKey(o, { scopes: ['secrets:use'] });
    const all = [];
    for (let n = 0; n < 25; n++) all.push(await intentOf(o, name));
    expect((await begin(o, name)).code).toBe('RATE_LIMITED');
    // What a root creates counts for it.
    const { o: agent } = await newAgent(o, { scopes: ['*'] });
    const { o: below } = await newAgent(agent, { scopes: ['secrets:use'] });
    expect((await begin(below, name)).code).toBe('RATE_LIMITED');
    expect((await begin(other, name)).code).toBeUndefined();
    const [first = ''] = all;
    await answer(o, first);
    expect((await begin(o, name)).code).toBe('RATE_LIMITED');
    await tell(o, 'ended', { intent: first, response_bytes: 1, how: 'complete', isNoted: false });
    expect((await begin(o, name)).code).toBeUndefined();
    expect(await entries(o, 'secret.use_end')).toEqual([]);
  });
});

describe('use: approvals', () => {
  it('approval: a held call waits for exactly this call, and is used once', async () => {
    const { o, ann, asked } = await newOffice();
    await newSecret(o, { name: 'KEY' });
    const { name, id } = await newUpstream(o, { name: 'stripe' }, 'KEY');
    await newApprovalPolicy(o, ['secret.use']);
    expect(await begin(asked, name)).toEqual({ wants: 'digest' });
    const whole = { body: shownBody(utf8('a=b')) };
    const held = await begin(asked, name, { whole }, {});
    expect(held.code).toBe('APPROVAL_REQUIRED');
    const approval = (held.refusal as { approval?: { id: string } }).approval?.id as string;
    const seen = (await ann.o.get(`/approvals/${approval}`)).json;
    expect(JSON.stringify(seen)).toContain('GET https://api.example.com/v1/x');
    expect(JSON.stringify(seen)).toContain('a=b');
    expect((await ann.o.post(`/approvals/${approval}/approve`, {})).status).toBe(200);
    expect((await begin(asked, name, { whole }, { id: approval, digest: 'e' })).code).toBe(
      'APPROVAL_MISMATCH',
    );
    const used = await begin(asked, name, { whole }, { id: approval });
    expect(used.data?.held).toEqual({ approval, isRepeatable: false });
    expect((await begin(asked, name, { whole }, { id: approval })).code).toBe('APPROVAL_MISMATCH');
    await answer(o, used.data?.intent as string);
    expect(
      (await entries(o)).filter((one: { approval?: string; status: number }) => one.status === 200),
    ).toMatchObject([{ approval, resource: id }]);
  });

  it('approval: a call whose headers deciders could not be shown is refused, and a long path is cut in the summary', async () => {
    const { o, ann, asked } = await newOffice();
    await newSecret(o, { name: 'KEY' });
    const { name } = await newUpstream(o, {}, 'KEY');
    await newApprovalPolicy(o, ['secret.use']);
    const headers = ['a', 'b'].map((one): [string, string] => [`x-${one}`, one.repeat(5000)]);
    const whole = { body: shownBody(utf8('the end')) };
    const tooLong = { query: `?${'q'.repeat(7000)}`, headers, whole };
    expect((await begin(asked, name, tooLong, {})).code).toBe('LIMIT_REACHED');
    const long = { path: `/v1/${'p'.repeat(5000)}`, whole, headers };
    const held = await begin(asked, name, long, {});
    const approval = (held.refusal as { approval?: { id: string } }).approval?.id as string;
    const { shown, summary } = (await ann.o.get(`/approvals/${approval}`)).json;
    expect(shown.at(-1)).toEqual({ name: 'Body', value: 'the end' });
    expect(summary).toContain(`call GET /v1/${'p'.repeat(196)}… of the upstream`);
  });

  it('approval: it is void once another secret that the call places has changed', async () => {
    const { o, ann, asked } = await newOffice();
    await newSecret(o, { name: 'KEY' });
    const account = await newSecret(o, { name: 'ACCOUNT' });
    const auth = ['KEY', 'ACCOUNT'].map((name) => ({
      type: 'header',
      name: `X-${name}`,
      value: `{{${name}}}`,
    }));
    const { name } = await newUpstream(o, { auth }, 'KEY');
    await newApprovalPolicy(o, ['secret.use'], { applies_to: { names: ['KEY'] } });
    const held = await begin(asked, name, {}, {});
    const approval = (held.refusal as { approval?: { id: string } }).approval?.id as string;
    await ann.o.post(`/approvals/${approval}/approve`, {});
    expect((await asked.patch(`/secrets/${account.id}`, { value: 'of somebody else' })).status).toBe(200);
    expect((await begin(asked, name, {}, { id: approval })).code).toBe('APPROVAL_MISMATCH');
  });

  it('approval: a call that writes is repeated only where the policy says so', async () => {
    const { o, ann, asked } = await newOffice();
    await newSecret(o, { name: 'KEY' });
    const { name } = await newUpstream(o, {}, 'KEY');
    await newApprovalPolicy(o, ['secret.use'], { config: { max_valid_seconds: 60 } });
    for (const [input, most] of [
      [{ method: 'GET' }, 60],
      [{ method: 'POST' }, 0],
      // Nobody sees what its messages say.
      [{ method: 'GET', isWebSocket: true }, 0],
    ] as const) {
      const digest = JSON.stringify(input);
      const held = await begin(asked, name, input, { digest });
      const id = (held.refusal as { approval?: { id: string } }).approval?.id as string;
      expect([digest, (await ann.o.get(`/approvals/${id}`)).json.max_valid_seconds]).toEqual([digest, most]);
    }
  });

  it('approval: it is void once the upstream has changed', async () => {
    const { o, ann, asked } = await newOffice();
    await newSecret(o, { name: 'KEY' });
    const { name, id } = await newUpstream(o, {}, 'KEY');
    await newApprovalPolicy(o, ['secret.use']);
    const held = await begin(asked, name, {}, {});
    const approval = (held.refusal as { approval?: { id: string } }).approval?.id as string;
    await ann.o.post(`/approvals/${approval}/approve`, {});
    expect((await o.patch(`/upstreams/${id}`, { base_url: 'https://evil.example.com' })).status).toBe(200);
    expect((await begin(asked, name, {}, { id: approval })).code).toBe('APPROVAL_MISMATCH');
  });

  for (const operation of ['secret.read', 'secret.share'])
    it(`approval: making an upstream, and changing where it sends, is ${operation} of its secrets`, async () => {
      const { o } = await newOffice();
      await newSecret(o, { name: 'KEY' });
      await newSecret(o, { name: 'FREE' });
      const { id } = await newUpstream(o, {}, 'KEY');
      await newApprovalPolicy(o, [operation], { applies_to: { names: ['KEY'] } });
      const held = [
        await o.post('/upstreams', upstreamIn('KEY')),
        await o.patch(`/upstreams/${id}`, { base_url: 'https://other.example.com' }),
        await o.patch(`/upstreams/${id}`, { allow: [{ methods: ['GET'], paths: ['/*'] }] }),
        await o.patch(`/upstreams/${id}`, { name: 'renamed' }),
      ];
      for (const answer of held) expect(approvalIn(answer).operation).toBe(operation);
      const [made] = held;
      const seen = JSON.stringify((await o.get(`/approvals/${approvalIn(made as Answer).id}`)).json);
      for (const shown of [
        'https://api.example.com',
        'Bearer {{KEY}}',
        '/v1/*',
        'which sends KEY to api.example.com',
      ])
        expect(seen).toContain(shown);
      expect((await o.patch(`/upstreams/${id}`, { rate_limit: 5 })).status).toBe(200);
      expect((await o.post('/upstreams', upstreamIn('FREE'))).status).toBe(201);
    });

  it('approval: a rename or restore to a placed name is a read of the secret', async () => {
    const { o } = await newOffice();
    const old = await newSecret(o, { name: 'KEY' });
    await newUpstream(o, {}, 'KEY');
    await o.patch(`/secrets/${old.id}`, { name: 'OLD' });
    const target = await newSecret(o, { name: 'held/target' });
    await newApprovalPolicy(o, ['secret.read'], { applies_to: { names: ['held/*', 'KEY'] } });
    const renamed = await o.patch(`/secrets/${target.id}`, { name: 'KEY' });
    expect(approvalIn(renamed).operation).toBe('secret.read');
  });
});
