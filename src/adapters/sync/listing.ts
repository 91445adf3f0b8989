// Helpers for listings. Invariant: a listing that does not match the vendor's documentation ends the sync,
// and is never read as empty.
import type { Reply } from './call';
import { unreadable } from './target-error';

/** A value that must be a non-empty text. */
export function text(value: unknown): string {
  if (typeof value === 'string' && value !== '') return value;
  throw unreadable();
}

/** A list entry that must be an object. */
export function entry(value: unknown): Record<string, unknown> {
  if (typeof value === 'object' && value !== null && !Array.isArray(value))
    return value as Record<string, unknown>;
  throw unreadable();
}

/**
 * The most pages of one listing, and the most in a row without an entry: a sync makes at most 1,000 calls.
 */
const MOST_PAGES = 1000;
const MOST_EMPTY = 100;

/**
 * Follows one listing. The function is given the token of each next page, and the number of entries before
 * it; it throws if they do not end.
 */
export function paging(): (next: string | number, entries: number) => void {
  const seen = new Set<string | number>();
  let empty = 0;
  return (next, entries) => {
    empty = entries ? 0 : empty + 1;
    // safety: sync-pages-end
    if (seen.has(next) || seen.size >= MOST_PAGES - 1 || empty >= MOST_EMPTY) throw unreadable();
    seen.add(next);
  };
}

/** The next page in a `Link` header: https://www.rfc-editor.org/rfc/rfc8288. Null on the last page. */
export function nextLink({ headers }: Reply): string | null {
  const link = headers.get('link')?.match(/<([^<>]*)>\s*;[^<]*\brel=("next"|next\b(?!-))/i);
  return link?.[1] ?? null;
}
