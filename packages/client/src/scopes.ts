// How scopes include each other. Invariant: a test compares the rule with the decisions of the service.

/**
 * Whether a list of scopes includes a scope: the scope itself, `resource:*` or `*`. Only the same wildcard or `*` includes a wildcard.
 *
 * @example
 * covers(['secrets:*'], 'secrets:read'); // true
 */
export const covers = (held: readonly string[], wanted: string): boolean =>
  held.includes('*') || held.includes(wanted) || (!wanted.endsWith(':*') && held.includes(`${wanted.split(':')[0]}:*`));
