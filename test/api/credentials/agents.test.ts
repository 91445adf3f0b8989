// Agents: credentials limited to what each needs. What one may read, how often, for how long, what it may
// hand on, and what ends with it.
import { describe, expect, it } from 'vitest';
import type { CredentialRow } from '../../../src/db/schema';
import { lastUsed } from '../../../src/gate/limits/last-used';
import { runTasks } from '../../../src/gate/tasks/run';
import { newAgent, newKey, newSession } from '../../support/credentials';
import { faults } from '../../support/faults';
import { ageTo, evict, inCore } from '../../support/gate';
import { slow } from '../../support/slow';
import { DAY } from '../../support/time';
import {
  type Answer,
  type Caller,
  codeOf,
  newOrg,
  newSecret,
  send,
  useWorld,
  whoami,
} from '../../support/world';

useWorld();

const DENIED = [403, 'SECRET_ACCESS_DENIED'];
const EXCEEDS = [403, 'SCOPE_EXCEEDS_PARENT'];

describe('agent: create, list, read, update and delete', () => {
  slow('shows every limit, and the token once', async () => {
    const o = await newOrg();
    const body = {
      name: 'triage',
      scopes: ['secrets:read', 'secrets:list'],
      environments: ['staging'],
      secrets: ['app/*'],
      ttlSeconds: 3600,
      rate_limit: 30,
      allowed_addresses: ['203.0.113.0/24'],
    };
    const before = Date.now();
    const { status, json } = await o.post('/agent-credentials', body);
    expect(status).toBe(201);
    const { token, ...shown } = json;
    expect(token).toMatch(/^svcag_[0-9A-Za-z]+$/);
    const { ttlSeconds: _, allowed_addresses, ...same } = body;
    expect(shown).toMatchObject({
      ...same,
      allowed_addresses,
      created_by: o.keyId,
      parent_id: null,
      revoked_at: null,
      use_count: 0,
      last_used_at: null,
    });
    expect(shown.id).toMatch(/^agt_/);
    expect(shown.hint).toBe(`svcag_…${token.slice(-4)}`);
    const lives = Date.parse(shown.expires_at) - before;
    expect([lives >= 3_600_000, lives < 3_660_000]).toEqual([true, true]);

    expect((await o.get('/agent-credentials')).json).toEqual({
      data: [shown],
      next_cursor: null,
      has_more: false,
    });
    expect((await o.get(`/agent-credentials/${shown.id}`)).json).toEqual(shown);
    expect((await whoami(o.as(token))).json).toMatchObject({
      default_environment: null,
      kind: 'agent',
      id: shown.id,
      org_id: o.id,
      ...same,
    });

    const changed = await o.patch(`/agent-credentials/${shown.id}`, {
      name: 'other',
      scopes: ['secrets:list'],
      rate_limit: 60,
    });
    expect([changed.status, changed.json.name, changed.json.scopes, changed.json.rate_limit]).toEqual([
      200,
      'other',
      ['secrets:list'],
      60,
    ]);
    expect(changed.json.token).toBeUndefined();

    expect((await o.del(`/agent-credentials/${shown.id}`)).status).toBe(204);
    expect((await o.del(`/agent-credentials/${shown.id}`)).status).toBe(204);
    expect(codeOf(await whoami(o.as(token)))).toEqual([401, 'TOKEN_REVOKED']);
    expect((await o.get('/agent-credentials')).json.data).toEqual([]);
    expect((await o.get(`/agent-credentials/${shown.id}`)).json.revoked_at).toMatch(/Z$/);
    expect(codeOf(await o.patch(`/agent-credentials/${shown.id}`, { name: 'x' }))).toEqual([
      404,
      'NOT_FOUND',
    ]);
  });

  it('takes the limits of its creator by default', async () => {
    const o = await newOrg();
    const key = await newKey(o, {
      scopes: ['tokens:write', 'secrets:read'],
      environments: ['staging'],
      secrets: ['app/*'],
      allowed_addresses: ['203.0.113.0/24'],
      expires_at: new Date(Date.now() + DAY).toISOString(),
    });
    const { status, json } = await key.o.post('/agent-credentials', { name: 'a', scopes: ['secrets:read'] });
    expect(status).toBe(201);
    expect(json).toMatchObject({
      environments: ['staging'],
      secrets: ['app/*'],
      allowed_addresses: ['203.0.113.0/24'],
      rate_limit: 120,
    });
    expect(json.expires_at).toBe((await o.get(`/api-keys/${key.id}`)).json.expires_at);
  });

  it('is 404 under the paths of other kinds, as they are under its own', async () => {
    const o = await newOrg();
    const agent = await newAgent(o);
    const key = await newKey(o);
    for (const path of [`/agent-credentials/${key.id}`, `/api-keys/${agent.id}`]) {
      expect(codeOf(await o.get(path))).toEqual([404, 'NOT_FOUND']);
      expect(codeOf(await o.patch(path, { name: 'x' }))).toEqual([404, 'NOT_FOUND']);
      expect(codeOf(await o.del(path))).toEqual([404, 'NOT_FOUND']);
    }
    expect((await o.get(`/api-keys/${key.id}`)).json.name).toBe('k');
    expect((await whoami(agent.o)).status).toBe(200);
  });

  it.each([
    [{ scopes: [] }, 'scopes'],
    [{ scopes: ['secrets:everything'] }, 'scopes.0'],
    [{ environments: [] }, 'environments'],
    [{ secrets: [] }, 'secrets'],
    [{ secrets: ['******'] }, 'secrets.0'],
    [{ ttlSeconds: 59 }, 'ttlSeconds'],
    [{ ttlSeconds: 31_536_001 }, 'ttlSeconds'],
    [{ rate_limit: 0 }, 'rate_limit'],
    [{ rate_limit: 6001 }, 'rate_limit'],
    [{ allowed_addresses: ['10.0.0'] }, 'allowed_addresses.0'],
    [{ expires_at: new Date().toISOString() }, 'expires_at'],
  ])('validation: refuses %j on create and update', async (fields, path) => {
    const o = await newOrg();
    const { id } = await newAgent(o);
    for (const answer of [
      await o.post('/agent-credentials', { name: 'a', scopes: ['secrets:read'], ...fields }),
      await o.patch(`/agent-credentials/${id}`, fields),
    ]) {
      expect(codeOf(answer)).toEqual([400, 'VALIDATION_FAILED']);
      expect(answer.json.error.details[0].path).toBe(path);
    }
  });

  it('answers 404 for an environment that does not exist', async () => {
    const o = await newOrg();
    const { id } = await newAgent(o);
    expect(
      codeOf(
        await o.post('/agent-credentials', {
          name: 'a',
          scopes: ['secrets:read'],
          environments: ['nowhere'],
        }),
      ),
    ).toEqual([404, 'NOT_FOUND']);
    expect(codeOf(await o.patch(`/agent-credentials/${id}`, { environments: ['nowhere'] }))).toEqual([
      404,
      'NOT_FOUND',
    ]);
  });

  it('accepts the token with the prefix svc_agent_ too, also for stored responses', async () => {
    const o = await newOrg();
    const agent = await newAgent(o, { scopes: ['tokens:write', 'secrets:read'] });
    const spelled = agent.token.replace('svcag_', 'svc_agent_');
    expect((await whoami(o.as(spelled))).json.id).toBe(agent.id);
    expect(codeOf(await whoami(o.as(`${spelled.slice(0, -1)}!`)))).toEqual([401, 'UNAUTHENTICATED']);
    expect(codeOf(await whoami(o.as(`svc_agent_${o.token.slice('svc_live_'.length)}`)))).toEqual([
      401,
      'UNAUTHENTICATED',
    ]);
    const make = (token: string) =>
      o
        .as(token)
        .post('/agent-credentials', { name: 'b', scopes: ['secrets:read'] }, { 'Idempotency-Key': 'once' });
    const first = await make(agent.token);
    const again = await make(spelled);
    expect([again.status, again.headers.get('idempotency-replayed'), again.text]).toEqual([
      201,
      'true',
      first.text,
    ]);
    await o.del(`/agent-credentials/${agent.id}`);
    expect(codeOf(await whoami(o.as(spelled)))).toEqual([401, 'TOKEN_REVOKED']);
  });
});

describe('permission: an agent that reads a value', () => {
  /** Every way in which a value is read. */
  const reads = (
    id: string,
    name: string,
    environment: string,
  ): Record<string, (o: Caller) => Promise<Answer>> => ({
    'by id': (o) => o.get(`/secrets/${id}`),
    'an earlier version': (o) => o.get(`/secrets/${id}?version=1`),
    'by name': (o) => o.get(`/secrets/by-name/${name}?environment=${environment}`),
  });

  slow('is denied without secrets:read by every read, and is told who can grant it what', async () => {
    const o = await newOrg();
    const { id } = await newSecret(o, { name: 'A' });
    const agent = await newAgent(o, { scopes: ['secrets:list', 'secrets:write', 'secrets:rotate'] });
    const ways = {
      ...reads(id, 'A', 'production'),
      'all at once': (o: Caller) => o.get('/environments/production/values'),
    };
    for (const [way, ask] of Object.entries(ways)) {
      const answer = await ask(agent.o);
      expect([way, ...codeOf(answer)]).toEqual([way, ...DENIED]);
      for (const part of ['secrets:read', 'tokens:write', 'PATCH /api/v1/orgs/:org_id/agent-credentials/:id'])
        expect(answer.json.error.message).toContain(part);
      const page = await send('GET', new URL(answer.json.error.docs).pathname);
      expect(page.status).toBe(200);
      for (const part of ['secrets:read', 'PATCH /api/v1/orgs/:org_id/agent-credentials/:id'])
        expect(page.text).toContain(part);
      const [entry] = (await o.get('/audit-log?limit=1&outcome=denied')).json.data;
      expect(entry).toMatchObject({ outcome: 'denied', status: 403, actor: { kind: 'agent', id: agent.id } });
    }
    // What shows no value is not refused to it.
    expect((await agent.o.get('/secrets')).json.data).toHaveLength(1);
    expect((await agent.o.get(`/secrets/${id}/versions`)).status).toBe(200);

    // As it was told: whoever holds tokens:write, and what is granted, does.
    await o.patch(`/agent-credentials/${agent.id}`, { scopes: ['secrets:read'] });
    for (const [way, ask] of Object.entries(ways))
      expect([way, (await ask(agent.o)).status]).toEqual([way, 200]);
  });

  slow('is denied outside its environments and names by every read', async () => {
    const o = await newOrg();
    const own = await newSecret(o, { name: 'app/a', environment: 'staging' });
    const named = await newSecret(o, { name: 'other', environment: 'staging' });
    const elsewhere = await newSecret(o, { name: 'app/a', environment: 'production' });
    const agent = await newAgent(o, { environments: ['staging'], secrets: ['app/*'] });
    for (const [way, ask] of Object.entries(reads(own.id, own.name, 'staging')))
      expect([way, (await ask(agent.o)).json.value]).toEqual([way, own.value]);
    for (const [{ id, name, environment }, place] of [
      [named, 'the name other'],
      [elsewhere, 'the environment production'],
    ] as const)
      for (const [way, ask] of Object.entries(reads(id, name, environment))) {
        const answer = await ask(agent.o);
        expect([way, ...codeOf(answer)]).toEqual([way, ...DENIED]);
        // By id, the refusal names nothing that is stored.
        const isById = answer.json.error.message.includes('this secret');
        expect(answer.json.error.message).toContain(isById ? 'this secret' : place);
        if (isById) expect(answer.json.error.message).not.toMatch(/other|production/);
      }
    expect(codeOf(await agent.o.get('/environments/production/values'))).toEqual(DENIED);
  });

  it('does not learn whether a name or an environment out of its reach exists', async () => {
    const o = await newOrg();
    await newSecret(o, { name: 'KEPT' });
    const agent = await newAgent(o, { environments: ['production'], secrets: ['app/*'] });
    const bare = (answer: Answer, word: string) => answer.text.replaceAll(word, '');
    const ask = (name: string, environment: string) =>
      agent.o.get(`/secrets/by-name/${name}?environment=${environment}`);
    expect(bare(await ask('KEPT', 'production'), 'KEPT')).toBe(bare(await ask('NONE', 'production'), 'NONE'));
    expect(bare(await ask('app/a', 'staging'), 'staging')).toBe(
      bare(await ask('app/a', 'nowhere'), 'nowhere'),
    );
    expect(codeOf(await ask('app/none', 'production'))).toEqual([404, 'NOT_FOUND']);
  });
});

describe('permission: what an agent can see', () => {
  slow('bulk reads, lists and their ETags contain only what it may read', async () => {
    const o = await newOrg();
    const a = await newSecret(o, { name: 'a/1' });
    const b = await newSecret(o, { name: 'b/1' });
    await newSecret(o, { name: 'a/staging', environment: 'staging' });
    const first = await newAgent(o, { secrets: ['a/*'], environments: ['production'] });
    const second = await newAgent(o, { secrets: ['b/*'] });
    const both = await newAgent(o, { secrets: ['a/*', 'b/*'] });
    const values = (o: Caller, etag = '') =>
      o.get('/environments/production/values', etag ? { 'If-None-Match': etag } : {});
    const one = await values(first.o);
    const two = await values(second.o);
    const three = await values(both.o);
    expect(one.json.values).toEqual({ 'a/1': a.value });
    expect(two.json.values).toEqual({ 'b/1': b.value });
    expect(three.json.values).toEqual({ 'a/1': a.value, 'b/1': b.value });
    const tags = [one, two, three].map(({ headers }) => headers.get('etag') as string) as [
      string,
      string,
      string,
    ];
    expect(new Set(tags).size).toBe(3);
    // Another's ETag is not its own.
    expect((await values(first.o, tags[1])).status).toBe(200);

    const names = async (o: Caller) =>
      ((await o.get('/secrets')).json.data as { name: string }[]).map(({ name }) => name).sort();
    expect(await names(first.o)).toEqual(['a/1']);
    expect(await names(second.o)).toEqual(['b/1']);

    // A change outside its reach leaves its ETag; one inside does not.
    await o.patch(`/secrets/${b.id}`, { value: 'changed' });
    await newSecret(o, { name: 'b/2' });
    expect((await values(first.o, tags[0])).status).toBe(304);
    expect([(await values(second.o, tags[1])).status, (await values(both.o, tags[2])).status]).toEqual([
      200, 200,
    ]);
    await o.patch(`/secrets/${a.id}`, { value: 'changed' });
    expect((await values(first.o, tags[0])).json.values).toEqual({ 'a/1': 'changed' });

    // The audit entry of a bulk read says how far it reached.
    const { data } = (await o.get(`/audit-log?actor=${first.id}&action=secret.read_all&limit=10`)).json;
    // In full in the first entry, and as a digest in all of them.
    expect(data.at(-1).patterns).toEqual(['a/*']);
    expect(data[0].patterns_digest).toBe(data.at(-1).patterns_digest);
  });

  slow('is less from the next request on after an update narrows it, also with an earlier ETag', async () => {
    const o = await newOrg();
    const a = await newSecret(o, { name: 'a' });
    const b = await newSecret(o, { name: 'b' });
    const agent = await newAgent(o);
    const whole = await agent.o.get('/environments/production/values');
    expect(Object.keys(whole.json.values)).toEqual(['a', 'b']);
    expect((await o.patch(`/agent-credentials/${agent.id}`, { secrets: ['a'] })).status).toBe(200);
    const less = await agent.o.get('/environments/production/values', {
      'If-None-Match': whole.headers.get('etag') as string,
    });
    expect([less.status, less.json.values]).toEqual([200, { a: a.value }]);
    expect(codeOf(await agent.o.get(`/secrets/${b.id}`))).toEqual(DENIED);
    await o.patch(`/agent-credentials/${agent.id}`, { environments: ['staging'] });
    expect(codeOf(await agent.o.get(`/secrets/${a.id}`))).toEqual(DENIED);
    await o.patch(`/agent-credentials/${agent.id}`, {
      environments: null,
      secrets: null,
      scopes: ['secrets:list'],
    });
    expect(codeOf(await agent.o.get(`/secrets/${a.id}`))).toEqual(DENIED);
    await o.del(`/agent-credentials/${agent.id}`);
    expect(codeOf(await agent.o.get('/secrets'))).toEqual([401, 'TOKEN_REVOKED']);
  });
});

describe('agent: update', () => {
  it('tokens:write can narrow an agent; no one can give more than they hold', async () => {
    const o = await newOrg();
    const agent = await newAgent(o, {
      scopes: ['secrets:*'],
      environments: ['staging', 'production'],
      secrets: ['app/*'],
      ttlSeconds: 3600,
    });
    const clerk = (await newKey(o, { scopes: ['tokens:write'] })).o;
    const change = (by: Caller, fields: object) => by.patch(`/agent-credentials/${agent.id}`, fields);
    for (const fields of [
      { scopes: ['secrets:*', 'audit:read'] },
      { scopes: ['*'] },
      { environments: null },
      { environments: ['staging', 'development'] },
      { secrets: null },
      { secrets: ['app/*', 'b'] },
      { ttlSeconds: null },
      { ttlSeconds: 7200 },
      { scopes: ['secrets:read'], secrets: ['*'] },
      { rate_limit: 121 },
      { rate_limit: 6000, scopes: ['secrets:read'] },
    ])
      expect([fields, ...codeOf(await change(clerk, fields))]).toEqual([fields, ...EXCEEDS]);
    expect((await o.get(`/agent-credentials/${agent.id}`)).json).toMatchObject({
      scopes: ['secrets:*'],
      secrets: ['app/*'],
    });
    for (const fields of [
      { allowed_addresses: ['203.0.113.0/24'] },
      { secrets: ['app/db/*'] },
      { environments: ['staging'] },
      { scopes: ['secrets:read', 'secrets:list'] },
      { scopes: ['secrets:list'] },
      { ttlSeconds: 60 },
      { rate_limit: 60 },
      { name: 'narrow' },
    ])
      expect([fields, (await change(clerk, fields)).status]).toEqual([fields, 200]);
    expect(codeOf(await change(clerk, { rate_limit: 120 }))).toEqual(EXCEEDS);
    // Of an agent that holds no more than they do they may.
    const own = await newAgent(o, { scopes: ['tokens:write'], ttlSeconds: 3600 });
    expect((await clerk.patch(`/agent-credentials/${own.id}`, { rate_limit: 6000 })).status).toBe(200);
    expect(codeOf(await change(clerk, { allowed_addresses: null }))).toEqual(EXCEEDS);
    // Once narrowed it is not widened back by the same hands; by the owner's it is.
    expect(codeOf(await change(clerk, { scopes: ['secrets:*'] }))).toEqual(EXCEEDS);
    expect(
      (
        await change(o, {
          scopes: ['*'],
          environments: null,
          secrets: null,
          ttlSeconds: null,
          allowed_addresses: null,
        })
      ).status,
    ).toBe(200);
    expect((await whoami(agent.o)).json).toMatchObject({
      scopes: ['*'],
      environments: null,
      secrets: null,
      expires_at: null,
    });
  });

  it('privilege escalation: an agent cannot give itself scopes, lifetime or rate limit', async () => {
    const o = await newOrg();
    const agent = await newAgent(o, {
      scopes: ['tokens:write', 'secrets:read'],
      secrets: ['app/*'],
      ttlSeconds: 3600,
      rate_limit: 50,
    });
    const child = await newAgent(agent.o, { scopes: ['tokens:write', 'secrets:read'] });
    const fresh = await newAgent(o, { scopes: ['secrets:read'], secrets: ['app/*'], ttlSeconds: 600 });
    for (const by of [agent.o, child.o]) {
      for (const fields of [
        { scopes: ['*'] },
        { secrets: null },
        { ttlSeconds: null },
        { ttlSeconds: 7200 },
        { rate_limit: 51 },
      ])
        expect([fields, ...codeOf(await by.patch(`/agent-credentials/${agent.id}`, fields))]).toEqual([
          fields,
          ...EXCEEDS,
        ]);
      // Nor what would outlive it to hold more, though no more than it holds.
      expect(codeOf(await by.patch(`/agent-credentials/${fresh.id}`, { ttlSeconds: 900 }))).toEqual(EXCEEDS);
    }
    expect((await agent.o.patch(`/agent-credentials/${agent.id}`, { rate_limit: 20 })).status).toBe(200);
    expect(codeOf(await agent.o.patch(`/agent-credentials/${agent.id}`, { rate_limit: 50 }))).toEqual(
      EXCEEDS,
    );
    expect((await agent.o.patch(`/agent-credentials/${child.id}`, { rate_limit: 6000 })).status).toBe(200);
    expect((await o.patch(`/agent-credentials/${agent.id}`, { rate_limit: 6000 })).status).toBe(200);
  });

  it('narrows its descendants too', async () => {
    const o = await newOrg();
    const a = await newSecret(o, { name: 'app/a' });
    const b = await newSecret(o, { name: 'b' });
    const agent = await newAgent(o, { scopes: ['*'] });
    const child = await newAgent(agent.o, { scopes: ['secrets:*', 'tokens:write'] });
    const key = await newKey(child.o, { scopes: ['secrets:read'], secrets: ['b', 'app/?'] });
    const session = await newSession(key.o);
    await o.patch(`/agent-credentials/${agent.id}`, {
      scopes: ['secrets:read'],
      secrets: ['app/*'],
      environments: ['production'],
    });
    for (const { o: made, scopes } of [
      { o: child.o, scopes: ['secrets:read'] },
      { o: key.o, scopes: ['secrets:read'] },
      { o: session.o, scopes: ['secrets:read'] },
    ]) {
      expect((await made.get(`/secrets/${a.id}`)).status).toBe(200);
      expect((await made.get(`/secrets/${b.id}`)).status).toBe(403);
      expect((await made.patch(`/secrets/${a.id}`, { value: 'x' })).status).toBe(403);
      expect((await whoami(made)).json).toMatchObject({ scopes, environments: ['production'] });
    }
    expect((await whoami(key.o)).json.secrets).toEqual(['app/?']);
    await o.patch(`/agent-credentials/${agent.id}`, { scopes: ['*'], secrets: null, environments: null });
    expect((await session.o.get(`/secrets/${b.id}`)).status).toBe(200);
  });
});

describe('agent: descendants', () => {
  slow('hold no more than the agent, and end with it, at every depth', async () => {
    const o = await newOrg();
    const { id } = await newSecret(o, { name: 'app/a' });
    const agent = await newAgent(o, {
      scopes: ['tokens:write', 'secrets:read'],
      secrets: ['app/*'],
      ttlSeconds: 3600,
    });
    expect(
      codeOf(await agent.o.post('/agent-credentials', { name: 'x', scopes: ['secrets:write'] })),
    ).toEqual(EXCEEDS);
    expect(
      codeOf(
        await agent.o.post('/agent-credentials', { name: 'x', scopes: ['secrets:read'], secrets: ['*'] }),
      ),
    ).toEqual(EXCEEDS);
    expect(
      codeOf(
        await agent.o.post('/agent-credentials', { name: 'x', scopes: ['secrets:read'], ttlSeconds: 7200 }),
      ),
    ).toEqual(EXCEEDS);
    expect(codeOf(await agent.o.post('/provider-tokens', { name: 'x', scopes: ['issue'] }))).toEqual(EXCEEDS);
    expect(codeOf(await agent.o.post('/access-tokens', { ttlSeconds: 60 }))).toEqual([
      403,
      'CREDENTIAL_KIND_NOT_ALLOWED',
    ]);
    expect(codeOf(await agent.o.post(`/api-keys/${o.keyId}/rotate`, {}))).toEqual([
      403,
      'CREDENTIAL_KIND_NOT_ALLOWED',
    ]);

    const child = await newAgent(agent.o, { scopes: ['tokens:write', 'secrets:read'] });
    expect(child).toMatchObject({
      parent_id: agent.id,
      created_by: agent.id,
      secrets: ['app/*'],
      expires_at: agent.expires_at,
    });
    const key = await newKey(child.o, { scopes: ['tokens:write', 'secrets:read'] });
    const session = await newSession(key.o);
    const last = await newAgent(session.o, { scopes: ['secrets:read'] });
    const all = [child.o, key.o, session.o, last.o];
    for (const made of all) expect((await made.get(`/secrets/${id}`)).status).toBe(200);
    expect((await o.get(`/audit-log?actor=${last.id}`)).json.data[0].actor.parent_id).toBe(session.id);
    await o.del(`/agent-credentials/${agent.id}`);
    for (const made of all) expect(codeOf(await made.get(`/secrets/${id}`))).toEqual([401, 'TOKEN_REVOKED']);
    expect((await o.get('/agent-credentials')).json.data).toEqual([]);
    expect((await o.get('/access-tokens')).json.data).toEqual([]);
    expect(((await o.get('/api-keys')).json.data as { id: string }[]).map((row) => row.id)).toEqual([
      o.keyId,
    ]);
  });

  slow('expire with the agent', async () => {
    const o = await newOrg();
    const agent = await newAgent(o, { scopes: ['tokens:write', 'secrets:read'], ttlSeconds: 3600 });
    const child = await newAgent(agent.o);
    await o.patch(`/agent-credentials/${child.id}`, { ttlSeconds: null });
    faults.clock = Date.now() + 3_600_001;
    for (const ended of [agent, child]) expect(codeOf(await whoami(ended.o))).toEqual([401, 'TOKEN_EXPIRED']);
  });

  slow('are limited in depth', async () => {
    const o = await newOrg();
    let last = await newAgent(o, { scopes: ['tokens:write'] });
    for (let links = 1; links < 16; links++) last = await newAgent(last.o, { scopes: ['tokens:write'] });
    expect(codeOf(await last.o.post('/agent-credentials', { name: 'x', scopes: ['tokens:write'] }))).toEqual([
      409,
      'LIMIT_REACHED',
    ]);
  });

  slow('count as live until the agent ends, and are purged ninety days later', async () => {
    const o = await newOrg();
    const agent = await newAgent(o, { scopes: ['tokens:write', 'secrets:read'] });
    const made = await newAgent(agent.o);
    const id = (n: number) => `${made.id.slice(0, -5)}${String(n).padStart(5, '0')}`;
    await inCore(o, ({ rows, storage }) => {
      const row = rows.get('credential', made.id) as CredentialRow;
      storage.transactionSync(() => {
        for (let n = 0; n < 9_997; n++)
          rows.put('credential', { ...row, id: id(n), token_hash: `hash ${n}` });
      });
    });
    const more = () => o.post('/agent-credentials', { name: 'more', scopes: ['secrets:read'] });
    expect(codeOf(await more())).toEqual([409, 'LIMIT_REACHED']);
    await o.del(`/agent-credentials/${agent.id}`);
    expect((await more()).status).toBe(201);

    const left = (days: number) =>
      inCore(o, async (core) => {
        const before = core.now;
        core.now = () => Date.now() + days * DAY;
        ageTo(core, core.now());
        for (let n = 0; n < 60; n++) {
          core.schedule.at('rows', Date.now());
          await runTasks(core, core.now());
        }
        core.now = before;
        return core.rows.count('credential');
      });
    expect(await left(89)).toBe(10_001);
    // The first key, and the one more.
    expect(await left(91)).toBe(2);
    expect(codeOf(await whoami(made.o))).toEqual([401, 'UNAUTHENTICATED']);
  });
});

describe('rate limit: an agent', () => {
  const burst = async (o: Caller, many: number) => {
    const answers = await Promise.all(Array.from({ length: many }, () => whoami(o)));
    return answers.filter(({ status }) => status === 200).length;
  };

  slow('has exactly 120 requests a minute by default, and can get another limit at any time', async () => {
    faults.clock = Date.now();
    const o = await newOrg();
    const usual = await newAgent(o);
    const slow = await newAgent(o, { rate_limit: 3 });
    expect([usual.rate_limit, slow.rate_limit]).toEqual([120, 3]);
    expect(await burst(usual.o, 130)).toBe(120);
    expect(await burst(slow.o, 10)).toBe(3);
    const over = await whoami(slow.o);
    expect([...codeOf(over), over.headers.get('ratelimit-policy')]).toEqual([
      429,
      'RATE_LIMITED',
      '"credential";q=3;w=60',
    ]);
    expect(Number(over.headers.get('retry-after'))).toBeGreaterThan(0);
    await o.patch(`/agent-credentials/${slow.id}`, { rate_limit: 5 });
    expect(await burst(slow.o, 10)).toBe(2);
    await o.patch(`/agent-credentials/${usual.id}`, { rate_limit: 100 });
    expect(await burst(usual.o, 5)).toBe(0);
  });

  slow('shares its rate limit with its descendants, also after eviction of the gate', async () => {
    faults.clock = Date.now();
    const o = await newOrg();
    const agent = await newAgent(o, { scopes: ['tokens:write', 'secrets:read'], rate_limit: 20 });
    const child = await newAgent(agent.o, { scopes: ['tokens:write', 'secrets:read'], rate_limit: 6000 });
    const key = await newKey(child.o, { scopes: ['secrets:read'] });
    const session = await newSession(key.o);
    // Two were spent on making them: one by the agent, one by its child; and one by the key.
    expect(await burst(session.o, 5)).toBe(5);
    const left = async (o: Caller) => Number((await whoami(o)).headers.get('x-ratelimit-remaining'));
    expect(await left(session.o)).toBe(20 - 3 - 6);
    await evict(o);
    expect(await left(key.o)).toBe(20 - 3 - 7);
    expect(await left(child.o)).toBe(20 - 3 - 8);
    expect(await burst(child.o, 20)).toBe(20 - 3 - 9 + 1);
    for (const { o: spent } of [agent, child, key, session])
      expect(codeOf(await whoami(spent))).toEqual([429, 'RATE_LIMITED']);
    await evict(o);
    for (const { o: spent } of [agent, child, key, session])
      expect(codeOf(await whoami(spent))).toEqual([429, 'RATE_LIMITED']);
    // Their maker's own is untouched by them.
    expect(Number((await o.get('/environments')).headers.get('x-ratelimit-limit'))).toBe(1200);
    expect((await o.get('/environments')).status).toBe(200);
  });
});

describe('last use: a credential', () => {
  const useOf = async (o: Caller, id: string) => {
    const { last_used_at, use_count, last_used_place } = (await o.get(`/agent-credentials/${id}`)).json;
    return { at: Date.parse(last_used_at), count: use_count, place: last_used_place };
  };

  slow('shows time and number of its requests, refused ones included, without a write to D1', async () => {
    const o = await newOrg();
    const agent = await newAgent(o, { rate_limit: 5 });
    const before = Date.now();
    faults.d1 = 0;
    for (let n = 0; n < 3; n++) await agent.o.get('/secrets');
    expect((await agent.o.get('/audit-log')).status).toBe(403);
    expect(faults.d1).toBe(0);
    const use = await useOf(o, agent.id);
    expect([use.count, use.place, use.at >= before]).toEqual([4, null, true]);
    expect((await o.get('/agent-credentials')).json.data[0].use_count).toBe(4);
    // What comes over the limit counts once the minute is over.
    for (let n = 0; n < 4; n++) await agent.o.get('/secrets');
    expect((await useOf(o, agent.id)).count).toBe(5);
    await inCore(o, async (core) => {
      core.schedule.at('minutes', Date.now());
      core.now = () => Date.now() + 120_000;
      await runTasks(core);
    });
    faults.clock = Date.now() + 120_000;
    expect((await useOf(o, agent.id)).count).toBe(8);
    await evict(o);
    expect((await useOf(o, agent.id)).count).toBe(8);
  });

  slow('shows the same after eviction of the gate, and after audit entries moved to D1', async () => {
    faults.clock = Date.now();
    const o = await newOrg();
    const agent = await newAgent(o, { scopes: ['tokens:write', 'secrets:read'], rate_limit: 6000 });
    const child = await newAgent(agent.o, { rate_limit: 6000 });
    const uses = async () => ({ agent: await useOf(o, agent.id), child: await useOf(o, child.id) });
    for (let n = 0; n < 10; n++) await Promise.all(Array.from({ length: 70 }, () => child.o.get('/secrets')));
    const before = await uses();
    expect([before.agent.count, before.child.count]).toEqual([1, 700]);
    // What it made was used later than it was itself.
    expect(before.agent.at).toBe(before.child.at);
    await evict(o);
    expect(await uses()).toEqual(before);

    for (let n = 0; n < 5; n++) await Promise.all(Array.from({ length: 70 }, () => child.o.get('/secrets')));
    const then = await uses();
    expect(then.child.count).toBe(1050);
    const moved = await inCore(o, async (core) => {
      core.schedule.at('segments', Date.now());
      core.now = () => Date.now() + 600_000;
      await runTasks(core);
      core.now = () => faults.clock ?? Date.now();
      return core.auditLog.oldest();
    });
    expect(moved).toBeGreaterThan(1000);
    expect(await uses()).toEqual(then);
    await evict(o);
    expect(await uses()).toEqual(then);
    await child.o.get('/secrets');
    expect((await uses()).child.count).toBe(1051);
  });

  it('is stored only while the credential exists', async () => {
    const o = await newOrg();
    const session = await newSession(o, { ttlSeconds: 60 });
    await session.o.get('/secrets');
    await inCore(o, (core) =>
      core.storage.transactionSync(() => lastUsed(core).flush(core.auditLog.head().sequence)),
    );
    const kept = () =>
      inCore(o, ({ storage }) =>
        storage.sql
          .exec<{ credential: string }>('select credential from uses order by 1')
          .toArray()
          .map(({ credential }) => credential),
      );
    expect(await kept()).toEqual([o.keyId, session.id].sort());
    await inCore(o, async (core) => {
      core.now = () => Date.now() + DAY;
      await runTasks(core);
    });
    expect(await kept()).toEqual([o.keyId]);
  });
});
