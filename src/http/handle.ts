// One request, from HTTP to the gate and back: who asks (by the token alone, no I/O), what they ask (parsed, validated, encrypted), one
// call of the gate, and the answer. Invariant: nothing is refused here that the gate has to audit or count; what is found wrong goes
// along as a finding, and the gate refuses it in the contract's order.

import { tuple } from '../crypto/bytes';
import { hmacHex } from '../crypto/digest';
import { type Keyring, keyringOf } from '../crypto/keyring';
import { idBytes, newId } from '../db/ids';
import { forms } from '../db/names';
import { fromCursor } from '../db/page';
import { ApiError, type Refusal, refuse } from '../errors';
import { refusalOf } from '../gate/outcome';
import type { Ask, Named, Reply } from '../gate/types';
import { type Authenticated, authenticate } from './authenticate';
import { type ReadBody, readBody } from './body';
import type { Context, Incoming } from './context';
import { callGate } from './gate-call';
import { listName } from './list';
import { decryptOneTime, encryptOneTime, withOnce } from './one-time';
import { errorResponse, rendered } from './responses';
import type { Input, Prepared, Route } from './route';
import { findingOf, validate } from './validate';

/** What a request asks, as far as it could be read. */
interface Asked {
  body: ReadBody;
  input: Input;
  named: Named;
  /** What is wrong with it, the first in the contract's order. */
  finding: Refusal | null;
  idempotencyKey: string | null;
}

/** Answers a request by a credential or with the bootstrap token. */
export async function handle(route: Route, incoming: Incoming): Promise<Response> {
  const { env, settings, base, trace } = incoming;
  const keyring = keyringOf(env.DB, settings.masterKeys);
  const caller = await authenticate(route, incoming, keyring);
  if ('code' in caller) return errorResponse(caller, base, trace);
  const asked = await parse(route, incoming, caller);
  const context = contextOf(incoming, keyring, caller);
  if (!caller.genuine && route.deployment) {
    if (asked.finding) return errorResponse(asked.finding, base, trace);
    return rendered(await route.deployment(asked.input, context), 200, null);
  }
  if (!(await resolveOrg(caller, incoming, asked, context))) return errorResponse(refuse('NOT_FOUND'), base, trace);
  readCursor(route, incoming, asked, context);
  const prepared = await prepare(route, asked, context);
  return askGate({ route, incoming, caller, asked, context, prepared });
}

/** Reads and validates what is asked. */
async function parse(route: Route, incoming: Incoming, { isExpired }: Authenticated): Promise<Asked> {
  const { request, headers } = incoming;
  const body: ReadBody = route.method === 'get' ? { bytes: new Uint8Array(), refusal: null } : await readBody(request);
  const { input, finding } = validate(route, incoming, body);
  const { named, isWellFormed } = namedOf(route, input);
  return {
    body,
    input,
    named,
    finding: isExpired ? refuse('TOKEN_EXPIRED') : (findingOf(headers, body, finding) ?? (isWellFormed ? null : refuse('NOT_FOUND'))),
    idempotencyKey: route.unkept ? null : headers.idempotency_key,
  };
}

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

function contextOf(incoming: Incoming, keyring: Keyring, { deployment }: Authenticated): Context {
  const { env, settings, base, facts, trace, defer } = incoming;
  const early = () => Promise.reject(new Error('the gate has not been asked yet'));
  return {
    ...{ env, settings, base, request: facts, deployment, keyring, trace, defer },
    ...{ org: '', keys: null, wrapped: null, etag: null, further: early, also: early },
  };
}

/** Finds the org whose gate is asked, and its keys; a new one where the request creates an org. Answers false where there is no such org. */
async function resolveOrg(caller: Authenticated, incoming: Incoming, asked: Asked, context: Context): Promise<boolean> {
  const { env, trace, params } = incoming;
  const { keyring, deployment } = context;
  if (caller.genuine) {
    context.org = caller.genuine.org;
    context.keys = await keyring.org(context.org);
  } else if (params.org_id !== undefined) {
    context.org = params.org_id;
    context.keys = idBytes('org', context.org) ? await keyring.org(context.org) : null;
    if (!context.keys) return false;
  } else {
    // A repeated request creates the same org.
    const proposed = newId('org');
    const key = asked.idempotencyKey === null ? null : hmacHex(deployment.digest, tuple('found', asked.idempotencyKey));
    context.org = key === null ? proposed : await env.GATE.getByName('deployment').reserve(key, proposed);
    context.keys = context.org === proposed ? null : await keyring.org(context.org);
    if (!context.keys) Object.assign(context, keyring.create(context.org));
  }
  trace.org = context.org;
  return true;
}

/** Decrypts the cursor of a list. */
function readCursor(route: Route, { params }: Incoming, asked: Asked, context: Context): void {
  const query = asked.input.query as { cursor?: string } | undefined;
  if (query?.cursor === undefined || asked.finding) return;
  const position = fromCursor(context.deployment.cursor, context.org, listName(route.path, params), query.cursor);
  if (position === null) asked.finding = refuse('INVALID_CURSOR');
  else query.cursor = position;
}

/** Encrypts values and creates tokens: what the gate has to be given. */
async function prepare(route: Route, asked: Asked, context: Context): Promise<Prepared> {
  if (asked.finding || !context.keys) return { input: null };
  try {
    return (await route.prepare?.(asked.input, context)) ?? { input: {} };
  } catch (error) {
    // What a schema cannot say is found here.
    if (!(error instanceof ApiError)) throw error;
    asked.finding = error.refusal;
    return { input: null };
  }
}

/** A request that is ready for the gate. */
interface Ready {
  route: Route;
  incoming: Incoming;
  caller: Authenticated;
  asked: Asked;
  context: Context;
  prepared: Prepared;
}

/** What only the caller's token opens is bound to the request: by its Idempotency-Key, so that a replay shows it again. */
const ownerOf = ({ incoming, asked, context }: Ready): string[] => [context.org, asked.idempotencyKey ?? incoming.facts.id];

/** What the gate needs to know of a request. */
function askOf(ready: Ready): Ask {
  const { route, incoming, caller, asked, context, prepared } = ready;
  const { finding } = asked;
  const { keys } = context;
  return {
    org: context.org,
    action: route.action,
    operation: route.operation ?? route.action,
    bearer: caller.genuine ?? 'bootstrap',
    path_org: caller.genuine ? (incoming.params.org_id ?? null) : null,
    named: asked.named,
    finding,
    input: finding ? null : prepared.input,
    idempotency: idempotencyOf(ready),
    one_time: encryptOneTime(caller.bearer, ownerOf(ready), prepared.once),
    again: false,
    repeated: false,
    keys: keys && { row: keys.row, answer: keys.answer },
    request: incoming.facts,
  };
}

/** The Idempotency-Key of a request, and the digest that tells it from any other request under the same key. */
function idempotencyOf({ incoming: { request }, caller, asked, context }: Ready): Ask['idempotency'] {
  if (asked.idempotencyKey === null || !context.keys) return null;
  const { pathname, search } = new URL(request.url);
  const headers = ['if-match', 'approval-id'].map((name) => request.headers.get(name) ?? '');
  const digest = caller.genuine ? context.keys.digest : context.deployment.digest;
  return {
    key: asked.idempotencyKey,
    digest: hmacHex(digest, tuple(request.method, pathname, search, ...headers, asked.body.bytes)),
  };
}

/** Asks the gate, as often as the operation needs, and renders its answer. */
async function askGate(ready: Ready): Promise<Response> {
  const { route, incoming, caller, asked, context } = ready;
  const { env, facts, trace, defer } = incoming;
  const ask = askOf(ready);
  const hint = (asked.input.body as { location_hint?: DurableObjectLocationHint } | undefined)?.location_hint;
  const gate = async (what: Ask): Promise<Reply> => {
    const reply = await callGate(env, what, trace, route.method !== 'get', defer, hint);
    trace.credential = reply.credential;
    return reply;
  };
  context.further = async (more) => (await gate({ ...ask, input: more, again: true })).outcome;
  context.also = async ({ action, operation = action, named = {}, input }) => {
    const apart = { finding: null, idempotency: null, one_time: null, again: true, request: { ...facts, id: newId('req') } };
    return (await gate({ ...ask, action, operation, named, input, ...apart })).outcome;
  };
  let reply = await gate(ask);
  const { budget } = reply;
  if (reply.outcome.kind === 'more' && route.more) {
    ready.prepared = await route.more(reply.outcome.data as never, asked.input, context);
    const { input, once } = ready.prepared;
    reply = await gate({ ...ask, input, one_time: encryptOneTime(caller.bearer, ownerOf(ready), once), again: true });
  }
  try {
    return await respond(ready, { ...reply, budget });
  } catch (error) {
    if (error instanceof ApiError && error.alarm) await gate({ ...ask, input: null, alarm: error.alarm, again: true });
    throw error;
  }
}

/** Renders what the gate answered. */
async function respond(ready: Ready, { outcome, budget, replay }: Reply): Promise<Response> {
  const { route, incoming, caller, asked, context, prepared } = ready;
  const headers: Record<string, string> = replay ? { 'Idempotency-Replayed': 'true' } : {};
  if (outcome.kind !== 'ok') return errorResponse(refusalOf(outcome), incoming.base, incoming.trace, budget, headers);
  if (outcome.etag) headers.ETag = outcome.etag;
  context.etag = outcome.etag ?? null;
  if (route.render && outcome.status === 200 && (!replay || route.resumes))
    return rendered(await route.render(outcome.data as never, asked.input, context), outcome.status, budget, headers);
  const once = replay ? decryptOneTime(caller.bearer, ownerOf(ready), replay.one_time) : prepared.once;
  return rendered({ json: outcome.data === null ? undefined : withOnce(outcome.data, once) }, outcome.status, budget, headers);
}
