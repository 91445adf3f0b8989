// Log streams with the real service and a real receiver that fails at first, while the service is killed and
// started again: the file that the receiver writes is the whole log, and the offline verifier confirms it.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import http from 'node:http';
import os from 'node:os';
import path from 'node:path';
import { after, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { Webhook } from 'standardwebhooks';
import { copyOfProject, env, project, startService } from '../service.mjs';
import { slow } from '../slow.mjs';

const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'log-streams-'));
after(() => fs.rmSync(dir, { recursive: true, force: true }));

/** A receiver that stores what it takes, one line an entry, as a program of a security team may. */
async function receiver() {
  /** @type {Map<number, string>} */
  const lines = new Map();
  const state = { requests: 0, failing: 1, secret: '', inOrder: true };
  const server = http.createServer((request, response) => {
    let body = '';
    request.setEncoding('utf8').on('data', (part) => (body += part));
    request.on('end', () => {
      state.requests++;
      if (state.requests <= state.failing) return response.writeHead(503).end();
      // The signature is over the bytes; the library reads the body as JSON, so one line is verified as such.
      const signed = new Webhook(state.secret).sign(
        String(request.headers['webhook-id']),
        new Date(Number(request.headers['webhook-timestamp']) * 1000),
        body,
      );
      assert.equal(request.headers['webhook-signature'], signed);
      assert.equal(request.headers['content-type'], 'application/x-ndjson');
      for (const line of body.trimEnd().split('\n')) {
        const { sequence } = JSON.parse(line);
        if (lines.has(sequence)) continue;
        state.inOrder &&= sequence === lines.size + 1;
        lines.set(sequence, line);
      }
      response.end('ok');
    });
  });
  await new Promise((done) => server.listen(0, '127.0.0.1', () => done(undefined)));
  after(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = /** @type {import('node:net').AddressInfo} */ (server.address());
  return { lines, state, url: `http://127.0.0.1:${port}/audit` };
}

async function until(holds, ms = 60_000) {
  const end = Date.now() + ms;
  while (!(await holds())) {
    assert.ok(Date.now() < end, 'waited in vain');
    await sleep(200);
  }
}

it(
  'log streams: what a receiver stored is the whole log, as the offline verifier confirms',
  slow(240_000),
  async () => {
    const service = await startService(copyOfProject(), { ALLOW_PRIVATE_TARGETS: 'true' });
    const bootstrap = service.variable('BOOTSTRAP_TOKEN');
    const { json } = await service.call('POST', '/orgs', bootstrap, {
      name: 'Acme',
      owner: { email: 'a@example.com', name: 'A' },
    });
    const at = `/orgs/${json.org.id}`;
    const call = (method, to, body) => service.call(method, `${at}${to}`, json.api_key.token, body);
    const { lines, state, url } = await receiver();
    const made = await call('POST', '/log-streams', {
      name: 'SIEM',
      kind: 'https',
      config: { url },
      from: 'beginning',
    });
    assert.equal(made.status, 201);
    state.secret = made.json.secret;
    for (let n = 0; n < 30; n++) await call('GET', '/secrets');
    await until(() => state.requests >= state.failing);
    await service.restart();
    for (let n = 0; n < 30; n++) await call('GET', '/secrets');
    const { head } = (await service.call('POST', `${at}/audit-log/archive`, bootstrap)).json;
    await until(() => lines.size >= head, 120_000);
    assert.ok(state.inOrder, 'in the order of sequence, without a gap');

    const write = (name, text) => {
      const file = path.join(dir, name);
      fs.writeFileSync(file, text);
      return file;
    };
    /** @type {any} */
    let checkpoints;
    await until(async () => {
      checkpoints = (await call('GET', '/audit-log/checkpoints')).json;
      return checkpoints.data[0]?.sequence >= head;
    });
    const key = (await call('GET', '/audit-log/key')).json;
    const files = [
      write('log.ndjson', [...lines.values()].map((line) => `${line}\n`).join('')),
      ...[
        '--checkpoints',
        write('checkpoints.ndjson', checkpoints.data.map((one) => `${JSON.stringify(one)}\n`).join('')),
      ],
      ...['--key', write('key.json', JSON.stringify(key))],
    ];
    const verify = () =>
      spawnSync(process.execPath, ['scripts/operate/audit-verify.mjs', ...files, '--accept-uncovered'], {
        cwd: project,
        env,
        encoding: 'utf8',
      });
    const good = verify();
    assert.equal(good.status, 0, good.stdout + good.stderr);
    write(
      'log.ndjson',
      [...lines.values()].map((line) => `${line}\n`.replace('"secret.list"', '"secret.read"')).join(''),
    );
    assert.equal(verify().status, 1);
  },
);
