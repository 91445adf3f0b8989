// docs/reference/cli.md, made from the tree of commands.

import { COMMANDS, type Entry } from './commands/index.ts';
import { commonOptions } from './common.ts';
import { EXIT_CODES } from './errors.ts';
import { reservedNames } from './run/variables.ts';
import { type Leaf, leaves } from './tree.ts';

const cell = (text: string) => text.replaceAll('|', '\\|');

const VARIABLES: Record<string, string> = {
  SVC_URL: "the vault's address",
  SVC_ORG_ID: 'the organisation',
  SVC_ENVIRONMENT: 'the environment, by its slug or id',
  SVC_PROFILE: 'the profile of `svc login`; `default` where there is none',
  SVC_TOKEN: 'an API key or another token, used in place of what `svc login` stored',
  SVC_TRUST_ID: 'the trust that accepts the OIDC token of the job; used where nothing is stored',
  'SVC_ID_TOKEN, SVC_ID_TOKEN_FILE': 'the OIDC token, or a file with it, on platforms where svc does not find it by itself',
  SVC_REASON: 'why; the audit log keeps it with each request',
  BOOTSTRAP_TOKEN: 'the bootstrap token of a deployment, for `svc org` alone',
  SVC_KEYCHAIN: '`off`: store credentials in files, never in the keychain of the system',
  NO_COLOR: 'no colours',
};

/** The page. */
export async function referencePage(): Promise<string> {
  const commands = await leaves();
  const sections = [...new Set(Object.values(COMMANDS).map(({ section }) => section))];
  return `${[INTRO, exitCodes(), variables(), settings, reserved(), common(commands), ...sections.map((section) => sectionOf(section, commands))].join('\n\n')}\n`;
}

const INTRO = `# Command line

What \`svc\` takes. [Command line](../guides/cli.md) shows how to use it. \`svc COMMAND --help\` says the same in the terminal. This page is made from
the commands; a test compares it with them.`;

const exitCodes = () =>
  [
    '## Exit codes',
    '',
    'They are stable.',
    '',
    '| code | meaning |',
    '|---|---|',
    ...Object.values(EXIT_CODES).map(([code, what]) => `| ${code} | ${what} |`),
    '',
    '`svc run` ends with the exit code of its command.',
  ].join('\n');

const variables = () =>
  [
    '## Environment variables',
    '',
    '| variable | meaning |',
    '|---|---|',
    ...Object.entries(VARIABLES).map(([name, what]) => `| \`${name.replaceAll(', ', '`, `')}\` | ${what} |`),
  ].join('\n');

const settings = `## Settings

Address, organisation and environment come from the first of these that has them: the option, the variable, \`.svc.json\` of the directory or the nearest
one above it, the profile. Without an environment, the default one of the organisation is meant.

| file | holds |
|---|---|
| \`.svc.json\` | \`url\`, \`org\`, \`environment\`. Nothing else is accepted |
| \`~/.config/svc/config.json\` | profiles: the same for each, written by \`svc login\`. \`$XDG_CONFIG_HOME\` and, on Windows, \`%APPDATA%\` replace \`~/.config\` |
| \`~/.config/svc/credentials/\` | a file for each profile and address, readable by you alone: the credential, or that it is in the keychain |
| \`~/.config/svc/fallback.key\` | the key of [fallback copies](../guides/cli.md#when-the-vault-cannot-be-reached), where there is no keychain |`;

const reserved = () =>
  [
    '## Reserved names',
    '',
    '`svc run` sets none of these variables, in any case of letters, unless `--allow-reserved` names them:',
    '',
    '```text',
    ...rowsOf(reservedNames()),
    '```',
  ].join('\n');

/** Names in rows that fit on a screen. */
function rowsOf(names: string[]): string[] {
  const rows: string[] = [''];
  for (const name of names) {
    const row = `${rows.at(-1)} ${name}`.trim();
    if (row.length > 100) rows.push(name);
    else rows[rows.length - 1] = row;
  }
  return rows;
}

function common(commands: Leaf[]): string {
  const all = Object.assign({}, ...commands.map(({ command }) => commonOptions(command))) as Record<string, string>;
  return [
    '## Common options',
    '',
    'Every command has `--json` and `--help`. Commands that ask the vault have the others, as far as they mean something there.',
    '',
    '| option | meaning |',
    '|---|---|',
    ...Object.entries(all).map(([flags, what]) => `| \`${flags}\` | ${cell(what)} |`),
  ].join('\n');
}

const sectionOf = (section: Entry['section'], commands: Leaf[]) =>
  [`## ${section}`, ...commands.filter((leaf) => leaf.section === section).map(commandOf)].join('\n\n');

function commandOf({ name, summary, command }: Leaf): string {
  const { args = {}, options = {}, examples, notes = [] } = command;
  const lines = [
    `### svc ${name}`,
    '',
    `${summary}.`,
    '',
    '```text',
    `svc ${[name, ...Object.keys(args).filter((arg) => !arg.startsWith('[value')), '[options]'].join(' ')}`,
    '```',
    '',
  ];
  const rows = [
    ...Object.entries(args),
    ...Object.entries(options).map(([flags, spec]) => [flags, typeof spec === 'string' ? spec : described(spec)] as const),
  ];
  if (rows.length > 0)
    lines.push(
      '| argument or option | meaning |',
      '|---|---|',
      ...rows.map(([what, meaning]) => `| \`${cell(what)}\` | ${cell(meaning)} |`),
      '',
    );
  for (const note of notes) lines.push(note.replaceAll('<', '&lt;'), '');
  for (const [line, what] of Object.entries(examples)) lines.push(`${what}:`, '', '```text', `svc ${line}`, '```', '');
  return lines.join('\n').trimEnd();
}

const described = ({ description, choices }: { description: string; choices?: readonly string[] }) =>
  choices ? `${description}: ${choices.map((choice) => `\`${choice}\``).join(', ')}` : description;
