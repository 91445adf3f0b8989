// The types of secrets and of events, and how scopes include each other. Invariant: a test compares the lists with openapi.json, and the rule with the
// decisions of the service.
import type { components } from './api.js';

type SecretType = components['schemas']['Secret']['type'];
/** A type of event. */
export type EventType = Exclude<Extract<components['schemas']['WebhookIn']['events'], readonly unknown[]>[number], '*'>;

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
 * Every type of event that webhooks and notifications can subscribe to.
 *
 * @example
 * const ofSecrets = eventTypes.filter((type) => type.startsWith('SECRET_'));
 */
export const eventTypes = [
  'SECRET_CREATED',
  'SECRET_UPDATED',
  'SECRET_ROTATED',
  'SECRET_ROTATION_DUE',
  'SECRET_DELETED',
  'SECRET_RESTORED',
  'SECRET_SHARED',
  'SECRET_REVOKED',
  'SECRET_EXPIRING',
  'SECRET_EXPIRED',
  'SECRET_LEAKED',
  'CREDENTIAL_CREATED',
  'CREDENTIAL_REVOKED',
  'CREDENTIAL_EXPIRING',
  'BREAK_GLASS_ISSUED',
  'BREAK_GLASS_USED',
  'MEMBER_ENROLLED',
  'ENROLMENT_CREATED',
  'ORG_RECOVERED',
  'POLICY_VIOLATED',
  'APPROVAL_REQUESTED',
  'APPROVAL_DECIDED',
  'DEVICE_REGISTERED',
  'DEVICE_ASSIGNED',
  'DEVICE_UNASSIGNED',
  'DEVICE_BLOCKED',
  'DEVICE_REMOVED',
  'AUDIT_CHECKPOINT',
  'SYNC_COMPLETED',
  'SYNC_FAILED',
  'WEBHOOK_DISABLED',
] as const satisfies EventType[];

/**
 * Whether a list of scopes includes a scope: the scope itself, `resource:*` or `*`. Only the same wildcard or `*` includes a wildcard.
 *
 * @example
 * covers(['secrets:*'], 'secrets:read'); // true
 */
export const covers = (held: readonly string[], wanted: string): boolean =>
  held.includes('*') || held.includes(wanted) || (!wanted.endsWith(':*') && held.includes(`${wanted.split(':')[0]}:*`));
