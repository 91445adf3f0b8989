// Requests to the service, with lost replies and repeats, and the history of what was asked and answered.
// Invariant: an operation begins before its first request leaves, and ends after its answer is read; without
// an answer it may have taken effect at any time since, so it has no end.
import { setTimeout as sleep } from 'node:timers/promises';

/** The outcome is not known. */
const LOST = Symbol('lost');
/** The request has done nothing. */
const REFUSED = Symbol('refused');
/** A caller that loses an answer gives up after so many milliseconds at most. */
const LOST_WITHIN = 25;
/** How long a caller goes on with a repeat: a runtime that was killed takes seconds to be back. */
const REPEATS = 100;

/**
 * @typedef {{ op: string, id?: string, value?: string, version?: number, limit?: number }} Input
 * @typedef {{ status: number, id?: string, value?: string, version?: number, remaining?: number }} Output
 * @typedef {{
 *   client: number, object: string, input: Input, output: Output | null, call: number, return: number | null,
 *   region?: string
 * }} Line an operation of a history; `region` answered, if the service has replicas
 * @typedef {{ status: number, json: any, headers: Headers }} Answer `json` is null where there is no body
 * @typedef {{
 *   at: string, token?: string, method?: string, body?: unknown, headers?: Record<string, string>
 * }} Request `at` is an address below the service's
 */

/** A history that operations are added to. */
export function newHistory() {
  /** @type {Line[]} */
  const lines = [];
  let last = 0;
  /** Microseconds, no two alike: so two operations of which one began after the other's end are in order. */
  const now = () => {
    last = Math.max(last + 1, Math.round(performance.now() * 1000));
    return last;
  };
  return { lines, now };
}

/**
 * A client of the service.
 * @param {{ base: string, readFrom: string, random: () => number, regions?: string[] }} options `readFrom`:
 * the address that answers its reads; `regions`: from which it reads, one at random each time
 */
export function newCaller({ base, readFrom, random, regions = [] }) {
  // One more for the gate.
  const place = () => regions[Math.floor(random() * (regions.length + 1))];
  /** @param {Request} request @param {number} loss */
  async function once({ at, token, method = 'GET', body, headers = {} }, loss) {
    const stop = new AbortController();
    const region = method === 'GET' ? place() : undefined;
    const timer = random() < loss ? setTimeout(() => stop.abort(), random() * LOST_WITHIN) : undefined;
    try {
      const answer = await fetch(`${method === 'GET' ? readFrom : base}${at}`, {
        method,
        headers: {
          ...(token && { Authorization: `Bearer ${token}` }),
          ...(body !== undefined && { 'Content-Type': 'application/json' }),
          ...(region && { 'Svc-Test-Region': region }),
          ...headers,
        },
        body: body === undefined ? undefined : JSON.stringify(body),
        signal: AbortSignal.any([stop.signal, AbortSignal.timeout(15_000)]),
      });
      const text = await answer.text();
      const json = text ? JSON.parse(text) : null;
      if (answer.status === 503 || json?.error?.code === 'IDEMPOTENCY_IN_PROGRESS') return LOST;
      return { status: answer.status, json, headers: answer.headers };
    } catch (error) {
      return error.cause?.code === 'ECONNREFUSED' ? REFUSED : LOST;
    } finally {
      clearTimeout(timer);
    }
  }

  /**
   * Sends a request, again and again if it may be repeated and its outcome is not known. `loss` is the share
   * of answers that are lost on purpose. After one was lost, a repeat that did nothing tells no outcome.
   * @param {Request} request
   * @param {{ isRepeated?: boolean, loss?: number }} options
   * @returns {Promise<Answer | typeof LOST | typeof REFUSED>}
   */
  async function send(request, { isRepeated, loss = request.method ? 0.03 : 0 } = {}) {
    let outcome = await once(request, loss);
    let isLost = outcome === LOST;
    for (let n = 0; isRepeated && typeof outcome === 'symbol' && n < REPEATS; n++) {
      await sleep(outcome === REFUSED ? 200 : 20);
      outcome = await once(request, loss);
      isLost ||= outcome === LOST;
    }
    if (outcome === REFUSED) await sleep(100);
    return outcome === REFUSED && isLost ? LOST : outcome;
  }
  return { send };
}

/** Whether there is an answer. @param {Answer | symbol} outcome @returns {outcome is Answer} */
export const isAnswered = (outcome) => typeof outcome !== 'symbol';
/** Whether the request may have taken effect. @param {Answer | symbol} outcome */
export const isOpen = (outcome) => outcome === LOST;
