// The checks of `npm run doctor` on a running service: its clock and its /healthz.
import http from 'node:http';
import https from 'node:https';
import { readHealth } from '../vault/health.mjs';

/** Expiry depends on the clock: with a larger error, credentials would expire at the wrong time. */
const CLOCK_WITHIN = 30;

/** How long the service may take to answer, in milliseconds. */
const WITHIN = 15_000;

/** What to do about each check of /healthz, where its own message does not say. */
const NEXT = {
  database:
    'the lines of the runtime in the log say why: a full disk, a damaged or read-only file, or another process that has locked it',
  gate: 'the lines of the runtime in the log say why, such as a full disk. If its file is damaged, stop the service and run npm run gate -- reset health',
  gates: 'if it stays with one, see docs/operations/gates.md',
  schedule:
    'within a minute of a start this is normal; otherwise restart the service, or check triggers.crons of the Worker',
  queue:
    'within a minute of a start this is normal; otherwise restart the service, or check whether the schedule and the queue consumer of the Worker exist',
};

/**
 * The clock, and what the running service reports of itself.
 * @param {string} base
 * @param {string} remedy if it does not respond
 * @param {boolean} local the local runtime sends no Date, and has no clock of its own
 * @param {(check: string, verdict: 'ok' | 'warn' | 'fail', message: string) => void} report
 */
export async function service(base, remedy, local, report) {
  const asked = Date.now();
  const answer = await get(`${base}/healthz`);
  const took = Date.now() - asked;
  if ('why' in answer)
    return report('service', 'fail', `does not respond at ${base}${answer.why}: ${remedy}.`);
  const off = Date.parse(answer.date) - (asked + took / 2);
  // A Date header has whole seconds, and the response took some time.
  const seconds = Math.max(0, Math.abs(off) - 1000 - took / 2) / 1000;
  if (Number.isNaN(off) && local) report('clock', 'ok', "the service uses this machine's clock");
  else if (Number.isNaN(off))
    report('clock', 'warn', 'the response has no Date header: check the clocks of both machines.');
  else if (seconds > CLOCK_WITHIN)
    report(
      'clock',
      'fail',
      `this machine and the service are ${Math.round(seconds)} s apart, and expiry depends on the clock: set this one by NTP, or check the other one.`,
    );
  else report('clock', 'ok', `within ${CLOCK_WITHIN} s`);
  if (answer.body?.error?.code === 'MISCONFIGURED')
    return report('service', 'fail', `${answer.body.error.message} Set it and start or deploy again.`);
  const health = readHealth(answer.body);
  if (!health)
    return report(
      'service',
      'fail',
      `the server at ${base} is not a vault of this release (status ${answer.status}): ${remedy}.`,
    );
  const words = {
    ok: 'serves callers',
    degraded: 'serves callers, but not all of it works',
    down: 'cannot serve callers',
  };
  report(
    'service',
    health.status === 'ok' ? 'ok' : health.status === 'degraded' ? 'warn' : 'fail',
    `${words[health.status]} at ${base}`,
  );
  for (const { name, ok, message } of health.checks)
    report(name, ok ? 'ok' : 'fail', ok ? message : `${message}${NEXT[name] ? ` Next: ${NEXT[name]}.` : ''}`);
}

/** What a failed request says of the network. @param {any} error */
function whyOf({ code = '', name }) {
  if (name === 'TimeoutError' || name === 'AbortError') return `, in ${WITHIN / 1000} s`;
  if (code === 'ENOTFOUND' || code === 'EAI_AGAIN')
    return ' (its name is not found; does this machine have a network?)';
  if (code === 'ECONNREFUSED') return ' (nothing listens there)';
  if (code === 'ECONNRESET' || code === 'ERR_STREAM_PREMATURE_CLOSE') return ' (the connection breaks off)';
  if (/CERT|SIGNED|SIGNATURE|ISSUER/.test(code)) return ` (its TLS certificate is not accepted: ${code})`;
  return code && ` (${code})`;
}

/**
 * GET on any port: fetch() refuses some.
 * @param {string} url @returns {Promise<{ status: number, date: string, body: any } | { why: string }>}
 */
function get(url) {
  return new Promise((done) => {
    if (!URL.canParse(url)) return done({ why: ' (that is no URL)' });
    const { get: ask } = url.startsWith('https:') ? https : http;
    const request = ask(url, { agent: false, signal: AbortSignal.timeout(WITHIN) }, async (response) => {
      let text = '';
      try {
        for await (const part of response.setEncoding('utf8')) if (text.length < 65_536) text += part;
        done({ status: response.statusCode ?? 0, date: response.headers.date ?? '', body: JSON.parse(text) });
      } catch (error) {
        if (!response.complete) return done({ why: whyOf(error) });
        done({ status: response.statusCode ?? 0, date: response.headers.date ?? '', body: undefined });
      }
    });
    request.on('error', (error) => done({ why: whyOf(error) }));
  });
}
