// PagerDuty, Events API v2: https://developer.pagerduty.com/docs/send-alert-event. Repeats with the same
// dedup_key are one incident.
import { z } from '@hono/zod-openapi';
import { adapter, post, Region, SecretText } from './adapter';
import { cut, oneLine } from './text';

const MOST_SUMMARY = 1024;
const MOST_KEY = 255;
/** The most characters of the full text. A body may have 512 kB. */
const MOST_TEXT = 40_000;

export const pagerduty = adapter({
  platform: 'pagerduty',
  config: z.strictObject({ routingKey: SecretText, region: Region.optional() }),
  credentials: ['routingKey'],
  request: ({ routingKey, region }, { severity, title, text, event, link, key, time }) =>
    post(`https://events.${region === 'eu' ? 'eu.' : ''}pagerduty.com/v2/enqueue`, {
      routing_key: routingKey,
      event_action: 'trigger',
      dedup_key: cut(key, { most: MOST_KEY }),
      payload: {
        summary: cut(`${title}: ${oneLine(text)}`, { most: MOST_SUMMARY }),
        source: 'secrets-vault-service',
        severity,
        timestamp: new Date(time).toISOString(),
        component: 'secrets',
        ...(event && { class: event.type }),
        custom_details: {
          message: cut(text, { most: MOST_TEXT }),
          ...(event && { event_id: event.id, org_id: event.org_id }),
        },
      },
      ...(link !== null && { links: [{ href: link, text: 'Open' }] }),
      client: 'Secrets Vault Service',
    }),
});
