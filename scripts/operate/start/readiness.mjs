// Whether the service of `npm start` is ready, still responds, and can serve callers, by its /healthz.
// Invariant: it is called ready only if callers can be served.
import http from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { harmless } from '../../shared/terminal.mjs';
import { isServing, keyProblem, problemsOf, readHealth } from '../vault/health.mjs';
import { reachedAt } from '../vault/settings.mjs';

/**
 * How long a start may take while its process lives. On a busy machine it takes many times as long as on an
 * idle one, so only a start that ends by itself, or takes longer than this, counts as one that fails.
 */
const READY_WITHIN = 90_000;

/** @param {string} host where the service listens @param {number} port */
export function readiness(host, port) {
  /**
   * Resolves once the scheduled handler has run and callers can be served, with what else is wrong; or with
   * why they never will be. A service that is down keeps running: an operator may have to adopt a restored
   * database.
   * @param {() => boolean} isSettled
   * @param {(problems: string[]) => void} onDown is told once
   * @returns {Promise<{ ready: true, problems: string[] } | { ready: false, fatal: boolean, why: string }>}
   */
  async function untilReady(isSettled, onDown) {
    let until = Date.now() + READY_WITHIN;
    let every = 100;
    for (; Date.now() < until; await sleep(every)) {
      const hasRun = isSettled();
      const answer = await ask(host, port, '/healthz', 6_000);
      if (answer?.body?.error?.code === 'MISCONFIGURED')
        return { ready: false, fatal: true, why: harmless(String(answer.body.error.message)) };
      const health = readHealth(answer?.body);
      if (!health || !hasRun) continue;
      const why = keyProblem(health);
      if (why) return { ready: false, fatal: true, why };
      if (isServing(health)) return { ready: true, problems: problemsOf(health) };
      if (health.status !== 'down' || until === Number.POSITIVE_INFINITY) continue;
      onDown(problemsOf(health));
      until = Number.POSITIVE_INFINITY;
      every = 2000;
    }
    return { ready: false, fatal: false, why: `The service was not ready within ${READY_WITHIN / 1000} s` };
  }

  /**
   * Resolves once three requests in a row got no response. A busy service still responds well within a
   * request's timeout.
   * @param {() => boolean} isOver
   */
  async function untilSilent(isOver) {
    for (let failed = 0; failed < 3 && !isOver(); await sleep(1_000))
      failed = (await ask(host, port, '/healthz', 10_000)) ? 0 : failed + 1;
    return 'The runtime does not respond';
  }
  return { untilReady, untilSilent };
}

/**
 * GET on the service; undefined without a timely response. Not fetch(), which refuses some ports.
 * @param {string} host @param {number} port @param {string} path @param {number} ms
 * @returns {Promise<{ status?: number, body?: any } | undefined>}
 */
function ask(host, port, path, ms) {
  return new Promise((done) => {
    const to = { host: reachedAt(host), port, path, agent: false, signal: AbortSignal.timeout(ms) };
    const request = http.get(to, async (response) => {
      let text = '';
      try {
        for await (const part of response.setEncoding('utf8')) if (text.length < 65_536) text += part;
        done({ status: response.statusCode, body: JSON.parse(text) });
      } catch {
        done(response.complete ? { status: response.statusCode } : undefined);
      }
    });
    request.on('error', () => done(undefined));
  });
}
