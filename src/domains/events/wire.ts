// Request and response schemas of events.
import { z } from '@hono/zod-openapi';
import { type EventType, eventTypes, type StoredEvent } from '../../gate/outbox';
import { iso, pageQuery, Time } from '../../http/wire';

/** A sequence in a query. */
const Sequence = z
  .string()
  .regex(/^\d{1,15}$/, 'must be a sequence')
  .transform(Number)
  .openapi({ type: 'integer', minimum: 0, maximum: 999_999_999_999_999 });

const known: ReadonlySet<string> = new Set(eventTypes);

const Types = z
  .string()
  .max(2000)
  .transform((list) => list.split(','))
  .refine((types) => types.every((type) => known.has(type)), 'must be kinds of events, separated by commas')
  .transform((types) => types as EventType[])
  .openapi({
    type: 'string',
    description: 'Only events of these kinds, separated by commas.',
    example: 'SECRET_CREATED,SECRET_ROTATED',
  });

export const StreamQuery = z.strictObject({
  after: Sequence.optional().openapi({
    description: 'Only events with a greater sequence. Without it, only new events.',
    example: 42,
  }),
  types: Types.optional(),
  changes: z.enum(['true']).optional().openapi({
    description:
      'For user interfaces: the stream also sends CHANGED, without an id, when any resource but a secret changes. Its data names their kinds, such as {"kinds":["member","grant"]}. Only for a caller that sees all kinds of events, and not over a WebSocket.',
  }),
});

export const EventsQuery = z.strictObject({
  after: Sequence.optional().openapi({
    description: 'Only events with a greater sequence: next_after of the previous page.',
    example: 42,
  }),
  types: Types.optional(),
  limit: pageQuery.limit,
});

export const Event = z
  .object({
    sequence: z.int().openapi({
      description:
        'The number of the event in its organisation. Numbers have gaps only where events were altered in storage.',
    }),
    id: z.string(),
    type: z.enum(eventTypes),
    timestamp: Time,
    org_id: z.string(),
    data: z
      .record(z.string(), z.unknown())
      .openapi({ description: 'Ids, names and versions, never a value.' }),
  })
  .openapi('Event');

export const EventPage = z
  .object({
    data: z.array(Event),
    next_after: z.int().openapi({
      description: 'Pass it as after to continue. A page can be empty although more events follow.',
    }),
    has_more: z.boolean(),
  })
  .openapi('EventPage');

/** An event in a response. */
export const eventOut = (org_id: string, { sequence, id, type, at, data }: StoredEvent) => ({
  sequence,
  id,
  type,
  timestamp: iso(at),
  org_id,
  data,
});
