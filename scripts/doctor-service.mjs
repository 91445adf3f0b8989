// The checks of `npm run doctor` on a running service: its clock and its /healthz.
import http from 'node:http';
import https from 'node:https';

/** Expiry depends on the clock: with a larger error, credentials would expire at the wrong time. */
const CLOCK_WITHIN = 30;

/**
 * Clock, database, gate and queue, as the running service reports them.
 * @param {string} base
 * @param {string} remedy if it does not respond
 * @param {'warn' | 'fail'} silent the verdict if it does not respond
 * @param {boolean} local the local runtime sends no Date, and has no clock of its own
 * @param {(check: string, verdict: 'ok' | 'warn' | 'fail', message: string) => void} report
 */
export async function service(base, remedy, silent, local, report) {
  const asked = Date.now();
  const answer = await get(`${base}/healthz`);
  const took = Date.now() - asked;
  if (!answer) return report('service', silent, `does not respond at ${base}: ${remedy}.`);
  const off = Date.parse(answer.date) - (asked + took / 2);
  // A Date header has whole seconds, and the response took some time.
  const seconds = Math.max(0, Math.abs(off) - 1000 - took / 2) / 1000;
  if (Number.isNaN(off) && local) report('clock', 'ok', "the service uses this machine's clock");
  else if (Number.isNaN(off)) report('clock', 'warn', 'the response has no Date header: check the clocks of both machines.');
  else if (seconds > CLOCK_WITHIN)
    report(
      'clock',
      'fail',
      `this machine and the service are ${Math.round(seconds)} s apart, and expiry depends on the clock: set this one by NTP, or check the other one.`,
    );
  else report('clock', 'ok', `within ${CLOCK_WITHIN} s`);
  if (answer.body?.error?.code === 'MISCONFIGURED')
    return report('service', 'fail', `${answer.body.error.message} Set it and start or deploy again.`);
  if (typeof answer.body?.checks !== 'object' || answer.body.checks === null)
    return report('service', 'fail', `the server at ${base} is not a vault (status ${answer.status}): ${remedy}.`);
  const next = {
    database: 'check the log, and whether the migrations are applied',
    gate: 'check the log of the Durable Object',
    queue: 'within a minute of a start this is normal; otherwise check whether the schedule and the queue consumer exist',
  };
  for (const [check, then] of Object.entries(next)) {
    if (answer.body.checks[check] === 'ok') report(check, 'ok', 'works');
    else report(check, 'fail', `failing: ${then}.`);
  }
}

/**
 * GET on any port: fetch() refuses some. @param {string} url @returns {Promise<{ status: number, date: string, body: any } | undefined>}
 */
function get(url) {
  return new Promise((done) => {
    if (!URL.canParse(url)) return done(undefined);
    const { get: ask } = url.startsWith('https:') ? https : http;
    const request = ask(url, { agent: false, signal: AbortSignal.timeout(15_000) }, async (response) => {
      let text = '';
      try {
        for await (const part of response.setEncoding('utf8')) if (text.length < 65_536) text += part;
        done({ status: response.statusCode ?? 0, date: response.headers.date ?? '', body: JSON.parse(text) });
      } catch {
        done({ status: response.statusCode ?? 0, date: response.headers.date ?? '', body: undefined });
      }
    });
    request.on('error', () => done(undefined));
  });
}
