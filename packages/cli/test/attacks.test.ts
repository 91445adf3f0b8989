// Attacks through names, files, settings and arguments.
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import http from 'node:http';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Host } from '../src/host.ts';
import { writeProfile } from '../src/settings/config.ts';
import { Machine, signedIn } from './harness.ts';
import { answerOf, type Hostile, startHostile } from './hostile.ts';
import { tokensOfService } from './tokens.ts';

const VALUE = 'correct-horse-battery';
let at: Awaited<ReturnType<typeof signedIn>>;
let machine: Machine;
let hostile: Hostile;
let hostileUrl: string;
let stolen: string[];
let answers: Record<string, string>;

beforeAll(async () => {
  at = await signedIn();
  machine = at.machine;
  hostile = await startHostile();
  ({ url: hostileUrl, stolen, answers } = hostile);
});
afterAll(() => hostile.close());

const project = (settings: object | string) =>
  machine.write('.svc.json', typeof settings === 'string' ? settings : JSON.stringify(settings));
const withoutProject = () =>
  fs.rmSync(path.join(machine.work, '.svc.json'), { recursive: true, force: true });

describe('value in an argument', () => {
  it.each([
    ['set', 'NAME', VALUE],
    ['set', `NAME=${VALUE}`],
    ['set', 'NAME', `--value=${VALUE}`],
    ['set', 'NAME', '--value', VALUE],
    ['rotate', 'NAME', VALUE],
    ['login', '--key', VALUE],
    ['login', `--key=${VALUE}`],
    ['share', 'NAME', `--passphrase=${VALUE}`],
    ['share', 'NAME', '--passphrase', VALUE],
    [VALUE],
  ])('value in argv: svc %s %s %s is refused, and the error does not repeat it', async (...argv) => {
    for (const more of [[], ['--json']]) {
      const ran = await machine.svc([...argv, ...more], { stdin: 'from stdin' });
      expect(ran.code).toBe(2);
      expect(ran.stdout + ran.stderr).not.toContain(VALUE);
      if (argv.length > 1 && !argv.some((arg) => arg.startsWith('--')))
        expect(ran.stderr).toContain('not accepted on the command line');
    }
  });

  it('token in argv: a vault token is refused in every position, and nothing is sent', async () => {
    const before = stolen.length;
    for (const token of [at.key, ...tokensOfService()])
      for (const argv of [
        ['login', token],
        ['get', 'X', '--url', hostileUrl, '--reason', token],
        ['list', '--prefix', `x${token}`],
      ]) {
        const ran = await machine.svc(argv);
        expect(ran.code).toBe(2);
        expect(ran.stderr).toContain('An argument contains a token');
        expect(ran.stderr).not.toContain(token);
      }
    expect(stolen).toHaveLength(before);
  });
});

describe('malformed token', () => {
  it.each([
    ['an API key', 'svc_live_secretpart\nmore'],
    ['an agent credential', 'svcag_secretpart\r\nX: y'],
  ])('redaction: an error about %s with a line break does not quote it', async (_, token) => {
    for (const argv of [['whoami'], ['get', 'X'], ['run', '--', 'true'], ['doctor']]) {
      const ran = await new Machine({ SVC_URL: at.url, SVC_TOKEN: token }).svc(argv);
      expect(ran.code).not.toBe(0);
      expect(ran.stderr + ran.stdout).not.toContain('secretpart');
    }
  });
});

describe('hostile .svc.json', () => {
  it('credential: a credential stored for one vault is not sent to another address', async () => {
    project({ url: hostileUrl, org: at.org, environment: 'production' });
    const before = stolen.length;
    for (const argv of [['get', 'X'], ['list'], ['whoami'], ['run', '--', 'true'], ['login'], ['logout']])
      expect([2, 3]).toContain((await machine.svc(argv)).code);
    expect((await machine.svc(['set', 'X'], { stdin: VALUE })).code).toBe(3);
    for (const argv of [['whoami'], ['get', 'X']]) {
      expect((await machine.svc(argv, { env: { SVC_TOKEN: at.key } })).code).toBe(2);
      expect(
        (
          await machine.svc(argv, {
            env: { SVC_TRUST_ID: 'trs_0HrZKtC4bqXw2vJm8yNd1L', SVC_ID_TOKEN: VALUE },
          })
        ).code,
      ).toBe(2);
    }
    // Being signed in there with another profile changes nothing.
    await machine.svc(['login', '--url', hostileUrl, '--key-stdin', '--profile', 'other'], {
      stdin: `svcag_${'0'.repeat(40)}`,
    });
    const signedIn = stolen.length;
    for (const env of [
      { SVC_TOKEN: at.key },
      { SVC_TRUST_ID: 'trs_0HrZKtC4bqXw2vJm8yNd1L', SVC_ID_TOKEN: VALUE },
    ])
      expect((await machine.svc(['whoami'], { env })).code).toBe(2);
    expect(stolen).toHaveLength(signedIn);
    expect(stolen.slice(before).join()).not.toContain(at.key);
    await machine.svc(['logout', '--profile', 'other', '--url', hostileUrl]);
    withoutProject();
  });

  it('credential: a profile that .svc.json chooses decides no address for SVC_TOKEN', async () => {
    writeProfile(machine.config, 'other', { url: hostileUrl, org: at.org });
    const before = stolen.length;
    for (const settings of [{ profile: 'other' }, { profile: 'other', url: hostileUrl }]) {
      project({ ...settings, org: at.org, environment: 'production' });
      expect(await machine.svc(['get', 'X'], { env: { SVC_TOKEN: at.key } })).toMatchObject({
        code: 2,
        stderr: expect.stringContaining('is not sent to'),
      });
    }
    expect(stolen).toHaveLength(before);
    writeProfile(machine.config, 'other', undefined);
    withoutProject();
  });

  it('credential: a file stored for one address is not read for another', async () => {
    answers['/api/v1/whoami'] = JSON.stringify(answerOf('WhoAmI', 'x', { org_id: at.org }));
    const dir = path.join(machine.config, 'credentials');
    const [name = ''] = fs.readdirSync(dir);
    await machine.svc(['login', '--url', hostileUrl, '--key-stdin', '--profile', 'hostile'], {
      stdin: 'svcag_0123456789012345678901234567890123456789',
    });
    const other = fs.readdirSync(dir).find((each) => each.startsWith('hostile')) ?? '';
    const copied = fs
      .readFileSync(path.join(dir, name), 'utf8')
      .replace('"profile":"default"', '"profile":"hostile"');
    fs.writeFileSync(path.join(dir, other), copied, { mode: 0o600 });
    const before = stolen.length;
    expect((await machine.svc(['whoami', '--url', hostileUrl, '--profile', 'hostile'])).code).toBe(3);
    expect(stolen.slice(before).join()).not.toContain(at.key);
    await machine.svc(['logout', '--profile', 'hostile', '--url', hostileUrl]);
    delete answers['/api/v1/whoami'];
  });

  it.each([
    ['a credential in it', { token: 'svc_live_x' }],
    ['plain http', { url: 'http://vault.example.com' }],
    ['credentials in the address', { url: 'https://user:pass@vault.example.com' }],
    ['a path', { url: 'https://vault.example.com/api' }],
    ['another scheme', { url: 'file:///etc/passwd' }],
    ['a name that is a path', { environment: '../production' }],
    ['escape sequences', { environment: '\u001b[31mproduction' }],
    ['no JSON', '{'],
    ['no object', '[]'],
    ['a number', { org: 1 }],
    ['__proto__', '{"__proto__": {"url": "https://evil.example.com"}}'],
  ])('configuration: %s is refused', async (_, settings) => {
    project(settings);
    const ran = await machine.svc(['whoami']);
    expect(ran.code).toBe(2);
    expect(ran.stderr).not.toContain('\u001b');
    withoutProject();
  });

  it.skipIf(process.getuid?.() !== 0)(
    'configuration: a file of another user in a parent directory is refused',
    async () => {
      const file = path.join(machine.dir, '.svc.json');
      fs.writeFileSync(file, JSON.stringify({ environment: 'production' }));
      expect((await machine.svc(['whoami'])).code).toBe(0);
      fs.chownSync(file, 12_345, 12_345);
      const ran = await machine.svc(['whoami']);
      expect(ran).toMatchObject({ code: 2 });
      expect(ran.stderr).toContain('belongs to another user');
      fs.rmSync(file);
    },
  );

  it('configuration: a path that is not a regular file does not hang svc', async () => {
    fs.mkdirSync(path.join(machine.work, '.svc.json'));
    expect((await machine.svc(['whoami'])).code).toBe(2);
    withoutProject();
    const { execFileSync } = await import('node:child_process');
    execFileSync('mkfifo', [path.join(machine.work, '.svc.json')]);
    expect((await machine.svc(['whoami'])).code).toBe(2);
    withoutProject();
  });
});

describe('files of svc', () => {
  const credential = () =>
    path.join(
      machine.config,
      'credentials',
      fs.readdirSync(path.join(machine.config, 'credentials'))[0] ?? '',
    );

  it('credential store: a file that other users can read, or a link, is refused', async () => {
    fs.chmodSync(credential(), 0o644);
    const readable = await machine.svc(['whoami']);
    expect(readable).toMatchObject({ code: 2 });
    expect(readable.stderr).toContain('chmod 600');
    fs.chmodSync(credential(), 0o600);
    const moved = path.join(machine.dir, 'moved.json');
    const file = credential();
    fs.renameSync(file, moved);
    fs.symlinkSync(moved, file);
    expect((await machine.svc(['whoami'])).code).toBe(2);
    fs.rmSync(file);
    fs.renameSync(moved, file);
    expect((await machine.svc(['whoami'])).code).toBe(0);
  });

  it('credential store: writing replaces a link instead of following it', async () => {
    const target = path.join(machine.dir, 'target.txt');
    fs.writeFileSync(target, 'mine');
    const link = path.join(machine.work, 'out.env');
    fs.symlinkSync(target, link);
    await machine.svc(['set', 'EXPORTED'], { stdin: VALUE });
    expect((await machine.svc(['export', '--output', 'out.env', '--force'])).code).toBe(0);
    expect(fs.readFileSync(target, 'utf8')).toBe('mine');
    expect(fs.lstatSync(link).isFile()).toBe(true);
  });

  it('files: svc init and svc scan write through no link of a repository', async () => {
    const target = path.join(machine.dir, 'bashrc');
    fs.writeFileSync(target, 'mine');
    machine.write('clean.txt', 'clean');
    for (const [name, ...argv] of [
      ['.svc.json', 'init', '--env', 'staging', '--force'],
      ['base.json', 'scan', 'clean.txt', '--write-baseline', 'base.json'],
    ] as [string, ...string[]][]) {
      const link = path.join(machine.work, name);
      fs.symlinkSync(target, link);
      const { code, stderr } = await machine.svc(argv);
      fs.rmSync(link);
      expect([code, stderr]).toEqual([2, expect.stringContaining(`${name} is a symbolic link`)]);
    }
    expect(fs.readFileSync(target, 'utf8')).toBe('mine');
  });

  it('files: no pipe of a repository makes svc wait, and no device is read', async () => {
    machine.write('clean.txt', 'clean');
    const pipe = (at: string) => execFileSync('mkfifo', [at]);
    const device = (at: string) => fs.symlinkSync('/dev/zero', at);
    for (const [name, make, ...argv] of [
      ['.svc.json', pipe, 'init', '--env', 'staging', '--force'],
      ['base.json', pipe, 'scan', 'clean.txt', '--write-baseline', 'base.json'],
      ['base.json', pipe, 'scan', 'clean.txt', '--baseline', 'base.json'],
      ['base.json', device, 'scan', 'clean.txt', '--baseline', 'base.json'],
      ['.svcscanignore', pipe, 'scan', 'clean.txt'],
      ['.svcscanignore', device, 'scan', 'clean.txt'],
    ] as [string, (at: string) => void, ...string[]][]) {
      const at = path.join(machine.work, name);
      make(at);
      // A process of its own: one that waits for a pipe does nothing else.
      const running = machine.spawn(argv);
      const late = setTimeout(() => running.kill('SIGKILL'), 20_000);
      const { code, stderr } = await running.done;
      clearTimeout(late);
      fs.rmSync(at);
      expect([code, stderr], argv.join(' ')).toEqual([
        2,
        expect.stringContaining(`${name} is not a regular file`),
      ]);
    }
  });

  it('export: a file, a link to nothing or a directory is not replaced, and no value is read for it', async () => {
    machine.write('taken.env', 'mine');
    fs.symlinkSync('nowhere', path.join(machine.work, 'dangling.env'));
    fs.mkdirSync(path.join(machine.work, 'directory.env'));
    const sent: string[] = [];
    const host: Partial<Host> = {
      async fetch(input) {
        sent.push(String(input));
        return Response.error();
      },
    };
    for (const [name, code, ...more] of [
      ['taken.env', 6],
      ['dangling.env', 6],
      ['directory.env', 2],
      ['directory.env', 2, '--force'],
    ] as [string, number, ...string[]][])
      expect((await machine.svc(['export', '--output', name, ...more], { host })).code, name).toBe(code);
    expect([sent, fs.readdirSync(machine.work).filter((name) => name.startsWith('.directory'))]).toEqual([
      [],
      [],
    ]);
  });

  it('profile: a path is not accepted as a name', async () => {
    for (const name of ['../x', 'a/b', '.', 'A B', '__proto__'])
      expect((await machine.svc(['whoami', '--profile', name])).code).toBe(2);
  });
});

describe('terminal', () => {
  const DIM = new RegExp(`${String.fromCharCode(27)}\\[2?2m`, 'g');
  /** Whether a terminal would interpret the text. */
  const actsOn = (text: string) => /[^\P{Cc}\n\t]|\p{Cf}/u.test(text);
  const ESCAPES = '\u001b[2J\u001b]0;owned\u0007\u009b31m\u202e\r\nfake line';

  it('escape sequences: descriptions, user agents, reasons and key names are escaped', async () => {
    const api = (method: string, where: string, body: object, headers = {}) =>
      fetch(`${at.url}/api/v1/orgs/${at.org}${where}`, {
        method,
        headers: { Authorization: `Bearer ${at.key}`, 'Content-Type': 'application/json', ...headers },
        body: JSON.stringify(body),
      });
    await api(
      'PUT',
      '/secrets/by-name/ESCAPED',
      { value: ESCAPES, description: 'x' },
      { 'User-Agent': '\u001b[31mred'.replace('\u001b', '\u009b') },
    );
    answers['/api/v1/whoami'] = JSON.stringify(
      answerOf('WhoAmI', ESCAPES, { default_environment: 'production' }),
    );
    answers[`/api/v1/orgs/${at.org}/secrets?environment=production&sort=name&limit=100`] = JSON.stringify(
      answerOf('SecretPage', ESCAPES),
    );
    answers[`/api/v1/orgs/${at.org}/audit-log?limit=50`] = JSON.stringify(answerOf('AuditPage', ESCAPES));
    const env = { SVC_TOKEN: 'svcag_x', SVC_URL: hostileUrl, SVC_ORG_ID: at.org };
    for (const argv of [['list'], ['audit']])
      for (const terminal of [true, false])
        for (const more of [[], ['--json']]) {
          const { stdout, stderr, code } = await new Machine(env).svc([...argv, ...more], { terminal });
          expect(code, stderr).toBe(0);
          expect(stdout).toContain('owned');
          expect(actsOn(stdout.replaceAll(DIM, ''))).toBe(false);
        }
  });

  it('escape sequences: a terminal gets a value with visible escapes, a pipe gets the exact value', async () => {
    await machine.svc(['set', 'ESCAPED', '--raw'], { stdin: ESCAPES });
    const shown = await machine.svc(['get', 'ESCAPED'], { terminal: true });
    expect(shown.stdout).not.toContain('\u001b');
    expect(shown.stderr).toContain('Control characters');
    expect((await machine.svc(['get', 'ESCAPED'])).stdout).toBe(ESCAPES);
  });

  it('escape sequences: errors of the vault are escaped', async () => {
    const server = http.createServer((_, response) => {
      response.writeHead(403, { 'Content-Type': 'application/json', 'Request-Id': 'req_1' });
      response.end(
        JSON.stringify({
          error: {
            code: ESCAPES,
            message: ESCAPES,
            docs: ESCAPES,
            details: [{ path: ESCAPES, message: ESCAPES }],
          },
        }),
      );
    });
    await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
    const env = {
      SVC_TOKEN: 'svcag_x',
      SVC_URL: `http://127.0.0.1:${(server.address() as { port: number }).port}`,
      SVC_ORG_ID: at.org,
    };
    for (const more of [[], ['--json']]) {
      const { code, stderr } = await new Machine(env).svc(['list', ...more]);
      expect(code).toBe(4);
      expect(actsOn(stderr)).toBe(false);
      expect(stderr).not.toMatch(/^fake line/m);
    }
    server.close();
  });

  it('escape sequences: what a vault says adds no line to a sentence', async () => {
    answers[`/api/v1/orgs/${at.org}/secrets/by-name/NEW?environment=production`] = JSON.stringify(
      answerOf('Secret', ESCAPES),
    );
    answers['/api/v1/whoami'] = JSON.stringify(answerOf('WhoAmI', ESCAPES, { org_id: at.org }));
    const env = { SVC_TOKEN: 'svcag_x', SVC_URL: hostileUrl, SVC_ORG_ID: at.org };
    for (const argv of [
      ['set', 'NEW', '--env', 'production', '--yes'],
      ['doctor', '--env', 'production'],
      ['team', 'rename', 'team_1', 'x'],
    ]) {
      const { stdout, stderr } = await new Machine(env).svc(argv, { stdin: 'value' });
      expect(actsOn(stdout + stderr)).toBe(false);
      expect(stdout + stderr).not.toMatch(/^fake line/m);
    }
    hostile.handler = (_, response) => {
      response.writeHead(201, { 'Content-Type': 'application/json' });
      response.end(JSON.stringify(answerOf('NewApiKey', ESCAPES)));
    };
    const created = await new Machine(env).svc(['key', 'create', 'x', '--scopes', 'secrets:read']);
    expect(created.code, created.stderr).toBe(0);
    expect(created.stdout).not.toMatch(/^fake line/m);
    hostile.handler = undefined;
  });

  it.each([
    'null',
    '5',
    '{"error":{"code":5,"message":{},"docs":1,"retry_after":"x"}}',
    '{"error":null}',
    '{}',
  ])('login: an address that answers %s is named as no vault', async (answer) => {
    answers['/api/v1/auth/device'] = answer;
    const { code, stderr } = await new Machine().svc(['login', '--url', hostileUrl]);
    expect([code, stderr]).toEqual([
      1,
      expect.stringMatching(/may not be a vault|page of another address|is the address of a vault/),
    ]);
  });

  it('colour: none if stdout is not a terminal, if NO_COLOR is set, or with --json', async () => {
    expect((await machine.svc(['list'], { terminal: true })).stdout).toContain('\u001b[2m');
    expect((await machine.svc(['list'])).stdout).not.toContain('\u001b');
    expect((await machine.svc(['list'], { terminal: true, env: { NO_COLOR: '1' } })).stdout).not.toContain(
      '\u001b',
    );
    expect((await machine.svc(['list', '--json'], { terminal: true })).stdout).not.toContain('\u001b');
  });
});

describe('connection', () => {
  it('redirect: not followed, with or without a credential', async () => {
    const before = stolen.length;
    const server = http.createServer((request, response) => {
      response.writeHead(307, { Location: `${hostileUrl}${request.url}` });
      response.end();
    });
    await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
    const url = `http://127.0.0.1:${(server.address() as { port: number }).port}`;
    for (const argv of [
      ['login', '--url', url, '--key-stdin'],
      ['login', '--url', url],
    ])
      expect((await new Machine().svc(argv, { stdin: at.key })).code).toBe(7);
    expect(
      (await new Machine({ SVC_URL: url, SVC_TOKEN: at.key, SVC_ORG_ID: at.org }).svc(['list'])).code,
    ).not.toBe(0);
    expect(stolen).toHaveLength(before);
    server.close();
  });

  it('plain http: a token is sent over http only to this machine', async () => {
    for (const url of [
      'http://vault.example.com',
      'http://127.0.0.1.example.com',
      'http://localhost.example.com',
      'ftp://x',
      'vault.example.com',
      'https://a:b@x.com',
    ])
      expect((await machine.svc(['whoami', '--url', url], { env: { SVC_TOKEN: at.key } })).code).toBe(2);
  });
});
