// The event types, in groups, for notifications and webhooks.
import { type EventType, eventTypes } from '@secrets-vault/client';

const GROUPS: [label: string, pattern: RegExp][] = [
  ['Secrets', /^SECRET_/],
  ['Credentials and people', /^(CREDENTIAL|BREAK_GLASS|TRUST|MEMBER|ENROLMENT|GRANT|ORG|INCIDENT)_/],
  ['Governance', /^(POLICY|APPROVAL|DEVICE|AUDIT)_/],
  ['Integrations', /^(SYNC|WEBHOOK)_/],
];
const groupOf = (type: EventType): string => GROUPS.find(([, pattern]) => pattern.test(type))?.[0] ?? 'Other';

/** Every type is in one group. */
export const EVENT_GROUPS = Map.groupBy(eventTypes, groupOf);

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
