// `npm run dead-letters`: the messages that the queue of a deployment gave up on: counts them, sends them
// again, or drops them. Invariants: a message leaves only once it is in the queue again, or if it is to be
// dropped; nothing but kinds and ids of messages is printed.
import readline from 'node:readline/promises';
import { ExpectedError, runs } from '../../shared/expected-error.mjs';
import { parseArgs } from '../../shared/npm-options.mjs';
import { harmless } from '../../shared/terminal.mjs';
import { account, wrangler } from '../vault/cloudflare-account.mjs';
import { partsOf, readToml } from '../vault/deployment-config.mjs';
import '../../shared/temporary-files.mjs';
import { runWrangler } from '../../shared/wrangler.mjs';

const USAGE = `npm run dead-letters -- --remote [options]

  --replay   send them again, and remove them
  --drop     remove them; gates ask again for what is still to be done
  --yes      do not ask before they are dropped
  --json     print one JSON object

Without an option, it counts them by kind and organisation. Under npm start there are none: its queue is in memory, and gates ask again.
`;

/** The jobs of src/gate/queue-messages.ts. */
const JOBS = ['rotate', 'checkpoint', 'deliver', 'notify', 'sync', 'log_stream', 'domains'];
/**
 * Messages per call, how long they are leased, and how often one may be looked at before the platform deletes
 * it: the platform's most.
 */
const BATCH = 100;
const LEASED = 120_000;
const LOOKS = 100;

/** @typedef {{ lease_id: string, attempts: number, timestamp_ms: number, body: unknown }} Letter */

await runs(main);

async function main() {
  const options = readOptions();
  if (options.help || !options.remote) return void process.stdout.write(USAGE);
  const { worker, queues } = partsOf(readToml());
  const [live, dead] = /** @type {[string, string]} */ (queues);
  const { id } = await account();
  process.env.CLOUDFLARE_ACCOUNT_ID = id;
  const call = await caller(id);
  const ids = { live: await queueId(call, live), dead: await queueId(call, dead) };
  await letPull(call, dead, ids.dead);
  const letters = await pullAll(call, ids.dead);
  try {
    const done = await act(options, call, ids, letters);
    tell(options, { queue: dead, worker, ...done });
  } finally {
    const left = letters.filter((letter) => !letter.gone);
    await settle(call, ids.dead, { retries: left.map(({ lease_id }) => ({ lease_id, delay_seconds: 0 })) });
  }
}

function readOptions() {
  const flag = { type: /** @type {const} */ ('boolean') };
  let values;
  try {
    ({ values } = parseArgs({
      options: { remote: flag, replay: flag, drop: flag, yes: flag, json: flag, help: flag },
    }));
  } catch (error) {
    throw new ExpectedError(`${error.message}\n\n${USAGE}`);
  }
  if (values.replay && values.drop)
    throw new ExpectedError(`--replay and --drop exclude each other.\n\n${USAGE}`);
  return values;
}

// ---------------------------------------------------------------- the platform's API

/**
 * Calls the API of the account's queues with wrangler's sign-in: wrangler itself does not read messages.
 * @param {string} accountId
 * @returns {Promise<(method: string, path: string, body?: unknown) => Promise<any>>}
 */
async function caller(accountId) {
  const token = process.env.CLOUDFLARE_API_TOKEN || (await signedIn());
  const base = process.env.CLOUDFLARE_API_BASE_URL || 'https://api.cloudflare.com/client/v4';
  return async (method, path, body) => {
    const answer = await fetch(`${base}/accounts/${accountId}/queues${path}`, {
      method,
      headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' },
      body: body === undefined ? undefined : JSON.stringify(body),
      redirect: 'error',
      signal: AbortSignal.timeout(30_000),
    }).catch(() => undefined);
    const json = await answer?.json().catch(() => undefined);
    if (!answer || !json?.success) {
      const why = json?.errors?.[0]?.message;
      throw new ExpectedError(
        `The queue could not be reached${why ? ` (${harmless(String(why))})` : ''}: check that the sign-in may edit Queues, then run this again. Messages that are leased come back within two minutes.`,
      );
    }
    return json.result;
  };
}

/** The token of `wrangler login`. */
async function signedIn() {
  const { code, out } = await runWrangler(['auth', 'token']);
  const token = out.trim().split('\n').at(-1);
  if (code !== 0 || !token)
    throw new ExpectedError(
      'wrangler is not signed in: run npx wrangler login, or set CLOUDFLARE_API_TOKEN.',
    );
  return token;
}

/** @param {Awaited<ReturnType<typeof caller>>} call @param {string} name */
async function queueId(call, name) {
  const found = (await call('GET', `?name=${encodeURIComponent(name)}`)).find(
    ({ queue_name: one }) => one === name,
  );
  if (!found)
    throw new ExpectedError(
      `The account has no queue ${name}: run npm run deploy, or set CLOUDFLARE_ACCOUNT_ID to the account that has it.`,
    );
  return found.queue_id;
}

/** Allows pulling from the queue of dead letters, which no Worker consumes. */
async function letPull(call, name, id) {
  const consumers = await call('GET', `/${id}/consumers`);
  if (consumers.some(({ type }) => type === 'http_pull')) return;
  await wrangler(
    ['queues', 'consumer', 'http', 'add', name, '--message-retries', String(LOOKS)],
    `Messages of ${name} cannot be pulled: do what the message below says, then run this again.`,
  );
}

/** All messages, leased. @returns {Promise<(Letter & { gone?: true })[]>} */
async function pullAll(call, id) {
  const letters = [];
  for (;;) {
    const pulled = await call('POST', `/${id}/messages/pull`, {
      batch_size: BATCH,
      visibility_timeout_ms: LEASED,
    });
    // The API may leave out what is empty.
    const messages = pulled?.messages ?? [];
    if (messages.length === 0) return letters;
    letters.push(...messages.map((message) => ({ ...message, body: bodyOf(message.body) })));
  }
}

/** JSON bodies arrive as base64. @param {unknown} body */
function bodyOf(body) {
  for (const text of [String(body), Buffer.from(String(body), 'base64').toString()]) {
    try {
      const value = JSON.parse(text);
      if (typeof value === 'object' && value !== null) return value;
    } catch {}
  }
  return typeof body === 'object' ? body : null;
}

/**
 * Removes messages for good (`acks`), or gives their leases back (`retries`). Returns how many the platform
 * removed: not those whose lease has ended, which come back.
 */
async function settle(call, id, { acks = [], retries = [] }) {
  let removed = 0;
  for (let at = 0; at < Math.max(acks.length, retries.length); at += BATCH) {
    const some = acks.slice(at, at + BATCH);
    const done = await call('POST', `/${id}/messages/ack`, {
      acks: some,
      retries: retries.slice(at, at + BATCH),
    });
    removed += done?.ackCount ?? some.length;
  }
  return removed;
}

// ---------------------------------------------------------------- what is done with them

/** Whether a body is a job of this service: nothing else is sent again, or printed. @param {any} body */
function isJob(body) {
  const { kind, job, org, id } = body ?? {};
  return (
    kind === 'job' &&
    JOBS.includes(job) &&
    /^org_[A-Za-z0-9]{22}$/.test(org) &&
    (id === undefined || /^[a-z]{3}_[A-Za-z0-9]{22}$/.test(id))
  );
}

async function act({ replay, drop, yes, json }, call, ids, letters) {
  const before = countOf(letters);
  let gone = 0;
  let tried = 0;
  const removed = async (some) => {
    gone += await settle(call, ids.dead, { acks: some.map(({ lease_id }) => ({ lease_id })) });
    tried += some.length;
    for (const letter of some) letter.gone = true;
  };
  if (replay) {
    // A probe only says that the queue works.
    await removed(letters.filter(({ body }) => body?.kind === 'probe'));
    const jobs = letters.filter(({ body }) => isJob(body));
    for (let at = 0; at < jobs.length; at += BATCH) {
      const some = jobs.slice(at, at + BATCH);
      // Cut off here, a message is sent twice: each job looks for what is still to be done.
      await call('POST', `/${ids.live}/messages/batch`, {
        messages: some.map(({ body }) => ({ body, content_type: 'json' })),
      });
      await removed(some);
    }
  }
  if (drop && letters.length > 0 && (yes || json || (await confirmed(letters.length))))
    await removed(letters);
  return {
    found: before,
    removed: gone,
    left: letters.length - gone,
    kept: tried - gone,
    letters,
  };
}

async function confirmed(many) {
  if (!process.stdin.isTTY) throw new ExpectedError('Nothing was dropped: pass --yes.');
  const terminal = readline.createInterface({ input: process.stdin, output: process.stdout });
  const answer = await terminal.question(`Drop ${many} messages? [y/N] `);
  terminal.close();
  return /^y(es)?$/i.test(answer.trim());
}

/** How many there are of each kind, and when the newest was sent. @param {Letter[]} letters */
function countOf(letters) {
  const counts = new Map();
  for (const { body, timestamp_ms: at } of letters) {
    const one = /** @type {any} */ (body);
    const [kind, org] = isJob(one)
      ? [one.job, one.org]
      : one?.kind === 'probe'
        ? ['probe', '-']
        : ['unknown', '-'];
    const known = counts.get(`${kind} ${org}`) ?? { kind, org, count: 0, newest: 0 };
    counts.set(`${kind} ${org}`, { ...known, count: known.count + 1, newest: Math.max(known.newest, at) });
  }
  return [...counts.values()]
    .sort((a, b) => b.count - a.count)
    .map((one) => ({ ...one, newest: new Date(one.newest).toISOString() }));
}

function tell({ json, replay, drop }, { queue, worker, found, removed, left, kept, letters }) {
  if (kept) {
    process.exitCode = 1;
    process.stderr.write(
      `The platform did not remove ${kept} of them, because their lease of two minutes had ended: they come back. Run this again.\n`,
    );
  }
  if (json) return process.stdout.write(`${JSON.stringify({ queue, found, removed, left })}\n`);
  for (const { kind, org, count, newest } of found)
    process.stdout.write(
      `${String(count).padStart(6)} ${kind.padEnd(10)} ${org.padEnd(26)} newest ${newest}\n`,
    );
  if (replay) process.stdout.write(`${removed} sent again or no longer needed, ${left} left.\n`);
  else if (drop) process.stdout.write(`${removed} dropped.\n`);
  else
    process.stdout.write(
      left ? `npx wrangler tail ${worker} shows why messages fail.\n` : `${queue} is empty.\n`,
    );
  const most = letters.reduce((max, { attempts }) => Math.max(max, attempts), 0);
  if (left && most > LOOKS - 20)
    process.stdout.write(`Cloudflare deletes messages after ${LOOKS} looks; one of these had ${most}.\n`);
}
