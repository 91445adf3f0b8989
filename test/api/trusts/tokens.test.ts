// Workload identity, as an attacker tries it: tokens that are wrong in one respect each, keys that are not
// the issuer's, and tokens used again.
import { exportJWK, exportSPKI, generateKeyPair, importJWK, SignJWT } from 'jose';
import { describe, expect, it } from 'vitest';
import { toBase64Url, utf8 } from '../../../src/crypto/bytes';
import { exchanged } from '../../../src/domains/trusts/gate/exchanged';
import { faults } from '../../support/faults';
import { evict, inCore } from '../../support/gate';
import { exchange, type Issuer, newIssuer, newTrust, newWorkload } from '../../support/signin/issuers';
import { few, slow } from '../../support/slow';
import { codeOf, newOrg, send, useWorld, whoami } from '../../support/world';

useWorld();

const UNAUTHENTICATED = [401, 'UNAUTHENTICATED'];
const seconds = () => Math.floor(Date.now() / 1000);
const spelled = (part: object) => toBase64Url(utf8(JSON.stringify(part)));

/** The reasons of the newest refusals in the audit log. */
const reasons = async (o: Awaited<ReturnType<typeof newOrg>>, many: number): Promise<string[]> =>
  (await o.get(`/audit-log?action=auth.exchange&outcome=denied&limit=${many}`)).json.data.map(
    ({ reason }: { reason: string }) => reason,
  );

describe('workload identity: a token with one wrong claim', () => {
  const wrong: Record<string, [claims: () => Record<string, unknown>, reason: string]> = {
    'another issuer': [() => ({ iss: 'https://evil.example.com' }), 'the issuer does not match'],
    'an issuer with a slash at the end': [
      () => ({ iss: undefined, issuer: 'x' }),
      'the issuer does not match',
    ],
    'another audience': [() => ({ aud: 'http://localhost/' }), 'the audience does not match'],
    'a longer audience': [() => ({ aud: 'http://localhost.example.com' }), 'the audience does not match'],
    'an audience in another case': [() => ({ aud: 'HTTP://localhost' }), 'the audience does not match'],
    'an audience that is an object': [
      () => ({ aud: { 0: 'http://localhost' } }),
      'the audience does not match',
    ],
    'a list in a list of audiences': [() => ({ aud: [['http://localhost']] }), 'the audience does not match'],
    'no audience': [() => ({ aud: undefined }), 'the audience does not match'],
    'its time over': [() => ({ exp: seconds() - 31 }), 'the token has expired'],
    'its time just over': [() => ({ exp: seconds() }), 'the token has expired'],
    'its time to come': [() => ({ nbf: seconds() + 60 }), 'the token is not valid yet'],
    'an issue to come': [() => ({ iat: seconds() + 60 }), 'the token is not valid yet'],
    'an issue of more than an hour ago': [
      () => ({ iat: seconds() - 3640, nbf: undefined }),
      'the token was issued too long ago',
    ],
    'an issue of an hour and a second ago': [
      () => ({ iat: seconds() - 3601, nbf: undefined }),
      'the token was issued too long ago',
    ],
    'no end': [() => ({ exp: undefined }), 'a required claim is missing or malformed'],
    'an end that is text': [() => ({ exp: '9999999999' }), 'a required claim is missing or malformed'],
    'no time of issue': [() => ({ iat: undefined }), 'a required claim is missing or malformed'],
    'a time of issue that is text': [() => ({ iat: '1' }), 'a required claim is missing or malformed'],
    'a time of start that is text': [() => ({ nbf: '1' }), 'a required claim is missing or malformed'],
    'another repository': [
      () => ({ sub: 'repo:acme/other:ref:refs/heads/main' }),
      'the claim sub does not match',
    ],
    'a repository whose name goes on': [
      () => ({ sub: 'repo:acme/app2:ref:refs/heads/main' }),
      'the claim sub does not match',
    ],
    'its subject behind another': [() => ({ sub: 'x repo:acme/app:ref' }), 'the claim sub does not match'],
    'its subject in another case': [() => ({ sub: 'repo:Acme/app:ref' }), 'the claim sub does not match'],
    'a letter that looks alike': [() => ({ sub: 'repo:аcme/app:ref' }), 'the claim sub does not match'],
    'a decomposed letter': [() => ({ sub: 'repo:a\u0301cme/app:ref' }), 'the claim sub does not match'],
    'a list of subjects': [
      () => ({ sub: ['repo:acme/app:ref'] }),
      'a required claim is missing or malformed|the claim sub does not match',
    ],
    'a subject in an object': [() => ({ sub: { sub: 'repo:acme/app:ref' } }), 'the claim sub does not match'],
    'no subject': [() => ({ sub: undefined }), 'the claim sub does not match'],
    'a subject of a glob': [() => ({ sub: 'repo:acme/*' }), 'the claim sub does not match'],
    'a subject that is too long': [
      () => ({ sub: `repo:acme/app:${'x'.repeat(1024)}` }),
      'the claim sub does not match',
    ],
    'another branch': [() => ({ ref: 'refs/heads/mainx' }), 'the claim ref does not match'],
    'no branch': [() => ({ ref: undefined }), 'the claim ref does not match'],
    'a branch in an object': [() => ({ ref: { ref: 'refs/heads/main' } }), 'the claim ref does not match'],
    'a branch in a list of lists': [() => ({ ref: [['refs/heads/main']] }), 'the claim ref does not match'],
    'a branch in a list with more than text': [
      () => ({ ref: ['refs/heads/main', 1] }),
      'the claim ref does not match',
    ],
    'a number of another run': [() => ({ run: 43 }), 'the claim run does not match'],
    'a number that is not whole': [() => ({ run: 42.5 }), 'the claim run does not match'],
    'null in place of true': [() => ({ protected: null }), 'the claim protected does not match'],
    'another group': [() => ({ groups: ['ops'] }), 'the claim groups does not match'],
    'more groups than are looked at': [
      () => ({ groups: ['dev', ...Array.from({ length: 100 }, (_, n) => `g${n}`)] }),
      'the claim groups does not match',
    ],
    'a claim of every object': [
      () => ({ toString: undefined, constructor: undefined }),
      'the claim constructor does not match',
    ],
  };

  it('is refused with one body, and the audit log has the reason', async () => {
    const o = await newOrg();
    const issuer = await newIssuer();
    const trust = await newTrust(o, issuer, {
      claims: {
        sub: 'repo:acme/app:*',
        ref: ['refs/heads/main', 'refs/tags/v?.*'],
        run: '42',
        protected: 'true',
        groups: 'dev',
        constructor: 'plain',
      },
    });
    const right = {
      ref: 'refs/heads/main',
      run: 42,
      protected: true,
      groups: ['ops', 'dev'],
      constructor: 'plain',
    };
    expect((await exchange(o, trust, await issuer.sign(right))).status).toBe(201);
    expect(
      (
        await exchange(
          o,
          trust,
          await issuer.sign({ ...right, ref: 'refs/tags/v1.2', run: '42', aud: ['x', 'http://localhost'] }),
        )
      ).status,
    ).toBe(201);
    expect(
      (await exchange(o, trust, await issuer.sign({ ...right, iat: seconds() - 3590, nbf: seconds() + 25 })))
        .status,
    ).toBe(201);
    const bodies = new Set<string>();
    for (const [what, [claims, reason]] of Object.entries(wrong)) {
      const answer = await exchange(o, trust, await issuer.sign({ ...right, ...claims() }));
      expect([what, ...codeOf(answer)]).toEqual([what, ...UNAUTHENTICATED]);
      bodies.add(answer.text);
      const [why = ''] = await reasons(o, 1);
      expect([what, reason.split('|').includes(why) ? reason : why]).toEqual([what, reason]);
    }
    expect((await exchange(o, { id: 'trs_0000000000000000000000' }, 'x')).text).toBe([...bodies][0]);
    expect((await exchange({ id: 'org_0000000000000000000000' }, trust, await issuer.sign(right))).text).toBe(
      [...bodies][0],
    );
    expect((await exchange(await newOrg(), trust, await issuer.sign(right))).text).toBe([...bodies][0]);
    expect(bodies.size).toBe(1);
  });

  it('does not name its caller by an address that the issuer has not verified', async () => {
    const o = await newOrg();
    const email = 'ci@acme.iam.gserviceaccount.com';
    const google = await newIssuer({ url: 'https://accounts.google.com' });
    const own = await newIssuer();
    for (const [issuer, absent] of [
      [google, 401],
      [own, 201],
    ] as const) {
      const trust = await newTrust(o, issuer, { claims: { email } });
      for (const [email_verified, status] of [
        [true, 201],
        [undefined, absent],
        [false, 401],
        [null, 401],
        ['false', 401],
        [[true], 401],
      ] as const)
        expect([
          issuer.url,
          email_verified,
          (await exchange(o, trust, await issuer.sign({ email, email_verified }))).status,
        ]).toEqual([issuer.url, email_verified, status]);
    }
  });

  slow('is compared with the issuer as it is spelled', async () => {
    const o = await newOrg();
    const plain = await newIssuer({ url: 'https://slash.example.com' });
    const slashed = await newTrust(o, { ...plain, url: 'https://slash.example.com/' });
    expect(codeOf(await exchange(o, slashed, await plain.sign()))).toEqual(UNAUTHENTICATED);
    expect((await exchange(o, slashed, await plain.sign({ iss: 'https://slash.example.com/' }))).status).toBe(
      201,
    );
    const trust = await newTrust(o, plain);
    for (const iss of [
      'https://slash.example.com/',
      'https://SLASH.example.com',
      'https://slash.example.com:443',
      'http://slash.example.com',
    ])
      expect(codeOf(await exchange(o, trust, await plain.sign({ iss })))).toEqual(UNAUTHENTICATED);
  });
});

describe('workload identity: a token with another signature', () => {
  /** Tokens that the trust in this issuer must not accept, each as its key would sign it. */
  async function forged(issuer: Issuer): Promise<Record<string, string>> {
    const genuine = await issuer.sign();
    const [head = '', body = '', signature = ''] = genuine.split('.');
    const header = { alg: issuer.alg, kid: issuer.kid, typ: 'JWT' };
    const claims = JSON.parse(atob(body.replaceAll('-', '+').replaceAll('_', '/')));
    const pem = await exportSPKI(
      (await importJWK(issuer.jwk, issuer.alg, { extractable: true })) as CryptoKey,
    );
    const hmac = (secret: string, more = {}) =>
      new SignJWT(claims)
        .setProtectedHeader({ ...header, alg: 'HS256', ...more })
        .sign(utf8(secret.padEnd(32, '0')));
    const own = await newIssuer({ alg: issuer.alg, url: issuer.url, kid: issuer.kid });
    const rsa = await generateKeyPair('RS256', { extractable: true });
    const longer = await generateKeyPair('RS384', { extractable: true });
    const ec = await generateKeyPair('ES384', { extractable: true });
    const by = (alg: string, key: CryptoKey, more = {}) =>
      new SignJWT(claims).setProtectedHeader({ ...header, alg, ...more }).sign(key);
    return {
      'alg none': `${spelled({ ...header, alg: 'none' })}.${body}.`,
      'alg none with the signature': `${spelled({ ...header, alg: 'none' })}.${body}.${signature}`,
      'alg None': `${spelled({ ...header, alg: 'None' })}.${body}.${signature}`,
      'an alg that is no text': `${spelled({ ...header, alg: ['ES256'] })}.${body}.${signature}`,
      'an alg of every object': `${spelled({ ...header, alg: 'constructor' })}.${body}.${signature}`,
      'HS256 with the public key as PEM': await hmac(pem),
      'HS256 with the public key as JWK': await hmac(JSON.stringify(issuer.jwk)),
      'RS256 with another key': await by('RS256', rsa.privateKey),
      'RS384 with another key': await by('RS384', longer.privateKey),
      'ES384 with another key': await by('ES384', ec.privateKey),
      'another key under the same kid': await own.sign(),
      'another key, sent along': await own.sign(
        {},
        { jwk: await exportJWK(own.privateKey).then(({ d: _, ...jwk }) => jwk) },
      ),
      'another key, by its address': await own.sign(
        {},
        { jku: 'https://evil.example.com/jwks', x5u: 'https://evil.example.com/x5u' },
      ),
      'a kid that nobody has': await issuer.sign({}, { kid: 'unknown' }),
      'a kid that is no text': `${spelled({ ...header, kid: 7 })}.${body}.${signature}`,
      'the algorithm of another key': `${spelled({ ...header, alg: issuer.alg === 'ES256' ? 'RS256' : 'ES256' })}.${body}.${signature}`,
      'a critical header that nobody knows': await issuer
        .sign({}, { crit: ['exp'], exp: 1 })
        .catch(() => `${head}.${body}.`),
      'an altered payload': `${head}.${spelled({ ...claims, sub: 'repo:acme/app:x' })}.${signature}`,
      'an altered signature': `${head}.${body}.${signature.slice(0, -4)}AAAA`,
      'no signature': `${head}.${body}.`,
      'two parts': `${head}.${body}`,
      'four parts': `${genuine}.x`,
      'a payload that is no JSON': `${head}.${toBase64Url(utf8('{'))}.${signature}`,
      'a payload that is a list': `${head}.${toBase64Url(utf8('[]'))}.${signature}`,
      'white space': ` ${genuine}`,
      'a JWE': `${genuine}.x.y`,
      'one of our own tokens': (await newOrg()).token,
    };
  }

  it.each(few(['ES256', 'RS256', 'PS256', 'EdDSA'], 1))(
    'is refused if the issuer signs with %s',
    async (alg) => {
      const o = await newOrg();
      const issuer = await newIssuer({ alg });
      const trust = await newTrust(o, issuer);
      expect((await exchange(o, trust, await issuer.sign())).status).toBe(201);
      for (const [what, token] of Object.entries(await forged(issuer)))
        expect([what, ...codeOf(await exchange(o, trust, token))]).toEqual([what, ...UNAUTHENTICATED]);
    },
  );

  slow('is refused if the key belongs to another issuer, even under its kid', async () => {
    const o = await newOrg();
    const one = await newIssuer({ kid: 'same' });
    const other = await newIssuer({ kid: 'same' });
    const trusts = [await newTrust(o, one), await newTrust(o, other)] as const;
    const posing = await one.sign({ iss: other.url });
    for (const trust of trusts) expect(codeOf(await exchange(o, trust, posing))).toEqual(UNAUTHENTICATED);
    expect(codeOf(await exchange(o, trusts[1], await one.sign()))).toEqual(UNAUTHENTICATED);
  });

  slow('is refused if several keys match a token without a kid; a kid distinguishes them', async () => {
    const o = await newOrg();
    const one = await newIssuer({ url: 'https://several.example.com' });
    const other = await newIssuer();
    const trust = await newTrust(o, one, { jwks: { keys: [one.jwk, other.jwk] } });
    expect((await exchange(o, trust, await one.sign())).status).toBe(201);
    expect(codeOf(await exchange(o, trust, await one.sign({}, { kid: undefined })))).toEqual(UNAUTHENTICATED);
    const single = await newTrust(o, one);
    expect((await exchange(o, single, await one.sign({}, { kid: undefined }))).status).toBe(201);
  });

  slow('is refused with RS256 if the key is for PS256', async () => {
    const o = await newOrg();
    const issuer = await newIssuer({ alg: 'RS256' });
    const trust = await newTrust(o, issuer, { jwks: { keys: [{ ...issuer.jwk, alg: 'PS256' }] } });
    expect(codeOf(await exchange(o, trust, await issuer.sign()))).toEqual(UNAUTHENTICATED);
  });
});

describe('workload identity: replay', () => {
  it('a token can be exchanged ten times, even by its jti alone, for another trust, and after an eviction', async () => {
    const o = await newOrg();
    const issuer = await newIssuer();
    const trust = await newTrust(o, issuer);
    const other = await newTrust(o, issuer);
    const token = await issuer.sign({ jti: 'once' });
    for (let n = 0; n < 9; n++) expect((await exchange(o, trust, token)).status).toBe(201);
    await evict(o);
    expect((await exchange(o, trust, token)).status).toBe(201);
    expect(codeOf(await exchange(o, trust, token))).toEqual(UNAUTHENTICATED);
    expect(await reasons(o, 1)).toEqual(['the token was exchanged ten times']);
    expect(codeOf(await exchange(o, other, await issuer.sign({ jti: 'once' })))).toEqual(UNAUTHENTICATED);
    expect((await exchange(o, trust, await issuer.sign())).status).toBe(201);
    // What the gate refuses is counted by address too.
    const address = { 'CF-Connecting-IP': '198.51.100.79' };
    for (let n = 0; n < 20; n++)
      expect(codeOf(await exchange(o, trust, token, address))).toEqual(UNAUTHENTICATED);
    expect(codeOf(await exchange(o, trust, token, address))).toEqual([429, 'RATE_LIMITED']);
  });

  slow('a token without a jti can be exchanged ten times, however its signature is encoded', async () => {
    const o = await newOrg();
    const issuer = await newIssuer();
    const trust = await newTrust(o, issuer);
    const token = await issuer.sign({ jti: undefined });
    for (let n = 0; n < 10; n++) expect((await exchange(o, trust, token)).status).toBe(201);
    expect(codeOf(await exchange(o, trust, token))).toEqual(UNAUTHENTICATED);
    // The other signature of ECDSA over the same text.
    const order = 0xffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551n;
    const at = token.lastIndexOf('.') + 1;
    const bytes = Uint8Array.from(atob(token.slice(at).replaceAll('-', '+').replaceAll('_', '/')), (char) =>
      char.charCodeAt(0),
    );
    const s =
      order - BigInt(`0x${[...bytes.slice(32)].map((byte) => byte.toString(16).padStart(2, '0')).join('')}`);
    const mirrored =
      s
        .toString(16)
        .padStart(64, '0')
        .match(/../g)
        ?.map((pair) => Number.parseInt(pair, 16)) ?? [];
    bytes.set(mirrored, 32);
    expect(codeOf(await exchange(o, trust, token.slice(0, at) + toBase64Url(bytes)))).toEqual(
      UNAUTHENTICATED,
    );
    expect(await reasons(o, 1)).toEqual(['the token was exchanged ten times']);
  });

  it('ten of many concurrent exchanges succeed', async () => {
    const o = await newOrg();
    const issuer = await newIssuer();
    const trust = await newTrust(o, issuer);
    const token = await issuer.sign();
    const answers = await Promise.all(Array.from({ length: 15 }, () => exchange(o, trust, token)));
    expect(answers.filter(({ status }) => status === 201).length).toBe(10);
    expect(
      new Set(answers.filter(({ status }) => status !== 201).map((answer) => codeOf(answer).join())),
    ).toEqual(new Set([UNAUTHENTICATED.join()]));
  });

  it('a call that is repeated after a lost reply gives the same session token, and counts once', async () => {
    const o = await newOrg();
    const issuer = await newIssuer();
    const trust = await newTrust(o, issuer);
    const token = await issuer.sign();
    faults.rpc = (n) => (n === 1 ? { fate: 'after', retryable: true } : null);
    faults.gate = 0;
    const { json, status } = await exchange(o, trust, token);
    faults.rpc = null;
    expect(status).toBe(201);
    expect((await whoami(json)).json.id).toBe(json.id);
    expect((await o.get('/access-tokens')).json.data.length).toBe(1);
    expect(
      await inCore(o, ({ storage }) => storage.sql.exec('select * from exchanged').toArray().length),
    ).toBe(1);
  });

  it('trust: an exchange needs no D1', async () => {
    const o = await newOrg();
    const issuer = await newIssuer();
    const trust = await newTrust(o, issuer);
    faults.fail = (kind) => (kind === 'batch' ? 'before' : null);
    expect((await exchange(o, trust, await issuer.sign())).status).toBe(201);
    faults.fail = null;
    expect((await o.get('/access-tokens')).json.data).toHaveLength(1);
    expect(
      await inCore(o, ({ storage }) => storage.sql.exec('select * from exchanged').toArray().length),
    ).toBe(1);
  });

  slow('an exchange is forgotten once no clock could accept its token', async () => {
    const o = await newOrg();
    const issuer = await newIssuer();
    const trust = await newTrust(o, issuer);
    await newWorkload(o, trust, await issuer.sign());
    const left = (now: number) =>
      inCore(o, (core) => {
        exchanged(core).note({ digest: 'other', until: now + 600_000 }, 'req', now);
        return core.storage.sql.exec("select * from exchanged where digest <> 'other'").toArray().length;
      });
    expect(await left(Date.now() + 900_000)).toBe(1);
    expect(await left(Date.now() + 1_300_000)).toBe(0);
  });
});

describe('workload identity: rate limit', () => {
  it('refused exchanges are limited by client address before the gate is asked; a right one passes', async () => {
    const o = await newOrg();
    const issuer = await newIssuer();
    const trust = await newTrust(o, issuer);
    const address = { 'CF-Connecting-IP': '198.51.100.77' };
    const wrong = await issuer.sign({ sub: 'x' });
    for (let n = 0; n < 20; n++)
      expect(codeOf(await exchange(o, trust, wrong, address))).toEqual(UNAUTHENTICATED);
    const asked = faults.gate;
    const over = await exchange(o, trust, wrong, address);
    expect([...codeOf(over), Number(over.headers.get('retry-after')) > 0, faults.gate]).toEqual([
      429,
      'RATE_LIMITED',
      true,
      asked,
    ]);
    expect((await exchange(o, trust, await issuer.sign(), address)).status).toBe(201);
  });

  it('past the limit of its address an exchange reads no D1, whatever trust it names; a right one for a known trust passes', async () => {
    const o = await newOrg();
    const issuer = await newIssuer();
    const trust = await newTrust(o, issuer);
    const unread = await newTrust(o, issuer);
    const stranger = await newOrg();
    const address = { 'CF-Connecting-IP': '192.0.2.178' };
    const wrong = await issuer.sign({ sub: 'x' });
    for (let n = 0; n < 21; n++) await exchange(o, trust, wrong, address);
    const asked = [faults.gate, faults.d1];
    for (const [org, of] of [
      [o, trust],
      [o, unread],
      [o, { ...trust, id: `trs_${'0'.repeat(22)}` }],
      [stranger, trust],
    ] as const)
      expect(codeOf(await exchange(org, of, wrong, address))).toEqual([429, 'RATE_LIMITED']);
    expect([faults.gate, faults.d1]).toEqual(asked);
    // A trust that was changed since is judged by the gate.
    const right = await issuer.sign();
    expect((await exchange(o, trust, right, address)).status).toBe(201);
    expect((await o.del(`/trusts/${trust.id}`)).status).toBe(204);
    expect(codeOf(await exchange(o, trust, right, address))).toEqual([429, 'RATE_LIMITED']);
  });

  slow(
    'refused exchanges of a trust do not reduce what its workloads can do, and look alike past the limit of entries',
    async () => {
      const o = await newOrg();
      const issuer = await newIssuer();
      const trust = await newTrust(o, issuer);
      const wrong = await issuer.sign({ sub: 'x' });
      const texts = new Set<string>();
      for (let n = 0; n < 64; n++) texts.add((await exchange(o, trust, wrong)).text);
      expect(texts.size).toBe(1);
      const denied = await o.get('/audit-log?action=auth.exchange&outcome=denied&limit=100');
      expect(denied.json.data.length).toBe(60);
      expect((await exchange(o, trust, await issuer.sign())).status).toBe(201);
      expect((await o.get(`/trusts/${trust.id}`)).json.use_count).toBe(1);
    },
  );

  it('a trust without an organisation, and an organisation without a trust, cost no call of a gate', async () => {
    const o = await newOrg();
    const asked = faults.gate;
    for (const trust_id of ['x', 'trs_0000000000000000000000', o.keyId])
      for (const org_id of [o.id, 'org_0000000000000000000000', 'x', '../x'])
        expect(
          codeOf(
            await send('POST', '/api/v1/auth/exchange', {
              body: { org_id, trust_id, token: 'x' },
              headers: { 'CF-Connecting-IP': '198.51.100.78' },
            }),
          ),
        ).toEqual(UNAUTHENTICATED);
    expect(faults.gate).toBe(asked);
  });
});
