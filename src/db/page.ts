// Pages: opaque cursors, encrypted and bound to an organisation and a list. A cursor contains the position of
// the last item of its page, so concurrent inserts and deletes cause no duplicates or gaps. Invariant: a
// cursor does not reveal that item, which its reader may not be allowed to see.
import { fromBase64, fromBase64Url, fromUtf8, toBase64, toBase64Url, utf8 } from '../crypto/bytes';
import { decrypt, encrypt } from '../crypto/envelope';

export interface Page<T> {
  data: T[];
  next_cursor: string | null;
  has_more: boolean;
}

/** A page of a list: its items and where it stopped, or null at the end. */
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

/** The position in a cursor; null if it belongs to another list or was altered. */
export function fromCursor(key: Uint8Array, org: string, list: string, cursor: string): string | null {
  const bytes = fromBase64Url(cursor);
  const opened = bytes && decrypt(key, 'cursor', [org, list], toBase64(bytes));
  return opened && opened.length <= MOST_POSITION ? fromUtf8(opened) : null;
}
