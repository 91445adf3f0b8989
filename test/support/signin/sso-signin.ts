// Single sign-on for tests: an identity provider that speaks OpenID Connect behind a stubbed `fetch`, domains
// and connections of an organisation, and browsers that sign in.
import { env } from 'cloudflare:workers';
import { utf8 } from '../../../src/crypto/bytes';
import { sha256Url } from '../../../src/crypto/digest';
import { encrypt } from '../../../src/crypto/envelope';
import { newId } from '../../../src/db/ids';
import type { DomainRow, SsoConnectionRow } from '../../../src/db/schema';
import type { Env } from '../../../src/env';
import { inGate, keysOf } from '../gate';
import { add, newMember } from '../people';
import { type Answer, type Caller, db, send } from '../world';
import { newBrowser, newSignedIn } from './browser';
import { type Issuer, newIssuer, useIssuers } from './issuers';
import { newPasskey, type Passkey } from './passkey';

const CLIENT = 'svc-client';
const SECRET = 'client-secret:with/odd characters';
export const ORIGIN = 'http://localhost';

export type Claims = Record<string, unknown>;

/** What a provider does differently from a right one. */
export interface Odd {
  /** Replaces the ID token. */
  idToken?: (right: string, provider: Provider) => string | Promise<string>;
  header?: Record<string, unknown>;
  /** Skips the checks of the token endpoint. */
  isLax?: boolean;
}

interface Code {
  challenge: string;
  redirect_uri: string;
  nonce: string;
  claims: Claims;
}

export type Provider = Awaited<ReturnType<typeof newProvider>>;

/** Providers behind `fetch`: `stand` answers before them, and `asked` are the requests in their order. */
export function useProviders() {
  const issuers = useIssuers();
  const providers = new Map<string, (url: URL, init: RequestInit) => Promise<Response>>();
  const stubbed = globalThis.fetch;
  globalThis.fetch = (async (text: string, init: RequestInit) => {
    const url = new URL(text);
    const token = url.pathname.endsWith('/token') ? providers.get(url.host) : undefined;
    if (!token) return stubbed(text, init);
    issuers.asked.push(url);
    return token(url, init);
  }) as typeof fetch;
  return {
    ...issuers,
    async provider(fields: Parameters<typeof newIssuer>[0] = {}) {
      const provider = await newProvider(fields);
      issuers.publish(provider.issuer);
      const { host, pathname } = new URL(provider.issuer.url);
      providers.set(host, provider.token);
      if (pathname !== '/') issuers.stand.answer = ({ href }) => published(provider.issuer, href);
      return provider;
    },
  };
}

/** What an issuer with a path publishes. */
const published = ({ url, jwks }: Issuer, href: string): Response | undefined =>
  href === `${url}/.well-known/openid-configuration`
    ? Response.json({ issuer: url, jwks_uri: `${url}/jwks` })
    : href === `${url}/jwks`
      ? Response.json(jwks)
      : undefined;

/** A provider with a key of its own. */
export async function newProvider(fields: Parameters<typeof newIssuer>[0] = {}) {
  const issuer: Issuer = await newIssuer(fields);
  const codes = new Map<string, Code>();
  const odd: Odd = {};
  const provider = {
    issuer,
    odd,
    codes,
    /** The person signs in: answers the query of the callback. */
    authorize(url: string, claims: Claims): URLSearchParams {
      const { searchParams: asked } = new URL(url);
      if (asked.get('response_type') !== 'code' || asked.get('code_challenge_method') !== 'S256')
        throw new Error('not the code flow with PKCE');
      const code = crypto.randomUUID();
      codes.set(code, {
        challenge: asked.get('code_challenge') as string,
        redirect_uri: asked.get('redirect_uri') as string,
        nonce: asked.get('nonce') as string,
        claims,
      });
      return new URLSearchParams({ code, state: asked.get('state') as string, iss: issuer.url });
    },
    async token(_: URL, init: RequestInit): Promise<Response> {
      const form = new URLSearchParams(String(init.body));
      const code = codes.get(form.get('code') ?? '');
      codes.delete(form.get('code') ?? '');
      const [id, secret] = atob((new Headers(init.headers).get('authorization') ?? '').slice(6)).split(':');
      const isRight =
        code !== undefined &&
        form.get('grant_type') === 'authorization_code' &&
        form.get('redirect_uri') === code.redirect_uri &&
        decodeURIComponent(id ?? '') === CLIENT &&
        decodeURIComponent((secret ?? '').replaceAll('+', ' ')) === SECRET &&
        sha256Url(form.get('code_verifier') ?? '') === code.challenge;
      if (!code || !(isRight || odd.isLax)) return Response.json({ error: 'invalid_grant' }, { status: 400 });
      const right = await issuer.sign({ aud: CLIENT, nonce: code.nonce, ...code.claims }, odd.header);
      return Response.json({
        access_token: 'opaque',
        token_type: 'Bearer',
        id_token: odd.idToken ? await odd.idToken(right, provider) : right,
      });
    },
  };
  return provider;
}

/** A verified domain of an organisation. */
export async function newDomain(o: Caller, domain: string, verified_at: number | null = Date.now()) {
  const id = newId('dom');
  if (verified_at !== null)
    await (env as unknown as Env).DOMAIN_OWNER.getByName(domain).claim({ org: o.id, id }, null);
  await add(o, 'domain', [
    {
      id,
      domain,
      created_by: 'mem_x',
      created_at: Date.now(),
      verified_at,
      missing_since: null,
    },
  ]);
  return id;
}

/** A connection to a provider. */
export async function newConnection(
  o: Caller,
  { issuer: { url } }: { issuer: { url: string } },
  fields: Partial<Omit<SsoConnectionRow, 'config'>> & { config?: Record<string, unknown> } = {},
) {
  const { value } = await keysOf(o);
  const id = newId('sso');
  await add(o, 'sso_connection', [
    {
      id,
      kind: 'oidc',
      name: 'acme',
      client_secret_sealed: encrypt(value, 'client secret', [o.id, id], utf8(SECRET)),
      domains: [],
      jit: 0,
      enforce: 0,
      default_role: 'viewer',
      default_environments: null,
      role_mappings: [],
      team_mappings: [],
      changed_by: null,
      created_by: 'mem_x',
      created_at: Date.now(),
      updated_at: Date.now(),
      ...fields,
      config: {
        issuer: url,
        client_id: CLIENT,
        scopes: ['openid', 'email', 'profile'],
        groups_claim: 'groups',
        ...fields.config,
        provider: {
          authorization_endpoint: `${url}/authorize`,
          token_endpoint: `${url}/token`,
          jwks_uri: `${url}/jwks`,
          authorization_response_iss_parameter_supported: true,
          ...(fields.config?.provider as object | undefined),
        },
      },
    },
  ]);
  return id;
}

let people = 0;
export const newSubject = () => `subject-${++people}`;

/** What a right provider says of somebody. */
export const claimsOf = (email: string, more: Claims = {}): Claims => ({
  sub: newSubject(),
  email,
  email_verified: true,
  name: 'Bea',
  ...more,
});

let addresses = 0;

/** A browser at an address of its own, with the cookies of sign-ins and sessions. */
export function newSsoBrowser() {
  const address = `198.20.${++addresses >> 8}.${addresses & 255}`;
  const jar = new Map<string, string>();
  let token = '';
  const note = ({ headers }: Answer) => {
    for (const cookie of headers.getSetCookie()) {
      const [, name, value] = /^([^=]+)=([^;]*)/.exec(cookie) ?? [];
      if (value) jar.set(name as string, value);
      else jar.delete(name as string);
    }
  };
  const sent = () => [...jar].map(([name, value]) => `${name}=${value}`).join('; ');
  const browser = {
    address,
    jar,
    get token() {
      return token;
    },
    async call(method: string, path: string, body?: unknown, headers: Record<string, string> = {}) {
      const answer = await send(method, path, {
        body,
        redirect: 'manual',
        headers: {
          'CF-Connecting-IP': address,
          ...(method === 'POST' && { Origin: ORIGIN }),
          ...(jar.size > 0 && { Cookie: sent() }),
          ...headers,
        },
      });
      note(answer);
      if (answer.status === 200 && answer.json?.token) token = answer.json.token;
      return answer;
    },
    start: (body: unknown, headers: Record<string, string> = {}) =>
      browser.call('POST', '/api/v1/auth/sso/start', body, headers),
    callback: (query: URLSearchParams | string) => browser.call('GET', `/sso/callback?${query}`),
    refresh: () => browser.call('POST', '/api/v1/auth/refresh'),
    /** The whole sign-in; answers the callback. */
    async signIn(provider: Provider, claims: Claims, body: unknown = { email: claims.email }) {
      const started = await browser.start(body);
      if (started.status !== 200) throw new Error(`not started: ${started.status} ${started.text}`);
      return browser.callback(provider.authorize(started.json.url, claims));
    },
    /** Links with a passkey, after a callback that asked for it. */
    async link(passkey: Passkey) {
      const options = await browser.call('POST', '/api/v1/auth/sso/link/options', {});
      if (options.status !== 200) return options;
      return browser.call('POST', '/api/v1/auth/sso/link', { response: await passkey.get(options.json) });
    },
    /** The session as the page has it after the redirect. */
    async session() {
      const answer = await browser.refresh();
      if (answer.status !== 200) throw new Error(`no session: ${answer.status} ${answer.text}`);
      return answer.json as { token: string; member: { id: string; email: string; role: string } };
    },
    whoami: () => send('GET', '/api/v1/whoami', { token }),
  };
  return browser;
}
export type SsoBrowser = ReturnType<typeof newSsoBrowser>;

/** The reason of the newest refused sign-in. */
export const reasonOf = async (o: Caller): Promise<string | null> =>
  (await o.get('/audit-log?action=auth.sso&outcome=denied&limit=1')).json.data[0]?.reason ?? null;

let domains = 0;

/** An organisation with a verified domain, and a connection to a provider. */
export async function connected(fields: Parameters<typeof newConnection>[2] = {}) {
  const stand = useProviders();
  const { o, browser: owner } = await newSignedIn();
  const domain = `sign-in-${++domains}.example.com`;
  const domainId = await newDomain(o, domain);
  const provider = await stand.provider();
  const connection = await newConnection(o, provider, { domains: [domainId], ...fields });
  return {
    ...stand,
    provider_: stand.provider,
    o,
    owner,
    domain,
    domainId,
    provider,
    connection,
    at: (name: string) => `${name}@${domain}`,
  };
}

/** A member with an address and a passkey. */
export async function enrolled(o: Parameters<typeof newMember>[0], email: string, role = 'developer') {
  const { id, enrolment_url } = await newMember(o, role, { email });
  const browser = newBrowser(await newPasskey(ORIGIN));
  const answer = await browser.enrol(enrolment_url);
  if (answer.status !== 200) throw new Error(answer.text);
  return { id, email, browser, passkey: browser.passkey };
}

/** Changes a connection, as its own operations do: in the gate and in D1. */
export async function changeConnection(o: Caller, id: string, fields: Partial<SsoConnectionRow>) {
  const row = await inGate(o, ({ core }) => core.rows.get('sso_connection', id));
  if (!row) throw new Error('no such connection');
  await add(o, 'sso_connection', [{ ...row, ...fields }]);
}

/** Stops all connections, as a panic with `sso` does, and ends no session. */
export async function stopConnections(o: Caller) {
  const ids = await inGate(o, ({ core }) => core.rows.within('sso_connection', '').map(({ id }) => id));
  for (const id of ids) {
    const row = await inGate(o, ({ core }) => core.rows.get('sso_connection', id));
    await changeConnection(o, id, { config: { ...row?.config, stopped_at: Date.now() } });
  }
}

export async function deleteConnection(o: Caller, id: string) {
  await inGate(o, ({ core }) => core.rows.bury('sso_connection', id, Date.now()));
  await db.prepare('delete from sso_connections where id = ?').bind(id).run();
}

/** Changes a domain in the same way. */
export async function changeDomain(o: Caller, id: string, fields: Partial<DomainRow>) {
  const row = await inGate(o, ({ core }) => core.rows.get('domain', id));
  if (!row) throw new Error('no such domain');
  await add(o, 'domain', [{ ...row, ...fields }]);
}
