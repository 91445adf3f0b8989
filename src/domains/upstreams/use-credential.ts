// The credential of a call, wherever SDKs put one. Invariant: exactly one header brings it, and that header
// is not sent on.

import { readToken } from '../../auth/authentication/token';
import { fromBase64, fromUtf8 } from '../../crypto/bytes';
import { type Refusal, refuse } from '../../errors';
import { CREDENTIAL_HEADERS } from './call/request-headers';

const isOurs = (text: string): boolean => readToken(text) !== null;

/** The half of Basic credentials that is a token of ours; null unless exactly one is. */
function halfOf(encoded: string): string | null {
  const text = fromUtf8(fromBase64(encoded) ?? new Uint8Array()) ?? '';
  const at = text.indexOf(':');
  const halves = at < 0 ? [text] : [text.slice(0, at), text.slice(at + 1)];
  const tokens = halves.filter(isOurs);
  return tokens.length === 1 ? (tokens[0] as string) : null;
}

/** The most characters of an Authorization header: Basic credentials have 4,096. */
const MOST_HEADER = 8192;

/** What an Authorization header brings, as a bearer token; as it is where nothing else fits. */
function ofAuthorization(value: string): string {
  // Nobody is known yet, and what the header says is compared with several forms.
  // safety: use-header-bounded
  if (value.length > MOST_HEADER) return '';
  const [, basic] = /^Basic +([A-Za-z0-9+/=]{1,4096}) *$/i.exec(value) ?? [];
  const [, token] = /^token +([\x21-\x7e]{1,1024}) *$/i.exec(value) ?? [];
  const [, keyId] = /^AWS4-HMAC-SHA256\s(?:.*[\s,])?Credential=([^/,\s]{1,256})\//.exec(value) ?? [];
  if (keyId !== undefined) return isOurs(keyId) ? `Bearer ${keyId}` : '';
  if (basic !== undefined) return `Bearer ${halfOf(basic) ?? ''}`;
  return token === undefined ? value : `Bearer ${token}`;
}

/** The credential as the Authorization header that the rest of the service reads, or why there is none. */
export function useAuthorization(headers: Headers): string | null | Refusal {
  const given = CREDENTIAL_HEADERS.filter((name) => headers.has(name));
  const [name] = given;
  // safety: use-one-credential
  if (given.length > 1)
    return refuse('UNAUTHENTICATED', {
      message: `A call has one credential, and this one has several: in ${given.join(', ')}.`,
    });
  if (name === undefined) return null;
  const value = headers.get(name) ?? '';
  return name === 'authorization' ? ofAuthorization(value) : `Bearer ${value.trim()}`;
}
