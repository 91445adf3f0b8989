// Constants and rules of the API besides its types: the types of secrets, and how scopes cover each other. Invariant: a test compares
// the list with openapi.json, and the rule with the service.
import type { components } from './api.js';

type SecretType = components['schemas']['Secret']['type'];

/** All types of secrets, starting with the generic one. */
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

/** Whether scopes include a scope: directly, with `resource:*` or with `*`. A wildcard is included only directly or with `*`. */
export const covers = (held: readonly string[], wanted: string): boolean =>
  held.includes('*') || held.includes(wanted) || (!wanted.endsWith(':*') && held.includes(`${wanted.split(':')[0]}:*`));
