// Generates docs/reference/cli.md from the command tree.
import { COMMANDS } from '../commands/index.ts';
import type { Entry } from '../definition/command.ts';
import { commonOptions } from '../definition/options.ts';
import { type Leaf, leaves } from '../definition/tree.ts';
import { EXIT_CODES } from '../errors.ts';
import { PATTERNS } from '../run/steering.ts';

const cell = (text: string) => text.replaceAll('|', '\\|');

const VARIABLES: Record<string, string> = {
  SVC_URL: 'address of the vault',
  SVC_ORG_ID: 'id of the organisation',
  SVC_ENVIRONMENT: 'slug or id of the environment',
  SVC_PROFILE: 'profile of `svc login`; default: `default`',
  SVC_TOKEN: 'API key or other token, used instead of the stored credential',
  SVC_TRUST_ID: 'id of the trust that accepts the OIDC token of the job; used if no credential is stored',
  'SVC_ID_TOKEN, SVC_ID_TOKEN_FILE':
    'OIDC token, or a file that contains it, on platforms where svc does not find it automatically',
  SVC_REASON: 'reason to record in the audit log with each request',
  BOOTSTRAP_TOKEN: 'bootstrap token of a deployment, used only by `svc org`',
  SVC_KEYCHAIN: '`off`: store credentials in files, never in the system keychain',
  NO_COLOR: 'disables colours',
};

/** The page. */
export async function referencePage(): Promise<string> {
  const commands = await leaves(COMMANDS);
  const sections = [...new Set(Object.values(COMMANDS).map(({ section }) => section))];
  return `${[INTRO, exitCodes(), variables(), settings, reserved(), common(commands), ...sections.map((section) => sectionOf(section, commands))].join('\n\n')}\n`;
}

const INTRO = `# Command line

The commands and options of \`svc\`. For how to use them, see [Command line](../guides/cli.md). \`svc COMMAND --help\` shows the same text. This page is generated from
the commands; a test compares it with them.`;

const exitCodes = () =>
  [
    '## Exit codes',
    '',
    'Exit codes are stable.',
    '',
    '| code | meaning |',
    '|---|---|',
    ...Object.values(EXIT_CODES).map(([code, what]) => `| ${code} | ${what} |`),
    '',
    '`svc run` exits with the exit code of its command.',
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

Address, organisation and environment are read from the first of these that sets them: the option, the variable, \`.svc.json\` in the directory or the nearest
parent directory, the profile. If no environment is set, svc uses the organisation's default environment.

| file | content |
|---|---|
| \`.svc.json\` | \`url\`, \`org\`, \`environment\`; \`profile\`; \`prefixes\` of \`svc run\` and \`svc export\`; \`secrets\`, the names that the project expects. Other fields are refused |
| \`~/.config/svc/config.json\` | profiles with the same fields, written by \`svc login\`. \`$XDG_CONFIG_HOME\` and, on Windows, \`%APPDATA%\` replace \`~/.config\` |
| \`~/.config/svc/credentials/\` | one file for each profile and address, readable only by you: the credential, or a note that it is in the keychain |
| \`~/.config/svc/fallback.key\` | the key of [fallback copies](../guides/cli.md#when-the-vault-cannot-be-reached), if there is no keychain |`;

const reserved = () =>
  [
    '## Variables that steer programs',
    '',
    '`svc run` sets a variable that matches one of these patterns, in upper or lower case, only if `.svc.json` lists the secret or',
    '`--allow-reserved` names the variable:',
    '',
    '```text',
    ...rowsOf(PATTERNS.steering),
    '```',
    '',
    `Names of what a client signs in with steer nothing else, and pass, except ${PATTERNS.never.map((name) => `\`${name}\``).join(', ')}:`,
    '',
    '```text',
    ...rowsOf(PATTERNS.credentials),
    '```',
    '',
    'These need `--allow-reserved` even if `.svc.json` lists them. The loader runs code in every program, and `SVC_*` tells `svc` itself where',
    'its credentials go. Only the person who runs the command should decide that, not the repository:',
    '',
    '```text',
    ...rowsOf(PATTERNS.reserved),
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
  const all = Object.assign({}, ...commands.map(({ command }) => commonOptions(command))) as Record<
    string,
    string
  >;
  return [
    '## Common options',
    '',
    'Every command has `--json` and `--help`. Commands that send requests to the vault have the other options where they apply.',
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
    ...Object.entries(options).map(
      ([flags, spec]) => [flags, typeof spec === 'string' ? spec : described(spec)] as const,
    ),
  ];
  if (rows.length > 0)
    lines.push(
      '| argument or option | meaning |',
      '|---|---|',
      ...rows.map(([what, meaning]) => `| \`${cell(what)}\` | ${cell(meaning)} |`),
      '',
    );
  for (const note of notes) lines.push(note.replaceAll('<', '&lt;'), '');
  for (const [line, what] of Object.entries(examples))
    lines.push(`${what}:`, '', '```text', `svc ${line}`, '```', '');
  return lines.join('\n').trimEnd();
}

const described = ({ description, choices }: { description: string; choices?: readonly string[] }) =>
  choices ? `${description}: ${choices.map((choice) => `\`${choice}\``).join(', ')}` : description;
