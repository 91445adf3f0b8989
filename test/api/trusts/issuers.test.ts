// Workload identity: the keys that an issuer publishes. How they are found, kept and renewed, and issuers
// that are down, slow or hostile.
import { runDurableObjectAlarm } from 'cloudflare:test';
import { env } from 'cloudflare:workers';
import { exportJWK, generateKeyPair, type JWK } from 'jose';
import { afterEach, describe, expect, it, vi } from 'vitest';
import type { Env } from '../../../src/env';
import { exchange, newIssuer, newTrust, useIssuers } from '../../support/signin/issuers';
import { slow } from '../../support/slow';
import { codeOf, newOrg, useWorld } from '../../support/world';

useWorld();
afterEach(() => vi.unstubAllGlobals());

const UNAUTHENTICATED = [401, 'UNAUTHENTICATED'];
const MINUTE = 60_000;

const stubOf = (issuer: string) => (env as unknown as Env).ISSUER_KEYS.getByName(issuer);
/** What is known of an issuer at a time: the kids, or why there are none. */
async function kidsAt(issuer: string, kid: string | undefined, now: number): Promise<string> {
  const keys = (await stubOf(issuer).keys(issuer, kid, now)) as JWK[] | string;
  return typeof keys === 'string' ? keys : keys.map((key) => key.kid).join();
}

/** A trust in an issuer that publishes its keys. */
async function publishing(fields: Parameters<typeof newIssuer>[0] = {}) {
  const stand = useIssuers();
  const o = await newOrg();
  const issuer = stand.publish(await newIssuer(fields));
  const trust = await newTrust(o, issuer, { jwks: undefined });
  const reason = async () =>
    (await o.get('/audit-log?action=auth.exchange&outcome=denied&limit=1')).json.data[0].reason as string;
  return { ...stand, o, issuer, trust, reason };
}

describe('workload identity: keys of the issuer', () => {
  slow('are fetched from its discovery document, once for many exchanges', async () => {
    const { o, issuer, trust, asked } = await publishing();
    const answers = await Promise.all(
      Array.from({ length: 8 }, async () => exchange(o, trust, await issuer.sign())),
    );
    expect(answers.map(({ status }) => status)).toEqual(Array.from({ length: 8 }, () => 201));
    expect((await exchange(o, trust, await issuer.sign())).status).toBe(201);
    expect(asked.map(({ href }) => href)).toEqual([
      `${issuer.url}/.well-known/openid-configuration`,
      `${issuer.url}/jwks`,
    ]);
  });

  it('of an issuer with a path are found below the path', async () => {
    const stand = useIssuers();
    const o = await newOrg();
    const issuer = await newIssuer({ url: 'https://paths.example.com/org/1/' });
    stand.stand.answer = ({ href }) =>
      href === 'https://paths.example.com/org/1/.well-known/openid-configuration'
        ? Response.json({ issuer: issuer.url, jwks_uri: 'https://keys.example.com/set?v=1' })
        : href === 'https://keys.example.com/set?v=1'
          ? Response.json(issuer.jwks)
          : undefined;
    const trust = await newTrust(o, issuer, { jwks: undefined });
    expect((await exchange(o, trust, await issuer.sign())).status).toBe(201);
  });

  it('are not fetched for a token of another issuer or algorithm', async () => {
    const { o, issuer, trust, asked } = await publishing();
    for (const token of [
      await issuer.sign({ iss: 'https://evil.example.com' }),
      'x.y.z',
      (await issuer.sign()).replace(/^[^.]+/, 'e30'),
    ])
      expect(codeOf(await exchange(o, trust, token))).toEqual(UNAUTHENTICATED);
    expect(asked).toEqual([]);
  });

  it('with an unknown kid are asked for once a minute at most, however many tokens name one', async () => {
    const { o, issuer, trust, asked, reason } = await publishing();
    expect((await exchange(o, trust, await issuer.sign())).status).toBe(201);
    const unknown = Array.from({ length: 12 }, async (_, n) =>
      exchange(o, trust, await issuer.sign({}, { kid: `unknown-${n}` })),
    );
    for (const answer of await Promise.all(unknown)) expect(codeOf(answer)).toEqual(UNAUTHENTICATED);
    expect(await reason()).toBe('no key of the issuer matches the token');
    expect(asked.length).toBe(2);
    const now = Date.now();
    const at = (kid: string, ms: number) => kidsAt(issuer.url, kid, now + ms);
    await Promise.all(Array.from({ length: 12 }, (_, n) => at(`unknown-${n}`, MINUTE + 1000)));
    expect(asked.length).toBe(4);
    await at('unknown', MINUTE + 50_000);
    expect(asked.length).toBe(4);
  });

  it.each([
    ['another key', 'ES256', 'k'],
    ['another key of another type', 'RS256', 'k'],
    ['another key, without a kid', 'ES256', undefined],
  ])('that are replaced under the same kid are fetched anew: %s', async (_, alg, kid) => {
    const { o, issuer, trust, asked, reason } = await publishing({ kid: kid as string });
    const header = kid === undefined ? { kid: undefined } : {};
    await kidsAt(issuer.url, kid, Date.now() - 2 * MINUTE);
    expect((await exchange(o, trust, await issuer.sign({}, header))).status).toBe(201);
    expect(asked.length).toBe(2);
    const next = await newIssuer({ url: issuer.url, alg, kid: kid as string });
    issuer.jwks = next.jwks;
    // The new key works at once, and the old one no more.
    expect((await exchange(o, trust, await next.sign({}, header))).status).toBe(201);
    expect(asked.length).toBe(4);
    expect(codeOf(await exchange(o, trust, await issuer.sign({}, header)))).toEqual(UNAUTHENTICATED);
    // Within the minute the issuer is not asked again, whoever signs.
    const forger = await newIssuer({ url: issuer.url, kid: kid as string });
    for (const answer of await Promise.all(
      Array.from({ length: 5 }, async () => exchange(o, trust, await forger.sign({}, header))),
    ))
      expect(codeOf(answer)).toEqual(UNAUTHENTICATED);
    expect(asked.length).toBe(4);
    expect(await reason()).toMatch(
      alg === 'ES256' ? 'the signature is not valid' : 'no key of the issuer matches the token',
    );
    expect((await exchange(o, trust, await next.sign({}, header))).status).toBe(201);
  });

  it('given with the trust are not replaced by what the issuer publishes', async () => {
    const { publish, asked } = useIssuers();
    const o = await newOrg();
    const issuer = await newIssuer();
    const trust = await newTrust(o, issuer);
    const published = publish(await newIssuer({ url: issuer.url, kid: issuer.kid }));
    expect(codeOf(await exchange(o, trust, await published.sign()))).toEqual(UNAUTHENTICATED);
    expect(asked).toEqual([]);
  });

  it('that are new are found by those who wait for the same look-up', async () => {
    const { issuer, asked, stand } = await publishing();
    const now = Date.now();
    await kidsAt(issuer.url, issuer.kid, now);
    const next = await newIssuer({ url: issuer.url, kid: 'next' });
    issuer.jwks = { keys: [issuer.jwk, next.jwk] };
    let open = () => {};
    const opened = new Promise<void>((done) => {
      open = done;
    });
    stand.answer = async () => {
      await opened;
      return undefined as unknown as Response;
    };
    const waiting = Array.from({ length: 5 }, () => kidsAt(issuer.url, 'next', now + MINUTE + 1));
    open();
    expect(new Set(await Promise.all(waiting))).toEqual(new Set([`${issuer.kid},next`]));
    expect(asked.length).toBe(4);
  });

  it('that are cached are used for a day while the issuer does not respond; a key that is no longer published is refused once it does', async () => {
    const { issuer, stand, asked } = await publishing();
    const now = Date.now();
    expect(await kidsAt(issuer.url, issuer.kid, now)).toBe(issuer.kid);
    expect(await kidsAt(issuer.url, issuer.kid, now + 9 * MINUTE)).toBe(issuer.kid);
    expect(asked.length).toBe(2);
    stand.answer = () => new Response('down', { status: 503 });
    for (const minutes of [11, 11.5, 60, 60 * 23])
      expect(await kidsAt(issuer.url, issuer.kid, now + minutes * MINUTE)).toBe(issuer.kid);
    // Not within the minute.
    expect(asked.length).toBe(5);
    expect(await kidsAt(issuer.url, issuer.kid, now + 60 * 25 * MINUTE)).toBe(
      'the discovery document of the issuer cannot be read: status 503',
    );
    stand.answer = null;
    const next = await newIssuer({ url: issuer.url, kid: 'next' });
    issuer.jwks = next.jwks;
    expect(await kidsAt(issuer.url, issuer.kid, now + 60 * 26 * MINUTE)).toBe('next');
    issuer.jwks = { keys: [] };
    expect(await kidsAt(issuer.url, 'next', now + 60 * 26 * MINUTE + 11 * MINUTE)).toBe('');
    await runDurableObjectAlarm(stubOf(issuer.url) as never);
    stand.answer = () => new Response('down', { status: 503 });
    expect(await kidsAt(issuer.url, 'next', now + 60 * 27 * MINUTE)).toContain('status 503');
  });

  it('an issuer that is down does not stop tokens whose key is known', async () => {
    const { o, issuer, trust, stand } = await publishing();
    expect((await exchange(o, trust, await issuer.sign())).status).toBe(201);
    stand.answer = () => {
      throw new Error('no connection');
    };
    expect((await exchange(o, trust, await issuer.sign())).status).toBe(201);
  });
});

describe('workload identity: a hostile issuer', () => {
  const filler = (many: number): JWK[] =>
    Array.from({ length: many }, (_, n) => ({ kty: 'EC', crv: 'P-256', x: 'x', y: 'y', kid: `f${n}` }));
  const discovery = ({ pathname }: URL) => pathname === '/.well-known/openid-configuration';
  type Publishing = Awaited<ReturnType<typeof publishing>>;
  const hostile: Record<
    string,
    [answer: (p: Publishing) => (url: URL) => Response | undefined, reason: string]
  > = {
    'answers with a redirect': [
      () => () => new Response(null, { status: 302, headers: { Location: 'https://evil.example.com/' } }),
      'discovery document of the issuer cannot be read: status 302',
    ],
    'answers for its keys with a redirect': [
      () => (url) =>
        discovery(url)
          ? undefined
          : new Response(null, { status: 307, headers: { Location: 'https://evil.example.com/' } }),
      'key set of the issuer cannot be read: status 307',
    ],
    'answers with a page': [() => () => new Response('<html>'), 'no JSON object'],
    'answers with a list': [() => () => Response.json([]), 'no JSON object'],
    'answers with nothing': [() => () => new Response(null, { status: 204 }), 'status 204'],
    'names another issuer': [
      () => (url) =>
        discovery(url)
          ? Response.json({ issuer: 'https://evil.example.com', jwks_uri: 'https://evil.example.com/jwks' })
          : undefined,
      'it names a different issuer',
    ],
    'names itself with a slash': [
      ({ issuer }) =>
        (url) =>
          discovery(url)
            ? Response.json({ issuer: `${issuer.url}/`, jwks_uri: `${issuer.url}/jwks` })
            : undefined,
      'it names a different issuer',
    ],
    'names no address of its keys': [
      ({ issuer }) =>
        (url) =>
          discovery(url) ? Response.json({ issuer: issuer.url }) : undefined,
      'it has no jwks_uri',
    ],
    'names an address of its keys that is no text': [
      ({ issuer }) =>
        (url) =>
          discovery(url) ? Response.json({ issuer: issuer.url, jwks_uri: ['x'] }) : undefined,
      'it has no jwks_uri',
    ],
    'sends thousands of keys': [
      ({ issuer }) =>
        (url) =>
          discovery(url) ? undefined : Response.json({ keys: [issuer.jwk, ...filler(2000)] }),
      'no list of at most 100 keys',
    ],
    'sends more than is read': [
      ({ issuer }) =>
        (url) =>
          discovery(url) ? undefined : Response.json({ keys: [issuer.jwk], filler: 'x'.repeat(262_144) }),
      'no JSON object of at most 262144 bytes',
    ],
    'sends a discovery document of more than is read': [
      ({ issuer }) =>
        (url) =>
          discovery(url) ? Response.json({ issuer: issuer.url, filler: 'x'.repeat(65_536) }) : undefined,
      'no JSON object of at most 65536 bytes',
    ],
    'sends no list of keys': [
      () => (url) => (discovery(url) ? undefined : Response.json({ keys: { length: 1 } })),
      'no list of at most 100 keys',
    ],
    'sends nonsense among its keys': [
      () => (url) =>
        discovery(url)
          ? undefined
          : Response.json({ keys: [null, 1, 'x', [], {}, { kty: 'EC' }, { kid: 7 }] }),
      'no key of the issuer matches the token',
    ],
    'sends its key among private members': [
      ({ issuer }) =>
        (url) =>
          discovery(url) ? undefined : Response.json({ keys: [{ ...issuer.jwk, d: 'x' }] }),
      'no key of the issuer matches the token',
    ],
    'sends a symmetric key': [
      ({ issuer }) =>
        (url) =>
          discovery(url)
            ? undefined
            : Response.json({ keys: [{ kty: 'oct', k: 'c2VjcmV0', kid: issuer.kid }] }),
      'no key of the issuer matches the token',
    ],
    'sends its key for encryption': [
      ({ issuer }) =>
        (url) =>
          discovery(url) ? undefined : Response.json({ keys: [{ ...issuer.jwk, use: 'enc' }] }),
      'no key of the issuer matches the token',
    ],
    'sends the same kid twice': [
      ({ issuer }) =>
        (url) =>
          discovery(url) ? undefined : Response.json({ keys: [issuer.jwk, issuer.jwk] }),
      'several keys match the token',
    ],
  };

  it.each(Object.entries(hostile))('that %s gives nothing', async (_, [answer, why]) => {
    const p = await publishing();
    p.stand.answer = answer(p);
    expect(codeOf(await exchange(p.o, p.trust, await p.issuer.sign()))).toEqual(UNAUTHENTICATED);
    expect(await p.reason()).toContain(why);
    expect(p.asked.filter(({ hostname }) => hostname === 'evil.example.com')).toEqual([]);
  });

  it.each([
    'https://127.0.0.1/jwks',
    'https://169.254.169.254/latest',
    'https://[::1]/jwks',
    'http://issuer.example.com/jwks',
    'https://localhost/jwks',
    'https://user:pass@issuer.example.com/jwks',
    'file:///etc/passwd',
    'data:application/json,{}',
  ])('that points to %s for its keys is not followed there', async (jwks_uri) => {
    const { o, issuer, trust, asked, stand, reason } = await publishing();
    stand.answer = () => Response.json({ issuer: issuer.url, jwks_uri });
    expect(codeOf(await exchange(o, trust, await issuer.sign()))).toEqual(UNAUTHENTICATED);
    expect([asked.length, await reason()]).toEqual([
      1,
      'the key set of the issuer cannot be read: its address is not allowed',
    ]);
  });

  it('is not asked if its name leads to a private address', async () => {
    const { o, issuer, trust, asked, stand, reason } = await publishing();
    stand.address = '10.0.0.1';
    expect(codeOf(await exchange(o, trust, await issuer.sign()))).toEqual(UNAUTHENTICATED);
    expect([asked, await reason()]).toEqual([
      [],
      'the discovery document of the issuer cannot be read: its address is private',
    ]);
  });

  slow('that is slow gets a bounded time', async () => {
    const { o, issuer, trust, stand, reason } = await publishing();
    const { timeout } = AbortSignal;
    const given: number[] = [];
    vi.spyOn(AbortSignal, 'timeout').mockImplementation((ms) => {
      given.push(ms);
      return timeout.call(AbortSignal, 5);
    });
    stand.answer = (_, signal) =>
      new Promise((_done, fail) => signal.addEventListener('abort', () => fail(new Error('aborted'))));
    expect(codeOf(await exchange(o, trust, await issuer.sign()))).toEqual(UNAUTHENTICATED);
    vi.restoreAllMocks();
    expect([given, await reason()]).toEqual([
      [4000],
      'the discovery document of the issuer cannot be read: no response in time',
    ]);
  });

  it('that publishes weak RSA keys gives nothing', async () => {
    const { privateKey, publicKey } = await generateKeyPair('RS256', { extractable: true });
    const p = await publishing({ alg: 'RS256' });
    const jwk = await exportJWK(publicKey);
    void privateKey;
    for (const weak of [
      { ...jwk, e: 'Aw' },
      { ...jwk, e: 'AQ' },
      { ...jwk, n: (jwk.n as string).slice(0, 171) },
    ]) {
      const { readIssuerKey } = await import('../../../src/domains/trusts/keys');
      expect(await readIssuerKey(weak)).toBe(
        'must be an RSA key of 2,048 to 4,096 bits with the exponent 65537',
      );
    }
    expect((await exchange(p.o, p.trust, await p.issuer.sign())).status).toBe(201);
  });
});
