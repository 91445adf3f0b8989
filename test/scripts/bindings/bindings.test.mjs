// The service bound to Workers of the same account: each attack comes from a second Worker.
import assert from 'node:assert/strict';
import { after, before, it } from 'node:test';
import { BOOTSTRAP, startBound } from '../../packages/bound.mjs';

const ENTRYPOINT = { entrypoint: 'Vault' };
const ISSUER = 'cloudflare:service-binding';

let service;
let org;
let other;
let trust;
/** Calls the organisation's API with its first key. */
const call = (method, at, body) => service.call(method, `/orgs/${org.id}${at}`, org.token, body);
/** A trust of bound Workers. */
async function newTrust(fields = {}) {
  const sent = { name: 'workers', issuer: ISSUER, claims: { name: 'billing' }, scopes: ['secrets:read'] };
  const { status, json } = await call('POST', '/trusts', { ...sent, ...fields });
  assert.equal(status, 201, JSON.stringify(json));
  return json;
}
/** A Worker with these props in its binding. */
const bound = (props) => ({ ...ENTRYPOINT, props });
const good = () => ({ org: org.id, trust: trust.id, name: 'billing' });

async function found() {
  const { json } = await service.call('POST', '/orgs', BOOTSTRAP, {
    name: 'Acme',
    owner: { email: 'a@example.com', name: 'A' },
  });
  return { id: json.org.id, token: json.api_key.token };
}

before(async () => {
  service = await startBound({ plain: {} });
  [org, other] = [await found(), await found()];
  trust = await newTrust();
  for (const [name, value] of Object.entries({ STRIPE_KEY: 'sk_live_1', 'app/ONE': '1' }))
    assert.equal((await call('POST', '/secrets', { name, type: 'generic', value })).status, 201);
  const ended = await newTrust({ name: 'ended' });
  assert.equal((await call('DELETE', `/trusts/${ended.id}`)).status, 204);
  const ordinary = await call('POST', '/trusts', {
    name: 'ordinary',
    issuer: 'https://token.actions.githubusercontent.com',
    claims: { sub: 'repo:acme/app:*' },
    scopes: ['secrets:read'],
  });
  assert.equal(ordinary.status, 201);
  const wide = await newTrust({ name: 'wide', claims: { name: 'wide*' }, scopes: ['*'] });
  await service.rebind({
    plain: {},
    billing: bound(good()),
    stranger: bound({ ...good(), name: 'stranger' }),
    elsewhere: bound({ ...good(), org: other.id }),
    nowhere: bound({ ...good(), org: `${org.id.slice(0, -4)}0000` }),
    unknown: bound({ ...good(), trust: `${trust.id.slice(0, -4)}0000` }),
    ordinary: bound({ ...good(), trust: ordinary.json.id }),
    ended: bound({ ...good(), trust: ended.id }),
    wide: bound({ org: org.id, trust: wide.id, name: 'wide-1' }),
    none: bound({}),
    further: bound({ ...good(), extra: 1 }),
    proto: bound(JSON.parse(`{"org":"${org.id}","trust":"${trust.id}","__proto__":{"name":"billing"}}`)),
    list: bound({ ...good(), name: ['billing'] }),
  });
});
after(() => service?.stop());

/** What the newest entry of the audit log about an action says. */
async function newest(action) {
  const { json } = await call('GET', `/audit-log?action=${action}`);
  return json.data[0];
}

it('bindings: get and values answer what the API answers, and the audit log names the Worker', async () => {
  const secret = await service.run('billing', 'return env.VAULT.get("STRIPE_KEY")');
  assert.equal(secret.value, 'sk_live_1', JSON.stringify(secret));
  const entry = await newest('secret.read');
  assert.deepEqual(
    [entry.actor.kind, entry.actor.id, entry.actor.name, entry.ip, entry.outcome],
    ['workload', trust.id, 'billing', null, 'success'],
  );
  const { values } = await service.run('billing', 'return env.VAULT.values()');
  assert.deepEqual(values, { STRIPE_KEY: 'sk_live_1', 'app/ONE': '1' });
  const part = await service.run('billing', 'return env.VAULT.values({ prefix: "app/" })');
  assert.deepEqual(part.values, { 'app/ONE': '1' });
  const slashed = await service.run('billing', 'return env.VAULT.get("app/ONE", { version: 1 })');
  assert.equal(slashed.value, '1');
  const me = await service.run(
    'billing',
    'return (await env.VAULT.fetch("https://any.example/api/v1/whoami")).json()',
  );
  assert.deepEqual(
    [me.kind, me.id, me.claimed_name, me.org_id, me.scopes, me.rate_limit],
    ['workload', trust.id, 'billing', org.id, ['secrets:read'], 600],
  );
});

it('bindings: errors begin with their code and carry nothing else', async () => {
  const absent = await service.run('billing', 'return env.VAULT.get("ABSENT")');
  assert.match(absent.thrown, /^NOT_FOUND: /);
  assert.deepEqual([absent.name, absent.own], ['Error', { remote: true }]);
  const write = await service.run(
    'billing',
    `const { status } = await env.VAULT.fetch('http://x/api/v1/orgs/' + id + '/secrets', {
      method: 'POST', headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify({ name: 'NEW', type: 'generic', value: 'v' }),
    });
    return status;`,
    org,
  );
  assert.equal(write, 403);
});

it('bindings: props that are missing, ill-formed or further fail each call, and name the field', async () => {
  for (const [name, field] of Object.entries({
    none: 'props.org',
    further: 'props.extra',
    proto: 'props',
    list: 'props.name',
  })) {
    const { thrown } = await service.run(name, 'return env.VAULT.get("STRIPE_KEY")');
    assert.match(thrown ?? '', new RegExp(`^VALIDATION_FAILED: ${field.replace('.', '[.]')}`), name);
    const [status, { error }] = await service.run(
      name,
      'const r = await env.VAULT.fetch("http://x/api/v1/whoami"); return [r.status, await r.json()]',
    );
    assert.deepEqual([status, error?.code], [400, 'VALIDATION_FAILED'], name);
  }
});

it('attack: a trust of another kind, organisation or name, or none, is one and the same refusal', async () => {
  const said = new Set();
  for (const name of ['stranger', 'elsewhere', 'nowhere', 'unknown', 'ordinary'])
    said.add((await service.run(name, 'return env.VAULT.get("STRIPE_KEY")')).thrown);
  assert.equal(said.size, 1, [...said].join('\n'));
  assert.match([...said][0], /^UNAUTHENTICATED: /);
  assert.match((await service.run('ended', 'return env.VAULT.get("STRIPE_KEY")')).thrown, /^TOKEN_REVOKED: /);
});

it('attack: arguments that are stubs, thenables or of another shape are refused, and nothing is called', async () => {
  const attempts = {
    stub: 'class S extends RpcTarget { toString() { called.push(1) } } await env.VAULT.get(new S())',
    callback: 'await env.VAULT.get(() => called.push(1))',
    thenable: 'await env.VAULT.get("STRIPE_KEY", { then: () => called.push(1) })',
    toString: 'await env.VAULT.get({ toString: () => called.push(1) })',
    getter: 'await env.VAULT.get("STRIPE_KEY", { environment: () => called.push(1) })',
    options:
      'class S extends RpcTarget { get version() { called.push(1) } } await env.VAULT.get("A", new S())',
    list: 'await env.VAULT.get("STRIPE_KEY", ["a"])',
    path: 'await env.VAULT.get("../../whoami?x=", {})',
    further: 'await env.VAULT.values({ org: "x" })',
    missing: 'await env.VAULT.get()',
  };
  for (const [name, code] of Object.entries(attempts)) {
    const said = await service.run(
      'billing',
      `const called = []; let thrown = null;
       try { ${code} } catch (error) { thrown = error.message }
       await new Promise((done) => setTimeout(done, 0));
       return { called, thrown };`,
    );
    assert.deepEqual(said.called, [], name);
    assert.match(
      said.thrown ?? '',
      name === 'path' ? /^(NOT_FOUND|VALIDATION_FAILED): / : /^VALIDATION_FAILED: /,
      name,
    );
  }
});

it('attack: no other method of the entrypoint can be called', async () => {
  for (const name of ['queue', 'scheduled', 'alarm', 'constructor', 'env', 'ctx', 'send', 'email', 'tail']) {
    const { thrown } = await service.run('billing', 'return env.VAULT[name]({})', { name });
    assert.ok(thrown, name);
  }
  for (const code of ['return env.VAULT.env.BOOTSTRAP_TOKEN', 'return env.VAULT.ctx.props'])
    assert.ok((await service.run('billing', code)).thrown, code);
});

it('attack: a hostile request through env.VAULT.fetch', async () => {
  const send = async (path, init = {}) =>
    service.run(
      'billing',
      `const r = await env.VAULT.fetch('http://x' + path, init);
       const text = await r.text();
       return [r.status, r.ok && !path.includes('/whoami') ? text.slice(0, 200) : JSON.parse(text).error?.code];`,
      { path, init },
    );
  const own = `/api/v1/orgs/${org.id}`;
  for (const path of [
    ...['/', '/healthz', '/metrics', '/docs', '/sign-in', '/console', '/api/v1/orgs', '/api/v1/openapi.json'],
    ...['/v1/secret/data/x', `/scim/v2/${org.id}/Users`, `/compat/aws/${org.id}/production`],
    ...['/api/v1/auth/exchange', `/api/v1/orgs/${other.id}/secrets`, `${own}/../${other.id}/secrets`],
    ...[`${own}x/secrets`, `/api/v1/orgs/${encodeURIComponent('..')}/secrets`, '/api/v1/whoami/'],
    ...[`/api/v1//orgs/${org.id}/secrets`, `${own}%2f..%2f${other.id}/secrets`],
  ])
    assert.deepEqual((await send(path))[0], 404, path);
  for (const [name, value] of Object.entries({
    Authorization: `Bearer ${org.token}`,
    DPoP: 'x',
    Cookie: 'a=b',
    'X-Vault-Token': org.token,
    'X-Amz-Security-Token': 'x',
  }))
    assert.deepEqual(
      await send('/api/v1/whoami', { headers: { [name]: value } }),
      [400, 'VALIDATION_FAILED'],
      name,
    );
  const addressed = await send(`${own}/secrets`, { headers: { 'CF-Connecting-IP': '198.51.100.66' } });
  assert.equal(addressed[0], 200);
  assert.equal((await newest('secret.list')).ip, null);
  assert.equal((await send(`${own}/secrets`, { method: 'DELETE' }))[0], 405);
});

it('trusts: a wildcard gives a bound Worker no power over people and credentials', async () => {
  const { scopes } = await service.run(
    'wide',
    'return (await env.VAULT.fetch("http://x/api/v1/whoami")).json()',
  );
  for (const scope of ['tokens:write', 'members:write', 'sso:write', 'policies:write', '*'])
    assert.ok(!scopes.includes(scope), scope);
  assert.ok(scopes.includes('secrets:write'));
});

it('trusts: the fields of a trust of bound Workers', async () => {
  const sent = { name: 'x', issuer: ISSUER, claims: { name: 'a*' }, scopes: ['secrets:read'] };
  const made = await call('POST', '/trusts', sent);
  assert.deepEqual([made.status, made.json.audiences], [201, []]);
  assert.match(made.json.warning, /deploy Workers/);
  for (const wrong of [
    ...[
      { claims: { name: '*' } },
      { claims: { name: ['a', '**'] } },
      { claims: { sub: 'a' } },
      { claims: {} },
    ],
    ...[{ claims: { name: 'a', sub: 'b' } }, { audiences: ['x'] }, { ttlSeconds: 600 }, { reuse: true }],
    ...[
      { jwks: { keys: [{ kty: 'OKP', crv: 'Ed25519', x: 'a' }] } },
      { allowed_addresses: ['192.0.2.0/24'] },
    ],
  ]) {
    const refused = await call('POST', '/trusts', { ...sent, ...wrong });
    assert.equal(refused.status, 400, JSON.stringify(wrong));
  }
  const at = `/trusts/${made.json.id}`;
  for (const wrong of [
    ...[{ issuer: 'https://issuer.example' }, { issuer: ISSUER }, { audiences: ['x'] }, { ttlSeconds: 600 }],
    ...[{ claims: { sub: 'a' } }, { claims: { name: '*' } }, { allowed_addresses: ['192.0.2.0/24'] }],
  ])
    assert.equal((await call('PATCH', at, wrong)).status, 400, JSON.stringify(wrong));
  assert.equal((await call('PATCH', at, { claims: { name: 'ab' }, name: 'y' })).status, 200);
  const exchanged = await service.call('POST', '/auth/exchange', '', {
    org_id: org.id,
    trust_id: made.json.id,
    token: 'a.b.c',
  });
  assert.deepEqual([exchanged.status, exchanged.json.error.code], [401, 'UNAUTHENTICATED']);
  const listed = await call('GET', `/audit-log?resource=${made.json.id}&action=auth.exchange`);
  assert.deepEqual(listed.json.data, []);
});

it('bindings: a Worker cannot run the queue handler or the cron', async () => {
  const attempts = {
    queue: `const called = [];
      const message = {
        body: { kind: 'probe' }, attempts: 1, timestamp: new Date(),
        ack() { called.push('ack') }, retry() { called.push('retry') },
      };
      await env.VAULT.queue({ queue: 'secrets-vault', messages: [message] });
      return called;`,
    scheduled: 'return env.VAULT.scheduled({ scheduledTime: 1, cron: "* * * * *" });',
    tail: 'return env.VAULT.tail([]);',
    email: 'return env.VAULT.email({});',
  };
  for (const [name, code] of Object.entries(attempts)) {
    const { thrown } = await service.run('plain', code);
    assert.match(thrown ?? '', /does not implement/, name);
  }
  const { thrown } = await service.run('plain', 'await env.VAULT.connect("x:1").opened');
  assert.ok(thrown, 'connect');
  // The platform still runs both.
  const worker = await service.miniflare.getWorker('vault');
  const { outcome } = await worker.scheduled({ scheduledTime: new Date(), cron: '* * * * *' });
  assert.equal(outcome, 'ok');
  const probe = { id: 'm', timestamp: new Date(), attempts: 1, body: { kind: 'probe' } };
  assert.equal((await worker.queue('secrets-vault', [probe])).outcome, 'ok');
});

it("audit log: a Worker's own request has no address", async () => {
  const send = `const { headers } = await env.VAULT.fetch('http://vault.example/api/v1/orgs/' + id, {
    headers: { Authorization: 'Bearer ' + token, 'CF-Connecting-IP': '198.51.100.66' },
  });
  return headers.get('Request-Id');`;
  const made = await service.run('plain', send, org);
  const { json } = await service.call('GET', `/orgs/${org.id}/audit-log`, org.token);
  const entry = json.data.find(({ request_id }) => request_id === made);
  assert.equal(entry?.ip, 'unknown');
});

it('revocation: a trust that ends stops its Workers at the next call, and ends what they made', async () => {
  const one = await newTrust({
    name: 'making',
    claims: { name: 'maker' },
    scopes: ['secrets:read', 'tokens:write'],
  });
  await service.rebind({ maker: bound({ org: org.id, trust: one.id, name: 'maker' }) });
  const made = await service.run(
    'maker',
    `const post = () => env.VAULT.fetch('http://x/api/v1/orgs/' + id + '/api-keys', {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', 'Idempotency-Key': 'k' },
      body: JSON.stringify({ name: 'child', scopes: ['secrets:read'] }),
    });
    const first = await (await post()).json();
    return [first, await (await post()).json()];`,
    org,
  );
  const [{ token, id: key, parent_id }, again] = made;
  assert.deepEqual([parent_id, again.id, again.token], [one.id, key, null], 'a replay shows no token');
  const who = () => service.call('GET', '/whoami', token);
  assert.equal((await who()).status, 200);
  assert.equal((await service.run('maker', 'return env.VAULT.get("STRIPE_KEY")')).value, 'sk_live_1');
  // A trust that no longer takes the name ends what that name made.
  assert.equal((await call('PATCH', `/trusts/${one.id}`, { claims: { name: 'another' } })).status, 200);
  assert.equal((await who()).status, 401);
  assert.match((await service.run('maker', 'return env.VAULT.get("STRIPE_KEY")')).thrown, /^UNAUTHENTICATED/);
  assert.equal((await call('PATCH', `/trusts/${one.id}`, { claims: { name: 'maker' } })).status, 200);
  assert.equal((await who()).status, 200);
  assert.equal((await call('DELETE', `/trusts/${one.id}`)).status, 204);
  assert.match((await service.run('maker', 'return env.VAULT.get("STRIPE_KEY")')).thrown, /^TOKEN_REVOKED/);
  assert.equal((await who()).status, 401);
});
