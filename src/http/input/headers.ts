// The headers that any request may have, each read once, because every read crosses into the runtime.
// Invariant: an invalid header becomes a finding, and its value is not passed on.
import { addressOf } from '../../auth/addresses';
import { fromUtf8 } from '../../crypto/bytes';
import { invalid, type Refusal } from '../../errors';
import { isPrintable, printable } from '../../text';

export interface RequestHeaders {
  authorization: string | null;
  /** A proof of possession (RFC 9449), as sent. */
  dpop: string | null;
  /** For a POST: the Idempotency-Key, bare or as a quoted structured-field string (RFC 8941 §3.3.3). */
  idempotency_key: string | null;
  if_match: string | null;
  if_none_match: string | null;
  /** The approval that the request uses. */
  approval_id: string | null;
  reason: string | null;
  /**
   * What a program needs the secret for, shown to those who decide the request. Of a person's words,
   * `reason`.
   */
  call: string | null;
  user_agent: string | null;
  /**
   * The client's address, or `unknown`. Another Worker that makes a request sets the header itself, and
   * Cloudflare then says nothing of the request.
   */
  ip: string;
  /** What is wrong with them, the first in the contract's order. */
  finding: Refusal | null;
}

/** The most characters of a list of entity tags, in If-Match or If-None-Match. */
const MOST_TAGS = 1000;
/**
 * What X-Access-Call may be: nothing that a page or a terminal shows as other than it is. A fact has room for
 * all of it.
 */
const CALL = /^[\x20-\x7e]{1,8000}$/;

export function readHeaders({ method, headers, cf }: Request): RequestHeaders {
  const key = method === 'POST' ? headers.get('idempotency-key') : null;
  const idempotency_key = key === null ? null : idempotencyKeyOf(key);
  const shown = headers.get('x-access-reason');
  const reason = shown === null ? null : reasonOf(shown);
  const call = headers.get('x-access-call');
  const isCall = call === null || CALL.test(call);
  const if_match = headers.get('if-match');
  const if_none_match = headers.get('if-none-match');
  const approval_id = headers.get('approval-id');
  // safety: address-by-the-platform
  const address = cf ? headers.get('cf-connecting-ip') : null;
  return {
    approval_id,
    authorization: headers.get('authorization'),
    dpop: headers.get('dpop'),
    idempotency_key,
    if_match,
    if_none_match,
    reason,
    call: isCall ? call : null,
    user_agent: printable(headers.get('user-agent') ?? '', 256) || null,
    ip: addressOf(address),
    finding:
      key !== null && idempotency_key === null
        ? invalid(
            'Idempotency-Key',
            'must be 1 to 255 printable ASCII characters, bare or as a quoted string',
          )
        : shown !== null && reason === null
          ? invalid('X-Access-Reason', 'must be 1 to 256 printable characters')
          : !isCall
            ? invalid('X-Access-Call', 'must be 1 to 8,000 printable ASCII characters')
            : (tooLong('If-Match', if_match) ?? tooLong('If-None-Match', if_none_match)),
  };
}

const tooLong = (name: string, tags: string | null): Refusal | null =>
  tags !== null && tags.length > MOST_TAGS
    ? invalid(name, `must have at most ${MOST_TAGS} characters`)
    : null;

/** The key in the header, or null if it is malformed. */
function idempotencyKeyOf(header: string): string | null {
  const quoted = /^"((?:[\x20-\x21\x23-\x5b\x5d-\x7e]|\\["\\])*)"$/.exec(header)?.[1];
  const key = quoted === undefined ? header : quoted.replace(/\\(["\\])/g, '$1');
  return /^[\x20-\x7e]{1,255}$/.test(key) ? key : null;
}

/**
 * The reason in the header, or null if it is malformed. 256 characters have at most 1,024 bytes, each of
 * which may arrive as a character.
 */
function reasonOf(header: string): string | null {
  if (header.length === 0 || header.length > 1024) return null;
  const reason = decoded(header);
  return [...reason].length <= 256 && isPrintable(reason) ? reason : null;
}

/** Decodes a header: HTTP carries bytes, so UTF-8 arrives as Latin-1. */
const decoded = (header: string): string => {
  const isBytes = [...header].every((char) => char.charCodeAt(0) < 256);
  return (isBytes && fromUtf8(Uint8Array.from(header, (char) => char.charCodeAt(0)))) || header;
};
