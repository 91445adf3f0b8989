// Kinds of events for notifications: the severity and title of each, and which ones a connection subscribes
// to by default.
import type { Severity } from '../../adapters/notify/adapter';
import type { EventType } from '../../gate/outbox';

/** Severity and title of each kind. The list is complete. */
const kinds = {
  SECRET_LEAKED: ['critical', 'Secret leaked'],
  BREAK_GLASS_ISSUED: ['critical', 'Break-glass token issued'],
  BREAK_GLASS_USED: ['critical', 'Break-glass token used'],
  ORG_RECOVERED: ['critical', 'Organisation recovered'],
  INCIDENT_OPENED: ['critical', 'Incident opened'],
  SYNC_FAILED: ['error', 'Sync failed'],
  WEBHOOK_DISABLED: ['error', 'Webhook disabled'],
  LOG_STREAM_DISABLED: ['error', 'Log stream disabled'],
  LOG_STREAM_CHANGED: ['warning', 'Log stream changed'],
  UPSTREAM_CHANGED: ['warning', 'Upstream changed'],
  POLICY_VIOLATED: ['warning', 'Policy violated'],
  SECRET_EXPIRING: ['warning', 'Secret expires soon'],
  CREDENTIAL_EXPIRING: ['warning', 'Credential expires soon'],
  SECRET_EXPIRED: ['warning', 'Secret expired'],
  SECRET_REVOKED: ['warning', 'Secret revoked'],
  SECRET_ROTATION_DUE: ['warning', 'Secret due for rotation'],
  CREDENTIAL_REVOKED: ['warning', 'Credential revoked'],
  DEVICE_BLOCKED: ['warning', 'Device blocked'],
  MEMBER_ADDED: ['warning', 'Member added'],
  MEMBER_CHANGED: ['warning', 'Member changed'],
  MEMBER_REMOVED: ['warning', 'Member removed'],
  GRANT_CREATED: ['warning', 'Grant created'],
  POLICY_CHANGED: ['warning', 'Policy changed'],
  POLICY_REMOVED: ['warning', 'Policy removed'],
  TRUST_CHANGED: ['warning', 'Trust changed'],
  SSO_CHANGED: ['warning', 'Single sign-on changed'],
  ENROLMENT_CREATED: ['warning', 'Enrolment link created'],
  SECRET_CREATED: ['info', 'Secret created'],
  SECRET_UPDATED: ['info', 'Secret updated'],
  SECRET_ROTATED: ['info', 'Secret rotated'],
  SECRET_DELETED: ['info', 'Secret deleted'],
  SECRET_RESTORED: ['info', 'Secret restored'],
  SECRET_SHARED: ['info', 'Secret shared'],
  DEVICE_REGISTERED: ['info', 'Device registered'],
  DEVICE_ASSIGNED: ['info', 'Device assigned'],
  DEVICE_UNASSIGNED: ['info', 'Device unassigned'],
  DEVICE_REMOVED: ['info', 'Device removed'],
  APPROVAL_REQUESTED: ['info', 'Approval requested'],
  APPROVAL_DECIDED: ['info', 'Approval decided'],
  GRANT_REMOVED: ['info', 'Grant removed'],
  POLICY_CREATED: ['info', 'Policy created'],
  MEMBER_ENROLLED: ['info', 'Member enrolled'],
  CREDENTIAL_CREATED: ['info', 'Credential created'],
  SYNC_COMPLETED: ['info', 'Sync completed'],
  AUDIT_CHECKPOINT: ['info', 'Audit log checkpoint'],
} as const satisfies Record<EventType | 'SYNC_FAILED' | 'SYNC_COMPLETED', readonly [Severity, string]>;

export type EventKind = keyof typeof kinds;
export const eventKinds = Object.keys(kinds) as [EventKind, ...EventKind[]];

export const severityOf = (kind: EventKind): Severity => kinds[kind][0];
export const titleOf = (kind: EventKind): string => kinds[kind][1];

/** Paging services. */
const PAGING = ['pagerduty', 'opsgenie'];

/** What a connection subscribes to by default. */
export const defaultEvents = (platform: string): EventKind[] => [
  'SECRET_ROTATED',
  'SECRET_LEAKED',
  ...(PAGING.includes(platform) ? [] : (['POLICY_VIOLATED'] as const)),
];
