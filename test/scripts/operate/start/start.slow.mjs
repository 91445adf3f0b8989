// `npm start` as people run it, on a copy of the project that is as fresh as a clone: what it prints works,
// two run side by side, every refusal is one line, and however it is ended nothing stays behind. Run by hand
// or in CI: node --test test/scripts/operate/start/start.slow.mjs
import assert from 'node:assert/strict';
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import net from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { after, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';

const project = path.resolve(import.meta.dirname, '..', '..', '..', '..');
const scratch = fs.mkdtempSync(path.join(os.tmpdir(), 'start-'));
const LEFT_OUT = ['node_modules', '.git', '.sdks', '.wrangler', '.dev.vars'];
const ENDS_WITHIN = 5_000;
const groups = new Set();

after(() => {
  for (const pid of groups) signal(-pid, 'SIGKILL');
  fs.rmSync(scratch, { recursive: true, force: true });
});

function clone(name) {
  const dir = path.join(scratch, name);
  fs.cpSync(project, dir, {
    recursive: true,
    filter: (from) => !LEFT_OUT.includes(path.relative(project, from)),
  });
  fs.symlinkSync(fs.realpathSync(path.join(project, 'node_modules')), path.join(dir, 'node_modules'));
  return dir;
}

const OURS = [
  'PORT',
  'STATE_DIR',
  'BOOTSTRAP_TOKEN',
  'MASTER_KEYS',
  'ALLOW_PRIVATE_TARGETS',
  'PLATFORM_BASE_URLS',
  'METRICS_TOKEN',
  'PUBLIC_URL',
];
const NOT_INHERITED = [...OURS, 'NODE_TEST_CONTEXT', 'NODE_OPTIONS'];
const variables = (env) => ({
  ...Object.fromEntries(Object.entries(process.env).filter(([name]) => !NOT_INHERITED.includes(name))),
  ...env,
});

async function freePort() {
  const probe = net.createServer().listen(0, '127.0.0.1');
  await once(probe, 'listening');
  const { port } = /** @type {net.AddressInfo} */ (probe.address());
  probe.close();
  return port;
}

function signal(pid, name) {
  try {
    return process.kill(pid, name);
  } catch {
    return false;
  }
}

/** Every process below `pid`, itself included. @returns {{ pid: number, args: string }[]} */
function family(pid) {
  const rows = execFileSync('ps', ['-eo', 'pid=,ppid=,stat=,args='], { encoding: 'utf8' })
    .split('\n')
    .map((row) => /^\s*(\d+)\s+(\d+)\s+(\S+)\s+(.*)$/.exec(row))
    .filter((row) => row && !row[3].startsWith('Z'))
    .map(([, own, parent, , args]) => ({ pid: Number(own), parent: Number(parent), args }));
  const members = rows.filter((row) => row.pid === pid);
  for (const member of members) members.push(...rows.filter((row) => row.parent === member.pid));
  return members;
}

const alive = (members) => {
  const now = execFileSync('ps', ['-eo', 'pid=,stat='], { encoding: 'utf8' });
  return members.filter(({ pid }) => new RegExp(`^\\s*${pid}\\s+[^Z]`, 'm').test(now));
};

/** `npm start`, until it has printed its commands. */
async function start(cwd, env = {}) {
  const port = await freePort();
  const child = spawn('npm', ['start'], {
    cwd,
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: variables({ PORT: String(port), STATE_DIR: path.join(scratch, `state-${port}`), ...env }),
  });
  groups.add(child.pid);
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text) => (output += text));
  const exited = once(child, 'exit');
  let gone = false;
  exited.then(() => (gone = true));
  for (const end = Date.now() + 90_000; !output.includes('/by-name/DATABASE_URL'); await sleep(50)) {
    if (gone || Date.now() > end) assert.fail(`npm start did not become ready:\n${output}`);
  }
  const members = family(child.pid);
  const node = members.find(({ args }) => /^\S*node scripts\/operate\/start\/start\.mjs$/.test(args));
  assert.ok(node && members.some(({ args }) => args.includes('workerd serve')), 'node and workerd run');
  return { port, pid: child.pid, nodePid: node.pid, members, exited, output: () => output };
}

async function endsWithNothingLeft(service) {
  const from = Date.now();
  while (alive(service.members).length > 0 && Date.now() - from < ENDS_WITHIN) await sleep(50);
  const left = alive(service.members);
  for (const { pid } of left) signal(pid, 'SIGKILL');
  groups.delete(service.pid);
  assert.deepEqual(left, [], `all have ended within ${ENDS_WITHIN} ms`);
}

/** Pastes the printed commands into one shell, in another directory. */
function paste(service, shell, env = {}) {
  const commands = service
    .output()
    .split('\n')
    .filter((line) => /^(ANSWER=|curl )/.test(line));
  assert.equal(commands.length, 3);
  const done = spawnSync(shell, {
    input: `${commands.join('\n')}\n`,
    cwd: os.tmpdir(),
    env: variables(env),
    encoding: 'utf8',
  });
  assert.equal(done.stderr, '');
  return done.stdout.trim().split('\n');
}

describe('npm start', { concurrency: 1 }, () => {
  it('starts twice concurrently on a fresh clone, with one set of keys, and the printed commands work', async () => {
    const cwd = clone('fresh clone');
    const both = await Promise.all([start(cwd), start(cwd)]);
    const file = path.join(cwd, '.dev.vars');
    assert.equal(fs.statSync(file).mode & 0o777, 0o600);
    assert.deepEqual(
      fs.readdirSync(cwd).filter((name) => name.startsWith('.dev.vars')),
      ['.dev.vars', '.dev.vars.example'],
    );
    const secrets = [...fs.readFileSync(file, 'utf8').matchAll(/^[A-Z_]+=(?:k1:)?(.+)$/gm)].map(
      ([, value]) => value,
    );
    assert.equal(secrets.length, 2);
    for (const [service, shell] of [
      [both[0], 'sh'],
      [both[1], 'bash'],
    ]) {
      const answers = paste(service, shell);
      assert.match(answers[0], /^organisation org_/);
      assert.match(answers[1], /DATABASE_URL/);
      assert.match(answers[2], /postgres:\/\//);
      for (const secret of secrets)
        assert.ok(!(service.output() + answers.join()).includes(secret), 'no secret is printed');
      await sleep(1_000); // the log line may still be under way
      assert.match(service.output(), /^\d\d:\d\d:\d\d 201 POST +\/api\/v1\/orgs /m);
    }
    signal(-both[0].pid, 'SIGINT');
    await endsWithNothingLeft(both[0]);
    assert.deepEqual(alive(both[1].members), both[1].members, 'the other runs on');
    signal(both[1].pid, 'SIGTERM');
    await endsWithNothingLeft(both[1]);
  });

  it('prefers the secrets of the shell, with any character, to those of .dev.vars, and then needs no file', async () => {
    const cwd = clone('shell');
    const env = {
      BOOTSTRAP_TOKEN: `${'x'.repeat(32)}$HOME'"\`#`,
      MASTER_KEYS: `k9:${Buffer.alloc(32, 7).toString('base64')}`,
    };
    const service = await start(cwd, env);
    assert.ok(!fs.existsSync(path.join(cwd, '.dev.vars')));
    assert.match(paste(service, 'sh', env)[0], /^organisation org_/);
    signal(service.nodePid, 'SIGTERM');
    await endsWithNothingLeft(service);
  });

  describe('npm start: nothing is left after it ends', () => {
    const cwd = clone('signals');
    const STATE_DIR = path.join(scratch, 'signals-state');
    const whom = {
      'the group': ({ pid }) => -pid,
      'npm alone': ({ pid }) => pid,
      'node alone': ({ nodePid }) => nodePid,
    };
    for (const [who, target] of Object.entries(whom)) {
      for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGKILL']) {
        it(`${name} to ${who}`, async () => {
          const service = await start(cwd, { STATE_DIR });
          signal(target(service), name);
          await endsWithNothingLeft(service);
          if (who === 'node alone' && name !== 'SIGKILL') assert.equal((await service.exited)[0], 0);
        });
      }
    }
  });

  it('kills processes that do not end, and does so immediately after a second signal', async () => {
    const cwd = clone('deaf');
    for (const [times, within] of [
      [1, ENDS_WITHIN],
      [2, 2_000],
    ]) {
      const service = await start(cwd);
      const wrangler = service.members.find(({ args }) => args.includes('exit-with-parent.mjs'));
      signal(-wrangler.pid, 'SIGSTOP');
      const from = Date.now();
      for (let n = 0; n < times; n++) {
        signal(service.nodePid, 'SIGINT');
        await sleep(700);
      }
      await endsWithNothingLeft(service);
      assert.ok(Date.now() - from < within, `after ${times} signals`);
    }
  });

  it('refuses with one line that names the variable and no value, before anything runs', async () => {
    const cwd = clone('refusals');
    const taken = net.createServer().listen(0, '127.0.0.1');
    await once(taken, 'listening');
    const { port } = /** @type {net.AddressInfo} */ (taken.address());
    const aFile = path.join(scratch, 'a-file');
    fs.writeFileSync(aFile, '');
    const cases = [
      { PORT: String(port) },
      { PORT: '0x50' },
      { STATE_DIR: aFile },
      { MASTER_KEYS: '' },
      { MASTER_KEYS: 'k1:c2VjcmV0' },
      { BOOTSTRAP_TOKEN: 'tooshort' },
      { ALLOW_PRIVATE_TARGETS: 'perhaps' },
      { PLATFORM_BASE_URLS: '{"nowhere":"http://localhost"}' },
      { PUBLIC_URL: 'ftp://vault.example.com' },
    ];
    const free = String(await freePort());
    for (const env of cases) {
      const [[name, value]] = Object.entries(env);
      const refused = spawnSync('npm', ['start', '--silent'], {
        cwd,
        env: variables({ PORT: free, STATE_DIR: path.join(scratch, 'refused'), ...env }),
        encoding: 'utf8',
      });
      const lines = refused.stderr.split('\n').filter((line) => line && !line.startsWith('npm '));
      assert.equal(refused.status, 1, name);
      assert.equal(lines.length, 1, refused.stderr);
      assert.ok(lines[0].includes(name) && (value === '' || !lines[0].includes(value)), lines[0]);
    }
    taken.close();
    assert.ok(!fs.existsSync(path.join(cwd, '.dev.vars')), 'and made no keys');
  });
});
