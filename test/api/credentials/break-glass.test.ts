// Emergencies: who may issue a break-glass token, what it may do and for how long, and that every use of it
// is told.
import { beforeEach, describe, expect, it } from 'vitest';
import { routes } from '../../../src/domains';
import { runTasks } from '../../../src/gate/tasks/run';
import { newAgent, newBreakGlass, newKey, newProvider, newSession } from '../../support/credentials';
import { faults } from '../../support/faults';
import { evict, inCore } from '../../support/gate';
import { newPolicy } from '../../support/governance/policies';
import { slow } from '../../support/slow';
import { MINUTE } from '../../support/time';
import {
  type Answer,
  type Caller,
  callerOf,
  codeOf,
  newOrg,
  newSecret,
  send,
  useWorld,
  whoami,
} from '../../support/world';

useWorld();

const REASON = 'the primary database is down';
const issue = (o: Caller, fields: object = {}, headers = {}) =>
  o.post('/break-glass-tokens', { reason: REASON, ...fields }, headers);

/** Tests that read minutes begin one. */
beforeEach(() => {
  faults.clock = Math.ceil(Date.now() / MINUTE) * MINUTE + 1000;
});
const later = (ms: number) => {
  faults.clock = (faults.clock ?? 0) + ms;
};
const worked = (o: Caller) => inCore(o, (core) => runTasks(core));
const told = (o: Caller) =>
  inCore(o, ({ outbox }) =>
    outbox
      .oldest(100)
      .filter(({ type }) => type.startsWith('BREAK_GLASS'))
      .map(({ type, data }) => ({ type, ...data })),
  );

describe('break-glass: create', () => {
  it('takes a reason, lasts an hour by default, and shows the token once', async () => {
    const o = await newOrg();
    const { status, json } = await issue(o);
    expect(status).toBe(201);
    const { token, ...shown } = json;
    expect(token).toMatch(/^svcbg_/);
    expect(shown).toMatchObject({
      reason: REASON,
      created_by: o.keyId,
      parent_id: null,
      revoked_at: null,
      rate_limit: 60,
      allowed_addresses: null,
    });
    expect(shown.id).toMatch(/^bgt_/);
    expect(Date.parse(shown.expires_at) - Date.parse(shown.created_at)).toBe(3_600_000);
    expect((await o.get('/break-glass-tokens')).json).toEqual({
      data: [shown],
      next_cursor: null,
      has_more: false,
    });
    expect((await whoami(o.as(token))).json).toEqual({
      kind: 'break_glass',
      id: shown.id,
      org_id: o.id,
      name: null,
      environments: null,
      default_environment: 'production',
      secrets: null,
      upstreams: null,
      parent_id: null,
      rate_limit: 60,
      device_id: null,
      scopes: shown.scopes,
      expires_at: shown.expires_at,
    });
    expect(shown.scopes.sort()).toEqual([
      'audit:read',
      'secrets:delete',
      'secrets:list',
      'secrets:read',
      'secrets:rotate',
      'secrets:write',
    ]);
  });

  it.each([
    [{ reason: undefined }, 'reason'],
    [{ reason: 'too short' }, 'reason'],
    [{ reason: 'x'.repeat(1025) }, 'reason'],
    [{ ttlSeconds: 59 }, 'ttlSeconds'],
    [{ ttlSeconds: 14_401 }, 'ttlSeconds'],
    [{ ttlSeconds: 60.5 }, 'ttlSeconds'],
    [{ scopes: ['*'] }, 'scopes'],
    [{ name: 'x' }, 'name'],
  ])('validation: refuses %j', async (fields, path) => {
    const o = await newOrg();
    const answer = await issue(o, fields);
    expect([...codeOf(answer), answer.json.error.details[0].path]).toEqual([400, 'VALIDATION_FAILED', path]);
  });

  it.each([60, 14_400])('expires after the %d seconds that were asked for', async (ttlSeconds) => {
    const o = await newOrg();
    const token = await newBreakGlass(o, { ttlSeconds });
    later(ttlSeconds * 1000 - 1);
    expect((await token.o.get('/secrets')).status).toBe(200);
    later(1);
    expect(codeOf(await token.o.get('/secrets'))).toEqual([401, 'TOKEN_EXPIRED']);
    expect((await o.get('/break-glass-tokens')).json.data).toEqual([]);
  });

  it('revocation: tokens:write revokes one immediately', async () => {
    const o = await newOrg();
    const token = await newBreakGlass(o);
    const clerk = await newKey(o, { scopes: ['tokens:write'] });
    expect((await token.o.get('/secrets')).status).toBe(200);
    expect((await clerk.o.del(`/break-glass-tokens/${token.id}`)).status).toBe(204);
    expect(codeOf(await token.o.get('/secrets'))).toEqual([401, 'TOKEN_REVOKED']);
    expect((await clerk.o.del(`/break-glass-tokens/${token.id}`)).status).toBe(204);
    expect(codeOf(await o.del('/break-glass-tokens/bgt_none'))).toEqual([404, 'NOT_FOUND']);
    expect(codeOf(await o.del(`/break-glass-tokens/${o.keyId}`))).toEqual([404, 'NOT_FOUND']);
  });
});

describe('break-glass: who may create one', () => {
  slow('an API key that holds everything, and no other kind of caller', async () => {
    const o = await newOrg();
    const all = { scopes: ['*'] };
    expect((await issue((await newKey(o, all)).o)).status).toBe(201);
    for (const scopes of [['tokens:write'], ['tokens:*', 'secrets:*', 'audit:read']]) {
      const answer = await issue((await newKey(o, { scopes })).o);
      expect(codeOf(answer)).toEqual([403, 'INSUFFICIENT_SCOPE']);
      expect(answer.json.error.message).toContain('*');
    }
    for (const other of [
      await newSession(o),
      await newAgent(o, all),
      await newProvider(o),
      await newBreakGlass(o),
    ])
      expect(codeOf(await issue(other.o))).toEqual([403, 'CREDENTIAL_KIND_NOT_ALLOWED']);
    expect((await o.get('/break-glass-tokens')).json.data).toHaveLength(2);
  });

  it('no API key that one of these creates, with which it would pass policies that allow break-glass', async () => {
    const o = await newOrg();
    const secret = await newSecret(o);
    const config = {
      operations: ['secret.read'],
      required: 1,
      approvers: { accountable: true },
      allow_break_glass: true,
    };
    await newPolicy(o, 'approval', config);
    const all = { scopes: ['*'] };
    const agent = await newAgent(o, all);
    const key = await newKey(agent.o, all);
    for (const o of [key.o, (await newKey((await newAgent(key.o, all)).o, all)).o]) {
      expect(codeOf(await o.get(`/secrets/${secret.id}`))).toEqual([403, 'APPROVAL_REQUIRED']);
      expect(codeOf(await issue(o))).toEqual([403, 'CREDENTIAL_KIND_NOT_ALLOWED']);
    }
    const session = await newSession(o, { ttlSeconds: 3600 });
    expect(codeOf(await issue((await newKey(session.o, all)).o, { ttlSeconds: 60 }))).toEqual([
      403,
      'CREDENTIAL_KIND_NOT_ALLOWED',
    ]);
    // A rotation makes no exception.
    const rotated = (await o.post(`/api-keys/${key.id}/rotate`, {})).json;
    expect(codeOf(await issue(o.as(rotated.token)))).toEqual([403, 'CREDENTIAL_KIND_NOT_ALLOWED']);
    expect((await o.get('/break-glass-tokens')).json.data).toEqual([]);
  });

  slow('no key that is more limited than the token, or that expires earlier', async () => {
    const o = await newOrg();
    const at = (seconds: number) => new Date((faults.clock ?? 0) + seconds * 1000).toISOString();
    for (const limits of [{ environments: ['production'] }, { secrets: ['*'] }, { expires_at: at(3599) }])
      expect([limits, ...codeOf(await issue((await newKey(o, limits)).o))]).toEqual([
        limits,
        403,
        'SCOPE_EXCEEDS_PARENT',
      ]);
    expect((await issue((await newKey(o, { expires_at: at(3601) })).o)).status).toBe(201);
    expect((await issue((await newKey(o, { expires_at: at(61) })).o, { ttlSeconds: 60 })).status).toBe(201);
  });

  it('the token inherits the allowed addresses of the key', async () => {
    const o = await newOrg();
    const key = await newKey(o, { allowed_addresses: ['203.0.113.0/24'] });
    const token = await newBreakGlass(key.o);
    expect(token).toMatchObject({ allowed_addresses: ['203.0.113.0/24'] });
    expect((await token.o.get('/secrets')).status).toBe(200);
    expect(codeOf(await token.o.get('/secrets', { 'CF-Connecting-IP': '198.51.100.1' }))).toEqual([
      403,
      'ADDRESS_NOT_ALLOWED',
    ]);
  });

  slow('limit: at most five are live, also with concurrent creations; one that ends makes room', async () => {
    const o = await newOrg();
    const other = await newKey(o);
    const answers = await Promise.all(Array.from({ length: 12 }, (_, n) => issue(n % 2 ? o : other.o)));
    const made = answers.filter(({ status }) => status === 201);
    const refused = answers.filter(({ status }) => status !== 201);
    expect(made).toHaveLength(5);
    for (const answer of refused) expect(codeOf(answer)).toEqual([409, 'LIMIT_REACHED']);
    expect((await o.get('/break-glass-tokens')).json.data).toHaveLength(5);
    await o.del(`/break-glass-tokens/${made[0]?.json.id}`);
    expect((await issue(o, { ttlSeconds: 60 })).status).toBe(201);
    expect(codeOf(await issue(o))).toEqual([409, 'LIMIT_REACHED']);
    later(61_000);
    expect((await issue(o)).status).toBe(201);
    expect(codeOf(await issue(o))).toEqual([409, 'LIMIT_REACHED']);
  });

  it('idempotency: one Idempotency-Key gives one token', async () => {
    const o = await newOrg();
    const first = await issue(o, {}, { 'Idempotency-Key': 'k' });
    const again = await issue(o, {}, { 'Idempotency-Key': 'k' });
    expect([again.status, again.text, again.headers.get('idempotency-replayed')]).toEqual([
      201,
      first.text,
      'true',
    ]);
    expect((await o.get('/break-glass-tokens')).json.data).toHaveLength(1);
    expect(await told(o)).toHaveLength(1);
  });
});

describe('break-glass: permissions', () => {
  it('allow to list, read, write, rotate and delete secrets everywhere, and to read the audit log', async () => {
    const o = await newOrg();
    const { o: emergency } = await newBreakGlass(o);
    const { id, value } = await newSecret(o, { name: 'a/b', environment: 'staging', type: 'password' });
    const done = async (answer: Promise<Answer>) => expect((await answer).status).toBeLessThan(300);
    await done(emergency.get('/secrets'));
    expect((await emergency.get(`/secrets/${id}`)).json.value).toBe(value);
    await done(emergency.get('/secrets/by-name/a%2Fb?environment=staging'));
    await done(emergency.get('/environments/staging/values'));
    await done(emergency.get(`/secrets/${id}/versions`));
    await done(emergency.post('/secrets', { name: 'new', type: 'generic', value: 'v' }));
    await done(emergency.patch(`/secrets/${id}`, { value: 'v', name: 'c' }));
    await done(emergency.post(`/secrets/${id}/rotate`));
    await done(emergency.post(`/secrets/${id}/rollback`, { version: 1 }));
    await done(emergency.del(`/secrets/${id}`));
    await done(emergency.post(`/secrets/${id}/restore`));
    await done(emergency.get('/audit-log'));
    await done(emergency.get('/audit-log?format=ndjson'));
    await done(emergency.get('/audit-log/verify'));
  });

  it('do not allow to purge a secret, live, deleted or missing', async () => {
    const o = await newOrg();
    const { o: emergency } = await newBreakGlass(o);
    const { id } = await newSecret(o);
    const destroy = async (what: string) =>
      expect(codeOf(await emergency.del(`/secrets/${what}?permanent=true`))).toEqual([
        403,
        'INSUFFICIENT_SCOPE',
      ]);
    await destroy(id);
    await destroy((await newSecret(await newOrg())).id);
    expect((await emergency.del(`/secrets/${id}`)).status).toBe(204);
    await destroy(id);
    expect((await o.post(`/secrets/${id}/restore`)).status).toBe(200);
  });

  const allowed = ['caller.read', 'audit.read', 'audit.verify', 'audit.histogram'];
  const isAllowed = (action: string) => allowed.includes(action) || action.startsWith('secret.');
  it('allow nothing else: every other route refuses the token, whether its object exists or not', async () => {
    const o = await newOrg();
    const tokens = [
      await newBreakGlass(o),
      await newBreakGlass(o),
      await newBreakGlass(o),
      await newBreakGlass(o),
    ];
    const rest = routes.filter(({ action, public: isPublic }) => !isPublic && !isAllowed(action));
    expect(rest.length).toBeGreaterThan(25);
    const ids: Record<string, string> = { 'api-keys': o.keyId, 'break-glass-tokens': tokens[1]?.id ?? '' };
    for (const [n, route] of rest.entries()) {
      const { o: emergency } = tokens[n % tokens.length] as (typeof tokens)[0];
      const path = route.path
        .replace('{org_id}', o.id)
        .replace('{id}', ids[/([a-z-]+)\/\{id\}/.exec(route.path)?.[1] ?? ''] ?? 'none')
        .replace(/\{\w+\}/g, 'x');
      const answer = await send(route.method.toUpperCase(), `/api/v1${path}`, {
        token: emergency.token,
        ...(route.method !== 'get' && { body: {} }),
      });
      expect([route.action, ...codeOf(answer)]).toEqual([route.action, 403, 'CREDENTIAL_KIND_NOT_ALLOWED']);
    }
    // Nor can it be made to last, nor made again from itself.
    for (const { o: emergency, id } of tokens) {
      expect((await emergency.patch(`/break-glass-tokens/${id}`, { ttlSeconds: 14_400 })).status).toBe(405);
      expect(codeOf(await issue(emergency))).toEqual([403, 'CREDENTIAL_KIND_NOT_ALLOWED']);
    }
    expect(codeOf(await o.patch(`/agent-credentials/${tokens[0]?.id}`, { ttlSeconds: null }))).toEqual([
      404,
      'NOT_FOUND',
    ]);
    expect(codeOf(await o.post(`/api-keys/${tokens[0]?.id}/rotate`, {}))).toEqual([404, 'NOT_FOUND']);
    expect(
      (await o.get('/break-glass-tokens')).json.data.map(
        ({ expires_at }: { expires_at: string }) => expires_at,
      ),
    ).toEqual(tokens.map(({ expires_at }) => expires_at));
  });

  slow('rate limit: sixty requests a minute', async () => {
    const o = await newOrg();
    const { o: emergency } = await newBreakGlass(o);
    const answers = await Promise.all(Array.from({ length: 70 }, () => emergency.get('/secrets')));
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(60);
  });
});

describe('break-glass: reports of use', () => {
  slow('audit log: marks every use, refusals and the creation included, and nothing else', async () => {
    const o = await newOrg();
    const weak = await newKey(o, { scopes: ['tokens:write'] });
    await issue(weak.o);
    await issue(o, { reason: 'short' });
    const token = await newBreakGlass(o, { reason: REASON });
    const { id } = await newSecret(o);
    await token.o.get(`/secrets/${id}`);
    await token.o.get('/api-keys');
    await token.o.get('/secrets/sec_none');
    await callerOf((await newOrg()).id, token.token).get('/secrets');
    await o.del(`/break-glass-tokens/${token.id}`);
    await token.o.get(`/secrets/${id}`);
    const entries = (await o.get('/audit-log?limit=100')).json.data as {
      action: string;
      status: number;
      emergency: boolean;
      reason: string | null;
      actor: { kind: string; id: string };
    }[];
    const marked = entries.filter(({ emergency }) => emergency).reverse();
    expect(marked.map(({ action, status, actor }) => [action, status, actor.kind])).toEqual([
      ['break_glass.create', 403, 'api_key'],
      ['break_glass.create', 400, 'api_key'],
      ['break_glass.create', 201, 'api_key'],
      ['secret.read', 200, 'break_glass'],
      ['api_key.list', 403, 'break_glass'],
      ['secret.read', 404, 'break_glass'],
      ['secret.list', 404, 'break_glass'],
      ['secret.read', 401, 'break_glass'],
    ]);
    expect(marked.slice(0, 3).map(({ reason }) => reason)).toEqual([null, null, REASON]);
    for (const { actor, emergency } of entries) if (actor.id === token.id) expect(emergency).toBe(true);
    expect((await o.get('/audit-log/verify')).json.ok).toBe(true);
  });

  it('events: one for the creation, one for the first use, then one a minute', async () => {
    const o = await newOrg();
    const token = await newBreakGlass(o);
    const by = (await whoami(o)).json.id;
    const issued = {
      type: 'BREAK_GLASS_ISSUED',
      credential_id: token.id,
      kind: 'break_glass',
      name: null,
      by,
    };
    const used = (count: number) => ({ type: 'BREAK_GLASS_USED', credential_id: token.id, count });
    expect(await told(o)).toEqual([issued]);
    await token.o.get('/secrets');
    expect(await told(o)).toEqual([issued, used(1)]);
    for (let n = 0; n < 3; n++) await token.o.get('/secrets');
    await token.o.get('/api-keys');
    await worked(o);
    expect(await told(o)).toEqual([issued, used(1)]);
    later(MINUTE);
    await worked(o);
    expect(await told(o)).toEqual([issued, used(1), used(4)]);
    // Nothing happened meanwhile, so nothing is told.
    later(5 * MINUTE);
    await worked(o);
    expect(await told(o)).toEqual([issued, used(1), used(4)]);
    await token.o.get('/secrets');
    later(MINUTE);
    await token.o.get('/secrets');
    later(MINUTE);
    await worked(o);
    expect(await told(o)).toEqual([issued, used(1), used(4), used(1), used(1)]);
  });

  slow('events: report each token separately, requests over the rate limit included', async () => {
    const o = await newOrg();
    const one = await newBreakGlass(o);
    const two = await newBreakGlass(o);
    await one.o.get('/secrets');
    await Promise.all(Array.from({ length: 70 }, () => two.o.get('/secrets')));
    for (let n = 0; n < 3; n++) {
      later(MINUTE);
      await worked(o);
    }
    const counts = (id: string) =>
      told(o).then((events) =>
        events.flatMap((event) =>
          'count' in event && 'credential_id' in event && event.credential_id === id ? [event.count] : [],
        ),
      );
    expect(await counts(one.id)).toEqual([1]);
    // Sixty were let in; ten became one entry once their minute was over.
    expect(await counts(two.id)).toEqual([1, 59, 10]);
  });

  it('events: survive eviction of the gate; its alarm closes the minute', async () => {
    const o = await newOrg();
    const token = await newBreakGlass(o);
    await token.o.get('/secrets');
    await evict(o);
    await token.o.get('/secrets');
    await evict(o);
    await token.o.get('/secrets');
    await evict(o);
    const due = await inCore(o, ({ schedule }) => schedule.now((faults.clock ?? 0) + MINUTE + 1000));
    expect(due).toContain('minutes');
    later(MINUTE + 1000);
    await worked(o);
    expect((await told(o)).map((event) => ('count' in event ? event.count : event.type))).toEqual([
      'BREAK_GLASS_ISSUED',
      1,
      2,
    ]);
  });

  it('events: report a change that D1 has not received', async () => {
    const o = await newOrg();
    const token = await newBreakGlass(o);
    faults.fail = (kind) => (kind === 'batch' ? 'before' : null);
    expect((await token.o.post('/secrets', { name: 'x', type: 'generic', value: 'v' })).status).toBe(201);
    faults.fail = null;
    await o.get('/secrets');
    expect((await told(o)).map((event) => ('count' in event ? event.count : event.type))).toEqual([
      'BREAK_GLASS_ISSUED',
      1,
    ]);
  });
});
