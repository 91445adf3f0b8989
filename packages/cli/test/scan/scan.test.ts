// svc scan: findings in files, as a table.
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import path from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { BIN, type Machine, signedIn, succeeding } from '../harness.ts';
import { placesIn, repositories } from './repository.ts';

let machine: Machine;
const { ok } = succeeding(() => machine);
const set = (name: string, value: string) => ok(['set', name], { stdin: value });

beforeAll(async () => {
  ({ machine } = await signedIn());
});

describe('scan', () => {
  it('scan: a reader that closes the pipe does not make a finding a success', async () => {
    fs.writeFileSync(path.join(machine.work, 'leaky.env'), `AWS_ACCESS_KEY_ID=AKIA${'Y3M2XTF6BQ4LZWNE'}\n`);
    const env = { ...machine.env };
    const child = spawn(process.execPath, [BIN, 'scan', 'leaky.env'], {
      cwd: machine.work,
      env,
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    child.stdout.destroy();
    expect((await once(child, 'exit'))[0]).not.toBe(0);
    fs.rmSync(path.join(machine.work, 'leaky.env'));
  });

  it('scan: staged files are scanned, and findings are redacted', async () => {
    const repo = path.join(machine.work, 'repo');
    fs.mkdirSync(repo);
    const git = (...args: string[]) => execFileSync('git', args, { cwd: repo });
    git('init', '-q');
    await set('LEAKED', 'correct horse battery staple');
    fs.writeFileSync(path.join(repo, 'clean.txt'), 'nothing\n');
    git('add', '.');
    expect((await ok(['scan', '--staged'], { host: { cwd: repo } })).stderr).toContain(
      'No credentials found in 1 file.',
    );
    fs.writeFileSync(path.join(repo, 'odd\nname.env'), 'PASSWORD="correct horse battery staple"\n');
    git('add', '.');
    fs.writeFileSync(path.join(repo, 'odd\nname.env'), '');
    const found = await machine.svc(['scan', '--staged'], { host: { cwd: repo } });
    expect(found.code).toBe(9);
    expect(found.stdout).toMatch(/^odd\\u\{a\}name\.env:1:\d+\tstored-secret\t/);
    expect(found.stdout).not.toContain('correct horse');
    expect((await machine.svc(['scan', '.'], { host: { cwd: repo } })).code).toBe(0);
    expect((await machine.svc(['scan', '--staged'])).code).toBe(2);
  });
});

const AWS = ['AKIA', 'Y3M2XTF6BQ4LZWNE'].join('');

const repository = repositories(() => machine);

describe('scan: what is staged equals what is scanned', () => {
  it.each([
    ['with NUL bytes', Buffer.from(`a\0b\nKEY=${AWS}\0c\n`)],
    ['UTF-16 with a byte order mark', Buffer.from(`\ufeffKEY=${AWS}\n`, 'utf16le')],
    ['UTF-16 without a byte order mark', Buffer.from(`KEY=${AWS}\n`, 'utf16le')],
    ['big-endian UTF-16', Buffer.from(`\ufeffKEY=${AWS}\n`, 'utf16le').swap16()],
    [
      'UTF-16 in part',
      Buffer.concat([Buffer.from([0, 1, 2, 0x0a]), Buffer.from(`\u0100 KEY=${AWS}\n`, 'utf16le')]),
    ],
    ['UTF-16 with few Latin letters', Buffer.from(`${'漢字'.repeat(900)}\nKEY=${AWS}\n`, 'utf16le')],
    [
      'UTF-32',
      Buffer.from([...`\ufeffKEY=${AWS}\n`].flatMap((char) => [...Buffer.from(char, 'utf16le'), 0, 0])),
    ],
    [
      'of UTF-16 and then ASCII',
      Buffer.concat([Buffer.from('\ufeffhi\r\n', 'utf16le'), Buffer.from(`${AWS}\r\n`)]),
    ],
    [
      'of big-endian UTF-16 and then ASCII',
      Buffer.concat([Buffer.from('\ufeffhi\n', 'utf16le').swap16(), Buffer.from(`${AWS}\n`)]),
    ],
    [
      'of ASCII after 8 KiB of 16-bit words',
      Buffer.concat([Buffer.from('x'.repeat(4096), 'utf16le'), Buffer.from(`\nKEY=${AWS}\n`)]),
    ],
    [
      'UTF-16 at an odd offset',
      Buffer.concat([
        Buffer.from('\ufeffx', 'utf16le'),
        Buffer.from('\n'),
        Buffer.from(`${AWS}\n`, 'utf16le'),
      ]),
    ],
    ['of 2 MB, at its end', Buffer.from(`${'some words\n'.repeat(180_000)}KEY=${AWS}\n`)],
    [
      'of one line of 2 MB, across the border of two requests',
      Buffer.from(`${'x '.repeat(450_000 - 20)}${AWS}${' y'.repeat(600_000)}`),
    ],
  ])('scan --staged: a file %s is scanned', async (name, content) => {
    const { git, write, scan } = repository(`staged ${name}`);
    write('file', content);
    git('add', '.');
    const found = await scan(['--staged']);
    expect([found.code, placesIn(found)]).toEqual([9, [expect.stringMatching(/^file:\d+:\d+$/)]]);
  });

  it('scan --staged: a token in two encodings of one file is one finding, and two tokens are two', async () => {
    const { git, write, scan } = repository('encodings');
    const other = AWS.replace('Y3', 'Z3');
    write('twice', Buffer.concat([Buffer.from(`\ufeffa\n${AWS}\n`, 'utf16le'), Buffer.from(`${AWS}\n`)]));
    write('two', Buffer.concat([Buffer.from(`\ufeffa\n${AWS}\n`, 'utf16le'), Buffer.from(`${other}\n`)]));
    git('add', '.');
    const places = placesIn(await scan(['--staged']));
    expect(places).toEqual(expect.arrayContaining(['twice:2:1', 'two:2:1']));
    expect(places).toHaveLength(3);
  });

  it('scan --staged: the position in a long file is that of the file', async () => {
    const { git, write, scan } = repository('positions');
    write('file', `${'some words\n'.repeat(180_000)}KEY=${AWS}\n`);
    write('line', `${'x '.repeat(700_000)}${AWS} y`);
    git('add', '.');
    expect(placesIn(await scan(['--staged']))).toEqual(['file:180001:5', 'line:1:1400001']);
  });

  it('scan --staged: links, links that became files, odd names, and files outside the current directory are scanned', async () => {
    const { dir, git, write, scan } = repository('entries');
    fs.symlinkSync('elsewhere', path.join(dir, 'was a link'));
    git('add', '.');
    git('commit', '-qm', 'A link');
    fs.rmSync(path.join(dir, 'was a link'));
    write('was a link', AWS);
    fs.symlinkSync(AWS, path.join(dir, 'link'));
    write(Buffer.from([0x6f, 0xff, 0x0a, 0x64]), AWS);
    write('-c "q" :(top)', AWS);
    fs.mkdirSync(path.join(dir, 'below'));
    git('config', 'diff.relative', 'true');
    git('config', 'diff.noprefix', 'true');
    git('add', '.');
    const found = await scan(['--staged'], path.join(dir, 'below'));
    expect([found.code, placesIn(found)]).toEqual([
      9,
      ['-c "q" :(top):1:1', 'link:1:1', expect.stringMatching(/^o/), 'was a link:1:1'],
    ]);
    git('commit', '-qm', 'All');
    expect((await scan(['--staged'])).stderr).toContain('No credentials found in 0 files.');
  });

  it('scan --staged: an object that stands in for a staged one is not scanned in its place', async () => {
    const { dir, git, write, scan } = repository('replaced');
    write('file', AWS);
    write('clean', 'nothing\n');
    git('add', '.');
    const idOf = (file: string) =>
      execFileSync('git', ['rev-parse', `:${file}`], { cwd: dir, encoding: 'utf8' }).trim();
    git('replace', idOf('file'), idOf('clean'));
    expect(placesIn(await scan(['--staged']))).toEqual(['file:1:1']);
  });

  it('scan: a link that an argument names is scanned, and what is no file is missed', async () => {
    const { dir, write, scan } = repository('named paths');
    write('file', AWS);
    fs.symlinkSync('file', path.join(dir, 'link'));
    fs.symlinkSync('nowhere', path.join(dir, 'broken'));
    execFileSync('mkfifo', [path.join(dir, 'pipe')]);
    expect(placesIn(await scan(['link']))).toEqual(['link:1:1']);
    for (const [name, why] of [
      ['broken', 'cannot be read'],
      ['pipe', 'not a file'],
    ] as const) {
      const missed = await scan([name]);
      expect([missed.code, missed.stderr]).toEqual([
        1,
        expect.stringContaining(`1 file was not scanned: ${name} (${why})`),
      ]);
    }
    expect(placesIn(await scan(['.']))).toEqual(['file:1:1']);
  });

  it('scan: nothing that a repository configures is run', async () => {
    const { dir, git, write, scan } = repository('hostile');
    const ran = path.join(dir, '..', 'ran');
    const program = path.join(dir, 'program.sh');
    fs.writeFileSync(program, `#!/bin/sh\necho "$0 $*" >> '${ran}'\ncat\n`, { mode: 0o755 });
    write('.gitattributes', '* filter=f diff=f textconv=f\n');
    write('a.txt', 'nothing\n');
    git('add', '.');
    for (const [name, value] of Object.entries({
      'core.fsmonitor': program,
      'core.hooksPath': dir,
      'diff.external': program,
      'diff.f.textconv': program,
      'diff.f.command': program,
      'filter.f.clean': program,
      'filter.f.smudge': program,
      'filter.f.process': program,
      'core.pager': program,
      'core.sshCommand': program,
      'core.alternateRefsCommand': program,
    }))
      git('config', name, value);
    fs.rmSync(ran, { force: true });
    for (const argv of [['--staged'], [], ['--sarif']]) expect((await scan(argv)).code).toBe(0);
    expect(fs.existsSync(ran)).toBe(false);
    // A relative directory in PATH, such as node_modules/.bin, is one of the repository.
    fs.copyFileSync(program, path.join(dir, 'git'));
    const env = { PATH: `.:${process.env.PATH}` };
    for (const argv of [['--staged'], []])
      expect((await machine.svc(['scan', ...argv], { env, host: { cwd: dir } })).code).toBe(0);
    expect(fs.existsSync(ran)).toBe(false);
  });

  it('scan --staged: a file that cannot be scanned is named, and the exit code is not 0', async () => {
    const { git, write, scan } = repository('too large');
    write('huge', Buffer.alloc(65 * 1024 * 1024));
    git('add', '.');
    const missed = await scan(['--staged']);
    expect([missed.code, missed.stderr]).toEqual([
      1,
      expect.stringMatching(/1 file was not scanned: huge \(over 64 MiB\)/),
    ]);
    write('.svcscanignore', '/huge\n');
    git('add', '.');
    expect([(await scan(['--staged'])).code, (await scan([])).code]).toEqual([0, 0]);
  });
});

describe('scan: what is accepted', () => {
  it('scan: .svcscanignore leaves out paths that no argument names', async () => {
    const { dir, write, scan, git } = repository('ignoring');
    write('.svcscanignore', '# tests\n*.test\n!kept.test\n/below/\n');
    fs.mkdirSync(path.join(dir, 'below'));
    for (const name of ['a.test', 'kept.test', 'below/b', 'c']) write(name, AWS);
    git('add', '.');
    for (const argv of [[], ['--staged'], ['.']]) {
      const found = await scan(argv);
      expect(placesIn(found)).toEqual(['c:1:1', 'kept.test:1:1']);
      expect(found.stderr).toContain('2 files are ignored by .svcscanignore.');
    }
    expect(placesIn(await scan(['a.test']))).toEqual(['a.test:1:1']);
  });

  it('scan: a baseline accepts what it holds, and nothing else', async () => {
    const { dir, write, scan, git } = repository('baseline');
    write('a', `KEY=${AWS}\n`);
    git('add', '.');
    expect((await scan(['--write-baseline', 'known.json'])).code).toBe(0);
    expect(fs.readFileSync(path.join(dir, 'known.json'), 'utf8')).not.toContain(AWS.slice(4));
    write('a', `moved\nKEY=${AWS}\n`);
    git('add', 'a');
    for (const argv of [[], ['--staged'], ['a'], ['--sarif']]) {
      const same = await scan([...argv, '--baseline', 'known.json']);
      expect([same.code, same.stderr]).toEqual([0, expect.stringContaining('1 finding is in the baseline.')]);
    }
    write('a', `KEY=${AWS.replace('Y3', 'Z3')}\n`);
    expect((await scan(['--baseline', 'known.json'])).code).toBe(9);
    write('b', `KEY=${AWS}\n`);
    git('add', '.');
    expect(placesIn(await scan(['--baseline', 'known.json', 'b']))).toEqual(['b:1:5']);
    write('known.json', '{}');
    expect((await scan(['--baseline', 'known.json'])).code).toBe(2);
  });

  it('scan: the .svc.json of svc init is no finding where its environment is the value of a secret', async () => {
    await set('STAGE', 'development');
    const { scan, write } = repository('initialised');
    write('.svc.json', `${JSON.stringify({ environment: 'development' }, null, 2)}\n`);
    expect((await scan(['.'])).code).toBe(0);
  });

  it('scan: a stored value is named with its secret', async () => {
    await set('NAMED', 'a value with a name');
    const { scan, write } = repository('named');
    write('a', 'a value with a name\n');
    expect((await scan(['a'])).stdout).toContain('\tNAMED (production)\t');
    write('a', 'a value with a name # svc:allow\n');
    expect((await scan(['a'])).code).toBe(0);
  });
});

describe('scan: nothing to scan', () => {
  it('scan: where git tracks nothing, a scan does not pass', async () => {
    const { dir, git, write, scan } = repository('untracked');
    write('leaky.env', `${AWS}\n`);
    const empty = await scan([]);
    expect([empty.code, empty.stdout]).toEqual([2, '']);
    expect(empty.stderr).toContain('git tracks no files in this directory');
    expect((await scan(['--sarif'])).code).toBe(2);
    expect((await scan(['leaky.env'])).code).toBe(9);
    git('add', '.');
    expect((await scan([])).code).toBe(9);
    fs.mkdirSync(path.join(dir, 'below'));
    expect((await scan([], path.join(dir, 'below'))).code).toBe(2);
  });

  it('scan: --staged without a staged file passes, as for a commit of nothing', async () => {
    const { scan } = repository('unstaged');
    expect((await scan(['--staged'])).code).toBe(0);
  });
});
