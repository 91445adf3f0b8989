// The success responses of operations.
import type { Route } from '../http/route';
import type { Answer, Components, Media, Operation } from './document';
import { exampleOf, nameOf, resolved, type Schema, type Schemas } from './examples';
import { headersOf } from './headers';

/** Whether a response is stored for a repeat with the same Idempotency-Key. */
export const isKept = ({ method, public: isPublic, unkept }: Route): boolean => method === 'post' && !isPublic && unkept !== true;

const statusWords: Record<number, string> = {
  200: 'Success.',
  201: 'Created.',
  202: 'Accepted. The work continues in the background.',
  204: 'Success, without a body.',
  304: 'Not modified: your copy is current. There is no body.',
};

const tagged = new Set(['Secret', 'SecretWithValue', 'RotatedSecret']);

export function answersOf(route: Route, generated: Operation, components: Components, isUnlimited: boolean): Record<string, Answer> {
  const { schemas } = components;
  const found: Record<string, Answer> = {};
  for (const status of Object.keys(route.answers)) {
    const schema = generated.responses[status]?.content?.['application/json']?.schema;
    const hasTag = status === '304' || (schema && (route.conditional?.length || tagged.has(nameOf(schema.$ref ?? ''))));
    const names = ['Request-Id', ...(isUnlimited ? [] : ['RateLimit', 'RateLimit-Policy'])];
    if (hasTag) names.push('ETag');
    if (isKept(route)) names.push('Idempotency-Replayed');
    found[status] = {
      description: statusWords[Number(status)] ?? 'Success.',
      headers: headersOf(names, components),
      ...(schema && {
        content: {
          'application/json': { schema, example: exampleOf(schema, schemas) },
          ...(status === Object.keys(route.answers)[0] && furtherForms(route, schema, schemas)),
        },
      }),
    };
  }
  return found;
}

/** Alternative forms of a response: a list as one item per line, or JSON of another standard. */
function furtherForms(route: Route, schema: Schema, schemas: Schemas): Record<string, Media> {
  const item = resolved(schema, schemas).properties?.data?.items;
  const form: Media = {
    schema: { type: 'string', description: item?.$ref ? `One ${nameOf(item.$ref)} per line, as JSON.` : 'Text.' },
    example: item ? `${JSON.stringify(exampleOf(item, schemas))}\n` : 'text',
  };
  const standard: Media = { schema: { type: 'object', description: 'JSON of the standard that the media type names.' }, example: {} };
  return Object.fromEntries((route.alsoAs ?? []).map((type) => [type, type.endsWith('+json') ? standard : form]));
}
