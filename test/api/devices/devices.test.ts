// Devices: their life, their keys, and the credentials that end with them.
import { calculateJwkThumbprint } from 'jose';
import { describe, expect, it } from 'vitest';
import { newId } from '../../../src/db/ids';
import type { DeviceRow } from '../../../src/db/schema';
import { countLive } from '../../../src/gate/identity/lifetime';
import { problemOf } from '../../model/invariants';
import { newAgent, newKey, newSession } from '../../support/credentials';
import { inCore } from '../../support/gate';
import { newMember } from '../../support/people';
import { newDevice, newKeyPair, proofOf, provenBy, WHOAMI, whoamiBy } from '../../support/signin/device';
import { slow } from '../../support/slow';
import { type Caller, codeOf, newOrg, useWorld } from '../../support/world';

useWorld();

const events = async (o: Caller) =>
  (await inCore(o, (core) => core.outbox.oldest(100))).flatMap(({ type, data }) =>
    type.startsWith('DEVICE_') ? [{ type, data }] : [],
  );
const ANN = { name: 'Laptop of Ann', platform: 'macOS 26' };

describe('device', () => {
  slow('is registered, shown, changed, assigned, blocked and removed, with an event each', async () => {
    const o = await newOrg();
    const member = await newMember(o);
    const keys = await newKeyPair();
    const made = await o.post('/devices', { ...ANN, serial: 'C02', public_key: keys.jwk });
    const { id } = made.json;
    expect([made.status, made.json]).toEqual([
      201,
      {
        id,
        revision: 1,
        ...ANN,
        serial: 'C02',
        public_key: keys.jwk,
        thumbprint: await calculateJwkThumbprint(keys.jwk as never),
        member_id: null,
        status: 'active',
        created_at: made.json.created_at,
        created_by: o.keyId,
        assigned_at: null,
        blocked_at: null,
      },
    ]);
    expect((await o.get(`/devices/${id}`)).json).toEqual(made.json);
    const changed = { ...made.json, revision: 2, name: 'Old laptop', serial: null };
    expect((await o.patch(`/devices/${id}`, { name: 'Old laptop', serial: null })).json).toEqual(changed);
    const assigned = await o.post(`/devices/${id}/assign`, { member_id: member.id });
    expect([assigned.status, assigned.json]).toEqual([
      200,
      { ...changed, revision: 3, member_id: member.id, assigned_at: assigned.json.assigned_at },
    ]);
    expect((await o.post(`/devices/${id}/assign`, { member_id: member.id })).json).toEqual(assigned.json);
    expect((await o.post(`/devices/${id}/assign`, { member_id: null })).json).toEqual({
      ...changed,
      revision: 4,
    });
    const blocked = await o.post(`/devices/${id}/block`);
    expect([blocked.status, blocked.json]).toEqual([
      200,
      { ...changed, revision: 5, status: 'blocked', blocked_at: blocked.json.blocked_at },
    ]);
    expect((await o.post(`/devices/${id}/block`)).json).toEqual(blocked.json);
    expect((await o.del(`/devices/${id}`)).status).toBe(204);
    for (const answer of [
      await o.get(`/devices/${id}`),
      await o.patch(`/devices/${id}`, { name: 'x' }),
      await o.del(`/devices/${id}`),
      await o.post(`/devices/${id}/assign`, { member_id: null }),
      await o.post(`/devices/${id}/block`),
      await o.get('/devices/dev_0'),
    ])
      expect(codeOf(answer)).toEqual([404, 'NOT_FOUND']);
    const about = { device_id: id, name: 'Old laptop' };
    expect(await events(o)).toEqual([
      { type: 'DEVICE_REGISTERED', data: { device_id: id, name: ANN.name, member_id: null } },
      { type: 'DEVICE_ASSIGNED', data: { ...about, member_id: member.id } },
      { type: 'DEVICE_UNASSIGNED', data: { ...about, member_id: member.id } },
      { type: 'DEVICE_BLOCKED', data: { ...about, member_id: null } },
      { type: 'DEVICE_REMOVED', data: { ...about, member_id: null } },
    ]);
    expect(await problemOf(o)).toBe(null);
  });

  slow('is listed page by page, by status and by member', async () => {
    const o = await newOrg();
    const member = await newMember(o);
    const a = await newDevice(o);
    const b = await newDevice(o);
    const c = await newDevice(o);
    await o.post(`/devices/${b.id}/assign`, { member_id: member.id });
    await o.post(`/devices/${c.id}/block`);
    const list = async (query = '') =>
      (await o.get(`/devices${query}`)).json.data.map(({ id }: { id: string }) => id);
    expect(await list()).toEqual([a.id, b.id, c.id]);
    expect(await list('?status=active')).toEqual([a.id, b.id]);
    expect(await list('?status=blocked')).toEqual([c.id]);
    expect(await list(`?member_id=${member.id}`)).toEqual([b.id]);
    const page = (await o.get('/devices?limit=2')).json;
    expect([page.data.length, page.has_more]).toEqual([2, true]);
    expect(await list(`?limit=2&cursor=${page.next_cursor}`)).toEqual([c.id]);
    expect(codeOf(await o.get('/devices?status=gone'))).toEqual([400, 'VALIDATION_FAILED']);
    await o.del(`/members/${member.id}`);
    expect(await list('?status=blocked')).toEqual([b.id, c.id]);
    expect((await o.get(`/devices/${b.id}`)).json).toMatchObject({
      status: 'blocked',
      member_id: member.id,
      blocked_at: null,
    });
  });

  it('accepts only P-256 and Ed25519 public keys, keeps only their required members, and never changes them', async () => {
    const o = await newOrg();
    const p256 = await newKeyPair();
    const ed25519 = await newKeyPair('EdDSA');
    const other = await newKeyPair();
    const register = (public_key: unknown) => o.post('/devices', { ...ANN, public_key });
    const full = await register({
      ...ed25519.jwk,
      kid: 'k',
      use: 'sig',
      alg: 'EdDSA',
      key_ops: ['verify'],
      ext: true,
    });
    expect([full.status, full.json.public_key]).toEqual([201, ed25519.jwk]);
    expect((await register(null)).json).toMatchObject({ public_key: null, thumbprint: null });
    const { x, y } = p256.jwk as { x: string; y: string };
    for (const jwk of [
      ...[{}, { kty: 1 }, 'key', [], 1, { kty: 'oct', k: 'AAAA' }, { kty: 'RSA', n: 'AQAB', e: 'AQAB' }],
      { ...p256.jwk, d: x },
      { ...ed25519.jwk, d: x },
      { ...ed25519.jwk, crv: 'X25519' },
      { ...ed25519.jwk, crv: 'Ed448' },
      { ...ed25519.jwk, y },
      { ...p256.jwk, crv: 'P-384' },
      { ...p256.jwk, crv: 'secp256k1' },
      { kty: 'EC', crv: 'P-256', x },
      { ...p256.jwk, x: `${x}=` },
      { ...p256.jwk, x: x.slice(1) },
      { ...p256.jwk, y: other.jwk.y },
      // The identity, a point of order 8, and no point: anybody could sign for the first two.
      { ...ed25519.jwk, x: 'AQAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA' },
      { ...ed25519.jwk, x: 'JuiVj8KyJ7DDw_SJ8u-Y8NXfrAXTxjM5sTgCiG1T_AU' },
      { ...ed25519.jwk, x: 'AgAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA' },
      { ...p256.jwk, surprise: 'x' },
    ]) {
      const answer = await register(jwk);
      expect(codeOf(answer), JSON.stringify(jwk)).toEqual([400, 'VALIDATION_FAILED']);
      expect(answer.json.error.details[0].path, JSON.stringify(jwk)).toMatch(/^public_key/);
      expect(answer.text).not.toContain(x);
    }
    for (const field of ['public_key', 'member_id', 'status'])
      expect(codeOf(await o.patch(`/devices/${full.json.id}`, { [field]: null })), field).toEqual([
        400,
        'VALIDATION_FAILED',
      ]);
  });

  it('has a key of its own: a public key is registered once, also at the same time, and after it was blocked', async () => {
    const o = await newOrg();
    const { jwk } = await newKeyPair('EdDSA');
    const register = () => o.post('/devices', { ...ANN, public_key: jwk });
    const answers = await Promise.all([register(), register(), register()]);
    expect(answers.map(({ status }) => status).sort()).toEqual([201, 409, 409]);
    const { id } = answers.find(({ status }) => status === 201)?.json ?? {};
    await o.post(`/devices/${id}/block`);
    expect(codeOf(await register())).toEqual([409, 'CONFLICT']);
    expect((await (await newOrg()).post('/devices', { ...ANN, public_key: jwk })).status).toBe(201);
  });

  slow('is refused beyond 2,000 in an organisation', async () => {
    const o = await newOrg();
    const { id } = await newDevice(o);
    await inCore(o, ({ rows }) => {
      const row = rows.get('device', id) as DeviceRow;
      for (let i = 0; i < 1999; i++) rows.put('device', { ...row, id: newId('dev'), public_key: null });
    });
    const over = await o.post('/devices', { ...ANN, public_key: (await newKeyPair()).jwk });
    expect([codeOf(over), over.json.error.message]).toEqual([
      [409, 'LIMIT_REACHED'],
      expect.stringContaining('2,000 devices'),
    ]);
  });

  slow('permission: is read with devices:read and changed with devices:write', async () => {
    const o = await newOrg();
    const { id } = await newDevice(o);
    const reader = (await newKey(o, { scopes: ['devices:read'] })).o;
    expect([(await reader.get('/devices')).status, (await reader.get(`/devices/${id}`)).status]).toEqual([
      200, 200,
    ]);
    for (const answer of [
      await reader.post('/devices', ANN),
      await reader.patch(`/devices/${id}`, { name: 'x' }),
      await reader.post(`/devices/${id}/assign`, { member_id: null }),
      await reader.post(`/devices/${id}/block`),
      await reader.del(`/devices/${id}`),
    ])
      expect(codeOf(answer)).toEqual([403, 'INSUFFICIENT_SCOPE']);
  });
});

describe('device: the count of live credentials', () => {
  it('excludes credentials revoked with a device, and counts each once', async () => {
    const o = await newOrg();
    const { id: device_id, keys } = await newDevice(o);
    const live = () => inCore(o, (core) => countLive(core, Date.now()));
    const before = await live();
    const agent = await newAgent(o, { scopes: ['*'], device_id });
    const bound = provenBy(agent.o, keys);
    await bound.post('/agent-credentials', { name: 'child', scopes: ['secrets:read'] });
    await bound.post('/api-keys', { name: 'child', scopes: ['secrets:read'] });
    const { id: revoked } = await newAgent(o, { device_id });
    await o.del(`/agent-credentials/${revoked}`);
    expect(await live()).toBe(before + 3);
    await o.post(`/devices/${device_id}/block`);
    expect(await live()).toBe(before);
    const graph = (await o.get(`/credentials/${agent.id}/graph`)).json;
    expect([graph.reach.alive, graph.children]).toEqual([false, []]);
  });
});

describe('device: a credential that is bound to it', () => {
  slow('shows the device, in whoami too', async () => {
    const o = await newOrg();
    const { id: device_id, keys } = await newDevice(o);
    for (const made of [await newSession(o, { device_id }), await newAgent(o, { device_id })]) {
      expect(made).toMatchObject({ device_id });
      const { status, json } = await whoamiBy(made.token, await proofOf(keys, made.token, 'GET', WHOAMI));
      expect([status, json.id, json.device_id]).toEqual([200, made.id, device_id]);
    }
    expect((await o.get('/agent-credentials')).json.data[0].device_id).toBe(device_id);
    expect((await o.get('/access-tokens')).json.data[0].device_id).toBe(device_id);
    expect((await o.get(`/api-keys/${o.keyId}`)).json.device_id).toBe(null);
  });

  it('needs a device that exists, is not blocked and has a public key; API keys and other kinds take none', async () => {
    const o = await newOrg();
    const { id: blocked } = await newDevice(o);
    await o.post(`/devices/${blocked}/block`);
    const { id: keyless } = (await o.post('/devices', ANN)).json;
    const { id: elsewhere } = await newDevice(await newOrg());
    const cases: [string, [number, string]][] = [
      ['dev_0', [404, 'NOT_FOUND']],
      [elsewhere, [404, 'NOT_FOUND']],
      [blocked, [400, 'VALIDATION_FAILED']],
      [keyless, [400, 'VALIDATION_FAILED']],
    ];
    for (const [device_id, code] of cases) {
      expect(codeOf(await o.post('/access-tokens', { ttlSeconds: 60, device_id })), device_id).toEqual(code);
      expect(
        codeOf(await o.post('/agent-credentials', { name: 'a', scopes: ['secrets:read'], device_id })),
        device_id,
      ).toEqual(code);
    }
    const { id: device_id } = await newDevice(o);
    for (const [path, body] of [
      ['/api-keys', { name: 'k', scopes: ['org:read'] }],
      ['/provider-tokens', { name: 'p', scopes: ['issue'] }],
      ['/break-glass-tokens', { reason: 'the database is down' }],
    ] as const)
      expect(codeOf(await o.post(path, { ...body, device_id })), path).toEqual([400, 'VALIDATION_FAILED']);
  });

  it('creates only credentials bound to the same device and revoked with it, and grants nothing', async () => {
    const o = await newOrg();
    const member = await newMember(o, 'viewer');
    const { id: device_id, keys } = await newDevice(o);
    const other = await newDevice(o);
    const agent = provenBy((await newAgent(o, { scopes: ['*'], device_id })).o, keys);
    const EXCEEDS = [403, 'SCOPE_EXCEEDS_PARENT'];
    expect(
      codeOf(await agent.post('/agent-credentials', { name: 'b', scopes: ['*'], device_id: other.id })),
    ).toEqual(EXCEEDS);
    expect(
      codeOf(await agent.post('/grants', { grantee: { type: 'member', id: member.id }, permission: 'read' })),
    ).toEqual(EXCEEDS);
    expect(
      codeOf(await agent.post('/members', { email: 'b@example.com', name: 'B', role: 'viewer' })),
    ).toEqual(EXCEEDS);
    const made = [
      await agent.post('/agent-credentials', { name: 'b', scopes: ['*'] }),
      await agent.post('/agent-credentials', { name: 'c', scopes: ['*'], device_id }),
      await agent.post('/api-keys', { name: 'd', scopes: ['*'] }),
    ];
    expect(made.map(({ status, json }) => [status, json.device_id])).toEqual(
      [1, 2, 3].map(() => [201, device_id]),
    );
    const tokens = made.map(({ json }) => json.token as string);
    // A key of the agent's mints and rotates: neither is free of the device.
    const key = provenBy(o.as(tokens[2] as string), keys);
    tokens.push((await key.post('/access-tokens', { ttlSeconds: 60 })).json.token);
    tokens.push(
      (await key.post(`/api-keys/${made[2]?.json.id}/rotate`, { overlap_seconds: 600 })).json.token,
    );
    expect(codeOf(await key.post('/access-tokens', { ttlSeconds: 60, device_id: other.id }))).toEqual(
      EXCEEDS,
    );
    for (const token of tokens) {
      expect(codeOf(await whoamiBy(token, null))).toEqual([401, 'DEVICE_PROOF_REQUIRED']);
      expect(codeOf(await whoamiBy(token, await proofOf(other.keys, token, 'GET', WHOAMI)))).toEqual([
        401,
        'DEVICE_PROOF_INVALID',
      ]);
      expect((await whoamiBy(token, await proofOf(keys, token, 'GET', WHOAMI))).json.device_id).toBe(
        device_id,
      );
    }
    await o.post(`/devices/${device_id}/block`);
    for (const token of tokens)
      expect(codeOf(await whoamiBy(token, await proofOf(keys, token, 'GET', WHOAMI)))).toEqual([
        401,
        'TOKEN_REVOKED',
      ]);
  });
});
