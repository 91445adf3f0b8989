// The entrypoint `Vault`, and trusts of Workers that are bound to the service.
// test/scripts/bindings/bindings.test.mjs calls it from a second Worker, by RPC.
import { expect, it } from 'vitest';
import type { Vault } from '../../../src/vault-binding';
import { faults } from '../../support/faults';
import { evict } from '../../support/gate';
import { newApprovalPolicy } from '../../support/governance/approvals';
import { bound, ISSUER, newTrust, trustIn as sent } from '../../support/integrations/bindings';
import { codeOf, newOrg, newSecret, send, useWorld } from '../../support/world';

useWorld();

const bad = [400, 'VALIDATION_FAILED'];

it('bindings: a Worker reads, and the audit log names it', async () => {
  const o = await newOrg();
  const { name, value } = await newSecret(o);
  const trust = await newTrust(o);
  const { use, request } = bound({ org: o.id, trust, name: 'billing' });
  expect(await use((vault) => vault.get(name))).toMatchObject({ name, value });
  expect(await use((vault) => vault.values({ environment: 'production' }))).toMatchObject({
    values: { [name]: value },
    withheld: [],
  });
  const { json: me } = await request('/api/v1/whoami');
  expect(me).toMatchObject({
    kind: 'workload',
    id: trust,
    claimed_name: 'billing',
    scopes: ['secrets:read'],
  });
  const cf = { colo: 'FRA' };
  await request(`/api/v1/orgs/${o.id}/secrets`, { cf, headers: { 'CF-Connecting-IP': '198.51.100.66' } });
  const { data } = (await o.get('/audit-log?action=secret.list')).json;
  expect(data[0]).toMatchObject({
    actor: { kind: 'workload', id: trust, name: 'billing', parent_id: null },
    ip: null,
  });
});

it('bindings: a trust of bound Workers tells what bindings name as service, also to a replay', async () => {
  const o = await newOrg();
  const headers = { 'Idempotency-Key': 'once' };
  const make = () =>
    send('POST', `/api/v1/orgs/${o.id}/trusts`, { token: o.token, body: sent, headers }).then(
      ({ json }) => json,
    );
  const made = await make();
  expect([made, await make()]).toEqual([made, made]);
  const read = (await o.get(`/trusts/${made.id}`)).json;
  const [listed] = (await o.get('/trusts')).json.data;
  const changed = (await o.patch(`/trusts/${made.id}`, { name: 'other' })).json;
  for (const shown of [made, read, listed, changed]) expect(shown.service).toBe('secrets-vault-service');
  expect(made.warning).toContain('deploy Workers');
  const ordinary = {
    name: 'ci',
    issuer: 'https://issuer.example',
    claims: { sub: 'a' },
    scopes: ['secrets:read'],
  };
  expect((await o.post('/trusts', ordinary)).json).not.toHaveProperty('service');
});

it('bindings: a trust that is none, of another kind, name or organisation is one refusal', async () => {
  const o = await newOrg();
  const other = await newOrg();
  const trust = await newTrust(o);
  const good = { org: o.id, trust, name: 'billing' };
  const ordinary = (
    await o.post('/trusts', {
      name: 'ci',
      issuer: 'https://issuer.example',
      claims: { sub: 'billing', name: 'billing' },
      scopes: ['secrets:read'],
    })
  ).json.id;
  const absent = (id: string) => `${id.slice(0, -4)}0000`;
  const said = await Promise.all(
    [
      { ...good, name: 'Billing' },
      { ...good, org: other.id },
      { ...good, org: absent(o.id) },
      { ...good, trust: absent(trust) },
      { ...good, trust: ordinary },
      { ...good, trust: o.keyId.replace(/^[a-z]+_/, 'trs_') },
    ].map((props) => bound(props).get('X')),
  );
  expect(new Set(said)).toEqual(
    new Set([
      'UNAUTHENTICATED: The binding is not accepted. Check org, trust and name in its props, and the trust.',
    ]),
  );
});

it('bindings: props are three texts, and nothing else', async () => {
  const o = await newOrg();
  const good = { org: o.id, trust: await newTrust(o), name: 'billing' };
  for (const [props, field] of [
    [undefined, 'props'],
    [[], 'props'],
    [Object.create(good), 'props'],
    [{ ...good, extra: 1 }, 'props.extra'],
    [JSON.parse(`{"__proto__": 1, "org": "${o.id}"}`), 'props.__proto__'],
    [{ ...good, org: 'x' }, 'props.org'],
    [{ ...good, trust: o.keyId }, 'props.trust'],
    [{ org: good.org, trust: good.trust }, 'props.name'],
    [{ ...good, name: ['billing'] }, 'props.name'],
    [{ ...good, name: 'a b' }, 'props.name'],
    [{ ...good, name: 'a'.repeat(65) }, 'props.name'],
  ] as const) {
    expect((await bound(props).get('X')).startsWith(`VALIDATION_FAILED: ${field} `), field).toBe(true);
    expect(codeOf(await bound(props).request('/api/v1/whoami')), field).toEqual(bad);
  }
});

it('bindings: a request reaches its own organisation alone, and brings no credential', async () => {
  const o = await newOrg();
  const other = await newOrg();
  const { request } = bound({ org: o.id, trust: await newTrust(o), name: 'billing' });
  for (const path of [
    '/healthz',
    '/api/v1/orgs',
    `/api/v1/orgs/${other.id}`,
    `/scim/v2/${o.id}/Users`,
    '/docs',
  ])
    expect(codeOf(await request(path)), path).toEqual([404, 'NOT_FOUND']);
  for (const name of ['Authorization', 'DPoP', 'Cookie', 'X-Vault-Token', 'X-Amz-Security-Token'])
    expect(
      codeOf(await request('/api/v1/whoami', { headers: { [name]: `Bearer ${o.token}` } })),
      name,
    ).toEqual(bad);
});

it('bindings: arguments are plain data, and nothing of them is called', async () => {
  const o = await newOrg();
  const { thrown } = bound({ org: o.id, trust: await newTrust(o), name: 'billing' });
  let calls = 0;
  const called = () => {
    calls++;
    return 'X';
  };
  const stub = Object.assign(() => 'X', { toString: called });
  const options = Object.create({}, { version: { get: called, enumerable: true } });
  for (const call of [
    (vault: Vault) => vault.get(stub),
    (vault: Vault) => vault.get('X', options),
    (vault: Vault) => vault.get('X', Object.fromEntries([['then', called]])),
    (vault: Vault) => vault.get('..'),
    (vault: Vault) => vault.get(''),
    (vault: Vault) => vault.values(stub),
  ])
    expect(await thrown(call)).toMatch(/^VALIDATION_FAILED: /);
  expect(calls).toBe(0);
});

it('trusts: those of bound Workers name a Worker, and have no audiences, keys, lifetime or addresses', async () => {
  const o = await newOrg();
  const made = await o.post('/trusts', sent);
  expect(made.json).toMatchObject({
    issuer: ISSUER,
    audiences: [],
    warning: expect.stringContaining('account'),
  });
  const key = { kty: 'OKP', crv: 'Ed25519', x: '11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo' };
  const wrong = [
    ...[{ audiences: ['x'] }, { ttlSeconds: 600 }, { reuse: true }, { jwks: { keys: [key] } }],
    ...[{ allowed_addresses: ['192.0.2.0/24'] }, { claims: { name: '*' } }, { claims: { sub: 'x' } }],
    { claims: { name: 'x', sub: 'y' } },
  ];
  for (const fields of wrong) {
    expect(codeOf(await o.post('/trusts', { ...sent, ...fields })), JSON.stringify(fields)).toEqual(bad);
    const patched = await o.patch(`/trusts/${made.json.id}`, fields);
    expect(codeOf(patched), JSON.stringify(fields)).toEqual(bad);
  }
  const moved = await o.patch(`/trusts/${made.json.id}`, { issuer: 'https://issuer.example' });
  expect(codeOf(moved)).toEqual(bad);
});

it('trusts: those of bound Workers exchange no token, and look unknown there', async () => {
  const o = await newOrg();
  const trust = await newTrust(o);
  const body = { org_id: o.id, trust_id: trust, token: 'a.b.c' };
  const refused = await send('POST', '/api/v1/auth/exchange', { body });
  expect(codeOf(refused)).toEqual([401, 'UNAUTHENTICATED']);
  expect((await o.get('/audit-log?action=auth.exchange')).json.data).toEqual([]);
});

it('trusts: a wildcard of bound Workers gives no power over people, credentials and policies', async () => {
  const o = await newOrg();
  const scopesOf = async (scopes: string[]) => {
    const { request } = bound({ org: o.id, trust: await newTrust(o, { scopes }), name: 'billing' });
    return (await request('/api/v1/whoami')).json.scopes as string[];
  };
  const powers = ['tokens:write', 'members:write', 'sso:write', 'policies:write'];
  const wide = await scopesOf(['*']);
  expect(wide.filter((scope) => powers.includes(scope) || scope.includes('*'))).toEqual([]);
  expect(wide).toContain('secrets:write');
  expect(await scopesOf(['tokens:*', 'members:write'])).toEqual(expect.not.arrayContaining(['tokens:write']));
  expect(await scopesOf(['tokens:*', 'members:write'])).toContain('members:write');
});

it('rate limit: 600 a minute for a name, and 20 names a trust', async () => {
  const o = await newOrg();
  const trust = await newTrust(o, { claims: { name: 'w*' } });
  // Ahead, so that a gate that starts anew meanwhile still counts these requests.
  const at = Date.now() + 50_000;
  faults.clock = at;
  const ask = (name: string) => bound({ org: o.id, trust, name }).request('/api/v1/whoami');
  for (let n = 0; n < 20; n++) expect((await ask(`w${n}`)).status).toBe(200);
  expect(codeOf(await ask('w20'))).toEqual([429, 'RATE_LIMITED']);
  const answers = await Promise.all(Array.from({ length: 599 }, () => ask('w0')));
  expect(answers.filter(({ status }) => status === 200).length).toBe(599);
  const over = async () => {
    expect(codeOf(await ask('w0'))).toEqual([429, 'RATE_LIMITED']);
    expect(codeOf(await ask('w20'))).toEqual([429, 'RATE_LIMITED']);
    expect((await ask('w1')).status).toBe(200);
  };
  await over();
  await evict(o);
  await over();
  faults.clock = at + 61_000;
  expect((await ask('w20')).status).toBe(200);
});

it('approvals: one name does not use what another asked for', async () => {
  const o = await newOrg();
  const { name } = await newSecret(o);
  const trust = await newTrust(o, { claims: { name: ['one', 'two'] } });
  await newApprovalPolicy(o, ['secret.read']);
  const [one, two] = ['one', 'two'].map((caller) => bound({ org: o.id, trust, name: caller }));
  const [, id] = /^APPROVAL_REQUIRED: .* \((apr_\w+)\)$/.exec((await one?.get(name)) ?? '') ?? [];
  expect(id).toMatch(/^apr_/);
  expect(await one?.get(name)).toContain(`(${id})`);
  const taken = await two?.thrown((vault) => vault.get(name, { approval_id: id }));
  expect(taken).not.toContain(`(${id})`);
});

it('revocation: a trust that ends, or no longer takes the name, ends what its Workers made', async () => {
  const o = await newOrg();
  const trust = await newTrust(o, { scopes: ['secrets:read', 'tokens:write'] });
  const { request, get } = bound({ org: o.id, trust, name: 'billing' });
  const make = () =>
    request(`/api/v1/orgs/${o.id}/api-keys`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', 'Idempotency-Key': 'once' },
      body: JSON.stringify({ name: 'made', scopes: ['secrets:read'] }),
    });
  const { json: key } = await make();
  expect(key.parent_id).toBe(trust);
  expect((await make()).json).toMatchObject({ id: key.id, token: null });
  const status = async () => (await send('GET', '/api/v1/whoami', { token: key.token })).status;
  expect(await status()).toBe(200);
  await o.patch(`/trusts/${trust}`, { claims: { name: 'another' } });
  expect([await status(), (await get('X')).split(':')[0]]).toEqual([401, 'UNAUTHENTICATED']);
  await o.patch(`/trusts/${trust}`, { claims: { name: 'billing' } });
  expect(await status()).toBe(200);
  await o.del(`/trusts/${trust}`);
  expect([await status(), (await get('X')).split(':')[0]]).toEqual([401, 'TOKEN_REVOKED']);
});
