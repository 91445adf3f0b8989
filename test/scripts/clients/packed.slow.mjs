// The packages as they would be published, used by somebody who has nothing but the two tarballs: installed
// in an empty home, against a service in a copy of the project. By itself: npm run test:packed
// biome-ignore-all lint/suspicious/noTemplateCurlyInString: sources of programs.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { startProxy } from '../../packages/proxy.mjs';
import { copyOfProject, freePort, project, startService } from '../service.mjs';
import {
  ciPlatform,
  holdsNone,
  Machine,
  packed,
  personInBrowser,
  scratch,
  targetPlatform,
  until,
} from './newcomer.mjs';

const tarballs = scratch('tarballs');
const copy = copyOfProject();
const port = await freePort();
const url = `http://localhost:${port}`;
const person = await personInBrowser();
if (!person)
  process.stderr.write(
    '\nNo Chromium was found, so nobody signed in by a browser: install it, or set CHROMIUM to its path.\n\n',
  );
const ci = await ciPlatform();
const target = await targetPlatform();
const variables = {
  PORT: String(port),
  PUBLIC_URL: url,
  ALLOW_PRIVATE_TARGETS: 'true',
  NODE_EXTRA_CA_CERTS: ci.certificate,
  PLATFORM_BASE_URLS: JSON.stringify({ heroku: target.url }),
};
const service = await startService(copy, variables);
/** The machine of the owner. */
const me = new Machine();
/** @type {{ file: string, files: string[] }} */
let cli;
/** @type {{ file: string, files: string[] }} */
let client;
/** @type {string} */
let org;
const FOUNDED = ['org', 'create', 'Acme', '--email', 'ann@example.com', '--name', 'Ann'];
const VALUE = 'postgres://app:s3cret@db.example.com/app';
/** A program that shows its variable, then waits. */
const SHOW = 'console.log(`is ${process.env.DATABASE_URL}`); setInterval(() => {}, 1000);';

/** How many versions a secret has. @param {string} name */
const versions = async (name) => (await me.json(['history', name, '--env', 'production'])).data.length;

/** A key that may do something, as a variable of svc. @param {string} scopes */
async function keyFor(scopes) {
  const { id, token } = await me.json([
    'key',
    'create',
    `for ${scopes}`,
    '--scopes',
    scopes,
    '--environments',
    'production',
  ]);
  return { id, env: { SVC_TOKEN: token, SVC_ORG_ID: org, SVC_ENVIRONMENT: 'production' } };
}

/**
 * Rotates a secret by the API, and measures how long a program takes to show the new value. The moment at
 * which it shows is taken as its output arrives, which may be before the answer to the request does: the
 * vault tells of a change as soon as it is stored.
 * @param {ReturnType<Machine['start']>} child @param {string} token @param {string} value
 */
async function rotation(child, token, value) {
  const secret = `/orgs/${org}/secrets`;
  const { id } = (await service.call('GET', `${secret}/by-name/DATABASE_URL?environment=production`, token))
    .json;
  const shown = new Promise((done) => {
    const heard = () => {
      if (!child.said.stdout.includes(`is ${value}\n`)) return;
      child.stdout.off('data', heard);
      done(performance.now());
    };
    child.stdout.on('data', heard);
  });
  const sent = performance.now();
  const { status } = await service.call('POST', `${secret}/${id}/rotate`, token, { value });
  const answered = performance.now();
  assert.equal(status, 200);
  return { answered: Math.round(answered - sent), shown: Math.round((await shown) - sent) };
}

/** What a rotation took, for people. @param {{ answered: number, shown: number }} took */
const described = ({ answered, shown }) => `${shown} ms (the request itself ${answered} ms)`;

before(() => {
  cli = packed('@secrets-vault/cli', tarballs);
  client = packed('@secrets-vault/client', tarballs);
});

describe('packages', { concurrency: 1, timeout: 240_000 }, () => {
  it('package: npx and a global install run svc in an empty home', async () => {
    const { version } = JSON.parse(fs.readFileSync(path.join(project, 'packages/cli/package.json'), 'utf8'));
    const once = await new Machine().run('npx', ['--yes', '--package', cli.file, 'svc', '--version']);
    assert.deepEqual([once.code, once.stdout.trim()], [0, version], once.stderr);
    const installed = await me.install(cli.file);
    assert.equal(installed.code, 0, installed.stderr);
    assert.equal((await me.ok(['--version'])).trim(), version);
    for (const { files } of [cli, client])
      assert.deepEqual(
        files.filter((file) => /^(src|test)\/|\.map$|\.env/.test(file)),
        [],
      );
  });

  it('sign-in: the organisation is created, and its owner signs in by a browser', {
    skip: person ? false : 'there is no Chromium',
  }, async () => {
    const made = await me.svc([...FOUNDED, '--url', url, '--bootstrap-file', path.join(copy, '.dev.vars')]);
    assert.equal(made.code, 0, made.stderr);
    await person?.enrol(made.stdout.trim());
    const login = me.start('svc', ['login', '--url', url]);
    login.stdin.end();
    await until(() => login.said.stderr.includes('confirm the code'));
    await person?.confirm(login.said.stderr);
    const { code, stderr } = await login.done;
    assert.equal(code, 0, stderr);
    assert.match(stderr, /Signed in to .* as Ann \(member\)/);
    org = (await me.json(['whoami'])).org_id;
  });

  it('sign-in: without a browser, the first key works', {
    skip: person ? 'a browser was there' : false,
  }, async () => {
    await me.ok([...FOUNDED, '--url', url, '--bootstrap-file', path.join(copy, '.dev.vars')]);
    org = (await me.json(['whoami'])).org_id;
  });

  it('command line: import, run, export, share, audit, scan and sync work from the tarball', async () => {
    me.write('.env', `DATABASE_URL="${VALUE}"\nSMTP_PASSWORD='s3cret # kept'\n`);
    me.write(
      'app.js',
      'process.stdout.write(`${process.env.DATABASE_URL}|${process.env.SMTP_PASSWORD}|${process.env.SVC_TOKEN}`)',
    );
    await me.ok(['init', '--env', 'production']);
    assert.deepEqual(Object.keys(JSON.parse(fs.readFileSync(path.join(me.work, '.svc.json'), 'utf8'))), [
      'url',
      'org',
      'environment',
      'secrets',
    ]);
    assert.deepEqual((await me.json(['import', '.env', '--yes'])).created, ['DATABASE_URL', 'SMTP_PASSWORD']);
    fs.rmSync(path.join(me.work, '.env'));
    assert.equal(await me.ok(['run', '--', 'node', 'app.js']), `${VALUE}|s3cret # kept|undefined`);
    assert.equal((await me.svc(['run', '--', 'node', '-e', 'process.exit(7)'])).code, 7);
    assert.match(await me.ok(['export', '--format', 'dotenv']), /^DATABASE_URL=.*s3cret@db/m);
    const shared = await me.ok(['share', 'DATABASE_URL']);
    assert.match(shared, /^http:\/\/localhost:\d+\/s\S+\n$/);
    assert.match(JSON.stringify(await me.json(['audit', '--action', 'secret.share'])), /"success"/);
    me.write('leak.txt', `aws_access_key_id = AKIA${'QWERTYUIOPASDFGH'}\n`);
    const scanned = await me.svc(['scan', 'leak.txt']);
    assert.equal(scanned.code, 9, scanned.stderr);
    assert.ok(!scanned.stdout.includes('QWERTYUIOPASDFGH'));
    const config = JSON.stringify({ token: 'HRKU-0123456789', appName: 'demo' });
    const { id } = await me.json(
      ['sync', 'connect', 'heroku', '--name', 'Demo', '--environments', 'production'],
      config,
    );
    const planned = await me.json(['sync', 'run', id, '--dry-run']);
    assert.deepEqual(
      planned.data.map((/** @type {{ action: string }} */ { action }) => action),
      ['created', 'created'],
    );
    assert.deepEqual(target.asked, ['GET /apps/demo/config-vars']);
    assert.equal((await me.svc(['doctor'])).code, 0);
    holdsNone(me.work, ['s3cret']);
    holdsNone(path.join(me.home, '.config'), ['s3cret']);
  });

  it('watch: a rotation reaches a running process within two seconds', async (t) => {
    const { env } = await keyFor('secrets:read,secrets:rotate');
    const child = me.start('svc', ['run', '--watch', '--', 'node', '-e', SHOW]);
    await until(() => child.said.stdout.includes(`is ${VALUE}`));
    const took = [];
    for (const value of ['two', 'three', 'four']) took.push(await rotation(child, env.SVC_TOKEN, value));
    t.diagnostic(`from the rotation's request to the new process: ${took.map(described).join(', ')}`);
    assert.ok(Math.max(...took.map(({ shown }) => shown)) < 2_000);
    child.kill('SIGTERM');
    assert.equal((await child.done).code, 143);
  });

  it('workload identity: a job reads with the token of its platform, and nothing is stored', async () => {
    const SUB = 'repo:acme/app:ref:refs/heads/main';
    const trust = await me.json([
      ...['trust', 'create', 'deploy job', '--issuer', ci.issuer, '--claim', `sub=${SUB}`],
      ...['--scopes', 'secrets:read', '--environments', 'production'],
    ]);
    const where = { SVC_URL: url, SVC_ORG_ID: org, SVC_TRUST_ID: trust.id, SVC_ENVIRONMENT: 'production' };
    const job = new Machine({ ...ci.job(SUB), ...where });
    assert.equal((await job.install(cli.file)).code, 0);
    const source =
      'process.stdout.write(`${process.env.DATABASE_URL} ${process.env.ACTIONS_ID_TOKEN_REQUEST_TOKEN}`)';
    const ran = await job.svc(['run', '--', 'node', '-e', source]);
    assert.equal(ran.code, 0, ran.stderr);
    assert.match(ran.stdout, /^four /);
    assert.equal(fs.existsSync(path.join(job.home, '.config')), false);
    assert.deepEqual(fs.readdirSync(job.work), []);
    assert.ok(ci.asked() >= 2, 'the vault fetched the keys of the issuer');
    const other = await job.svc(['run', '--', 'node', '-e', '1'], {
      env: ci.job('repo:mallory/app:ref:refs/heads/main'),
    });
    assert.notEqual(other.code, 0);
    assert.equal((await job.svc(['get', 'DATABASE_URL', '--env', 'staging'])).code, 4);

    job.write('package.json', '{"type":"module"}');
    assert.equal((await job.run('npm', ['install', '--no-audit', client.file])).code, 0);
    job.write(
      'job.js',
      `import { createVault } from '@secrets-vault/client';
       const { SVC_URL: url, SVC_ORG_ID: org, SVC_TRUST_ID: trustId } = process.env;
       const vault = createVault({ url, org, credential: { oidc: 'ci', trustId }, environment: 'production' });
       const secret = await vault.get('DATABASE_URL');
       console.log(String(secret), secret.reveal());`,
    );
    const read = await job.run('node', ['job.js']);
    assert.equal(read.stdout, '[redacted] four\n', read.stderr);
  });

  it('agent: the official MCP client lists secrets and runs a command with one, whose output is masked', async () => {
    const { token } = await me.json([
      ...['agent', 'create', 'triage', '--scopes', 'secrets:read,secrets:list'],
      ...['--environments', 'production', '--secrets', 'DATABASE_URL', '--ttl', '1h'],
    ]);
    const env = { ...me.env, SVC_TOKEN: token, SVC_URL: url, SVC_ORG_ID: org };
    const transport = new StdioClientTransport({
      command: path.join(me.bin, 'svc'),
      args: ['mcp', '--env', 'production', '--allow-run'],
      env,
      cwd: me.work,
    });
    const agent = new Client({ name: 'newcomer', version: '1.0.0' });
    await agent.connect(transport);
    const names = (await agent.listTools()).tools.map(({ name }) => name);
    assert.ok(names.includes('run_command') && !names.includes('read_secret'), names.join());
    const listed = JSON.stringify(await agent.callTool({ name: 'list_secrets', arguments: {} }));
    assert.match(listed, /DATABASE_URL/);
    const command = ['node', '-p', '`${process.env.GIVEN.length} ${process.env.GIVEN}`'];
    const ran = JSON.stringify(
      await agent.callTool({
        name: 'run_command',
        arguments: { command, env: { GIVEN: '{{svc:DATABASE_URL}}' } },
      }),
    );
    assert.match(ran, /4 /);
    assert.ok(!(listed + ran).includes('four'), ran);
    await agent.close();
  });
});

describe('packages: a program with the client', { concurrency: 1, timeout: 240_000 }, () => {
  const app = new Machine();
  /** @type {Awaited<ReturnType<typeof startProxy>>} */
  let proxy;
  /** @type {{ id: string, env: Record<string, string> }} */
  let key;
  before(async () => {
    proxy = await startProxy(service.base);
    key = await keyFor('secrets:read,events:read');
    app.write('package.json', '{"type":"module"}');
    assert.equal((await app.run('npm', ['install', '--no-audit', client.file])).code, 0);
  });

  after(() => proxy.close());

  it('types: a strict program compiles against the tarball, its dependencies too', async () => {
    app.write(
      'app.ts',
      `import { createVault, type Change, PermissionError, type Secret, VaultError } from '@secrets-vault/client';
       const vault = createVault({ url: 'https://vault.example.com', org: 'org_1', credential: 'svc_live_x' });
       const secret: Secret = await vault.get('A');
       const text: string = secret.reveal();
       const stop: () => void = vault.onChange((change: Change) => console.log(change.names, text));
       const { data } = await vault.api.GET('/orgs/{org_id}/members', { params: { path: { org_id: vault.org } } });
       const email: string | undefined = data.data[0]?.email;
       // @ts-expect-error: a secret is no text.
       const wrong: string = secret;
       try { stop(); } catch (error) { if (error instanceof PermissionError || error instanceof VaultError) console.log(error.code, email, wrong); }`,
    );
    const options = {
      strict: true,
      skipLibCheck: false,
      noEmit: true,
      module: 'nodenext',
      target: 'es2023',
      lib: ['es2023', 'dom', 'dom.iterable', 'dom.asynciterable'],
    };
    app.write(
      'tsconfig.json',
      JSON.stringify({ compilerOptions: { ...options, types: [] }, files: ['app.ts'] }),
    );
    const compiled = await app.run('node', [
      path.join(project, 'node_modules/typescript/bin/tsc'),
      '-p',
      '.',
    ]);
    assert.equal(compiled.code, 0, compiled.stdout);
  });

  it('cache: a thousand reads are one request, and a rotation is reported and read', async (t) => {
    app.write(
      'reader.js',
      `import { createVault } from '@secrets-vault/client';
       const vault = createVault({ url: process.env.URL, org: process.env.ORG, credential: process.env.KEY, environment: 'production', cache: 'watch' });
       const shown = async () => console.log('is ' + (await vault.get('DATABASE_URL')).reveal());
       vault.onChange(shown);
       await shown();
       await new Promise((done) => setTimeout(done, 1000));
       const from = performance.now();
       for (let n = 0; n < 1000; n++) await vault.get('DATABASE_URL');
       console.log('took ' + (performance.now() - from));
       setInterval(() => {}, 1000);`,
    );
    const reader = app.start('node', ['reader.js'], {
      URL: proxy.url,
      ORG: org,
      KEY: key.env.SVC_TOKEN ?? '',
    });
    await until(() => reader.said.stdout.includes('took'));
    assert.ok(proxy.count('GET', '/by-name/') <= 3, `${proxy.count('GET', '/by-name/')} reads`);
    t.diagnostic(`1,000 reads from the cache: ${/took (\S+)/.exec(reader.said.stdout)?.[1]} ms`);
    const { env } = await keyFor('secrets:read,secrets:rotate');
    t.diagnostic(
      `from the rotation's request to the program: ${described(await rotation(reader, env.SVC_TOKEN, 'five'))}`,
    );
    reader.kill();
  });

  it('faults: lost answers, 429, 503, cut and slow connections do nothing twice', async () => {
    const { env } = await keyFor('secrets:*');
    const writer = { ...env, SVC_URL: proxy.url };
    /** @param {string[]} args @param {string} [stdin] */
    const svc = async (args, stdin) => {
      const ran = await me.svc(args, { stdin, env: writer });
      assert.equal(ran.code, 0, ran.stderr);
    };
    await svc(['set', 'COUNTED'], 'one');
    let expected = 1;
    for (const fault of [
      { kind: 'lose' },
      { kind: 'break' },
      { kind: 'cut' },
      { kind: 'refuse', status: 503 },
      { kind: 'refuse', status: 429, headers: { 'Retry-After': '1' } },
      { delay: 3_000 },
    ]) {
      proxy.reset();
      // Each of a few attempts in a row, for writes alone.
      proxy.fail({ ...fault, times: 2, when: ({ method }) => method === 'POST' });
      await svc(['rotate', 'COUNTED', '--yes'], `value ${expected}`);
      assert.equal(await versions('COUNTED'), ++expected, JSON.stringify(fault));
    }
    proxy.reset();
  });

  it('restart: a vault that restarts leaves the process running, and reports later changes', async () => {
    const child = me.start('svc', ['run', '--watch', '--', 'node', '-e', SHOW]);
    await until(() => child.said.stdout.includes('is five'));
    await service.restart();
    assert.equal(child.said.stdout, 'is five\n', child.said.stderr);
    await me.ok(['rotate', 'DATABASE_URL', '--yes'], 'six');
    await until(() => child.said.stdout.includes('is six'));
    child.kill('SIGTERM');
    await child.done;
  });

  it('fallback: the copy starts the command while the vault is away, and never after a revocation', async () => {
    const env = { ...key.env, SVC_URL: proxy.url };
    const run = () =>
      me.svc(['run', '--fallback', '.svc.fallback', '--', 'node', '-p', 'process.env.DATABASE_URL'], { env });
    const file = path.join(me.work, '.svc.fallback');
    /** Runs it, which has to show the value. */
    const shows = async () => {
      const ran = await run();
      assert.equal(ran.stdout, 'six\n', ran.stderr);
    };
    await shows();
    assert.ok(!fs.readFileSync(file, 'utf8').includes('six'));
    proxy.down(true);
    await shows();
    proxy.reset();
    proxy.fail({ kind: 'refuse', status: 503, times: 99 });
    await shows();
    proxy.reset();
    await me.ok(['key', 'revoke', key.id, '--yes']);
    const refused = await run();
    assert.deepEqual([refused.code, refused.stdout, fs.existsSync(file)], [3, '', false], refused.stderr);
    proxy.down(true);
    assert.deepEqual(await run().then(({ code, stdout }) => [code, stdout]), [7, '']);
  });
});
