// Tokens, logins and system paths as clients of Vault use them.
import { describe, expect, it } from 'vitest';
import { idStart } from '../../../src/db/ids';
import type { CredentialRow } from '../../../src/db/schema';
import { callerOf } from '../../../src/gate/identity/caller';
import { descendants } from '../../../src/gate/identity/descendants';
import { lineageOf } from '../../../src/gate/rows/ends-with-parent';
import { newAgent, newKey, newSession } from '../../support/credentials';
import { faults } from '../../support/faults';
import { inCore } from '../../support/gate';
import { seen, vaultOf } from '../../support/integrations/vault';
import { newIssuer, newTrust, useIssuers } from '../../support/signin/issuers';
import { slow } from '../../support/slow';
import { type Caller, newOrg, newSecret, send, useWorld, whoami } from '../../support/world';

useWorld();

const DENIED = [403, { errors: ['permission denied'] }];
const anyone = vaultOf({ token: '' });

/** What approvals of a credential belong to. */
const rootOf = (o: Caller, id: string): Promise<string> =>
  inCore(o, (core) => {
    const row = core.rows.get('credential', id) as CredentialRow;
    return callerOf(core, lineageOf(core, row)).root;
  });

describe('Vault: system paths', () => {
  it('health, seal status, leader and init need no token', async () => {
    const health = await anyone.get('sys/health?standbyok=true');
    expect(health).toMatchObject({
      status: 200,
      json: { initialized: true, sealed: false, standby: false, version: '1.17.0+svc', cluster_name: 'svc' },
    });
    expect(health.headers.get('content-type')).toBe('application/json');
    expect((await anyone.call('HEAD', 'sys/health')).status).toBe(200);
    expect((await anyone.get('sys/seal-status')).json).toMatchObject({
      type: 'svc',
      sealed: false,
      t: 1,
      n: 1,
      progress: 0,
      version: expect.stringMatching(/^\d+\.\d+\.\d+$/),
      storage_type: 'svc',
    });
    expect((await anyone.get('sys/leader')).json).toEqual({
      ha_enabled: false,
      is_self: true,
      leader_address: '',
      leader_cluster_address: '',
    });
    expect((await anyone.get('sys/init')).json).toEqual({ initialized: true });
    expect(seen(await anyone.put('sys/health', {}))).toEqual([405, { errors: ['unsupported operation'] }]);
  });

  slow('mounts: the mount of a path, and all that the caller can use', async () => {
    const o = await newOrg();
    const vault = vaultOf(o);
    const { id } = (await o.get('/environments/production')).json;
    expect((await vault.get('sys/internal/ui/mounts/production/app/db')).json.data).toEqual({
      path: 'production/',
      type: 'kv',
      options: { version: '2' },
      description: 'production',
      accessor: `kv_${id}`,
      local: false,
      seal_wrap: false,
      external_entropy_access: false,
      config: { default_lease_ttl: 0, max_lease_ttl: 0, force_no_cache: false },
      uuid: id,
      running_plugin_version: '',
      plugin_version: '',
    });
    const slugs = ['development/', 'staging/', 'production/'];
    expect(Object.keys((await vault.get('sys/mounts')).json.data)).toEqual(expect.arrayContaining(slugs));
    expect(Object.keys((await vault.get('sys/internal/ui/mounts')).json.data.secret)).toEqual(
      expect.arrayContaining(slugs),
    );
    const bounded = vaultOf(await newKey(o, { scopes: ['secrets:read'], environments: ['staging'] }));
    expect(Object.keys((await bounded.get('sys/mounts')).json.data)).toContain('staging/');
    expect(Object.keys((await bounded.get('sys/mounts')).json.data)).not.toContain('production/');
  });

  slow('preflight: unknown and forbidden are 403 alike, never 404', async () => {
    const o = await newOrg();
    const bounded = vaultOf(await newKey(o, { scopes: ['secrets:read'], environments: ['staging'] }));
    const text = (path: string) =>
      `preflight capability check returned 403, please ensure client's policies grant access to path "${path}/"`;
    for (const [vault, path] of [
      [vaultOf(o), 'elsewhere/app/db'],
      [vaultOf(o), 'Not_A_Slug'],
      [bounded, 'production/app/db'],
      [bounded, 'elsewhere/app/db'],
    ] as const)
      expect(seen(await vault.get(`sys/internal/ui/mounts/${path}`))).toEqual([
        403,
        { errors: [text(path)] },
      ]);
    expect(seen(await anyone.get('sys/internal/ui/mounts/production'))).toEqual(DENIED);
  });

  slow('leases: there are none', async () => {
    const vault = vaultOf(await newOrg());
    const call = async (what: string, body: object) => seen(await vault.put(`sys/leases/${what}`, body));
    expect(await call('lookup', { lease_id: 'x' })).toEqual([400, { errors: ['invalid lease'] }]);
    expect(await call('renew', { lease_id: 'x' })).toEqual([400, { errors: ['lease not found'] }]);
    expect((await call('revoke', { lease_id: 'x' }))[0]).toBe(204);
    for (const what of ['lookup', 'renew', 'revoke'])
      expect(await call(what, {})).toEqual([400, { errors: ['lease_id must be specified'] }]);
    expect(seen(await anyone.put('sys/leases/lookup', { lease_id: 'x' }))).toEqual(DENIED);
  });

  slow('capabilities: what the caller holds at each path', async () => {
    const o = await newOrg();
    const key = await newKey(o, { scopes: ['secrets:read', 'secrets:write'], secrets: ['app/*'] });
    const ask = async (body: object) => {
      const { status, json } = await vaultOf(key).put('sys/capabilities-self', body);
      return [status, json.data ?? json.errors];
    };
    const all = ['create', 'patch', 'read', 'update'];
    expect(await ask({ path: 'production/data/app/x' })).toEqual([
      200,
      { capabilities: all, 'production/data/app/x': all },
    ]);
    const paths = {
      'production/data/other': ['deny'],
      'production/metadata/app/': ['create', 'list', 'patch', 'read', 'update'],
      'production/metadata/other/': ['deny'],
      'production/delete/app/x': ['deny'],
      'production.folders/data/app': all,
      'production.folders/data/other': ['deny'],
      'nowhere/data/app/x': ['deny'],
      'auth/token/lookup-self': ['read', 'update'],
      'sys/policies/acl/x': ['deny'],
    };
    const [, data] = await ask({ paths: Object.keys(paths) });
    expect(data).toMatchObject(paths);
    for (const body of [{}, { paths: [] }])
      expect(await ask(body)).toEqual([400, ['paths must be supplied']]);
    expect(seen(await anyone.put('sys/capabilities-self', { path: 'x' }))).toEqual(DENIED);
  });

  it('refused: an unsupported path has no handler', async () => {
    const vault = vaultOf(await newOrg());
    for (const path of [
      'sys/policies/acl/x',
      'sys/auth',
      'sys/wrapping/lookup',
      'sys/raw/x',
      'sys/unseal',
      'identity/entity',
      'cubbyhole/x',
    ])
      expect(seen(await vault.get(path))).toEqual([
        404,
        { errors: [`no handler for route "${path}". route entry not found.`] },
      ]);
    expect(seen(await vault.get('production/data/s', { 'X-Vault-Wrap-TTL': '60s' }))).toEqual([
      400,
      { errors: ['response wrapping is not supported'] },
    ]);
  });
});

describe('Vault: tokens', () => {
  const { publish } = useIssuers();

  it('lookup-self: type, ttl and expire_time are there, and null for a token that never ends', async () => {
    const o = await newOrg();
    const key = (await vaultOf(o).get('auth/token/lookup-self')).json.data;
    expect(key).toMatchObject({ id: o.keyId, type: 'service', ttl: 0, expire_time: null, orphan: true });
    const session = await newSession(o, { ttlSeconds: 900 });
    const { data } = (await vaultOf(session.o).get('auth/token/lookup-self')).json;
    expect(data).toMatchObject({
      id: session.id,
      accessor: session.id,
      creation_ttl: 900,
      explicit_max_ttl: 900,
      expire_time: expect.stringMatching(/Z$/),
      meta: null,
      num_uses: 0,
      orphan: false,
      policies: ['default'],
      renewable: false,
      type: 'service',
    });
    expect(data.ttl).toBeGreaterThan(880);
    expect(data.ttl).toBeLessThanOrEqual(900);
  });

  slow('header: X-Vault-Token or Authorization, and the first counts', async () => {
    const o = await newOrg();
    const get = (headers: Record<string, string>) => send('GET', '/v1/auth/token/lookup-self', { headers });
    expect((await get({ 'X-Vault-Token': o.token })).status).toBe(200);
    expect((await get({ Authorization: `Bearer ${o.token}` })).status).toBe(200);
    expect(seen(await get({ 'X-Vault-Token': 'x', Authorization: `Bearer ${o.token}` }))).toEqual(DENIED);
    expect(seen(await get({}))).toEqual(DENIED);
    expect(seen(await get({ 'X-Vault-Token': `${o.token.slice(0, -1)}x` }))).toEqual(DENIED);
    expect((await get({})).headers.get('www-authenticate')).toBe(null);
  });

  it('lookup and revoke: only the own token and own session tokens', async () => {
    const o = await newOrg();
    const other = await newOrg();
    const session = await newSession(o);
    const sibling = await newSession((await newKey(o)).o);
    const lookup = async (token: string, of: { token: string }) =>
      (await vaultOf(of).call('POST', 'auth/token/lookup', { token })).status;
    expect(await lookup(o.token, o)).toBe(200);
    expect(await lookup(session.token, o)).toBe(200);
    expect(await lookup(session.token, session.o)).toBe(200);
    for (const token of [o.token, sibling.token, other.token, 'x'])
      expect(await lookup(token, session.o)).toBe(403);
    expect(await lookup(sibling.token, o)).toBe(403);
    expect((await vaultOf(o).put('auth/token/revoke', { token: sibling.token })).status).toBe(403);
    expect((await vaultOf(o).put('auth/token/revoke', { token: session.token })).status).toBe(204);
    expect((await vaultOf(session.o).get('auth/token/lookup-self')).status).toBe(403);
  });

  it('revoke-self: ends a session token at once, and never an API key or an agent credential', async () => {
    const o = await newOrg();
    const session = await newSession(o, { scopes: ['secrets:read'] });
    expect((await vaultOf(session.o).call('POST', 'auth/token/revoke-self')).status).toBe(204);
    expect(seen(await vaultOf(session.o).get('production/data/s'))).toEqual(DENIED);
    expect((await whoami(session.o)).status).toBe(401);
    for (const { token } of [o, (await newAgent(o)).o]) {
      expect((await vaultOf({ token }).put('auth/token/revoke-self')).status).toBe(400);
      expect((await whoami({ token })).status).toBe(200);
    }
  });

  it('renew-self: no token is renewable', async () => {
    const session = await newSession(await newOrg());
    expect(seen(await vaultOf(session.o).put('auth/token/renew-self', { increment: 3600 }))).toEqual([
      400,
      { errors: ['lease is not renewable'] },
    ]);
    expect(seen(await anyone.put('auth/token/renew-self', {}))).toEqual(DENIED);
  });

  slow('create: an API key makes a session token of its own', async () => {
    const o = await newOrg();
    const make = (body: object) => vaultOf(o).call('POST', 'auth/token/create', body);
    const { json } = await make({
      display_name: 'terraform',
      ttl: '20m0s',
      explicit_max_ttl: '20m',
      policies: ['default'],
    });
    expect(json.auth).toMatchObject({ lease_duration: 1200, renewable: false, token_type: 'service' });
    expect((await whoami({ token: json.auth.client_token })).json).toMatchObject({
      kind: 'session',
      parent_id: o.keyId,
    });
    expect((await make({})).json.auth.lease_duration).toBe(3600);
    for (const body of [{ policies: ['root'] }, { no_parent: true }, { num_uses: 1 }, { ttl: 'soon' }])
      expect((await make(body)).status).toBe(400);
    const agent = await newAgent(o);
    expect(seen(await vaultOf(agent.o).put('auth/token/create', {}))).toEqual(DENIED);
  });

  /** A session token that a token made. */
  const childOf = async (token: string, body: object = {}) => {
    const { json, status } = await vaultOf({ token }).put('auth/token/create', body);
    return { token: json.auth?.client_token as string, auth: json.auth, status };
  };

  slow('child: it holds what its parent holds, for no longer, and ends with it', async () => {
    const o = await newOrg();
    const limits = { scopes: ['secrets:read'], environments: ['production'], secrets: ['app/*'] };
    const session = await newSession(o, { ...limits, ttlSeconds: 600 });
    const child = await childOf(session.token, { ttl: '1h' });
    expect(child.auth.lease_duration).toBeLessThanOrEqual(600);
    const mine = (await whoami(child)).json;
    expect(mine).toMatchObject({ kind: 'session', parent_id: session.id, ...limits });
    await newSecret(o, { name: 'app/a', value: 'a' });
    await newSecret(o, { name: 'b', value: 'b' });
    expect((await vaultOf(child).get('production/data/app/a')).status).toBe(200);
    expect(seen(await vaultOf(child).get('production/data/b'))).toEqual(DENIED);
    const grandchild = await childOf(child.token);
    expect((await whoami(grandchild)).json.parent_id).toBe(mine.id);
    expect((await vaultOf(session.o).put('auth/token/revoke-self')).status).toBe(204);
    for (const ended of [child, grandchild])
      expect(seen(await vaultOf(ended).get('production/data/app/a'))).toEqual(DENIED);
  });

  slow('child: its parent revokes it, and containing or revoking the key ends it', async () => {
    const o = await newOrg();
    const key = await newKey(o);
    const session = await newSession(key.o);
    const first = await childOf(session.token);
    const second = await childOf(session.token);
    expect((await vaultOf(session.o).put('auth/token/revoke', { token: first.token })).status).toBe(204);
    expect((await whoami(first)).status).toBe(401);
    expect((await vaultOf(second).put('auth/token/revoke', { token: session.token })).status).toBe(403);
    const report = (await o.post(`/credentials/${key.id}/contain`, {})).json;
    expect(report.revoked.map(({ id }: { id: string }) => id)).toEqual(
      expect.arrayContaining([session.id, second.auth.accessor]),
    );
    expect((await whoami(second)).status).toBe(401);
  });

  slow('child: its requests count for its parent and its key', async () => {
    const o = await newOrg();
    const session = await newSession(o);
    const child = await childOf(session.token);
    const left = async (of: { token: string }) =>
      Number((await whoami(of)).headers.get('x-ratelimit-remaining'));
    const before = await left(session);
    await whoami(child);
    await whoami(child);
    expect(before - (await left(session))).toBe(3);
  });

  it('child: 50 of a session token live at a time, and all count for the key', async () => {
    const o = await newOrg();
    const session = await newSession(o);
    const made = [];
    for (let n = 0; n < 50; n++) made.push(await childOf(session.token));
    expect(new Set(made.map(({ status }) => status))).toEqual(new Set([200]));
    expect((await childOf(session.token)).status).toBe(400);
    expect((await childOf(made[0]?.token as string)).status).toBe(200);
    for (const { token } of made.slice(1, 3)) await vaultOf({ token }).put('auth/token/revoke-self');
    expect((await childOf(session.token)).status).toBe(200);
    const live = (n: number) => inCore(o, (core) => descendants(core).hasSessions(o.keyId, n, Date.now()));
    expect([await live(51), await live(52)]).toEqual([true, false]);
  });

  it('child: that of one workload does not belong to another workload of the trust', async () => {
    const o = await newOrg();
    const issuer = publish(await newIssuer());
    const trust = await newTrust(o, issuer, { name: `ci ${o.id}`, scopes: ['secrets:*'] });
    await newSecret(o, { name: 'held' });
    const login = async () => {
      const body = { role: `${o.id}/${trust.id}`, jwt: await issuer.sign() };
      const { json } = await send('POST', '/v1/auth/jwt/login', { body });
      return json.auth.client_token as string;
    };
    const roots = [];
    for (const token of [await login(), await login()]) {
      const child = await childOf(token);
      roots.push(await rootOf(o, child.auth.accessor));
    }
    expect(new Set(roots).size).toBe(2);
    expect(roots.every((root) => root.startsWith(idStart('session')))).toBe(true);
  });

  slow('others: calls about tokens of others are forbidden', async () => {
    const vault = vaultOf(await newOrg());
    for (const path of ['roles/x', 'accessors', 'create-orphan', 'create/role', 'revoke-accessor'])
      for (const method of ['GET', 'PUT'])
        expect(seen(await vault.call(method, `auth/token/${path}`))).toEqual(DENIED);
  });
});

describe('Vault: logins', () => {
  it('approle: an API key gives a session token, under any mount', async () => {
    const o = await newOrg();
    const login = (body: unknown, mount = 'approle', headers = {}) =>
      send('PUT', `/v1/auth/${mount}/login`, { body, headers });
    const { json, status } = await login({ role_id: o.id, secret_id: o.token });
    expect([status, json.data, json.auth]).toEqual([
      200,
      null,
      {
        client_token: expect.stringMatching(/^svcsess_/),
        accessor: expect.stringMatching(/^tok_/),
        policies: ['default'],
        token_policies: ['default'],
        identity_policies: null,
        metadata: null,
        lease_duration: 900,
        renewable: false,
        entity_id: '',
        token_type: 'service',
        orphan: true,
        mfa_requirement: null,
        num_uses: 0,
      },
    ]);
    expect(
      (await vaultOf({ token: json.auth.client_token }).get('auth/token/lookup-self')).json.data.id,
    ).toBe(json.auth.accessor);
    expect((await login({ role_id: o.keyId, secret_id: o.token }, 'my/own')).status).toBe(200);
    // Clients send the token that they had.
    expect(
      (await login({ role_id: o.id, secret_id: o.token }, 'approle', { 'X-Vault-Token': 'old' })).status,
    ).toBe(200);
  });

  it('approle: everything that is wrong is one refusal, and makes no session', async () => {
    const o = await newOrg();
    const other = await newOrg();
    const session = await newSession(o);
    const wrong = [400, { errors: ['invalid role or secret ID'] }];
    const login = (role_id: string, secret_id: string, headers = {}) =>
      send('POST', '/v1/auth/approle/login', { body: { role_id, secret_id }, headers });
    const key = await newKey(other);
    for (const [role, secret] of [
      [other.id, o.token],
      [key.id, other.token],
      ['', o.token],
      [o.id, `${o.token.slice(0, -1)}x`],
      [o.id, 'x'],
      [o.id, session.token],
    ] as const)
      expect(seen(await login(role, secret))).toEqual(wrong);
    expect(seen(await login(o.id, o.token, { 'X-Vault-Namespace': other.id }))).toEqual(wrong);
    expect((await login(o.id, o.token, { 'X-Vault-Namespace': `${o.id}/` })).status).toBe(200);
    expect(seen(await send('POST', '/v1/auth/approle/login', { body: { role_id: o.id } }))).toEqual([
      400,
      { errors: ['missing secret_id'] },
    ]);
    expect((await other.get('/access-tokens')).json.data).toEqual([]);
    expect((await o.get('/access-tokens')).json.data).toHaveLength(2);
  });

  slow('approle: a session token ends with its key, and is audited as any other', async () => {
    const o = await newOrg();
    const key = await newKey(o, { ttlSeconds: 600 });
    const { auth } = (
      await send('PUT', '/v1/auth/approle/login', { body: { role_id: key.id, secret_id: key.token } })
    ).json;
    expect(auth.lease_duration).toBeLessThanOrEqual(600);
    const entries = (await o.get('/audit-log?action=access_token.create')).json.data;
    expect(entries).toHaveLength(1);
    await o.del(`/api-keys/${key.id}`);
    expect(seen(await vaultOf({ token: auth.client_token }).get('production/data/s'))).toEqual(DENIED);
  });

  it('other kinds of logins have no handler', async () => {
    for (const path of ['auth/oidc/oidc/auth_url', 'auth/x/login'])
      expect((await send('POST', `/v1/${path}`, { body: { password: 'x' } })).status).toBe(404);
    for (const path of ['auth/userpass/login/ann', 'auth/ldap/login/ann'])
      expect(seen(await send('POST', `/v1/${path}`, { body: { password: 'x' } }))).toEqual([
        400,
        { errors: ['logins with a password are not supported'] },
      ]);
  });
});

describe('Vault: logins of workloads', () => {
  const { publish } = useIssuers();
  const login = (body: object, headers: Record<string, string> = {}, base = '') =>
    send('POST', `${base}/v1/auth/kubernetes/login`, { body, headers });
  const wrong = [400, { errors: ['invalid role or secret ID'] }];

  async function world() {
    const o = await newOrg();
    const issuer = publish(await newIssuer());
    const trust = await newTrust(o, issuer, { name: `cluster ${o.id}` });
    return { o, issuer, trust };
  }

  it('jwt: a role is a trust by id or name; the organisation is in the namespace, the path or the role', async () => {
    const { o, issuer, trust } = await world();
    const namespace = { 'X-Vault-Namespace': o.id };
    const first = await login({ role: trust.id, jwt: await issuer.sign() }, namespace);
    expect([first.status, first.json.data]).toEqual([200, null]);
    expect(first.json.auth).toMatchObject({
      client_token: expect.stringMatching(/^svcsess_/),
      metadata: { role_name: trust.id },
      lease_duration: 3600,
      token_type: 'service',
    });
    expect((await whoami({ token: first.json.auth.client_token })).json.parent_id).toBe(trust.id);
    for (const [role, headers, base] of [
      [`cluster ${o.id}`, namespace, ''],
      [`${o.id}/${trust.id}`, {}, ''],
      [trust.id, {}, `/compat/vault/${o.id}`],
    ] as const)
      expect((await login({ role, jwt: await issuer.sign() }, headers, base)).status).toBe(200);
  });

  slow('jwt: everything that is wrong is one refusal', async () => {
    const { o, issuer, trust } = await world();
    const other = await newOrg();
    const namespace = { 'X-Vault-Namespace': o.id };
    const jwt = await issuer.sign();
    for (const [body, headers] of [
      [{ role: trust.id, jwt }, {}],
      [{ role: trust.id, jwt }, { 'X-Vault-Namespace': other.id }],
      [{ role: 'another', jwt }, namespace],
      [{ role: trust.id, jwt: 'x' }, namespace],
      [{ role: trust.id, jwt: await issuer.sign({ aud: 'another' }) }, namespace],
      [{ role: `${other.id}/${trust.id}`, jwt }, namespace],
    ] as const)
      expect(seen(await login(body, headers))).toEqual(wrong);
    expect((await login({ jwt }, namespace)).json.errors).toEqual(['missing role']);
  });

  it('reuse: a trust says whether a token serves more than ten times', async () => {
    const { o, issuer, trust } = await world();
    const again = await newTrust(o, issuer, { name: 'controllers', reuse: true });
    const jwt = await issuer.sign();
    const statuses = async (role: string, times: number) => {
      const all: number[] = [];
      for (let n = 0; n < times; n++)
        all.push(
          (await login({ role, jwt }, { 'X-Vault-Namespace': o.id, 'CF-Connecting-IP': `198.18.7.${n}` }))
            .status,
        );
      return all;
    };
    expect(again.reuse).toBe(true);
    expect(await statuses(again.id, 12)).toEqual(Array(12).fill(200));
    expect(await statuses(trust.id, 12)).toEqual([...Array(10).fill(200), 400, 400]);
    const narrow = await newKey(o, { scopes: ['tokens:write'] });
    expect((await narrow.o.patch(`/trusts/${again.id}`, { reuse: false })).json.reuse).toBe(false);
    expect((await narrow.o.patch(`/trusts/${again.id}`, { reuse: true })).status).toBe(403);
  });

  it('rate limit: past the limit of its address, a login by name reads no D1, and a right one passes', async () => {
    const { o, issuer } = await world();
    const headers = { 'X-Vault-Namespace': o.id, 'CF-Connecting-IP': '192.0.2.201' };
    const by = async (role: string, jwt: string) => (await login({ role, jwt }, headers)).status;
    expect(await by(`cluster ${o.id}`, await issuer.sign())).toBe(200);
    for (let n = 0; n < 21; n++) await by('another', 'x');
    const asked = [faults.gate, faults.d1];
    for (const role of ['another', 'cluster']) expect(await by(role, await issuer.sign())).toBe(429);
    expect([faults.gate, faults.d1]).toEqual(asked);
    expect(await by(`cluster ${o.id}`, await issuer.sign())).toBe(200);
  });

  slow('jwt: neither of two trusts with one name is found by it', async () => {
    const { o, issuer } = await world();
    await newTrust(o, issuer, { name: 'twin' });
    const twin = await newTrust(o, issuer, { name: 'twin' });
    const by = async (role: string) =>
      (await login({ role, jwt: await issuer.sign() }, { 'X-Vault-Namespace': o.id })).status;
    expect(await by('twin')).toBe(400);
    expect(await by(twin.id)).toBe(200);
    await o.del(`/trusts/${twin.id}`);
    expect(await by(twin.id)).toBe(400);
  });
});

describe('Vault: organisations', () => {
  it('base path and namespace must name the organisation of the token', async () => {
    const o = await newOrg();
    const other = await newOrg();
    await vaultOf(o).put('production/data/s', { data: { value: 'x' } });
    const get = async (base: string, namespace?: string) =>
      seen(
        await vaultOf(o, base).get(
          'production/data/s',
          namespace === undefined ? {} : { 'X-Vault-Namespace': namespace },
        ),
      );
    const base = (id: string) => `/compat/vault/${id}`;
    expect((await get(base(o.id)))[0]).toBe(200);
    expect((await get('', `${o.id}/`))[0]).toBe(200);
    expect((await get(base(o.id), o.id))[0]).toBe(200);
    for (const [path, namespace] of [
      [base(other.id)],
      [base('org_x')],
      [base('')],
      ['', other.id],
      ['', 'admin'],
      [base(o.id), other.id],
      [base(other.id), o.id],
      ['', `${o.id}${'/'.repeat(100)}`],
    ] as const)
      expect(await get(path as string, namespace)).toEqual(DENIED);
    expect((await send('GET', `${base(other.id)}/v1/sys/health`)).status).toBe(200);
    const entries = (await o.get('/audit-log?action=secret.read')).json.data as { status: number }[];
    expect(entries.map(({ status }) => status)).toEqual([...Array(8).fill(404), 200, 200, 200]);
    expect((await other.get('/audit-log?action=secret.read')).json.data).toEqual([]);
  });

  slow('two organisations with the same names never meet', async () => {
    const a = await newOrg();
    const b = await newOrg();
    await vaultOf(a).put('production/data/s', { data: { of: 'a' } });
    await vaultOf(b).put('production/data/s', { data: { of: 'b' } });
    await vaultOf(a).put('production/metadata/t', { custom_metadata: { of: 'a' } });
    expect((await vaultOf(b).get('production/data/s')).json.data.data).toEqual({ of: 'b' });
    expect((await vaultOf(b).get('production/metadata/t')).status).toBe(404);
    await vaultOf(b).del('production/metadata/s');
    expect((await vaultOf(a).get('production/data/s')).json.data.data).toEqual({ of: 'a' });
  });
});

describe('Vault: rate limit', () => {
  it('429 with Retry-After, in its own shape', async () => {
    const o = await newOrg();
    const agent = await newAgent(o, { rate_limit: 1 });
    faults.clock = Date.now();
    await vaultOf(agent.o).get('auth/token/lookup-self');
    const { status, json, headers } = await vaultOf(agent.o).get('auth/token/lookup-self');
    faults.clock = null;
    expect([status, Object.keys(json)]).toEqual([429, ['errors']]);
    expect(Number(headers.get('retry-after'))).toBeGreaterThan(0);
  });

  slow('each further part of a long list counts as a request', async () => {
    const o = await newOrg();
    // As wide as patterns can be, so that one part compares few names with them.
    const secrets = Array.from({ length: 16 }, (_, i) => `${'*A'.repeat(5)}${'A'.repeat(230)}${i}`);
    const names = Array.from({ length: 600 }, (_, n) => `${'A'.repeat(230)}${1000 + n}=v`);
    const data = { source: 'dotenv', data: names.join('\n'), onConflict: 'fail' };
    expect((await o.post('/integrations/import', data)).status).toBe(200);
    const agent = await newAgent(o, { scopes: ['secrets:list'], secrets, rate_limit: 3 });
    expect((await vaultOf(agent.o).get('production/metadata?list=true')).status).toBe(429);
    const whole = await newKey(o, { scopes: ['secrets:list'] });
    const { status, headers } = await vaultOf(whole).get('production/metadata?list=true');
    expect([status, headers.get('ratelimit')]).toEqual([200, expect.stringContaining('r=1199')]);
  });
});
