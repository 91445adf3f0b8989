// Help, examples, completions and the reference page, all generated from the command tree.
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { COMMANDS } from '../../src/commands/index.ts';
import { type Leaf, leaves } from '../../src/definition/tree.ts';
import { EXIT_CODES } from '../../src/errors.ts';
import { referencePage } from '../../src/program/reference.ts';
import { BIN, Machine, signedIn } from '../harness.ts';
import { commandsOf, understood } from './lines.ts';

const machine = new Machine();
let commands: Leaf[];
beforeAll(async () => {
  commands = await leaves(COMMANDS);
});

describe('help', () => {
  it('help: the list contains every command with its summary', async () => {
    for (const argv of [['--help'], ['help'], ['-h']]) {
      const { code, stdout } = await machine.svc(argv);
      expect(code).toBe(0);
      for (const [name, { summary }] of Object.entries(COMMANDS))
        expect(stdout).toMatch(new RegExp(`^  ${name} +${summary}$`, 'm'));
    }
  });

  it('help: every command has help with an example and its options', async () => {
    for (const { name, command } of commands) {
      const { code, stdout } = await machine.svc([...name.split(' '), '--help']);
      expect(code).toBe(0);
      expect(stdout, name).toContain('Examples:');
      expect(Object.keys(command.examples).length).toBeGreaterThan(0);
      for (const flags of Object.keys(command.options ?? {})) expect(stdout, name).toContain(flags);
    }
  });

  it('help: every example is a valid command line', async () => {
    for (const { name, command } of commands)
      for (const line of Object.keys(command.examples)) {
        const [words = []] = commandsOf(line);
        expect(words.join(' ').startsWith(name), line).toBe(true);
        expect(await understood(words), line).not.toHaveProperty('error');
      }
  });

  it('usage: an invalid command or option exits with 2 and an error', async () => {
    for (const argv of [
      ['no-such'],
      ['get'],
      ['get', 'A', 'B'],
      ['get', 'A', '--no-such'],
      ['key'],
      ['key', 'no-such'],
      ['list', '--type', 'x'],
      [],
    ]) {
      const { code, stdout, stderr } = await machine.svc(argv);
      expect({ argv, code, stdout }).toEqual({ argv, code: 2, stdout: '' });
      expect(stderr).toMatch(/^error: /);
    }
  });
});

describe('start', () => {
  it('start: the version is printed in under 150 ms of CPU time, without loading a command', () => {
    const times: number[] = [];
    for (let n = 0; n < 5; n++) {
      const script =
        "const s = process.cpuUsage(); process.on('exit', () => { const { user, system } = process.cpuUsage(s); process.stderr.write(String((user + system) / 1000)); });";
      const { stderr, stdout } = spawnSync(
        process.execPath,
        ['--import', `data:text/javascript,${encodeURIComponent(script)}`, BIN, '--version'],
        { encoding: 'utf8', env: machine.env },
      );
      expect(stdout).toMatch(/^\d+\.\d+\.\d+\n$/);
      times.push(Number(stderr));
    }
    expect(Math.min(...times)).toBeLessThan(150);
  });
});

describe('completion', () => {
  it.each(['bash', 'zsh', 'fish'])(
    'completion %s: the script contains every command, and the shell parses it',
    async (shell) => {
      const { code, stdout } = await machine.svc(['completion', shell]);
      expect(code).toBe(0);
      for (const { name } of commands) expect(stdout).toContain(name.split(' ').at(-1));
      const file = machine.write(`completion.${shell}`, stdout);
      const checked = spawnSync(shell, ['-n', file], { encoding: 'utf8' });
      if (!checked.error) expect(checked.stderr).toBe('');
    },
  );

  it('completion bash: commands, subcommands and options are completed', async () => {
    const { stdout } = await machine.svc(['completion', 'bash']);
    const file = machine.write('completion.bash', stdout);
    const complete = (...words: string[]) => {
      const script = `source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); compopt() { :; }; _svc; printf '%s\\n' "\${COMPREPLY[@]}"`;
      return spawnSync('bash', ['-c', script, 'bash', file, ...words], { encoding: 'utf8' })
        .stdout.trim()
        .split('\n');
    };
    expect(complete('svc', 'ro')).toEqual(['rollback', 'rotate']);
    expect(complete('svc', 'key', '')).toEqual(['list', 'create', 'rotate', 'revoke']);
    expect(complete('svc', 'key', 'rotate', '--ov')).toEqual(['--overlap']);
    expect(complete('svc', 'get', 'NAME', '--ver')).toEqual(['--version']);
    // Files, by the default of bash.
    expect(complete('svc', 'run', '--', 'node', '')).toEqual(['']);
  });
});

describe('completion of names', () => {
  let at: Awaited<ReturnType<typeof signedIn>>;
  beforeAll(async () => {
    at = await signedIn();
    for (const name of ['billing/KEY', 'billing/URL', 'OTHER'])
      await at.machine.svc(['set', name, '-e', 'staging'], { stdin: 'v' });
    const bin = path.join(at.machine.work, 'bin');
    fs.mkdirSync(bin);
    fs.symlinkSync(BIN, path.join(bin, 'svc'));
    at.machine.env.PATH = `${bin}:${process.env.PATH}`;
  });
  const SCRIPTS = {
    bash: `source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); compopt() { :; }; _svc; printf '%s\\n' "\${COMPREPLY[@]}"`,
    zsh: `source "$1"; shift; words=("$@"); CURRENT=$#; _describe() { print -l -- "\${(@P)2}"; }; _svc`,
  };

  it.each(['bash', 'zsh'] as const)(
    'completion %s: names of secrets and environments are completed',
    async (shell) => {
      if (spawnSync(shell, ['--version']).error) return;
      const { stdout } = await at.machine.svc(['completion', shell]);
      const file = at.machine.write(`names.${shell}`, stdout);
      const complete = (...words: string[]) => {
        const argv =
          shell === 'zsh' ? ['-f', '-c', SCRIPTS.zsh, 'zsh', file] : ['-c', SCRIPTS.bash, 'bash', file];
        const ran = spawnSync(shell, [...argv, ...words], {
          encoding: 'utf8',
          env: at.machine.env,
          cwd: at.machine.work,
        });
        return ran.stdout.trim().split('\n');
      };
      expect(complete('svc', 'get', '--env', 'staging', 'billing/')).toEqual(['billing/KEY', 'billing/URL']);
      expect(complete('svc', 'copy', '--from', 'staging', '--to', 'development', 'O')).toEqual(['OTHER']);
      expect(complete('svc', 'list', '--env', '')).toEqual(
        expect.arrayContaining(['development', 'production', 'staging']),
      );
      expect(complete('svc', 'diff', 'staging', '')).toContain('production');
      expect(complete('svc', 'get', '--')).toContain('--env');
    },
  );
});

describe('wrong usage', () => {
  it.each([
    [['import'], 'The argument file is required.', 'svc import --help'],
    [['get', 'A', 'sw0rdfish'], 'Too many arguments: expected 1 argument, not 2.', 'svc get --help'],
    [['rotat', 'sw0rdfish'], 'Unknown command.', 'Did you mean rotate?'],
    [['key', 'creat', 'sw0rdfish'], 'Unknown command.', 'Did you mean create?'],
    [['key'], 'A command is required.', 'svc key --help'],
    [['list', '--statu', 'sw0rdfish'], 'Unknown option --statu.', 'Did you mean --status?'],
    [['list', '--secret=sw0rdfish'], 'Unknown option --secret.', 'svc list --help'],
    [['list', '-xsw0rdfish'], 'Unknown option -x.', 'svc list --help'],
    [['list', '--env'], 'The option -e, --env <slug> requires a value.', 'svc list --help'],
    [
      ['list', '--status', 'sw0rdfish'],
      '--status must be one of active, expired, revoked, deleted.',
      'svc list --help',
    ],
  ])('usage: svc %j names what is wrong and the help, and repeats no value', async (argv, message, next) => {
    const { code, stderr } = await machine.svc(argv);
    expect(code).toBe(2);
    expect(stderr).toContain(message);
    expect(stderr).toContain(next);
    expect(stderr).not.toContain('sw0rdfish');
  });
});

describe('reference', () => {
  const page = path.resolve(import.meta.dirname, '..', '..', '..', '..', 'docs', 'reference', 'cli.md');

  it('reference: docs/reference/cli.md is current (npm run reference -w packages/cli generates it)', async () => {
    const made = await referencePage();
    if (process.env.WRITE_REFERENCE) fs.writeFileSync(page, made);
    expect(fs.readFileSync(page, 'utf8') === made).toBe(true);
  });

  it('reference: exit codes are distinct', () => {
    const codes = Object.values(EXIT_CODES).map(([code]) => code);
    expect(new Set(codes).size).toBe(codes.length);
  });
});
