// Shared by bench and soak: the deployable bundle in the local runtime with its state on disk, a lean HTTP
// client, and organisations for requests. Invariant: nothing is between client and Worker, and the Worker's
// log is not read during measurements.
//
// The log: the Worker prints one JSON line per request. Here the runtime appends it to a file itself, which
// costs as much as printing elsewhere; the lines are read between measurements. If this process read them
// immediately, the client would lose time, and only for the vault, since the floor prints nothing.
import { spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import fs from 'node:fs';
import { createRequire } from 'node:module';
import net from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { assetsBinding } from '../build/assets.mjs';
import '../shared/temporary-files.mjs';
import { root, wranglerArgs, wranglerEnv } from '../shared/wrangler.mjs';

const require = createRequire(path.join(root, 'package.json'));
const VAULT = 'vault';

/**
 * The minimum work of a Worker: one call of a Durable Object that inserts one row; for a change, preceded by
 * one D1 batch of three rows, which is how many a change of the vault writes. It is also the API behind an
 * upstream (`/api`), a proxy of that API (`/relay`), and a caller of the vault: by a binding (`/bound`), and
 * over HTTP (`/http`).
 */
const FLOOR = `
import { DurableObject, WorkerEntrypoint } from 'cloudflare:workers';
export class Floor extends DurableObject {
  constructor(ctx, env) {
    super(ctx, env);
    ctx.storage.sql.exec('create table if not exists entries (id integer primary key, at integer not null, body text not null)');
  }
  insert(body) {
    this.ctx.storage.sql.exec('insert into entries (at, body) values (?, ?)', Date.now(), body);
    return { ok: true };
  }
  async change(body) {
    const put = (table) => this.env.DB.prepare('insert into ' + table + ' (at, body) values (?, ?)').bind(Date.now(), body);
    this.ready ??= this.env.DB.batch(['a', 'b', 'c'].map((table) => this.env.DB.prepare('create table if not exists ' + table + ' (id integer primary key, at integer not null, body text not null)')));
    await this.ready;
    await this.env.DB.batch(['a', 'b', 'c'].map(put));
    return this.insert(body);
  }
}
export default class extends WorkerEntrypoint {
  async fetch(request) {
    const { pathname, searchParams } = new URL(request.url);
    if (pathname === '/api') return Response.json({ ok: true });
    if (pathname === '/relay') return fetch(searchParams.get('url'));
    if (pathname === '/bound') return Response.json(await this.env[searchParams.get('as')].get(searchParams.get('name')));
    if (pathname === '/http') {
      const headers = { Authorization: request.headers.get('Authorization') };
      return Response.json(await (await fetch(searchParams.get('url'), { headers })).json());
    }
    const floor = this.env.FLOOR.getByName('floor');
    return Response.json(await (pathname === '/change' ? floor.change(pathname) : floor.insert(pathname)));
  }
}`;

/** Prints a line of progress. @param {string} text */
export const tell = (text) => process.stderr.write(`${text}\n`);

/**
 * Starts the deployable bundle, with D1, Durable Objects and queue on disk, and the floor in the same
 * process.
 * @param {{ main?: string, inspector?: boolean, consumes?: boolean, variables?: Record<string, string> }}
 *   [options] `main`: another file than that of wrangler.toml; `consumes`: whether jobs on the queue are run
 */
// biome-ignore lint/complexity/noExcessiveLinesPerFunction: one service from its start to its end.
export async function startVault({ main, inspector = false, consumes = true, variables = {} } = {}) {
  const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'measure-'));
  const secrets = {
    MASTER_KEYS: `k1:${randomBytes(32).toString('base64')}`,
    BOOTSTRAP_TOKEN: randomBytes(32).toString('hex'),
  };
  const state = path.join(dir, 'state');
  const runtime = quietRuntime(dir);
  Object.assign(process.env, secrets, { WRANGLER_LOG: 'error', MINIFLARE_WORKERD_PATH: runtime.command });
  const [
    { Miniflare, convertV4MiniflareOptions, Log, LogLevel },
    { unstable_getMiniflareWorkerOptions: workerOptions },
  ] = await Promise.all(
    ['miniflare', 'wrangler'].map((name) => import(pathToFileURL(require.resolve(name)).href)),
  );
  const { workerOptions: declared } = workerOptions(path.join(root, 'wrangler.toml'));
  const direct = {
    unsafeDirectSockets: [{ host: '127.0.0.1', port: 0 }],
    compatibilityDate: declared.compatibilityDate,
  };
  const built = bundle(path.join(dir, 'bundle'), main);
  /** @param {Record<string, object>} serviceBindings of the floor's Worker */
  const options = (serviceBindings) =>
    convertV4MiniflareOptions({
      log: new Log(LogLevel.ERROR),
      resourcePersistencePath: state,
      ...(inspector && { inspectorPort: 0 }),
      workers: [
        {
          ...declared,
          ...direct,
          ...(!consumes && { queueConsumers: undefined }),
          name: VAULT,
          modulesRules: undefined,
          ...built,
          ...assetsBinding(declared),
          bindings: {
            ...declared.bindings,
            ...secrets,
            PUBLIC_URL: 'http://localhost',
            ALLOW_PRIVATE_TARGETS: 'true',
            LOCAL_QUEUE: 'true',
            ...variables,
          },
        },
        {
          ...direct,
          name: 'floor',
          compatibilityFlags: declared.compatibilityFlags,
          modules: true,
          script: FLOOR,
          durableObjects: { FLOOR: { className: 'Floor', useSQLite: true } },
          d1Databases: { DB: 'floor' },
          serviceBindings,
        },
      ],
    });
  const miniflare = new Miniflare(options({}));
  try {
    const db = await miniflare.getD1Database('DB', VAULT);
    for (const name of fs.readdirSync(path.join(root, 'migrations')).sort())
      if (name.endsWith('.sql'))
        for (const statement of fs
          .readFileSync(path.join(root, 'migrations', name), 'utf8')
          .split('--> statement-breakpoint'))
          await db.prepare(statement).run();
    const portsNow = async () => {
      const urls = await Promise.all([VAULT, 'floor'].map((name) => miniflare.unsafeGetDirectURL(name)));
      const [port, floorPort] = urls.map((url) => Number(url.port));
      return { port, floorPort };
    };
    let ports = await portsNow();
    const stop = async () => {
      await miniflare.dispose();
      fs.rmSync(dir, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
    };
    for (const signal of ['SIGINT', 'SIGTERM'])
      process.once(signal, () => stop().finally(() => process.exit(1)));
    return {
      miniflare,
      db,
      get port() {
        return ports.port;
      },
      get floorPort() {
        return ports.floorPort;
      },
      /**
       * Starts the runtime again, with these bindings of the floor's Worker to the vault.
       * @param {Record<string, { entrypoint: string, props: object }>} bindings
       */
      async bind(bindings) {
        const named = Object.entries(bindings).map(([name, to]) => [name, { name: VAULT, ...to }]);
        await miniflare.setOptions(options(Object.fromEntries(named)));
        ports = await portsNow();
      },
      secrets,
      state,
      /** Resident memory of the runtime, in bytes. */
      memory: () => residentMemory(runtime.pid()),
      /** CPU time used by the runtime, in milliseconds; null if the system does not report it. */
      cpu: () => cpuTime(runtime.pid()),
      readLog: runtime.readLog,
      /** Runs the scheduled handler, which nothing triggers here. */
      scheduled: async () => (await miniflare.getWorker(VAULT)).scheduled({ cron: '* * * * *' }),
      /** Makes a gate lose its memory and storage; it starts again from D1. @param {string} org */
      async lose(org) {
        const id = (await miniflare.getDurableObjectNamespace('GATE', VAULT)).idFromName(org).toString();
        await miniflare.unsafeEvictDurableObject(VAULT, 'Gate', { name: org }).catch((error) => {
          if (!error.message.includes('not currently running')) throw error;
        });
        const files = fs
          .readdirSync(state, { recursive: true, encoding: 'utf8' })
          .filter((name) => path.basename(name).startsWith(id));
        for (const name of files) fs.rmSync(path.join(state, name));
        if (files.length === 0) throw new Error('The gate has no file on disk.');
      },
      stop,
    };
  } catch (error) {
    await miniflare.dispose().catch(() => {});
    fs.rmSync(dir, { recursive: true, force: true });
    throw error;
  }
}
/** @typedef {Awaited<ReturnType<typeof startVault>>} Vault */

/**
 * Builds the Worker that `wrangler deploy` would upload, or one that wraps it.
 * @param {string} out @param {string} [main]
 */
function bundle(out, main) {
  const args = wranglerArgs(['deploy', ...(main ? [main] : []), '--dry-run', '--minify', '--outdir', out]);
  const built = spawnSync(process.execPath, args, {
    cwd: root,
    env: { ...process.env, ...wranglerEnv },
    encoding: 'utf8',
  });
  if (built.status !== 0)
    throw new Error(`The bundle could not be built; wrangler said:\n${built.stdout}${built.stderr}`);
  return {
    modulesRoot: out,
    modules: [{ type: 'ESModule', path: path.join(out, `${main ? path.parse(main).name : 'index'}.js`) }],
  };
}

/**
 * The runtime, started by a shell that records its process id and redirects its log to a file.
 * @param {string} dir
 */
function quietRuntime(dir) {
  const [command, log, pid] = ['workerd.sh', 'log', 'pid'].map((name) => path.join(dir, name));
  const workerd = createRequire(require.resolve('miniflare'))('workerd').default;
  const quoted = (text) => `'${text.replaceAll("'", String.raw`'\''`)}'`;
  fs.writeFileSync(
    command,
    `#!/bin/sh\necho $$ > ${quoted(pid)}\nexec ${quoted(workerd)} "$@" >> ${quoted(log)}\n`,
    { mode: 0o700 },
  );
  fs.writeFileSync(log, '');
  return {
    command,
    pid: () => Number(fs.readFileSync(pid, 'utf8')),
    /** The log since the last call; the file is then emptied, because a run writes a line per request. */
    readLog() {
      const text = fs.readFileSync(log, 'utf8');
      fs.truncateSync(log);
      return text;
    },
  };
}

/** @param {number} pid */
function residentMemory(pid) {
  try {
    return Number(/^VmRSS:\s+(\d+) kB/m.exec(fs.readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) * 1024;
  } catch {
    return Number(spawnSync('ps', ['-o', 'rss=', '-p', String(pid)], { encoding: 'utf8' }).stdout) * 1024;
  }
}

/** @param {number} pid */
function cpuTime(pid) {
  try {
    // After the name, which may hold spaces, utime and stime are the 12th and 13th (proc_pid_stat(5)), in
    // hundredths of a second.
    const fields = fs.readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1).split(' ');
    return (Number(fields[11]) + Number(fields[12])) * 10;
  } catch {
    return null;
  }
}

// ---------------------------------------------------------------- HTTP

/**
 * One kept-alive connection, one request at a time. Own client, because a general one takes more time than
 * the floor, and client time makes slow and fast look alike.
 * @param {number} port
 */
export async function connect(port) {
  const socket = net.connect({ host: '127.0.0.1', port, noDelay: true });
  let parts = [];
  let waiting = null;
  socket.on('data', (data) => {
    parts.push(data);
    const bytes = parts.length === 1 ? data : Buffer.concat(parts);
    parts = [bytes];
    const answer = parseAnswer(bytes);
    if (!answer || !waiting) return;
    parts = [];
    const { done } = waiting;
    waiting = null;
    done(answer);
  });
  const broken = (error) => waiting?.fail(error ?? new Error('The service closed the connection.'));
  socket.on('error', broken).on('close', () => broken());
  await new Promise((done, fail) => socket.once('connect', done).once('error', fail));
  return {
    /** @param {string} request @returns {Promise<Answer>} */
    send: (request) =>
      new Promise((done, fail) => {
        if (!socket.writable) return fail(new Error('The service has closed the connection.'));
        waiting = { done, fail };
        socket.write(request);
      }),
    /** Whether it is still open: the service closes a connection that is idle for long. */
    alive: () => socket.writable,
    close: () => socket.destroy(),
  };
}
/** @typedef {Awaited<ReturnType<typeof connect>>} Connection */
/** @typedef {{ status: number, head: string, text: () => string, json: () => any }} Answer */

/** A complete HTTP/1.1 response. @param {Buffer} bytes @returns {Answer | null} */
function parseAnswer(bytes) {
  const end = bytes.indexOf('\r\n\r\n');
  if (end < 0) return null;
  const head = bytes.latin1Slice(0, end);
  const status = Number(head.slice(9, 12));
  const from = end + 4;
  const length = /\r\ncontent-length: *(\d+)/i.exec(head)?.[1];
  const isChunked = length === undefined && status !== 204 && status !== 304;
  // JSON has no line breaks of its own: these bytes belong to the last chunk.
  if (isChunked ? bytes.latin1Slice(-5) !== '0\r\n\r\n' : bytes.length < from + Number(length ?? 0))
    return null;
  const text = () => (isChunked ? unchunked(bytes.subarray(from)) : bytes.subarray(from)).toString('utf8');
  return { status, head, text, json: () => JSON.parse(text()) };
}

/** @param {Buffer} bytes */
function unchunked(bytes) {
  const whole = [];
  for (let at = 0; ; ) {
    const line = bytes.indexOf('\r\n', at);
    const size = Number.parseInt(bytes.latin1Slice(at, line), 16);
    if (!size) return Buffer.concat(whole);
    whole.push(bytes.subarray(line + 2, line + 2 + size));
    at = line + 2 + size + 2;
  }
}

/**
 * The bytes of a request.
 * @param {string} method @param {string} target @param {string} [token] @param {unknown} [body] @param
 *   {string} [origin]
 * @param {Record<string, string>} [headers]
 */
export function requestOf(method, target, token, body, origin, headers = {}) {
  const json = body === undefined ? '' : JSON.stringify(body);
  const more = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  return `${method} ${target} HTTP/1.1\r\nHost: localhost\r\nUser-Agent: measure\r\nCF-Connecting-IP: 203.0.113.7\r\n${token ? `Authorization: Bearer ${token}\r\n` : ''}${origin ? `Origin: ${origin}\r\n` : ''}${more.join('')}${
    body === undefined
      ? ''
      : `Content-Type: application/json\r\nContent-Length: ${Buffer.byteLength(json)}\r\n`
  }\r\n${json}`;
}

/**
 * Keeps every connection busy for a while: after each response, the next request is sent.
 * @param {Connection[]} connections
 * @param {() => { request: string, expect: number }} next
 * @param {number} seconds
 */
export async function drive(connections, next, seconds) {
  const latencies = [];
  const started = performance.now();
  const until = started + seconds * 1000;
  await Promise.all(
    connections.map(async (connection) => {
      for (let sent = performance.now(); sent < until; ) {
        const { request, expect } = next();
        const answer = await connection.send(request);
        if (answer.status !== expect)
          throw new Error(`${request.split(' HTTP')[0]}: ${answer.status} ${answer.text().slice(0, 300)}`);
        const now = performance.now();
        latencies.push(now - sent);
        sent = now;
      }
    }),
  );
  return { rps: latencies.length / ((performance.now() - started) / 1000), latencies };
}

// ---------------------------------------------------------------- organisations

/**
 * Runs `work` on 0 … count-1, `width` at a time.
 * @template T
 * @param {number} count
 * @param {(n: number) => Promise<T>} work
 * @returns {Promise<T[]>}
 */
export async function parallel(count, work, width = 16) {
  const results = new Array(count);
  let at = 0;
  await Promise.all(
    Array.from({ length: Math.min(width, count) }, async () => {
      while (at < count) {
        const n = at++;
        results[n] = await work(n);
      }
    }),
  );
  return results;
}

/** Requests outside of measurements. @param {Vault} vault */
export function callerOf(vault) {
  const free = [];
  /**
   * @param {string} method
   * @param {string} target below /api/v1
   * @param {string} [token]
   * @param {unknown} [body]
   * @param {string} [origin]
   */
  return async (method, target, token, body, origin) => {
    const kept = free.pop();
    const connection = kept?.alive() ? kept : await connect(vault.port);
    const answer = await connection.send(requestOf(method, `/api/v1${target}`, token, body, origin));
    free.push(connection);
    return answer;
  };
}

/** The JSON of a response that must be a success. @param {Answer} answer */
export function good(answer) {
  if (answer.status >= 300)
    throw new Error(`The vault could not be made ready: ${answer.status} ${answer.text().slice(0, 300)}`);
  return answer.json();
}

/**
 * A new organisation with secrets and enough API keys: each allows 1,200 requests a minute.
 * @param {Vault} vault
 * @param {{ secrets: number, keys: number }} size
 */
export async function newOrg(vault, { secrets, keys }) {
  const call = callerOf(vault);
  const founded = good(
    await call('POST', '/orgs', vault.secrets.BOOTSTRAP_TOKEN, {
      name: 'measured',
      owner: { email: 'a@example.com', name: 'A' },
    }),
  );
  const id = founded.org.id;
  const token = founded.api_key.token;
  const at = `/orgs/${id}`;
  const tokens = await parallel(
    keys,
    async (n) => good(await call('POST', `${at}/api-keys`, token, { name: `k${n}`, scopes: ['*'] })).token,
  );
  const named = await parallel(secrets, async (n) =>
    good(
      await call('POST', `${at}/secrets`, token, { name: nameOf(n), type: 'generic', value: freshValue() }),
    ),
  );
  return { id, token, tokens, secrets: named.map((secret) => ({ id: secret.id, name: secret.name })) };
}
/** @typedef {Awaited<ReturnType<typeof newOrg>>} Org */

/** Names in groups of a thousand, so that a prefix reads one group. @param {number} n */
export const nameOf = (n) =>
  `g${String(Math.floor(n / 1000)).padStart(3, '0')}/s${String(n % 1000).padStart(3, '0')}`;
export const freshValue = () => randomBytes(24).toString('hex');

/**
 * Fills an organisation with secrets up to `count`, far faster than its rate limits allow: encrypted and
 * signed by the Worker's own code, they are inserted into D1 in bulk; then the gate loses its storage and
 * loads itself from D1.
 * @param {Vault} vault
 * @param {Org} org
 * @param {number} count
 * @param {number} [now] when they were created
 */
export async function fill(vault, org, count, now = Date.now()) {
  const { deriveOrg, unwrap, encryptValue, macOf, newId } = await ownCode();
  const master = {
    id: 'k1',
    key: new Uint8Array(Buffer.from(vault.secrets.MASTER_KEYS.slice('k1:'.length), 'base64')),
  };
  const wrapped = await vault.db
    .prepare('select master_id, key_sealed from org_keys where org_id = ?')
    .bind(org.id)
    .first();
  const keys = deriveOrg(unwrap([master], 'org key', org.id, wrapped));
  const production = await vault.db
    .prepare("select id from environments where org_id = ? and slug = 'production'")
    .bind(org.id)
    .first();
  const signed = (kind, row) => ({ ...row, mac: macOf(keys.row, kind, row) });
  const insert = (table, rows) => {
    const columns = Object.keys(rows[0]);
    const picked = columns.map((name) => `value ->> '${name}'`);
    const sql = `insert into ${table} (${columns}) select ${picked} from json_each(?)`;
    return vault.db.prepare(sql).bind(JSON.stringify(rows));
  };
  for (let from = org.secrets.length; from < count; from = org.secrets.length) {
    const rows = Array.from({ length: Math.min(1000, count - from) }, (_, n) => {
      const id = newId('sec');
      const name = nameOf(from + n);
      org.secrets.push({ id, name });
      const sealed = encryptValue(keys, org.id, id, freshValue());
      const { secret, version } = rowsOf({ org: org.id, environment: production.id, id, name, now }, sealed);
      return { secret: signed('secret', secret), version: signed('version', version) };
    });
    const [secrets, versions] = ['secret', 'version'].map((kind) => rows.map((row) => row[kind]));
    await vault.db.batch([insert('secrets', secrets), insert('secret_versions', versions)]);
    if (org.secrets.length % 10_000 === 0)
      tell(`  ${org.secrets.length.toLocaleString('en')} of ${count.toLocaleString('en')} secrets`);
  }
  await vault.lose(org.id);
}

/**
 * The rows of a secret with one version, without their signatures.
 * @param {{ org: string, environment: string, id: string, name: string, now: number }} of
 * @param {{ seal_id: string, value_sealed: string, fingerprint: string, size: number }} sealed
 */
function rowsOf({ org, environment, id, name, now }, { seal_id, value_sealed, fingerprint, size }) {
  const value = { org_id: org, seal_id, fingerprint, size, created_at: now };
  return {
    secret: {
      ...value,
      id,
      environment_id: environment,
      name,
      type: 'generic',
      description: null,
      tags: {},
      version: 1,
      amended: 0,
      sealed_size: value_sealed.length,
      oldest_version: 1,
      rotate_every_seconds: null,
      updated_at: now,
      expires_at: null,
      deleted_at: null,
      revision: 1,
    },
    version: { ...value, secret_id: id, version: 1, value_sealed, created_by: 'fill' },
  };
}

/**
 * Signs in one new member per browser session. Returns their JWTs, which are valid for ten minutes.
 * @param {Vault} vault @param {Org} org @param {number} count
 */
export async function signIn(vault, org, count) {
  const { newPasskey } = await codeOf({ 'test/support/signin/passkey': ['newPasskey'] });
  const origin = 'http://localhost';
  const call = callerOf(vault);
  return parallel(
    count,
    async (n) => {
      const member = { email: `m${n}@example.com`, name: 'M', role: 'developer' };
      const { enrolment_url } = good(await call('POST', `/orgs/${org.id}/members`, org.token, member));
      const token = new URL(enrolment_url).hash.slice(1);
      const options = good(await call('POST', '/auth/enrol/options', undefined, { token }, origin));
      const response = await (await newPasskey(origin)).create(options);
      return good(await call('POST', '/auth/enrol', undefined, { token, response }, origin)).token;
    },
    4,
  );
}

/** The Worker's functions for encryption and signing, for this process. */
const ownCode = () =>
  codeOf({
    'src/keys/keyring': ['deriveOrg', 'unwrap'],
    'src/domains/secrets/encryption': ['encryptValue'],
    'src/db/rows': ['macOf'],
    'src/db/ids': ['newId'],
  });

/** Functions of the project's TypeScript, for this process. @param {Record<string, string[]>} modules */
async function codeOf(modules) {
  const { build } = createRequire(require.resolve('wrangler'))('esbuild');
  const contents = Object.entries(modules)
    .map(([file, names]) => `export { ${names} } from './${file}';`)
    .join('');
  const stdin = { contents, resolveDir: root, loader: 'ts' };
  const { outputFiles } = await build({
    stdin,
    bundle: true,
    write: false,
    format: 'esm',
    platform: 'node',
    target: 'node20',
  });
  return import(`data:text/javascript;base64,${Buffer.from(outputFiles[0].contents).toString('base64')}`);
}
