// `npm run drill`: a restore drill. Restores the newest backup into an empty deployment on this machine,
// opens every row, starts the service on it, and says how much would be lost (RPO) and how long it took
// (RTO). Invariants: it touches no other vault, and removes what it made; it calls no organisation's gate, so
// the copy sends nothing to webhooks, platforms or chats.
import { execFile, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import fs from 'node:fs';
import net from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as sleep } from 'node:timers/promises';
import { ExpectedError } from '../../shared/expected-error.mjs';
import { parseArgs } from '../../shared/npm-options.mjs';
import { root } from '../../shared/wrangler.mjs';
import { masterKeysFor, openEverything, summaryOf } from '../vault/every-row.mjs';
import { formatMasterKeys } from '../vault/master-keys.mjs';
import { vaultFile } from '../vault/state-dir.mjs';
import { callerOf, orgsOf, run } from '../vault/vault.mjs';

const USAGE = `Use: npm run drill -- [FILE or DIRECTORY] [--keys FILE] [--max-age HOURS] [--json]
  DIRECTORY        the newest vault-*.sql in it; by default this directory
  --keys FILE      the file with MASTER_KEYS, instead of the variable or .dev.vars
  --max-age HOURS  fail if the backup is older
Exit code: 0 if everything opens and the backup is young enough.`;
/** How long the service may take to answer, in milliseconds. */
const STARTS_WITHIN = 120_000;

await run(async () => {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      keys: { type: 'string' },
      'max-age': { type: 'string' },
      json: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) return void process.stdout.write(`${USAGE}\n`);
  const maxAge = values['max-age'] === undefined ? null : Number(values['max-age']);
  if (positionals.length > 1 || (maxAge !== null && !(maxAge > 0))) throw new ExpectedError(USAGE);
  const file = newestBackup(path.resolve(process.env.INIT_CWD ?? '', positionals[0] ?? '.'));
  const masters = masterKeysFor({ keys: values.keys, remote: false });
  const scratch = fs.mkdtempSync(path.join(os.tmpdir(), 'vault-drill-'));
  try {
    const result = await drill(file, masters, scratch);
    const isOld = maxAge !== null && result.rpo_seconds > maxAge * 3600;
    process.stdout.write(
      values.json ? `${JSON.stringify({ ...result, is_old: isOld })}\n` : `${textOf(result)}\n`,
    );
    if (isOld)
      process.stderr.write(`The backup is older than ${maxAge} hours: check why no newer one was made.\n`);
    if (isOld || result.faults.length) process.exitCode = 1;
  } finally {
    fs.rmSync(scratch, { recursive: true, force: true, maxRetries: 10, retryDelay: 200 });
  }
});

/** The file itself, or the newest backup in a directory. @param {string} at */
function newestBackup(at) {
  const stat = fs.statSync(at, { throwIfNoEntry: false });
  if (!stat) throw new ExpectedError(`${at} does not exist: name a backup, or a directory of backups`);
  if (!stat.isDirectory()) return at;
  const names = fs.readdirSync(at).filter((name) => /^vault-.*\.sql$/.test(name));
  // The name begins with the time of the backup.
  const newest = names.sort().at(-1);
  if (!newest)
    throw new ExpectedError(`${at} contains no backup (vault-*.sql): name one, or the directory with them`);
  return path.join(at, newest);
}

/**
 * @param {string} file
 * @param {import('../vault/master-keys.mjs').MasterKey[]} masters
 * @param {string} scratch
 */
async function drill(file, masters, scratch) {
  const began = Date.now();
  const env = {
    ...process.env,
    STATE_DIR: path.join(scratch, 'state'),
    MASTER_KEYS: formatMasterKeys(masters),
    BOOTSTRAP_TOKEN: randomBytes(32).toString('hex'),
    HOST: '127.0.0.1',
    PORT: String(await freePort()),
    PUBLIC_URL: '',
  };
  const restored = await restoring(file, env);
  const { made_at, rows } = JSON.parse(restored);
  const restoredAt = Date.now();
  const opened = await opening(env.STATE_DIR, masters);
  const openedAt = Date.now();
  const orgs = await serving(env, scratch);
  const seconds = (/** @type {number} */ ms) => Math.round(ms / 100) / 10;
  return {
    file,
    made_at,
    rows,
    ...opened,
    organisations: orgs,
    rpo_seconds: Math.max(0, Math.round((began - Date.parse(made_at)) / 1000)),
    // The rows need not be opened before the service starts.
    rto_seconds: seconds(Date.now() - began - (openedAt - restoredAt)),
    steps: {
      restore: seconds(restoredAt - began),
      open: seconds(openedAt - restoredAt),
      start: seconds(Date.now() - openedAt),
    },
  };
}

/** @param {Awaited<ReturnType<typeof drill>>} result */
function textOf(result) {
  const { file, made_at, rows, organisations, rpo_seconds: rpo, rto_seconds: rto, steps } = result;
  return [
    `${file}: ${rows} rows of ${made_at}, ${organisations} ${organisations === 1 ? 'organisation' : 'organisations'}.`,
    summaryOf(result),
    `RPO: ${(rpo / 3600).toFixed(1)} hours. A loss right now would take back everything since ${made_at}.`,
    `RTO: ${rto} s on this machine (restore ${steps.restore} s, start ${steps.start} s). Opening all rows took ${steps.open} s.`,
    'Not counted: getting the backup and MASTER_KEYS here, restore -- --adopt, and whoever has to decide.',
  ].join('\n');
}

/**
 * Opens every row of the restored database.
 * @param {string} dir
 * @param {import('../vault/master-keys.mjs').MasterKey[]} masters
 */
async function opening(dir, masters) {
  const db = new DatabaseSync(/** @type {string} */ (vaultFile(dir)), { readOnly: true, timeout: 10_000 });
  try {
    return await openEverything(db, masters);
  } finally {
    db.close();
  }
}

/**
 * Starts the service on the restored vault; the number of organisations that it lists.
 * @param {any} env
 * @param {string} scratch
 */
async function serving(env, scratch) {
  const log = path.join(scratch, 'start.log');
  const fd = fs.openSync(log, 'w', 0o600);
  const child = spawn(process.execPath, [path.join(root, 'scripts', 'operate', 'start', 'start.mjs')], {
    cwd: root,
    env,
    stdio: ['ignore', fd, fd],
  });
  fs.closeSync(fd);
  const ended = once(child, 'close');
  const stop = () => child.kill('SIGTERM');
  process.once('exit', stop);
  try {
    const url = `http://${env.HOST}:${env.PORT}`;
    for (const until = Date.now() + STARTS_WITHIN; !(await isUp(url)); await sleep(200))
      if (child.exitCode !== null || Date.now() > until)
        throw new ExpectedError(
          `The service did not start on the restored vault:\n${fs.readFileSync(log, 'utf8').slice(-2000)}`,
        );
    return (await orgsOf(callerOf(url, env.BOOTSTRAP_TOKEN))).length;
  } finally {
    stop();
    await ended;
    process.off('exit', stop);
  }
}

/** Whether a vault answers; without adoption it may call itself degraded. @param {string} url */
async function isUp(url) {
  const answer = await fetch(`${url}/healthz`, { signal: AbortSignal.timeout(2000) }).catch(() => null);
  return answer?.headers.has('request-id') ?? false;
}

/**
 * Restores a backup; what the command says.
 * @param {string} file
 * @param {any} env
 * @returns {Promise<string>}
 */
function restoring(file, env) {
  const options = { cwd: root, env, maxBuffer: 2 ** 26 };
  return new Promise((done, fail) =>
    execFile(
      process.execPath,
      [path.join(import.meta.dirname, 'restore.mjs'), file, '--yes', '--json'],
      options,
      (error, out, said) => {
        if (error)
          fail(new ExpectedError(`The backup could not be restored: ${said.trim() || error.message}`));
        else done(out);
      },
    ),
  );
}

/** @returns {Promise<number>} */
function freePort() {
  return new Promise((done) => {
    const probe = net.createServer().listen(0, '127.0.0.1', () => {
      const { port } = /** @type {net.AddressInfo} */ (probe.address());
      probe.close(() => done(port));
    });
  });
}
