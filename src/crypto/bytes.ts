// Bytes and their encodings: UTF-8, base64, base64url, base62, and the length-prefixed tuple used in every
// MAC and AAD. Invariant: each decoder rejects (null) every encoding except the canonical one.

const encoder = new TextEncoder();
const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

export const utf8 = (text: string): Uint8Array => encoder.encode(text);

/** Decodes UTF-8 byte for byte (a BOM stays); null if it is not UTF-8. */
export function fromUtf8(bytes: Uint8Array): string | null {
  try {
    return decoder.decode(bytes);
  } catch {
    return null;
  }
}

export const randomBytes = (length: number): Uint8Array => crypto.getRandomValues(new Uint8Array(length));

export function concat(...parts: Uint8Array[]): Uint8Array {
  const whole = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

/**
 * Joins parts so that different lists never give the same bytes: each part is preceded by its length, 4
 * bytes, big-endian.
 */
export function tuple(...parts: (string | Uint8Array)[]): Uint8Array {
  const pieces = parts.map((part) => (typeof part === 'string' ? utf8(part) : part));
  const whole = new Uint8Array(pieces.reduce((sum, piece) => sum + 4 + piece.length, 0));
  const lengths = new DataView(whole.buffer);
  let at = 0;
  for (const piece of pieces) {
    lengths.setUint32(at, piece.length);
    whole.set(piece, at + 4);
    at += 4 + piece.length;
  }
  return whole;
}

export const toBase64 = (bytes: Uint8Array): string =>
  Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64');

/** Decodes canonical base64 (RFC 4648 §4, padded); null for anything else. */
export function fromBase64(text: string): Uint8Array | null {
  const bytes = Buffer.from(text, 'base64');
  return bytes.toString('base64') === text
    ? new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength)
    : null;
}

export const toBase64Url = (bytes: Uint8Array): string =>
  Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64url');

/** Decodes canonical base64url (RFC 4648 §5, without padding); null for anything else. */
export function fromBase64Url(text: string): Uint8Array | null {
  const bytes = Buffer.from(text, 'base64url');
  return bytes.toString('base64url') === text
    ? new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength)
    : null;
}

const BASE32 = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567';

/** Base32 (RFC 4648 §6) of a multiple of 5 bytes, which needs no padding. */
export function toBase32(bytes: Uint8Array): string {
  let text = '';
  for (let at = 0; at < bytes.length; at += 5) {
    const value = bytes.subarray(at, at + 5).reduce((sum, byte) => sum * 256 + byte, 0);
    for (let shift = 35; shift >= 0; shift -= 5) text += BASE32[Math.floor(value / 2 ** shift) % 32];
  }
  return text;
}

/** Decodes base32 of `length` bytes, a multiple of 5; null for a wrong length or character. */
export function fromBase32(text: string, length: number): Uint8Array | null {
  if (text.length !== (length / 5) * 8) return null;
  const bytes = new Uint8Array(length);
  for (let at = 0; at < length; at += 5) {
    let value = 0;
    for (const char of text.slice((at / 5) * 8, (at / 5) * 8 + 8)) {
      const digit = BASE32.indexOf(char);
      if (digit < 0) return null;
      value = value * 32 + digit;
    }
    for (let byte = 4; byte >= 0; byte--, value = Math.floor(value / 256)) bytes[at + byte] = value % 256;
  }
  return bytes;
}

const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const CODES = [...ALPHABET].map((char) => char.charCodeAt(0));
const DIGIT = new Map(CODES.map((code, value) => [code, value]));
/** The number of base62 characters for `length` bytes. */
const width = (length: number) => Math.ceil((length * 8) / Math.log2(62));

// Long division and multiplication in 16-bit words and steps of three digits: ids and tokens are encoded on
// every request, and BigInt takes ten times as long.
const WORD = 65_536;
const STEP = 62 ** 3;

/** Fixed-width big-endian base62 in ASCII order, so texts sort like their bytes. */
export function toBase62(bytes: Uint8Array): string {
  const odd = bytes.length % 2;
  const words: number[] = odd ? [bytes[0] as number] : [];
  for (let at = odd; at < bytes.length; at += 2)
    words.push((bytes[at] as number) * 256 + (bytes[at + 1] as number));
  const codes = new Array<number>(width(bytes.length));
  for (let at = codes.length - 1; at >= 0; ) {
    let rest = 0;
    for (let word = 0; word < words.length; word++) {
      const value = rest * WORD + (words[word] as number);
      words[word] = Math.floor(value / STEP);
      rest = value % STEP;
    }
    for (const end = Math.max(-1, at - 3); at > end; at--) {
      codes[at] = CODES[rest % 62] as number;
      rest = Math.floor(rest / 62);
    }
  }
  return String.fromCharCode(...codes);
}

/**
 * Decodes fixed-width base62 of `length` bytes; null for a wrong width or character, or a number that does
 * not fit.
 */
export function fromBase62(text: string, length: number): Uint8Array | null {
  if (text.length !== width(length)) return null;
  const words = new Array<number>(Math.ceil(length / 2)).fill(0);
  for (let at = 0; at < text.length; ) {
    let factor = 1;
    let carry = 0;
    for (const end = Math.min(text.length, at + 3); at < end; at++) {
      const digit = DIGIT.get(text.charCodeAt(at));
      if (digit === undefined) return null;
      factor *= 62;
      carry = carry * 62 + digit;
    }
    for (let word = words.length - 1; word >= 0; word--) {
      const value = (words[word] as number) * factor + carry;
      words[word] = value % WORD;
      carry = Math.floor(value / WORD);
    }
    if (carry) return null;
  }
  const odd = length % 2;
  if (odd && (words[0] as number) > 255) return null;
  const bytes = new Uint8Array(length);
  for (let at = 0; at < length; at++) {
    const word = words[(at + odd) >> 1] as number;
    bytes[at] = (at + odd) % 2 ? word & 255 : word >> 8;
  }
  return bytes;
}
