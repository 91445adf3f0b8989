// Completion with a hostile vault: no name that it sends runs, is expanded by the shell, or gets onto the
// command line. Runs real shells.
import { execFile, spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { BIN, Machine } from '../harness.ts';
import { answeringEverything, answerOf, type Hostile, startHostile } from '../hostile.ts';

let hostile: Hostile;
let machine: Machine;
beforeAll(async () => {
  hostile = await startHostile();
  machine = new Machine({
    SVC_URL: hostile.url,
    SVC_TOKEN: 'svcag_x',
    SVC_ORG_ID: 'org_1',
    SVC_ENVIRONMENT: 'staging',
  });
  const bin = path.join(machine.dir, 'bin');
  fs.mkdirSync(bin);
  fs.symlinkSync(BIN, path.join(bin, 'svc'));
  machine.env.PATH = `${bin}:${process.env.PATH}`;
  machine.write('aa file', '');
});
afterAll(() => hostile.close());

/** Where code of a name would leave a trace. */
const trace = () => path.join(machine.dir, 'ran');

/** Names that a shell would run or expand, or that change the command line when they are inserted. */
const attacks = () => [
  `$(touch\${IFS}${trace()})`,
  `\`touch\${IFS}${trace()}\``,
  `a[$(touch\${IFS}${trace()})]`,
  `;touch\${IFS}${trace()};`,
  `A>${trace()}`,
  '*',
  'a*',
  '[a]?',
  '{a,b}',
  '~',
  '$HOME',
  '-A',
  '--url',
  'A B',
  'A\nB',
  'A\tB',
  "A'B",
  'A\\B',
  'A:B',
  '!!',
  '',
];

const SCRIPTS = {
  bash: [
    '-c',
    `source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); compopt() { :; }; _svc; printf '%s\\n' "\${COMPREPLY[@]}"`,
  ],
  zsh: [
    '-f',
    '-c',
    `source "$1"; shift; words=("$@"); CURRENT=$#; _files() { :; }; _describe() { print -rl -- "\${(@P)2}"; }; _svc`,
  ],
};
type Shell = keyof typeof SCRIPTS;

/** What a shell offers after these words; `names` replaces the function that asks the vault. */
async function complete(shell: Shell, words: string[], names = ''): Promise<string[]> {
  const { stdout: script } = await machine.svc(['completion', shell]);
  const file = machine.write(`../completion.${shell}`, `${script}\n${names}`);
  const { stdout } = await promisify(execFile)(shell, [...SCRIPTS[shell], shell, file, 'svc', ...words], {
    env: machine.env,
    cwd: machine.work,
  });
  return stdout.split('\n').filter(Boolean);
}

const installed = (['bash', 'zsh'] as const).filter((shell) => !spawnSync(shell, ['--version']).error);

describe('completion with a hostile vault', () => {
  it.each(
    installed.flatMap((shell) =>
      [
        ['secrets', ['get', '']],
        ['secrets', ['get', 'a']],
        ['deleted', ['restore', '']],
        ['environments', ['environment', 'rename', '']],
        ['environments', ['list', '--env', '']],
      ].map(([kind, words]) => [shell, kind, words] as [Shell, string, string[]]),
    ),
  )('completion %s: names of %s after %j are neither run nor offered', async (shell, _, words) => {
    const [first = ''] = attacks();
    hostile.handler = (request, response) => {
      const { pathname } = new URL(request.url ?? '', hostile.url);
      const [page, item] = pathname.endsWith('/environments')
        ? ['EnvironmentPage', 'Environment']
        : ['SecretPage', 'Secret'];
      if (!/\/(environments|secrets)$/.test(pathname)) return answeringEverything(first)(request, response);
      response.writeHead(200, { 'Content-Type': 'application/json' });
      response.end(
        JSON.stringify(
          answerOf(page, 'x', { data: [...attacks(), 'a.valid/NAME-1'].map((text) => answerOf(item, text)) }),
        ),
      );
    };
    expect(await complete(shell, words)).toEqual(['a.valid/NAME-1']);
    expect(fs.existsSync(trace())).toBe(false);
  });

  it.each(installed)(
    'completion %s: words are matched as text, without the expansions of the shell',
    async (shell) => {
      fs.writeFileSync(path.join(machine.dir, 'names'), attacks().join('\n'));
      const names = `_svc_names() { cat '${path.join(machine.dir, 'names')}'; }`;
      const lines = attacks().join('\n').split('\n').filter(Boolean);
      expect(await complete(shell, ['get', ''], names)).toEqual(expect.arrayContaining(lines));
      const matching = await complete(shell, ['get', '[a'], names);
      if (shell === 'bash') expect(matching).toEqual(['[a]?']);
      expect(fs.existsSync(trace())).toBe(false);
    },
  );

  it('completion: the words of a script contain nothing that a shell expands', async () => {
    for (const shell of ['bash', 'zsh', 'fish']) {
      const { stdout } = await machine.svc(['completion', shell]);
      expect(stdout).not.toMatch(/^[^#\n]*compgen/m);
      expect(stdout).not.toMatch(/=\(\$\(/);
    }
  });
});
