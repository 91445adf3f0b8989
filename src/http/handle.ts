// One request, from HTTP to the gate and back: who asks (by the token alone, no I/O), what they ask (parsed, validated, encrypted), one
// call of the gate, and the answer. Invariant: nothing is refused here that the gate has to audit or count; what is found wrong goes
// along as a finding, and the gate refuses it in the contract's order.

import { tuple } from '../crypto/bytes';
import { hmacHex } from '../crypto/digest';
import { keyringOf } from '../crypto/keyring';
import { idBytes, newId } from '../db/ids';
import { forms } from '../db/names';
import { fromCursor } from '../db/page';
import { ApiError, type Refusal, refuse } from '../errors';
import { fail, refusalOf } from '../gate/outcome';
import type { Ask, Named, Reply } from '../gate/types';
import { type Authenticated, authenticate } from './authenticate';
import { type ReadBody, readBody } from './body';
import { type Also, type BaseContext, type Context, type Incoming, keysOf, type Org, type RenderContext } from './context';
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

/** Answers a request by a credential or with the bootstrap token: authenticate, parse, find the organisation, prepare, ask the gate, respond. */
export async function handle(route: Route, incoming: Incoming): Promise<Response> {
  const { env, settings, base, facts, trace, defer } = incoming;
  const keyring = keyringOf(env.DB, settings.masterKeys);
  const caller = await authenticate(route, incoming, keyring);
  if ('code' in caller) return errorResponse(caller, base, trace);
  const asked = await parse(route, incoming, caller);
  const context: BaseContext = { env, settings, base, request: facts, deployment: caller.deployment, keyring, trace, defer };
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
    idempotencyKey: isUnkept(route, input, finding) ? null : headers.idempotency_key,
  };
}

/** Whether the answer of a request is not kept under its Idempotency-Key. */
const isUnkept = ({ unkept }: Route, { body }: Input, finding: Refusal | null): boolean =>
  typeof unkept === 'function' ? finding === null && unkept(body) : unkept === true;

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

/** The organisation whose gate is asked, and its keys; a new one where the request creates one. Null where there is no such organisation. */
async function resolveOrg(
  caller: Authenticated,
  { env, params }: Incoming,
  { idempotencyKey }: Asked,
  { keyring, deployment }: BaseContext,
): Promise<Org | null> {
  if (caller.genuine) return { org: caller.genuine.org, keys: await keyring.org(caller.genuine.org), wrapped: null };
  if (params.org_id !== undefined) {
    const keys = idBytes('org', params.org_id) ? await keyring.org(params.org_id) : null;
    return keys && { org: params.org_id, keys, wrapped: null };
  }
  // A repeated request creates the same organisation.
  const proposed = newId('org');
  const key = idempotencyKey === null ? null : hmacHex(deployment.digest, tuple('found', idempotencyKey));
  const org = key === null ? proposed : await env.GATE.getByName('deployment').reserve(key, proposed);
  const keys = org === proposed ? null : await keyring.org(org);
  return keys ? { org, keys, wrapped: null } : { org, ...keyring.create(org) };
}

/** Decrypts the cursor of a list, and encrypts values and creates tokens: what the gate has to be given. */
async function prepare(route: Route, incoming: Incoming, caller: Authenticated, parsed: Asked, context: Context): Promise<Ready> {
  const asked = withPosition(route, incoming, parsed, context);
  const ready = { route, incoming, caller, asked, context };
  if (asked.finding || !context.keys) return { ...ready, prepared: { input: null } };
  try {
    return { ...ready, prepared: (await route.prepare?.(asked.input, context)) ?? { input: {} } };
  } catch (error) {
    // What a schema cannot say is found here.
    if (!(error instanceof ApiError)) throw error;
    return { ...ready, asked: { ...asked, finding: error.refusal }, prepared: { input: null } };
  }
}

/** What is asked, with the position that its cursor stands for; a finding where the cursor is not one of this list. */
function withPosition(route: Route, { params }: Incoming, asked: Asked, { deployment, org }: Context): Asked {
  const query = asked.input.query as { cursor?: string } | undefined;
  if (query?.cursor === undefined || asked.finding) return asked;
  const cursor = fromCursor(deployment.cursor, org, listName(route.path, params), query.cursor);
  return cursor === null
    ? { ...asked, finding: refuse('INVALID_CURSOR') }
    : { ...asked, input: { ...asked.input, query: { ...query, cursor } } };
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
    ...(caller.proof && { proof: caller.proof }),
    ...(caller.isDpop && { isDpop: true }),
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
    ...(incoming.headers.approval_id !== null && { approval: identified(ready, approvalOf(incoming.headers.approval_id)) }),
  };
}

/** Which request this is, for approval: nothing else has this digest. */
function identified({ incoming: { request }, asked, context }: Ready, id: string | null): NonNullable<Ask['approval']> {
  const { pathname, search } = new URL(request.url);
  const path = `${pathname}${search}`;
  const digest = keysOf(context).digest;
  // safety: approval-digest
  return { id, method: request.method, path, digest: hmacHex(digest, tuple('approval', request.method, path, asked.body.bytes)) };
}

/** The approval that a header names. What is no id names none that exists. */
const approvalOf = (header: string): string => (forms.approval(header) ? header : 'unknown');

/** Whether the gate has to know which request this is, to note that it waits for approval. */
const waitsForApproval = (data: unknown): boolean => (data as { approval?: true }).approval === true;

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

/** How often the gate may ask for more: a value that it cannot make, and which request this is. */
const MOST_ROUNDS = 3;

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
  const further = async (input: unknown) => (await gate({ ...ask, input, again: true })).outcome;
  const also = async ({ action, operation = action, named = {}, input }: Also) => {
    const apart = { finding: null, idempotency: null, one_time: null, again: true, request: { ...facts, id: newId('req') } };
    const { outcome } = await gate({ ...ask, action, operation, named, input, ...apart, approval: undefined });
    return outcome.kind === 'more' && waitsForApproval(outcome.data) ? fail(refuse('APPROVAL_REQUIRED')) : outcome;
  };
  try {
    const first = await gate(ask);
    let [reply, made, again] = [first, ready, ask];
    for (let rounds = 0; reply.outcome.kind === 'more' && rounds < MOST_ROUNDS; rounds++) {
      const { data } = reply.outcome;
      if (waitsForApproval(data)) again = { ...again, approval: identified(ready, null), again: true };
      else {
        const more = await route.more?.(data as never, asked.input, { ...context, further });
        if (!more) break;
        made = { ...ready, prepared: more };
        again = { ...again, input: more.input, one_time: encryptOneTime(caller.bearer, ownerOf(ready), more.once), again: true };
      }
      // The rate limit is that of the first call: the others do not count.
      reply = { ...(await gate(again)), rate_limit: first.rate_limit };
    }
    return await respond(made, reply, { further, also });
  } catch (error) {
    if (error instanceof ApiError && error.violation) await gate({ ...ask, input: null, violation: error.violation, again: true });
    throw error;
  }
}

/** Renders what the gate answered. */
async function respond(
  ready: Ready,
  { outcome, rate_limit, replay }: Reply,
  calls: Pick<RenderContext, 'further' | 'also'>,
): Promise<Response> {
  const { route, incoming, caller, asked, context, prepared } = ready;
  const headers: Record<string, string> = replay ? { 'Idempotency-Replayed': 'true' } : {};
  if (outcome.kind !== 'ok') return errorResponse(refusalOf(outcome), incoming.base, incoming.trace, rate_limit, headers);
  const { status, data, etag = null } = outcome;
  if (etag) headers.ETag = etag;
  if (route.render && (status === 200 || status === 201) && (!replay || route.resumes))
    return rendered(await route.render(data as never, asked.input, { ...context, ...calls, etag }), status, rate_limit, headers);
  const once = replay ? decryptOneTime(caller.bearer, ownerOf(ready), replay.one_time) : prepared.once;
  return rendered({ json: data === null ? undefined : withOnce(data, once) }, status, rate_limit, headers);
}
