import type { z } from '@hono/zod-openapi';
import { ApiError, invalid } from '../../errors';
import { type Input, route } from '../../http/route';
import { feedOn } from './feed';
import type { EventsPart } from './gate/operations';
import { socketOf, streamOf } from './stream';
import * as wire from './wire';

const path = '/orgs/{org_id}/events';
const tag = 'Events';

type Query = z.output<typeof wire.EventsQuery>;
type StreamQuery = z.output<typeof wire.StreamQuery>;

/** Where a stream resumes: after the last event that the client received. */
function afterOf({
  query,
  last_event_id,
}: Pick<Input<StreamQuery>, 'query' | 'last_event_id'>): number | null {
  if (last_event_id == null || last_event_id === '') return query.after ?? null;
  if (!/^\d{1,15}$/.test(last_event_id))
    throw new ApiError(invalid('Last-Event-ID', 'must be the id of an event of this stream'));
  return Number(last_event_id);
}

export const eventRoutes = [
  route({
    method: 'get',
    path,
    action: 'event.read',
    tag,
    summary: 'List events',
    description:
      'Returns events, oldest first. Events are kept for 30 days. A credential with events:read and no limits sees all kinds. A credential limited to environments or names, or with only secrets:list or secrets:read, sees the kinds SECRET_* for the names it can reach.',
    query: wire.EventsQuery,
    answers: { 200: wire.EventPage },
    refusals: ['EVENTS_GONE'],
    prepare: ({ query }) => ({
      input: {
        after: query.after ?? null,
        types: query.types ?? null,
        limit: query.limit ?? 50,
        further: false,
      },
    }),
    async render(part: EventsPart, { query }: Input<Query>, context) {
      const { events, next_after, has_more } = await feedOn(
        context,
        part,
        query.types ?? null,
        query.limit ?? 50,
      );
      return {
        json: { data: events.map((event) => wire.eventOut(context.org, event)), next_after, has_more },
      };
    },
  }),
  route({
    method: 'get',
    path: `${path}/stream`,
    action: 'event.stream',
    tag,
    summary: 'Stream events',
    description:
      'Sends events as they happen, as Server-Sent Events: id is the sequence, event the kind, data the event. A comment is sent every 5 seconds. The stream ends when its credential is no longer valid, and after at most an hour; clients reconnect with Last-Event-ID and miss nothing. With Upgrade: websocket, each event is one JSON message; after resumes.',
    query: wire.StreamQuery,
    answers: { 200: wire.Event },
    alsoAs: ['text/event-stream'],
    refusals: ['EVENTS_GONE', 'LIMIT_REACHED'],
    streams: true,
    prepare: (input) => ({
      input: {
        after: afterOf(input),
        types: input.query.types ?? null,
        further: false,
        wait: 0,
        ...(input.query.changes && { counts: {} }),
      },
    }),
    render: (part: EventsPart, { query, is_websocket }: Input<StreamQuery>, context) =>
      is_websocket
        ? socketOf(context, part, query.types ?? null)
        : streamOf(context, part, query.types ?? null),
  }),
];
