// svc run: the environment of the child, its exit, and what happens when a value changes or the vault is
// unreachable.
// biome-ignore-all lint/suspicious/noTemplateCurlyInString: scripts of children are texts here.
import fs from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { startProxy } from '../../../../test/packages/proxy.mjs';
import { call, newOrg } from '../../../../test/packages/vault.mjs';
import { Machine, until } from '../harness.ts';

const VALUE = 'postgres://app:correct-horse@db';
let machine: Machine;
let proxy: Awaited<ReturnType<typeof startProxy>>;
let at: { url: string; org: string; key: string };
const put = (name: string, value: string, environment = 'production') =>
  call(
    at.url,
    at.key,
    'PUT',
    `/orgs/${at.org}/secrets/by-name/${encodeURIComponent(name)}?environment=${environment}`,
    { value },
  );

beforeAll(async () => {
  at = await newOrg(inject('vaultUrl'));
  proxy = await startProxy(at.url);
  machine = new Machine({
    SVC_URL: proxy.url,
    SVC_ORG_ID: at.org,
    SVC_TOKEN: at.key,
    SVC_ENVIRONMENT: 'production',
  });
  await put('DATABASE_URL', VALUE);
});
afterAll(() => proxy.close());

const node = (script: string) => ['--', process.execPath, '-e', script];

describe('environment of the child', () => {
  it('run: values are only in the environment of the child, and credentials of svc are not', async () => {
    const script =
      'console.log(JSON.stringify(Object.keys(process.env).filter((name) => name.startsWith("SVC_")).sort())); setInterval(() => {}, 1000)';
    const running = machine.spawn(['run', ...node(script)]);
    await until(() => running.said().includes(']'));
    expect(JSON.parse(running.said())).toEqual(['SVC_ENVIRONMENT', 'SVC_KEYCHAIN', 'SVC_ORG_ID', 'SVC_URL']);
    const [child] = fs
      .readFileSync(`/proc/${running.pid}/task/${running.pid}/children`, 'utf8')
      .trim()
      .split(' ');
    for (const pid of [running.pid, child]) {
      expect(fs.readFileSync(`/proc/${pid}/cmdline`, 'utf8')).not.toContain('correct-horse');
      expect(fs.readFileSync(`/proc/${pid}/environ`, 'utf8').includes('correct-horse')).toBe(pid === child);
    }
    running.kill('SIGTERM');
    expect((await running.done).code).toBe(143);
  });

  it('reserved names: loader and SVC_ variables are left out, unless allowed by name', async () => {
    for (const name of ['NODE_OPTIONS', 'LD_PRELOAD', 'PATH', 'https_proxy', 'SVC_URL', 'GIT_SSH_COMMAND'])
      await put(name, '--evil', 'staging');
    await put('GOOD', 'yes', 'staging');
    machine.write('.svc.json', JSON.stringify({ secrets: ['LD_PRELOAD', 'SVC_URL', 'https_proxy'] }));
    const script =
      'process.stdout.write([process.env.NODE_OPTIONS, process.env.https_proxy, process.env.SVC_URL, process.env.GOOD].join())';
    const ran = await machine.spawn(['run', '-e', 'staging', ...node(script)]).done;
    expect(ran).toMatchObject({ code: 0, stdout: `,--evil,${proxy.url},yes` });
    expect(ran.stderr).toMatch(
      /2 secrets are left out: LD_PRELOAD, SVC_URL: they are reserved\. .*--allow-reserved/,
    );
    expect(ran.stderr).toMatch(
      /3 secrets are left out: GIT_SSH_COMMAND, NODE_OPTIONS, PATH: they can change how programs run/,
    );
    expect(ran.stderr).not.toContain('--evil');
    fs.rmSync(path.join(machine.work, '.svc.json'));
    const allow = ['--allow-reserved', 'https_proxy'];
    const allowed = await machine.spawn([
      'run',
      '-e',
      'staging',
      ...allow,
      ...node('process.stdout.write(process.env.https_proxy)'),
    ]).done;
    expect(allowed.stdout).toBe('--evil');
  });

  it('run: names that no variable can have get one warning, and __proto__ is an ordinary name', async () => {
    for (let n = 0; n < 13; n++) await put(`${n}/foreign`, 'x', 'staging');
    await put('__proto__', 'polluted', 'staging');
    const ran = await machine.spawn(['run', '-e', 'staging', '--', 'sh', '-c', 'env']).done;
    expect(ran.stdout).toContain('__proto__=polluted');
    expect(ran.stderr.match(/left out/g)?.length).toBe(3);
    expect(ran.stderr).toMatch(
      /13 secrets are left out: 0\/foreign, 1\/foreign, .* and 3 more: they begin with a digit/,
    );
  });

  it('run: --prefix is removed from names, --only selects, --preserve-env keeps existing variables', async () => {
    await put('billing/STRIPE', 'sk', 'development');
    await put('PLAIN', 'p', 'development');
    const script = 'process.stdout.write([process.env.STRIPE, process.env.PLAIN].join())';
    const run = (...argv: string[]) =>
      machine.spawn(['run', '-e', 'development', ...argv, ...node(script)], { env: { PLAIN: 'mine' } }).done;
    const ran = await Promise.all([
      run('--prefix', 'billing/'),
      run('--only', 'billing/STRIPE'),
      run('--preserve-env'),
      run(),
    ]);
    expect(ran.map(({ stdout }) => stdout)).toEqual(['sk,mine', ',mine', ',mine', ',p']);
  });
});

describe('end of the child', () => {
  it('exit code: that of the command, 128 plus the signal, 127 and 126', async () => {
    const codeOf = async (...line: string[]) => (await machine.spawn(['run', '--', ...line]).done).code;
    const codes = [
      codeOf(process.execPath, '-e', 'process.exit(42)'),
      codeOf(process.execPath, '-e', 'process.kill(process.pid, "SIGKILL")'),
      codeOf('no-such-command-here'),
      codeOf(machine.write('plain.txt', 'x')),
    ];
    expect(await Promise.all(codes)).toEqual([42, 137, 127, 126]);
  });

  it('signal: SIGTERM, SIGINT and SIGHUP are forwarded to the command, which handles them', async () => {
    const script =
      'for (const s of ["SIGTERM","SIGINT","SIGHUP"]) process.on(s, () => { console.log(s); if (s === "SIGHUP") process.exit(7); }); console.log("ready"); setInterval(() => {}, 1000)';
    const running = machine.spawn(['run', ...node(script)]);
    await until(() => running.said().includes('ready'));
    for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
      running.kill(name);
      await until(() => running.said().includes(name));
    }
    expect((await running.done).code).toBe(7);
  });

  it('arguments: not parsed by a shell, and options after the command belong to it', async () => {
    const ran = await machine.spawn([
      'run',
      process.execPath,
      '-p',
      'JSON.stringify(process.argv.slice(1))',
      '--',
      '--json',
      '$(id)',
      '; ls',
      '-e',
    ]).done;
    expect(JSON.parse(ran.stdout)).toEqual(['--json', '$(id)', '; ls', '-e']);
  });
});

describe('watch', () => {
  it('watch: a rotation restarts the command, and an unchanged value does not', async () => {
    await put('WATCHED', 'one', 'production');
    const script =
      'process.on("SIGTERM", () => process.exit(0)); console.log(`value ${process.env.WATCHED}`); setInterval(() => {}, 1000)';
    const running = machine.spawn(['run', '--watch', '--only', 'WATCHED', ...node(script)]);
    await until(() => running.said().includes('value one'));
    await until(() => proxy.seen.some(({ path: at }) => at.includes('/events/stream')));
    await new Promise((done) => setTimeout(done, 500));
    await put('OTHER', 'x', 'production');
    await put('WATCHED', 'two', 'production');
    await until(() => running.said().includes('value two'));
    expect(running.said().match(/value/g)).toHaveLength(2);
    running.kill('SIGTERM');
    const ran = await running.done;
    expect(ran.code).toBe(0);
    expect(ran.stderr).toContain('WATCHED changed');
  });

  it('watch: a change of another environment, or of a name without the prefix, reads nothing again', async () => {
    await put('seen/A', 'one');
    const file = path.join(machine.work, 'concerned.fallback');
    const script = 'console.log("value " + process.env.A); setInterval(() => {}, 1000)';
    const argv = ['run', '--watch', '--prefix', 'seen/', '--fallback', file, ...node(script)];
    proxy.seen.length = 0;
    const running = machine.spawn(argv);
    await until(() => running.said().includes('value one') && proxy.count('GET', '/events/stream') > 0);
    await new Promise((done) => setTimeout(done, 1_500));
    // Each read writes the copy.
    const before = fs.readFileSync(file, 'utf8');
    await put('seen/A', 'other', 'staging');
    await put('UNSEEN', 'x');
    await new Promise((done) => setTimeout(done, 1_500));
    expect(fs.readFileSync(file, 'utf8')).toBe(before);
    await put('seen/A', 'two');
    await until(() => running.said().includes('value two'));
    expect(fs.readFileSync(file, 'utf8')).not.toBe(before);
    running.kill('SIGTERM');
    expect((await running.done).code).toBe(143);
  });

  it('watch: a command that does not stop in time is killed', async () => {
    await put('STUBBORN', 'one', 'production');
    const script =
      'process.on("SIGTERM", () => {}); console.log(`value ${process.env.STUBBORN} of ${process.pid}`); setInterval(() => {}, 1000)';
    const running = machine.spawn([
      'run',
      '--watch',
      '--stop-timeout',
      '1s',
      '--only',
      'STUBBORN',
      ...node(script),
    ]);
    await until(() => running.said().includes('value one'));
    await put('STUBBORN', 'two', 'production');
    await until(() => running.said().includes('value two'));
    const [, pid] = /value two of (\d+)/.exec(running.said()) ?? [];
    process.kill(Number(pid), 'SIGKILL');
    expect((await running.done).code).toBe(137);
  });
});

describe('watch: during a restart', () => {
  /** A watched child that says that it was asked to stop, and does not stop by itself. */
  const stopping = async (name: string) => {
    await put(name, 'one');
    const script = `process.on("SIGTERM", () => console.log("asked")); console.log("value " + process.env.${name}); setInterval(() => {}, 1000)`;
    const running = machine.spawn([
      'run',
      '--watch',
      '--stop-timeout',
      '1s',
      '--only',
      name,
      ...node(script),
    ]);
    await until(() => running.said().includes('value one'));
    await put(name, 'two');
    await until(() => running.said().includes('asked'));
    return running;
  };

  it('watch: a value that changes while the command is being stopped is not missed', async () => {
    const running = await stopping('TWICE');
    await put('TWICE', 'three');
    await until(() => running.said().includes('value three'));
    const [child] = fs
      .readFileSync(`/proc/${running.pid}/task/${running.pid}/children`, 'utf8')
      .trim()
      .split(' ');
    process.kill(Number(child), 'SIGKILL');
    expect((await running.done).code).toBe(137);
  });

  it('watch: a command that ends while values are read is not started again', async () => {
    await put('GONE', 'one');
    const script = 'console.log(`value ${process.env.GONE}`); setInterval(() => {}, 1000)';
    proxy.seen.length = 0;
    const running = machine.spawn(['run', '--watch', '--only', 'GONE', ...node(script)]);
    await until(() => running.said().includes('value one') && proxy.count('GET', '/events/stream') > 0);
    const reads = () => proxy.count('GET', '/values');
    proxy.fail({ delay: 2_000, when: ({ url }) => Boolean(url?.includes('/values')), times: 3 });
    const before = reads();
    await put('GONE', 'two');
    await until(() => reads() > before);
    running.kill('SIGTERM');
    expect((await running.done).code).toBe(143);
    expect(running.said()).not.toContain('value two');
    proxy.reset();
  });

  it('watch: a signal that arrives while the command is being stopped ends svc', async () => {
    const running = await stopping('ENDED');
    running.kill('SIGTERM');
    expect((await running.done).code).toBe(143);
    expect(running.said()).not.toContain('value two');
  });
});

describe('watch: the vault refuses', () => {
  const script = 'console.log(`value ${process.env.DATABASE_URL}`); setInterval(() => {}, 1000)';
  /** A watched child with its own agent credential, once its stream is open. */
  const watched = async (...argv: string[]) => {
    const { id, token } = await call(at.url, at.key, 'POST', `/orgs/${at.org}/agent-credentials`, {
      name: 'w',
      scopes: ['secrets:read'],
    });
    proxy.seen.length = 0;
    const running = machine.spawn(['run', '--watch', '--only', 'DATABASE_URL', ...argv, ...node(script)], {
      env: { SVC_TOKEN: token },
    });
    await until(() => running.said().includes(`value ${VALUE}`) && proxy.count('GET', '/events/stream') > 0);
    const stopped = async () => {
      expect(running.exitCode).toBe(null);
      running.kill('SIGTERM');
      return running.done;
    };
    const revoke = () => call(at.url, at.key, 'DELETE', `/orgs/${at.org}/agent-credentials/${id}`);
    return { running, stopped, revoke };
  };

  it('watch: a revoked credential causes one warning with the next step; the command keeps running, and its fallback copy is deleted', async () => {
    const file = path.join(machine.work, 'watched.fallback');
    const { running, stopped, revoke } = await watched('--fallback', file);
    expect(fs.existsSync(file)).toBe(true);
    await revoke();
    await until(() => running.complained().includes('no longer watched'));
    expect(fs.existsSync(file)).toBe(false);
    const { code, stderr } = await stopped();
    expect(code).toBe(143);
    expect(stderr.match(/no longer watched/g)).toHaveLength(1);
    expect(stderr).toMatch(/next: Set SVC_TOKEN to a valid credential, then restart the command/);
  });

  it('watch: a failed connection causes no warning, and the stream is opened again', async () => {
    const { running, stopped } = await watched();
    proxy.down(true);
    await new Promise((done) => setTimeout(done, 1_000));
    proxy.reset();
    await until(() => proxy.count('GET', '/events/stream') > 0);
    await put('DATABASE_URL', `${VALUE}2`);
    await until(() => running.said().includes(`${VALUE}2`));
    await put('DATABASE_URL', VALUE);
    const { stderr } = await stopped();
    expect(stderr).not.toContain('no longer watched');
  });
});

describe('fallback', () => {
  const file = () => path.join(machine.work, 'copy.fallback');
  const run = (...argv: string[]) =>
    machine.spawn([
      'run',
      '--fallback',
      file(),
      ...argv,
      ...node('process.stdout.write(process.env.DATABASE_URL)'),
    ]).done;
  const away = async <Result>(body: () => Promise<Result>) => {
    proxy.down(true);
    try {
      return await body();
    } finally {
      proxy.down(false);
    }
  };

  it('fallback: the copy is used while the vault is unreachable, is encrypted, and its key is stored elsewhere', async () => {
    expect(await run()).toMatchObject({ code: 0, stdout: VALUE });
    expect(fs.readFileSync(file(), 'utf8')).not.toContain('correct-horse');
    expect(fs.statSync(file()).mode & 0o777).toBe(0o600);
    expect(fs.statSync(path.join(machine.config, 'fallback.key')).mode & 0o777).toBe(0o600);
    const ran = await away(() => run());
    expect(ran).toMatchObject({ code: 0, stdout: VALUE });
    expect(ran.stderr).toContain('cannot be reached');
  });

  it('fallback: the copy is not used for another environment, prefix or credential, or past its maximum age', async () => {
    const { token } = await call(at.url, at.key, 'POST', `/orgs/${at.org}/agent-credentials`, {
      name: 'a',
      scopes: ['secrets:read'],
    });
    expect((await run()).code).toBe(0);
    await away(async () => {
      const other = machine.spawn(['run', '--fallback', file(), ...node('')], { env: { SVC_TOKEN: token } });
      const refused = await Promise.all([run('--env', 'staging'), run('--prefix', 'DATA'), other.done]);
      expect(refused.map(({ code }) => code)).toEqual([7, 7, 7]);
      // The copy is older than a second by now.
      await until(() => Date.now() - fs.statSync(file()).mtimeMs > 1_100);
      const [tooOld, used] = await Promise.all([run('--fallback-max-age', '1s'), run()]);
      expect([tooOld.code, used.code]).toEqual([7, 0]);
    });
  });

  it('fallback: the copy is not used if the vault responds, even with a 404', async () => {
    expect((await run()).code).toBe(0);
    const body = { error: { code: 'NOT_FOUND', message: 'There is none.', docs: 'https://x' } };
    proxy.fail({ kind: 'refuse', status: 404, body, when: ({ url = '' }) => url.includes('/values') });
    expect(await run()).toMatchObject({ code: 5, stdout: '' });
  });

  it('fallback: a secret serves no longer than until it expires', async () => {
    const own = path.join(machine.work, 'expiring.fallback');
    const SHORT_LIVED = 'SHORT_LIVED';
    const script = `process.stdout.write(String(process.env.${SHORT_LIVED}))`;
    const later = '--import=data:text/javascript,const%20now=Date.now;Date.now=()=>now()+61e3';
    const started = (env = {}) =>
      machine.spawn(['run', '--fallback', own, '--only', SHORT_LIVED, ...node(script)], { env }).done;
    const way = `/orgs/${at.org}/secrets/by-name/${SHORT_LIVED}?environment=production`;
    await call(at.url, at.key, 'PUT', way, { value: 'short-lived', ttlSeconds: 60 });
    expect((await started()).stdout).toBe('short-lived');
    await away(async () => {
      expect((await started()).stdout).toBe('short-lived');
      const ran = await started({ NODE_OPTIONS: later });
      expect(ran).toMatchObject({ code: 5, stdout: '' });
      expect(ran.stderr).toContain(`${SHORT_LIVED} is left out: it has expired.`);
    });
  });

  it('fallback: a path beside the key is refused', async () => {
    const link = path.join(machine.work, 'linked');
    fs.mkdirSync(machine.config, { recursive: true, mode: 0o700 });
    fs.symlinkSync(machine.config, link);
    for (const beside of [machine.config, path.join(machine.config, 'new', 'sub'), path.join(link, 'new')]) {
      const ran = await machine.svc(['run', '--fallback', path.join(beside, 'copy'), '--', 'true']);
      expect(ran.code, beside).toBe(2);
    }
    fs.rmSync(link);
  });

  it('fallback: a copy of more values than fit in a mebibyte is used too', async () => {
    for (let n = 0; n < 20; n++) await put(`large/V${n}`, String(n).padStart(60_000, 'x'), 'staging');
    const argv = [
      'run',
      '--env',
      'staging',
      '--prefix',
      'large/',
      '--only',
      'V7',
      '--fallback',
      'large.copy',
    ];
    const script = node('process.stdout.write(process.env.V7.replaceAll("x", ""))');
    expect(await machine.spawn([...argv, ...script]).done).toMatchObject({ code: 0, stdout: '7' });
    expect(await away(() => machine.spawn([...argv, ...script]).done)).toMatchObject({
      code: 0,
      stdout: '7',
    });
  });

  it('fallback: a file that is no copy is neither replaced nor deleted', async () => {
    for (const text of ['A=1', '{"version":1}', '[]', '']) {
      const other = machine.write('other.env', text);
      expect(await machine.svc(['run', '--fallback', other, '--', 'true'])).toMatchObject({
        code: 2,
        stderr: expect.stringContaining('is no fallback copy'),
      });
      expect(fs.readFileSync(other, 'utf8')).toBe(text);
    }
  });

  it('fallback: a refusal deletes the copy, so that a revoked credential cannot use it later', async () => {
    const { id, token } = await call(at.url, at.key, 'POST', `/orgs/${at.org}/agent-credentials`, {
      name: 'b',
      scopes: ['secrets:read'],
    });
    const mine = (...argv: string[]) =>
      machine.spawn(['run', '--fallback', file(), ...argv, ...node('process.stdout.write("ran")')], {
        env: { SVC_TOKEN: token },
      }).done;
    expect((await mine()).stdout).toBe('ran');
    await call(at.url, at.key, 'DELETE', `/orgs/${at.org}/agent-credentials/${id}`);
    const ran = await mine();
    expect(ran).toMatchObject({ code: 3, stdout: '' });
    expect(fs.existsSync(file())).toBe(false);
    expect((await away(() => mine())).code).toBe(7);
  });
});
