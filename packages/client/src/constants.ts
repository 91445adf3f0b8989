// The types of secrets, and how scopes include each other. Invariant: a test compares the list with openapi.json, and the rule with the
// decisions of the service.
import type { components } from './api.js';

type SecretType = components['schemas']['Secret']['type'];

/**
 * Every type that a secret can have. The default, `generic`, comes first.
 *
 * @example
 * if (!secretTypes.includes(type)) throw new TypeError(`type must be one of ${secretTypes.join(', ')}`);
 */
export const secretTypes = [
  'generic',
  'api_key',
  'password',
  'database_url',
  'certificate',
  'private_key',
  'ssh_key',
  'oauth_token',
  'webhook_secret',
  'env_var',
  'json',
] as const satisfies SecretType[];

/**
 * Whether a list of scopes includes a scope: the scope itself, `resource:*` or `*`. Only the same wildcard or `*` includes a wildcard.
 *
 * @example
 * covers(['secrets:*'], 'secrets:read'); // true
 */
export const covers = (held: readonly string[], wanted: string): boolean =>
  held.includes('*') || held.includes(wanted) || (!wanted.endsWith(':*') && held.includes(`${wanted.split(':')[0]}:*`));
