// The kinds of events, in groups, for what sends them on.
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

/** Owners hear of these whatever a connection lists. */
export const ALWAYS: readonly EventKind[] = ['BREAK_GLASS_ISSUED', 'BREAK_GLASS_USED', 'ORG_RECOVERED', 'ENROLMENT_CREATED'];

/** `SECRET_ROTATION_DUE` in words: `Secret rotation due`. */
export const wordsOf = (kind: string): string => {
  const words = kind.toLowerCase().replaceAll('_', ' ');
  return words.charAt(0).toUpperCase() + words.slice(1);
};

/** Which events, in few words. */
export function eventsInWords(events: '*' | readonly string[] | undefined): string {
  if (!events) return '';
  if (events === '*') return 'All events';
  const [first = '', ...rest] = events;
  return rest.length ? `${wordsOf(first)} and ${rest.length} more` : wordsOf(first);
}
