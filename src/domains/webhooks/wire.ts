// Request and response schemas of webhooks and their deliveries.
import { z } from '@hono/zod-openapi';
import { exampleId } from '../../db/ids';
import type { WebhookRow } from '../../db/schema';
import { deliveryStatuses } from '../../delivery/gate/attempts';
import type { Delivery as DeliveryRow } from '../../delivery/gate/deliveries';
import { eventTypes } from '../../gate/outbox';
import { Instant, iso, isoOrNull, Overlap, pageOf, pageQuery, Revision, Time, text } from '../../http/wire';

/** Kinds of events that can be subscribed to. */
const kinds = [...eventTypes, 'SYNC_COMPLETED', 'SYNC_FAILED'] as const;

const distinct = (list: readonly string[]) => new Set(list).size === list.length;

const ALL = '*';
const Kinds = z
  .array(z.enum([ALL, ...kinds]))
  .min(1)
  .max(kinds.length)
  .refine(distinct, 'must not contain duplicates')
  .refine((list) => list.length === 1 || !list.includes(ALL), 'must not contain other kinds together with *');
/** Null means all. */
const Events = z
  .literal(ALL)
  .or(Kinds)
  .transform((events) => (events.includes(ALL) ? null : (events as string[])))
  .openapi({
    description: 'Kinds of events, or `*` for all, including future ones.',
    example: ['SECRET_ROTATED', 'SECRET_DELETED'],
  });

const Url = z.string().min(1).max(2048).openapi({
  example: 'https://hooks.example.com/vault',
  description:
    'An https URL of a public host, without credentials or fragment, with port 443 or a port from 1024 that no well-known service uses.',
});
const Description = text(1024).openapi({ example: 'Restarts the payment service' });

export const WebhookIn = z
  .strictObject({ url: Url, events: Events, description: Description.optional() })
  .openapi('WebhookIn');
export const WebhookPatch = z
  .strictObject({
    url: Url.optional(),
    events: Events.optional(),
    description: Description.nullable().optional(),
    enabled: z.boolean().optional(),
  })
  .openapi('WebhookPatch');
export const RotateSecretIn = z
  .strictObject({
    overlap_seconds: Overlap.openapi({
      description: 'How many seconds the old secret still signs deliveries too, 86,400 by default.',
      example: 3600,
    }),
  })
  .openapi('WebhookRotateSecretIn');
export const RedeliverIn = z
  .strictObject({
    since: Instant.openapi({ description: 'Time of the oldest event.', example: '2026-11-21T12:00:00.000Z' }),
  })
  .openapi('WebhookRedeliverIn');
export const DeliveryQuery = z.strictObject({
  ...pageQuery,
  status: z.enum(deliveryStatuses).optional().openapi({ description: 'Only deliveries with this status.' }),
});

const reasons = ['user', 'failing', 'gone'] as const;

export const Webhook = z
  .object({
    id: z.string().openapi({ example: exampleId('webhook') }),
    revision: Revision,
    url: z.string().openapi({
      description:
        'The URL. For a URL that is itself a credential, such as that of a Slack webhook, only the host.',
    }),
    events: z
      .literal('*')
      .or(z.array(z.string()))
      .openapi({ example: ['SECRET_ROTATED'] }),
    description: z.string().nullable(),
    enabled: z.boolean(),
    disabled_reason: z.enum(reasons).nullable().openapi({
      description:
        '`user`: by PATCH; `failing`: every attempt failed for 5 days; `gone`: the receiver answered 410.',
    }),
    old_secret_until: Time.nullable().openapi({
      description: 'Until when the secret before the last rotation still signs too.',
    }),
    created_by: z.string(),
    created_at: Time,
    updated_at: Time,
  })
  .openapi('Webhook');
export const WebhookCreated = Webhook.extend({
  secret: z
    .string()
    .nullable()
    .openapi({ description: 'The signing secret, shown once.', example: 'whsec_C2FVsBQIhrscChlQ…' }),
}).openapi('WebhookCreated');
const ListedWebhook = Webhook.extend({
  url: z.string().nullable().openapi({ description: 'As in `Webhook`; null if it does not open.' }),
  unreadable: z
    .array(z.string())
    .optional()
    .openapi({
      description:
        'Fields whose stored value was altered or is missing (an integrity violation). Absent if there are none.',
      example: ['url'],
    }),
}).openapi('ListedWebhook');
export const WebhookPage = pageOf(ListedWebhook, 'WebhookPage');

export const Delivery = z
  .object({
    id: z.string().openapi({ example: exampleId('delivery') }),
    webhook_id: z.string().openapi({ example: exampleId('webhook') }),
    event_id: z.string().openapi({
      description: 'Sent as `webhook-id`: the same in each attempt.',
      example: exampleId('event'),
    }),
    event_type: z.string().openapi({ example: 'SECRET_ROTATED' }),
    status: z
      .enum(deliveryStatuses)
      .openapi({ description: '`failed`: no further attempts are made; it can be redelivered.' }),
    attempts: z.int().openapi({ example: 1 }),
    created_at: Time,
    next_attempt_at: Time.nullable(),
    last_attempt_at: Time.nullable(),
    duration_ms: z.int().nullable().openapi({ description: 'How long the last attempt took.', example: 85 }),
    response_status: z.int().nullable().openapi({ example: 200 }),
    error: z.string().nullable().openapi({
      description:
        'Why the last attempt failed: `http_status`, `timeout`, `connection_failed`, `name_not_found`, `private_address`, `target_refused`; or why there was none: `webhook_disabled`, `backlog_full`.',
      example: null,
    }),
    response: z
      .string()
      .nullable()
      .openapi({ description: 'The first 1 kB of the last response.', example: 'ok' }),
  })
  .openapi('WebhookDelivery');
export const DeliveryPage = pageOf(Delivery, 'WebhookDeliveryPage');
export const Redelivered = z
  .object({
    redelivered: z.int().openapi({ example: 12 }),
    has_more: z.boolean().openapi({ description: 'Whether failed deliveries are left: repeat the request.' }),
  })
  .openapi('WebhookRedelivered');

/** A webhook as the gate returns it; the Worker adds the URL. */
export const webhookOut = (row: WebhookRow): Omit<z.infer<typeof Webhook>, 'url'> => ({
  id: row.id,
  revision: row.revision,
  events: row.events ?? '*',
  description: row.description,
  enabled: row.disabled === null,
  disabled_reason: row.disabled,
  old_secret_until: isoOrNull(row.old_secret_until),
  created_by: row.created_by,
  created_at: iso(row.created_at),
  updated_at: iso(row.updated_at),
});

export const deliveryOut = (row: DeliveryRow): z.infer<typeof Delivery> => ({
  id: row.id,
  webhook_id: row.webhook,
  event_id: row.event,
  event_type: row.type,
  status: row.status,
  attempts: row.attempts,
  created_at: iso(row.created_at),
  next_attempt_at: isoOrNull(row.next_at),
  last_attempt_at: isoOrNull(row.tried_at),
  duration_ms: row.ms,
  response_status: row.response_status,
  error: row.error,
  response: row.response,
});
