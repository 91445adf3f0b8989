// Tokens that the deployment issues to browsers and terminals and verifies without storing them: challenges,
// user handles, refresh cookies, refresh tokens and device codes. Each has a MAC over its contents and
// purpose. Invariant: verification needs no I/O; a token that was altered or issued for another purpose is
// null.
import { concat, fromBase64Url, randomBytes, toBase64Url, tuple } from '../../crypto/bytes';
import { equal, hmac } from '../../crypto/digest';
import { idBytes, idOf, type Prefix } from '../../db/ids';

const macOf = (key: Uint8Array, what: string, ...parts: (string | Uint8Array)[]) =>
  hmac(key, tuple(`svc/v1/proof/${what}`, ...parts));

// ---------------------------------------------------------------- challenges

/** How long a challenge is valid, in milliseconds. */
export const CHALLENGE_LIVES = 300_000;
const STAMP = 6;
const RANDOM = 16;
const TAG = 16;

/** A challenge for one purpose: 6 bytes of time, 16 random bytes and a tag. */
export function newChallenge(
  key: Uint8Array,
  purpose: string[],
  now = Date.now(),
  random = randomBytes(RANDOM),
): Uint8Array {
  const stamp = new DataView(new ArrayBuffer(STAMP));
  stamp.setUint16(0, Math.floor(now / 2 ** 32));
  stamp.setUint32(2, now % 2 ** 32);
  const body = concat(new Uint8Array(stamp.buffer), random);
  return concat(body, macOf(key, 'challenge', ...purpose, body).subarray(0, TAG));
}

/**
 * If the text is a challenge issued for that purpose in the last five minutes, or in `lives` milliseconds:
 * the id of what it may begin. The id is always the same, so a reused challenge is detected by its id.
 * Otherwise null.
 */
export function readChallenge(
  key: Uint8Array,
  purpose: string[],
  text: string,
  prefix: Prefix,
  now = Date.now(),
  lives = CHALLENGE_LIVES,
): string | null {
  const bytes = fromBase64Url(text);
  if (bytes?.length !== STAMP + RANDOM + TAG) return null;
  const body = bytes.subarray(0, STAMP + RANDOM);
  if (!equal(bytes.subarray(STAMP + RANDOM), macOf(key, 'challenge', ...purpose, body).subarray(0, TAG)))
    return null;
  const view = new DataView(bytes.buffer, bytes.byteOffset);
  const made = view.getUint16(0) * 2 ** 32 + view.getUint32(2);
  if (made > now || made <= now - lives) return null;
  return idOf(prefix, concat(bytes.subarray(0, STAMP), macOf(key, 'begun', body).subarray(0, 10)));
}

// ---------------------------------------------------------------- user handles

/**
 * What an authenticator stores for a member and returns at sign-in: organisation, member and a tag. 48 bytes,
 * of at most 64 (WebAuthn).
 */
export function userHandle(key: Uint8Array, org: string, member: string): Uint8Array {
  const first = idBytes('org', org);
  const second = idBytes('mem', member);
  if (!first || !second) throw new Error('an org id and a member id are required');
  return concat(first, second, macOf(key, 'handle', first, second).subarray(0, TAG));
}

export function readHandle(key: Uint8Array, text: string): { org: string; member: string } | null {
  const bytes = fromBase64Url(text);
  if (bytes?.length !== 32 + TAG) return null;
  const first = bytes.subarray(0, 16);
  const second = bytes.subarray(16, 32);
  if (!equal(bytes.subarray(32), macOf(key, 'handle', first, second).subarray(0, TAG))) return null;
  return { org: idOf('org', first), member: idOf('mem', second) };
}

// ---------------------------------------------------------------- refresh cookies and tokens

/**
 * The n-th refresh cookie of a browser session, or refresh token of a terminal session. A genuine one that is
 * no longer valid has been used.
 */
export interface RefreshCookie {
  org: string;
  session: string;
  n: number;
}

type Renewal = 'cookie' | 'refresh-token';

const toRenewal = (what: Renewal, key: Uint8Array, { org, session, n }: RefreshCookie): string =>
  [org, session, n, toBase64Url(macOf(key, what, org, session, String(n)))].join('.');

function readRenewal(what: Renewal, key: Uint8Array, text: string): RefreshCookie | null {
  const [, org, session, n, mac] =
    /^(org_\w{22})\.(ses_\w{22})\.([1-9]\d{0,8})\.([\w-]{43})$/.exec(text) ?? [];
  if (!org || !session || !n || !mac) return null;
  return equal(mac, toBase64Url(macOf(key, what, org, session, n))) ? { org, session, n: Number(n) } : null;
}

export const toCookie = (key: Uint8Array, cookie: RefreshCookie): string => toRenewal('cookie', key, cookie);
export const readCookie = (key: Uint8Array, text: string): RefreshCookie | null =>
  readRenewal('cookie', key, text);

const REFRESH_TOKEN = 'svcref_';
export const toRefreshToken = (key: Uint8Array, token: RefreshCookie): string =>
  REFRESH_TOKEN + toRenewal('refresh-token', key, token);
export const readRefreshToken = (key: Uint8Array, text: string): RefreshCookie | null =>
  text.startsWith(REFRESH_TOKEN) ? readRenewal('refresh-token', key, text.slice(REFRESH_TOKEN.length)) : null;

// ---------------------------------------------------------------- device codes

/** The letters of user codes: no vowels, which could form words, and no look-alikes (RFC 8628 §6.1). */
const LETTERS = 'BCDFGHJKLMNPQRSTVWXZ';
const USER_CODE = 8;

/** A user code in its stored form: eight letters, each equally likely. */
export function newUserCode(): string {
  let code = '';
  while (code.length < USER_CODE) {
    const [byte = 255] = randomBytes(1);
    if (byte < 256 - (256 % LETTERS.length)) code += LETTERS[byte % LETTERS.length];
  }
  return code;
}

/** A user code in its displayed form. */
export const shownUserCode = (code: string): string =>
  `${code.slice(0, USER_CODE / 2)}-${code.slice(USER_CODE / 2)}`;

/** User input as a stored user code; null if it is not one. Case, spaces and hyphens are ignored. */
export function readUserCode(text: string): string | null {
  const code = text.toUpperCase().replace(/[\s-]/g, '');
  return new RegExp(`^[${LETTERS}]{${USER_CODE}}$`).test(code) ? code : null;
}

/** Where the login of a user code is stored; it cannot be found without the key. */
export const placeOfUserCode = (key: Uint8Array, code: string): string =>
  toBase64Url(macOf(key, 'user-code', code));

const DEVICE_CODE = 'svcdc_';

/** A device code: its user code, 32 random bytes and a tag. */
export function newDeviceCode(key: Uint8Array, code: string): string {
  const random = toBase64Url(randomBytes(32));
  return `${DEVICE_CODE}${code}.${random}.${toBase64Url(macOf(key, 'device-code', code, random))}`;
}

/** The user code of a genuine device code; null for any other text. */
export function readDeviceCode(key: Uint8Array, text: string): string | null {
  const [, code, random, mac] = /^svcdc_([A-Z]{8})\.([\w-]{43})\.([\w-]{43})$/.exec(text) ?? [];
  if (!code || !random || !mac) return null;
  // safety: device-code-genuine
  return equal(mac, toBase64Url(macOf(key, 'device-code', code, random))) ? code : null;
}
