// What is said to an identity provider, and verified of what it says (OpenID Connect Core, RFC 6749, 7636,
// 9207), with oauth4webapi. Invariants: only the code flow with PKCE; every request goes through the egress
// guard; a token counts only with a signature of one of four algorithms by a published key of the issuer;
// reasons never contain what a provider sent.
import { decodeJwt, decodeProtectedHeader, errors, importJWK, type JWTPayload, jwtVerify } from 'jose';
import * as oauth from 'oauth4webapi';
import type { IssuerKey } from '../../db/trusts';
import { checkTarget, guardedFetch } from '../../delivery/egress';
import type { Env, Settings } from '../../env';
import { isJwt } from '../../keys/jwt';
import type { OidcConfig } from '../sso/wire';
import { keysOfIssuer } from '../trusts/issuer';
import { isAlgorithm, KEY_TYPES } from '../trusts/keys';

type Where = { env: Env; settings: Settings };
export type Problem = { problem: string };

const ALGORITHMS = Object.keys(KEY_TYPES);
/** How far the clock of a provider may be off, in seconds. */
const SKEW = 30;
/** How old an authentication may be that confirms a session, in seconds. */
const CONFIRMS_FOR = 300;
const MOST_RESPONSE = 262_144;

const serverOf = ({ issuer, provider }: OidcConfig): oauth.AuthorizationServer => ({
  issuer,
  authorization_endpoint: provider.authorization_endpoint,
  token_endpoint: provider.token_endpoint,
  authorization_response_iss_parameter_supported:
    provider.authorization_response_iss_parameter_supported ?? false,
  // The only list: what the provider's document says does not add to it.
  // safety: sso-algorithms-pinned
  id_token_signing_alg_values_supported: ALGORITHMS,
});

const clientOf = ({ client_id }: OidcConfig): oauth.Client => ({ client_id, [oauth.clockTolerance]: SKEW });

/** Where a browser signs in. */
export async function authorizationUrl(
  config: OidcConfig,
  asked: {
    redirect_uri: string;
    state: string;
    nonce: string;
    verifier: string;
    hint: string | null;
    confirms: boolean;
  },
): Promise<string> {
  const url = new URL(config.provider.authorization_endpoint);
  const scopes = new Set(['openid', ...config.scopes]);
  const parameters = {
    client_id: config.client_id,
    redirect_uri: asked.redirect_uri,
    response_type: 'code',
    scope: [...scopes].join(' '),
    state: asked.state,
    nonce: asked.nonce,
    code_challenge: await oauth.calculatePKCECodeChallenge(asked.verifier),
    code_challenge_method: 'S256',
    ...(asked.hint !== null && { login_hint: asked.hint }),
    ...(asked.confirms && { max_age: '0' }),
  };
  for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, value);
  return url.href;
}

/** Sends what the library asks for, through the egress guard. */
const fetchFor =
  ({ settings }: Where) =>
  async (url: string, init: { method: string; headers: Record<string, string>; body?: unknown }) => {
    const got = await guardedFetch(settings, url, {
      method: init.method,
      headers: init.headers,
      ...(init.body !== undefined && init.body !== null && { body: String(init.body) }),
      read: MOST_RESPONSE,
    });
    if ('unreachable' in got) throw new Unreachable();
    const isEmpty = [101, 204, 205, 304].includes(got.status);
    return new Response(isEmpty ? null : got.text, {
      status: got.status < 200 ? 502 : got.status,
      headers: { 'Content-Type': got.headers.get('content-type') ?? '' },
    });
  };
class Unreachable extends Error {}

interface Expected {
  state: string;
  nonce: string;
  verifier: string;
  redirect_uri: string;
  secret: string;
  /** The sign-in confirms a session: the person must have authenticated just now. */
  confirms: boolean;
}

/** The verified claims of the person whom a provider sends back, or why there are none. */
export async function claimsOf(
  where: Where,
  config: OidcConfig,
  query: URLSearchParams,
  expected: Expected,
): Promise<JWTPayload | Problem> {
  const server = serverOf(config);
  const client = clientOf(config);
  let step = 'the response of the provider is not that of this sign-in';
  try {
    // State, `iss`, and that there is no error; a parameter that comes twice is refused.
    const parameters = oauth.validateAuthResponse(server, client, query, expected.state);
    step = 'the code was not accepted';
    const response = await oauth.authorizationCodeGrantRequest(
      server,
      client,
      authenticationOf(config, expected.secret),
      parameters,
      expected.redirect_uri,
      expected.verifier,
      {
        [oauth.customFetch]: fetchFor(where) as never,
        // The egress guard decides.
        [oauth.allowInsecureRequests]: true,
      },
    );
    step = 'the ID token was not accepted';
    const tokens = await oauth.processAuthorizationCodeResponse(server, client, response, {
      // safety: sso-nonce
      expectedNonce: expected.nonce,
      requireIdToken: true,
      ...(expected.confirms && { maxAge: CONFIRMS_FOR }),
    });
    const text = tokens.id_token as string;
    const problem = await unsigned(where, config.issuer, text);
    // safety: sso-token-signed
    if (problem) return { problem };
    const claims = decodeJwt(text);
    // The library looks at it only where there are several audiences.
    // safety: sso-authorized-party
    if (claims.azp !== undefined && claims.azp !== config.client_id) return { problem: step };
    // The library looks at how `iat` is written, not at when it is.
    // safety: sso-issued-in-the-past
    if (Number(claims.iat) > Date.now() / 1000 + SKEW) return { problem: step };
    return claims;
  } catch (error) {
    if (error instanceof oauth.AuthorizationResponseError)
      return { problem: 'the provider refused the sign-in' };
    if (error instanceof oauth.ResponseBodyError) return { problem: 'the code was not accepted' };
    return { problem: error instanceof Unreachable ? 'the provider did not respond' : step };
  }
}

/** How the client authenticates: in the header, unless the provider's document lists only the body. */
function authenticationOf(
  { provider: { token_endpoint_auth_methods_supported: methods } }: OidcConfig,
  secret: string,
): oauth.ClientAuth {
  const isInBody = methods?.includes('client_secret_post') && !methods.includes('client_secret_basic');
  return isInBody ? oauth.ClientSecretPost(secret) : oauth.ClientSecretBasic(secret);
}

/** Why a token has no valid signature of the issuer; null if it has one. */
export async function unsigned(where: Where, issuer: string, text: string): Promise<string | null> {
  if (checkTarget(issuer, where.settings)) return 'the issuer is not an allowed address';
  const header = headerOf(text);
  if (!header) return 'the algorithm of the token is not accepted';
  const problem = await unsignedBy(await keysOfIssuer(where.env, issuer, header.kid, false), text, header);
  // The issuer may have replaced the key under the same `kid`.
  return problem === DOUBTED
    ? unsignedBy(await keysOfIssuer(where.env, issuer, header.kid, true), text, header)
    : problem;
}

type Header = { alg: keyof typeof KEY_TYPES; kid: string | undefined };

function headerOf(text: string): Header | null {
  if (!isJwt(text)) return null;
  try {
    const { alg, kid } = decodeProtectedHeader(text);
    return isAlgorithm(alg) && (kid === undefined || typeof kid === 'string') ? { alg, kid } : null;
  } catch {
    return null;
  }
}

const DOUBTED = 'the signature of the token is not valid';

async function unsignedBy(
  keys: IssuerKey[] | string,
  text: string,
  { alg, kid }: Header,
): Promise<string | null> {
  if (typeof keys === 'string') return 'the keys of the issuer cannot be read';
  const fitting = keys.filter(
    (key) => key.kty === KEY_TYPES[alg] && (key.alg ?? alg) === alg && (kid === undefined || key.kid === kid),
  );
  const [key] = fitting;
  if (!key || fitting.length > 1) return 'no key of the issuer matches the token';
  try {
    await jwtVerify(text, await importJWK({ ...key }, alg), { algorithms: [alg], clockTolerance: SKEW });
    return null;
  } catch (error) {
    if (error instanceof errors.JWSSignatureVerificationFailed) return DOUBTED;
    return 'the token is malformed or has expired';
  }
}
