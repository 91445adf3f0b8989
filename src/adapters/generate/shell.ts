// Assignments for shells, and the format shell. Invariant: a value stands between single quotes, in which a shell takes every character as it
// is; a name that steers the shell or the loader is refused, so that reading the file runs nothing and changes no other program.
import { environmentStyle, type NameRule, without } from '../names';
import { format, none, nul } from './format';

/** Names by which a shell, the loader or an interpreter is made to run something else. */
const STEERING = [
  ...['PATH', 'LD_PRELOAD', 'LD_LIBRARY_PATH', 'LD_AUDIT', 'BASH_ENV', 'ENV', 'IFS', 'PROMPT_COMMAND', 'PS4'],
  ...['NODE_OPTIONS', 'PYTHONSTARTUP', 'GIT_SSH_COMMAND'],
];

/** Names that shells set themselves, or let nobody set: what is assigned does not come back. */
const KEPT_BY_SHELLS = [
  ...['_', 'BASHOPTS', 'BASHPID', 'BASH_ALIASES', 'BASH_ARGC', 'BASH_ARGV', 'BASH_ARGV0', 'BASH_CMDS', 'BASH_COMMAND', 'BASH_LINENO'],
  ...['BASH_MONOSECONDS', 'BASH_SOURCE', 'BASH_SUBSHELL', 'BASH_VERSINFO', 'COMP_WORDBREAKS', 'DIRSTACK', 'EPOCHREALTIME', 'EPOCHSECONDS'],
  ...['EUID', 'FUNCNAME', 'GROUPS', 'HISTCMD', 'LINENO', 'OPTIND', 'PPID', 'RANDOM', 'SECONDS', 'SHELLOPTS', 'SRANDOM', 'UID'],
];

function steers(key: string): string | null {
  // safety: generated-shell-names
  if (STEERING.includes(key) || key.startsWith('DYLD_')) return 'is a name that steers the shell or the loader';
  return KEPT_BY_SHELLS.includes(key) ? 'is a name that shells keep for themselves' : null;
}

/** Names that a shell may be given. */
export const shellNames: NameRule = without(environmentStyle, steers);
export const refusesShellName = steers;

/** A text between single quotes: a quote inside ends them, stands alone behind a backslash, and begins them again. */
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
