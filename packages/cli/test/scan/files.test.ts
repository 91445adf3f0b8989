// svc scan: which files it looks at. What was asked for is scanned, or named as missed.
import fs from 'node:fs';
import path from 'node:path';
import { beforeAll, describe, expect, it, vi } from 'vitest';
import { type Machine, signedIn } from '../harness.ts';
import { placesIn, repositories } from './repository.ts';

const AWS = ['AKIA', 'Y3M2XTF6BQ4LZWNE'].join('');
let machine: Machine;
beforeAll(async () => {
  ({ machine } = await signedIn());
});
const repository = repositories(() => machine);

describe('scan: staged files whose content is missing', () => {
  it('scan --staged: one is named as missed, the others are scanned, and the exit code is not 0', async () => {
    const { dir, git, write, scan } = repository('missing content');
    write('a', 'clean');
    write('gone', 'lost');
    git('add', '.');
    const id = git('rev-parse', ':gone').toString().trim();
    const remove = (of: string) => fs.rmSync(path.join(dir, '.git/objects', of.slice(0, 2), of.slice(2)));
    remove(id);
    const missed = await scan(['--staged']);
    expect([missed.code, missed.stdout]).toEqual([1, '']);
    expect(missed.stderr).toContain('1 file was not scanned: gone (its content is not in the repository)');
    write('leak', AWS);
    git('add', 'leak');
    const found = await scan(['--staged']);
    expect([found.code, placesIn(found)]).toEqual([9, ['leak:1:1']]);
    expect(found.stderr).toContain('gone (its content is not in the repository)');
    // Without the ignore file of the commit it is not known what to scan.
    write('.svcscanignore', 'leak');
    git('add', '.svcscanignore');
    remove(git('rev-parse', ':.svcscanignore').toString().trim());
    const unknown = await scan(['--staged']);
    expect([unknown.code, unknown.stdout]).toEqual([1, '']);
    expect(unknown.stderr).toMatch(/^error: The content of \.svcscanignore is not in the repository/);
  });
});

describe('scan: names that are not UTF-8', () => {
  const odd = (name: string, byte: number) => Buffer.concat([Buffer.from(name), Buffer.from([byte])]);

  it('scan: files and directories below a path are scanned, whatever their names are', async () => {
    const { dir, write, scan, git } = repository('odd names');
    write(odd('x', 0xff), AWS);
    write(odd('x', 0xfe), AWS);
    const below = Buffer.concat([Buffer.from(`${dir}/`), odd('d', 0xff)]);
    fs.mkdirSync(below);
    fs.writeFileSync(Buffer.concat([below, Buffer.from('/in')]), AWS);
    const places = ['d\\xff/in:1:1', 'x\\xfe:1:1', 'x\\xff:1:1'];
    expect(placesIn(await scan(['.'])).sort()).toEqual(places);
    expect(placesIn(await scan([dir])).sort()).toEqual(places.map((place) => `${dir}/${place}`));
    git('add', '.');
    expect(placesIn(await scan([])).sort()).toEqual(places);
    expect(placesIn(await scan(['--staged'])).sort()).toEqual(places);
  });

  it('scan: a file and a directory of such a name that cannot be read are missed', async () => {
    if (process.getuid?.() === 0) return; // reads everything
    const { dir, write, scan } = repository('unreadable names');
    write(odd('x', 0xff), AWS);
    const below = Buffer.concat([Buffer.from(`${dir}/`), odd('d', 0xff)]);
    fs.mkdirSync(below, 0o000);
    fs.chmodSync(Buffer.concat([Buffer.from(`${dir}/`), odd('x', 0xff)]), 0o000);
    const { code, stderr } = await scan(['.']);
    expect([code, stderr]).toEqual([
      1,
      expect.stringContaining('2 files were not scanned: d\\xff (cannot be read), x\\xff (cannot be read)'),
    ]);
    fs.chmodSync(below, 0o700);
  });

  it('scan: what is gone or cannot be listed while a directory is read is missed', async () => {
    const { dir, write, scan } = repository('gone');
    write('a', 'nothing\n');
    write('b', 'nothing\n');
    const { lstatSync } = fs;
    const spy = vi.spyOn(fs, 'lstatSync').mockImplementation((at, options) => {
      if (String(at).endsWith(`${path.sep}b`)) throw new Error('EACCES');
      return lstatSync(at, options);
    });
    const { code, stderr } = await scan([dir]);
    spy.mockRestore();
    expect([code, stderr]).toEqual([1, expect.stringContaining('1 file was not scanned')]);
  });
});

describe('scan: .svcscanignore', () => {
  it('scan: a pattern that is longer than any path is refused by its line', async () => {
    const { write, scan, git } = repository('long pattern');
    write('a', AWS);
    write('.svcscanignore', `b\n${'x'.repeat(200_000)}\n`);
    git('add', '.');
    for (const args of [[], ['--staged']]) {
      const { code, stderr } = await scan(args);
      expect([code, stderr]).toEqual([2, 'error: Line 2 of .svcscanignore has more than 4096 characters.\n']);
    }
    write('.svcscanignore', `b\n${'x'.repeat(4096)}\n`);
    expect((await scan([])).code).toBe(9);
  });
});

describe('scan --staged: .svcscanignore', () => {
  it('scan --staged: the ignore file is that of the next commit', async () => {
    const { dir, write, scan, git } = repository('staged ignoring');
    write('a', AWS);
    git('add', '.');
    write('.svcscanignore', '*\n');
    const found = await scan(['--staged']);
    expect([found.code, placesIn(found)]).toEqual([9, ['a:1:1']]);
    git('add', '.svcscanignore');
    fs.rmSync(path.join(dir, '.svcscanignore'));
    fs.mkdirSync(path.join(dir, 'below'));
    for (const cwd of [dir, path.join(dir, 'below')]) {
      const ignored = await scan(['--staged'], cwd);
      expect([ignored.code, ignored.stderr]).toEqual([
        0,
        expect.stringContaining('2 files are ignored by .svcscanignore.'),
      ]);
    }
  });

  it('scan --staged: a link in place of the ignore file has no patterns', async () => {
    const { dir, write, scan, git } = repository('linked ignoring');
    write('a', AWS);
    fs.symlinkSync('a', path.join(dir, '.svcscanignore'));
    git('add', '.');
    expect(placesIn(await scan(['--staged']))).toEqual(['a:1:1']);
  });
});
