// Calls of upstreams: `/orgs/:org_id/use/:upstream/*`, with any method. Here a call is read, judged by the
// gate and forwarded. Invariants: the path is cut once, and what the gate judged is what is sent; refusals of
// this service carry Svc-Error, answers of the upstream Svc-Upstream.

import { fullNeed } from '../../auth/actions';
import { tuple } from '../../crypto/bytes';
import { hmacHex } from '../../crypto/digest';
import { idBytes, newId } from '../../db/ids';
import { forms } from '../../db/names';
import { ApiError, invalid, type Refusal, refuse } from '../../errors';
import type { Ask, Reply } from '../../gate/request/call';
import { refusalOf } from '../../gate/request/outcome';
import { authenticate } from '../../http/caller/authenticate';
import { authenticateBound, targetOf } from '../../http/caller/bound';
import { callGate } from '../../http/calls/gate-call';
import type { Authenticated, Incoming } from '../../http/context';
import { refusalOfFault } from '../../http/faults';
import { errorResponse } from '../../http/responses';
import { API, type Route, route } from '../../http/route';
import { type Keyring, keyringOf, type OrgKeys } from '../../keys/keyring';
import { decryptValue } from '../secrets/encryption';
import { actions } from './actions';
import { METHODS } from './call/allow';
import { MOST_WHOLE, wholeOf } from './call/bodies';
import { useDigest } from './call/digest';
import { forward } from './call/forward';
import { leased, ROUND } from './call/lease';
import { behindBase, cutTarget, cutUsePath, isPlainPath, type UsePath } from './call/path';
import { covered, isLoop, isWebSocket, sendable } from './call/request-headers';
import { shownBody } from './call/shown';
import type { PlacedValue, UseCall, UsePlan, UsePorts } from './call/use-plan';
import type { Begun } from './gate/use';
import { ownToken } from './kept-tokens';
import { useAuthorization } from './use-credential';

/** What the gate knows of a call; its method, path and answer are the upstream's. */
const USE = {
  ...route({
    method: 'post',
    tag: 'Upstreams',
    summary: '',
    path: '',
    answers: {},
    action: 'secret.use',
    operation: 'use.begin',
  } as never),
  need: fullNeed(actions['secret.use']),
} as Route;

/** Findings on headers that are the upstream's here. */
const THEIRS = ['Idempotency-Key', 'If-Match', 'If-None-Match'];

/** One call, as far as it is read. */
interface Use {
  incoming: Incoming;
  caller: Authenticated & { genuine: NonNullable<Authenticated['genuine']> };
  path: UsePath;
  call: UseCall;
  keys: OrgKeys;
}

function callOf({ request }: Incoming, { upstream, rest, query, origin }: UsePath): UseCall {
  const length = request.headers.get('content-length');
  return {
    upstream,
    method: request.method,
    path: rest,
    ...(origin !== undefined && { origin }),
    query,
    headers: sendable(request.headers),
    bytes: request.body === null ? 0 : length === null ? null : Number(length),
    isWebSocket: isWebSocket(request.method, request.headers),
    whole: null,
  };
}

/** What is wrong with a call, before anything is known of its upstream. */
function findingOf({ headers, request }: Incoming, { rest }: UsePath, { method, bytes }: UseCall) {
  const theirs = headers.finding?.details?.every(({ path }) => THEIRS.includes(path));
  if (headers.finding && !theirs) return headers.finding;
  // safety: use-loop
  if (isLoop(request.headers)) return refuse('LOOP_DETECTED');
  if (!isPlainPath(rest))
    return refuse('USE_NOT_ALLOWED', { message: 'This path may be read as another one, and is not sent.' });
  return ['GET', 'HEAD'].includes(method) && bytes !== 0
    ? invalid('body', `must be absent for ${method}`)
    : null;
}

const askOf = ({ incoming, caller, path, call, keys }: Use, finding: Refusal | null): Ask => ({
  org: caller.genuine.org,
  action: 'secret.use',
  operation: 'use.begin',
  bearer: caller.genuine,
  ...(caller.proof && { proof: caller.proof }),
  ...(caller.isDpop && { isDpop: true }),
  path_org: path.org,
  named: { use: forms.use(path.upstream) ? path.upstream : '' },
  finding,
  input: finding ? null : call,
  idempotency: null,
  one_time: null,
  again: false,
  repeated: false,
  keys: { row: keys.row, answer: keys.answer },
  request: incoming.facts,
});

/** What the gate answered, and when it was asked. `body`: of a held call. */
interface Judged {
  reply: Reply;
  body: Uint8Array | null;
  asked: number;
}

/** The body of a held call, and the gate's second answer. */
async function asHeld(use: Use, ask: Ask): Promise<Judged> {
  const { incoming, call, path, keys } = use;
  const { env, trace, defer, request, headers } = incoming;
  const body = await wholeOf(request.body as ReadableStream<Uint8Array> | null);
  const at = path.origin ?? '';
  const digest = body && useDigest({ ...call, path: `${at}${call.path}`, body });
  const method = call.method;
  const approval = {
    id: headers.approval_id === null || forms.approval(headers.approval_id) ? headers.approval_id : 'unknown',
    method,
    path: `${at || `${API}/orgs/${path.org}/use/${path.upstream}`}${path.rest}${path.query}`,
    // Whoever may list approvals sees it, but not the body.
    // safety: approval-of-use-keyed
    digest: hmacHex(keys.digest, tuple('use', path.upstream, digest ?? '')),
    isFound: true as const,
  };
  const finding =
    body === null
      ? refuse('PAYLOAD_TOO_LARGE', {
          message: `The body of a call that waits for an approval may have ${MOST_WHOLE} bytes at most.`,
        })
      : null;
  const whole = body && { body: shownBody(body) };
  const again: Ask = {
    ...ask,
    approval,
    again: true,
    finding,
    input: finding ? null : { ...call, headers: covered(call.headers), whole },
  };
  const asked = Date.now();
  return { reply: await callGate(env, again, trace, true, defer), body, asked };
}

/** Opens the values of a plan. What was altered ends the call, and is reported as for reads. */
async function opened(use: Use, ask: Ask, begun: Begun) {
  const { incoming, keys, caller } = use;
  const { env, trace, defer } = incoming;
  const placed: Record<string, PlacedValue> = {};
  try {
    for (const delivered of begun.values) {
      const { row, version, value } = await decryptValue(keys, caller.genuine.org, delivered);
      placed[row.name] = { value, isChosen: row.type === 'password' && version.generated !== 1 };
    }
    return placed;
  } catch (error) {
    // safety: use-unopened-ends
    await toldOf(
      use,
      ask,
      begun,
    )('use.answered', {
      status: null,
      code: error instanceof ApiError ? error.refusal.code : 'INTERNAL',
      request_bytes: 0,
    });
    if (error instanceof ApiError && error.violation)
      await callGate(
        env,
        { ...ask, input: null, violation: error.violation, again: true },
        trace,
        true,
        defer,
      );
    throw error;
  }
}

/** Asks the gate a question about a call, or tells it something. */
type Told = (operation: string, input: object) => Promise<{ may?: boolean }>;

function toldOf(use: Use, ask: Ask, { intent }: Begun): Told {
  const { env, trace, defer, facts } = use.incoming;
  return async (operation, input) => {
    const reply = await callGate(
      env,
      {
        ...ask,
        bearer: 'system',
        action: 'secret.use_end',
        operation,
        path_org: null,
        named: {},
        finding: null,
        input: { intent, ...input },
        request: { ...facts, id: newId('req') },
      },
      // What asks whether the call may go on waits in the gate, and is no part of the time of a call.
      operation === 'use.alive' ? { ...trace } : trace,
      operation !== 'use.alive',
      defer,
    );
    if (reply.outcome.kind !== 'ok') throw new ApiError(refusalOf(reply.outcome));
    return reply.outcome.data as { may?: boolean };
  };
}

/** What forwarding needs of the gate. */
function portsOf(use: Use, ask: Ask, begun: Begun, plan: UsePlan, asked: number) {
  const ends = new AbortController();
  const told = toldOf(use, ask, begun);
  const may = async () => (await told('use.alive', { wait: ROUND })).may === true;
  const stop = leased(may, { asked, ends_at: begun.ends_at }, () => ends.abort());
  const ports: UsePorts = {
    ends: ends.signal,
    answered: async (answer) => {
      if (answer.status === null) stop();
      return (await told('use.answered', answer)).may === true;
    },
    ended: async (end) => {
      stop();
      await told('use.ended', end);
    },
    ownToken: ownToken(told, use.keys, ask.org, plan),
    defer: use.incoming.defer,
  };
  return { ports, stop };
}

/** Forwards a call that the gate let through. */
async function forwarded(use: Use, ask: Ask, begun: Begun, { body, asked }: Judged) {
  const { incoming, call, path } = use;
  const { request, base, settings, headers } = incoming;
  const { upstream, auth, max_request_bytes, max_response_bytes, timeout_seconds } = begun;
  const approval = begun.held ?? (body && { approval: headers.approval_id, isRepeatable: false });
  const plan: UsePlan = {
    upstream,
    auth,
    max_request_bytes,
    max_response_bytes,
    timeout_seconds,
    values: await opened(use, ask, begun),
    held: approval && { idempotency_key: approval.isRepeatable ? null : approval.approval },
  };
  const { ports, stop } = portsOf(use, ask, begun, plan, asked);
  const given = {
    call: { ...call, path: behindBase(upstream.base_url, call) ?? call.path },
    // A held call without a body has an empty one here.
    body: body?.length === 0 ? null : (body ?? (request.body as ReadableStream<Uint8Array> | null)),
    // Who asks by the whole URL follows references in the same way.
    route:
      call.origin === undefined ? `${base}${API}/orgs/${path.org}/use/${upstream.name}` : upstream.base_url,
    egress: { allowPrivate: settings.allowPrivate },
  };
  try {
    const answer = await forward(plan, given, ports);
    if (!(answer instanceof Response)) stop();
    return answer;
  } catch (error) {
    stop();
    throw error;
  }
}

/** Who calls: a bound Worker by its binding, whatever credential an SDK in it sends, others by theirs. */
async function callerOf(incoming: Incoming, keyring: Keyring): Promise<Authenticated | Refusal> {
  // safety: bound-call-by-its-binding
  if (incoming.bound) return authenticateBound(incoming.bound, keyring);
  const authorization = useAuthorization(incoming.request.headers);
  if (authorization !== null && typeof authorization === 'object') return authorization;
  return authenticate(USE, { ...incoming, headers: { ...incoming.headers, authorization } }, keyring);
}

/** The path of a call; of one by its whole URL, the one that it asks for. */
function pathOf(request: Request): UsePath | Refusal | null {
  const path = cutUsePath(request.url);
  const target = targetOf(request);
  if (!path || target === undefined) return path;
  const cut = cutTarget(target);
  return cut
    ? { ...path, ...cut }
    : refuse('USE_NOT_ALLOWED', { message: 'The URL of this call is not one that can be sent.' });
}

/** The answer to a call, or why there is none. */
async function used(
  incoming: Incoming,
  path: UsePath,
): Promise<Response | { refusal: Refusal; rate: Reply['rate_limit'] }> {
  const { env, settings, trace, defer } = incoming;
  const only = (refusal: Refusal) => ({ refusal, rate: null });
  const keyring = keyringOf(env, settings.masterKeys);
  const caller = await callerOf(incoming, keyring);
  if ('code' in caller) return only(caller);
  if (!caller.genuine) return only(refuse('UNAUTHENTICATED'));
  const keys = idBytes('org', caller.genuine.org) ? await keyring.org(caller.genuine.org) : null;
  if (!keys) return only(refuse('NOT_FOUND'));
  trace.org = caller.genuine.org;
  const call = callOf(incoming, path);
  const use: Use = { incoming, caller: caller as Use['caller'], path, call, keys };
  const ask = askOf(use, caller.isExpired ? refuse('TOKEN_EXPIRED') : findingOf(incoming, path, call));
  const asked = Date.now();
  const first = await callGate(env, ask, trace, true, defer);
  trace.credential = first.credential;
  const isHeld = first.outcome.kind === 'more' && first.outcome.wants === 'digest';
  const judged: Judged = isHeld ? await asHeld(use, ask) : { reply: first, body: null, asked };
  const { outcome } = judged.reply;
  if (outcome.kind !== 'ok') return { refusal: refusalOf(outcome), rate: first.rate_limit };
  const answer = await forwarded(use, ask, outcome.data as Begun, judged);
  return answer instanceof Response ? answer : { refusal: answer, rate: first.rate_limit };
}

/** Answers a request below `/orgs/:org_id/use/`. */
export async function answerUse(incoming: Incoming): Promise<Response> {
  const { request, base, trace, facts } = incoming;
  const refused = (refusal: Refusal, rate: Reply['rate_limit'] = null, headers = {}) =>
    errorResponse(refusal, base, trace, rate, { 'Svc-Error': refusal.code, ...headers });
  trace.route = `${API}/orgs/{org_id}/use/{upstream}/*`;
  const path = pathOf(request);
  if (!path) return refused(refuse('NOT_FOUND'));
  if ('code' in path) return refused(path);
  if (!METHODS.includes(request.method as 'GET'))
    return refused(refuse('METHOD_NOT_ALLOWED'), null, { Allow: METHODS.join(', ') });
  try {
    const answer = await used(incoming, path);
    return answer instanceof Response ? answer : refused(answer.refusal, answer.rate);
  } catch (error) {
    return refused(refusalOfFault(error, facts.id));
  }
}
