// The output of a running service: one short aligned line per request, one a minute for a database that
// fails, everything else unchanged, and none of the tools' own messages. Invariant: no character of a log
// line can control the terminal.
import { harmless } from '../../shared/terminal.mjs';

const METHOD = 7;
const ROUTE = 52;
const COLOURS = { 2: 32, 3: 36, 4: 33, 5: 31 };

/**
 * @typedef {object} RequestLine
 * @property {string} time
 * @property {string} method
 * @property {string} route
 * @property {number} status
 * @property {number} [ms]
 * @property {number} [gate_calls]
 * @property {number} [d1_calls]
 * @property {string} [credential]
 * @property {string} [request_id]
 * @property {string} [code]
 */

/** @param {string} line @returns {RequestLine | undefined} */
function requestOf(line) {
  if (!line.startsWith('{')) return undefined;
  try {
    const entry = JSON.parse(line);
    return typeof entry.route === 'string' &&
      typeof entry.method === 'string' &&
      Number.isInteger(entry.status)
      ? entry
      : undefined;
  } catch {
    return undefined;
  }
}

/** @param {RequestLine} entry @param {boolean} colour */
function readable(entry, colour) {
  const at = new Date(entry.time);
  const time = Number.isNaN(at.getTime()) ? '--:--:--' : at.toTimeString().slice(0, 8);
  const status = colour
    ? `\x1b[${COLOURS[Math.floor(entry.status / 100)] ?? 0}m${entry.status}\x1b[0m`
    : String(entry.status);
  const calls =
    entry.gate_calls === undefined && entry.d1_calls === undefined
      ? ''
      : `gate ${entry.gate_calls ?? 0} d1 ${entry.d1_calls ?? 0}`;
  const ms = typeof entry.ms === 'number' ? `${entry.ms.toFixed(1)} ms` : '';
  const rest = [calls.padEnd(12), entry.credential, entry.code, entry.request_id].filter(
    (part) => typeof part === 'string' && part.trim(),
  );
  return `${time} ${status} ${harmless(entry.method).padEnd(METHOD)}${harmless(entry.route).padEnd(ROUTE)} ${ms.padStart(10)}  ${harmless(rest.join(' '))}`.trimEnd();
}

const CHATTER = [/^Using (secrets|vars) defined in /];
/**
 * How workerd reports an error of SQLite: a line with places in its source, and one with addresses of its
 * code.
 */
const SQLITE = /SQLite failed; dbErrorMessage\(\w+, db\) = (.+?): (SQLITE_\w+)/;
const STACK = /^stack: /;
/** How often the same error of SQLite is told, in milliseconds. Each request and health check meets it. */
const TOLD_EVERY = 60_000;

/**
 * Tells of each error of SQLite once a minute; undefined for another line, and empty for one that is left
 * out.
 * @param {() => number} now
 */
function sqliteErrors(now) {
  /** @type {Map<string, number>} when each was told */
  const told = new Map();
  let isAfter = false;
  return (/** @type {string} */ line) => {
    const [, what, code] = SQLITE.exec(line) ?? [];
    if (!code) {
      isAfter &&= STACK.test(line);
      return isAfter ? '' : undefined;
    }
    isAfter = true;
    if (now() - (told.get(code) ?? Number.NEGATIVE_INFINITY) < TOLD_EVERY) return '';
    told.set(code, now());
    return `The runtime cannot use a database in STATE_DIR: ${what} (${code}). npm run doctor says more.`;
  };
}

/**
 * Converts a line of the runtime to the text to print, or undefined for nothing.
 * @param {boolean} colour @param {boolean} [json] requests stay as they are @param {() => number} [now]
 */
export function lineReader(colour, json = false, now = Date.now) {
  let quiet = true; // after a line that was left out, and after an empty one, empty lines are left out too
  const sqlite = sqliteErrors(now);
  return (/** @type {string} */ line) => {
    const failed = sqlite(line);
    if (failed !== undefined) return failed ? harmless(failed) : undefined;
    const chatter = CHATTER.some((pattern) => pattern.test(line));
    const skip = chatter || (quiet && line.trim() === '');
    quiet = chatter || line.trim() === '';
    if (skip) return undefined;
    const entry = json ? undefined : requestOf(line);
    return entry ? readable(entry, colour) : harmless(line);
  };
}

/** Our own health checks are not printed. @param {string} line */
export const isHealthPoll = (line) => requestOf(line)?.route === '/healthz';

/** Successful health checks, ours or a monitor's, are not printed. @param {string} line */
export function isHealthy(line) {
  const entry = requestOf(line);
  return entry?.route === '/healthz' && entry.status === 200;
}
