// The cookie of a sign-in that has begun: it binds state, nonce and PKCE verifier to one browser, for ten
// minutes. Invariants: it is encrypted and authenticated, so that a browser can neither read nor change what
// it carries; the state names no organisation; a link carries whom the provider named.

import { generateCookie } from 'hono/cookie';
import { parse } from 'hono/utils/cookie';
import { newChallenge, readChallenge } from '../../auth/authentication/proofs';
import type { TokenRef } from '../../auth/authentication/token';
import { fromBase64, fromUtf8, toBase64Url, utf8 } from '../../crypto/bytes';
import { decrypt, encrypt } from '../../crypto/envelope';
import type { SsoConnectionRow } from '../../db/schema';
import type { DeploymentKeys } from '../../keys/keyring';
import type { Person } from './rules';

export const COOKIE = '__Host-svc_sso';

/** How long a sign-in may take at the provider, and a link after it, in milliseconds. */
export const FLOW_LIVES = 600_000;

export interface Flow {
  org: string;
  connection: string;
  kind: SsoConnectionRow['kind'];
  /** The issuer that the browser was sent to. */
  issuer: string;
  state: string;
  nonce: string;
  verifier: string;
  return_to: string;
  until: number;
  /** The session that a sign-in confirms, if it begins none. */
  confirms?: string;
  /** The owner's session that tests the connection: nobody signs in. */
  tests?: TokenRef;
  /** Of a link that waits for a passkey: whom the provider named, and whom that may be. */
  link?: { person: Person; member: string; session: string };
}

const CONTEXT = ['cookie'];

const cookieOf = (value: string, maxAge: number, sameSite: 'Lax' | 'None' = 'Lax'): string =>
  generateCookie(COOKIE, value, {
    maxAge,
    path: '/',
    httpOnly: true,
    secure: true,
    sameSite,
  });
export const cleared = cookieOf('', 0);

/** The Set-Cookie header of a sign-in. */
export const flowCookie = (keys: DeploymentKeys, flow: Flow, now = Date.now()): string =>
  cookieOf(
    toBase64Url(
      fromBase64(encrypt(keys.sso, 'sign-in', CONTEXT, utf8(JSON.stringify(flow)))) ?? new Uint8Array(),
    ),
    Math.max(1, Math.ceil((flow.until - now) / 1000)),
    // The redirect of an OpenID provider is a navigation from another site, and the response of a SAML
    // provider a POST from there. The page that asks for a passkey is ours.
    flow.kind === 'saml' && !flow.link ? 'None' : 'Lax',
  );

/** The most characters of a cookie that browsers keep, less its name and attributes. */
const MOST_COOKIE = 3800;

/**
 * The Set-Cookie header of a link that waits for a passkey. The groups of the person stay out where they make
 * it longer than browsers take: the next sign-in has them again.
 */
export function linkCookie(keys: DeploymentKeys, flow: Flow & Required<Pick<Flow, 'link'>>): string {
  const cookie = flowCookie(keys, flow);
  if (cookie.length <= MOST_COOKIE) return cookie;
  const { link } = flow;
  return flowCookie(keys, { ...flow, link: { ...link, person: { ...link.person, groups: null } } });
}

/** The sign-in that a browser has begun; null if there is none, or it took too long. */
export function readFlow(keys: DeploymentKeys, headers: Headers, now = Date.now()): Flow | null {
  const value = parse(headers.get('cookie') ?? '', COOKIE)[COOKIE];
  if (value === undefined || !/^[\w-]{1,4000}$/.test(value)) return null;
  const opened = decrypt(keys.sso, 'sign-in', CONTEXT, base64Of(value));
  const flow = opened ? (JSON.parse(fromUtf8(opened) ?? 'null') as Flow | null) : null;
  // safety: sso-flow-expires
  return flow && flow.until > now && flow.until <= now + FLOW_LIVES ? flow : null;
}

const base64Of = (text: string): string => {
  const body = text.replace(/-/g, '+').replace(/_/g, '/');
  return body + '='.repeat((4 - (body.length % 4)) % 4);
};

type Begun = Pick<Flow, 'org' | 'connection' | 'tests'>;

const purpose = ({ org, connection, tests }: Begun) => [tests ? 'sso-test' : 'sso', org, connection];

/** A new state. It has a tag, and the id of the session that it may begin follows from it. */
export const newState = (keys: DeploymentKeys, begun: Begun, now = Date.now()): string =>
  toBase64Url(newChallenge(keys.proof, purpose(begun), now));

/** The id of the session that a state may begin; null for one that is not ours or too old. */
export const sessionOf = (
  keys: DeploymentKeys,
  flow: Begun & Pick<Flow, 'state'>,
  now = Date.now(),
): string | null => readChallenge(keys.proof, purpose(flow), flow.state, 'ses', now, 2 * FLOW_LIVES);
