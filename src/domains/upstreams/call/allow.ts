// Which calls an upstream allows. Pure. Invariant: nothing is allowed that an entry does not name: the
// method, the path as it is sent, and each header that the entry lists must match.
import { matches } from '../../../auth/globs';
import type { UpstreamAllow } from '../../../db/upstreams';
import { isPlainPath } from './path';

/** HEAD is not GET. */
export const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'] as const;

/** A call, as far as `allow` judges it. */
export interface Judged {
  method: string;
  path: string;
  headers: readonly (readonly [name: string, value: string])[];
}

/** A header that is absent matches no pattern, not even `*`. */
const hasHeader = (headers: Judged['headers'], name: string, pattern: string): boolean =>
  headers.some(([given, value]) => given === name.toLowerCase() && matches(pattern, value));

export function isAllowed(allow: readonly UpstreamAllow[], { method, path, headers }: Judged): boolean {
  // safety: use-plain-path
  if (!isPlainPath(path)) return false;
  return allow.some(
    (entry) =>
      entry.methods.includes(method) &&
      entry.paths.some((pattern) => matches(pattern, path)) &&
      Object.entries(entry.headers ?? {}).every(([name, pattern]) => hasHeader(headers, name, pattern)),
  );
}

/** The most stars of a pattern, since each multiplies the work of comparing. */
export const MOST_STARS = 5;

export const starsIn = (text: string): number => text.split('*').length - 1;

/** Whether a text is a pattern of paths: what it spells out must be sendable. */
export const isPathPattern = (text: string): boolean =>
  starsIn(text) <= MOST_STARS && isPlainPath(text.replaceAll('?', 'x').replaceAll('*', 'x'));
