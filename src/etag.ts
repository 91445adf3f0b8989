// Entity tags (RFC 9110 §8.8.3). Pure. Invariant: a strong comparison never accepts a weak tag.

/** The ETag of a resource: its revision, which each change raises by one. */
export const revisionTag = (revision: number): string => `"r${revision}"`;

/**
 * Whether an If-Match or If-None-Match header contains this ETag or `*` (RFC 9110 §13.1). `weak` ignores the
 * prefix `W/`.
 */
export function matchesETag(header: string, etag: string, weak = false): boolean {
  return header.split(',').some((part) => {
    const tag = part.trim();
    return tag === '*' || tag === etag || (weak && tag === `W/${etag}`);
  });
}

/**
 * Whether a read of a secret, of an environment's values or of the OpenAPI document is answered 304: its
 * If-None-Match, if there is one, contains the ETag of what would be answered.
 */
export const isNotModified = (ifNoneMatch: string | null, etag: string): boolean =>
  ifNoneMatch !== null && matchesETag(ifNoneMatch, etag, true);
