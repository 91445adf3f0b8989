// Naming policies: every path by which a secret gets its name.
import { describe, expect, it } from 'vitest';
import { newAgent, newKey, newProvider } from '../../support/credentials';
import { inCore } from '../../support/gate';
import { newPolicy } from '../../support/governance/policies';
import { PATTERNS } from '../../support/limits/largest';
import { slow } from '../../support/slow';
import {
  type Answer,
  type Caller,
  codeOf,
  GENERATED,
  newOrg,
  newSecret,
  send,
  useWorld,
} from '../../support/world';

useWorld();

const VIOLATED = [422, 'POLICY_VIOLATED'];
const upper = (o: Caller, fields = {}) =>
  newPolicy(o, 'naming', { pattern: '^[A-Z][A-Z0-9_]*$' }, { name: 'Upper case', ...fields });
const create = (o: Caller, name: string, fields = {}) =>
  o.post('/secrets', { name, type: 'generic', value: 'v', ...fields });
const put = (o: Caller, name: string, fields = {}) =>
  o.call('PUT', `/secrets/by-name/${name}`, { value: 'v', ...fields });
const issue = (token: string, secretName: string, environment = 'production') =>
  send('POST', '/api/v1/provider/issue', {
    token,
    body: { secretName, environment, value: crypto.randomUUID(), ttlSeconds: 600 },
  });
const events = (o: Caller) =>
  inCore(o, ({ outbox }) =>
    outbox.oldest(1000).flatMap(({ type, data }) => (type === 'POLICY_VIOLATED' ? [data] : [])),
  );
const newest = async (o: Caller) => (await o.get('/audit-log?limit=1')).json.data[0];

describe('naming policy', () => {
  slow('names itself and its pattern, and leaves an event and an audit entry', async () => {
    const o = await newOrg();
    const { id } = await upper(o);
    const refused = await create(o, 'db_password');
    expect(codeOf(refused)).toEqual(VIOLATED);
    for (const part of ['Upper case', '^[A-Z][A-Z0-9_]*$'])
      expect(refused.json.error.message).toContain(part);
    expect(refused.json.error.message).not.toContain(id);
    expect(await newest(o)).toMatchObject({
      action: 'secret.create',
      outcome: 'failed',
      status: 422,
      resource_name: 'db_password',
    });
    expect(await events(o)).toMatchObject([
      {
        policy_id: id,
        name: 'db_password',
        environment: 'production',
        action: 'secret.create',
        credential_id: o.keyId,
      },
    ]);
    expect((await create(o, 'DB_PASSWORD')).status).toBe(201);
    expect((await o.get('/secrets')).json.data).toHaveLength(1);
    expect(await events(o)).toHaveLength(1);
  });

  it('holds on every path: create, generate, PUT, rename, restore, provider issue', async () => {
    const o = await newOrg();
    const secret = await newSecret(o, { name: 'deleted' });
    await o.del(`/secrets/${secret.id}`);
    const good = await newSecret(o, { name: 'GOOD' });
    const { token } = await newProvider(o);
    await upper(o);
    const paths: [string, () => Promise<Answer>][] = [
      ['create', () => create(o, 'bad')],
      ['create, generated', () => create(o, 'bad', GENERATED)],
      ['PUT', () => put(o, 'bad')],
      ['rename', () => o.patch(`/secrets/${good.id}`, { name: 'bad' })],
      ['rename with a value', () => o.patch(`/secrets/${good.id}`, { name: 'bad', value: 'w' })],
      ['restore', () => o.post(`/secrets/${secret.id}/restore`)],
      ['provider issue', () => issue(token, 'bad')],
    ];
    for (const [what, call] of paths) expect(codeOf(await call()), what).toEqual(VIOLATED);
    expect(await events(o)).toHaveLength(paths.length);
    expect((await o.get('/secrets')).json.data).toMatchObject([{ name: 'GOOD', version: 1 }]);
    expect((await issue(token, 'ISSUED')).status).toBe(201);
    expect((await put(o, 'PUT')).status).toBe(201);
  });

  it('applies to the next request: once it is made, changed, disabled, enabled and deleted', async () => {
    const o = await newOrg();
    const { id } = await upper(o);
    expect(codeOf(await create(o, 'a1'))).toEqual(VIOLATED);
    await o.patch(`/policies/${id}`, { config: { pattern: '^[a-z]' } });
    expect([(await create(o, 'a1')).status, codeOf(await create(o, 'A1'))]).toEqual([201, VIOLATED]);
    await o.patch(`/policies/${id}`, { enabled: false });
    expect((await create(o, 'A1')).status).toBe(201);
    await o.patch(`/policies/${id}`, { enabled: true });
    expect(codeOf(await create(o, 'A2'))).toEqual(VIOLATED);
    await o.del(`/policies/${id}`);
    expect((await create(o, 'A2')).status).toBe(201);
  });

  slow('applies only to its environments, types and names', async () => {
    const o = await newOrg();
    await upper(o, { applies_to: { environments: ['production'], types: ['password'], names: ['app-*'] } });
    for (const [name, fields] of [
      ['app-x', { environment: 'staging', type: 'password' }],
      ['app-x', { type: 'generic' }],
      ['other', { type: 'password' }],
    ] as const)
      expect((await create(o, name, fields)).status).toBe(201);
    expect(codeOf(await create(o, 'app-y', { type: 'password' }))).toEqual(VIOLATED);
  });

  slow('applies to a change of type that brings a secret under it', async () => {
    const o = await newOrg();
    const { id } = await newSecret(o, { name: 'lower' });
    const named = await newSecret(o, { name: 'UPPER' });
    await upper(o, { applies_to: { types: ['password', 'json'] } });
    expect(codeOf(await o.patch(`/secrets/${id}`, { type: 'password' }))).toEqual(VIOLATED);
    expect(codeOf(await put(o, 'lower', { type: 'password' }))).toEqual(VIOLATED);
    expect((await o.get(`/secrets/${id}`)).json).toMatchObject({ type: 'generic', version: 1 });
    expect((await o.patch(`/secrets/${named.id}`, { type: 'password' })).status).toBe(200);
  });

  slow('lets every other change of a secret pass that has broken it since before', async () => {
    const o = await newOrg();
    const { id } = await newSecret(o, { name: 'lower', type: 'password' });
    const { token } = await newProvider(o);
    await upper(o);
    for (const answer of [
      await o.patch(`/secrets/${id}`, { value: 'w' }),
      await o.patch(`/secrets/${id}`, { type: 'generic', description: 'd' }),
      await o.patch(`/secrets/${id}`, { name: 'lower', tags: { a: 'b' } }),
      await put(o, 'lower', { value: 'x' }),
      await o.post(`/secrets/${id}/rotate`, { value: 'y' }),
      await o.post(`/secrets/${id}/rollback`, { version: 1 }),
      await issue(token, 'lower'),
    ])
      expect(answer.status, answer.text).toBe(200);
    expect(codeOf(await o.patch(`/secrets/${id}`, { name: 'lower2' }))).toEqual(VIOLATED);
    expect((await o.patch(`/secrets/${id}`, { name: 'LOWER' })).status).toBe(200);
  });

  it('is judged after 404, 409 and 412, and says nothing to who may not write the name', async () => {
    const o = await newOrg();
    const { id } = await newSecret(o, { name: 'lower' });
    await upper(o);
    const agent = await newAgent(o, { scopes: ['secrets:write'], secrets: ['app/*'] });
    expect(codeOf(await create(agent.o, 'lower2'))).toEqual([403, 'INSUFFICIENT_SCOPE']);
    expect(codeOf(await create(o, 'lower'))).toEqual([409, 'SECRET_NAME_TAKEN']);
    expect(codeOf(await create(o, 'x', { environment: 'moon' }))).toEqual([404, 'NOT_FOUND']);
    expect(codeOf(await o.patch(`/secrets/${id}`, { name: 'x' }, { 'If-Match': '"v9"' }))).toEqual([
      412,
      'VERSION_CONFLICT',
    ]);
    const exists = await o.call('PUT', '/secrets/by-name/lower', { value: 'v' }, { 'If-None-Match': '*' });
    expect(codeOf(exists)).toEqual([412, 'VERSION_CONFLICT']);
    expect(await events(o)).toEqual([]);
  });

  it('idempotency: the refusal is replayed, and raises one event', async () => {
    const o = await newOrg();
    const { id } = await upper(o);
    const call = () =>
      o.post('/secrets', { name: 'bad', type: 'generic', value: 'v' }, { 'Idempotency-Key': 'k1' });
    const first = await call();
    await o.del(`/policies/${id}`);
    const again = await call();
    expect([codeOf(first), codeOf(again), again.headers.get('idempotency-replayed')]).toEqual([
      VIOLATED,
      VIOLATED,
      'true',
    ]);
    expect(await events(o)).toHaveLength(1);
  });

  slow("race: none of a hundred concurrent creates takes effect after the policy's response", async () => {
    const o = await newOrg();
    const made = Array.from({ length: 30 }, (_, n) => create(o, `n${n}`));
    const policy = upper(o);
    const rest = Array.from({ length: 30 }, (_, n) => create(o, `m${n}`));
    await policy;
    const late = await Promise.all(Array.from({ length: 10 }, (_, n) => create(o, `late${n}`)));
    expect(late.map(codeOf)).toEqual(late.map(() => VIOLATED));
    const outcomes = await Promise.all([...made, ...rest]);
    const names = (await o.get('/secrets?limit=100')).json.data.length;
    expect(names).toBe(outcomes.filter(({ status }) => status === 201).length);
  });

  slow('a hostile pattern costs no more than its length: names are judged in linear time', async () => {
    const o = await newOrg();
    await newPolicy(o, 'naming', { pattern: '^(a|a|aa)*(a*)*(a|b|ab)*c$' });
    await newPolicy(o, 'naming', { pattern: '(a?){60}a{60}$' });
    expect(codeOf(await create(o, 'a'.repeat(255)))).toEqual(VIOLATED);
    expect(codeOf(await create(o, `${'ab'.repeat(127)}!`.slice(0, 254)))).toEqual(VIOLATED);
    expect((await create(o, `${'a'.repeat(200)}c`)).status).toBe(422);
  });
});

describe('naming policy: violations', () => {
  slow('a page compares a bounded number of names with patterns', async () => {
    const o = await newOrg();
    await Promise.all(Array.from({ length: 130 }, (_, n) => newSecret(o, { name: `${n}`.padEnd(255, 'x') })));
    const all = { names: PATTERNS };
    const { id } = await newPolicy(o, 'naming', { pattern: '^none' }, { applies_to: all });
    const { o: limited } = await newKey(o, { scopes: ['policies:read', 'secrets:list'], secrets: PATTERNS });
    for (const as of [o, limited]) {
      let pages = 0;
      let cursor = '';
      for (; cursor !== null; pages++)
        cursor = (await as.get(`/policies/${id}/violations${cursor && `?cursor=${cursor}`}`)).json
          .next_cursor;
      expect(pages).toBe(2);
    }
  });

  slow('lists secrets that were named before, in pages, also of a policy that is off', async () => {
    const o = await newOrg();
    const named = new Map<string, string>();
    for (const name of ['b1', 'A1', 'b2', 'b3', 'A2']) named.set(name, (await newSecret(o, { name })).id);
    const gone = await newSecret(o, { name: 'b4' });
    await o.del(`/secrets/${gone.id}`);
    await newSecret(o, { name: 'b5', environment: 'staging' });
    const { id } = await upper(o, { enabled: false, applies_to: { environments: ['production'] } });
    const first = (await o.get(`/policies/${id}/violations?limit=2`)).json;
    expect(first).toEqual({
      data: ['b1', 'b2'].map((name) => ({
        id: named.get(name),
        name,
        type: 'generic',
        environment: 'production',
      })),
      next_cursor: first.next_cursor,
      has_more: true,
    });
    expect(
      (await o.get(`/policies/${id}/violations?limit=2&cursor=${first.next_cursor}`)).json,
    ).toMatchObject({
      data: [{ name: 'b3' }],
      has_more: false,
    });
    const rotation = await newPolicy(o, 'rotation', { max_age_days: 1 });
    expect(codeOf(await o.get(`/policies/${rotation.id}/violations`))).toEqual([409, 'CONFLICT']);
  });

  it('shows a caller only what it may list', async () => {
    const o = await newOrg();
    for (const name of ['app/x', 'web/x']) await newSecret(o, { name });
    await newSecret(o, { name: 'app/x', environment: 'staging' });
    const { id } = await upper(o);
    const of = async (fields: Record<string, unknown>) => {
      const { o: as } = await newKey(o, fields);
      return (await as.get(`/policies/${id}/violations`)).json.data.map(
        (row: { name: string; environment: string }) => [row.environment, row.name],
      );
    };
    expect(await of({ scopes: ['policies:read'] })).toEqual([]);
    expect(
      await of({
        scopes: ['policies:read', 'secrets:list'],
        environments: ['production'],
        secrets: ['app/*'],
      }),
    ).toEqual([['production', 'app/x']]);
    expect(await of({ scopes: ['*'] })).toHaveLength(3);
  });
});
