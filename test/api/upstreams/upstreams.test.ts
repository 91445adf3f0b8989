// Upstreams: who may make, see and change one, what it may be given, and what stops one.
import { beforeEach, describe, expect, it } from 'vitest';
import { contain, newAgent, newBreakGlass, newKey, newSession } from '../../support/credentials';
import { faults } from '../../support/faults';
import { newUpstream, upstreamIn } from '../../support/integrations/upstreams';
import { signIn } from '../../support/signin/browser';
import { type Caller, codeOf, newOrg, newSecret, useWorld } from '../../support/world';

useWorld();
beforeEach(() => {
  faults.clock = Date.now();
});
const later = (ms: number) => {
  faults.clock = (faults.clock ?? Date.now()) + ms;
};

const show = async (o: Caller, id: string) => (await o.get(`/upstreams/${id}`)).json;
const statusOf = async (o: Caller, id: string) => (await show(o, id)).status;
const create = (o: Caller, body: unknown) => o.post('/upstreams', body);
const detailOf = (answer: { json: { error?: { details?: { path: string }[] } } }) =>
  answer.json.error?.details?.map(({ path }) => path);

describe('upstreams: resources', () => {
  it('upstream: it is created, listed, changed and deleted', async () => {
    const o = await newOrg();
    await newSecret(o, { name: 'KEY', value: 'the-value-of-the-key' });
    const made = await create(
      o,
      upstreamIn('KEY', { name: 'stripe', base_url: 'https://API.example.com/v1/' }),
    );
    expect([made.status, made.json]).toEqual([
      201,
      expect.objectContaining({
        name: 'stripe',
        revision: 1,
        base_url: 'https://api.example.com/v1',
        environment: 'production',
        secrets: ['KEY'],
        max_request_bytes: 10 * 1024 ** 2,
        max_response_bytes: 25 * 1024 ** 2,
        timeout_seconds: 30,
        rate_limit: null,
        status: 'active',
      }),
    ]);
    const { id } = made.json;
    expect(id).toMatch(/^ups_/);
    const read = await o.get(`/upstreams/${id}`);
    expect([read.json, read.headers.get('etag')]).toEqual([made.json, '"r1"']);
    const changed = await o.patch(`/upstreams/${id}`, { name: 'stripe-live', rate_limit: 5 });
    expect(changed.json).toMatchObject({ name: 'stripe-live', rate_limit: 5, revision: 2 });
    expect((await o.get('/upstreams')).json.data).toEqual([changed.json]);
    expect((await o.del(`/upstreams/${id}`)).status).toBe(204);
    expect((await o.get(`/upstreams/${id}`)).status).toBe(404);
    const events = (await o.get('/events?types=UPSTREAM_CHANGED')).json.data;
    expect(events.map(({ data }: { data: { change: string } }) => data.change).sort()).toEqual([
      'created',
      'deleted',
      'updated',
    ]);
    const entries = (await o.get(`/audit-log?resource=${id}`)).json.data;
    expect(new Set(entries.map(({ action }: { action: string }) => action))).toEqual(
      new Set(['upstream.create', 'upstream.read', 'upstream.update', 'upstream.delete']),
    );
  });

  it('upstream: a name is taken once, and after a deletion again', async () => {
    const o = await newOrg();
    const one = await newUpstream(o, { name: 'stripe' });
    const taken = await create(o, upstreamIn(one.secret, { name: 'stripe' }));
    expect(codeOf(taken)).toEqual([409, 'SLUG_TAKEN']);
    const other = await newUpstream(o, { name: 'other' }, one.secret);
    expect(codeOf(await o.patch(`/upstreams/${other.id}`, { name: 'stripe' }))).toEqual([409, 'SLUG_TAKEN']);
    expect((await o.patch(`/upstreams/${other.id}`, { name: 'other' })).status).toBe(200);
    await o.del(`/upstreams/${one.id}`);
    expect((await o.patch(`/upstreams/${other.id}`, { name: 'stripe' })).status).toBe(200);
  });

  it('upstream: of two that are made at once with one name, one is', async () => {
    const o = await newOrg();
    const { name } = await newSecret(o);
    const both = await Promise.all([1, 2].map(() => create(o, upstreamIn(name, { name: 'same' }))));
    expect(both.map(({ status }) => status).sort()).toEqual([201, 409]);
  });

  it('idempotency: a repeat makes no second upstream', async () => {
    const o = await newOrg();
    const { name } = await newSecret(o);
    const body = upstreamIn(name);
    const key = { 'Idempotency-Key': 'one' };
    const first = await o.post('/upstreams', body, key);
    const again = await o.post('/upstreams', body, key);
    expect([again.status, again.json, again.headers.get('idempotency-replayed')]).toEqual([
      201,
      first.json,
      'true',
    ]);
    expect((await o.get('/upstreams')).json.data).toHaveLength(1);
  });

  it('concurrency: If-Match of another revision is refused', async () => {
    const o = await newOrg();
    const { id } = await newUpstream(o);
    await o.patch(`/upstreams/${id}`, { rate_limit: 1 }, { 'If-Match': '"r1"' });
    for (const stale of [
      await o.patch(`/upstreams/${id}`, { rate_limit: 2 }, { 'If-Match': '"r1"' }),
      await o.del(`/upstreams/${id}`, undefined, { 'If-Match': '"r1"' }),
    ])
      expect(codeOf(stale)).toEqual([412, 'REVISION_CONFLICT']);
  });
});

const header = (name: string, value = '{{KEY}}') => [{ type: 'header', name, value }];
const allowing = (...paths: string[]) => [{ methods: ['GET'], paths }];

describe('upstreams: what one may be given', () => {
  const refused: [string, Record<string, unknown>, string][] = [
    ['plain http', { base_url: 'http://api.example.com' }, 'base_url'],
    ['a private address', { base_url: 'https://169.254.169.254' }, 'base_url'],
    ['a private name', { base_url: 'https://db.internal' }, 'base_url'],
    ['a port of a service', { base_url: 'https://api.example.com:6379' }, 'base_url'],
    ['a user name', { base_url: 'https://a:b@api.example.com' }, 'base_url'],
    ['a fragment', { base_url: 'https://api.example.com/#a' }, 'base_url'],
    ['a query', { base_url: 'https://api.example.com/?a=b' }, 'base_url'],
    ['a dot segment in the address', { base_url: 'https://api.example.com/a/../b' }, 'base_url'],
    ['an escape in the address', { base_url: 'https://api.example.com/%2e%2e' }, 'base_url'],
    ['an empty segment in the address', { base_url: 'https://api.example.com//a' }, 'base_url'],
    ['no way to place secrets', { auth: [] }, 'auth'],
    ['no secret to place', { auth: header('Authorization', 'Bearer x') }, 'auth'],
    ['a header that is set twice', { auth: [...header('A'), ...header('a')] }, 'auth'],
    [
      'Authorization twice',
      { auth: [...header('Authorization'), { type: 'basic', username: '{{KEY}}', password: '' }] },
      'auth',
    ],
    ...([
      'Host',
      'Connection',
      'Content-Length',
      'Transfer-Encoding',
      'Via',
      'CF-Worker',
      'X-Forwarded-For',
    ].map(
      (name) => [`the header ${name}`, { auth: header(name) }, 'auth.0.name'] as [string, object, string],
    ) as [string, Record<string, unknown>, string][]),
    ['a header with a line break', { auth: header('A', '{{KEY}}\r\nB: c') }, 'auth.0.value'],
    ['a name that is no header', { auth: header('A b') }, 'auth.0.name'],
    ['braces that name nothing', { auth: header('A', '{{KEY}} {{}}') }, 'auth.0.value'],
    ['braces in braces', { auth: header('A', '{{{{KEY}}}}') }, 'auth.0.value'],
    ['a reference to another environment', { auth: header('A', '{{staging:KEY}}') }, 'auth.0.value'],
    ['a secret that is not there', { auth: header('A', '{{ABSENT}}') }, 'auth'],
    [
      'a secret key in plain text',
      {
        auth: [
          {
            type: 'aws_sigv4',
            access_key_id: '{{KEY}}',
            secret_access_key: 'plain',
            region: 'us-east-1',
            service: 's3',
          },
        ],
      },
      'auth.0.secret_access_key',
    ],
    [
      'a private token endpoint',
      {
        auth: [
          {
            type: 'oauth2_client_credentials',
            token_url: 'https://10.0.0.1/token',
            client_id: 'a',
            client_secret: '{{KEY}}',
          },
        ],
      },
      'auth.0.token_url',
    ],
    ['an unknown kind', { auth: [{ type: 'cookie', name: 'a', value: '{{KEY}}' }] }, 'auth.0.type'],
    ['nothing that is allowed', { allow: [] }, 'allow'],
    ['an unknown method', { allow: [{ methods: ['TRACE'], paths: ['/'] }] }, 'allow.0.methods.0'],
    ...['v1', '//v1', '/a/../b', '/a/./b', '/..;a', '/a\\b', '/a b', '/a%zz', '/******'].map(
      (path) =>
        [`the path ${path}`, { allow: allowing(path) }, 'allow.0.paths.0'] as [
          string,
          Record<string, unknown>,
          string,
        ],
    ),
    ['a long name', { name: 'a'.repeat(64) }, 'name'],
    ['a name that is no slug', { name: 'Stripe' }, 'name'],
    ['a large request', { max_request_bytes: 100 * 1024 ** 2 + 1 }, 'max_request_bytes'],
    ['a large answer', { max_response_bytes: 1024 ** 3 + 1 }, 'max_response_bytes'],
    ['a long wait', { timeout_seconds: 61 }, 'timeout_seconds'],
    ['many calls', { rate_limit: 1001 }, 'rate_limit'],
  ];
  it('validation: each wrong field is refused and named', async () => {
    const o = await newOrg();
    await newSecret(o, { name: 'KEY' });
    const { id } = await newUpstream(o, {}, 'KEY');
    for (const [what, fields, path] of refused) {
      const answer = await create(o, upstreamIn('KEY', fields));
      expect([what, ...codeOf(answer), detailOf(answer)?.[0]]).toEqual([
        what,
        400,
        'VALIDATION_FAILED',
        path,
      ]);
      const changed = await o.patch(`/upstreams/${id}`, fields);
      expect([what, ...codeOf(changed), detailOf(changed)?.[0]]).toEqual([
        what,
        400,
        'VALIDATION_FAILED',
        path,
      ]);
    }
    expect((await show(o, id)).revision).toBe(1);
  });

  it('upstream: every way to place secrets is taken', async () => {
    const o = await newOrg();
    await newSecret(o, { name: 'KEY' });
    const ways = [
      { type: 'header', name: 'X-Api-Key', value: '{{KEY}}', guessable: true },
      { type: 'basic', username: '{{KEY}}', password: '' },
      { type: 'query', name: 'key', value: '{{KEY}}' },
      {
        type: 'aws_sigv4',
        access_key_id: 'AKIA',
        secret_access_key: '{{KEY}}',
        region: 'eu-west-1',
        service: 's3',
      },
      {
        type: 'oauth2_client_credentials',
        token_url: 'https://login.example.com/token',
        client_id: 'a',
        client_secret: '{{KEY}}',
        scope: 'read',
      },
      { type: 'google_service_account', key: '{{KEY}}', scopes: ['https://www.googleapis.com/auth/drive'] },
      { type: 'github_app', app_id: '1', installation_id: '2', private_key: '{{KEY}}' },
    ];
    for (const way of ways) {
      const made = await create(o, upstreamIn('KEY', { name: way.type.replaceAll('_', '-'), auth: [way] }));
      expect([way.type, made.status, made.json.auth]).toEqual([way.type, 201, [way]]);
    }
  });
});

describe('upstreams: who', () => {
  const both = ['upstreams:write', 'secrets:read'];

  it('permission: making and changing one needs secrets:read on each secret that it places', async () => {
    const o = await newOrg();
    await newSecret(o, { name: 'a/KEY' });
    await newSecret(o, { name: 'b/KEY' });
    const { id } = await newUpstream(o, {}, 'a/KEY');
    const { id: other } = await newUpstream(o, {}, 'b/KEY');
    const lacking = [
      { scopes: ['upstreams:write'] },
      { scopes: ['upstreams:write', 'secrets:use'] },
      { scopes: ['secrets:read', 'upstreams:read'] },
      { scopes: both, secrets: ['b/*'] },
      { scopes: both, environments: ['staging'] },
    ];
    for (const fields of lacking) {
      const { o: key } = await newKey(o, { name: 'k', ...fields });
      const answers = [
        await create(key, upstreamIn('a/KEY')),
        await key.patch(`/upstreams/${id}`, { base_url: 'https://evil.example.com' }),
        await key.patch(`/upstreams/${id}`, { rate_limit: 1 }),
        await key.del(`/upstreams/${id}`),
      ];
      for (const answer of answers) expect([403, 404]).toContain(answer.status);
    }
    const { o: key } = await newKey(o, { scopes: [...both, 'upstreams:read'], secrets: ['b/*'] });
    // What it may not read cannot be brought into one that it may change.
    const auth = [{ type: 'header', name: 'X', value: '{{a/KEY}}' }];
    expect(codeOf(await key.patch(`/upstreams/${other}`, { auth }))).toEqual([403, 'INSUFFICIENT_SCOPE']);
    expect((await key.patch(`/upstreams/${other}`, { rate_limit: 1 })).status).toBe(200);
    expect((await show(o, id)).revision).toBe(1);
    const glass = await newBreakGlass(o);
    expect((await create(glass.o, upstreamIn('a/KEY'))).status).toBe(403);
  });

  it('permission: a name that may not be read looks like one that does not exist', async () => {
    const o = await newOrg();
    await newSecret(o, { name: 'a/KEY' });
    const { o: key } = await newKey(o, { scopes: both, secrets: ['b/*'] });
    const there = await create(key, upstreamIn('a/KEY'));
    const absent = await create(key, upstreamIn('a/ABSENT'));
    expect(there.json.error).toEqual(absent.json.error);
  });

  it('permission: whole rows for upstreams:read, what is needed to call for secrets:use, and nothing else', async () => {
    const o = await newOrg();
    await newSecret(o, { name: 'a/KEY' });
    await newSecret(o, { name: 'b/KEY' });
    const a = await newUpstream(o, { name: 'a' }, 'a/KEY');
    const b = await newUpstream(o, { name: 'b' }, 'b/KEY');
    const seen = async (fields: object) => {
      const { o: key } = await newKey(o, { name: 'k', ...fields });
      const { data } = (await key.get('/upstreams')).json;
      for (const { id } of [a, b]) {
        const listed = data.find((one: { id: string }) => one.id === id);
        const shown = await key.get(`/upstreams/${id}`);
        expect(shown.status).toBe(listed ? 200 : 404);
        if (listed) expect([shown.json, shown.headers.get('etag')]).toEqual([listed, '"r1"']);
      }
      return data.map((one: object) => [(one as { name: string }).name, 'auth' in one]);
    };
    const brief = ['id', 'revision', 'name', 'base_url', 'allow'];
    expect(await seen({ scopes: ['upstreams:read'] })).toEqual([
      ['a', true],
      ['b', true],
    ]);
    expect(await seen({ scopes: ['upstreams:read'], secrets: ['a/*'] })).toEqual([['a', true]]);
    expect(await seen({ scopes: ['secrets:use'] })).toEqual([
      ['a', false],
      ['b', false],
    ]);
    expect(await seen({ scopes: ['secrets:use'], secrets: ['b/*'] })).toEqual([['b', false]]);
    expect(await seen({ scopes: ['secrets:use'], upstreams: ['a*'] })).toEqual([['a', false]]);
    expect(await seen({ scopes: ['secrets:use'], environments: ['staging'] })).toEqual([]);
    expect(await seen({ scopes: ['secrets:read'], upstreams: ['b'] })).toEqual([['b', false]]);
    const { o: user } = await newKey(o, { scopes: ['secrets:use'] });
    expect(Object.keys((await show(user, a.id)) as object).sort()).toEqual(brief.sort());
    const { o: none } = await newKey(o, { scopes: ['secrets:list'] });
    expect((await none.get('/upstreams')).status).toBe(403);
  });

  it('tenancy: an upstream of another organisation does not exist', async () => {
    const o = await newOrg();
    const other = await newOrg();
    const { id } = await newUpstream(o);
    expect((await other.get(`/upstreams/${id}`)).status).toBe(404);
    expect((await other.patch(`/upstreams/${id}`, { rate_limit: 1 })).status).toBe(404);
    expect((await other.del(`/upstreams/${id}`)).status).toBe(404);
  });
});

describe('upstreams: what ends one', () => {
  const scopes = ['upstreams:write', 'upstreams:read', 'secrets:read', 'tokens:write'];

  it('maker: it stops when its maker is contained, and works for whoever changes it', async () => {
    const o = await newOrg();
    const { name } = await newSecret(o);
    const key = await newKey(o, { scopes });
    const { id } = await newUpstream(key.o, {}, name);
    expect(await statusOf(o, id)).toBe('active');
    await contain(o, key.id);
    expect(await statusOf(o, id)).toBe('stopped');
    expect((await o.patch(`/upstreams/${id}`, { rate_limit: 1 })).json.status).toBe('active');
  });

  it('maker: a rotated key has its successor in its place, a key that was revoked meanwhile has not', async () => {
    const o = await newOrg();
    const { name } = await newSecret(o);
    for (const overlap_seconds of [0, 60]) {
      const key = await newKey(o, { scopes });
      const { id } = await newUpstream(key.o, {}, name);
      const next = (await o.post(`/api-keys/${key.id}/rotate`, { overlap_seconds })).json;
      later(61_000);
      expect(await statusOf(o, id)).toBe('active');
      await o.del(`/api-keys/${next.id}`);
      expect(await statusOf(o, id)).toBe('stopped');
    }
    const key = await newKey(o, { scopes });
    const { id } = await newUpstream(key.o, {}, name);
    await o.post(`/api-keys/${key.id}/rotate`, { overlap_seconds: 60 });
    later(1000);
    await contain(o, key.id);
    expect(await statusOf(o, id)).toBe('stopped');
  });

  it('maker: an agent that may no longer read the secret stops what it made', async () => {
    const o = await newOrg();
    const { name } = await newSecret(o);
    const agent = await newAgent(o, { scopes });
    const { id } = await newUpstream(agent.o, {}, name);
    expect(await statusOf(o, id)).toBe('active');
    await o.patch(`/agent-credentials/${agent.id}`, { secrets: ['other/*'] });
    expect(await statusOf(o, id)).toBe('stopped');
    await o.patch(`/agent-credentials/${agent.id}`, { secrets: null });
    expect(await statusOf(o, id)).toBe('active');
  });

  it('maker: a session token makes it for its key', async () => {
    const o = await newOrg();
    const { name } = await newSecret(o);
    const session = await newSession(o);
    const { id } = await newUpstream(session.o, {}, name);
    await session.o.del(`/access-tokens/${session.id}`);
    expect(await statusOf(o, id)).toBe('active');
  });

  for (const [what, end] of [
    ['is removed', (o: Caller, member: string) => o.del(`/members/${member}`)],
    ['may do less', (o: Caller, member: string) => o.patch(`/members/${member}`, { role: 'viewer' })],
    ['is suspended', (o: Caller, member: string) => o.post(`/members/${member}/suspend`)],
    ['is ended by a panic', (o: Caller) => o.post('/panic', { reason: 'x' })],
  ] as const)
    it(`maker: it stops once the member who made it ${what}`, async () => {
      const o = await newOrg();
      const { name } = await newSecret(o);
      const browser = await signIn(o, 'admin');
      const { id } = await newUpstream(browser.o, {}, name);
      expect(await statusOf(o, id)).toBe('active');
      const { created_by } = await show(o, id);
      later(1000);
      expect((await end(o, created_by)).status).toBeLessThan(300);
      expect(await statusOf(o, id)).toBe('stopped');
      if (what !== 'is suspended') return;
      later(1000);
      await o.post(`/members/${created_by}/resume`);
      expect(await statusOf(o, id)).toBe('stopped');
    });

  it('deletion: with its organisation it is gone', async () => {
    const o = await newOrg();
    const { id } = await newUpstream(o);
    const { name } = (await o.get('')).json;
    expect((await o.call('DELETE', '', { confirm: name })).status).toBe(204);
    expect((await o.get(`/upstreams/${id}`)).status).not.toBe(200);
  });
});

describe('upstreams: renames', () => {
  it('permission: bringing a secret under a name that an upstream places needs secrets:read', async () => {
    const o = await newOrg();
    const key = await newSecret(o, { name: 'KEY' });
    const { id } = await newUpstream(o, {}, 'KEY');
    await o.patch(`/secrets/${key.id}`, { name: 'OLD_KEY' });
    const target = await newSecret(o, { name: 'TARGET' });
    const { o: writer } = await newKey(o, { scopes: ['secrets:write', 'secrets:delete', 'secrets:use'] });
    const rename = () => writer.patch(`/secrets/${target.id}`, { name: 'KEY' });
    expect(codeOf(await rename())).toEqual([403, 'INSUFFICIENT_SCOPE']);
    expect((await writer.patch(`/secrets/${target.id}`, { name: 'ELSEWHERE' })).status).toBe(200);
    await o.patch(`/secrets/${target.id}`, { name: 'KEY' });
    await writer.del(`/secrets/${target.id}`);
    const restored = await writer.post(`/secrets/${target.id}/restore`);
    expect(codeOf(restored)).toEqual([403, 'INSUFFICIENT_SCOPE']);
    await o.del(`/upstreams/${id}`);
    expect((await writer.post(`/secrets/${target.id}/restore`)).status).toBe(200);
  });
});
