// The JWTs of browser sessions: whom they admit, whom they do not, and the keys that sign them.
import {
  createLocalJWKSet,
  decodeJwt,
  exportJWK,
  exportSPKI,
  generateKeyPair,
  importJWK,
  jwtVerify,
  SignJWT,
} from 'jose';
import { describe, expect, it } from 'vitest';
import { fromBase64Url, randomBytes, toBase64Url, utf8 } from '../../../src/crypto/bytes';
import { readSession, signSession } from '../../../src/keys/jwt';
import { createSigningKeys } from '../../../src/keys/signing';
import { faults } from '../../support/faults';
import { newSignedIn, ORIGIN } from '../../support/signin/browser';
import { slow } from '../../support/slow';
import { DAY } from '../../support/time';
import { codeOf, db, send, useWorld } from '../../support/world';

useWorld();

const whoami = (token: string) => send('GET', '/api/v1/whoami', { token });
const published = async () => (await send('GET', '/.well-known/jwks.json')).json;
const partsOf = (token: string) => token.split('.') as [string, string, string];
const spelled = (part: object) => toBase64Url(utf8(JSON.stringify(part)));
const said = (part: string) => JSON.parse(new TextDecoder().decode(fromBase64Url(part) as Uint8Array));

describe('JWT: signature', () => {
  it('can be verified with the published keys, which hold no private part', async () => {
    const { browser, o } = await newSignedIn();
    const keys = await published();
    const { payload } = await jwtVerify(browser.token, createLocalJWKSet(keys), {
      algorithms: ['ES256'],
      issuer: ORIGIN,
      audience: `${ORIGIN}/api/v1`,
    });
    expect(payload.sub).toBe(o.owner);
    for (const key of keys.keys) {
      expect(Object.keys(key).sort()).toEqual(['alg', 'crv', 'kid', 'kty', 'use', 'x', 'y']);
      expect([key.alg, key.use, key.crv]).toEqual(['ES256', 'sig', 'P-256']);
    }
  });

  slow('is refused with another algorithm, key, key id, claim or signature', async () => {
    const { browser, o } = await newSignedIn();
    const stranger = await newSignedIn();
    const [head, body, signature] = partsOf(browser.token);
    const header = said(head);
    const claims = said(body);
    const [key] = (await published()).keys;
    const pem = await exportSPKI((await importJWK(key, 'ES256', { extractable: true })) as CryptoKey);
    const hs256 = (secret: Uint8Array) =>
      new SignJWT(claims).setProtectedHeader({ ...header, alg: 'HS256' }).sign(secret);
    const own = await generateKeyPair('ES256', { extractable: true });
    const jwk = await exportJWK(own.publicKey);
    const byOwn = (more: object) =>
      new SignJWT(claims).setProtectedHeader({ ...header, ...more }).sign(own.privateKey);
    const tampered = (change: object) => `${head}.${spelled({ ...claims, ...change })}.${signature}`;
    const attacks: Record<string, string> = {
      'alg none': `${spelled({ ...header, alg: 'none' })}.${body}.`,
      'alg none with the signature': `${spelled({ ...header, alg: 'none' })}.${body}.${signature}`,
      'alg nOnE': `${spelled({ ...header, alg: 'nOnE' })}.${body}.${signature}`,
      'HS256 with the public key as PEM': await hs256(utf8(pem)),
      'HS256 with the public key as JWK': await hs256(utf8(JSON.stringify(key))),
      'HS256 with an x coordinate': await hs256(fromBase64Url(key.x) as Uint8Array),
      'another key under our key id': await byOwn({}),
      'another key, sent along': await byOwn({ jwk }),
      'another key id': await byOwn({ kid: 'jwk_0000000000000000000000.00000000000' }),
      'no key id': `${spelled({ alg: 'ES256', typ: 'JWT' })}.${body}.${signature}`,
      'a key id that is no text': `${spelled({ ...header, kid: 7 })}.${body}.${signature}`,
      'another member': tampered({ sub: stranger.o.owner }),
      'another session': tampered({ sid: decodeJwt(stranger.browser.token).sid }),
      'another org': tampered({ org: stranger.o.id }),
      'a later end': tampered({ exp: claims.exp + 600 }),
      'no end': tampered({ exp: undefined }),
      'no signature': `${head}.${body}.`,
      'an empty signature': `${head}.${body}.AA`,
      'a signature of zeros': `${head}.${body}.${toBase64Url(new Uint8Array(64))}`,
      'another type': `${spelled({ ...header, typ: 'at+jwt' })}.${body}.${signature}`,
      'a critical header': `${spelled({ ...header, crit: ['b64'], b64: false })}.${body}.${signature}`,
      'two parts': `${head}.${body}`,
      'four parts': `${browser.token}.x`,
      'no JSON': `${toBase64Url(utf8('{'))}.${body}.${signature}`,
      junk: 'a.b.c',
    };
    for (const [what, token] of Object.entries(attacks))
      expect(codeOf(await whoami(token)), what).toEqual([401, 'UNAUTHENTICATED']);
    expect((await whoami(browser.token)).json.id).toBe(o.owner);
    expect(
      codeOf(await send('GET', `/api/v1/orgs/${stranger.o.id}/secrets`, { token: browser.token })),
    ).toEqual([404, 'NOT_FOUND']);
  });

  it('claims name only the session: its gate knows permissions and expiry', async () => {
    const { browser } = await newSignedIn();
    expect(Object.keys(decodeJwt(browser.token)).sort()).toEqual([
      'aud',
      'exp',
      'iat',
      'iss',
      'jti',
      'org',
      'sid',
      'sub',
    ]);
    expect(codeOf(await send('POST', '/api/v1/orgs', { token: browser.token, body: {} }))).toEqual([
      403,
      'CREDENTIAL_KIND_NOT_ALLOWED',
    ]);
  });
});

describe('JWT: verification', () => {
  const root = randomBytes(32);
  const claims = { org: 'org_x', member: 'mem_x', session: 'ses_x', n: 7 };
  const ref = { kind: 'browser', org: 'org_x', hash: 'ses_x', jwt: 7 };

  it('distinguishes an expired one from an invalid one, if all else is right', async () => {
    const keys = createSigningKeys(db, root);
    const now = Date.now();
    const key = await keys.current();
    const { token, expires_at } = await signSession(key, ORIGIN, claims, now + 600_000, now);
    expect(await readSession(keys, ORIGIN, token, now)).toMatchObject({ ref, isExpired: false });
    expect(await readSession(keys, ORIGIN, token, expires_at - 1)).toMatchObject({ ref, isExpired: false });
    expect(await readSession(keys, ORIGIN, token, expires_at)).toMatchObject({ ref, isExpired: true });
    const cold = createSigningKeys(db, root);
    expect(await readSession(cold, ORIGIN, token, expires_at)).toMatchObject({ ref, isExpired: true });
    expect(await readSession(cold, ORIGIN, `${token.slice(0, -4)}AAAA`, expires_at)).toBe(null);
    for (const issuer of ['https://other.example.com', `${ORIGIN}:8787`])
      expect(await readSession(cold, issuer, token, now)).toBe(null);
    // Of another deployment: the same database would say nothing to it.
    expect(await readSession(createSigningKeys(db, randomBytes(32)), ORIGIN, token, now)).toBe(null);
    const { aud: _, ...rest } = decodeJwt(token);
    for (const aud of [undefined, ORIGIN, 'https://other.example.com/api/v1']) {
      const forAnother = new SignJWT({ ...rest, aud }).setProtectedHeader({
        alg: 'ES256',
        typ: 'JWT',
        kid: key.id,
      });
      expect(await readSession(keys, ORIGIN, await forAnother.sign(key.privateKey), now), aud).toBe(null);
    }
    const elsewhere = await signSession(key, 'https://other.example.com', claims, now + 600_000, now);
    expect(await readSession(keys, ORIGIN, elsewhere.token, now)).toBe(null);
  });

  it('checks a signature once, and does not query D1 for junk', async () => {
    const keys = createSigningKeys(watched(), root);
    const { token } = await signSession(await keys.current(), ORIGIN, claims, Date.now() + 600_000);
    await readSession(keys, ORIGIN, token);
    asked = 0;
    const verify = crypto.subtle.verify;
    let verified = 0;
    crypto.subtle.verify = (...args) => {
      verified++;
      return verify.apply(crypto.subtle, args);
    };
    try {
      for (let i = 0; i < 3; i++)
        expect(await readSession(keys, ORIGIN, token)).toMatchObject({ ref, isExpired: false });
    } finally {
      crypto.subtle.verify = verify;
    }
    const [, body, signature] = partsOf(token);
    for (const kid of ['x', 'jwk_0000000000000000000000.00000000000'])
      expect(
        await readSession(keys, ORIGIN, `${spelled({ alg: 'ES256', typ: 'JWT', kid })}.${body}.${signature}`),
      ).toBe(null);
    expect([verified, asked]).toEqual([0, 0]);
  });
});

let asked = 0;
/** D1, counting what it is asked. */
const watched = () =>
  new Proxy(db, {
    get(target, name) {
      if (name === 'prepare' || name === 'batch') asked++;
      const value = Reflect.get(target, name) as unknown;
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });

describe('JWT: signing keys', () => {
  const clear = () => db.prepare('delete from signing_keys').run();

  it('are created once, with concurrent isolates', async () => {
    await clear();
    const root = randomBytes(32);
    const ids = await Promise.all(
      Array.from({ length: 5 }, async () => (await createSigningKeys(db, root).current()).id),
    );
    expect(new Set(ids).size).toBe(1);
    expect(await db.prepare('select count(*) n from signing_keys').first('n')).toBe(1);
  });

  it('change every thirty days; the earlier one is published as long as its JWTs are valid', async () => {
    await clear();
    const root = randomBytes(32);
    const start = Date.now();
    const a = createSigningKeys(db, root);
    const b = createSigningKeys(db, root);
    const first = await a.current(start);
    expect((await a.current(start + 30 * DAY - 1)).id).toBe(first.id);
    const turn = start + 30 * DAY;
    const last = await signSession(
      first,
      ORIGIN,
      { org: 'o', member: 'm', session: 's', n: 1 },
      turn + 600_000,
      turn - 1,
    );
    const second = await a.current(turn);
    expect(second.id).not.toBe(first.id);
    expect((await a.published(turn)).map(({ kid }) => kid)).toEqual([second.id, first.id]);
    expect(await readSession(b, ORIGIN, last.token, turn + 500_000)).toMatchObject({ ref: { hash: 's' } });
    // Another isolate, which has not heard of it, finds it at once.
    const next = await signSession(
      second,
      ORIGIN,
      { org: 'o', member: 'm', session: 's', n: 1 },
      turn + 600_000,
      turn,
    );
    expect(await readSession(b, ORIGIN, next.token, turn)).toMatchObject({ ref: { hash: 's' } });
    expect((await b.current(turn)).id).toBe(second.id);
    expect((await a.published(turn + 3_600_000)).map(({ kid }) => kid)).toEqual([second.id]);
    expect(await b.find(first.id, turn + 3_600_000)).toBe(null);
    await a.current(turn + 30 * DAY);
    expect(await db.prepare('select count(*) n from signing_keys').first('n')).toBe(2);
  });

  it('integrity: a planted key signs nothing, and does not block other keys', async () => {
    await clear();
    const root = randomBytes(32);
    const keys = createSigningKeys(db, root);
    const { id, created_at } = await keys.current();
    const planted = await generateKeyPair('ES256', { extractable: true });
    const jwk = JSON.stringify(await exportJWK(planted.publicKey));
    await db.prepare('update signing_keys set public_jwk = ?').bind(jwk).run();
    const forged = (kid: string) =>
      signSession(
        { id: kid, created_at, privateKey: planted.privateKey, publicKey: planted.publicKey, jwk: {} },
        ORIGIN,
        { org: 'o', member: 'm', session: 's', n: 1 },
        Date.now() + 600_000,
      );
    expect(await readSession(createSigningKeys(db, root), ORIGIN, (await forged(id)).token)).toBe(null);
    // Its row under a newer time, or another deployment's: neither opens, and a new key is made.
    await db.prepare('update signing_keys set created_at = created_at + 1').run();
    const other = createSigningKeys(db, root);
    const made = await other.current();
    expect(made.id).not.toBe(id);
    expect((await other.published()).map(({ kid }) => kid)).toEqual([made.id]);
  });

  it('are looked up at most once in ten seconds for an unknown key id', async () => {
    await clear();
    const root = randomBytes(32);
    const { id } = await createSigningKeys(db, root).current();
    await clear();
    const keys = createSigningKeys(watched(), root);
    const now = Date.now();
    const looks = async (at: number) => {
      asked = 0;
      expect(await keys.find(id, at)).toBe(null);
      return asked;
    };
    expect([
      await looks(now),
      await looks(now + 1),
      await looks(now + 9999),
      await looks(now + 10_000),
    ]).toEqual([1, 0, 0, 1]);
  });

  it('are cached for a minute, and then queried once', async () => {
    await clear();
    const root = randomBytes(32);
    const now = Date.now();
    const { id } = await createSigningKeys(db, root).current(now);
    const keys = createSigningKeys(watched(), root);
    const looks = async (at: number) => {
      asked = 0;
      expect((await keys.published(at)).map(({ kid }) => kid)).toEqual([id]);
      return asked;
    };
    expect(await looks(now)).toBe(1);
    expect([
      await looks(now + 1),
      await looks(now + 59_999),
      await looks(now + 60_000),
      await looks(now + 60_001),
    ]).toEqual([0, 0, 1, 0]);
  });

  it('unreadable keys make a login 503 before it starts, and its response can be used again', async () => {
    const { browser } = await newSignedIn();
    const response = await browser.passkey.get(await browser.options());
    faults.isolate++;
    const before = { gate: faults.gate, d1: faults.d1 };
    // In an isolate that holds nothing: the deployment's key, the org's, the passkey, and then these.
    faults.fail = (_, n) => (n === before.d1 + 4 ? 'before' : null);
    expect(codeOf(await browser.auth('/login', { response }))).toEqual([503, 'UNAVAILABLE']);
    expect(faults.gate).toBe(before.gate);
    faults.fail = null;
    expect((await browser.auth('/login', { response })).status).toBe(200);
  });
});
