// The database provisioner against a real PostgreSQL and the real service: a role logs in with the password
// that the vault holds, and with no other, until it is revoked. Where PostgreSQL is not installed this says
// so, and is skipped.
import assert from 'node:assert/strict';
import { execFile, spawn, spawnSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { env, freePort, sharedService } from '../service.mjs';
import { skipped } from '../slow.mjs';

/** Where a program of PostgreSQL is, or undefined. @param {string} name */
function find(name) {
  const versions = fs.existsSync('/usr/lib/postgresql') ? fs.readdirSync('/usr/lib/postgresql') : [];
  const folders = [
    ...(process.env.PATH ?? '').split(':'),
    ...versions.map((version) => `/usr/lib/postgresql/${version}/bin`),
  ];
  return folders.map((folder) => path.join(folder, name)).find((file) => fs.existsSync(file));
}

const programs = { initdb: find('initdb'), postgres: find('postgres'), psql: find('psql') };
const missing = Object.keys(programs).filter((name) => !programs[name]);
const isRoot = process.getuid?.() === 0;
/** PostgreSQL refuses to run as root. */
const asItself = isRoot ? ['setpriv', '--reuid=postgres', '--regid=postgres', '--init-groups'] : [];
const SUPERUSER = 'superuser-password-0123456789';
const PROVISIONER = 'provisioner-password-0123456789';

/** A PostgreSQL of its own, with all that it is told in its log, and a role that may make roles. */
async function startPostgres() {
  const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'vault-postgres-'));
  const data = path.join(dir, 'data');
  const pwfile = path.join(dir, 'password');
  fs.writeFileSync(pwfile, SUPERUSER);
  if (isRoot) for (const at of [dir, pwfile]) spawnSync('chown', ['postgres', at]);
  const run = (/** @type {string[]} */ [program, ...args]) =>
    spawnSync(program, args, { encoding: 'utf8', cwd: '/tmp' });
  const made = run([
    ...asItself,
    programs.initdb,
    '-D',
    data,
    '-U',
    'postgres',
    '--auth=scram-sha-256',
    `--pwfile=${pwfile}`,
    '-E',
    'UTF8',
    '-N',
  ]);
  assert.equal(made.status, 0, made.stderr);
  const port = await freePort();
  const settings = {
    port,
    listen_addresses: '127.0.0.1',
    unix_socket_directories: dir,
    log_statement: 'all',
    fsync: 'off',
  };
  const command = [
    ...asItself,
    programs.postgres,
    '-D',
    data,
    ...Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]),
  ];
  const server = spawn(command[0], command.slice(1), { cwd: '/tmp', stdio: ['ignore', 'pipe', 'pipe'] });
  let log = '';
  for (const stream of [server.stdout, server.stderr]) stream.on('data', (data) => (log += data));
  const ended = new Promise((done) => server.once('exit', done));
  after(async () => {
    server.kill('SIGINT');
    await ended;
    fs.rmSync(dir, { recursive: true, force: true });
  });
  const variables = { PGHOST: '127.0.0.1', PGPORT: String(port), PGDATABASE: 'postgres' };
  /** @param {string} user @param {string} password @param {string} sql */
  const ask = (user, password, sql) =>
    new Promise((done) => {
      const child = execFile(
        /** @type {string} */ (programs.psql),
        ['--no-psqlrc', '--no-password', '--tuples-only', '--no-align', '--set=ON_ERROR_STOP=1'],
        { env: { ...env, ...variables, PGUSER: user, PGPASSWORD: password } },
        (error, out, said) => done({ status: error ? 1 : 0, out: out.trim(), said }),
      );
      child.stdin?.end(sql);
    });
  for (let waited = 0; (await ask('postgres', SUPERUSER, 'select 1')).status; waited += 100) {
    assert.ok(waited < 30_000, `PostgreSQL did not start: ${log.slice(-500)}`);
    await sleep(100);
  }
  const prepared = await ask(
    'postgres',
    SUPERUSER,
    `create role readers; create role provisioner login createrole in role pg_signal_backend password '${PROVISIONER}'`,
  );
  assert.equal(prepared.status, 0, prepared.said);
  const asSuperuser = async (sql) => (await ask('postgres', SUPERUSER, sql)).out;
  return { variables, ask, asSuperuser, log: () => log };
}

const skip = missing.length ? `PostgreSQL is not installed: no ${missing.join(', ')}` : false;
if (skip) process.stderr.write(`The provisioner is NOT tested. ${skip}.\n`);

it('provider: a database role signs in with the value that only the vault has, from issue until revocation', {
  timeout: 150_000,
  skip: skip || skipped,
}, async () => {
  const [postgres, { dir, ...service }] = await Promise.all([startPostgres(), sharedService()]);
  const bootstrap = service.variable('BOOTSTRAP_TOKEN');
  const founded = (
    await service.call('POST', '/orgs', bootstrap, {
      name: 'Acme',
      owner: { email: 'a@example.com', name: 'A' },
    })
  ).json;
  const key = founded.api_key.token;
  const at = `/orgs/${founded.org.id}`;
  const providerOf = async (scopes) =>
    (
      await service.call('POST', `${at}/provider-tokens`, key, {
        name: 'provisioner',
        scopes,
        secrets: ['postgres/*'],
      })
    ).json.token;
  const provider = await providerOf(['issue', 'rotate', 'revoke']);

  // Every psql that the script runs passes here, so that its command lines are seen.
  const seen = path.join(dir, 'seen');
  fs.mkdirSync(path.join(dir, 'bin'));
  fs.writeFileSync(
    path.join(dir, 'bin', 'psql'),
    `#!/bin/sh\nprintf '%s\\n' "$@" >> '${seen}'\nenv >> '${seen}'\nexec '${programs.psql}' "$@"\n`,
    { mode: 0o755 },
  );
  let said = '';
  const provision = (command, token = provider) =>
    new Promise((done) =>
      execFile(
        'bash',
        ['-c', `node scripts/operate/provision-postgres.mjs ${command}`],
        {
          cwd: dir,
          env: {
            ...env,
            ...postgres.variables,
            PATH: `${path.join(dir, 'bin')}:${path.dirname(process.execPath)}:${env.PATH}`,
            PORT: String(service.port),
            PGUSER: 'provisioner',
            PGPASSWORD: PROVISIONER,
            PROVIDER_TOKEN: token,
          },
        },
        (error, stdout, stderr) => {
          said += stdout + stderr;
          done({ status: error ? 1 : 0, stdout, stderr });
        },
      ),
    );
  const held = async (query = '') =>
    (await service.call('GET', `${at}/secrets/by-name/postgres/app${query}`, key)).json;
  const logsIn = async (password) =>
    (await postgres.ask('app', password, 'select current_user')).out === 'app';
  const passwords = [];
  const remembered = async () => {
    const { value } = await held();
    passwords.push(value);
    return value;
  };

  // Issue.
  const issued = await provision('issue app --ttl 86400 --grant readers');
  assert.equal(issued.status, 0, issued.stderr);
  assert.match(issued.stdout, /^Role app: version 1 of postgres\/app, until \d{4}-/);
  const first = await remembered();
  assert.ok(await logsIn(first), 'the role logs in with the password in the vault');
  assert.equal(await logsIn('another'), false);
  const until =
    "select to_char(rolvaliduntil at time zone 'utc', 'YYYY-MM-DD\"T\"HH24:MI:SS.MS\"Z\"') from pg_roles where rolname = 'app'";
  assert.equal(
    await postgres.asSuperuser(until),
    (await held()).expires_at,
    'the password ends in both places at once',
  );
  assert.equal(await postgres.asSuperuser("select pg_has_role('app', 'readers', 'member')"), 't');

  // Rotate.
  const rotated = await provision('rotate app --json');
  assert.equal(rotated.status, 0, rotated.stderr);
  assert.equal(JSON.parse(rotated.stdout).version, 2);
  const second = await remembered();
  assert.notEqual(second, first);
  assert.ok(await logsIn(second));
  assert.equal(await logsIn(first), false, 'the old password is refused');
  assert.equal(await postgres.asSuperuser(until), (await held()).expires_at);

  // What the vault refuses has not happened in the database either.
  const refused = await provision('rotate app', await providerOf(['issue']));
  assert.equal(refused.status, 1);
  assert.match(refused.stderr, /The vault refused to rotate postgres\/app \(403 INSUFFICIENT_SCOPE\)/);
  assert.ok(await logsIn(second));
  const brief = await provision('issue app --ttl 10');
  assert.match(brief.stderr, /ttlSeconds/);
  assert.ok(await logsIn(second));

  // What the database refuses has not happened in the vault either; nobody else's role is taken over.
  for (const role of ['postgres', 'provisioner', 'readers']) {
    const taken = await provision(`issue ${role} --ttl 600`);
    assert.equal(taken.status, 1);
    assert.match(taken.stderr, /PostgreSQL: .*this script did not create a role \w+/);
    assert.equal((await service.call('GET', `${at}/secrets/by-name/postgres/${role}`, key)).status, 404);
  }
  for (const wrong of [
    'issue "a; drop role app" --ttl 600',
    'rotate "x\' or \'a"',
    'issue pg_monitor --ttl 600',
    'issue app',
    'remove app',
    '',
    'rotate a b',
  ])
    assert.equal((await provision(wrong)).status, 1, wrong);
  const twice = await Promise.all([
    provision('rotate app'),
    provision('rotate app'),
    provision('rotate app'),
  ]);
  assert.deepEqual(
    twice.map(({ status, stderr }) => [status, stderr]),
    Array(3).fill([0, '']),
  );
  const last = await remembered();
  assert.ok(await logsIn(last), 'of three at once, the last in the vault is the last in the database');

  // Revoke.
  const session = postgres.ask('app', last, 'select pg_sleep(60)');
  for (
    let i = 0;
    i < 100 &&
    (await postgres.asSuperuser("select count(*) from pg_stat_activity where usename = 'app'")) === '0';
    i++
  )
    await sleep(50);
  const revoked = await provision('revoke app');
  assert.equal(revoked.status, 0, revoked.stderr);
  assert.match(revoked.stdout, /^Role app: disabled, and postgres\/app revoked at \d{4}-/);
  assert.equal((await session).status, 1, 'the open session is ended');
  for (const password of passwords) assert.equal(await logsIn(password), false);
  for (const query of ['', '?version=1', '?version=2'])
    assert.equal((await held(query)).error.code, 'SECRET_REVOKED');
  assert.equal((await provision('revoke app')).status, 0, 'again is as good');
  assert.match((await provision('rotate app')).stderr, /409 SECRET_REVOKED/);
  assert.equal(await postgres.asSuperuser("select rolcanlogin from pg_roles where rolname = 'app'"), 'f');

  // Anew.
  assert.equal((await provision('issue app --ttl 600')).status, 0);
  assert.ok(await logsIn(await remembered()));

  assert.ok(
    passwords.every((password) => /^[\w-]{43}$/.test(password)) &&
      new Set(passwords).size === passwords.length,
  );
  const places = {
    'what it said': said,
    'command lines': fs.readFileSync(seen, 'utf8'),
    'the log of PostgreSQL': postgres.log(),
    'the log of the vault': service.said(),
  };
  assert.match(places['the log of PostgreSQL'], /ALTER ROLE "app" PASSWORD/);
  assert.match(places['command lines'], /PGPASSWORD/);
  for (const [where, text] of Object.entries(places))
    for (const secret of [...passwords, provider]) assert.ok(!text.includes(secret), where);
});
