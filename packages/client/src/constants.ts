// What programs need to know of the API besides its types: the types of secrets, and how scopes cover each other. Invariant: a test compares
// the list with openapi.json, and the rule with what the service decides.
import type { components } from './api.js';

type SecretType = components['schemas']['Secret']['type'];

/** Every type of a secret, the one without a meaning of its own first. */
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

/** Whether scopes give a scope: by itself, by `resource:*` or by `*`. A wildcard is given by itself and by `*` alone. */
export const covers = (held: readonly string[], wanted: string): boolean =>
  held.includes('*') || held.includes(wanted) || (!wanted.endsWith(':*') && held.includes(`${wanted.split(':')[0]}:*`));
