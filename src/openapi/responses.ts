// The success responses of operations.
import { hasRevision, type Route } from '../http/route';
import type { Answer, Components, Media, Operation } from './document';
import { exampleOf, nameOf, resolved, type Schema, type Schemas } from './examples';
import { headersOf } from './headers';

/** Whether a response is stored for a repeat with the same Idempotency-Key. */
export const isKept = ({ method, public: isPublic, unkept }: Route): boolean =>
  method === 'post' && !isPublic && unkept !== true;

const statusWords: Record<number, string> = {
  200: 'OK.',
  201: 'Created.',
  202: 'Accepted: the work continues.',
  204: 'No content.',
  304: 'Not modified: your copy is current.',
};

const tagged = new Set(['Secret', 'SecretWithValue', 'RotatedSecret']);

export function answersOf(
  route: Route,
  generated: Operation,
  components: Components,
): Record<string, Answer> {
  const { schemas } = components;
  const found: Record<string, Answer> = {};
  for (const status of Object.keys(route.answers)) {
    const schema = (generated.responses[status] as Answer | undefined)?.content?.['application/json']?.schema;
    const hasTag =
      status === '304' ||
      hasRevision(route.answers[Number(status)]) ||
      (schema && (route.conditional?.length || tagged.has(nameOf(schema.$ref ?? ''))));
    found[status] = {
      description: statusWords[Number(status)] ?? 'OK.',
      // The introduction describes the headers of every response.
      ...(hasTag && { headers: headersOf(['ETag'], components) }),
      ...(schema && {
        content: {
          'application/json': { schema },
          ...(status === Object.keys(route.answers)[0] && furtherForms(route, schema, schemas)),
        },
      }),
    };
  }
  return found;
}

/**
 * Alternative forms of a response: a list as one item per line, a stream of events, or JSON of another
 * standard.
 */
function furtherForms(route: Route, schema: Schema, schemas: Schemas): Record<string, Media> {
  const item = resolved(schema, schemas).properties?.data?.items;
  const lines: Media = {
    schema: {
      type: 'string',
      description: item?.$ref ? `One ${nameOf(item.$ref)} per line, as JSON.` : 'Text.',
    },
    example: item ? `${JSON.stringify(exampleOf(item, schemas))}\n` : 'text',
  };
  const formOf = (type: string): Media =>
    type === 'text/event-stream'
      ? { schema: eventOf(schema) }
      : type.endsWith('+json')
        ? { schema: standard }
        : lines;
  return Object.fromEntries((route.alsoAs ?? []).map((type) => [type, formOf(type)]));
}

const standard: Schema = {
  type: 'object',
  description: 'JSON of the standard that the media type names.',
  example: {},
};

/** One event of a stream of Server-Sent Events, by its fields. */
const eventOf = (data: Schema): Schema => ({
  type: 'object',
  description: 'One event of the stream.',
  required: ['event', 'data'],
  properties: {
    id: { type: 'string', description: 'The sequence of the event. Absent in CHANGED.', example: '42' },
    event: { type: 'string', description: 'The type of the event.', example: 'SECRET_ROTATED' },
    data: {
      type: 'string',
      description: 'The event as JSON.',
      contentMediaType: 'application/json',
      contentSchema: data,
    },
  },
});
