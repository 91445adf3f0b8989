// Generates values for secrets: characters for plain text types, keys for key types. Every value comes from
// the platform's cryptographic generator, and every character of a text is equally likely. Types whose values
// only a third party can issue (a database, a CA, an OAuth provider) have no generator.

import { randomBytes, toBase64 } from './bytes';
import { encodeOpenSsh } from './openssh';
import { pem } from './pem';

/**
 * length: characters, 8 to 4096; charset: a name in `CHARSETS`, or the characters themselves. Only for plain
 * text types.
 */
export type GenerateOptions = { length?: number; charset?: string };
/**
 * public_key is set for key pairs, in the form their users distribute: an authorized_keys line or SPKI PEM.
 * It is not secret.
 */
export type Generated = { value: string; public_key?: string };

const MIN_LENGTH = 8;
const MAX_LENGTH = 4096;

/** The plain text types and their default lengths. */
const TEXT_LENGTHS = new Map([
  ['password', 32],
  ['api_key', 40],
  ['generic', 32],
  ['env_var', 32],
]);

/** The types with a fixed form, without options. */
const FIXED_FORMS = new Map([
  ['webhook_secret', webhookSecret],
  ['ssh_key', sshKey],
  ['private_key', privateKey],
]);

const LOWER = 'abcdefghijklmnopqrstuvwxyz';
const UPPER = LOWER.toUpperCase();
const DIGITS = '0123456789';
const SYMBOLS = '!"#$%&\'()*+,-./:;<=>?@[\\]^_`{|}~';

/**
 * Names take precedence over literals. Some names are included because they consist of distinct letters:
 * without its entry, `base64` would be read as the six characters b, a, s, e, 6 and 4 and silently give a
 * weak value.
 */
const CHARSETS = new Map([
  ['alphanumeric', UPPER + LOWER + DIGITS],
  ['letters', UPPER + LOWER],
  ['lowercase', LOWER],
  ['lower', LOWER],
  ['uppercase', UPPER],
  ['upper', UPPER],
  ['digits', DIGITS],
  ['numeric', DIGITS],
  ['numbers', DIGITS],
  ['hex', `${DIGITS}abcdef`],
  ['base32', `${UPPER}234567`],
  ['base64', `${UPPER + LOWER + DIGITS}+/`],
  ['base64url', `${UPPER + LOWER + DIGITS}-_`],
  ['symbols', SYMBOLS],
  ['ascii', UPPER + LOWER + DIGITS + SYMBOLS],
]);

/**
 * Letters, digits and the other unreserved characters of RFC 3986: they need no escaping in URLs, shells and
 * .env files.
 */
const PASSWORD_CHARSET = `${UPPER + LOWER + DIGITS}-_.~`;
/**
 * The usual password rules, and a first character that shells do not treat as an option (-) or a home
 * directory (~).
 */
const PASSWORD_RULES = [/[a-z]/, /[A-Z]/, /[0-9]/, /^[a-zA-Z0-9]/];

/** Whether a value can be generated for a secret of this type; false for unknown types. */
export function canGenerate(type: string): boolean {
  return TEXT_LENGTHS.has(type) || FIXED_FORMS.has(type);
}

/**
 * What is wrong with these options for this type, as a validation detail (path such as `generate.length`), or
 * null. Absent options are always valid, even for a type without a generator: use `canGenerate` for that.
 */
export function optionsProblem(
  type: string,
  options: GenerateOptions | undefined,
): { path: string; message: string } | null {
  if (!options) return null;
  const { length, charset } = options;
  if (!canGenerate(type))
    return {
      path: 'generate',
      message: `does not apply to type ${type}, whose values cannot be generated: send value instead`,
    };
  if (!TEXT_LENGTHS.has(type)) {
    const message = `does not apply to type ${type}, whose values have a fixed form`;
    if (length !== undefined) return { path: 'generate.length', message };
    if (charset !== undefined) return { path: 'generate.charset', message };
    return null;
  }
  if (length !== undefined && !(Number.isInteger(length) && length >= MIN_LENGTH && length <= MAX_LENGTH)) {
    return { path: 'generate.length', message: `must be an integer between ${MIN_LENGTH} and ${MAX_LENGTH}` };
  }
  if (charset !== undefined && !CHARSETS.has(charset) && !isLiteralCharset(charset)) {
    const names = [...CHARSETS.keys()].join(', ');
    return {
      path: 'generate.charset',
      message: `must be one of: ${names}, or 2 to 256 distinct printable ASCII characters`,
    };
  }
  return null;
}

/**
 * Generates a value that fits the type:
 * - password (32 characters), api_key (40), generic and env_var (32): uniformly random characters. A password
 *   of the default
 *   charset also has a lowercase letter, an uppercase letter and a digit, and begins with one of these;
 * - webhook_secret: `whsec_` and 32 bytes in base64 (Standard Webhooks, https://www.standardwebhooks.com,
 *   allows 24 to 64 bytes);
 * - ssh_key: an Ed25519 key pair, the private key in OpenSSH's own format;
 * - private_key: a P-256 key pair, the private key as PKCS#8 PEM (RFC 5208), the public key as SPKI PEM (RFC
 *   5280).
 * @throws RangeError when the type has no generator, or `optionsProblem` finds a problem
 */
export async function generate(type: string, options: GenerateOptions = {}): Promise<Generated> {
  const problem = optionsProblem(type, options);
  if (problem) throw new RangeError(`${problem.path}: ${problem.message}`);
  const fixed = FIXED_FORMS.get(type);
  if (fixed) return fixed();

  const length = options.length ?? TEXT_LENGTHS.get(type) ?? MIN_LENGTH;
  if (type === 'password' && options.charset === undefined) return { value: password(length) };
  const charset = options.charset ?? 'alphanumeric';
  return { value: randomText(CHARSETS.get(charset) ?? charset, length) };
}

/** No repeated characters: they would be drawn more often than the others. */
function isLiteralCharset(charset: string): boolean {
  return /^[\x20-\x7e]{2,256}$/.test(charset) && new Set(charset).size === charset.length;
}

/**
 * Draws whole passwords until one satisfies the rules: patching one would make some passwords likelier than
 * others.
 */
function password(length: number): string {
  for (;;) {
    const value = randomText(PASSWORD_CHARSET, length);
    if (PASSWORD_RULES.every((rule) => rule.test(value))) return value;
  }
}

/** `length` characters, each drawn uniformly from `charset` (at most 256 characters). */
export function randomText(charset: string, length: number): string {
  // Bytes past the last whole multiple are dropped: a plain `byte % charset.length` would favour the first
  // characters.
  const limit = 256 - (256 % charset.length);
  let text = '';
  while (text.length < length) {
    for (const byte of randomBytes(length - text.length)) {
      if (byte < limit) text += charset.charAt(byte % charset.length);
    }
  }
  return text;
}

async function webhookSecret(): Promise<Generated> {
  return { value: `whsec_${toBase64(randomBytes(32))}` };
}

async function sshKey(): Promise<Generated> {
  const pair = (await crypto.subtle.generateKey('Ed25519', true, ['sign', 'verify'])) as CryptoKeyPair;
  // RFC 8410, section 7: in PKCS#8 the seed follows 16 bytes of fixed header.
  const seed = (await exportKey('pkcs8', pair.privateKey)).subarray(16, 48);
  const [checkint = 0] = crypto.getRandomValues(new Uint32Array(1));
  const encoded = encodeOpenSsh(seed, await exportKey('raw', pair.publicKey), checkint, '');
  return { value: encoded.privateKey, public_key: encoded.publicKey };
}

async function privateKey(): Promise<Generated> {
  const pair = (await crypto.subtle.generateKey({ name: 'ECDSA', namedCurve: 'P-256' }, true, [
    'sign',
    'verify',
  ])) as CryptoKeyPair;
  return {
    value: pem('PRIVATE KEY', await exportKey('pkcs8', pair.privateKey), 64),
    public_key: pem('PUBLIC KEY', await exportKey('spki', pair.publicKey), 64),
  };
}

async function exportKey(format: 'raw' | 'pkcs8' | 'spki', key: CryptoKey): Promise<Uint8Array> {
  return new Uint8Array((await crypto.subtle.exportKey(format, key)) as ArrayBuffer);
}
