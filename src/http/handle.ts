// One request, from HTTP to the gate and back: who asks (by the token alone, no I/O), what they ask (parsed, validated, encrypted), one
// call of the gate, and the answer. Invariant: nothing is refused here that the gate has to audit or count; what is found wrong goes
// along as a finding, and the gate refuses it in the contract's order.
import type { z } from '@hono/zod-openapi';
import { needOf } from '../auth/actions';
import { isJwt, readSession } from '../auth/jwt';
import { signingKeysOf } from '../auth/signing';
import { canonical, prefixes, readToken, type TokenRef } from '../auth/token';
import { fromUtf8, tuple, utf8 } from '../crypto/bytes';
import { equalSecret, hkdf, hmacHex } from '../crypto/digest';
import { decrypt, encrypt } from '../crypto/envelope';
import { keyringOf } from '../crypto/keyring';
import { idBytes, newId } from '../db/ids';
import { forms } from '../db/names';
import { fromCursor } from '../db/page';
import type { Env, Settings } from '../env';
import { ApiError, errorBody, invalid, type Refusal, refuse, statusOf, UNKNOWN_TOKEN } from '../errors';
import type { RateLimitState } from '../gate/rate-limit';
import type { Ask, Named, Reply, RequestFacts } from '../gate/types';
import { type ReadBody, readBody } from './body';
import type { Context, Trace } from './context';
import { callGate } from './gate-call';
import { messageOf } from './messages';
import { countRefused } from './refused-attempts';
import type { Input, Prepared, Route } from './route';
import { type Detail, MOST_DETAILS, MOST_PARAMETERS, shapeOf } from './shape';
import { isPrintable, printable } from './text';

/** What every request is handled with. */
export interface Incoming {
  request: Request;
  env: Env;
  settings: Settings;
  base: string;
  facts: RequestFacts;
  trace: Trace;
  params: Record<string, string>;
  defer(work: Promise<unknown>): void;
}

export async function handle(route: Route, incoming: Incoming): Promise<Response> {
  const { request, env, settings, base, facts, trace } = incoming;
  const refused = (refusal: Refusal, budget: RateLimitState | null = null) => errorResponse(refusal, base, trace, budget);

  // Who asks.
  const keyring = keyringOf(env.DB, settings.masterKeys);
  const bearer = bearerOf(request);
  const token = bearer === null ? null : readToken(bearer);
  const deployment = token || (bearer !== null && isJwt(bearer)) ? await keyring.deployment(token?.org) : null;
  let genuine: TokenRef | null = null;
  // The gate refuses it, so that it is counted and audited as any request by a genuine credential.
  let isExpired = false;
  if (token && deployment && token.isGenuine(deployment.tokenTag)) genuine = { kind: token.kind, org: token.org, hash: token.hash };
  else if (deployment && !token) {
    const session = await readSession(signingKeysOf(env.DB, deployment), base, bearer as string);
    genuine = session?.ref ?? null;
    isExpired = session?.isExpired ?? false;
  }
  const byBootstrap = !genuine && isBootstrap(route) && bearer !== null && equalSecret(settings.bootstrapToken, bearer);
  if (!genuine && !byBootstrap) {
    const unauthenticated = refuse('UNAUTHENTICATED', { message: unauthenticatedMessage(request, bearer, route) });
    if (!isBootstrap(route)) return refused(unauthenticated);
    const wait = await countRefused(env, facts.ip);
    return refused(wait ? refuse('RATE_LIMITED', { retry_after: wait }) : unauthenticated);
  }

  // What they ask.
  const body: ReadBody =
    request.method === 'GET' || request.method === 'HEAD' ? { bytes: new Uint8Array(), refusal: null } : await readBody(request);
  const { input, finding: found } = validate(route, incoming, body);
  const pathOrg = incoming.params.org_id ?? null;
  const deploymentKeys = deployment ?? (await keyring.deployment());
  const { named, isWellFormed } = namedOf(route, input);
  let finding = isExpired ? refuse('TOKEN_EXPIRED') : (findingOf(request, body, found) ?? (isWellFormed ? null : refuse('NOT_FOUND')));
  const context: Context = {
    env,
    settings,
    base,
    request: facts,
    deployment: deploymentKeys,
    keyring,
    org: '',
    keys: null,
    wrapped: null,
    etag: null,
    further: () => Promise.reject(new Error('not asked yet')),
    also: () => Promise.reject(new Error('not asked yet')),
    trace,
    defer: incoming.defer,
  };
  if (byBootstrap && route.deployment) return finding ? refused(finding) : rendered(await route.deployment(input, context), 200, null);

  // Whose gate is asked.
  const idempotencyKey = request.method === 'POST' && !route.unkept ? idempotencyKeyOf(request) : null;
  const cursor = (input.query as { cursor?: string } | undefined)?.cursor;
  if (genuine) {
    context.org = genuine.org;
    context.keys = await keyring.org(genuine.org);
  } else if (pathOrg === null) {
    const proposed = newId('org');
    const key = idempotencyKey ? hmacHex(deploymentKeys.digest, tuple('found', idempotencyKey)) : null;
    context.org = key ? await env.GATE.getByName('deployment').reserve(key, proposed) : proposed;
    context.keys = context.org === proposed ? null : await keyring.org(context.org);
    if (!context.keys) {
      const made = keyring.create(context.org);
      context.keys = made.keys;
      context.wrapped = made.wrapped;
    }
  } else {
    context.org = pathOrg;
    context.keys = idBytes('org', pathOrg) ? await keyring.org(pathOrg) : null;
    if (!context.keys) return refused(refuse('NOT_FOUND'));
  }
  const keys = context.keys;
  trace.org = context.org;
  if (cursor !== undefined && !finding) {
    const position = fromCursor(deploymentKeys.cursor, context.org, listOf(route, incoming.params), cursor);
    if (position === null) finding = refuse('INVALID_CURSOR');
    else (input.query as { cursor?: string }).cursor = position;
  }

  // What the gate needs to know of it.
  let prepared: Prepared = { input: null };
  if (!finding && keys) {
    try {
      prepared = (await route.prepare?.(input, context)) ?? { input: {} };
    } catch (error) {
      // What a schema cannot say is found here.
      if (!(error instanceof ApiError)) throw error;
      finding = error.refusal;
    }
  }
  const url = new URL(request.url);
  const owner = [context.org, idempotencyKey ?? facts.id];
  const ask: Ask = {
    org: context.org,
    action: route.action,
    operation: route.operation ?? route.action,
    bearer: genuine ?? 'bootstrap',
    path_org: genuine ? pathOrg : null,
    named,
    finding,
    input: finding ? null : prepared.input,
    idempotency:
      idempotencyKey && keys
        ? {
            key: idempotencyKey,
            digest: hmacHex(
              genuine ? keys.digest : deploymentKeys.digest,
              tuple(
                request.method,
                url.pathname,
                url.search,
                request.headers.get('if-match') ?? '',
                request.headers.get('approval-id') ?? '',
                body.bytes,
              ),
            ),
          }
        : null,
    one_time: encryptOneTime(bearer as string, owner, prepared.once),
    again: false,
    repeated: false,
    keys: keys && { row: keys.row, answer: keys.answer },
    request: facts,
  };
  const hint = (input.body as { location_hint?: DurableObjectLocationHint } | undefined)?.location_hint;
  const gate = async (what: Ask): Promise<Reply> => {
    const reply = await callGate(env, what, trace, route.method !== 'get', incoming.defer, hint);
    trace.credential = reply.credential;
    return reply;
  };
  let reply = await gate(ask);
  const { budget } = reply;
  if (reply.outcome.ok === 'more' && route.more) {
    prepared = await route.more(reply.outcome.data as never, input, context);
    reply = await gate({ ...ask, input: prepared.input, one_time: encryptOneTime(bearer as string, owner, prepared.once), again: true });
  }
  context.further = async (more) => (await gate({ ...ask, input: more, again: true })).outcome;
  context.also = async ({ action, operation = action, named = {}, input }) => {
    const request = { ...facts, id: newId('req') };
    return (await gate({ ...ask, action, operation, named, input, finding: null, idempotency: null, one_time: null, again: true, request }))
      .outcome;
  };

  // The answer.
  const { outcome } = reply;
  const headers: Record<string, string> = reply.replay ? { 'Idempotency-Replayed': 'true' } : {};
  if (outcome.ok !== true) return errorResponse(outcome.ok === false ? outcome.refusal : refuse('INTERNAL'), base, trace, budget, headers);
  if (outcome.etag) headers.ETag = outcome.etag;
  context.etag = outcome.etag ?? null;
  const once = reply.replay ? decryptOneTime(bearer as string, owner, reply.replay.one_time) : prepared.once;
  if (route.render && outcome.status === 200 && (!reply.replay || route.resumes)) {
    try {
      return rendered(await route.render(outcome.data as never, input, context), outcome.status, budget, headers);
    } catch (error) {
      if (error instanceof ApiError && error.alarm) await gate({ ...ask, input: null, alarm: error.alarm, again: true });
      throw error;
    }
  }
  return rendered({ json: outcome.data === null ? undefined : withOnce(outcome.data, once) }, outcome.status, budget, headers);
}

const hasPrefix = (bearer: string) => Object.values(prefixes).some((prefix) => bearer.startsWith(prefix));
const isBootstrap = (route: Route) => needOf(route.action).kinds.includes('system');
const listOf = (route: Route, params: Record<string, string>) => [route.path, params.id ?? ''].join(' ').trim();

/** What is wrong with a request, the first in the contract's order. */
export const findingOf = (request: Request, body: ReadBody, found: Refusal | null): Refusal | null =>
  body.refusal && statusOf(body.refusal) !== 400 ? body.refusal : (headerFinding(request) ?? body.refusal ?? found);

/** What a request names, as far as it is well formed: what is not stands as an empty text, and the request is 404 in its turn. */
function namedOf(route: Route, input: Input): { named: Named; isWellFormed: boolean } {
  const named: Named = { ...route.named?.(input) };
  let isWellFormed = true;
  for (const [what, text] of Object.entries(named) as [keyof Named, string | null][]) {
    if (text === null || forms[what](text)) continue;
    named[what] = '';
    isWellFormed = false;
  }
  return { named, isWellFormed };
}

/** The token of an Authorization header (RFC 6750 §2.1), or null. */
function bearerOf(request: Request): string | null {
  const shown = /^Bearer +([\x21-\x7e]{1,1024}) *$/i.exec(request.headers.get('authorization') ?? '')?.[1];
  return shown === undefined ? null : canonical(shown);
}

/**
 * What was wrong with what was sent, by its form alone: nothing is compared with the bootstrap token where that is not accepted, so that no
 * response tells whether a guess at it was right.
 */
function unauthenticatedMessage(request: Request, bearer: string | null, route: Route): string {
  if (!request.headers.get('authorization')) return 'The Authorization header is missing. Send "Authorization: Bearer TOKEN".';
  if (bearer === null) return 'The Authorization header does not hold a bearer token. Send "Authorization: Bearer TOKEN".';
  if (isJwt(bearer) || hasPrefix(bearer)) return UNKNOWN_TOKEN;
  return isBootstrap(route)
    ? 'The token is neither the bootstrap token nor a valid token of this deployment.'
    : `${UNKNOWN_TOKEN} The bootstrap token is not accepted for this call.`;
}

/** The Idempotency-Key, bare or as a quoted structured-field string (RFC 8941 §3.3.3); null if there is none, or it is refused. */
function idempotencyKeyOf(request: Request): string | null {
  const header = request.headers.get('idempotency-key');
  if (header === null) return null;
  const quoted = /^"((?:[\x20-\x21\x23-\x5b\x5d-\x7e]|\\["\\])*)"$/.exec(header)?.[1];
  const key = quoted === undefined ? header : quoted.replace(/\\(["\\])/g, '$1');
  return /^[\x20-\x7e]{1,255}$/.test(key) ? key : null;
}

/** The length of a list of entity tags, in If-Match or If-None-Match. */
const MOST_TAGS = 1000;

export function headerFinding(request: Request): Refusal | null {
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
export function validate(route: Route, { request, params }: Incoming, body: ReadBody): { input: Input; finding: Refusal | null } {
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
  const parsed = route.body.schema.safeParse(withoutNulls(route.body.schema, json), { error: messageOf });
  return parsed.success ? { data: parsed.data, details: [] } : { details: detailsOf(parsed.error, 'is not a known field') };
}

/** The optional fields of a schema that do not take null: there null counts as absent. */
const optional = new WeakMap<z.ZodType, string[]>();

/** A body without the fields that are null and that may be left out. */
function withoutNulls(schema: z.ZodType, json: unknown): unknown {
  if (typeof json !== 'object' || json === null || !('shape' in schema)) return json;
  const fields = Object.entries(schema.shape as Record<string, z.ZodType>);
  const names =
    optional.get(schema) ??
    fields.filter(([, field]) => field.safeParse(undefined).success && !field.safeParse(null).success).map(([name]) => name);
  optional.set(schema, names);
  const body = json as Record<string, unknown>;
  const nulls = names.filter((name) => body[name] === null);
  return nulls.length ? Object.fromEntries(Object.entries(body).filter(([name]) => !nulls.includes(name))) : json;
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

// ---------------------------------------------------------------- one-time values

/** A key that only who holds the token can make: the service stores neither the token nor this. */
const bearerKey = (bearer: string) => hkdf(utf8(bearer), new Uint8Array(), 'svc/v1/key/bearer');

function encryptOneTime(bearer: string, owner: string[], once: Record<string, string> | undefined): string | null {
  if (!once) return null;
  return JSON.stringify({
    paths: Object.keys(once),
    sealed: encrypt(bearerKey(bearer), 'one-time value', owner, utf8(JSON.stringify(once))),
  });
}

/** One-time values of a stored response: for whoever made the call, null for anyone else. */
function decryptOneTime(bearer: string, owner: string[], kept: string | null): Record<string, string | null> | undefined {
  if (kept === null) return undefined;
  const { paths, sealed } = JSON.parse(kept) as { paths: string[]; sealed?: string };
  const opened = sealed === undefined ? null : decrypt(bearerKey(bearer), 'one-time value', owner, sealed);
  return opened ? JSON.parse(fromUtf8(opened) ?? '{}') : Object.fromEntries(paths.map((path) => [path, null]));
}

/** Puts one-time values at their places ("api_key.token") in an answer. */
function withOnce(data: unknown, once: Record<string, string | null> | undefined): unknown {
  if (!once) return data;
  const whole = structuredClone(data) as Record<string, unknown>;
  for (const [path, value] of Object.entries(once)) {
    const parts = path.split('.');
    let at = whole;
    for (const part of parts.slice(0, -1)) at = at[part] as Record<string, unknown>;
    at[parts.at(-1) as string] = value;
  }
  return whole;
}

// ---------------------------------------------------------------- responses

export function errorResponse(
  refusal: Refusal,
  base: string,
  trace: Trace,
  budget: RateLimitState | null = null,
  headers: Record<string, string> = {},
): Response {
  const status = statusOf(refusal);
  trace.code = refusal.code;
  return Response.json(errorBody(refusal, base), {
    status,
    headers: {
      ...budgetHeaders(budget),
      ...(status === 401 && { 'WWW-Authenticate': 'Bearer' }),
      ...(refusal.retry_after !== undefined && { 'Retry-After': String(refusal.retry_after) }),
      ...headers,
    },
  });
}

export const isRead = (method: string): boolean => method === 'GET' || method === 'HEAD';

/** The refusal of any other method, where a path can only be read. */
export const readOnly = (base: string, trace: Trace): Response =>
  errorResponse(refuse('METHOD_NOT_ALLOWED'), base, trace, null, { Allow: 'GET, HEAD' });

export function rendered(
  shown: { json: unknown; headers?: Record<string, string> } | Response,
  status: number,
  budget: RateLimitState | null,
  headers: Record<string, string> = {},
): Response {
  const all = { ...budgetHeaders(budget), ...headers };
  if (shown instanceof Response) {
    for (const [name, value] of Object.entries(all)) shown.headers.set(name, value);
    return shown;
  }
  if (shown.json === undefined || shown.json === null) return new Response(null, { status, headers: all });
  return Response.json(shown.json, { status, headers: { ...all, ...shown.headers } });
}

/** draft-ietf-httpapi-ratelimit-headers, and the older headers that many clients read. */
const budgetHeaders = (budget: RateLimitState | null): Record<string, string> =>
  budget
    ? {
        'RateLimit-Policy': `"credential";q=${budget.limit};w=60`,
        RateLimit: `"credential";r=${budget.remaining};t=${budget.reset}`,
        'X-RateLimit-Limit': String(budget.limit),
        'X-RateLimit-Remaining': String(budget.remaining),
        'X-RateLimit-Reset': String(Math.ceil(Date.now() / 1000) + budget.reset),
      }
    : {};
