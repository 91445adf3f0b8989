// The types of events. Invariant: a test compares the list with openapi.json.
import type { components } from './openapi.js';

/**
 * A type of event.
 *
 * @example
 * const watched: EventType[] = ['SECRET_ROTATED', 'SECRET_LEAKED'];
 */
export type EventType = Exclude<
  Extract<components['schemas']['WebhookIn']['events'], readonly unknown[]>[number],
  '*'
>;

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
  'INCIDENT_OPENED',
  'BREAK_GLASS_ISSUED',
  'BREAK_GLASS_USED',
  'TRUST_CHANGED',
  'SSO_CHANGED',
  'MEMBER_ADDED',
  'MEMBER_ENROLLED',
  'MEMBER_CHANGED',
  'MEMBER_REMOVED',
  'GRANT_CREATED',
  'GRANT_REMOVED',
  'ENROLMENT_CREATED',
  'ORG_RECOVERED',
  'POLICY_CREATED',
  'POLICY_CHANGED',
  'POLICY_REMOVED',
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
  'LOG_STREAM_CHANGED',
  'LOG_STREAM_DISABLED',
  'UPSTREAM_CHANGED',
] as const satisfies EventType[];
