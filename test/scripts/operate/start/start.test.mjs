// A runtime that is killed under `npm start`: the service comes back with the same state, however slow its
// start is, or npm start ends with exit code 1 and says why. Meanwhile every answer has the API's shape, and
// afterwards no temporary file is left.
import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import fs from 'node:fs';
import http from 'node:http';
import os from 'node:os';
import path from 'node:path';
import { it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { copyOfProject, startService } from '../../service.mjs';
import { slow } from '../../slow.mjs';

/**
 * The processes below `pid` whose command line holds `part`.
 * @param {number} pid
 * @param {string} part
 * @returns {number[]}
 */
function below(pid, part) {
  const rows = execFileSync('ps', ['-eo', 'pid=,ppid=,stat=,args='], { encoding: 'utf8' })
    .split('\n')
    .map((row) => /^\s*(\d+)\s+(\d+)\s+([^Z]\S*)\s+(.*)$/.exec(row))
    .filter((row) => row !== null)
    .map(([, own, parent, , args]) => ({ pid: Number(own), parent: Number(parent), args }));
  const found = rows.filter((row) => row.pid === pid);
  for (const one of found) found.push(...rows.filter(({ parent }) => parent === one.pid));
  return found.filter(({ args }) => args.includes(part)).map((one) => one.pid);
}

/**
 * One call on a connection of its own: its status and body, or null where it broke. Some come with a body,
 * some without.
 */
const ask = (port, n) =>
  new Promise((done) => {
    const [method, target] = n % 2 ? ['GET', '/api/v1/whoami'] : ['POST', '/api/v1/orgs'];
    const signal = AbortSignal.timeout(10_000);
    const request = http.request(
      { host: '127.0.0.1', port, method, path: target, agent: false, signal },
      (response) => {
        let text = '';
        response.setEncoding('utf8').on('data', (part) => (text += part));
        response.on('end', () => done({ status: response.statusCode, text })).on('error', () => done(null));
      },
    );
    request.on('error', () => done(null)).end();
  });

it(
  'npm start: a runtime that is killed comes back with its state, and never responds in another format',
  slow(240_000),
  async () => {
    const dir = copyOfProject();
    const temporary = fs.mkdtempSync(path.join(os.tmpdir(), 't-'));
    const service = await startService(dir, { TMPDIR: temporary });
    const { json } = await service.call('POST', '/orgs', service.variable('BOOTSTRAP_TOKEN'), {
      name: 'A',
      owner: { email: 'a@example.com', name: 'A' },
    });
    const at = `/orgs/${json.org.id}/secrets`;
    const key = json.api_key.token;
    assert.equal(
      (await service.call('POST', at, key, { name: 'KEPT', type: 'generic', value: 'here' })).status,
      201,
    );

    let going = true;
    const shapes = new Set();
    const callers = Array.from({ length: 8 }, async (_, n) => {
      while (going) {
        const answer = await ask(service.port, n);
        if (!answer) await sleep(20);
        else
          shapes.add(
            /^\{"error":\{"code":"[A-Z_]+"/.test(answer.text)
              ? 'error'
              : `${answer.status} ${answer.text.slice(0, 200)}`,
          );
      }
    });
    for (const part of ['workerd serve', 'serve.mjs', 'workerd serve']) {
      const killed = below(service.pid(), part);
      assert.equal(killed.length, 1, part);
      await sleep(1_000);
      process.kill(killed[0], 'SIGKILL');
      const from = Date.now();
      while (
        below(service.pid(), part).every((pid) => pid === killed[0]) ||
        (await ask(service.port, 1)) === null
      ) {
        assert.ok(Date.now() - from < 80_000, `back: ${service.said().slice(-500)}`);
        await sleep(50);
      }
      assert.equal((await service.call('GET', `${at}/by-name/KEPT`, key)).json.value, 'here');
    }
    going = false;
    await Promise.all(callers);
    assert.deepEqual([...shapes], ['error']);

    // A start that takes long, as on a busy machine, is no failed one: here the process gets no processor
    // time for a while.
    const [before] = below(service.pid(), 'serve.mjs');
    process.kill(before, 'SIGKILL');
    let starting;
    for (; !starting; await sleep(20))
      starting = below(service.pid(), 'serve.mjs').find((pid) => pid !== before);
    process.kill(starting, 'SIGSTOP');
    await sleep(9_000);
    process.kill(starting, 'SIGCONT');
    for (const from = Date.now(); (await ask(service.port, 1)) === null; await sleep(50))
      assert.ok(Date.now() - from < 80_000, service.said().slice(-500));
    assert.deepEqual(below(service.pid(), 'serve.mjs'), [starting]);
    assert.doesNotMatch(service.said(), /was not ready/);

    // One that does not stay alive is given up.
    const from = Date.now();
    for (; service.exitCode() === null && Date.now() - from < 60_000; await sleep(100))
      for (const pid of below(service.pid(), 'workerd serve')) process.kill(pid, 'SIGKILL');
    assert.equal(service.exitCode(), 1);
    assert.match(
      service.said(),
      /^(workerd|The runtime) ended.*, for the 6th time within ten minutes: npm start ends/m,
    );
    assert.deepEqual(below(service.pid(), ''), []);
    const left = fs.readdirSync(temporary).filter((name) => /^(miniflare|svs)-/.test(name));
    assert.deepEqual([left, fs.existsSync(path.join(dir, '.wrangler', 'state', 'tmp'))], [[], false]);
  },
);

it('temporary files: the next run removes those of a killed run, and not those of a running one', async () => {
  const base = fs.mkdtempSync(path.join(os.tmpdir(), 't-'));
  const run = (script) =>
    spawn(process.execPath, ['--import', './scripts/shared/temporary-files.mjs', '--eval', script], {
      cwd: path.resolve(import.meta.dirname, '../../../..'),
      env: { ...process.env, TMPDIR: base },
      stdio: 'ignore',
    });
  const names = () => fs.readdirSync(base).length;
  const ended = (child) => new Promise((done) => child.once('exit', done));
  const killed = run('setInterval(() => {}, 1000)');
  const living = run('setInterval(() => {}, 1000)');
  while (names() < 2) await sleep(20);
  const end = ended(killed);
  killed.kill('SIGKILL');
  await end;
  await ended(run('fs.writeFileSync(os.tmpdir() + "/file", "x")'));
  const left = fs.readdirSync(base);
  assert.deepEqual([left.length, left[0].startsWith(`svs-${living.pid}-`)], [1, true]);
  living.kill('SIGKILL');
  fs.rmSync(base, { recursive: true });
});
