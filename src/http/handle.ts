// One request, from HTTP to the gate and back: identify the caller (by the token alone, no I/O), parse,
// validate and encrypt the request, call the gate, and render the response. Invariant: nothing is refused
// here that the gate must audit or count; a problem is passed on as a finding, and the gate refuses it in the
// contract's order.

import { tuple } from '../crypto/bytes';
import { hmacHex } from '../crypto/digest';
import { idBytes, newId } from '../db/ids';
import { forms } from '../db/names';
import { fromCursor } from '../db/page';
import type { Env } from '../env';
import { ApiError, type IntegrityViolation, type Refusal, refuse, statusOf } from '../errors';
import { revisionTag } from '../etag';
import type { Ask, Named, Reply } from '../gate/request/call';
import { fail, refusalOf } from '../gate/request/outcome';
import { keyringOf, ORG_KEY_MISSING } from '../keys/keyring';
import { authenticate } from './caller/authenticate';
import { authenticateBound } from './caller/bound';
import { callGate } from './calls/gate-call';
import { askReplica, noteRegions, regionHeaders, withRegion } from './calls/replicas';
import {
  type Also,
  type Authenticated,
  type BaseContext,
  type Context,
  type Incoming,
  keysOf,
  type Org,
  type RenderContext,
} from './context';
import { type ReadBody, readBody } from './input/body';
import { findingOf, validate } from './input/validate';
import { listName } from './list';
import { decryptOneTime, encryptOneTime, withOnce } from './one-time';
import { errorResponse, rendered } from './responses';
import { hasRevision, type Input, type Prepared, type Rendered, type Route } from './route';

/** The contents of a request, as far as it could be read. */
interface Asked {
  body: ReadBody;
  input: Input;
  named: Named;
  /** What is wrong with it, the first in the contract's order. */
  finding: Refusal | null;
  idempotencyKey: string | null;
}

/**
 * Handles a request with a credential or the bootstrap token: authenticate, parse, find the organisation,
 * prepare, call the gate, respond.
 */
export async function handle(route: Route, incoming: Incoming): Promise<Response> {
  const { env, settings, base, facts, trace, defer } = incoming;
  const keyring = keyringOf(env, settings.masterKeys);
  const caller =
    incoming.caller ??
    (incoming.bound
      ? await authenticateBound(incoming.bound, keyring)
      : await authenticate(route, incoming, keyring));
  if ('code' in caller) return errorResponse(caller, base, trace);
  const asked = await parse(route, incoming, caller);
  const context: BaseContext = {
    env,
    settings,
    base,
    request: facts,
    place: incoming.place,
    deployment: caller.deployment,
    keyring,
    trace,
    defer,
  };
  if (!caller.genuine && route.deployment) {
    if (asked.finding) return errorResponse(asked.finding, base, trace);
    return rendered(await route.deployment(asked.input, context), 200, null);
  }
  const org = await resolveOrg(caller, incoming, asked, context);
  if (!org) return errorResponse(refuse('NOT_FOUND'), base, trace);
  trace.org = org.org;
  const ready = await prepare(route, incoming, caller, asked, { ...context, ...org });
  return askGate(ready);
}

/** Reads and validates a request. */
async function parse(route: Route, incoming: Incoming, { isExpired }: Authenticated): Promise<Asked> {
  const { request, headers } = incoming;
  const body: ReadBody =
    route.method === 'get' ? { bytes: new Uint8Array(), refusal: null } : await readBody(request);
  const { input, finding } = validate(route, incoming, body);
  const { named, isWellFormed } = namedOf(route, input);
  return {
    body,
    input,
    named,
    finding: isExpired
      ? refuse('TOKEN_EXPIRED')
      : (findingOf(headers, body, finding) ?? (isWellFormed ? null : refuse('NOT_FOUND'))),
    idempotencyKey: isUnkept(route, input, finding) ? null : headers.idempotency_key,
  };
}

/** Whether the response of a request is not stored under its Idempotency-Key. */
const isUnkept = ({ unkept }: Route, { body }: Input, finding: Refusal | null): boolean =>
  typeof unkept === 'function' ? finding === null && unkept(body) : unkept === true;

/** What a request names. A malformed name becomes an empty text, and the gate then returns 404. */
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

/**
 * The organisation whose gate to call, and its keys; a new one if the request creates one. Null if it does
 * not exist.
 */
async function resolveOrg(
  caller: Authenticated,
  { env, params }: Incoming,
  { idempotencyKey }: Asked,
  { keyring, deployment }: BaseContext,
): Promise<Org | null> {
  if (caller.genuine)
    return { org: caller.genuine.org, keys: await keyring.org(caller.genuine.org), wrapped: null };
  if (params.org_id !== undefined) {
    const keys = idBytes('org', params.org_id) ? await keyring.org(params.org_id) : null;
    return keys && { org: params.org_id, keys, wrapped: null };
  }
  // A repeated request creates the same organisation.
  const proposed = newId('org');
  const key = idempotencyKey === null ? null : hmacHex(deployment.digest, tuple('found', idempotencyKey));
  const org = key === null ? proposed : await reserved(env, key, proposed);
  const keys = org === proposed ? null : await keyring.org(org);
  return keys ? { org, keys, wrapped: null } : { org, ...(await keyring.create(org)) };
}

/** The organisation of an Idempotency-Key, which the gate of the deployment remembers. */
const reserved = (env: Env, key: string, proposed: string): Promise<string> =>
  Promise.resolve(env.GATE.getByName('deployment').reserve(key, proposed)).catch((error: unknown) => {
    const why = error instanceof Error ? error.message.slice(0, 200) : 'unknown';
    console.error(JSON.stringify({ level: 'error', event: 'gate_unreachable', org: 'deployment', why }));
    throw new ApiError(refuse('UNAVAILABLE', { retry_after: 2 }));
  });

/** Decrypts a list's cursor, encrypts values and creates tokens: the input for the gate. */
async function prepare(
  route: Route,
  incoming: Incoming,
  caller: Authenticated,
  parsed: Asked,
  context: Context,
): Promise<Ready> {
  const asked = withPosition(route, incoming, parsed, context);
  const ready = { route, incoming, caller, asked, context };
  if (asked.finding || !context.keys) return { ...ready, prepared: { input: null } };
  try {
    return { ...ready, prepared: (await route.prepare?.(asked.input, context)) ?? { input: {} } };
  } catch (error) {
    // Problems that a schema cannot detect.
    if (!(error instanceof ApiError)) throw error;
    return { ...ready, asked: { ...asked, finding: error.refusal }, prepared: { input: null } };
  }
}

/** The request with the position from its cursor; a finding if the cursor does not belong to this list. */
function withPosition(route: Route, { params }: Incoming, asked: Asked, { deployment, org }: Context): Asked {
  const query = asked.input.query as { cursor?: string } | undefined;
  if (query?.cursor === undefined || asked.finding) return asked;
  const cursor = fromCursor(deployment.cursor, org, listName(route.path, params), query.cursor);
  return cursor === null
    ? { ...asked, finding: refuse('INVALID_CURSOR') }
    : { ...asked, input: { ...asked.input, query: { ...query, cursor } } };
}

/** A request ready for the gate. */
interface Ready {
  route: Route;
  incoming: Incoming;
  caller: Authenticated;
  asked: Asked;
  context: Context;
  prepared: Prepared;
}

/**
 * Binds values encrypted for the caller's token to the request: by its Idempotency-Key, so that a replay
 * shows them again.
 */
const ownerOf = ({ incoming, asked, context }: Ready): string[] => [
  context.org,
  asked.idempotencyKey ?? incoming.facts.id,
];

/** The gate's input for a request. */
function askOf(ready: Ready): Ask {
  const { route, incoming, caller, asked, context, prepared } = ready;
  const { finding } = asked;
  const { keys } = context;
  return {
    org: context.org,
    action: route.action,
    operation: route.operation ?? route.action,
    bearer: caller.genuine ?? 'bootstrap',
    ...(caller.proof && { proof: caller.proof }),
    ...(caller.isDpop && { isDpop: true }),
    path_org: caller.genuine ? (incoming.params.org_id ?? null) : null,
    named: asked.named,
    finding,
    input: finding ? null : prepared.input,
    idempotency: idempotencyOf(ready),
    if_match: route.revises ? asked.input.if_match : null,
    one_time: encryptOneTime(caller.bearer, ownerOf(ready), prepared.once),
    again: false,
    repeated: false,
    keys: keys && { row: keys.row, answer: keys.answer },
    request: incoming.facts,
    ...(incoming.headers.approval_id !== null && {
      approval: identified(ready, approvalOf(incoming.headers.approval_id)),
    }),
  };
}

/** Identifies a request for approval: no other request has this digest. */
function identified(
  { incoming: { request, headers, approvalIsFound }, asked, context }: Ready,
  id: string | null,
): NonNullable<Ask['approval']> {
  const { pathname, search } = new URL(request.url);
  const path = `${pathname}${search}`;
  const digest = keysOf(context).digest;
  const { call } = headers;
  // safety: approval-digest
  const parts = ['approval', request.method, path, asked.body.bytes, ...callPart(call)];
  return {
    id,
    method: request.method,
    path,
    digest: hmacHex(digest, tuple(...parts)),
    ...(call !== null && { call }),
    ...(approvalIsFound && { isFound: true }),
  };
}

/** X-Access-Call in a digest. A request without it has the digest that it had before the header existed. */
// safety: approval-of-call
const callPart = (call: string | null): string[] => (call === null ? [] : [call]);

/** The approval in a header. A text that is not an id becomes one that does not exist. */
const approvalOf = (header: string): string => (forms.approval(header) ? header : 'unknown');

/**
 * The Idempotency-Key of a request, and the digest that distinguishes it from other requests with the same
 * key.
 */
function idempotencyOf({
  incoming: { request, headers: read, storedFor },
  caller,
  asked,
  context,
}: Ready): Ask['idempotency'] {
  if (asked.idempotencyKey === null || !context.keys) return null;
  const { pathname, search } = new URL(request.url);
  const headers = ['if-match', 'approval-id'].map((name) => request.headers.get(name) ?? '');
  const digest = caller.genuine ? context.keys.digest : context.deployment.digest;
  return {
    key: asked.idempotencyKey,
    digest: hmacHex(
      digest,
      tuple(request.method, pathname, search, ...headers, asked.body.bytes, ...callPart(read.call)),
    ),
    ...(storedFor !== undefined && { storedFor }),
  };
}

/**
 * How often the gate may ask for more: a value that it cannot create, the request's digest, and the value
 * encrypted for another secret. Each of the last kind means that another request gave the name to another
 * secret in the meantime, so a race takes a few.
 */
const MOST_ROUNDS = 8;

/** Calls the gate as often as the operation needs, and renders the result. */
async function askGate(ready: Ready): Promise<Response> {
  const { route, incoming, caller, asked, context } = ready;
  const { env, facts, trace, defer } = incoming;
  const ask = askOf(ready);
  const hint = (asked.input.body as { location_hint?: DurableObjectLocationHint } | undefined)?.location_hint;
  const gate = async (asked: Ask): Promise<Reply> => {
    // A replica knows no trusts.
    const isNear = route.byReplica === true && !asked.again && !incoming.bound;
    const what = isNear ? withRegion(asked, incoming.place) : asked;
    const near = isNear ? await askReplica(env, what, incoming.place, trace) : null;
    const reply = near ?? (await callGate(env, what, trace, route.method !== 'get', defer, hint));
    noteRegions(what.org, reply);
    trace.credential = reply.credential;
    return reply;
  };
  const further = async (input: unknown, { counts = false } = {}) =>
    (await gate({ ...ask, input, again: !counts })).outcome;
  const also = async ({ action, operation = action, named = {}, input, counts = false }: Also) => {
    const apart = {
      finding: null,
      idempotency: null,
      if_match: null,
      one_time: null,
      again: !counts,
      request: { ...facts, id: newId('req') },
    };
    const { outcome } = await gate({
      ...ask,
      action,
      operation,
      named,
      input,
      ...apart,
      approval: undefined,
    });
    return outcome.kind === 'more' && outcome.wants === 'digest'
      ? fail(refuse('APPROVAL_REQUIRED'))
      : outcome;
  };
  const report = async (violation: IntegrityViolation) =>
    void (await gate({ ...ask, input: null, violation, again: true }));
  try {
    const first = await gate(ask);
    let reply = first;
    let made = ready;
    let again = ask;
    for (let rounds = 0; reply.outcome.kind === 'more' && rounds < MOST_ROUNDS; rounds++) {
      const { data, wants } = reply.outcome;
      if (rounds === MOST_ROUNDS - 1) again = { ...again, is_last: true };
      if (wants === 'digest') again = { ...again, approval: identified(ready, null), again: true };
      else {
        const more = await route.more?.(data as never, asked.input, { ...context, further });
        if (!more) break;
        made = { ...ready, prepared: more };
        again = {
          ...again,
          input: more.input,
          one_time: encryptOneTime(caller.bearer, ownerOf(ready), more.once),
          again: true,
        };
      }
      // The rate limit of the first call: further calls do not count.
      reply = { ...(await gate(again)), rate_limit: first.rate_limit };
    }
    return await respond(made, reply, { further, also, report });
  } catch (error) {
    if (error instanceof ApiError && error.violation)
      await report({ ...error.violation, status: statusOf(error.refusal) });
    throw error;
  }
}

/** The ETag of a resource with a revision. */
const revisionOf = ({ answers }: Route, status: number, data: unknown): string | null =>
  hasRevision(answers[status]) ? revisionTag((data as { revision: number }).revision) : null;

/** What an organisation whose key is missing is refused with: waiting does not help, so no time is named. */
const withoutKey = (refusal: Refusal, { keys }: Context): Refusal =>
  keys === null && refusal.code === 'UNAVAILABLE' && refusal.message === undefined
    ? refuse('MISCONFIGURED', { message: ORG_KEY_MISSING })
    : refusal;

/** Statuses whose data a route renders. 404: what a read shows of something that is not there any more. */
const SHOWN = new Set([200, 201, 404]);

/** Renders the gate's result. */
async function respond(
  ready: Ready,
  reply: Reply,
  calls: Pick<RenderContext, 'further' | 'also' | 'report'>,
): Promise<Response> {
  const { route, incoming, caller, asked, context, prepared } = ready;
  const { outcome, rate_limit, replay } = reply;
  const headers: Record<string, string> = {
    ...regionHeaders(reply, incoming.trace),
    ...(replay && { 'Idempotency-Replayed': 'true' }),
  };
  if (outcome.kind !== 'ok')
    return errorResponse(
      withoutKey(refusalOf(outcome), context),
      incoming.base,
      incoming.trace,
      rate_limit,
      headers,
    );
  const { status, data } = outcome;
  const etag = outcome.etag ?? revisionOf(route, status, data);
  if (etag) headers.ETag = etag;
  if (route.render && SHOWN.has(status) && (!replay || route.resumes))
    return rendered(
      namingMissing(reply, await route.render(data as never, asked.input, { ...context, ...calls, etag })),
      status,
      rate_limit,
      headers,
    );
  const once = replay ? decryptOneTime(caller.bearer, ownerOf(ready), replay.one_time) : prepared.once;
  const json = data === null ? undefined : withOnce(data, once);
  return rendered(namingMissing(reply, { json }), status, rate_limit, headers);
}

/** Names the regions whose audit entries may be missing from an answer. */
const namingMissing = ({ regions }: Reply, shown: Rendered): Rendered =>
  regions?.missing?.length && !(shown instanceof Response) && shown.json instanceof Object
    ? { ...shown, json: { ...shown.json, regions_missing: regions.missing } }
    : shown;
