// `npm run gate -- accept-clock`: after a clock that was ahead and was put right, has the gate of each
// organisation go on by it. Invariants: the operator sees which time the service takes for the present before
// anything is changed; an organisation that fails costs no other one anything, and is named.
import { ExpectedError } from '../../shared/expected-error.mjs';
import { ask, isAsked } from '../../shared/terminal.mjs';
import { BAD_GATE, eachOrg, linesOf } from './each-org.mjs';

/** How long one organisation may take, in milliseconds. */
const WITHIN = 60_000;
const MOST_SHOWN = 20;

/**
 * @param {{ url: string, token?: string }} service
 * @param {{ reason: string, yes: boolean, json: boolean }} how
 */
export async function acceptClock(service, { reason, yes, json }) {
  const time = await timeOf(service.url);
  process.stderr.write(
    `The clock of the service shows ${time.toISOString()}, and that of this machine ${new Date().toISOString()}.\n`,
  );
  if (!yes) {
    if (!isAsked()) throw new ExpectedError('Nothing was changed: pass --yes if that is the right time');
    if ((await ask('Type "right" if that is the right time: ')) !== 'right')
      throw new ExpectedError('Nothing was changed');
  }
  const { orgs, done, left } = await eachOrg({
    ...service,
    path: '/clock/accept',
    body: { reason },
    what: 'organisations that accept the clock:',
    within: WITHIN,
  });
  if (left.length) {
    process.exitCode = 1;
    process.stderr.write(
      `${left.length} of ${orgs.length} organisations did not accept the clock; run this again for them:\n${linesOf(left)}\n${BAD_GATE}\n`,
    );
  }
  process.stdout.write(
    json ? `${JSON.stringify({ accepted: Object.fromEntries(done), left })}\n` : `${messageOf(done)}\n`,
  );
}

/** @param {Map<string, { ahead_seconds: number }>} done */
function messageOf(done) {
  const ahead = [...done].filter(([, { ahead_seconds }]) => ahead_seconds > 0);
  const lines = ahead
    .slice(0, MOST_SHOWN)
    .map(([org, { ahead_seconds }]) => `  ${org}: its audit log is ${lasting(ahead_seconds)} ahead`);
  const hidden = ahead.length - lines.length;
  const total = `${done.size} ${done.size === 1 ? 'organisation goes' : 'organisations go'} on by this clock.`;
  return [total, ...lines, ...(hidden > 0 ? [`  and ${hidden} more: see --json`] : [])].join('\n');
}

/** @param {number} seconds */
const lasting = (seconds) =>
  seconds < 7200
    ? `${Math.ceil(seconds / 60)} minutes`
    : seconds < 172_800
      ? `${Math.ceil(seconds / 3600)} hours`
      : `${Math.ceil(seconds / 86_400)} days`;

/**
 * The time by the clock of the service. The local runtime sends no Date, and has the clock of this machine.
 * @param {string} url
 */
async function timeOf(url) {
  try {
    const answer = await fetch(new URL('/healthz', url), {
      redirect: 'error',
      signal: AbortSignal.timeout(10_000),
    });
    await answer.text();
    const time = new Date(answer.headers.get('date') ?? Date.now());
    return Number.isNaN(time.getTime()) ? new Date() : time;
  } catch {
    throw new ExpectedError(`The service does not respond at ${url}: start it, or pass --url`);
  }
}
