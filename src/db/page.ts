// Pages: opaque cursors, bound to an org and a list by a MAC. A cursor names the last item of its page, so that items inserted or
// deleted meanwhile make no other appear twice or vanish.
import { concat, fromBase62, fromUtf8, toBase62, tuple, utf8 } from '../crypto/bytes';
import { equal, hmac } from '../crypto/digest';

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

const TAG = 12;
const tagOf = (key: Uint8Array, org: string, list: string, position: string) =>
  hmac(key, tuple('svc/v1/cursor', org, list, position)).subarray(0, TAG);

/** Spells the position of a list's last item. */
export function toCursor(key: Uint8Array, org: string, list: string, position: string): string {
  const bytes = utf8(position);
  return `${bytes.length}_${toBase62(concat(bytes, tagOf(key, org, list, position)))}`;
}

/** The position that a cursor spells, or null if it is not this list's, or not exactly as it was given. */
export function fromCursor(key: Uint8Array, org: string, list: string, cursor: string): string | null {
  const [, length] = /^([1-9]\d{0,2})_[0-9A-Za-z]+$/.exec(cursor) ?? [];
  if (length === undefined) return null;
  const size = Number(length);
  const bytes = size <= 300 ? fromBase62(cursor.slice(length.length + 1), size + TAG) : null;
  if (!bytes) return null;
  const position = fromUtf8(bytes.subarray(0, size));
  return position !== null && equal(bytes.subarray(size), tagOf(key, org, list, position)) ? position : null;
}
