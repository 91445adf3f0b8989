// Offline checks of credentials: checksums, account numbers, structure and randomness. Pure, and linear in
// the text. Invariant: a check that cannot be completed counts as failed, so nothing is reported.
import crc from 'crc-32';

const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** Base64 and base64url, padded or not, as text; null if it is neither, or not UTF-8. */
function decodedText(text: string): string | null {
  try {
    return decoder.decode(Buffer.from(text, 'base64'));
  } catch {
    return null;
  }
}

function parsed(text: string | null): Record<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(text ?? '');
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : null;
  } catch {
    return null;
  }
}

/** CRC-32 (ISO 3309) of ASCII text, as an unsigned number. */
export const crc32 = (text: string): number => crc.bstr(text) >>> 0;

const BASE62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

/** A 32-bit number as six base62 digits. */
export function base62(value: number): string {
  let digits = '';
  for (let rest = value; digits.length < 6; rest = Math.floor(rest / 62))
    digits = BASE62.charAt(rest % 62) + digits;
  return digits;
}

/**
 * Tokens of GitHub and npm: 30 random characters after the prefix, then their CRC-32 as six base62 digits.
 */
export function hasChecksum(token: string): boolean {
  const body = token.slice(token.indexOf('_') + 1);
  return base62(crc32(body.slice(0, -6))) === body.slice(-6);
}

const BASE32 = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567';

/**
 * The account number that an AWS access key id contains since 2019; null if it has none or an impossible one.
 */
export function awsAccountOf(id: string): string | null {
  // Older ids have none.
  if ('IJ'.includes(id.charAt(4))) return null;
  let bits = 0n;
  for (const char of id.slice(4, 14)) bits = bits * 32n + BigInt(BASE32.indexOf(char));
  // Of these 50 bits, the 40 after the first one are the number.
  const account = (bits >> 9n) & 0xffffffffffn;
  return account <= 999_999_999_999n ? account.toString().padStart(12, '0') : null;
}

/** An AWS access key id with a possible account number, or an older one. */
export const isAwsKeyId = (id: string): boolean =>
  !id.endsWith('EXAMPLE') &&
  isVaried(id.slice(4)) &&
  ('IJ'.includes(id.charAt(4)) || awsAccountOf(id) !== null);

/**
 * A JWT: a header that names its algorithm, and a payload, both JSON objects. A DPoP proof is not one: it is
 * valid for a single request.
 */
export function isJwt(token: string): boolean {
  const [header, payload] = token.split('.');
  const text = Buffer.from(header ?? '', 'base64').toString('latin1');
  // Rejects most texts that are not JWTs without an exception.
  if (!text.includes('"alg"') || !text.endsWith('}')) return false;
  const head = parsed(text);
  return (
    typeof head?.alg === 'string' && head.typ !== 'dpop+jwt' && parsed(decodedText(payload ?? '')) !== null
  );
}

/** The base64 of a private key in PEM: DER or the OpenSSH format. */
export function isKeyBody(body: string): boolean {
  const lines = body.replace(/\\[nr]/g, '\n').split(/\s+/);
  // Old encrypted keys begin with headers.
  const base64 = lines.filter((line) => /^[A-Za-z0-9+/]{4,}={0,2}$/.test(line)).join('');
  const bytes = Buffer.from(base64, 'base64');
  if (bytes.length < 32) return false;
  return (
    bytes[0] === 0x30 ||
    bytes.toString('latin1', 0, 14) === 'openssh-key-v1' ||
    /DEK-Info|Proc-Type/.test(body)
  );
}

/** The content of Basic authentication: `user:password`. */
export function isBasic(token: string): boolean {
  const text = Buffer.from(token.slice(token.lastIndexOf(' ') + 1), 'base64').toString('latin1');
  const colon = text.indexOf(':');
  return colon > 0 && /^[\x20-\x7e]+$/.test(text) && isLikelySecret(text.slice(colon + 1));
}

/** The payload of tokens that contain JSON: those of Grafana and 1Password. */
export const holdsJson = (token: string): boolean =>
  parsed(decodedText(token.slice(token.indexOf('eyJ')))) !== null;

/** The count of each ASCII character; the last place counts all others. */
const counts = new Uint32Array(129);

/** Bits of entropy per character. */
function entropyOf(text: string): number {
  counts.fill(0);
  for (let at = 0; at < text.length; at++) {
    const code = Math.min(text.charCodeAt(at), 128);
    counts[code] = (counts[code] as number) + 1;
  }
  let bits = 0;
  for (const count of counts) if (count) bits -= (count / text.length) * Math.log2(count / text.length);
  return bits;
}

const PLAIN =
  /(.)\1{5}|example|placeholder|redacted|123456789|abcdefgh|changeme|your[-_]?|xxxx|\*\*\*|\.\.\./i;

/** Whether the part after a known prefix looks random and is not a placeholder. */
export const isVaried = (text: string): boolean => entropyOf(text) >= 2.5 && !PLAIN.test(text);

/** Words of texts that are not secrets, in any case. */
const STOP =
  /example|sample|dummy|placeholder|change|replace|your|secret|passw|token|redact|insert|default|undefined|function|return|process|config|import|string|value|test|mock|fake|null|none|true|false|lorem|hello|world|https?:|node_modules|public|private|schema|error|invalid|\.(?:js|ts|json|md|html|css|com|org|io)\b/i;

/**
 * Whether a text looks random: letters and digits mixed, without common words. Conservative: it misses
 * passwords that people choose.
 */
export function isLikelySecret(text: string): boolean {
  if (text.length < 12 || !/\d/.test(text) || !/[A-Za-z]/.test(text)) return false;
  if (PLAIN.test(text) || STOP.test(text) || /[${}<>()[\]\s%]/.test(text)) return false;
  return entropyOf(text) >= 3;
}

const PATH_OF_NAMES = /^[A-Za-z_][A-Za-z0-9_]*(?:[.][A-Za-z_][A-Za-z0-9_]*){1,40}$/;

/**
 * The same for a value identified only by its name: at least 20 characters, many changes between letters and
 * digits, not a hash and not a UUID.
 */
export function isRandom(text: string): boolean {
  if (text.length < 20 || PATH_OF_NAMES.test(text) || !isLikelySecret(text) || entropyOf(text) < 3.7)
    return false;
  const runs = text.match(/[A-Z]+|[a-z]+|\d+/g) ?? [];
  // A name such as UserAccessV2 has long runs and digits in one place.
  if (runs.filter((run) => /\d/.test(run)).length < 2) return false;
  return (
    runs.length >= text.length / 4 &&
    !/^[0-9a-f]+$|^[0-9A-F]+$/.test(text) &&
    !/^[0-9a-f]{8}-[0-9a-f]{4}-/i.test(text)
  );
}
