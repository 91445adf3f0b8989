// Where a credential may be used from: every kind of it, by IPv4 and IPv6, and what it may hand on.
import { describe, expect, it } from 'vitest';
import { newAgent, newBreakGlass, newKey, newProvider, newSession } from '../../support/credentials';
import { slow } from '../../support/slow';
import { type Caller, codeOf, newOrg, send, useWorld } from '../../support/world';

useWorld();

const REFUSED = [403, 'ADDRESS_NOT_ALLOWED'];
const from = (token: string, address: string) =>
  send('GET', '/api/v1/whoami', { token, headers: { 'CF-Connecting-IP': address } });
/** Where the tests themselves come from. */
const HERE = '203.0.113.0/24';

/** A credential of each kind, limited to these ranges at its creation. */
const kinds: Record<string, (o: Caller, ranges: string[]) => Promise<string>> = {
  'an API key': async (o, allowed_addresses) => (await newKey(o, { allowed_addresses })).token,
  'a session token': async (o, allowedAddresses) => (await newSession(o, { allowedAddresses })).token,
  'an agent': async (o, allowed_addresses) => (await newAgent(o, { allowed_addresses })).token,
  'a provider token': async (o, allowed_addresses) => (await newProvider(o, { allowed_addresses })).token,
  // It takes no ranges of its own: it has those of the key that issued it.
  'a break-glass token': async (o, allowed_addresses) =>
    (await newBreakGlass((await newKey(o, { allowed_addresses })).o)).token,
};

describe.each(Object.entries(kinds))('allowed addresses: %s', (_kind, make) => {
  it('is accepted only from its IPv4 and IPv6 ranges', async () => {
    const o = await newOrg();
    const token = await make(o, [HERE, '198.51.100.7', '2001:db8:1::/48', '2001:db8:2::5']);
    for (const address of [
      '203.0.113.255',
      '198.51.100.7',
      '2001:db8:1:ffff::1',
      '2001:DB8:2:0:0:0:0:5',
      '::ffff:198.51.100.7',
    ])
      expect([address, (await from(token, address)).status]).toEqual([address, 200]);
    for (const address of [
      '203.0.114.0',
      '198.51.100.8',
      '2001:db8:0:ffff::1',
      '2001:db8:2::6',
      '::ffff:198.51.100.8',
      '::1',
      'unknown',
      '',
    ])
      expect([address, ...codeOf(await from(token, address))]).toEqual([address, ...REFUSED]);
  });

  it('with only IPv4 ranges is refused from IPv6, and vice versa', async () => {
    const o = await newOrg();
    const four = await make(o, [HERE, '0.0.0.0/0']);
    expect([(await from(four, '192.0.2.1')).status, ...codeOf(await from(four, '2001:db8::1'))]).toEqual([
      200,
      ...REFUSED,
    ]);
  });
});

describe('allowed addresses: a limited credential', () => {
  slow('cannot create a credential of any kind that is usable from elsewhere', async () => {
    const o = await newOrg();
    const limits = { allowed_addresses: [HERE, '2001:db8:1::/48'] };
    const key = await newKey(o, limits);
    const bodies: [string, object, string][] = [
      ['/api-keys', { name: 'k', scopes: ['secrets:read'] }, 'allowed_addresses'],
      ['/access-tokens', { ttlSeconds: 60 }, 'allowedAddresses'],
      ['/agent-credentials', { name: 'a', scopes: ['secrets:read'] }, 'allowed_addresses'],
      ['/provider-tokens', { name: 'p', scopes: ['issue'] }, 'allowed_addresses'],
    ];
    for (const [path, body, field] of bodies) {
      const make = (ranges?: string[]) => key.o.post(path, ranges ? { ...body, [field]: ranges } : body);
      for (const ranges of [
        ['0.0.0.0/0'],
        ['203.0.112.0/23'],
        ['2001:db8::/32'],
        ['203.0.113.9', '198.51.100.1'],
        ['::/0'],
      ])
        expect([path, ranges, ...codeOf(await make(ranges))]).toEqual([
          path,
          ranges,
          403,
          'SCOPE_EXCEEDS_PARENT',
        ]);
      expect((await make(['203.0.113.128/25', '2001:db8:1:2::/64'])).json[field]).toEqual([
        '203.0.113.128/25',
        '2001:db8:1:2::/64',
      ]);
      // Silent, it has those of its maker.
      expect((await make()).json[field]).toEqual(limits.allowed_addresses);
    }
  });

  it('cannot widen its own ranges, nor those of its descendants; an unlimited one can', async () => {
    const o = await newOrg();
    const key = await newKey(o, { allowed_addresses: [HERE] });
    const agent = await newAgent(key.o);
    for (const path of [`/api-keys/${key.id}`, `/agent-credentials/${agent.id}`])
      for (const allowed_addresses of [null, ['203.0.112.0/23']])
        expect(codeOf(await key.o.patch(path, { allowed_addresses }))).toEqual([403, 'SCOPE_EXCEEDS_PARENT']);
    expect(
      (await key.o.patch(`/agent-credentials/${agent.id}`, { allowed_addresses: ['203.0.113.7'] })).status,
    ).toBe(200);
    expect((await o.patch(`/api-keys/${key.id}`, { allowed_addresses: null })).status).toBe(200);
    expect((await from(key.token, '192.0.2.1')).status).toBe(200);
  });

  it('limits its descendants from the next request on, regardless of their own ranges', async () => {
    const o = await newOrg();
    const agent = await newAgent(o, { scopes: ['*'] });
    const key = await newKey(agent.o);
    const session = await newSession(key.o, { allowedAddresses: [HERE, '192.0.2.0/24'] });
    for (const address of ['192.0.2.1', '203.0.113.7'])
      expect((await from(session.token, address)).status).toBe(200);
    await o.patch(`/agent-credentials/${agent.id}`, { allowed_addresses: [HERE] });
    for (const { token } of [agent, key, session]) {
      expect(codeOf(await from(token, '192.0.2.1'))).toEqual(REFUSED);
      expect((await from(token, '203.0.113.7')).status).toBe(200);
    }
  });
});
