// A real service for the packages' tests: `npm start` of this checkout, with a state of its own in the
// scratch directory.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import net from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as sleep } from 'node:timers/promises';

const root = path.resolve(import.meta.dirname, '..', '..');
export const BOOTSTRAP_TOKEN = 'bootstrap-token-of-the-packages-tests-0123456789';

/** A free port. @returns {Promise<number>} */
export const freePort = () =>
  new Promise((done) => {
    const probe = net.createServer().listen(0, '127.0.0.1', () => {
      const { port } = /** @type {net.AddressInfo} */ (probe.address());
      probe.close(() => done(port));
    });
  });

/**
 * Starts the service and waits until it answers.
 * @param {{ port?: number, state?: string, variables?: Record<string, string> }} [options] the state of a
 *   service that was stopped, to start it again
 */
export async function startVault(options = {}) {
  const port = options.port ?? (await freePort());
  const state = options.state ?? fs.mkdtempSync(path.join(os.tmpdir(), 'vault-'));
  // Passkeys work at a name, not at an address.
  const url = `http://localhost:${port}`;
  const child = spawn(process.execPath, [path.join(root, 'scripts', 'operate', 'start', 'start.mjs')], {
    cwd: root,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: {
      PATH: process.env.PATH,
      HOME: process.env.HOME,
      TMPDIR: process.env.TMPDIR,
      PORT: String(port),
      STATE_DIR: state,
      PUBLIC_URL: url,
      BOOTSTRAP_TOKEN,
      MASTER_KEYS: `k1:${Buffer.alloc(32, 7).toString('base64')}`,
      ALLOW_PRIVATE_TARGETS: 'true',
      ...options.variables,
    },
  });
  let said = '';
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (data) => (said = (said + data).slice(-4000)));
  while (!said.includes(' is ready at ')) {
    if (child.exitCode !== null) throw new Error(`the service did not start: ${said}`);
    await sleep(50);
  }
  const stop = async () => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    child.kill('SIGTERM');
    await once(child, 'exit');
  };
  return { url, port, state, stop, pid: child.pid };
}

/**
 * A new organisation.
 * @param {string} url
 * @returns {Promise<{ url: string, org: string, key: string, enrolmentUrl: string }>} its id, its first API
 *   key, which may do everything, and its owner's link
 */
export async function newOrg(url) {
  const { org, api_key, owner } = await call(url, BOOTSTRAP_TOKEN, 'POST', '/orgs', {
    name: 'Acme',
    owner: { email: 'ann@example.com', name: 'Ann' },
  });
  return { url, org: org.id, key: api_key.token, enrolmentUrl: owner.enrolment_url };
}

/**
 * Lets everybody in an organisation have been there for longer than ties between people last, so that they
 * may decide for each other. No call does that, so it edits the gate's storage. Call it after people have
 * enrolled and before a policy is made.
 * @param {string} state @param {string} org
 */
export function settle(state, org) {
  const gates = path.join(state, 'v3', 'do', 'secrets-vault-service-Gate');
  for (const name of fs.readdirSync(gates).filter((file) => /^[0-9a-f]{64}\.sqlite$/.test(file))) {
    const file = path.join(gates, name);
    if (!isOf(file)) continue;
    const gate = new DatabaseSync(file, { timeout: 5000 });
    // The gate writes once more when D1 has followed.
    for (let waited = 0; waited < 5000 && !isAtRest(gate); waited += 50) pause(50);
    gate
      .prepare(
        "update rows set body = json_set(body, '$.connections', json('[]')) where kind = 'member' and body ->> 'org_id' = ?",
      )
      .run(org);
    gate.close();
  }

  /** @param {DatabaseSync} gate */
  function isAtRest(gate) {
    return gate.prepare('select 1 from journal limit 1').get() === undefined;
  }

  /** @param {number} ms */
  function pause(ms) {
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
  }

  /**
   * A write locks the file, and a gate whose file is locked fails its calls: so those of others are only
   * read.
   * @param {string} file
   */
  function isOf(file) {
    const gate = new DatabaseSync(file, { readOnly: true, timeout: 5000 });
    const found = gate
      .prepare("select 1 from rows where kind = 'member' and body ->> 'org_id' = ? limit 1")
      .get(org);
    gate.close();
    return found !== undefined;
  }
}

/**
 * A call without the client that is tested.
 * @param {string} url @param {string} token @param {string} method @param {string} at below /api/v1 @param
 *   {unknown} [body]
 */
export async function call(url, token, method, at, body) {
  const answer = await fetch(`${url}/api/v1${at}`, {
    method,
    headers: {
      Authorization: `Bearer ${token}`,
      ...(body !== undefined && { 'Content-Type': 'application/json' }),
    },
    body: body === undefined ? undefined : JSON.stringify(body),
  });
  const text = await answer.text();
  if (!answer.ok) throw new Error(`${method} ${at} is ${answer.status}: ${text}`);
  return text ? JSON.parse(text) : null;
}
