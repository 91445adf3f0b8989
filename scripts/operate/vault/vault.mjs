// The vault that an operator's script works on: the local one or, with `--remote`, the deployment's; and its
// service. Invariant: no secret is ever on a command line, and no token is sent in plaintext to another
// machine.
import net from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { ExpectedError, goOnWithoutReader, reported } from '../../shared/expected-error.mjs';
import { deployedBindings, lastLines, reachDatabase } from './cloudflare-account.mjs';
import { CONFIG } from './deployment-config.mjs';
import { readDevVars } from './dev-vars.mjs';
import '../../shared/temporary-files.mjs';
import { root, runWrangler } from '../../shared/wrangler.mjs';
import { originAt, reachedAt } from './settings.mjs';

export const devVarsFile = path.join(root, '.dev.vars');

/** The shell's variable, or that of .dev.vars. @param {string} name */
export const variable = (name) => process.env[name] ?? readDevVars(devVarsFile)?.vars[name];

/** Where `npm start` stores the local vault. */
export const stateDir = () => path.resolve(root, variable('STATE_DIR') || path.join('.wrangler', 'state'));

/**
 * Where `npm start` listens with these variables. An IP address, not localhost, which may also resolve to
 * [::1], where another user of this machine could listen: the bootstrap token is sent there.
 */
export function localUrl() {
  const address = reachedAt(variable('HOST') || '127.0.0.1');
  return `http://${net.isIPv6(address) ? `[${address}]` : address}:${variable('PORT') || 8787}`;
}

/** Whether a host in a URL is this machine, so data sent there does not leave it. @param {string} hostname */
function isThisMachine(hostname) {
  if (/^(localhost|127(\.\d+){3}|\[::1\])$/.test(hostname)) return true;
  const addresses = Object.values(os.networkInterfaces()).flatMap((list) => list ?? []);
  return addresses.some(({ address }) => URL.parse(originAt(address, 80))?.hostname === hostname);
}

/**
 * Runs a script until it ends. A fault is one line and exit code 1; with a `usage`, `--help` prints it.
 * @param {() => Promise<void>} main @param {string} [usage]
 */
export async function run(main, usage) {
  goOnWithoutReader();
  if (usage && process.argv.includes('--help')) return void process.stdout.write(usage);
  try {
    await main();
  } catch (error) {
    const isUsage = error.code?.startsWith?.('ERR_PARSE_ARGS');
    process.stderr.write(
      `${isUsage ? [error.message, ...(usage ? ['', usage.trimEnd()] : [])].join('\n') : (reported(error) ?? error.stack)}\n`,
    );
    process.exitCode = 1;
  }
}

/** @type {Promise<unknown> | undefined} */
let reached;

/**
 * Runs wrangler on the local vault or, with `--remote` and for secrets, on the deployment. Returns its
 * output.
 * @param {string[]} args
 * @param {string} [input] its stdin
 * @returns {Promise<string>}
 */
export async function wrangler(args, input = '') {
  const local = args.includes('--local');
  if (!local) {
    reached ??= reachDatabase();
    await reached;
  }
  const { code, out, said } = await runWrangler(local ? args : [...args, '--config', CONFIG], { input });
  if (code !== 0)
    throw new ExpectedError(
      `wrangler ${args.slice(0, 3).join(' ')} failed:\n${lastLines(input ? said.replaceAll(input, '(hidden)') : said)}`,
    );
  return out;
}

/**
 * The rows that a query returns from the deployment's database.
 * @param {string} sql
 * @returns {Promise<Record<string, any>[]>}
 */
export async function remoteRows(sql) {
  const out = await wrangler(['d1', 'execute', 'DB', '--remote', '--json', '--yes', '--command', sql]);
  return JSON.parse(out.slice(out.indexOf('[')))[0].results;
}

/**
 * Calls a running service with the bootstrap token; see `callerOf`.
 * @param {string} url
 * @param {Calling} [how]
 */
export function bootstrapCaller(url, token = variable('BOOTSTRAP_TOKEN'), how = {}) {
  if (!token) throw new ExpectedError('BOOTSTRAP_TOKEN is missing: set it in the environment');
  return callerOf(url, token, how);
}

/**
 * @typedef {{ patience?: number, within?: number, quiet?: boolean }} Calling how long to repeat, and how long
 *   one call may take, in milliseconds; `quiet`: without a line about the repeats
 */

/**
 * Calls a running service. Possibly temporary failures (no response, 429, 503 other than MISCONFIGURED) are
 * retried for a minute. An answer that stays the same is then returned; no answer at all is an
 * `ExpectedError`.
 * @param {string} url
 * @param {string} token
 * @param {Calling} [how]
 */
export function callerOf(url, token, { patience = 60_000, within = 30_000, quiet = false } = {}) {
  const base = URL.parse(url);
  const isSafe = base?.protocol === 'https:' || (base?.protocol === 'http:' && isThisMachine(base.hostname));
  // Errors of fetch() quote the credentials of a URL, and a token that no header can hold.
  if (!base || !isSafe || base.username || base.password)
    throw new ExpectedError(
      '--url is not a URL that a token may be sent to: pass an https URL, or one of this machine, without a user name',
    );
  if (!/^[\x21-\x7e]+$/.test(token))
    throw new ExpectedError(
      'The token contains a line break, a space or another character that no token has: set it to the token alone',
    );
  let isReported = quiet;
  return async (
    /** @type {string} */ method,
    /** @type {string} */ at,
    /** @type {unknown} */ body = undefined,
    /** @type {Record<string, string>} */ headers = {},
  ) => {
    for (const end = Date.now() + patience; ; await sleep(1000)) {
      /** @type {string} */
      let why;
      try {
        const answer = await fetch(new URL(`/api/v1${at}`, base), {
          method,
          redirect: 'error',
          signal: AbortSignal.timeout(within),
          headers: {
            ...headers,
            Authorization: `Bearer ${token}`,
            ...(body !== undefined && { 'Content-Type': 'application/json' }),
          },
          ...(body !== undefined && { body: JSON.stringify(body) }),
        });
        const text = await answer.text();
        const json = /json/.test(answer.headers.get('content-type') ?? '') ? JSON.parse(text) : null;
        const isTemporary =
          (answer.status === 503 && json?.error?.code !== 'MISCONFIGURED') || answer.status === 429;
        if (!isTemporary || Date.now() > end) return { status: answer.status, json };
        continue;
      } catch (error) {
        why = error.cause?.code ?? error.message;
        if (!isReported)
          process.stderr.write(
            `The service at ${base.origin} does not respond (${why}); retrying for a minute. If it listens elsewhere, set PORT or pass --url.\n`,
          );
        isReported = true;
      }
      if (Date.now() > end)
        throw new ExpectedError(
          `The service at ${base.origin} does not respond (${why}): start it, or set PORT or pass --url if it listens elsewhere, then run this again`,
        );
    }
  };
}

/** Where the deployment answers, by its PUBLIC_URL; undefined if that is not known. */
export async function deployedUrl() {
  try {
    await reachDatabase();
    return (await deployedBindings()).find(({ name }) => name === 'PUBLIC_URL')?.text;
  } catch (error) {
    if (!(error instanceof ExpectedError)) throw error;
    return undefined;
  }
}

/**
 * The service of the deployment. The local vault's token is not sent to it.
 * @param {string | undefined} url where it answers, if not at its PUBLIC_URL
 */
export async function deployedService(url) {
  const token = process.env.BOOTSTRAP_TOKEN;
  if (!token)
    throw new ExpectedError("BOOTSTRAP_TOKEN is missing: set it to the deployment's in the environment");
  const found = url ?? (await deployedUrl());
  if (!found) throw new ExpectedError('The address of the deployment is not known: give it with --url');
  return { url: found, token };
}

/**
 * The organisations of a service. A refusal is an `ExpectedError` with its `status`.
 * @param {ReturnType<typeof bootstrapCaller>} call
 * @returns {Promise<string[]>} their ids
 */
export async function orgsOf(call) {
  const orgs = [];
  for (let cursor = ''; ; ) {
    const { status, json } = await call(
      'GET',
      `/orgs?limit=100${cursor && `&cursor=${encodeURIComponent(cursor)}`}`,
    );
    if (status !== 200)
      throw Object.assign(
        new ExpectedError(
          `The service refused the request (${status} ${json?.error?.code ?? ''}): ${json?.error?.message ?? ''}`,
        ),
        { status },
      );
    if (!Array.isArray(json?.data))
      throw new ExpectedError(
        'What answers is not a vault of this release: set PORT and HOST, or --url, to the address of the service',
      );
    orgs.push(...json.data.map(({ id }) => id));
    if (!json.has_more) return orgs;
    cursor = json.next_cursor;
  }
}

/** A progress bar on a terminal; nothing elsewhere. @param {string} what */
export function progress(what) {
  const shown = process.stderr.isTTY;
  return {
    /** @param {number} done @param {number} [total] unknown where absent */
    at(done, total) {
      if (!shown) return;
      const share = total ? Math.floor((done / total) * 30) : 30;
      const bar = total === undefined ? `${done}` : `[${'#'.repeat(share).padEnd(30)}] ${done} of ${total}`;
      process.stderr.write(`\r${what} ${bar} `);
    },
    end: () => shown && process.stderr.write('\n'),
  };
}
