// What a program must bring to use svc proxy. Invariant: a request without the token of its run, one that a
// web page sent, and one that was meant for another address are refused before the vault is asked anything.
import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';

/** Of letters and digits alone, so that it can stand wherever a key of an SDK does. */
export const newToken = (): string => `svcrun${randomBytes(24).toString('hex')}`;

/** Headers in which SDKs send a key. */
export const CREDENTIAL_HEADERS = ['authorization', 'x-api-key', 'api-key', 'x-goog-api-key'];

const digest = (text: string): Buffer => createHash('sha256').update(text).digest();
const isSame = (one: string, other: string): boolean => timingSafeEqual(digest(one), digest(other));

/** What Basic credentials consist of. */
function halves(encoded: string): string[] {
  const text = Buffer.from(encoded, 'base64').toString();
  const at = text.indexOf(':');
  return at < 0 ? [text] : [text.slice(0, at), text.slice(at + 1)];
}

/** The keys that a header may bring. */
function keysIn(name: string, value: string): string[] {
  if (!name.endsWith('authorization')) return [value.trim()];
  const [, keyId] = /^AWS4-HMAC-SHA256\s+(?:.*,\s*)?Credential=([^/,\s]{1,256})\//.exec(value) ?? [];
  if (keyId !== undefined) return [keyId];
  const [, scheme = '', key = ''] = /^(\S+) +(\S+) *$/.exec(value) ?? [];
  if (/^basic$/i.test(scheme)) return halves(key);
  return /^(bearer|token)$/i.test(scheme) ? [key] : [];
}

const brings = (headers: IncomingHttpHeaders, names: readonly string[], token: string): boolean =>
  names.some((name) => {
    const value = headers[name];
    return typeof value === 'string' && keysIn(name, value).some((key) => isSame(key, token));
  });

/** Whether a request brings the token where SDKs put a key. */
export const hasKey = (headers: IncomingHttpHeaders, token: string): boolean =>
  brings(headers, CREDENTIAL_HEADERS, token);

/** Whether a request to the proxy brings the token. */
export const hasProxyKey = (headers: IncomingHttpHeaders, token: string): boolean =>
  brings(headers, ['proxy-authorization'], token);

/** Whether a browser sent a request. Programs send neither header. */
export const isOfPage = (headers: IncomingHttpHeaders): boolean =>
  headers.origin !== undefined || headers['sec-fetch-site'] !== undefined;
