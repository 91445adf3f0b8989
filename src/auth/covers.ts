// How scopes include each other. Pure and without imports. Invariant: the client decides by this very text;
// `npm run openapi` copies it to packages/client/src/api/scopes.ts.

/**
 * Whether a list of scopes includes a scope: the scope itself, `resource:*` or `*`. Only the same wildcard or
 * `*` includes a wildcard.
 *
 * @example
 * covers(['secrets:*'], 'secrets:read'); // true
 */
export const covers = (held: readonly string[], wanted: string): boolean =>
  held.includes('*') ||
  held.includes(wanted) ||
  (!wanted.endsWith(':*') && held.includes(`${wanted.split(':')[0]}:*`));
