// Assignments for shells, and the format shell. Invariant: a value is in single quotes, in which a shell changes no character; names that
// control the shell or the loader are refused, so reading the file runs nothing and affects no other program.
import { environmentStyle, type NameRule, without } from '../names';
import { format, none, nul } from './format';

/** Names with which a shell, the loader or an interpreter can be made to run other code. */
const STEERING = [
  ...['PATH', 'LD_PRELOAD', 'LD_LIBRARY_PATH', 'LD_AUDIT', 'BASH_ENV', 'ENV', 'IFS', 'PROMPT_COMMAND', 'PS4'],
  ...['NODE_OPTIONS', 'PYTHONSTARTUP', 'GIT_SSH_COMMAND'],
];

/** Names that shells set themselves or protect: an assigned value is not read back. */
const KEPT_BY_SHELLS = [
  ...['_', 'BASHOPTS', 'BASHPID', 'BASH_ALIASES', 'BASH_ARGC', 'BASH_ARGV', 'BASH_ARGV0', 'BASH_CMDS', 'BASH_COMMAND', 'BASH_LINENO'],
  ...['BASH_MONOSECONDS', 'BASH_SOURCE', 'BASH_SUBSHELL', 'BASH_VERSINFO', 'COMP_WORDBREAKS', 'DIRSTACK', 'EPOCHREALTIME', 'EPOCHSECONDS'],
  ...['EUID', 'FUNCNAME', 'GROUPS', 'HISTCMD', 'LINENO', 'OPTIND', 'PPID', 'RANDOM', 'SECONDS', 'SHELLOPTS', 'SRANDOM', 'UID'],
];

function steers(key: string): string | null {
  // safety: generated-shell-names
  if (STEERING.includes(key) || key.startsWith('DYLD_')) return 'is a name that controls the shell or the loader';
  return KEPT_BY_SHELLS.includes(key) ? 'is a name that shells reserve' : null;
}

/** Names that are allowed in shells. */
const shellNames: NameRule = without(environmentStyle, steers);
export const refusesShellName = steers;

/** A text in single quotes: a quote inside ends them, is added with a backslash, and reopens them. */
// safety: generated-shell-quoting
export const singleQuoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;

export const shell = format({
  format: 'shell',
  filename: 'env.sh',
  contentType: 'text/x-shellscript',
  options: none,
  names: shellNames,
  refuses: nul,
  *render(entries) {
    for (const { key, value } of entries) yield `export ${key}=${singleQuoted(value)}\n`;
  },
});
