// Requests without a credential, authenticated by their body or a cookie: sign-in. Invariants: a refused
// request is counted by address and has not called a gate; a successful one is neither counted nor delayed.
import type { Action } from '../auth/actions';
import { ApiError, refuse, statusOf } from '../errors';
import type { Ask } from '../gate/request/call';
import { keyringOf } from '../keys/keyring';
import { countRefused } from './caller/refused-attempts';
import { callGate } from './calls/gate-call';
import type { Incoming, PublicContext } from './context';
import { readBody } from './input/body';
import { findingOf, validate } from './input/validate';
import { errorResponse, rendered } from './responses';
import type { Route } from './route';

export async function handlePublic(route: Route, incoming: Incoming): Promise<Response> {
  const { request, headers, base, trace } = incoming;
  const body = await readBody(request);
  const { input, finding: found } = validate(route, incoming, body);
  const finding = findingOf(headers, body, found);
  if (finding) return errorResponse(finding, base, trace);
  const answer = route.public as NonNullable<Route['public']>;
  return withContext(route.action, incoming, async (context) => {
    const opened = await answer(input, context);
    if ('refusal' in opened)
      return errorResponse(opened.refusal, base, trace, opened.rate_limit, opened.headers);
    return rendered({ json: opened.json }, opened.status, opened.rate_limit ?? null, opened.headers);
  });
}

/** Answers a request without a credential, for an action. What a provider sends has its own form. */
export async function withContext(
  action: Action,
  incoming: Incoming,
  answer: (context: PublicContext) => Promise<Response>,
): Promise<Response> {
  const { request, env, settings, base, facts, trace } = incoming;
  const keyring = keyringOf(env, settings.masterKeys);
  /** The last call to a gate: an integrity violation is reported for its organisation. */
  let last: Ask | null = null;
  const gate = (ask: Ask) => callGate(env, ask, trace, true, incoming.defer);
  const context: PublicContext = {
    env,
    settings,
    base,
    request: facts,
    place: incoming.place,
    deployment: await keyring.deployment(),
    keyring,
    trace,
    defer: incoming.defer,
    headers: request.headers,
    async ask(org, { row, answer }, bearer, asked, { operation = action, again = false } = {}) {
      trace.org = org;
      const ask: Ask = {
        org,
        action,
        operation,
        bearer,
        path_org: null,
        named: {},
        finding: null,
        input: asked,
        idempotency: null,
        one_time: null,
        again,
        repeated: false,
        keys: { row, answer },
        request: facts,
      };
      last = ask;
      const reply = await gate(ask);
      trace.credential = reply.credential;
      return reply;
    },
    async count(refusal) {
      const wait = await countRefused(env, facts.ip);
      return wait ? refuse('RATE_LIMITED', { retry_after: wait }) : refusal;
    },
  };
  return answer(context).catch(async (error) => {
    if (last && error instanceof ApiError && error.violation) {
      const violation = { ...error.violation, status: statusOf(error.refusal) };
      await gate({ ...last, input: null, violation, again: true });
    }
    throw error;
  });
}
