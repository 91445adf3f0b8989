// DPoP: a token that is bound to a device is worth nothing without the key of the device. One test for each
// attack.
import { base64url, SignJWT } from 'jose';
import { describe, expect, it } from 'vitest';
import { sha256Url } from '../../../src/crypto/digest';
import { newAgent, newKey, newSession } from '../../support/credentials';
import { faults, holdNext } from '../../support/faults';
import { evict, inCore, runTasksLater } from '../../support/gate';
import { newMember } from '../../support/people';
import {
  type Algorithm,
  type KeyPair,
  newDevice,
  newKeyPair,
  proofOf,
  provenBy,
  type Unusual,
  WHOAMI,
  whoamiBy,
} from '../../support/signin/device';
import { slow } from '../../support/slow';
import { newLongSecret } from '../../support/storage/planted';
import { DAY, HOUR, MINUTE } from '../../support/time';
import {
  type Answer,
  BOOTSTRAP,
  type Caller,
  codeOf,
  newOrg,
  newSecret,
  send,
  useWorld,
} from '../../support/world';

useWorld();

const INVALID = [401, 'DEVICE_PROOF_INVALID'];
const REQUIRED = [401, 'DEVICE_PROOF_REQUIRED'];
const REVOKED = [401, 'TOKEN_REVOKED'];

/** An organisation with a device and a session token that is bound to it. */
async function newBound(alg?: Algorithm) {
  const o = await newOrg();
  const { id: device_id, keys } = await newDevice(o, { alg });
  const { token, id } = await newSession(o, { device_id });
  return { o, device_id, keys, token, id };
}

const proof = (keys: KeyPair, token: string, unusual?: Unusual) =>
  proofOf(keys, token, 'GET', WHOAMI, unusual);
const seconds = () => Math.floor(Date.now() / 1000);

/** A refusal, and that its message names the part that is wrong. */
function expectInvalid(answer: Answer, part: string | RegExp, what = '') {
  expect(codeOf(answer), what).toEqual(INVALID);
  expect(answer.json.error.message, what).toMatch(part);
  expect(answer.headers.get('www-authenticate'), what).toBe('DPoP algs="ES256 EdDSA"');
}

describe('DPoP: a bound token', () => {
  slow('is accepted with a proof by the registered key, under the schemes Bearer and DPoP', async () => {
    for (const alg of ['ES256', 'EdDSA'] as const) {
      const { keys, token, id, device_id } = await newBound(alg);
      for (const scheme of ['Bearer', 'DPoP', 'dpop']) {
        const answer = await whoamiBy(token, await proof(keys, token), scheme);
        expect([answer.status, answer.json.id, answer.json.device_id], `${alg} ${scheme}`).toEqual([
          200,
          id,
          device_id,
        ]);
      }
    }
  });

  it('is refused without a proof, under either scheme, on every kind of call', async () => {
    const { o, token } = await newBound();
    for (const scheme of ['Bearer', 'DPoP']) {
      const answer = await whoamiBy(token, null, scheme);
      expect(codeOf(answer), scheme).toEqual(REQUIRED);
      expect(answer.headers.get('www-authenticate'), scheme).toBe('DPoP algs="ES256 EdDSA"');
    }
    const thief = o.as(token);
    for (const answer of [
      await thief.get('/secrets'),
      await thief.post('/secrets', { name: 'a', type: 'generic', value: 'v' }),
      await thief.post('/secrets', 'not json'),
      await thief.get('/secrets/sec_0'),
      await thief.get('/environments/production/values'),
      await o.as(token).del(`/access-tokens/${(await newBound()).id}`),
      await (await newOrg()).as(token).get(''),
    ])
      expect(codeOf(answer)).toEqual(REQUIRED);
    expect((await o.get('/secrets')).json.data).toEqual([]);
  });

  it('is refused with a proof that was used before, also for another path of the same URL without query', async () => {
    const { o, keys, token } = await newBound();
    const once = await proof(keys, token);
    expect((await whoamiBy(token, once)).status).toBe(200);
    expectInvalid(await whoamiBy(token, once), 'jti');
    expectInvalid(await send('GET', `${WHOAMI}?x=1`, { token, headers: { DPoP: once } }), 'jti');
    // The same jti in a new proof.
    const jti = crypto.randomUUID();
    expect((await whoamiBy(token, await proof(keys, token, { claims: { jti } }))).status).toBe(200);
    expectInvalid(
      await whoamiBy(token, await proof(keys, token, { claims: { jti, iat: seconds() - 3 } })),
      'jti',
    );
    const path = `/api/v1/orgs/${o.id}/secrets`;
    expectInvalid(
      await send('GET', path, {
        token,
        headers: { DPoP: await proofOf(keys, token, 'GET', path, { claims: { jti } }) },
      }),
      'jti',
    );
  });

  slow('is refused with a used proof after the gate was evicted, and reset', async () => {
    const { o, keys, token } = await newBound();
    const once = await proof(keys, token);
    expect((await whoamiBy(token, once)).status).toBe(200);
    await evict(o);
    expectInvalid(await whoamiBy(token, once), 'jti');
    expect((await whoamiBy(token, await proof(keys, token))).status).toBe(200);
  });

  it('uses a proof once, however many requests send it at the same time', async () => {
    const { o, keys, token } = await newBound();
    const path = `/api/v1/orgs/${o.id}/secrets`;
    const once = await proofOf(keys, token, 'POST', path);
    const create = (n: number) =>
      send('POST', path, {
        token,
        body: { name: `s${n}`, type: 'generic', value: 'v' },
        headers: { DPoP: once },
      });
    const answers = await Promise.all(Array.from({ length: 20 }, (_, n) => create(n)));
    expect(answers.filter(({ status }) => status === 201)).toHaveLength(1);
    for (const answer of answers) if (answer.status !== 201) expectInvalid(answer, 'jti');
    expect((await o.get('/secrets')).json.data).toHaveLength(1);
  });

  it('is refused with a proof for another method', async () => {
    const { o, keys, token } = await newBound();
    for (const htm of ['POST', 'get', 'HEAD', '', undefined, 1, ['GET']])
      expectInvalid(await whoamiBy(token, await proof(keys, token, { claims: { htm } })), 'htm', String(htm));
    const { id } = await newSecret(o);
    const path = `/api/v1/orgs/${o.id}/secrets/${id}`;
    const read = await proofOf(keys, token, 'GET', path);
    expectInvalid(await send('DELETE', path, { token, headers: { DPoP: read } }), 'htm');
    const head = await proofOf(keys, token, 'HEAD', path);
    expect((await send('HEAD', path, { token, headers: { DPoP: head } })).status).toBe(200);
    expect((await o.get(`/secrets/${id}`)).status).toBe(200);
  });

  it('is refused with a proof for another URL', async () => {
    const { o, keys, token } = await newBound();
    for (const htu of [
      ...[
        'http://localhost/api/v1/orgs',
        'http://localhost/api/v1/whoami/',
        'http://localhost/api/v1/WHOAMI',
        '/api/v1/whoami',
      ],
      ...[
        'http://localhost.example/api/v1/whoami',
        'https://localhost/api/v1/whoami',
        'http://localhost:8787/api/v1/whoami',
      ],
      ...[
        'http://a@localhost/api/v1/whoami',
        'ftp://localhost/api/v1/whoami',
        'localhost',
        '',
        undefined,
        7,
        ['http://localhost/api/v1/whoami'],
      ],
    ])
      expectInvalid(await whoamiBy(token, await proof(keys, token, { claims: { htu } })), 'htu', String(htu));
    const a = await newSecret(o);
    const b = await newSecret(o);
    const path = (id: string) => `/api/v1/orgs/${o.id}/secrets/${id}`;
    expectInvalid(
      await send('GET', path(b.id), {
        token,
        headers: { DPoP: await proofOf(keys, token, 'GET', path(a.id)) },
      }),
      'htu',
    );
    for (const htu of ['HTTP://LOCALHOST:80/api/v1/whoami', 'http://localhost/api/./v1/%77hoami?x=1#y'])
      expect((await whoamiBy(token, await proof(keys, token, { claims: { htu } }))).status, htu).toBe(200);
  });

  it('needs a proof for the URL under PUBLIC_URL, or under the origin of the request if it is not set', async () => {
    const { keys, token } = await newBound();
    const at = async (origin: string) =>
      whoamiBy(token, await proof(keys, token, { claims: { htu: origin + WHOAMI } }));
    try {
      faults.variables = { PUBLIC_URL: 'https://vault.example.com' };
      faults.isolate++;
      expectInvalid(await at('http://localhost'), 'starts with https://vault.example.com');
      expect((await at('https://vault.example.com')).status).toBe(200);
      faults.variables = { PUBLIC_URL: '' };
      faults.isolate++;
      expectInvalid(await at('https://vault.example.com'), 'starts with http://localhost');
      expect((await at('http://localhost')).status).toBe(200);
    } finally {
      faults.variables = {};
      faults.isolate++;
    }
  });

  it('is refused with a proof for another token of the same device', async () => {
    const { o, device_id, keys, token } = await newBound();
    const { token: other } = await newSession(o, { device_id });
    expectInvalid(await whoamiBy(token, await proof(keys, other)), 'ath');
    for (const ath of [undefined, '', token, sha256Url(`${token} `), `${sha256Url(token)}=`])
      expectInvalid(await whoamiBy(token, await proof(keys, token, { claims: { ath } })), 'ath', String(ath));
  });

  slow('hashes the token as it was sent: that of an agent under its other prefix', async () => {
    const o = await newOrg();
    const { id: device_id, keys } = await newDevice(o);
    const { token } = await newAgent(o, { device_id });
    const alias = token.replace('svcag_', 'svc_agent_');
    expect((await whoamiBy(alias, await proof(keys, alias))).status).toBe(200);
    expectInvalid(await whoamiBy(alias, await proof(keys, token)), 'ath');
  });

  it('is refused with a proof that is too old or from the future', async () => {
    const { o, keys, token } = await newBound();
    const now = Date.now();
    const at = async (offset: number) =>
      whoamiBy(token, await proof(keys, token, { claims: { iat: (now + offset) / 1000 } }));
    faults.clock = now;
    for (const offset of [0, -MINUTE, 5000]) expect((await at(offset)).status, String(offset)).toBe(200);
    for (const offset of [-MINUTE - 1000, 6000, HOUR, -HOUR, 1e18, -1e18])
      expectInvalid(await at(offset), 'iat', String(offset));
    for (const iat of [undefined, 'now', null])
      expectInvalid(
        await whoamiBy(token, await proof(keys, token, { claims: { iat: iat as never } })),
        /iat|well-formed/,
        String(iat),
      );
    // A proof that was good once is too old a minute later, by the clock of the gate.
    const early = await proof(keys, token, { claims: { iat: Math.floor(now / 1000) } });
    faults.clock = now + 2 * MINUTE;
    expectInvalid(await whoamiBy(token, early), 'iat');
    expect(await inCore(o, ({ storage }) => storage.sql.exec('select count(*) n from proofs').one().n)).toBe(
      3,
    );
  });

  it('is refused with a proof by another key, even if its header names the registered one', async () => {
    const { o, keys, token } = await newBound();
    const thief = await newKeyPair();
    expectInvalid(await whoamiBy(token, await proof(thief, token)), 'jwk is not the key of the device');
    expectInvalid(await whoamiBy(token, await proof({ ...thief, jwk: keys.jwk }, token)), 'signature');
    expectInvalid(await whoamiBy(token, await proof({ ...keys, jwk: thief.jwk }, token)), 'signature');
    expectInvalid(await whoamiBy(token, await proof(await newKeyPair('EdDSA'), token)), 'jwk');
    const { keys: registered } = await newDevice(o);
    expectInvalid(await whoamiBy(token, await proof(registered, token)), 'jwk');
    const [head = '', claims = '', signature = ''] = (await proof(keys, token)).split('.');
    const altered = base64url.encode(
      JSON.stringify({ ...JSON.parse(new TextDecoder().decode(base64url.decode(claims))), jti: 'other' }),
    );
    expectInvalid(await whoamiBy(token, [head, altered, signature].join('.')), 'signature');
  });

  it('is refused with a proof by the algorithm none, by HMAC, or by another algorithm than that of the key', async () => {
    const { keys, token } = await newBound();
    const claims = JSON.stringify({
      htm: 'GET',
      htu: `http://localhost${WHOAMI}`,
      ath: sha256Url(token),
      jti: 'j',
      iat: seconds(),
    });
    const header = (alg: string) => base64url.encode(JSON.stringify({ typ: 'dpop+jwt', alg, jwk: keys.jwk }));
    for (const alg of ['none', 'None', 'NONE', ''])
      for (const signature of ['', 'AA'])
        expectInvalid(
          await whoamiBy(token, `${header(alg)}.${base64url.encode(claims)}.${signature}`),
          'alg',
          alg,
        );
    const hmac = (secret: Uint8Array) =>
      new SignJWT(JSON.parse(claims))
        .setProtectedHeader({ typ: 'dpop+jwt', alg: 'HS256', jwk: keys.jwk })
        .sign(secret);
    for (const secret of [JSON.stringify(keys.jwk), keys.jwk.x ?? ''])
      expectInvalid(await whoamiBy(token, await hmac(new TextEncoder().encode(secret.padEnd(32)))), 'alg');
    for (const alg of ['HS256', 'RS256', 'PS256', 'ES384', 'ES512', 'ES256K', 'EdDSA'])
      expectInvalid(await whoamiBy(token, `${header(alg)}.${base64url.encode(claims)}.AAAA`), 'alg', alg);
    const symmetric = { kty: 'oct', k: base64url.encode('a secret of thirty-two characters') };
    expectInvalid(
      await whoamiBy(token, await proof(keys, token, { header: { jwk: symmetric as never } })),
      'jwk',
    );
  });

  it('is refused with a proof that shows a private key, or no key, or one of no point', async () => {
    const { keys, token } = await newBound();
    const { x } = keys.jwk;
    for (const jwk of [
      { ...keys.jwk, d: x },
      undefined,
      null,
      {},
      'key',
      { ...keys.jwk, x: undefined },
      { ...keys.jwk, y: x },
    ])
      expectInvalid(
        await whoamiBy(token, await proof(keys, token, { header: { jwk: jwk as never } })),
        'jwk',
        JSON.stringify(jwk),
      );
  });

  it('is refused with anything but one well-formed proof', async () => {
    const { keys, token } = await newBound();
    const good = await proof(keys, token);
    const [head = '', claims = '', signature = ''] = good.split('.');
    for (const text of [
      '',
      ' ',
      'x',
      'a.b',
      'a.b.c',
      `${head}..${signature}`,
      `${good}.x`,
      `${head}.${claims}`,
      `=${good}`,
      token,
    ])
      expectInvalid(await whoamiBy(token, text), /well-formed|typ|signature/, text);
    expectInvalid(
      await whoamiBy(token, await proof(keys, token, { claims: { pad: 'x'.repeat(9000) } })),
      'characters',
    );
    for (const typ of ['JWT', 'dpop', '', undefined, 'at+jwt'])
      expectInvalid(await whoamiBy(token, await proof(keys, token, { header: { typ } })), 'typ', String(typ));
    for (const jti of ['', undefined, 'x'.repeat(129), 'a b', 'ü', 7])
      expectInvalid(
        await whoamiBy(token, await proof(keys, token, { claims: { jti: jti as never } })),
        'jti',
        String(jti),
      );
    for (const claims of [{ exp: seconds() - 1 }, { nbf: seconds() + HOUR }])
      expectInvalid(await whoamiBy(token, await proof(keys, token, { claims })), /exp|nbf/);
    expect((await whoamiBy(token, good)).status).toBe(200);
  });

  it('is refused with two DPoP headers, both of them good', async () => {
    const { keys, token } = await newBound();
    const one = await proof(keys, token);
    const other = await proof(keys, token);
    expectInvalid(await whoamiBy(token, `${one}, ${other}`), 'more than one');
    expectInvalid(await whoamiBy(token, `${one},${one}`), 'more than one');
    expect((await whoamiBy(token, one)).status).toBe(200);
  });

  it('is refused if body and path are correct, before any other error', async () => {
    const { o, token } = await newBound();
    expect(codeOf(await o.as(token).post('/nothing-of-this-api', {}))).toEqual([404, 'NOT_FOUND']);
    const narrow = await newSession((await newKey(o, { scopes: ['org:read'] })).o, {
      device_id: (await newDevice(o)).id,
    });
    expect(codeOf(await narrow.o.get('/secrets'))).toEqual(REQUIRED);
    expect(codeOf(await send('POST', '/api/v1/orgs', { token, body: {} }))).toEqual(REQUIRED);
  });

  it('counts refused requests against its rate limit and audits them; over it, a proof is still asked for first', async () => {
    const o = await newOrg();
    const { id: device_id, keys } = await newDevice(o);
    const { token, id } = await newAgent(o, { device_id, rate_limit: 2 });
    const wrong = () => proof(keys, token, { claims: { htm: 'POST' } });
    expect(codeOf(await whoamiBy(token, null))).toEqual(REQUIRED);
    expectInvalid(await whoamiBy(token, await wrong()), 'htm');
    expect(codeOf(await whoamiBy(token, null))).toEqual(REQUIRED);
    expect(codeOf(await whoamiBy(token, await proof(keys, token)))).toEqual([429, 'RATE_LIMITED']);
    const entries = (await o.get(`/audit-log?actor=${id}`)).json.data;
    expect(
      entries.map((entry: { status: number; outcome: string }) => [entry.status, entry.outcome]),
    ).toEqual([
      [401, 'denied'],
      [401, 'denied'],
    ]);
  });
});

describe('DPoP: a token that is bound to no device', () => {
  it('works under Bearer regardless of the DPoP header, and is refused under the DPoP scheme', async () => {
    const o = await newOrg();
    const keys = await newKeyPair();
    for (const header of ['nonsense', await proof(keys, o.token)])
      expect((await whoamiBy(o.token, header)).status).toBe(200);
    for (const header of [null, await proof(keys, o.token)])
      expectInvalid(await whoamiBy(o.token, header, 'DPoP'), 'not bound to a device');
    const founding = {
      body: { name: 'x', owner: { email: 'a@example.com', name: 'A' } },
      headers: { Authorization: `DPoP ${BOOTSTRAP}` },
    };
    expect(codeOf(await send('POST', '/api/v1/orgs', founding))).toEqual([401, 'UNAUTHENTICATED']);
  });
});

describe('DPoP: credentials end with their device', () => {
  const use = async (keys: KeyPair, token: string) => codeOf(await whoamiBy(token, await proof(keys, token)));

  slow('when it is blocked or removed: immediately, regardless of the proof', async () => {
    for (const end of [
      (o: Caller, id: string) => o.post(`/devices/${id}/block`),
      (o: Caller, id: string) => o.del(`/devices/${id}`),
    ]) {
      const { o, device_id, keys, token } = await newBound();
      const agent = await newAgent(o, { device_id });
      const before = await proof(keys, token);
      expect((await end(o, device_id)).status).toBeLessThan(300);
      expect(codeOf(await whoamiBy(token, before))).toEqual(REVOKED);
      expect(codeOf(await whoamiBy(token, null))).toEqual(REVOKED);
      expect(await use(keys, agent.token)).toEqual(REVOKED);
      expect((await o.get('/agent-credentials')).json.data).toEqual([]);
      expect((await o.get('/access-tokens')).json.data).toEqual([]);
      await evict(o);
      expect(await use(keys, token)).toEqual(REVOKED);
    }
  });

  it('when its member is removed, and is not valid again if the device is to be assigned to another', async () => {
    const { o, device_id, keys, token } = await newBound();
    const ann = await newMember(o);
    const bob = await newMember(o);
    await o.post(`/devices/${device_id}/assign`, { member_id: ann.id });
    expect(await use(keys, token)).toEqual([200, undefined]);
    expect((await o.del(`/members/${ann.id}`)).status).toBe(200);
    expect(await use(keys, token)).toEqual(REVOKED);
    for (const member_id of [bob.id, null])
      expect(codeOf(await o.post(`/devices/${device_id}/assign`, { member_id }))).toEqual([409, 'CONFLICT']);
    await o.patch(`/devices/${device_id}`, { name: 'renamed' });
    await o.post(`/devices/${device_id}/block`);
    expect(await use(keys, token)).toEqual(REVOKED);
    expect(codeOf(await o.post('/access-tokens', { ttlSeconds: 60, device_id }))).toEqual([
      400,
      'VALIDATION_FAILED',
    ]);
    // The email of the member who was removed comes back as another member.
    await o.post('/members', { email: ann.email, name: 'Ann', role: 'viewer' });
    expect(await use(keys, token)).toEqual(REVOKED);
  });

  slow('and not when it is assigned to another member, or to none', async () => {
    const { o, device_id, keys, token } = await newBound();
    const ann = await newMember(o);
    const bob = await newMember(o);
    for (const member_id of [ann.id, bob.id, null]) {
      await o.post(`/devices/${device_id}/assign`, { member_id });
      expect(await use(keys, token)).toEqual([200, undefined]);
    }
    await o.del(`/members/${bob.id}`);
    expect(await use(keys, token)).toEqual([200, undefined]);
  });

  it('stays unassignable if a member is removed while the device is being assigned to them', async () => {
    const { o, device_id, keys, token } = await newBound();
    const ann = await newMember(o);
    const [removed, assigned] = await Promise.all([
      o.del(`/members/${ann.id}`),
      o.post(`/devices/${device_id}/assign`, { member_id: ann.id }),
    ]);
    expect(removed.status).toBe(200);
    expect(await use(keys, token)).toEqual(assigned.status === 200 ? REVOKED : [200, undefined]);
  });

  slow('a request that waits while its device is blocked is refused', async () => {
    const { o, device_id, keys, token } = await newBound();
    const bound = provenBy(o.as(token), keys);
    const { id } = await newLongSecret(o);
    const hold = holdNext('read');
    const first = o.patch(`/secrets/${id}`, { value: 'first' });
    await hold.held();
    const waiting = bound.patch(`/secrets/${id}`, { value: 'second' });
    const blocked = await o.post(`/devices/${device_id}/block`);
    hold.release();
    expect([(await first).status, blocked.status, codeOf(await waiting)]).toEqual([200, 200, REVOKED]);
    expect((await o.get(`/secrets/${id}`)).json.value).toBe('first');
  });

  slow('a request whose device is blocked while D1 is away is refused', async () => {
    const { o, device_id, keys, token } = await newBound();
    faults.fail = () => 'after';
    expect((await o.post(`/devices/${device_id}/block`)).status).toBe(200);
    expect(codeOf(await whoamiBy(token, await proof(keys, token)))).toEqual(REVOKED);
  });

  slow('are cleared away 90 days later, as other ended credentials', async () => {
    const o = await newOrg();
    const { id: device_id } = await newDevice(o);
    const { id } = await newAgent(o, { device_id });
    await o.patch(`/agent-credentials/${id}`, { ttlSeconds: null });
    await o.post(`/devices/${device_id}/block`);
    const known = () => inCore(o, ({ rows }) => rows.get('credential', id) !== null);
    await runTasksLater(o, 2 * HOUR);
    await runTasksLater(o, 80 * DAY);
    expect(await known()).toBe(true);
    await runTasksLater(o, 91 * DAY);
    expect(await known()).toBe(false);
  });
});

describe('DPoP: a proof and its request', () => {
  slow('a proof works for a repeat after a lost gate response, but not for a second request', async () => {
    const { o, keys, token } = await newBound();
    const path = `/api/v1/orgs/${o.id}/secrets`;
    for (const fate of ['before', 'after'] as const) {
      const once = await proofOf(keys, token, 'POST', path);
      const create = () =>
        send('POST', path, {
          token,
          body: { name: `s-${fate}`, type: 'generic', value: 'v' },
          headers: { DPoP: once },
        });
      faults.gate = 0;
      faults.rpc = (n) => (n === 1 ? { fate, retryable: true } : null);
      expect((await create()).status, fate).toBe(201);
      faults.rpc = null;
      expectInvalid(await create(), 'jti', fate);
    }
    const read = await proof(keys, token);
    faults.gate = 0;
    faults.rpc = (n) => (n === 1 ? { fate: 'after', retryable: true } : null);
    expect((await whoamiBy(token, read)).status).toBe(200);
  });

  slow('a proof works for all gate calls of one request', async () => {
    const { o, keys } = await newBound();
    const { id: device_id, keys: own } = await newDevice(o);
    const { token } = await newAgent(o, { scopes: ['*'], device_id });
    const bound = provenBy(o.as(token), own);
    const { id } = await newSecret(o, { type: 'password' });
    faults.gate = 0;
    expect((await bound.post(`/secrets/${id}/rotate`)).status).toBe(200);
    expect(faults.gate).toBe(2);
    const target = await newAgent(o);
    expect((await bound.post(`/credentials/${target.id}/contain`)).status).toBe(200);
    expect(keys.alg).toBe('ES256');
  });

  it('an Idempotency-Key replays a response to a caller with a new proof, and to no one else', async () => {
    const { o, keys, token } = await newBound();
    const path = `/api/v1/orgs/${o.id}/secrets`;
    const create = async (dpop: string | null) =>
      send('POST', path, {
        token,
        body: { name: 'once', type: 'generic', value: 'v' },
        headers: { 'Idempotency-Key': 'k', ...(dpop !== null && { DPoP: dpop }) },
      });
    const once = await proofOf(keys, token, 'POST', path);
    const first = await create(once);
    expect(first.status).toBe(201);
    expectInvalid(await create(once), 'jti');
    expect(codeOf(await create(null))).toEqual(REQUIRED);
    const again = await create(await proofOf(keys, token, 'POST', path));
    expect([again.status, again.json.id, again.headers.get('idempotency-replayed')]).toEqual([
      201,
      first.json.id,
      'true',
    ]);
  });

  it('used proofs are forgotten once they are too old by far', async () => {
    const { o, keys, token } = await newBound();
    const kept = () => inCore(o, ({ storage }) => storage.sql.exec('select count(*) n from proofs').one().n);
    for (let i = 0; i < 3; i++) await whoamiBy(token, await proof(keys, token));
    expect(await kept()).toBe(3);
    const later = Date.now() + 3 * MINUTE;
    faults.clock = later;
    expect(
      (await whoamiBy(token, await proof(keys, token, { claims: { iat: Math.floor(later / 1000) } }))).status,
    ).toBe(200);
    expect(await kept()).toBe(1);
  });
});
