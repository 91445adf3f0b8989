// Pages: opaque cursors, encrypted and bound to an organisation and a list. A cursor holds the position of the last item of its page, so
// that items inserted or deleted meanwhile make no other appear twice or vanish. Invariant: it tells nobody what that item is, which may
// be one that its reader is not shown.
import { fromBase64, fromBase64Url, fromUtf8, toBase64, toBase64Url, utf8 } from '../crypto/bytes';
import { decrypt, encrypt } from '../crypto/envelope';

export interface Page<T> {
  data: T[];
  next_cursor: string | null;
  has_more: boolean;
}

/** What a list gives: its items and where it stopped, or null at its end. */
export interface Slice<T> {
  items: T[];
  next: string | null;
}

/** Positions are ids, numbers, or a number and a hash. */
const MOST_POSITION = 300;

/** Encrypts the position of a list's last item. */
export function toCursor(key: Uint8Array, org: string, list: string, position: string): string {
  return toBase64Url(fromBase64(encrypt(key, 'cursor', [org, list], utf8(position))) as Uint8Array);
}

/** The position that a cursor holds, or null if it is not this list's, or not exactly as it was given. */
export function fromCursor(key: Uint8Array, org: string, list: string, cursor: string): string | null {
  const bytes = fromBase64Url(cursor);
  const opened = bytes && decrypt(key, 'cursor', [org, list], toBase64(bytes));
  return opened && opened.length <= MOST_POSITION ? fromUtf8(opened) : null;
}
