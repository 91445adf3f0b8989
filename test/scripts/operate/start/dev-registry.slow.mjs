// `npm start -- --dev-registry` and `wrangler dev` of a Worker in a directory of its own: it has a few lines
// of configuration and no secret, reads a value, and uses an API whose key it never sees.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import http from 'node:http';
import path from 'node:path';
import { after, it } from 'node:test';
import { wranglerArgs, wranglerEnv } from '../../../../scripts/shared/wrangler.mjs';
import { copyOfProject, env, freePort, startService } from '../../service.mjs';

const KEY = 'sk_test_stand_in_0123456789';

/** A caller of each kind. What those without a response got is kept in the object. */
const WORKER = `
import { DurableObject, WorkflowEntrypoint } from 'cloudflare:workers';
const read = async (env) => (await env.VAULT.get('STRIPE_KEY')).version;
const keep = (env, kind, version) => env.KEPT.getByName('one').put(kind, version);
export class Kept extends DurableObject {
  put(kind, version) { return this.ctx.storage.put(kind, version); }
  get(kind) { return this.ctx.storage.get(kind); }
  read() { return read(this.env); }
}
export class Flow extends WorkflowEntrypoint {
  async run(event, step) {
    const version = await step.do('read', () => read(this.env));
    await step.do('keep', () => keep(this.env, 'workflow', version));
  }
}
const routes = {
  '/read': (env) => env.VAULT.get('STRIPE_KEY'),
  '/values': (env) => env.VAULT.values(),
  '/whoami': async (env) => (await env.VAULT.fetch('https://vault/api/v1/whoami')).json(),
  '/charge': async (env) => {
    const body = new URLSearchParams({ amount: '500', currency: 'usd' });
    const answer = await env.STRIPE.fetch(env.STRIPE_URL + '/v1/charges', { method: 'POST', body });
    return { status: answer.status, said: await answer.text() };
  },
  '/object': (env) => env.KEPT.getByName('one').read(),
  '/queue': (env) => env.JOBS.send('read'),
  '/workflow': async (env) => (await env.FLOW.create()).id,
  '/kept': (env, url) => env.KEPT.getByName('one').get(url.searchParams.get('kind')),
};
export default {
  async fetch(request, env) {
    const url = new URL(request.url);
    try {
      return Response.json((await routes[url.pathname](env, url)) ?? null);
    } catch (error) {
      return Response.json({ thrown: error.message }, { status: 500 });
    }
  },
  async queue(batch, env) {
    await keep(env, 'queue', await read(env));
  },
  async scheduled(controller, env) {
    await keep(env, 'cron', await read(env));
  },
};`;

/** A stand-in for Stripe: it wants the key. */
const stripe = http.createServer((request, response) => {
  let body = '';
  request.on('data', (part) => {
    body += part;
  });
  request.on('end', () => {
    const isPaid = request.headers.authorization === `Bearer ${KEY}`;
    response.writeHead(isPaid ? 200 : 401, { 'Content-Type': 'application/json' });
    response.end(
      JSON.stringify({ object: 'charge', paid: isPaid, for: body, by: request.headers.authorization }),
    );
  });
});

let service;
let worker;
let org;
let trust;
let base;
let said = '';

async function call(method, at, body) {
  const response = await fetch(`${service.base}/api/v1/orgs/${org.id}${at}`, {
    method,
    headers: { Authorization: `Bearer ${org.token}`, 'Content-Type': 'application/json' },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  assert.ok(response.ok, `${method} ${at}: ${text}`);
  return text ? JSON.parse(text) : null;
}
const ask = async (at) => (await fetch(`${base}${at}`)).json();

/** Asks until an answer is another than null. */
async function eventually(at) {
  for (let tries = 0; ; tries++) {
    const answer = await ask(at);
    if (answer !== null || tries === 300) return answer;
    await new Promise((done) => setTimeout(done, 100));
  }
}

/** The directory of a Worker. @param {string} dir @param {string} props @param {number} port */
function write(dir, props, port) {
  fs.writeFileSync(path.join(dir, 'index.js'), WORKER);
  const binding = (
    /** @type {string} */ name,
    /** @type {string} */ entrypoint,
    /** @type {string} */ more,
  ) => `
[[services]]
binding = "${name}"
service = "secrets-vault-service"
entrypoint = "${entrypoint}"
props = { ${props}${more} }
`;
  fs.writeFileSync(
    path.join(dir, 'wrangler.toml'),
    `name = "billing"
main = "index.js"
compatibility_date = "2026-01-01"
vars = { STRIPE_URL = "http://127.0.0.1:${port}" }
durable_objects.bindings = [{ name = "KEPT", class_name = "Kept" }]
migrations = [{ tag = "v1", new_sqlite_classes = ["Kept"] }]
workflows = [{ name = "flow", binding = "FLOW", class_name = "Flow" }]
queues.producers = [{ binding = "JOBS", queue = "jobs" }]
queues.consumers = [{ queue = "jobs", max_batch_timeout = 0 }]
triggers.crons = ["0 0 * * *"]
${binding('VAULT', 'Vault', '')}${binding('STRIPE', 'Upstream', ', upstream = "stripe"')}`,
  );
}

async function setUp() {
  const dir = copyOfProject();
  const registry = path.join(dir, '.registry');
  stripe.listen(0, '127.0.0.1');
  await once(stripe, 'listening');
  const { port } = /** @type {import('node:net').AddressInfo} */ (stripe.address());
  const variables = { WRANGLER_REGISTRY_PATH: registry, ALLOW_PRIVATE_TARGETS: 'true' };
  service = await startService(dir, variables, ['--dev-registry']);
  const [, token = ''] =
    /^BOOTSTRAP_TOKEN="?([^"\n]+)/m.exec(fs.readFileSync(path.join(dir, '.dev.vars'), 'utf8')) ?? [];
  const made = await fetch(`${service.base}/api/v1/orgs`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' },
    body: JSON.stringify({ name: 'Acme', owner: { email: 'a@example.com', name: 'A' } }),
  });
  const json = await made.json();
  org = { id: json.org.id, token: json.api_key.token };
  await call('POST', '/secrets', { name: 'STRIPE_KEY', type: 'generic', value: KEY });
  await call('POST', '/upstreams', {
    name: 'stripe',
    base_url: `http://127.0.0.1:${port}`,
    environment: 'production',
    auth: [{ type: 'header', name: 'Authorization', value: 'Bearer {{STRIPE_KEY}}' }],
    allow: [{ methods: ['POST'], paths: ['/v1/charges'] }],
  });
  trust = await call('POST', '/trusts', {
    name: 'billing',
    issuer: 'cloudflare:service-binding',
    claims: { name: 'billing' },
    scopes: ['secrets:read'],
  });
  const at = fs.mkdtempSync(path.join(dir, 'billing-'));
  write(at, `org = "${org.id}", trust = "${trust.id}", name = "billing"`, port);
  const free = await freePort();
  const args = wranglerArgs(['dev', '--port', String(free), '--ip', '127.0.0.1']);
  worker = spawn(process.execPath, args, {
    cwd: at,
    detached: true,
    env: { ...env, ...wranglerEnv, WRANGLER_REGISTRY_PATH: registry },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  for (const stream of [worker.stdout, worker.stderr])
    stream.on('data', (text) => {
      said += text;
    });
  base = `http://127.0.0.1:${free}`;
  for (let tries = 0; ; tries++) {
    const answer = await fetch(`${base}/whoami`, { signal: AbortSignal.timeout(5000) }).then(
      (response) => response.json(),
      () => null,
    );
    if (answer?.kind) break;
    assert.ok(tries < 600 && worker.exitCode === null, `${JSON.stringify(answer)}\n${said.slice(-2000)}`);
    await new Promise((done) => setTimeout(done, 200));
  }
}

after(() => {
  // The whole group: wrangler's runtime would outlive it.
  if (worker?.pid) process.kill(-worker.pid, 'SIGKILL');
  stripe.closeAllConnections();
  stripe.close();
});
await setUp();

it('wrangler dev: a Worker without a secret reads a value, and the audit log names it', async () => {
  assert.equal((await ask('/read')).value, KEY);
  assert.deepEqual((await ask('/values')).values, { STRIPE_KEY: KEY });
  const { data } = await call('GET', '/audit-log?action=secret.read');
  assert.deepEqual(
    [data[0].actor.kind, data[0].actor.id, data[0].actor.name, data[0].ip],
    ['workload', trust.id, 'billing', null],
  );
});

it('wrangler dev: it charges a card with a key that it does not see', async () => {
  const { status, said: answer } = await ask('/charge');
  assert.deepEqual(
    [status, JSON.parse(answer)],
    [
      200,
      {
        object: 'charge',
        paid: true,
        for: 'amount=500&currency=usd',
        by: `Bearer ${'*'.repeat(KEY.length)}`,
      },
    ],
  );
});

it('wrangler dev: a Durable Object, a queue consumer, a cron trigger and a Workflow read it too', async () => {
  assert.equal(await ask('/object'), 1);
  await ask('/queue');
  assert.equal(await eventually('/kept?kind=queue'), 1, 'queue');
  await fetch(`${base}/cdn-cgi/handler/scheduled?cron=0+0+*+*+*`);
  assert.equal(await eventually('/kept?kind=cron'), 1, 'cron');
  assert.equal(typeof (await ask('/workflow')), 'string');
  assert.equal(await eventually('/kept?kind=workflow'), 1, 'workflow');
});

it('revocation: deleting the trust stops it at the next request', async () => {
  await call('DELETE', `/trusts/${trust.id}`);
  assert.match((await ask('/read')).thrown, /^TOKEN_REVOKED: /);
  assert.equal((await ask('/charge')).status, 401);
});

it('npm start: the registry is said to be open to this machine', () => {
  assert.match(service.said(), /Registered in wrangler's dev registry as secrets-vault-service: any program/);
});
