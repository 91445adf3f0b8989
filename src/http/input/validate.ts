// Validates the query and the body of a request. Invariant: a message names a field and what is expected, and
// never quotes the field's value.
import { z } from '@hono/zod-openapi';
import { type Refusal, refuse, statusOf } from '../../errors';
import { printable } from '../../text';
import type { Incoming } from '../context';
import type { Input, Route } from '../route';
import type { ReadBody } from './body';
import type { RequestHeaders } from './headers';
import { type Detail, MOST_DETAILS, MOST_PARAMETERS, shapeOf } from './shape';
import { messageOf } from './wording';

/** What is wrong with a request, the first in the contract's order. */
export const findingOf = (headers: RequestHeaders, body: ReadBody, found: Refusal | null): Refusal | null =>
  body.refusal && statusOf(body.refusal) !== 400 ? body.refusal : (headers.finding ?? body.refusal ?? found);

/** Validates query and body against the route's schemas: first their shape, then field by field. */
export function validate(
  route: Route,
  { request, headers, params }: Pick<Incoming, 'request' | 'headers' | 'params'>,
  body: ReadBody,
): { input: Input; finding: Refusal | null } {
  const { if_match, if_none_match } = headers;
  const input: Input = {
    params,
    query: {},
    body: undefined,
    if_match,
    if_none_match,
    ...(route.streams && {
      last_event_id: request.headers.get('last-event-id'),
      is_websocket: request.headers.get('upgrade')?.toLowerCase() === 'websocket',
    }),
    ...(route.body?.document !== undefined && { bytes: body.bytes }),
  };
  const absent = body.json === undefined && body.bytes.length === 0;
  if (route.body && absent && !route.body.optional)
    return {
      input,
      finding: refuse('MALFORMED_JSON', {
        message: 'The body is missing. This request requires a JSON object.',
      }),
    };
  const query = validQuery(route, request.url);
  const sent = validBody(route, absent, body.json);
  const details = [...query.details, ...sent.details].slice(0, MOST_DETAILS);
  return {
    input: { ...input, query: query.data ?? {}, body: sent.data },
    finding: details.length ? refuse('VALIDATION_FAILED', { details }) : null,
  };
}

interface Validated {
  data?: unknown;
  details: Detail[];
}

/** The parsed form of an empty query, the same each time. */
const ofNone = new WeakMap<z.ZodType, Validated>();

function validQuery({ query: schema }: Route, url: string): Validated {
  if (url.includes('?')) return validParameters(schema, new URL(url).searchParams);
  if (!schema) return { details: [] };
  const known = ofNone.get(schema) ?? parsedQuery(schema, {});
  ofNone.set(schema, known);
  return known;
}

function validParameters(schema: z.ZodType | undefined, parameters: URLSearchParams): Validated {
  if (parameters.size > MOST_PARAMETERS)
    return { details: [{ path: '', message: `must have at most ${MOST_PARAMETERS} parameters` }] };
  const query = new Map<string, string | string[]>();
  const details: Detail[] = [];
  for (const [name, value] of parameters) {
    const isList = isRepeatable(schema, name);
    if (query.has(name) && !isList) details.push(detail([name], 'must not be repeated'));
    query.set(name, isList ? parameters.getAll(name) : value);
  }
  // A schema ignores a field with this name.
  const unknown = schema ? ['__proto__'].filter((name) => query.delete(name)) : [...query.keys()];
  details.push(...unknown.map((name) => detail([name], 'is not a known parameter')));
  if (!schema) return { details };
  const parsed = parsedQuery(schema, Object.fromEntries(query));
  return { ...parsed, details: [...details, ...parsed.details] };
}

/** Whether a parameter is a list: it can be sent several times. */
function isRepeatable(schema: z.ZodType | undefined, name: string): boolean {
  const field =
    schema instanceof z.ZodObject && Object.hasOwn(schema.shape, name) ? schema.shape[name] : undefined;
  return (field instanceof z.ZodOptional ? field.unwrap() : field) instanceof z.ZodArray;
}

function parsedQuery(schema: z.ZodType, query: Record<string, string | string[]>): Validated {
  const parsed = schema.safeParse(query, { error: messageOf });
  return parsed.success
    ? { data: parsed.data, details: [] }
    : { details: detailsOf(parsed.error, 'is not a known parameter') };
}

function validBody(route: Route, absent: boolean, json: unknown): Validated {
  if (absent && !route.body) return { details: [] };
  if (absent) json = {};
  const shape = shapeOf(withoutDocument(route, json));
  if (shape) return { details: [detail([shape.path], shape.message)] };
  if (!route.body) {
    const isEmpty =
      json === undefined ||
      (typeof json === 'object' && json !== null && !Array.isArray(json) && Object.keys(json).length === 0);
    return { details: isEmpty ? [] : [detail([], 'must be empty: this request takes no body')] };
  }
  const parsed = route.body.schema.safeParse(route.body.nulls ? withoutNulls(route.body.nulls, json) : json, {
    error: messageOf,
  });
  return parsed.success
    ? { data: parsed.data, details: [] }
    : { details: detailsOf(parsed.error, 'is not a known field') };
}

/** A body without its document, whose shape a separate parser checks. */
function withoutDocument({ body }: Route, json: unknown): unknown {
  if (body?.document === undefined || typeof json !== 'object' || json === null || Array.isArray(json))
    return json;
  return Object.fromEntries(Object.entries(json).filter(([name]) => name !== body.document));
}

/** A body without those of the named fields that are null. */
function withoutNulls(names: readonly string[], json: unknown): unknown {
  if (typeof json !== 'object' || json === null || Array.isArray(json)) return json;
  return Object.fromEntries(
    Object.entries(json).filter(([name, value]) => value !== null || !names.includes(name)),
  );
}

/**
 * Names a field by its path, bounded and printable because an unknown field's name is user input; never
 * quotes the value.
 */
const detail = (path: PropertyKey[], message: string): Detail => ({
  path: printable(path.map(String).join('.'), 200),
  message,
});

/** What is wrong, field by field. */
export const detailsOf = (error: z.ZodError, unknown: string): Detail[] =>
  error.issues
    .slice(0, MOST_DETAILS)
    .flatMap((issue) =>
      issue.code === 'unrecognized_keys'
        ? issue.keys.slice(0, MOST_DETAILS).map((key) => detail([...issue.path, key], unknown))
        : [detail(issue.path, issue.message)],
    );
