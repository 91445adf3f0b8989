// What a bound Worker can do to itself, and what ends it: its trust does, at the next call.
import { createExecutionContext } from 'cloudflare:test';
import { env } from 'cloudflare:workers';
import { expect, it } from 'vitest';
import type { Env } from '../../../src/env';
import { rateLimit } from '../../../src/gate/limits/rate-limit';
import { Vault } from '../../../src/vault-binding';
import { alive, contain, idsOf, newKey } from '../../support/credentials';
import { faults } from '../../support/faults';
import { inCore } from '../../support/gate';
import { newOffice } from '../../support/governance/approvals';
import { bound, newTrust } from '../../support/integrations/bindings';
import { type Caller, codeOf, newOrg, newSecret, useWorld } from '../../support/world';

useWorld();

const JSON_BODY = { 'Content-Type': 'application/json' };
const worker = (o: Caller, trust: string) => bound({ org: o.id, trust, name: 'billing' });
/** How the next read ends: nothing thrown, or the code. */
const next = async (o: Caller, trust: string, secret: string) =>
  (await worker(o, trust).get(secret)).split(':')[0];

it('attack: a Worker that may change trusts gives its own trust no more than it holds', async () => {
  const o = await newOrg();
  const trust = await newTrust(o, { scopes: ['*', 'tokens:write'] });
  const { request } = worker(o, trust);
  const change = (body: object, method = 'PATCH', at = `/trusts/${trust}`) =>
    request(`/api/v1/orgs/${o.id}${at}`, { method, headers: JSON_BODY, body: JSON.stringify(body) });
  for (const scopes of [['members:write'], ['*', 'tokens:write', 'policies:write'], ['sso:write']])
    expect(codeOf(await change({ scopes })), String(scopes)).toEqual([403, 'SCOPE_EXCEEDS_PARENT']);
  for (const scopes of [['members:write'], ['members:*'], ['*']]) {
    const made = await change({ name: 'k', scopes }, 'POST', '/api-keys');
    expect(codeOf(made), String(scopes)).toEqual([403, 'SCOPE_EXCEEDS_PARENT']);
  }
  expect((await change({ claims: { name: '*' } })).status).toBe(400);
  expect((await request('/api/v1/whoami')).json.scopes).not.toContain('members:write');
  const narrowed = await change({ scopes: ['secrets:read'] });
  expect([narrowed.status, (await request('/api/v1/whoami')).json.scopes]).toEqual([200, ['secrets:read']]);
});

it('containment: containing the maker of a trust ends its Workers at the next call, and lists what they made', async () => {
  const o = await newOrg();
  const { name } = await newSecret(o);
  const maker = await newKey(o, { scopes: ['*'] });
  const trust = await newTrust(maker.o, { scopes: ['secrets:read', 'tokens:write'] });
  const { request } = worker(o, trust);
  const { json: made } = await request(`/api/v1/orgs/${o.id}/api-keys`, {
    method: 'POST',
    headers: JSON_BODY,
    body: JSON.stringify({ name: 'made', scopes: ['secrets:read'] }),
  });
  expect(await next(o, trust, name)).toBe('nothing');
  const report = (await contain(o, maker.id)).json;
  expect(idsOf(report.revoked)).toEqual([maker.id, trust, made.id].sort());
  expect(report.read.map(({ name: read }: { name: string }) => read)).toContain(name);
  expect(await next(o, trust, name)).toBe('TOKEN_REVOKED');
  expect(await alive(o.as(made.token))).toBe('TOKEN_REVOKED');
});

it('panic: ends bound Workers as it ends trusts, with api_keys', async () => {
  const o = await newOrg();
  const { name } = await newSecret(o);
  const trust = await newTrust(o);
  const panic = (fields = {}) => o.post('/panic', { reason: 'a laptop was stolen', ...fields });
  expect((await panic()).status).toBe(200);
  expect(await next(o, trust, name)).toBe('nothing');
  expect((await panic({ api_keys: true })).status).toBe(200);
  expect(await next(o, trust, name)).toBe('TOKEN_REVOKED');
});

it('suspension: suspending the maker of a trust leaves it, listed', async () => {
  const { o, asked } = await newOffice();
  const { name } = await newSecret(o);
  const trust = await newTrust(asked);
  const { data } = (await o.get('/members')).json;
  const bob = data.find(({ role }: { role: string }) => role === 'admin');
  expect((await o.post(`/members/${bob.id}/suspend`, {})).status).toBeLessThan(300);
  expect(await next(o, trust, name)).toBe('nothing');
  expect(idsOf((await o.get('/trusts')).json.data)).toContain(trust);
});

it('deletion: the next call of an organisation that is deleted is refused', async () => {
  const o = await newOrg();
  const { name } = await newSecret(o);
  const trust = await newTrust(o);
  expect(await next(o, trust, name)).toBe('nothing');
  expect((await o.del('', { confirm: (await o.get('')).json.name })).status).toBeLessThan(300);
  expect(await next(o, trust, name)).not.toBe('nothing');
});

it('events: a stream through env.VAULT.fetch ends with the trust', async () => {
  const o = await newOrg();
  const trust = await newTrust(o, { scopes: ['secrets:read', 'secrets:list', 'events:read'] });
  const context = createExecutionContext();
  Object.defineProperty(context, 'props', { value: { org: o.id, trust, name: 'billing' } });
  const vault = new Vault(context, env as unknown as Env);
  const opened = await vault.fetch(new Request(`http://x/api/v1/orgs/${o.id}/events/stream`));
  expect([opened.status, opened.headers.get('content-type')?.split(';')[0]]).toEqual([
    200,
    'text/event-stream',
  ]);
  const reader = (opened.body as ReadableStream<Uint8Array>).pipeThrough(new TextDecoderStream()).getReader();
  const { name } = await newSecret(o);
  let text = '';
  while (!text.includes(name)) text += (await reader.read()).value ?? '';
  await o.del(`/trusts/${trust}`);
  const { name: later } = await newSecret(o);
  let rest = '';
  for (let part = await reader.read(); !part.done; part = await reader.read()) rest += part.value;
  expect(rest).not.toContain(later);
});

it('rate limit: 6,000 a minute for all names of a trust', async () => {
  const o = await newOrg();
  const trust = await newTrust(o, { claims: { name: 'w*' } });
  const at = Date.now();
  faults.clock = at;
  const ask = () => bound({ org: o.id, trust, name: 'w1' }).request('/api/v1/whoami');
  await inCore(o, (core) => {
    for (let n = 0; n < 5999; n++) rateLimit(core).note([trust], at);
  });
  expect((await ask()).status).toBe(200);
  expect(codeOf(await ask())).toEqual([429, 'RATE_LIMITED']);
  faults.clock = at + 61_000;
  expect((await ask()).status).toBe(200);
});
