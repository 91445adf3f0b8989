// Single sign-on under attack: mix-up, injection, replay, login CSRF, forged tokens, hostile providers. All
// refusals are one page.
import { exportJWK, generateKeyPair, SignJWT } from 'jose';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { toBase64Url, utf8 } from '../../../src/crypto/bytes';
import {
  changeConnection,
  changeDomain,
  claimsOf,
  connected,
  newConnection,
  newDomain,
  newSsoBrowser,
  reasonOf,
} from '../../support/signin/sso-signin';
import { slow } from '../../support/slow';
import { db, newOrg, useWorld } from '../../support/world';

useWorld();
afterEach(() => vi.unstubAllGlobals());

const RESPONSE = 'the response of the provider is not that of this sign-in';

/** A sign-in that has begun, and the right query of its callback. */
async function begun(fields: Parameters<typeof connected>[0] = {}) {
  const world = await connected({ jit: 1, ...fields });
  const browser = newSsoBrowser();
  const { json } = await browser.start({ email: world.at('bea') });
  return {
    ...world,
    browser,
    url: json.url as string,
    query: world.provider.authorize(json.url, claimsOf(world.at('bea'))),
  };
}

const changed = (query: URLSearchParams, change: Record<string, string | null>) => {
  const other = new URLSearchParams(query);
  for (const [name, value] of Object.entries(change))
    if (value === null) other.delete(name);
    else other.set(name, value);
  return other;
};

describe('single sign-on: the response of the provider', () => {
  slow('with another iss, or without the promised one, is refused (mix-up)', async () => {
    for (const iss of ['https://evil.example.com', null, '']) {
      const { o, browser, query, asked } = await begun();
      const before = asked.length;
      expect((await browser.callback(changed(query, { iss }))).status).toBe(403);
      expect(await reasonOf(o)).toBe(RESPONSE);
      // The code was sent to nobody.
      expect(asked.length).toBe(before);
    }
  });

  slow('without iss is taken where the document does not promise it', async () => {
    const { provider, at, connection, o } = await connected({ jit: 1 });
    const url = provider.issuer.url;
    await changeConnection(o, connection, {
      config: {
        issuer: url,
        client_id: 'svc-client',
        scopes: ['openid'],
        groups_claim: 'groups',
        provider: {
          authorization_endpoint: `${url}/authorize`,
          token_endpoint: `${url}/token`,
          jwks_uri: `${url}/jwks`,
        },
      },
    });
    const browser = newSsoBrowser();
    const { json } = await browser.start({ email: at('bea') });
    const query = provider.authorize(json.url, claimsOf(at('bea')));
    expect((await browser.callback(changed(query, { iss: null }))).status).toBe(303);
  });

  slow('with another state, none, two, or an error is refused', async () => {
    const right = await begun();
    const other = await begun();
    const forged = changed(right.query, { state: other.query.get('state') });
    const none = changed(right.query, { state: null });
    const two = `${right.query}&state=${right.query.get('state')}`;
    const error = changed(right.query, { error: 'access_denied' });
    for (const query of [forged, none, two, error]) {
      const { browser, query: own } = await begun();
      void own;
      expect((await browser.callback(query)).status).toBe(403);
    }
    expect((await right.browser.callback(two)).status).toBe(403);
    expect(await reasonOf(right.o)).toBe(RESPONSE);
  });

  it('in another browser is refused (login CSRF), and tells nobody', async () => {
    const { o, query } = await begun();
    const victim = newSsoBrowser();
    expect((await victim.callback(query)).status).toBe(403);
    expect(victim.jar.size).toBe(0);
    // A browser with a sign-in of its own.
    const own = await begun();
    expect((await own.browser.callback(query)).status).toBe(403);
    expect(await reasonOf(o)).toBeNull();
    expect(await reasonOf(own.o)).toBe(RESPONSE);
  });

  it('with a client secret that was altered in D1 is 500, and the organisation is told', async () => {
    const { o, browser, query, connection } = await begun();
    await db
      .prepare("update sso_connections set client_secret_sealed = 'AAAA' where id = ?")
      .bind(connection)
      .run();
    expect((await browser.callback(query)).status).toBe(500);
    expect(await reasonOf(o)).toBe('the stored client secret of the connection was altered');
    const [alarm] = (await o.get('/audit-log?action=integrity.alarm')).json.data;
    expect(alarm).toMatchObject({ reason: 'value_does_not_open', resource: connection });
  });

  it('serves once, refused or not', async () => {
    const { o, browser, query, provider, url, at } = await begun();
    const cookies = new Map(browser.jar);
    expect((await browser.callback(query)).status).toBe(303);
    const again = newSsoBrowser();
    for (const [name, value] of cookies) again.jar.set(name, value);
    const other = provider.authorize(url, claimsOf(at('eve')));
    expect((await again.callback(other)).status).toBe(403);
    expect(await reasonOf(o)).toBe('the state was used before');
    const second = await begun();
    const kept = new Map(second.browser.jar);
    expect((await second.browser.callback(changed(second.query, { iss: 'https://x.example' }))).status).toBe(
      403,
    );
    for (const [name, value] of kept) second.browser.jar.set(name, value);
    expect((await second.browser.callback(second.query)).status).toBe(403);
    expect(await reasonOf(second.o)).toBe('the state was used before');
    const third = await begun();
    const unverified = claimsOf(third.at('bea'), { email_verified: false });
    const same = new Map(third.browser.jar);
    const bad = third.provider.authorize(third.url, unverified);
    expect((await third.browser.callback(bad)).status).toBe(403);
    for (const [name, value] of same) third.browser.jar.set(name, value);
    expect((await third.browser.callback(third.query)).status).toBe(403);
    expect(await reasonOf(third.o)).toBe('the state was used before');
  });

  it('after ten minutes, or with an altered cookie, is refused', async () => {
    const { browser, query } = await begun();
    const cookie = browser.jar.get('__Host-svc_sso') as string;
    for (const at of [0, 40, cookie.length - 1]) {
      const other = newSsoBrowser();
      const swap = cookie[at] === 'A' ? 'B' : 'A';
      other.jar.set('__Host-svc_sso', cookie.slice(0, at) + swap + cookie.slice(at + 1));
      expect((await other.callback(query)).status).toBe(403);
    }
    const now = Date.now();
    vi.spyOn(Date, 'now').mockReturnValue(now + 601_000);
    expect((await browser.callback(query)).status).toBe(403);
    vi.restoreAllMocks();
  });

  slow('with the code of another sign-in is refused (injection)', async () => {
    const victim = await begun();
    const { provider, at } = victim;
    const attacker = newSsoBrowser();
    const { json } = await attacker.start({ email: at('eve') });
    const own = provider.authorize(json.url, claimsOf(at('eve')));
    // PKCE: the verifier is another one.
    const injected = changed(own, { code: victim.query.get('code') });
    expect((await attacker.callback(injected)).status).toBe(403);
    expect(await reasonOf(victim.o)).toBe('the code was not accepted');
    // The nonce, with a provider that checks nothing.
    provider.odd.isLax = true;
    const second = newSsoBrowser();
    const started = await second.start({ email: at('eve') });
    const right = provider.authorize(started.json.url, claimsOf(at('eve')));
    const stolen = provider.authorize(victim.url, claimsOf(at('bea')));
    expect((await second.callback(changed(right, { code: stolen.get('code') }))).status).toBe(403);
    expect(await reasonOf(victim.o)).toBe('the ID token was not accepted');
  });
});

describe('single sign-on: an ID token', () => {
  type Odd = Awaited<ReturnType<typeof connected>>['provider']['odd'];

  async function refusedWith(odd: Partial<Odd>, claims: Record<string, unknown> = {}) {
    const { o, provider, at } = await connected({ jit: 1 });
    Object.assign(provider.odd, odd);
    const answer = await newSsoBrowser().signIn(provider, claimsOf(at('bea'), claims), { email: at('bea') });
    return [answer.status, await reasonOf(o)];
  }
  const parts = (token: string) => token.split('.') as [string, string, string];
  const encoded = (value: object) => toBase64Url(utf8(JSON.stringify(value)));

  slow('with alg none is refused', async () => {
    for (const alg of ['none', 'None', '', undefined])
      expect(
        await refusedWith({
          idToken: (right) => `${encoded({ alg })}.${parts(right)[1]}.`,
        }),
      ).toEqual([403, 'the ID token was not accepted']);
  });

  slow('with HS256 by the public key or the client secret is refused (key confusion)', async () => {
    for (const key of ['public', 'client-secret:with/odd characters'])
      expect(
        await refusedWith({
          idToken: async (right, { issuer }) => {
            const payload = JSON.parse(atob(parts(right)[1].replaceAll('-', '+').replaceAll('_', '/')));
            const secret = key === 'public' ? JSON.stringify(issuer.jwk) : key;
            return new SignJWT(payload)
              .setProtectedHeader({ alg: 'HS256', kid: issuer.kid })
              .sign(utf8(secret));
          },
        }),
      ).toEqual([403, 'the ID token was not accepted']);
  });

  it('with a key of its own in the header, an unknown kid, or a signature of another key is refused', async () => {
    const { privateKey, publicKey } = await generateKeyPair('ES256', { extractable: true });
    const jwk = await exportJWK(publicKey);
    const signedWith = (header: Record<string, unknown>) => ({
      idToken: (right: string) => {
        const payload = JSON.parse(atob(parts(right)[1].replaceAll('-', '+').replaceAll('_', '/')));
        return new SignJWT(payload).setProtectedHeader({ alg: 'ES256', ...header }).sign(privateKey);
      },
    });
    expect((await refusedWith(signedWith({ jwk })))[0]).toBe(403);
    expect(await refusedWith(signedWith({ kid: 'unknown' }))).toEqual([
      403,
      'no key of the issuer matches the token',
    ]);
    expect((await refusedWith(signedWith({ jku: 'https://evil.example.com/jwks' })))[0]).toBe(403);
    expect(
      await refusedWith({
        idToken: (right) => {
          const [head, payload, signature] = parts(right);
          return `${head}.${payload}.${signature[0] === 'A' ? 'B' : 'A'}${signature.slice(1)}`;
        },
      }),
    ).toEqual([403, 'the signature of the token is not valid']);
  });

  it('with wrong claims is refused', async () => {
    const now = Math.floor(Date.now() / 1000);
    const wrong: Record<string, unknown>[] = [
      { iss: 'https://evil.example.com' },
      { aud: 'another-client' },
      { aud: ['svc-client', 'another'] },
      { aud: ['svc-client', 'another'], azp: 'another' },
      { azp: 'another' },
      { aud: [] },
      { nonce: 'another' },
      { nonce: undefined },
      { exp: now - 60 },
      { exp: undefined },
      { iat: undefined },
      { iat: now + 600 },
      { nbf: now + 600 },
      { sub: undefined },
      { sub: '' },
      { sub: 'x'.repeat(256) },
      { sub: 7 },
    ];
    for (const claims of wrong) expect((await refusedWith({}, claims))[0], JSON.stringify(claims)).toBe(403);
    const { provider, at } = await connected({ jit: 1 });
    const right = claimsOf(at('bea'), { aud: ['svc-client', 'another'], azp: 'svc-client' });
    expect((await newSsoBrowser().signIn(provider, right)).status).toBe(303);
  });

  it('with a subject that no database stores as it is identifies nobody', async () => {
    const { o, provider, at } = await connected({ jit: 1 });
    for (const sub of ['\ud800x', 'x\udfff', '', 'x'.repeat(256)]) {
      expect((await newSsoBrowser().signIn(provider, claimsOf(at('bea'), { sub }))).status).toBe(403);
      expect(await reasonOf(o)).toBe('the ID token identifies nobody of this issuer');
    }
    const names = { name: 'Bea\ud800', sid: '\ud800', groups: ['\ud800'] };
    expect((await newSsoBrowser().signIn(provider, claimsOf(at('eve'), names))).status).toBe(303);
    expect((await o.get('/members')).json.data).toHaveLength(2);
  });

  slow('missing, or of an answer that is no JSON, is refused', async () => {
    const answers = [
      () => new Response('', { status: 500 }),
      () => Response.json({ access_token: 'a', token_type: 'Bearer' }),
      () => new Response('<html>', { headers: { 'content-type': 'text/html' } }),
      () => new Response(null, { status: 302, headers: { location: 'http://169.254.169.254/' } }),
      () => Response.json({ access_token: 'a', token_type: 'Bearer', id_token: 7 }),
      () => Promise.reject(new Error('down')),
    ];
    for (const answer of answers) {
      const { o, provider, at } = await connected({ jit: 1 });
      const browser = newSsoBrowser();
      const { json } = await browser.start({ email: at('bea') });
      const query = provider.authorize(json.url, claimsOf(at('bea')));
      const before = globalThis.fetch;
      globalThis.fetch = (async (text: string, init: RequestInit) =>
        new URL(text).pathname === '/token' ? answer() : before(text, init)) as typeof fetch;
      expect((await browser.callback(query)).status).toBe(403);
      expect(await reasonOf(o)).not.toBeNull();
    }
  });
});

describe('single sign-on: who is behind a provider', () => {
  it('of Entra is an object of the pinned tenant, whatever the address says', async () => {
    const { o, provider, at, connection } = await entra();
    const claims = (more: Record<string, unknown>) =>
      claimsOf(at('bea'), { oid: 'object-1', tid: 'tenant-1', ...more });
    const start = { connection_id: connection };
    for (const more of [{ tid: 'tenant-2' }, { tid: undefined }, { oid: undefined }]) {
      expect((await newSsoBrowser().signIn(provider, claims(more), start)).status).toBe(403);
      expect(await reasonOf(o)).toBe('the ID token identifies nobody of this issuer');
    }
    expect((await newSsoBrowser().signIn(provider, claims({ sub: 'one' }), start)).status).toBe(303);
    // Another sub, the same object.
    const again = claims({ sub: 'two', email_verified: false });
    expect((await newSsoBrowser().signIn(provider, again, start)).status).toBe(303);
    expect((await o.get('/members')).json.data).toHaveLength(2);
  });

  async function entra() {
    const world = await connected();
    const provider = await world.provider_({ url: 'https://login.microsoftonline.com/tenant-1/v2.0' });
    const connection = await newConnection(world.o, provider, { jit: 1, domains: [world.domainId] });
    return { ...world, provider, connection };
  }

  it('of Google needs the Workspace of a verified domain', async () => {
    const { o, provider_, domain, domainId, at } = await connected();
    const google = await provider_({ url: 'https://accounts.google.com' });
    const connection = await newConnection(o, google, { jit: 1, domains: [domainId] });
    const start = { connection_id: connection };
    for (const hd of [undefined, 'evil.example.com', '', true]) {
      expect((await newSsoBrowser().signIn(google, claimsOf(at('bea'), { hd }), start)).status).toBe(403);
      expect(await reasonOf(o)).toBe('the account belongs to no verified domain');
    }
    expect((await newSsoBrowser().signIn(google, claimsOf(at('bea'), { hd: domain }), start)).status).toBe(
      303,
    );
  });

  it('is nobody by an address of a domain that another organisation verified, or that is verified no longer', async () => {
    const { o, provider, at, domainId, connection } = await connected({ jit: 1 });
    const other = await newOrg();
    const foreign = await newDomain(other, `foreign-${at('x').slice(2)}`);
    await changeConnection(o, connection, { domains: [domainId, foreign] });
    const stranger = claimsOf(`eve@foreign-${at('x').slice(2)}`);
    expect((await newSsoBrowser().signIn(provider, stranger, { connection_id: connection })).status).toBe(
      403,
    );
    expect(await reasonOf(o)).toBe('the address is in no verified domain of the connection');
    await changeDomain(o, domainId, { verified_at: null });
    const start = { connection_id: connection };
    expect((await newSsoBrowser().signIn(provider, claimsOf(at('bea')), start)).status).toBe(403);
    expect((await newSsoBrowser().start({ email: at('bea') })).status).toBe(404);
  });

  slow('of another connection or issuer is another identity', async () => {
    const { o, provider, provider_, at, domainId } = await connected({ jit: 1 });
    const claims = claimsOf(at('bea'));
    expect((await newSsoBrowser().signIn(provider, claims)).status).toBe(303);
    const second = await provider_({});
    const connection = await newConnection(o, second, { jit: 1, domains: [domainId] });
    expect((await newSsoBrowser().signIn(second, claims, { connection_id: connection })).status).toBe(403);
    expect(await reasonOf(o)).toBe('the member is linked to another identity');
  });

  it('is nobody once the connection has another issuer than at the start', async () => {
    const { o, browser, query, connection, provider_ } = await begun();
    const other = await provider_({});
    const url = other.issuer.url;
    await changeConnection(o, connection, {
      config: {
        issuer: url,
        client_id: 'svc-client',
        scopes: ['openid'],
        groups_claim: 'groups',
        provider: {
          authorization_endpoint: `${url}/authorize`,
          token_endpoint: `${url}/token`,
          jwks_uri: `${url}/jwks`,
        },
      },
    });
    expect((await browser.callback(query)).status).toBe(403);
    expect(await reasonOf(o)).toBe('the connection has another issuer than at the start');
  });

  slow('is asked for nowhere else: private endpoints are not called (SSRF)', async () => {
    for (const token_endpoint of [
      'http://169.254.169.254/token',
      'https://127.0.0.1/token',
      'https://svc.internal/token',
    ]) {
      const { o, provider, at, asked } = await connected({
        jit: 1,
        config: { provider: { token_endpoint } },
      });
      expect((await newSsoBrowser().signIn(provider, claimsOf(at('bea')))).status).toBe(403);
      expect(await reasonOf(o)).toBe('the provider did not respond');
      expect(asked.map(({ hostname }) => hostname)).not.toContain(new URL(token_endpoint).hostname);
    }
    const { o, provider, at, stand, asked } = await connected({ jit: 1 });
    stand.answer = ({ pathname }) =>
      pathname === '/.well-known/openid-configuration'
        ? Response.json({ issuer: provider.issuer.url, jwks_uri: 'http://169.254.169.254/jwks' })
        : undefined;
    expect((await newSsoBrowser().signIn(provider, claimsOf(at('bea')))).status).toBe(403);
    expect(await reasonOf(o)).toBe('the keys of the issuer cannot be read');
    expect(asked.map(({ hostname }) => hostname)).not.toContain('169.254.169.254');
  });
});

describe('single sign-on: a refusal', () => {
  slow('is one page, byte for byte, whatever the reason', async () => {
    const pages: string[] = [];
    const shown = async (answer: { status: number; text: string; headers: Headers }) => {
      expect(answer.status).toBe(403);
      const headers = [...answer.headers].filter(([name]) => name !== 'request-id');
      pages.push(JSON.stringify([answer.text, headers]));
    };
    await shown(await newSsoBrowser().callback(''));
    await shown(await newSsoBrowser().callback('state=x&code=y'));
    const wrong = await begun();
    await shown(await wrong.browser.callback(changed(wrong.query, { iss: 'https://x.example' })));
    const unverified = await connected({ jit: 1 });
    await shown(
      await newSsoBrowser().signIn(
        unverified.provider,
        claimsOf(unverified.at('b'), { email_verified: false }),
      ),
    );
    const unknown = await connected();
    await shown(await newSsoBrowser().signIn(unknown.provider, claimsOf(unknown.at('b'))));
    expect(new Set(pages).size).toBe(1);
    expect(pages[0]).toContain('You are not signed in');
  });

  slow('is limited to 20 an address and minute, and then asks no provider', async () => {
    const { browser, query, asked } = await begun();
    const before = asked.length;
    const cookie = browser.jar.get('__Host-svc_sso') as string;
    for (let n = 0; n < 20; n++) expect((await browser.callback('code=x')).status).toBe(403);
    expect((await browser.callback('code=x')).status).toBe(429);
    browser.jar.set('__Host-svc_sso', cookie);
    const answer = await browser.callback(query);
    expect([answer.status, Number(answer.headers.get('retry-after')) > 0]).toEqual([429, true]);
    expect(asked.length).toBe(before);
    expect((await newSsoBrowser().callback('')).status).toBe(403);
  });

  it('is answered to no other method', async () => {
    for (const method of ['POST', 'PUT', 'DELETE'])
      expect((await newSsoBrowser().call(method, '/sso/callback?code=x')).status).toBe(405);
  });
});
