// Each command once, against a real vault: its JSON, its table, its exit codes.
import { generateKeyPairSync } from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { call } from '../../../../test/packages/vault.mjs';
import { type Given, type Machine, signedIn, succeeding } from '../harness.ts';

let at: Awaited<ReturnType<typeof signedIn>>;
let machine: Machine;
const { ok, json } = succeeding(() => machine);
const set = (name: string, value: string, ...more: string[]) => ok(['set', name, ...more], { stdin: value });

beforeAll(async () => {
  at = await signedIn();
  machine = at.machine;
});

describe('secrets', () => {
  it('history, rollback, rotate: versions are listed and created, values are not shown', async () => {
    await set('API_KEY', 'one');
    await set('API_KEY', 'two');
    expect(await json(['rotate', 'API_KEY'], { stdin: 'three' })).toMatchObject({ version: 3 });
    expect(
      (await json(['history', 'API_KEY'])).data.map(({ version }: { version: number }) => version),
    ).toEqual([3, 2, 1]);
    expect(await json(['rollback', 'API_KEY', '1'])).toMatchObject({ version: 4 });
    expect((await ok(['get', 'API_KEY'])).stdout).toBe('one');
    expect((await ok(['get', 'API_KEY', '--version', '2'])).stdout).toBe('two');
    expect((await machine.svc(['rollback', 'API_KEY', '99'])).code).toBe(5);
    expect((await machine.svc(['rollback', 'API_KEY', 'x'])).code).toBe(2);
  });

  it('set --generate: the vault generates the value, and svc shows it only with --show', async () => {
    const made = await ok(['set', 'ADMIN', '--generate', '--length', '40', '--json']);
    expect(made.json).toMatchObject({ name: 'ADMIN', type: 'password', version: 1 });
    expect(made.json.value).toBeUndefined();
    const { stdout } = await ok(['set', 'ADMIN', '--generate', '--length', '40', '--show']);
    expect(stdout).toMatch(/^.{40}\n$/);
    expect(`${(await ok(['get', 'ADMIN'])).stdout}\n`).toBe(stdout);
    expect((await machine.svc(['set', 'ADMIN', '--generate', '--create'])).code).toBe(6);
    expect((await machine.svc(['set', 'ADMIN', '--create'], { stdin: 'x' })).code).toBe(6);
  });

  it('delete, restore: a deleted secret is restored; a script without --yes is refused', async () => {
    await set('OLD', 'v');
    const refused = await machine.svc(['delete', 'OLD']);
    expect(refused).toMatchObject({ code: 2, stdout: '' });
    expect(refused.stderr).toMatch(/OLD in production \(version 1\).*\n.*--yes/s);
    await ok(['delete', 'OLD', '--yes']);
    expect((await machine.svc(['get', 'OLD'])).code).toBe(5);
    expect(
      (await json(['list', '--status', 'deleted'])).data.map(({ name }: { name: string }) => name),
    ).toContain('OLD');
    await ok(['restore', 'OLD']);
    expect((await ok(['get', 'OLD'])).stdout).toBe('v');
    await ok(['delete', 'OLD', '--permanent', '--yes']);
    expect((await machine.svc(['restore', 'OLD'])).code).toBe(5);
  });

  it('restore: restores the last deleted of several secrets with one name', async () => {
    for (const value of ['first', 'second']) {
      await set('TWICE', value);
      await ok(['delete', 'TWICE', '--yes']);
    }
    await ok(['restore', 'TWICE']);
    expect((await ok(['get', 'TWICE'])).stdout).toBe('second');
  });

  it('copy, diff: environments are compared by name, and existing secrets are kept unless --overwrite is given', async () => {
    await set(
      'SHARED',
      'same',
      '-e',
      'staging',
      '--description',
      'both',
      '--tag',
      'team=web',
      '--tag',
      'tier=1',
    );
    await set('ONLY', 'left', '-e', 'staging');
    const differing = await machine.svc(['diff', 'staging', 'development', '--exit-code', '--json']);
    expect(differing.code).toBe(9);
    expect(differing.json.data).toEqual([
      { name: 'ONLY', difference: 'missing' },
      { name: 'SHARED', difference: 'missing' },
    ]);
    await ok(['copy', 'SHARED', 'ONLY', '--from', 'staging', '--to', 'development']);
    expect(
      (await json(['list', '-e', 'development'])).data.find(
        ({ name }: { name: string }) => name === 'SHARED',
      ),
    ).toMatchObject({
      description: 'both',
      tags: { team: 'web', tier: '1' },
    });
    await set('ONLY', 'changed', '-e', 'development');
    expect(
      (await json(['copy', '--prefix', '', '--from', 'staging', '--to', 'development'])).data.every(
        ({ outcome }: { outcome: string }) => outcome === 'skipped',
      ),
    ).toBe(true);
    const shown = await ok(['diff', 'staging', 'development']);
    expect(shown.stdout).toBe('ONLY\tdifferent values\n');
    expect(
      (await machine.svc(['copy', 'ONLY', '--from', 'staging', '--to', 'development', '--overwrite'])).code,
    ).toBe(2);
    await ok(['copy', 'ONLY', '--from', 'staging', '--to', 'development', '--overwrite', '--yes']);
    expect((await ok(['diff', 'staging', 'development', '--exit-code'])).stdout).toBe('');
  });

  it('promote: what the dry run shows is promoted, without a read, and changes are confirmed', async () => {
    for (const name of ['up/A', 'up/B']) await ok(['set', name, '-e', 'staging'], { stdin: `new ${name}` });
    for (const name of ['up/A', 'up/C']) await ok(['set', name, '-e', 'development'], { stdin: 'old' });
    const argv = ['promote', '--prefix', 'up/', '--prune', '--from', 'staging', '--to', 'development'];
    const expected = { created: ['up/B'], updated: ['up/A'], removed: ['up/C'], unchanged: [] };
    expect(await json([...argv, '--dry-run', '--json'])).toMatchObject({ ...expected, dry_run: true });
    const unconfirmed = await machine.svc(argv);
    expect([unconfirmed.code, unconfirmed.stderr]).toEqual([
      2,
      expect.stringContaining(
        'In development, 1 secret will get a new value: up/A; 1 secret will be deleted: up/C; 1 secret will be created: up/B.',
      ),
    ]);
    const { stdout } = await ok([...argv, '--yes']);
    expect(stdout).toContain('up/A\tupdated\n');
    expect(stdout).not.toContain('new up/A');
    expect((await ok(['get', 'up/A', '-e', 'development'])).stdout).toBe('new up/A');
    expect(await json([...argv, '--json'])).toMatchObject({ unchanged: ['up/A', 'up/B'], updated: [] });
  });

  it('copy --dry-run: says what would be copied, and reads and writes nothing', async () => {
    for (const name of ['dry/B', 'dry/A']) await ok(['set', name, '-e', 'staging'], { stdin: 'a value' });
    await ok(['set', 'dry/A', '-e', 'development'], { stdin: 'another value' });
    const argv = [
      'copy',
      '--prefix',
      'dry/',
      '--from',
      'staging',
      '--to',
      'development',
      '--dry-run',
      '--json',
    ];
    const outcomes = async (...more: string[]) =>
      Object.fromEntries(
        (await json([...argv, ...more])).data.map((row: { name: string; outcome: string }) => [
          row.name,
          row.outcome,
        ]),
      );
    expect(await outcomes()).toEqual({ 'dry/A': 'skipped', 'dry/B': 'created' });
    expect(await outcomes('--overwrite')).toEqual({ 'dry/A': 'updated', 'dry/B': 'created' });
    const { stdout } = await ok(argv.filter((arg) => arg !== '--json'));
    expect(stdout).toContain('dry/A\twould be skipped: already exists\n');
    expect(stdout).toContain('dry/B\twould be created\n');
    expect((await json(['list', '-e', 'development', '--prefix', 'dry/'])).data).toHaveLength(1);
  });

  it('list: is sorted by name', async () => {
    for (const name of ['sorted/b', 'sorted/a', 'sorted/c']) await ok(['set', name], { stdin: 'x' });
    const { data } = await json(['list', '--prefix', 'sorted/']);
    expect(data.map(({ name }: { name: string }) => name)).toEqual(['sorted/a', 'sorted/b', 'sorted/c']);
  });

  it('set --empty: stores an empty value; empty input without it is refused', async () => {
    const refused = await machine.svc(['set', 'EMPTY'], { stdin: '' });
    expect([refused.code, refused.stderr]).toEqual([2, expect.stringContaining('svc set NAME --empty')]);
    await ok(['set', 'EMPTY', '--empty']);
    expect((await json(['get', 'EMPTY', '--json'])).value).toBe('');
    expect((await machine.svc(['set', 'EMPTY', '--empty', '--generate'])).code).toBe(2);
  });

  it('organisation: the .svc.json of another one is named, instead of a secret that does not exist', async () => {
    fs.writeFileSync(
      path.join(machine.work, '.svc.json'),
      JSON.stringify({ org: 'org_6TuVw7XyZa8BcDe9FgHi0j' }),
    );
    const { code, stderr } = await machine.svc(['get', 'SHARED', '-e', 'staging']);
    fs.rmSync(path.join(machine.work, '.svc.json'));
    expect([code, stderr]).toEqual([
      5,
      expect.stringMatching(/svc\.json names the organisation org_6TuVw7XyZa8BcDe9FgHi0j, but/),
    ]);
  });

  it('copy: a failure says which secrets were copied before it', async () => {
    for (const name of ['copied/A', 'copied/B']) await set(name, 'v', '-e', 'staging');
    await call(at.url, at.key, 'POST', `/orgs/${at.org}/policies`, {
      name: 'held',
      kind: 'approval',
      applies_to: { names: ['copied/B'] },
      config: { operations: ['secret.read'], required: 1, approvers: { role: 'owner' } },
    });
    const ran = await machine.svc([
      'copy',
      '--prefix',
      'copied/',
      '--from',
      'staging',
      '--to',
      'development',
    ]);
    expect(ran).toMatchObject({ code: 8, stderr: expect.stringContaining('Copied before it: copied/A.') });
    expect((await ok(['get', 'copied/A', '-e', 'development'])).stdout).toBe('v');
  });

  it('import, export: a .env file is imported and exported again', async () => {
    machine.write('.env', "A='x y'\nexport B=2\n");
    expect(
      await json(['import', '.env', '-e', 'development', '--prefix', 'env/', '--dry-run']),
    ).toMatchObject({
      source: 'dotenv',
      dry_run: true,
      created: ['env/A', 'env/B'],
    });
    expect((await machine.svc(['get', 'env/A', '-e', 'development'])).code).toBe(5);
    await ok(['import', '.env', '-e', 'development']);
    expect((await machine.svc(['import', '.env', '-e', 'development'])).code).toBe(6);
    expect(await json(['import', '.env', '-e', 'development', '--on-conflict', 'skip'])).toMatchObject({
      skipped: ['A', 'B'],
    });
    expect((await machine.svc(['import', 'package.json'])).code).toBe(2);
    await ok(['export', '--format', 'json', '--only', 'A,B', '-e', 'development', '--output', 'out.json']);
    const file = path.join(machine.work, 'out.json');
    expect(JSON.parse(fs.readFileSync(file, 'utf8'))).toEqual({ A: 'x y', B: '2' });
    expect(fs.statSync(file).mode & 0o777).toBe(0o600);
    expect((await machine.svc(['export', '--output', 'out.json'])).code).toBe(6);
    expect((await ok(['export', '--only', 'B', '-e', 'development'])).stdout).toContain('B=');
  });

  it('import --empty: imports empty values; without it they fail, and others are imported', async () => {
    machine.write('empty.env', 'NONE=\nSOME=x\n');
    const refused = await machine.svc([
      'import',
      'empty.env',
      '-e',
      'development',
      '--prefix',
      'empty/',
      '--dry-run',
    ]);
    expect([refused.code, refused.stdout]).toEqual([
      1,
      expect.stringMatching(/empty\/SOME\twould be created\nNONE\twould fail: .*--empty/),
    ]);
    expect(refused.stderr).toContain(
      'Dry run (dotenv) into development: nothing was written. There would be 1 created',
    );
    expect(
      (await machine.svc(['import', 'empty.env', '-e', 'development', '--prefix', 'empty/'])).stdout,
    ).toContain('empty/SOME\tcreated\nNONE\tfailed: ');
    const { created } = await json([
      'import',
      'empty.env',
      '-e',
      'development',
      '--prefix',
      'empty/',
      '--empty',
      '--on-conflict',
      'skip',
    ]);
    expect(created).toEqual(['empty/NONE']);
    const answer = { data: { user: 'app' } };
    machine.write('vault.json', JSON.stringify({ 'team/db': answer }));
    const kept = await json([
      'import',
      'vault.json',
      '--source',
      'vault',
      '--keep-paths',
      '-e',
      'development',
    ]);
    expect(kept.created).toEqual(['team/db/user']);
  });

  it('share: only the link is on stdout; it is listed and revoked', async () => {
    await set('WIFI', 'blue');
    const { stdout } = await ok(['share', 'WIFI', '--expires', '1h', '--passphrase'], { stdin: 'horse\n' });
    expect(stdout).toMatch(/^http\S+\/s\/shr_\S+#\S+\n$/);
    const { data } = await json(['share', 'WIFI', '--list']);
    expect(data).toHaveLength(1);
    await ok(['share', 'WIFI', '--revoke', data[0].id, '--yes']);
    expect((await json(['share', 'WIFI', '--list'])).data).toEqual([]);
  });
});

describe('access', () => {
  it('key: only the token is on stdout; rotate and revoke need confirmation', async () => {
    const { stdout, stderr } = await ok([
      'key',
      'create',
      'web',
      '--scopes',
      'secrets:read',
      '--environments',
      'staging',
      '--ttl',
      '1d',
    ]);
    expect(stdout).toMatch(/^svc_live_\w+\n$/);
    const [id = ''] = /key_\w+/.exec(stderr) ?? [];
    expect(
      await machine.svc(['get', 'SHARED', '-e', 'staging'], {
        env: { SVC_TOKEN: stdout.trim(), SVC_URL: at.url },
      }),
    ).toMatchObject({
      code: 0,
      stdout: 'same',
    });
    expect(
      (
        await machine.svc(['get', 'SHARED', '-e', 'development'], {
          env: { SVC_TOKEN: stdout.trim(), SVC_URL: at.url },
        })
      ).code,
    ).toBe(4);
    expect((await machine.svc(['key', 'rotate', id])).code).toBe(2);
    const successor = await json(['key', 'rotate', id, '--overlap', '1h', '--yes']);
    await ok(['key', 'revoke', id, '--yes']);
    expect((await machine.svc(['whoami'], { env: { SVC_TOKEN: stdout.trim(), SVC_URL: at.url } })).code).toBe(
      3,
    );
    expect((await json(['key', 'list'])).data.map((row: { id: string }) => row.id)).toContain(successor.id);
    expect((await ok(['key', 'list'])).stdout).not.toContain(successor.token);
  });

  it('agent, token: created, listed, restricted and revoked', async () => {
    const agent = await json([
      'agent',
      'create',
      'triage',
      '--scopes',
      'secrets:read',
      '--secrets',
      'app/*',
      '--ttl',
      '1d',
      '--rate-limit',
      '60',
    ]);
    expect(await json(['agent', 'update', agent.id, '--secrets', 'app/config'])).toMatchObject({
      secrets: ['app/config'],
    });
    expect((await json(['agent', 'list'])).data).toHaveLength(1);
    await ok(['agent', 'revoke', agent.id, '--yes']);
    const token = await json(['token', 'create', '--ttl', '10m', '--scopes', 'secrets:list']);
    expect((await json(['token', 'list'])).data.map((row: { id: string }) => row.id)).toEqual([token.id]);
    await ok(['token', 'revoke', token.id, '--yes']);
    expect((await json(['token', 'list'])).data).toEqual([]);
  });

  it('trust create --jwks: takes the keys of an issuer that the vault cannot reach, from a file', async () => {
    const { publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    machine.write(
      'jwks.json',
      JSON.stringify({
        keys: [{ ...publicKey.export({ format: 'jwk' }), kid: 'k1', alg: 'ES256', use: 'sig' }],
      }),
    );
    const argv = [
      'trust',
      'create',
      'internal',
      '--issuer',
      'https://ci.internal',
      '--claim',
      'sub=app',
      '--scopes',
      'secrets:read',
    ];
    const made = await json([...argv, '--jwks', 'jwks.json']);
    expect(made).toMatchObject({ issuer: 'https://ci.internal', jwks: { keys: [{ kid: 'k1' }] } });
    await ok(['trust', 'delete', made.id, '--yes']);
    machine.write('broken.json', '{');
    expect((await machine.svc([...argv, '--jwks', 'broken.json'])).code).toBe(2);
  });

  it('trust: created from an issuer by name, shown and deleted', async () => {
    const made = await ok([
      'trust',
      'create',
      'deploy',
      '--issuer',
      'github',
      '--claim',
      'sub=repo:acme/app:*',
      '--claim',
      'event_name=push',
      '--claim',
      'event_name=workflow_dispatch',
      '--scopes',
      'secrets:read',
      '--environments',
      'production',
    ]);
    const [, id = ''] = /SVC_TRUST_ID=(trs_\w+)/.exec(made.stdout) ?? [];
    expect(await json(['trust', 'show', id])).toMatchObject({
      issuer: 'https://token.actions.githubusercontent.com',
      claims: { sub: 'repo:acme/app:*', event_name: ['push', 'workflow_dispatch'] },
    });
    expect((await json(['trust', 'list'])).data).toHaveLength(1);
    await ok(['trust', 'delete', id, '--yes']);
    expect((await machine.svc(['trust', 'show', id])).code).toBe(5);
  });

  it('member: environments are set with the invitation, changed and lifted', async () => {
    const body = ['--name', 'Lim', '--role', 'developer', '--environments', 'development,staging'];
    const { id, environments } = await json(['member', 'invite', 'lim@example.com', ...body]);
    expect(environments.toSorted()).toEqual(['development', 'staging']);
    const { stderr } = await ok(['member', 'environments', id, '--only', 'staging']);
    expect(stderr).toContain('Lim is now developer in staging.');
    expect(
      (await json(['member', 'access', id, 'secrets:read', '--environment', 'production'])).allowed,
    ).toBe(false);
    for (const flags of [[], ['--only', 'staging', '--all']])
      expect((await machine.svc(['member', 'environments', id, ...flags])).code).toBe(2);
    expect((await json(['member', 'environments', id, '--all'])).environments).toBe(null);
    await ok(['member', 'remove', id, '--yes']);
  });

  it('member: invited, given a role, explained and removed', async () => {
    const { stdout } = await ok(['member', 'invite', 'bea@example.com', '--name', 'Bea', '--role', 'viewer']);
    expect(stdout).toMatch(/\/enrol#\S+\n$/);
    const { data } = await json(['member', 'list']);
    const { id } = data.find((row: { email: string }) => row.email === 'bea@example.com');
    await ok(['member', 'role', id, 'developer']);
    // Another than the inviter ends the link, and is told.
    const { token } = await json(['key', 'create', 'another', '--scopes', '*']);
    const other = await ok(['member', 'role', id, 'viewer'], { env: { SVC_TOKEN: token } });
    expect(other.stderr).toContain('Bea has no enrolment link that works.');
    await ok(['member', 'role', id, 'developer']);
    expect(
      await json(['member', 'access', id, 'secrets:read', '--environment', 'production', '--secret', 'X']),
    ).toMatchObject({
      allowed: true,
    });
    const refused = await machine.svc(['member', 'remove', id]);
    expect(refused.stderr).toContain('Bea (bea@example.com)');
    await ok(['member', 'remove', id, '--yes']);
  });

  it('approval: a held read exits with 8, names the request, and can be cancelled', async () => {
    await set('payments/db', 'v');
    const api = `${at.url}/api/v1/orgs/${at.org}/policies`;
    const policy = {
      name: 'P',
      kind: 'approval',
      applies_to: { names: ['payments/*'] },
      config: { operations: ['secret.read'], required: 1, approvers: { role: 'owner' } },
    };
    await fetch(api, {
      method: 'POST',
      headers: { Authorization: `Bearer ${at.key}`, 'Content-Type': 'application/json' },
      body: JSON.stringify(policy),
    });
    const held = await machine.svc(['get', 'payments/db', '--json']);
    expect(held.code).toBe(8);
    const id = held.json.error.approval;
    expect(held.json.error).toMatchObject({
      code: 'APPROVAL_REQUIRED',
      exit_code: 8,
      status: 403,
      next: expect.stringContaining(`--approval ${id}`),
    });
    expect((await json(['approval', 'list'])).data.map((row: { id: string }) => row.id)).toContain(id);
    expect((await machine.svc(['approval', 'wait', id, '--timeout', '1s'])).code).toBe(8);
    await ok(['approval', 'cancel', id]);
    expect((await machine.svc(['approval', 'wait', id])).code).toBe(4);
    expect((await machine.svc(['get', 'payments/db', '--approval', 'apr_0HrZKtC4bqXw2vJm8yNd1L'])).code).toBe(
      6,
    );
  });
});

describe('operations', () => {
  it('audit: entries are filtered, and reasons are recorded', async () => {
    await ok(['get', 'API_KEY', '--reason', 'incident 42']);
    const { data } = await json(['audit', '--action', 'secret.read', '--from', '1h', '-n', '5']);
    expect(data[0]).toMatchObject({ action: 'secret.read', resource_name: 'API_KEY', reason: 'incident 42' });
  });

  it('audit --follow: new entries are printed as they are written', async () => {
    const running = machine.spawn(['audit', '--follow', '--json', '--action', 'secret.read', '-n', '1']);
    await new Promise((done) => setTimeout(done, 1500));
    await ok(['get', 'API_KEY', '--reason', 'followed']);
    for (let waited = 0; !running.said().includes('followed') && waited < 30_000; waited += 100)
      await new Promise((done) => setTimeout(done, 100));
    running.kill('SIGINT');
    await running.done;
    expect(
      running
        .said()
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line))
        .some((entry) => entry.reason === 'followed'),
    ).toBe(true);
  });

  it('sync: a connection is stored from stdin and listed, and its config is not shown', async () => {
    const config = { token: 'HRKU-made-up', appName: 'demo-app' };
    const stored = await ok(
      ['sync', 'connect', 'heroku', '--name', 'Demo', '--environments', 'staging', '--json'],
      {
        stdin: JSON.stringify(config),
      },
    );
    expect(stored.stdout).not.toContain('HRKU-made-up');
    expect((await json(['sync', 'connections'])).data).toHaveLength(1);
    expect((await json(['sync', 'list'])).data).toEqual([]);
    await ok(['sync', 'disconnect', stored.json.id, '--yes']);
    expect(
      (await machine.svc(['sync', 'connect', 'heroku', '--name', 'x'], { stdin: 'HRKU-secret' })).stderr,
    ).not.toContain('HRKU-secret');
  });

  it('contain: a credential is revoked, and the secrets it read are listed', async () => {
    const { id, token } = await json(['agent', 'create', 'leaky', '--scopes', 'secrets:read']);
    await ok(['get', 'API_KEY'], { env: { SVC_TOKEN: token, SVC_URL: at.url } });
    const contained = await json(['contain', id, '--yes']);
    expect(contained.read.map(({ name }: { name: string }) => name)).toEqual(['API_KEY']);
    expect((await machine.svc(['get', 'API_KEY'], { env: { SVC_TOKEN: token, SVC_URL: at.url } })).code).toBe(
      3,
    );
  });

  it('doctor: an organisation or environment that the credential does not have is a failed check', async () => {
    const failed = async (argv: string[], given: Given = {}) => {
      const { code, json } = await machine.svc(['doctor', '--json', ...argv], given);
      expect(code).toBe(1);
      return json.checks.filter(({ ok }: { ok: boolean }) => !ok);
    };
    expect(await failed(['--env', 'nowhere'])).toEqual([
      expect.objectContaining({ name: 'environment', next: expect.stringContaining('staging') }),
    ]);
    const other = (await signedIn()).org;
    expect(await failed(['--env', 'staging'], { env: { SVC_ORG_ID: other } })).toEqual([
      expect.objectContaining({
        name: 'organisation',
        what: `${other} is set, but the credential belongs to ${at.org}`,
      }),
    ]);
  });

  it('doctor: reports passed and failed checks', async () => {
    expect(await json(['doctor'])).toMatchObject({ ok: true });
    const broken = await machine.svc(['doctor', '--url', 'http://127.0.0.1:1'], {
      env: { SVC_TOKEN: 'svcag_x' },
    });
    expect(broken.code).toBe(1);
    expect(broken.stdout).toContain('cannot be reached');
  });

  it('doctor: each check of the vault is shown; it fails only if callers are not served', async () => {
    const answering = (status: number, body: unknown): Given => ({
      host: {
        fetch: async (input, init) =>
          String(input).endsWith('/healthz') ? Response.json(body, { status }) : fetch(input, init),
      },
    });
    const checks = [
      { name: 'database', ok: true },
      { name: 'queue', ok: false, message: 'The queue has not delivered\u001b[2J a message.' },
    ];
    const degraded = await machine.svc(['doctor'], answering(200, { status: 'degraded', checks }));
    expect(degraded.code).toBe(0);
    expect(degraded.stdout).toContain('ok    vault database: works\n');
    expect(degraded.stdout).toContain(
      'warn  vault queue: The queue has not delivered\\u{1b}[2J a message.\n      next: Ask the operator',
    );
    const down = await machine.svc(
      ['doctor'],
      answering(503, { status: 'down', checks: [{ name: 'keys', ok: false, message: 'Closed.' }] }),
    );
    expect(down.code).toBe(1);
    expect(down.stdout).toContain('FAIL  vault keys: Closed.');
    for (const body of [
      null,
      [],
      { checks: {} },
      { checks: [null, { name: 1, ok: true }, { name: 'x' }] },
      { checks: 'x' },
    ]) {
      const odd = await machine.svc(['doctor'], answering(200, body));
      expect([odd.code, odd.stdout.includes('vault ')], JSON.stringify(body)).toEqual([0, true]);
      expect(odd.stdout).not.toContain('  vault ');
    }
  });

  it('logout: removes the credential', async () => {
    await ok(['logout']);
    expect((await machine.svc(['whoami'])).code).toBe(2);
    expect((await machine.svc(['whoami', '--url', at.url])).code).toBe(3);
    expect(fs.readdirSync(path.join(machine.config, 'credentials'))).toEqual([]);
  });
});
