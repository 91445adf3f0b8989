// The types of secrets. Invariant: a test compares the list with openapi.json.
import type { components } from './openapi.js';

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
