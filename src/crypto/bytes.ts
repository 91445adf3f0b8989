// Bytes and their spellings: UTF-8, base64, base62, and the length-prefixed tuple that every MAC and AAD is made of.
// Invariant: each decoder refuses (null) every spelling but the one that its encoder gives.

const encoder = new TextEncoder();
const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

export const utf8 = (text: string): Uint8Array => encoder.encode(text);

/** Decodes UTF-8 byte for byte (a BOM stays); null for what is not UTF-8. */
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

/** Joins parts so that no two different lists give the same bytes: each part behind its length, 4 bytes, big-endian. */
export function tuple(...parts: (string | Uint8Array)[]): Uint8Array {
  const pieces: Uint8Array[] = [];
  for (const part of parts) {
    const bytes = typeof part === 'string' ? utf8(part) : part;
    const length = new Uint8Array(4);
    new DataView(length.buffer).setUint32(0, bytes.length);
    pieces.push(length, bytes);
  }
  return concat(...pieces);
}

export function toBase64(bytes: Uint8Array): string {
  let binary = '';
  for (let at = 0; at < bytes.length; at += 8192) binary += String.fromCharCode(...bytes.subarray(at, at + 8192));
  return btoa(binary);
}

/** Decodes canonical base64 (RFC 4648 §4, padded); null for anything else. */
export function fromBase64(text: string): Uint8Array | null {
  try {
    const bytes = Uint8Array.from(atob(text), (char) => char.charCodeAt(0));
    return toBase64(bytes) === text ? bytes : null;
  } catch {
    return null;
  }
}

const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const DIGIT = new Map([...ALPHABET].map((char, value) => [char, value]));
/** Characters that `length` bytes take in base62. */
const width = (length: number) => Math.ceil((length * 8) / Math.log2(62));

/** Fixed-width big-endian base62, in ASCII order, so that the texts sort as the bytes do. */
export function toBase62(bytes: Uint8Array): string {
  let value = 0n;
  for (const byte of bytes) value = (value << 8n) | BigInt(byte);
  let text = '';
  for (let left = width(bytes.length); left > 0; left--) {
    text = ALPHABET[Number(value % 62n)] + text;
    value /= 62n;
  }
  return text;
}

/** Decodes fixed-width base62 of `length` bytes; null for another width, another character, or a number that does not fit. */
export function fromBase62(text: string, length: number): Uint8Array | null {
  if (text.length !== width(length)) return null;
  let value = 0n;
  for (const char of text) {
    const digit = DIGIT.get(char);
    if (digit === undefined) return null;
    value = value * 62n + BigInt(digit);
  }
  if (value >> BigInt(length * 8)) return null;
  const bytes = new Uint8Array(length);
  for (let at = length - 1; at >= 0; at--) {
    bytes[at] = Number(value & 255n);
    value >>= 8n;
  }
  return bytes;
}
