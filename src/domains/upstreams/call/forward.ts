// One call of an upstream, as its plan allows it: placed, signed, sent, and its answer given back masked.
// Invariants: the audit entry is durable before the answer begins; what goes wrong before that is a refusal,
// and after it the answer arrives broken off.

import { type Egress, guardedStream } from '../../../delivery/egress';
import { ApiError, invalid, type Refusal, refuse } from '../../../errors';
import { type AnswerOf, answerHeaders, answerReason } from './answer';
import { type Counts, downloadOf, MOST_WHOLE, uploadOf, wholeOf } from './bodies';
import { codingsOf } from './decode';
import { type Placed, place } from './fill';
import { ownTokens } from './own-tokens';
import { covered, VIA } from './request-headers';
import { needsBody, signed } from './sign';
import { relayed } from './sockets';
import type { UseCall, UseEnd, UsePlan, UsePorts } from './use-plan';
import { type Watch, watch } from './watch';

export interface Forwarded {
  call: UseCall;
  /** The body as it comes, or all of it where it was read before. */
  body: ReadableStream<Uint8Array> | Uint8Array | null;
  /** This service's route of the upstream, without a slash at its end. */
  route: string;
  egress: Egress;
}

const LONG = 60_000;

/** What a call has while it lasts. */
interface Ongoing {
  plan: UsePlan;
  given: Forwarded;
  ports: UsePorts;
  watching: Watch;
  counts: Counts;
  began: number;
}

/** The caller's headers that go on: of a held call, those that its approval covers. */
function headersOf({ held }: UsePlan, { headers }: UseCall): UseCall['headers'] {
  if (held === null) return headers;
  const key = held.idempotency_key ?? headers.find(([name]) => name === 'idempotency-key')?.[1];
  return key === undefined ? covered(headers) : [...covered(headers), ['idempotency-key', key]];
}

/** Headers that every call has. */
function withOurs({ headers }: Placed, { isWebSocket }: UseCall): Placed['headers'] {
  const ours: Placed['headers'] = [
    ['accept-encoding', 'identity'],
    ['via', `1.1 ${VIA}`],
  ];
  return [...headers, ...ours, ...(isWebSocket ? [['upgrade', 'websocket'] as [string, string]] : [])];
}

/** The body as it is sent. Throws a refusal if it has to be whole and is not small enough. */
async function bodyOf({ plan, given, watching, counts }: Ongoing, mustBeWhole: boolean) {
  const { body, call } = given;
  if (body !== null && ['GET', 'HEAD'].includes(call.method))
    throw new ApiError(invalid('body', `must be absent for ${call.method}`));
  if (call.bytes !== null && call.bytes > plan.max_request_bytes)
    throw new ApiError(tooLarge(plan.max_request_bytes));
  const isStream = body instanceof ReadableStream;
  if (!isStream || mustBeWhole) {
    const most = Math.min(plan.max_request_bytes, mustBeWhole ? MOST_WHOLE : plan.max_request_bytes);
    const whole = isStream ? await watching.wait(wholeOf(body, most)) : body;
    if (whole === null) {
      if (isStream) throw new ApiError(tooLarge(most));
      return null;
    }
    if (whole.length > most) throw new ApiError(tooLarge(most));
    counts.request = whole.length;
    return whole;
  }
  return uploadOf(body, { length: call.bytes, most: plan.max_request_bytes, counts, watching });
}

const tooLarge = (most: number): Refusal =>
  refuse('PAYLOAD_TOO_LARGE', { message: `The body of this call may have ${most} bytes at most.` });

/** Why there is no answer. */
function unreachable({ watching, plan }: Ongoing, why: string): Refusal {
  const cut = watching.cut();
  if (cut === 'request_too_large') return tooLarge(plan.max_request_bytes);
  if (cut === 'credential_ended') return refuse('TOKEN_REVOKED');
  if (cut === 'timeout') return refuse('TARGET_TIMEOUT');
  return why === 'target_refused' || why === 'private_address'
    ? refuse('TARGET_REJECTED', { message: 'The base URL of the upstream is no allowed target.' })
    : refuse('TARGET_UNREACHABLE');
}

const rejected = (message: string): Refusal => refuse('TARGET_REJECTED', { message });

const NO_BODY = [101, 204, 205, 304];

/** What an answer's head promises, or why it is not passed on. */
function headOf({ plan, given: { call } }: Ongoing, response: Response) {
  const kinds = codingsOf(response.headers.get('content-encoding'));
  const hasBody = call.method !== 'HEAD' && !NO_BODY.includes(response.status) && response.body !== null;
  if (kinds === null && hasBody)
    return rejected('The upstream answered with a Content-Encoding that is not supported.');
  if (response.status > 599) return rejected('The upstream answered with no valid status.');
  const said = response.headers.get('content-length');
  const length = said !== null && /^\d{1,15}$/.test(said) && kinds?.length === 0 ? Number(said) : null;
  // safety: use-known-length
  if (hasBody && length !== null && length > plan.max_response_bytes)
    return rejected(`The answer has ${length} bytes, and ${plan.max_response_bytes} are allowed.`);
  return { kinds: kinds ?? [], hasBody, length };
}

/** The status and headers of an answer, masked. Throws a refusal if that takes too many steps. */
function initOf({ plan, given }: Ongoing, response: Response, { url, masked }: Placed) {
  const { name, base_url } = plan.upstream;
  const about: AnswerOf = { upstream: name, base_url, url, route: given.route, values: masked };
  const { status } = response;
  const statusText = answerReason(response.statusText, masked);
  return { status, statusText, headers: answerHeaders(response.headers, about) };
}

/** The answer for the caller. */
function answerOf(
  ongoing: Ongoing,
  { response, placed: { masked }, init }: Sent,
  head: Exclude<ReturnType<typeof headOf>, Refusal>,
): Response {
  const { plan, given, ports, watching, counts, began } = ongoing;
  let isEnded = false;
  const ended = (how: UseEnd) => {
    if (isEnded) return;
    isEnded = true;
    watching.stop();
    watching.end('caller_gone');
    const isNoted = how !== 'complete' || Date.now() - began > LONG;
    ports.defer(ports.ended({ response_bytes: counts.response, how, isNoted }).catch(() => {}));
  };
  if (response.webSocket) {
    const relay = { plan, values: masked, counts, watching, ended };
    return new Response(null, { ...init, webSocket: relayed(response.webSocket, relay) });
  }
  if (!head.hasBody || response.body === null) {
    if (given.call.method === 'HEAD' && head.length !== null)
      init.headers.set('Content-Length', String(head.length));
    ended('complete');
    return new Response(null, init);
  }
  const most = plan.max_response_bytes;
  const download = { ...head, values: masked, most, counts, watching, ended };
  return new Response(downloadOf(response.body, download), init);
}

interface Sent {
  response: Response;
  placed: Placed;
  init: ReturnType<typeof initOf>;
}

/** Places, signs and sends. Throws a refusal. */
async function send(ongoing: Ongoing): Promise<Sent> {
  const { plan, given, ports, watching } = ongoing;
  const { call, egress } = given;
  const tokens = await watching.wait(ownTokens(plan, egress, ports));
  const unsigned = place(plan, { ...call, headers: headersOf(plan, call) }, tokens);
  const body = await bodyOf(ongoing, plan.held !== null || needsBody(plan, unsigned.headers));
  const placed = await signed(plan, call.method, unsigned, body instanceof Uint8Array ? body : null);
  const request = { method: call.method, headers: withOurs(placed, call), body, signal: watching.signal };
  const response = await watching.wait(guardedStream(egress, placed.url, request));
  if ('unreachable' in response) throw new ApiError(unreachable(ongoing, response.unreachable));
  return { response, placed, init: initOf(ongoing, response, placed) };
}

/** Ends a call that has no answer: the entry tells why. */
async function refused({ watching, ports, counts }: Ongoing, refusal: Refusal): Promise<Refusal> {
  watching.stop();
  watching.end('caller_gone');
  const isGiven = await ports.answered({ status: null, code: refusal.code, request_bytes: counts.request });
  return isGiven ? refusal : refuse('TOKEN_REVOKED');
}

/** Sends a call, and gives its answer back, or why there is none. */
export async function forward(plan: UsePlan, given: Forwarded, ports: UsePorts): Promise<Response | Refusal> {
  const watching = watch(plan, ports.ends);
  const counts: Counts = { request: 0, response: 0 };
  const ongoing: Ongoing = { plan, given, ports, watching, counts, began: Date.now() };
  let sent: Sent;
  try {
    sent = await send(ongoing);
  } catch (error) {
    if (error instanceof ApiError) return refused(ongoing, error.refusal);
    if (watching.cut() !== null) return refused(ongoing, unreachable(ongoing, ''));
    await refused(ongoing, refuse('INTERNAL'));
    throw error;
  }
  const head = headOf(ongoing, sent.response);
  if ('code' in head) return refused(ongoing, head);
  let isGiven = false;
  try {
    isGiven = await ports.answered({
      status: sent.response.status,
      code: null,
      request_bytes: counts.request,
    });
  } finally {
    if (!isGiven) {
      watching.stop();
      watching.end('credential_ended');
    }
  }
  // safety: use-entry-before-answer
  if (!isGiven) return refuse('TOKEN_REVOKED');
  return answerOf(ongoing, sent, head);
}
