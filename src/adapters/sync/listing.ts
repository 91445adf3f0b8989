// Helpers for listings. Invariant: a listing that does not match the vendor's documentation ends the sync, and is never read as empty.
import type { Reply } from './call';
import { unreadable } from './target-error';

/** A value that must be a non-empty text. */
export function text(value: unknown): string {
  if (typeof value === 'string' && value !== '') return value;
  throw unreadable();
}

/** A list entry that must be an object. */
export function entry(value: unknown): Record<string, unknown> {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Record<string, unknown>;
  throw unreadable();
}

/** The next page in a `Link` header: https://www.rfc-editor.org/rfc/rfc8288. Null on the last page. */
export function nextLink({ headers }: Reply): string | null {
  const link = headers.get('link')?.match(/<([^<>]*)>\s*;[^<]*\brel=("next"|next\b(?!-))/i);
  return link?.[1] ?? null;
}
