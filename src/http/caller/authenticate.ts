// Identifies the caller by the token alone: its form, its checksum under this deployment's key, or the
// signature of a session. Invariant: a forged token reaches no gate and no database; the gate decides whether
// a genuine one is still valid.
import { readProof } from '../../auth/authentication/dpop';
import { canonical, prefixes, readToken } from '../../auth/authentication/token';
import { equalSecret } from '../../crypto/digest';
import { type Refusal, refuse, UNKNOWN_TOKEN } from '../../errors';
import { isJwt, readSession } from '../../keys/jwt';
import type { Keyring } from '../../keys/keyring';
import { signingKeysOf } from '../../keys/signing';
import type { Authenticated, Incoming } from '../context';
import type { Route } from '../route';
import { countRefused } from './refused-attempts';

/**
 * Identifies the caller without the gate, or returns 401, or 429 after too many attempts with the bootstrap
 * token.
 */
export async function authenticate(
  route: Route,
  incoming: Incoming,
  keyring: Keyring,
): Promise<Authenticated | Refusal> {
  const { env, settings, base, facts } = incoming;
  const { authorization } = incoming.headers;
  const shown = tokenOf(authorization);
  const bearer = shown && canonical(shown.token);
  if (shown && bearer !== null) {
    const token = readToken(bearer);
    const deployment = token || isJwt(bearer) ? await keyring.deployment(token?.org) : null;
    if (token && deployment && token.isGenuine(deployment.tokenTag))
      return {
        bearer,
        genuine: { kind: token.kind, org: token.org, hash: token.hash },
        isExpired: false,
        deployment,
        ...(await possession(incoming, shown)),
      };
    const session =
      deployment && !token ? await readSession(signingKeysOf(env.DB, deployment), base, bearer) : null;
    if (session && deployment)
      return {
        bearer,
        genuine: session.ref,
        isExpired: session.isExpired,
        deployment,
        ...(shown.isDpop && { isDpop: true }),
      };
    if (isBootstrap(route) && !shown.isDpop && equalSecret(settings.bootstrapToken, bearer))
      return { bearer, genuine: null, isExpired: false, deployment: await keyring.deployment() };
  }
  const refusal = refuse('UNAUTHENTICATED', {
    message: unauthenticatedMessage(authorization, bearer, route),
  });
  if (!isBootstrap(route)) return refusal;
  const wait = await countRefused(env, facts.ip);
  return wait ? refuse('RATE_LIMITED', { retry_after: wait }) : refusal;
}

const hasPrefix = (bearer: string) => Object.values(prefixes).some((prefix) => bearer.startsWith(prefix));
const isBootstrap = (route: Route) => route.need.kinds.includes('system');

/** A token as sent, and its scheme. */
interface Shown {
  token: string;
  isDpop: boolean;
}

/** The token of an Authorization header (RFC 6750 §2.1, RFC 9449 §7.1), or null. */
function tokenOf(authorization: string | null): Shown | null {
  const [, scheme = '', token] = /^(Bearer|DPoP) +([\x21-\x7e]{1,1024}) *$/i.exec(authorization ?? '') ?? [];
  return token === undefined ? null : { token, isDpop: scheme.toLowerCase() === 'dpop' };
}

/** What a request proves about a device's key. Without a DPoP header, nothing is verified. */
async function possession(
  { request, headers, base }: Incoming,
  { token, isDpop }: Shown,
): Promise<Pick<Authenticated, 'proof' | 'isDpop'>> {
  const url = headers.dpop === null ? '' : base + new URL(request.url).pathname;
  return {
    ...(headers.dpop !== null && {
      proof: await readProof(headers.dpop, { method: request.method, url, token }, Date.now()),
    }),
    ...(isDpop && { isDpop }),
  };
}

/**
 * What was wrong with the token, by its form alone. Where the bootstrap token is not accepted, nothing is
 * compared with it, so no response reveals whether a guess was right.
 */
function unauthenticatedMessage(authorization: string | null, bearer: string | null, route: Route): string {
  if (!authorization) return 'The Authorization header is missing. Send "Authorization: Bearer TOKEN".';
  if (bearer === null)
    return 'The Authorization header does not contain a bearer token. Send "Authorization: Bearer TOKEN".';
  if (isJwt(bearer) || hasPrefix(bearer)) return UNKNOWN_TOKEN;
  return isBootstrap(route)
    ? 'The token is neither the bootstrap token nor a valid token of this deployment.'
    : `${UNKNOWN_TOKEN} The bootstrap token is not accepted for this request.`;
}
