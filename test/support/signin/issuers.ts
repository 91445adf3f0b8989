// Issuers of OIDC tokens for tests: their keys, tokens that they sign, what they publish behind a stubbed
// `fetch`; and trusts in them.
import { exportJWK, generateKeyPair, type JWK, SignJWT } from 'jose';
import { vi } from 'vitest';
import { type Answer, type Caller, send } from '../world';

export const AUDIENCE = 'http://localhost';
const SUB = 'repo:acme/app:ref:refs/heads/main';

export interface Issuer {
  url: string;
  jwk: JWK;
  privateKey: CryptoKey;
  alg: string;
  kid: string;
  /**
   * Signs a token that every trust made here accepts, but for what is given; what is undefined is left out.
   */
  sign(claims?: Record<string, unknown>, header?: Record<string, unknown>): Promise<string>;
  jwks: { keys: JWK[] };
}

let issuers = 0;

/** A new issuer with a key of its own. */
export async function newIssuer({
  alg = 'ES256',
  url = `https://issuer-${++issuers}.example.com`,
  kid = `k${++issuers}`,
} = {}): Promise<Issuer> {
  const { privateKey, publicKey } = await generateKeyPair(alg, {
    extractable: true,
    ...(alg === 'EdDSA' && { crv: 'Ed25519' }),
  });
  const jwk: JWK = { ...(await exportJWK(publicKey)), kid, use: 'sig', alg };
  const sign: Issuer['sign'] = (claims = {}, header = {}) => {
    const now = Math.floor(Date.now() / 1000);
    const payload = {
      iss: url,
      aud: AUDIENCE,
      sub: SUB,
      iat: now,
      nbf: now,
      exp: now + 600,
      jti: crypto.randomUUID(),
      ...claims,
    };
    return new SignJWT(JSON.parse(JSON.stringify(payload)))
      .setProtectedHeader({ alg, kid, typ: 'JWT', ...header })
      .sign(privateKey);
  };
  return { url, jwk, privateKey, alg, kid, sign, jwks: { keys: [jwk] } };
}

/** A request to an issuer, and how it is answered; by default with what the issuer publishes. */
type Answering = (url: URL, signal: AbortSignal) => Response | Promise<Response> | undefined;

/**
 * Publishes issuers: `published` by host, `asked` are the requests in their order. `answer` comes before what
 * is published.
 */
export function useIssuers() {
  const published = new Map<string, Issuer>();
  const asked: URL[] = [];
  const stand: { answer: Answering | null; address: string } = { answer: null, address: '93.184.215.14' };
  vi.stubGlobal('fetch', async (text: string, init: RequestInit) => {
    const url = new URL(text);
    if (url.hostname === 'cloudflare-dns.com') {
      const isA = url.searchParams.get('type') === 'A';
      return Response.json({ Status: 0, Answer: isA ? [{ type: 1, data: stand.address }] : [] });
    }
    asked.push(url);
    const answered = await stand.answer?.(url, init.signal as AbortSignal);
    if (answered) return answered;
    const issuer = published.get(url.host);
    if (!issuer) return new Response('not found', { status: 404 });
    if (url.pathname === '/.well-known/openid-configuration')
      return Response.json({ issuer: issuer.url, jwks_uri: `${issuer.url}/jwks` });
    return url.pathname === '/jwks' ? Response.json(issuer.jwks) : new Response('not found', { status: 404 });
  });
  return {
    asked,
    stand,
    publish(issuer: Issuer) {
      published.set(new URL(issuer.url).host, issuer);
      return issuer;
    },
  };
}

/** What makes a trust in an issuer's tokens; its keys are given along. */
export const trustIn = (issuer: Issuer, fields: Record<string, unknown> = {}) => ({
  name: 'ci',
  issuer: issuer.url,
  claims: { sub: 'repo:acme/app:*' },
  scopes: ['secrets:read'],
  jwks: issuer.jwks,
  ...fields,
});

/** A new trust; answers what the service said. */
export async function newTrust(o: Caller, issuer: Issuer, fields: Record<string, unknown> = {}) {
  const { json, status, text } = await o.post('/trusts', trustIn(issuer, fields));
  if (status !== 201) throw new Error(`no trust: ${status} ${text}`);
  return json as { id: string; name: string; [field: string]: unknown };
}

let addresses = 0;

/** Exchanges a token, from an address of its own: refused attempts are counted by address. */
export const exchange = (
  o: { id: string },
  trust: { id: string },
  token: string,
  headers: Record<string, string> = {},
): Promise<Answer> => {
  const address = `198.19.${++addresses >> 8}.${addresses & 255}`;
  return send('POST', '/api/v1/auth/exchange', {
    body: { org_id: o.id, trust_id: trust.id, token },
    headers: { 'CF-Connecting-IP': address, ...headers },
  });
};

/** A session token of a trust, with calls made by it. */
export async function newWorkload(o: Caller, trust: { id: string }, token: string) {
  const { json, status, text } = await exchange(o, trust, token);
  if (status !== 201) throw new Error(`no session: ${status} ${text}`);
  return { ...json, o: o.as(json.token) } as { id: string; token: string; expiresAt: string; o: Caller };
}
