// The event types, in groups, for notifications and webhooks.
import type { components } from '@secrets-vault/client';

type Events = components['schemas']['WebhookIn']['events'];
export type EventKind = Exclude<Extract<Events, readonly unknown[]>[number], '*'>;

export const EVENT_GROUPS: Record<string, EventKind[]> = {
  Secrets: [
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
  ],
  'Credentials and people': [
    'CREDENTIAL_CREATED',
    'CREDENTIAL_REVOKED',
    'CREDENTIAL_EXPIRING',
    'BREAK_GLASS_ISSUED',
    'BREAK_GLASS_USED',
    'MEMBER_ENROLLED',
    'ENROLMENT_CREATED',
    'ORG_RECOVERED',
  ],
  Governance: [
    'POLICY_VIOLATED',
    'APPROVAL_REQUESTED',
    'APPROVAL_DECIDED',
    'DEVICE_REGISTERED',
    'DEVICE_ASSIGNED',
    'DEVICE_UNASSIGNED',
    'DEVICE_BLOCKED',
    'DEVICE_REMOVED',
    'AUDIT_CHECKPOINT',
  ],
  Integrations: ['SYNC_COMPLETED', 'SYNC_FAILED', 'WEBHOOK_DISABLED'],
};

/** Labels for types whose name alone is unclear. */
const SAID: Record<string, string> = {
  BREAK_GLASS_ISSUED: 'Break-glass token issued',
  BREAK_GLASS_USED: 'Break-glass token used',
  ENROLMENT_CREATED: 'Enrolment link created',
  ORG_RECOVERED: 'Organisation recovered',
  AUDIT_CHECKPOINT: 'Audit checkpoint signed',
  WEBHOOK_TEST: 'Test event',
};

/** The label of an event type: `SECRET_ROTATION_DUE` becomes `Secret rotation due`. */
export const wordsOf = (kind: string): string => {
  const said = SAID[kind];
  if (said) return said;
  const words = kind.toLowerCase().replaceAll('_', ' ');
  return words.charAt(0).toUpperCase() + words.slice(1);
};

/** A short description of the chosen events. */
export function eventsInWords(events: '*' | readonly string[] | undefined): string {
  if (!events) return '';
  if (events === '*') return 'All events';
  const [first = '', ...rest] = events;
  return rest.length ? `${wordsOf(first)} and ${rest.length} more` : wordsOf(first);
}
