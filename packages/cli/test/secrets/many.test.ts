// An environment of more secrets than the vault answers at once: svc run and svc export show one revision of
// it.
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { slow } from '../../../../test/packages/slow.ts';
import { call } from '../../../../test/packages/vault.mjs';
import { type Given, type Machine, signedIn } from '../harness.ts';

const COUNT = 2_100;
const data = Object.fromEntries(Array.from({ length: COUNT }, (_, n) => [`N_${n}`, `value ${n}`]));
let many: Awaited<ReturnType<typeof signedIn>>;
let machine: Machine;
const api = (method: string, at: string, body?: unknown) =>
  call(many.url, many.key, method, `/orgs/${many.org}${at}`, body);
const put = (name: string, value: string) => api('PUT', `/secrets/by-name/${name}`, { value });

beforeAll(async () => {
  many = await signedIn();
  machine = many.machine;
  await api('POST', '/integrations/import', { source: 'svc', data, onConflict: 'fail' });
});

/** What happens before each request to a path. */
function before(part: string, act: (n: number) => Promise<unknown>): { given: Given; count: () => number } {
  let n = 0;
  const host: Given['host'] = {
    async fetch(input, init) {
      if (String(input).includes(part)) await act(++n);
      return fetch(input, init);
    },
  };
  return { given: { host }, count: () => n };
}

describe('run', () => {
  const script = `const names = Object.keys(process.env).filter((name) => name.startsWith('N_'));
    process.stdout.write(JSON.stringify([names.length, names.every((name) => process.env[name] === 'value ' + name.slice(2))]))`;

  slow('run: the command gets all of them', async () => {
    const ran = await machine.spawn(['run', '--', process.execPath, '-e', script]).done;
    expect([ran.stderr, ran.stdout]).toEqual(['', `[${COUNT},true]`]);
  });

  it('run: several prefixes are read at once', async () => {
    const { given, count } = before('/values', async () => {});
    const ran = await machine.svc(['run', '--prefix', 'N_1', '--prefix', 'N_20', '--', 'true'], given);
    expect([ran.code, count()]).toEqual([0, 1]);
  });

  slow('run: a change between pages starts the read again, and constant change is an error', async () => {
    const once = before('cursor=', async (n) => n === 1 && put('OTHER', '1'));
    expect([(await machine.svc(['run', '--', 'true'], once.given)).code, once.count()]).toEqual([0, 2]);
    const always = before('cursor=', async (n) => put('OTHER', `again ${n}`));
    const ran = await machine.svc(['run', '--', 'true'], always.given);
    expect([ran.code, ran.stdout, always.count()]).toEqual([6, '', 5]);
    expect(ran.stderr).toContain('Secrets of this environment have changed since the first page');
  });
});

describe('export', () => {
  beforeEach(async () => {
    const { data: found } = await api('GET', '/secrets?environment=production&prefix=O&sort=name');
    for (const { id } of found) await api('DELETE', `/secrets/${id}?permanent=true`);
    await put('N_2050', data.N_2050 as string);
  });

  it('export: a change between parts starts it again, so that the file shows one revision', async () => {
    const { given, count } = before('/generate', async (n) => {
      // The first request is of all at once, and refused.
      if (n === 3) await put('N_2050', 'changed');
    });
    const { stdout } = await machine.svc(['export', '--format', 'json'], given);
    expect(JSON.parse(stdout)).toEqual({ ...data, N_2050: 'changed' });
    expect(count()).toBe(7);
  });

  slow('export: a secret that is deleted between parts is left out, and a new one is there', async () => {
    const { id } = await put('O_DELETED', 'x');
    const { given } = before('/generate', async (n) => {
      if (n !== 3) return;
      await api('DELETE', `/secrets/${id}`);
      await put('O_NEW', 'y');
    });
    const { stdout } = await machine.svc(['export', '--format', 'json'], given);
    expect(JSON.parse(stdout)).toEqual({ ...data, O_NEW: 'y' });
  });

  slow('export: while secrets keep changing it fails, and nothing is printed or written', async () => {
    const { given } = before('/generate', async (n) => put('N_2050', `changed ${n}`));
    const ran = await machine.svc(['export', '--format', 'json', '--output', 'out.json'], given);
    expect(ran).toMatchObject({ code: 6, stdout: '' });
    expect(ran.stderr).toMatch(
      /kept changing while they were exported. Nothing was written. \(CONFLICT\)\n {2}next: Repeat the command/,
    );
    expect((await machine.svc(['export', '--format', 'json', '--output', 'out.json'])).code).toBe(0);
  });

  it('export: more secrets than one file of the vault holds are in one file, and none is lost', async () => {
    const { stdout } = await machine.svc(['export', '--format', 'json']);
    expect(JSON.parse(stdout)).toEqual(data);
    expect((await machine.svc(['export', '--format', 'dotenv'])).stdout.match(/^N_/gm)).toHaveLength(2_100);
    const refused = await machine.svc(['export', '--format', 'kubernetes']);
    expect(refused).toMatchObject({ code: 2, stderr: expect.stringContaining('cannot hold 2,100 secrets') });
    await machine.svc(['set', 'N-7'], { stdin: 'collides' });
    expect((await machine.svc(['export', '--format', 'dotenv'])).stderr).toContain(
      'become one name in the file',
    );
  });

  it('export: if a format cannot hold many names, the first are shown and the rest counted', async () => {
    const { code, stderr } = await machine.svc(['export', '--prefix', 'N_']);
    expect([code, stderr.match(/begins with a digit/g)?.length]).toEqual([2, 20]);
    expect(stderr).toMatch(/and \d+ more: --json prints all of them/);
  });
});
