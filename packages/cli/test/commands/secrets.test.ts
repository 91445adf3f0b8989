// Signing in, and secrets from the command line.
import fs from 'node:fs';
import path from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { Machine, signedIn } from '../harness.ts';

let at: Awaited<ReturnType<typeof signedIn>>;
let machine: Machine;
beforeAll(async () => {
  at = await signedIn();
  machine = at.machine;
});

describe('login', () => {
  it('credential store: a key from stdin is stored in one file, which only its owner can read', async () => {
    const files = fs
      .readdirSync(machine.config, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile());
    const holding = files
      .map((entry) => path.join(entry.parentPath, entry.name))
      .filter((file) => fs.readFileSync(file, 'utf8').includes(at.key));
    expect(holding).toHaveLength(1);
    for (const file of holding) expect(fs.statSync(file).mode & 0o777).toBe(0o600);
  });

  it('whoami: shows who is signed in', async () => {
    const { code, json } = await machine.svc(['whoami', '--json']);
    expect(code).toBe(0);
    expect(json).toMatchObject({
      kind: 'api_key',
      org_id: at.org,
      url: at.url,
      credential_from: 'stored',
      environment: 'production',
    });
  });
});

describe('secrets', () => {
  it('set, get and list: a value from stdin is returned byte for byte', async () => {
    const set = await machine.svc(['set', 'DATABASE_URL', '--type', 'database_url', '--json'], {
      stdin: 'postgres://one\n',
    });
    expect(set).toMatchObject({ code: 0, stderr: '' });
    expect(set.json).toMatchObject({ name: 'DATABASE_URL', version: 1, type: 'database_url' });
    expect(await machine.svc(['get', 'DATABASE_URL'])).toMatchObject({
      code: 0,
      stdout: 'postgres://one',
      stderr: '',
    });
    const list = await machine.svc(['list', '--json']);
    expect(list.json.data.map(({ name }: { name: string }) => name)).toEqual(['DATABASE_URL']);
    expect(list.stdout).not.toContain('postgres');
  });

  it('set: white space alone is refused as a value, unless --raw says that it is one', async () => {
    for (const stdin of [' ', '   \n', '\n\n', '\t']) {
      const refused = await machine.svc(['set', 'SPACES'], { stdin });
      expect([refused.code, refused.stderr]).toEqual([
        2,
        expect.stringMatching(/only white space[\s\S]*--raw/),
      ]);
    }
    expect((await machine.svc(['get', 'SPACES'])).code).toBe(5);
    await machine.svc(['set', 'SPACES', '--raw'], { stdin: '  ' });
    expect((await machine.svc(['get', 'SPACES'])).stdout).toBe('  ');
    expect((await machine.svc(['rotate', 'SPACES', '--yes'], { stdin: ' ' })).code).toBe(2);
  });

  it('set: a multi-line value keeps its final line break, and --raw always keeps it', async () => {
    await machine.svc(['set', 'PEM'], { stdin: 'a\nb\n' });
    expect((await machine.svc(['get', 'PEM'])).stdout).toBe('a\nb\n');
    await machine.svc(['set', 'RAW', '--raw'], { stdin: 'a\n' });
    expect((await machine.svc(['get', 'RAW'])).stdout).toBe('a\n');
  });

  it('environment: without a setting, a command acts in the default environment alone', async () => {
    const elsewhere = new Machine({ SVC_URL: at.url, SVC_ORG_ID: at.org, SVC_TOKEN: at.key });
    for (const env of ['development', 'staging', 'production'])
      await elsewhere.svc(['set', 'SAME', '-e', env], { stdin: env });
    expect(await elsewhere.svc(['rotate', 'SAME', '--json'], { stdin: 'rotated' })).toMatchObject({
      code: 0,
    });
    expect((await elsewhere.svc(['get', 'SAME', '-e', 'development'])).stdout).toBe('development');
    expect((await elsewhere.svc(['get', 'SAME', '-e', 'production'])).stdout).toBe('rotated');
    expect(await elsewhere.svc(['delete', 'SAME', '--yes'])).toMatchObject({ code: 0 });
    expect(
      (await elsewhere.svc(['list', '--prefix', 'SAME', '--all-environments', '--json'])).json.data,
    ).toMatchObject([{ environment: 'development' }, { environment: 'staging' }]);
    expect(await elsewhere.svc(['delete', 'SAME', '--yes'])).toMatchObject({
      code: 5,
      stderr: expect.stringContaining('in production'),
    });
  });

  it('init: writes organisation and environment, and no credential', async () => {
    expect(await machine.svc(['init', '--env', 'staging'])).toMatchObject({ code: 0 });
    expect(JSON.parse(fs.readFileSync(path.join(machine.work, '.svc.json'), 'utf8'))).toEqual({
      url: at.url,
      org: at.org,
      environment: 'staging',
      secrets: ['SAME'],
    });
    expect(await machine.svc(['init'])).toMatchObject({ code: 6 });
    expect((await machine.svc(['get', 'DATABASE_URL'])).code).toBe(5);
    expect((await machine.svc(['get', 'DATABASE_URL', '-e', 'production'])).code).toBe(0);
    fs.rmSync(path.join(machine.work, '.svc.json'));
  });

  it('run: the child has the values in its environment', async () => {
    const script = 'process.stdout.write(process.env.DATABASE_URL)';
    const { done } = machine.spawn(['run', '--', process.execPath, '-e', script]);
    expect(await done).toMatchObject({ code: 0, stdout: 'postgres://one' });
  });
});
