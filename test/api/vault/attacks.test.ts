// The Vault-compatible API as an attacker tries it: what limits and holds a request of our own API holds the
// same request of a client of Vault.
import { describe, expect, it } from 'vitest';
import { newAgent, newBreakGlass, newKey, newProvider, newSession } from '../../support/credentials';
import { holdNext } from '../../support/faults';
import { newApprovalPolicy, newOffice } from '../../support/governance/approvals';
import { newPolicy } from '../../support/governance/policies';
import { seen, vaultOf } from '../../support/integrations/vault';
import { newDevice } from '../../support/signin/device';
import { slow } from '../../support/slow';
import { type Caller, newOrg, newSecret, send, useWorld } from '../../support/world';

useWorld();

const DENIED = [403, { errors: ['permission denied'] }];

/** Every call on a path. */
const calls = (path: string) =>
  [
    ['GET', `production/data/${path}`],
    ['GET', `production/data/${path}?version=1`],
    ['PUT', `production/data/${path}`, { data: { value: 'mine' } }],
    ['PUT', `production/data/${path}`, { data: { value: 'mine' }, options: { cas: 1 } }],
    ['PATCH', `production/data/${path}`, { data: { value: 'mine' } }],
    ['DELETE', `production/data/${path}`],
    ['PUT', `production/delete/${path}`, { versions: [1] }],
    ['PUT', `production/undelete/${path}`, { versions: [1] }],
    ['PUT', `production/destroy/${path}`, { versions: [1] }],
    ['GET', `production/metadata/${path}`],
    ['PUT', `production/metadata/${path}`, { custom_metadata: { a: '1' } }],
    ['PATCH', `production/metadata/${path}`, { custom_metadata: { a: '1' } }],
    ['DELETE', `production/metadata/${path}`],
    ['GET', `production/subkeys/${path}`],
  ] as const;

async function statuses({ token }: Pick<Caller, 'token'>, path: string) {
  const vault = vaultOf({ token });
  const all: Record<string, number> = {};
  for (const [method, at, body] of calls(path)) {
    const headers: Record<string, string> =
      method === 'PATCH' ? { 'Content-Type': 'application/merge-patch+json' } : {};
    const answer = await vault.call(method, at, body, headers);
    all[`${method} ${at}`] = answer.status;
    if (answer.status === 403) expect(answer.json).toEqual({ errors: ['permission denied'] });
  }
  return all;
}

describe('Vault: permission', () => {
  slow('names: each call is 403 outside the reach of a key, whether the secret exists or not', async () => {
    const o = await newOrg();
    await newSecret(o, { name: 'other/a', value: 'secret' });
    const key = await newKey(o, { scopes: ['secrets:*'], secrets: ['app/*'] });
    for (const path of ['other/a', 'other/none', 'app'])
      expect(new Set(Object.values(await statuses(key, path)))).toEqual(new Set([403]));
    expect((await o.get('/secrets/by-name/other/a')).json).toMatchObject({
      value: 'secret',
      version: 1,
      tags: {},
    });
    expect((await vaultOf(key).put('production/data/app/x', { data: { value: 'x' } })).status).toBe(200);
  });

  slow('environments: every mount outside is 403, whether it exists or not', async () => {
    const o = await newOrg();
    const key = await newKey(o, { scopes: ['secrets:*'], environments: ['staging'] });
    for (const mount of ['production', 'elsewhere'])
      for (const path of ['data/s', 'metadata/s', 'metadata?list=true', 'config', 'other/s'])
        expect(seen(await vaultOf(key).get(`${mount}/${path}`))).toEqual(DENIED);
    expect((await vaultOf(key).get('staging/config')).status).toBe(200);
  });

  slow('scopes: each call needs those of its operation', async () => {
    const o = await newOrg();
    const allowed = async (scopes: string[]) => {
      await newSecret(o, { name: 's' }).catch(() => {});
      const found = await statuses(await newKey(o, { scopes }), 's');
      return Object.entries(found).flatMap(([call, status]) =>
        status === 403 ? [] : [call.replace(/ production/, '')],
      );
    };
    expect(await allowed(['secrets:list'])).toEqual(['GET/metadata/s']);
    expect(await allowed(['secrets:read'])).toEqual([
      'GET/data/s',
      'GET/data/s?version=1',
      'GET/metadata/s',
      'GET/subkeys/s',
    ]);
    expect(await allowed(['secrets:write'])).toEqual(['PUT/data/s', 'PUT/metadata/s', 'PATCH/metadata/s']);
    expect(await allowed(['secrets:delete'])).toEqual([
      'DELETE/data/s',
      'PUT/delete/s',
      'PUT/undelete/s',
      'PUT/destroy/s',
      'DELETE/metadata/s',
    ]);
    expect(await allowed(['audit:read'])).toEqual([]);
  });

  it('kinds: provider tokens do nothing here, and a break-glass token destroys nothing', async () => {
    const o = await newOrg();
    await newSecret(o, { name: 's' });
    const provider = await statuses((await newProvider(o)).o, 's');
    expect(new Set(Object.values(provider))).toEqual(new Set([403]));
    const { o: breaker } = await newBreakGlass(o);
    expect(seen(await vaultOf(breaker).del('production/metadata/s'))).toEqual(DENIED);
    expect(seen(await vaultOf(breaker).put('production/destroy/s', { versions: [1] }))).toEqual(DENIED);
    expect((await vaultOf(breaker).get('production/data/s')).status).toBe(200);
  });

  it('agents: one without secrets:read may read nothing', async () => {
    const o = await newOrg();
    await newSecret(o, { name: 's' });
    const agent = await newAgent(o, { scopes: ['secrets:list'] });
    expect(seen(await vaultOf(agent.o).get('production/data/s'))).toEqual(DENIED);
  });

  slow('device: a credential that is bound to one needs its proof, which no client sends', async () => {
    const o = await newOrg();
    await newSecret(o, { name: 's' });
    const device = await newDevice(o);
    const session = await newSession(o, { device_id: device.id });
    expect(seen(await vaultOf(session.o).get('production/data/s'))).toEqual(DENIED);
  });

  it('revocation: a key that is revoked while versions are fetched gets none', async () => {
    const o = await newOrg();
    await newSecret(o, { name: 's' });
    const key = await newKey(o);
    const { held, release } = holdNext();
    const answer = vaultOf(key.o).get('production/metadata/s');
    await held();
    expect((await o.del(`/api-keys/${key.id}`)).status).toBe(204);
    release();
    expect(seen(await answer)).toEqual(DENIED);
  });

  slow('addresses: a key that is bound to some is refused from another', async () => {
    const o = await newOrg();
    const key = await newKey(o, { allowed_addresses: ['198.51.100.0/24'] });
    expect(seen(await vaultOf(key).get('production/data/s'))).toEqual(DENIED);
  });
});

describe('Vault: approvals and policies', () => {
  slow('approval: a held read and a held write are 403 with the id of the approval', async () => {
    const { o, asked } = await newOffice();
    await newSecret(o, { name: 'db', value: 'v' });
    await newApprovalPolicy(o, ['secret.read', 'secret.update', 'secret.delete']);
    const vault = vaultOf(asked);
    for (const [method, path, body] of [
      ['GET', 'production/data/db'],
      ['GET', 'production/subkeys/db'],
      ['PUT', 'production/data/db', { data: { value: 'w' } }],
      ['DELETE', 'production/data/db'],
      ['DELETE', 'production/metadata/db'],
      ['PUT', 'production/metadata/db', { custom_metadata: { a: '1' } }],
    ] as const) {
      const { status, json } = await vault.call(method, path, body);
      expect([status, json.errors]).toEqual([
        403,
        [expect.stringMatching(/needs approval.* The approval is apr_/s)],
      ]);
    }
    expect((await o.get('/approvals?status=pending')).json.data).toHaveLength(6);
    expect((await vault.get('production/metadata/db')).json.data).toMatchObject({
      current_version: 1,
      custom_metadata: null,
    });
  });

  it('approval: one that may be repeated serves the same credential without a header, and no other', async () => {
    const { o, ann, asked } = await newOffice();
    await newSecret(o, { name: 'db', value: 'v' });
    await newApprovalPolicy(o, ['secret.read'], { config: { max_valid_seconds: 3600 } });
    const vault = vaultOf(asked);
    const held = await vault.get('production/data/db');
    const [, id] = /(apr_\w+)/.exec(held.json.errors[0]) as RegExpExecArray;
    await ann.o.post(`/approvals/${id}/approve`, { valid_for_seconds: 600 });
    for (const _ of [1, 2])
      expect((await vault.get('production/data/db')).json.data.data).toEqual({ value: 'v' });
    expect((await vault.get('production/data/db?version=1')).status).toBe(403);
    expect((await vaultOf((await newSession(asked)).o).get('production/data/db')).status).toBe(403);
    // Our own API needs the header as before.
    expect((await asked.get('/secrets/by-name/db')).status).toBe(403);
  });

  slow('approval: one for a single use is not used without its header', async () => {
    const { o, ann, asked } = await newOffice();
    await newSecret(o, { name: 'db', value: 'v' });
    await newApprovalPolicy(o, ['secret.read']);
    const held = await vaultOf(asked).get('production/data/db');
    const [, id] = /(apr_\w+)/.exec(held.json.errors[0]) as RegExpExecArray;
    await ann.o.post(`/approvals/${id}/approve`);
    expect((await vaultOf(asked).get('production/data/db')).status).toBe(403);
    expect((await vaultOf(asked).get('production/data/db', { 'Approval-Id': id as string })).status).toBe(
      403,
    );
  });

  slow('naming policy: a name that breaks it is 400, and is not created', async () => {
    const o = await newOrg();
    await newPolicy(o, 'naming', { pattern: '^app/' });
    expect((await vaultOf(o).put('production/data/db', { data: { value: 'x' } })).status).toBe(400);
    expect((await vaultOf(o).put('production/data/app/db', { data: { value: 'x' } })).status).toBe(200);
  });
});

describe('Vault: tricks', () => {
  it('headers: conditions, keys and approvals of our own API are not taken', async () => {
    const o = await newOrg();
    const vault = vaultOf(o);
    const headers = { 'Idempotency-Key': 'k', 'If-Match': '"v9"', 'If-None-Match': '*' };
    for (const version of [1, 2])
      expect(
        (await vault.call('POST', 'production/data/s', { data: { value: 'x' } }, headers)).json.data.version,
      ).toBe(version);
    expect((await vault.get('production/data/s', headers)).status).toBe(200);
  });

  slow('body: __proto__, repeated keys and lone surrogates lose nothing and reach nobody', async () => {
    const o = await newOrg();
    const vault = vaultOf(o);
    await vault.put('production/data/s', '{"data":{"__proto__":{"a":1},"constructor":"x"}}');
    expect((await vault.get('production/data/s')).text).toContain(
      '"data":{"__proto__":{"a":1},"constructor":"x"}',
    );
    await vault.put('production/data/t', '{"data":{"a":"1"},"data":{"a":"2"}}');
    expect((await vault.get('production/data/t')).json.data.data).toEqual({ a: '2' });
    expect((await vault.put('production/data/u', '{"data":{"value":"\\ud800"}}')).status).toBe(400);
    expect((await vault.put('production/data/v', '{"data":{"a":"\\ud800"}}')).status).toBe(200);
    expect((await vault.put('production/metadata/s', '{"custom_metadata":{"__proto__":"x"}}')).status).toBe(
      400,
    );
    expect((await vault.put('production/metadata/s', { custom_metadata: { a: '\u202e' } })).status).toBe(400);
  });

  slow('errors: every refusal of these paths has the shape of Vault, and none is 401 or 412', async () => {
    const o = await newOrg();
    for (const [method, path, token, body] of [
      ['GET', 'production/data/s', ''],
      ['GET', 'production/data/s', 'x'],
      ['PUT', 'production/data/s', o.token, '{'],
      ['PUT', 'production/data/s', o.token, { data: {}, options: { cas: 9 } }],
      ['GET', 'no/such', o.token],
      ['POST', 'auth/approle/login', o.token, { role_id: o.id, secret_id: 'x' }],
      ['GET', '', o.token],
    ] as const) {
      const { status, json, headers } = await vaultOf({ token }).call(method, path, body);
      expect([path, [400, 403, 404].includes(status), Object.keys(json)]).toEqual([path, true, ['errors']]);
      expect([headers.get('content-type'), headers.get('www-authenticate')]).toEqual([
        'application/json',
        null,
      ]);
    }
    expect((await send('GET', '/compat/other')).json.error.code).toBe('NOT_FOUND');
  });

  slow('audit: one entry a request, of the operation that it became', async () => {
    const o = await newOrg();
    const vault = vaultOf(o);
    const key = await newKey(o, { scopes: ['secrets:list'] });
    await vault.put('production/data/s', { data: { a: '1' } });
    await vault.put('production/data/s', { data: { a: '2' } });
    await vault.get('production/data/s');
    await vault.get('auth/token/lookup-self');
    await vaultOf(key).get('production/data/s');
    await vault.del('production/data/s');
    await vault.put('production/data/s', { data: { a: '3' } });
    await vault.put('production/metadata/t', { custom_metadata: { a: '1' } });
    const entries = (await o.get('/audit-log?limit=8')).json.data as { action: string; status: number }[];
    expect(entries.map(({ action, status }) => [action, status]).reverse()).toEqual([
      ['secret.create', 200],
      ['secret.update', 200],
      ['secret.read', 200],
      ['caller.read', 200],
      ['secret.read', 403],
      ['secret.delete', 204],
      ['secret.restore', 200],
      ['secret.update', 204],
    ]);
  });
});
