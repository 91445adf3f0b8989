// Checks every svc command line in the documentation, in blocks and in prose, against the real command tree:
// the command and its options exist, the arguments fit, and none of them is a secret value. Nothing is run.
import { expect, it } from 'vitest';
import { blocksOf, markdownFiles, read } from '../../../../test/scripts/docs/markdown.mjs';
import { COMMANDS } from '../../src/commands/index.ts';
import { commandsOf, understood } from './lines.ts';

interface Line {
  at: string;
  words: string[];
  /** Whether it is complete: prose mentions commands without their arguments. */
  isWhole: boolean;
}

const TOKEN = /svc(_live_|sess_|ag_|prov_|bg_)[A-Za-z0-9]/;
const SHELLS = ['sh', 'bash', 'text', 'yaml', 'dockerfile'];
/** After these words, `svc` is not a command: `command -v svc`, `-w packages/cli`. */
const NAMES_IT = ['-v', 'add'];

/** The words after `svc` in a command. */
function argumentsOf(words: string[]): string[] | undefined {
  const at = words.findIndex((word, n) => word === 'svc' && !NAMES_IT.includes(words[n - 1] ?? ''));
  return at < 0 ? undefined : words.slice(at + 1);
}

const linesIn = (at: string, text: string, isWhole: boolean): Line[] =>
  commandsOf(text).flatMap((command) => {
    const words = argumentsOf(command);
    return words ? [{ at, words, isWhole }] : [];
  });

function inBlocks(file: string): Line[] {
  return blocksOf(read(file)).flatMap(({ language, text, line }) => {
    const at = `${file}:${line}`;
    if (language === 'json' && text.includes('"command": "svc"')) return startedBy(at, text);
    // A step in YAML begins after its key. A text block can contain anything: only lines that begin with svc
    // count.
    const script = language === 'yaml' ? text.replace(/^\s*(- )?(\w+: )?/gm, '') : text;
    const lines =
      language === 'text' ? (text.match(/^(npx (--no-install )?)?svc .*$/gm) ?? []).join('\n') : script;
    return SHELLS.includes(language) ? linesIn(at, lines, true) : [];
  });
}

/** The svc command in the configuration of an MCP client. */
function startedBy(at: string, text: string): Line[] {
  const config = JSON.parse(text) as Record<string, Record<string, { args: string[] }>>;
  return Object.values(config).flatMap((servers) =>
    Object.values(servers).map(({ args }) => ({ at, words: args, isWhole: true })),
  );
}

function inProse(file: string): Line[] {
  const prose = read(file).replace(/^```[\s\S]*?^```$/gm, '');
  return [...prose.matchAll(/`((?:npx (?:--no-install )?)?svc\s[^`]+)`/g)].flatMap(([, text = '']) =>
    linesIn(file, text.replace(/\s+/g, ' '), false),
  );
}

/** The problem with a line. */
async function problemOf({ words, isWhole }: Line): Promise<string | undefined> {
  const [top] = words;
  // `svc` alone prints its help, and is a name in YAML.
  if (top === undefined) return undefined;
  // Accepts `svc --version`, `svc COMMAND --help`, the usage lines of the reference, and the name of a
  // command or group.
  if (/^(--?\w|COMMAND$)/.test(top) || words.some((word) => ['--help', '[options]'].includes(word)))
    return undefined;
  if (!isWhole && words.length === 1 && top in COMMANDS) return undefined;
  if (words.some((word) => TOKEN.test(word))) return 'an argument contains a token';
  const { error, rest = [] } = await understood(words);
  if (['set', 'rotate'].includes(top) && rest.length > 0) return 'an argument contains a value';
  return isWhole || !/missingArgument|argument '[A-Z]+' is invalid/.test(error ?? '') ? error : undefined;
}

it('documents: every svc command line is valid, and none contains a value or a token', async () => {
  const lines = markdownFiles().flatMap((file) => [...inBlocks(file), ...inProse(file)]);
  expect(lines.length).toBeGreaterThan(250);
  const wrong: string[] = [];
  for (const line of lines) {
    const problem = await problemOf(line);
    if (problem) wrong.push(`${line.at}: svc ${line.words.join(' ')}: ${problem}`);
  }
  expect(wrong).toEqual([]);
});

it.each([
  ['svc no-such', 'no such command'],
  ['svc key no-such', 'commander'],
  ['svc get A --no-such', 'unknownOption'],
  ['svc get', 'missingArgument'],
  ['svc set NAME value', 'a value'],
  ['echo x | svc rotate NAME "$VALUE" | cat', 'a value'],
  ['TOKEN=$(svc get A --reason svc_live_abcdefgh)', 'a token'],
])('documents: %s would be found', async (text, problem) => {
  const [line] = linesIn('here', text, true);
  expect(line && (await problemOf(line))).toContain(problem);
});
