// Assignments for shells, and the format shell. Invariant: a value is in single quotes, in which a shell
// changes no character; names that control the shell or the loader are refused, so reading the file runs
// nothing and affects no other program.
import { environmentStyle, type NameRule, without } from '../names';
import { format, none, nul } from './format';

/** Names that change how a shell reads, runs or prompts: the variables that bash, dash and ksh use. */
const READ_BY_SHELLS = [
  ...[
    'PATH',
    'ENV',
    'IFS',
    'CDPATH',
    'FPATH',
    'HOME',
    'PWD',
    'OLDPWD',
    'SHELL',
    'SHLVL',
    'TMPDIR',
    'TMOUT',
    'LANG',
    'LANGUAGE',
    'INPUTRC',
  ],
  ...[
    'PS0',
    'PS1',
    'PS2',
    'PS3',
    'PS4',
    'PROMPT_COMMAND',
    'PROMPT_DIRTRIM',
    'TIMEFORMAT',
    'POSIXLY_CORRECT',
    'POSIX_PEDANTIC',
    'FUNCNEST',
  ],
  ...[
    'GLOBIGNORE',
    'EXECIGNORE',
    'FIGNORE',
    'IGNOREEOF',
    'MAIL',
    'MAILCHECK',
    'MAILPATH',
    'HISTFILE',
    'HISTFILESIZE',
    'HISTSIZE',
  ],
  ...[
    'HISTCONTROL',
    'HISTIGNORE',
    'HISTTIMEFORMAT',
    'HISTEDIT',
    'HOSTFILE',
    'FCEDIT',
    'EDITOR',
    'VISUAL',
    'EMACS',
    'INSIDE_EMACS',
  ],
  ...[
    'CHILD_MAX',
    'COLUMNS',
    'LINES',
    'OPTARG',
    'OPTERR',
    'TEXTDOMAIN',
    'TEXTDOMAINDIR',
    'ZDOTDIR',
    'histchars',
    'auto_resume',
  ],
];

/**
 * The same in zsh: parameters that it uses, arrays that are tied to variables, and those of its module
 * zsh/parameter (zshparam(1), zshmodules(1)).
 */
const READ_BY_ZSH = [
  ...[
    'path',
    'fpath',
    'cdpath',
    'mailpath',
    'manpath',
    'module_path',
    'fignore',
    'psvar',
    'watch',
    'MANPATH',
    'MODULE_PATH',
    'PSVAR',
  ],
  ...[
    'prompt',
    'PROMPT',
    'PROMPT2',
    'PROMPT3',
    'PROMPT4',
    'RPROMPT',
    'RPROMPT2',
    'RPS1',
    'RPS2',
    'SPROMPT',
    'NULLCMD',
    'READNULLCMD',
  ],
  ...[
    'argv',
    'ARGC',
    'status',
    'pipestatus',
    'signals',
    'options',
    'aliases',
    'functions',
    'commands',
    'builtins',
    'parameters',
    'modules',
  ],
  ...[
    'WATCH',
    'WATCHFMT',
    'LOGCHECK',
    'REPORTTIME',
    'SAVEHIST',
    'KEYTIMEOUT',
    'STTY',
    'WORDCHARS',
    'DIRSTACKSIZE',
    'dirstack',
    'historywords',
  ],
];

/**
 * Names with which the loader, the C library or an interpreter can be made to run other code:
 * https://man7.org/linux/man-pages/man8/ld.so.8.html
 */
const READ_BY_LOADERS = [
  ...[
    'LD_PRELOAD',
    'LD_LIBRARY_PATH',
    'LD_AUDIT',
    'LD_ASSUME_KERNEL',
    'LD_BIND_NOT',
    'LD_BIND_NOW',
    'LD_DEBUG',
    'LD_DEBUG_OUTPUT',
  ],
  ...[
    'LD_DYNAMIC_WEAK',
    'LD_HWCAP_MASK',
    'LD_ORIGIN_PATH',
    'LD_POINTER_GUARD',
    'LD_PREFER_MAP_32BIT_EXEC',
    'LD_PROFILE',
  ],
  ...[
    'LD_PROFILE_OUTPUT',
    'LD_SHOW_AUXV',
    'LD_TRACE_LOADED_OBJECTS',
    'LD_USE_LOAD_BIAS',
    'LD_VERBOSE',
    'LD_WARN',
    'GLIBC_TUNABLES',
  ],
  ...[
    'GCONV_PATH',
    'LOCPATH',
    'NODE_OPTIONS',
    'PYTHONSTARTUP',
    'PYTHONPATH',
    'PYTHONHOME',
    'PERL5OPT',
    'PERL5LIB',
    'PERL5DB',
    'RUBYOPT',
  ],
  ...[
    'RUBYLIB',
    'JAVA_TOOL_OPTIONS',
    '_JAVA_OPTIONS',
    'JDK_JAVA_OPTIONS',
    'GIT_SSH',
    'GIT_SSH_COMMAND',
    'GIT_EXTERNAL_DIFF',
  ],
];

/** All variables with these prefixes control bash, the character set of the shell, or the loader of macOS. */
const STEERING = [...READ_BY_SHELLS, ...READ_BY_ZSH, ...READ_BY_LOADERS];
const STEERING_PREFIXES = ['DYLD_', 'BASH_', 'LC_', 'READLINE_'];

/** Names that shells set themselves or protect: an assigned value is not read back. */
const KEPT_BY_SHELLS = [
  ...[
    '_',
    'BASH',
    'BASHOPTS',
    'BASHPID',
    'COMP_CWORD',
    'COMP_KEY',
    'COMP_LINE',
    'COMP_POINT',
    'COMP_TYPE',
    'COMP_WORDBREAKS',
    'COMP_WORDS',
  ],
  ...[
    'COMPREPLY',
    'COPROC',
    'DIRSTACK',
    'EPOCHREALTIME',
    'EPOCHSECONDS',
    'EUID',
    'FUNCNAME',
    'GROUPS',
    'HISTCMD',
    'LINENO',
    'MAPFILE',
  ],
  ...['OPTIND', 'PIPESTATUS', 'PPID', 'RANDOM', 'REPLY', 'SECONDS', 'SHELLOPTS', 'SRANDOM', 'UID'],
];

function steers(key: string): string | null {
  // safety: generated-shell-names
  if (STEERING.includes(key) || STEERING_PREFIXES.some((prefix) => key.startsWith(prefix)))
    return 'is a name that controls the shell or the loader';
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
