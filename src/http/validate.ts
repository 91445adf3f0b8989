// Validates the headers, the query and the body of a request. Invariant: a message names a field and what is expected of it, and never
// quotes what the field held.
import type { z } from '@hono/zod-openapi';
import { fromUtf8 } from '../crypto/bytes';
import { invalid, type Refusal, refuse, statusOf } from '../errors';
import type { ReadBody } from './body';
import { messageOf } from './messages';
import type { Input, Route } from './route';
import { type Detail, MOST_DETAILS, MOST_PARAMETERS, shapeOf } from './shape';
import { isPrintable, printable } from './text';

/** What is wrong with a request, the first in the contract's order. */
export const findingOf = (request: Request, body: ReadBody, found: Refusal | null): Refusal | null =>
  body.refusal && statusOf(body.refusal) !== 400 ? body.refusal : (headerFinding(request) ?? body.refusal ?? found);

/** The Idempotency-Key, bare or as a quoted structured-field string (RFC 8941 §3.3.3); null if there is none, or it is refused. */
export function idempotencyKeyOf(request: Request): string | null {
  const header = request.headers.get('idempotency-key');
  if (header === null) return null;
  const quoted = /^"((?:[\x20-\x21\x23-\x5b\x5d-\x7e]|\\["\\])*)"$/.exec(header)?.[1];
  const key = quoted === undefined ? header : quoted.replace(/\\(["\\])/g, '$1');
  return /^[\x20-\x7e]{1,255}$/.test(key) ? key : null;
}

/** The length of a list of entity tags, in If-Match or If-None-Match. */
const MOST_TAGS = 1000;

function headerFinding(request: Request): Refusal | null {
  if (request.method === 'POST' && request.headers.has('idempotency-key') && idempotencyKeyOf(request) === null)
    return invalid('Idempotency-Key', 'must be 1 to 255 printable ASCII characters, bare or as a quoted string');
  const reason = request.headers.get('x-access-reason');
  if (reason !== null && !isReason(reason)) return invalid('X-Access-Reason', 'must be 1 to 256 printable characters');
  for (const name of ['If-Match', 'If-None-Match'])
    if ((request.headers.get(name)?.length ?? 0) > MOST_TAGS) return invalid(name, `must have at most ${MOST_TAGS} characters`);
  return null;
}

/** A header's text: HTTP carries bytes, so UTF-8 in it arrives as Latin-1. */
export function reasonOf(request: Request): string | null {
  const reason = request.headers.get('x-access-reason');
  return reason !== null && isReason(reason) ? decodeHeader(reason) : null;
}

const decodeHeader = (header: string): string => {
  const isBytes = [...header].every((char) => char.charCodeAt(0) < 256);
  return (isBytes && fromUtf8(Uint8Array.from(header, (char) => char.charCodeAt(0)))) || header;
};

/** 256 characters have 1,024 bytes at most; each of them may arrive as a character of its own. */
const isReason = (header: string) => {
  if (header.length === 0 || header.length > 1024) return false;
  const reason = decodeHeader(header);
  return [...reason].length <= 256 && isPrintable(reason);
};

/** Validates query and body against the route's schemas: first their shape, then field by field. */
export function validate(
  route: Route,
  { request, params }: { request: Request; params: Record<string, string> },
  body: ReadBody,
): { input: Input; finding: Refusal | null } {
  const input = blank(params, request);
  const absent = body.json === undefined && body.bytes.length === 0;
  if (route.body && absent && !route.body.optional)
    return { input, finding: refuse('MALFORMED_JSON', { message: 'The body is missing. This call requires a JSON object.' }) };
  const query = validQuery(route, new URL(request.url).searchParams);
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

function validQuery(route: Route, parameters: URLSearchParams): Validated {
  if (parameters.size > MOST_PARAMETERS) return { details: [{ path: '', message: `must have at most ${MOST_PARAMETERS} parameters` }] };
  const query = new Map<string, string>();
  const details: Detail[] = [];
  for (const [name, value] of parameters) {
    if (query.has(name)) details.push(detail([name], 'must not be repeated'));
    query.set(name, value);
  }
  // A schema passes over a field of this name.
  const unknown = route.query ? ['__proto__'].filter((name) => query.delete(name)) : [...query.keys()];
  details.push(...unknown.map((name) => detail([name], 'is not a known parameter')));
  if (!route.query) return { details };
  const parsed = route.query.safeParse(Object.fromEntries(query), { error: messageOf });
  return parsed.success
    ? { data: parsed.data, details }
    : { details: [...details, ...detailsOf(parsed.error, 'is not a known parameter')] };
}

function validBody(route: Route, absent: boolean, json: unknown): Validated {
  if (absent) json = {};
  const shape = shapeOf(json);
  if (shape) return { details: [detail([shape.path], shape.message)] };
  if (!route.body) {
    const isEmpty =
      json === undefined || (typeof json === 'object' && json !== null && !Array.isArray(json) && Object.keys(json).length === 0);
    return { details: isEmpty ? [] : [detail([], 'must be empty: this call takes no body')] };
  }
  const parsed = route.body.schema.safeParse(route.body.nulls ? withoutNulls(route.body.nulls, json) : json, { error: messageOf });
  return parsed.success ? { data: parsed.data, details: [] } : { details: detailsOf(parsed.error, 'is not a known field') };
}

/** A body without those of the named fields that are null. */
function withoutNulls(names: readonly string[], json: unknown): unknown {
  if (typeof json !== 'object' || json === null || Array.isArray(json)) return json;
  return Object.fromEntries(Object.entries(json).filter(([name, value]) => value !== null || !names.includes(name)));
}

const blank = (params: Record<string, string>, request: Request): Input => ({
  params,
  query: {},
  body: undefined,
  if_match: request.headers.get('if-match'),
  if_none_match: request.headers.get('if-none-match'),
});

/** Names a field by its path, bounded and printable, since an unknown field's name is the caller's own; never quotes what a field held. */
const detail = (path: PropertyKey[], message: string): Detail => ({ path: printable(path.map(String).join('.'), 200), message });

const detailsOf = (error: z.ZodError, unknown: string): Detail[] =>
  error.issues
    .slice(0, MOST_DETAILS)
    .flatMap((issue) =>
      issue.code === 'unrecognized_keys'
        ? issue.keys.slice(0, MOST_DETAILS).map((key) => detail([...issue.path, key], unknown))
        : [detail(issue.path, issue.message)],
    );
