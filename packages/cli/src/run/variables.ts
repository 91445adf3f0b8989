// The environment of a child: that of this process without svc's own credentials, plus the secrets. Invariant: a secret never sets a
// variable that changes which code runs or where traffic is sent, unless the user names that variable on the command line.
import { clean } from '../text.ts';

/** Variables that change the behaviour of shells, loaders, interpreters and svc itself. */
const RESERVED = new Set([
  ...['PATH', 'HOME', 'USER', 'LOGNAME', 'SHELL', 'PWD', 'OLDPWD', 'TERM', 'TMPDIR', 'TMP', 'TEMP', 'EDITOR', 'VISUAL', 'PAGER', 'BROWSER'],
  ...[
    'IFS',
    'ENV',
    'CDPATH',
    'FPATH',
    'GLOBIGNORE',
    'SHELLOPTS',
    'BASHOPTS',
    'PS0',
    'PS1',
    'PS2',
    'PS3',
    'PS4',
    'PROMPT_COMMAND',
    'ZDOTDIR',
  ],
  ...['UID', 'EUID', 'PPID', 'SYSTEMROOT', 'WINDIR', 'COMSPEC', 'PATHEXT', 'APPDATA', 'LOCALAPPDATA', 'USERPROFILE', 'PSMODULEPATH'],
  ...[
    'GCONV_PATH',
    'LOCPATH',
    'NLSPATH',
    'HOSTALIASES',
    'LOCALDOMAIN',
    'RES_OPTIONS',
    'MALLOC_CHECK_',
    'GETCONF_DIR',
    'TZDIR',
    'TERMINFO',
    'TERMINFO_DIRS',
  ],
  ...['PYTHONPATH', 'PYTHONHOME', 'PYTHONSTARTUP', 'PYTHONINSPECT', 'PYTHONUSERBASE', 'PYTHONWARNINGS', 'PYTHONBREAKPOINT', 'VIRTUAL_ENV'],
  ...[
    'RUBYOPT',
    'RUBYLIB',
    'GEM_HOME',
    'GEM_PATH',
    'BUNDLE_GEMFILE',
    'PERL5OPT',
    'PERL5LIB',
    'PERLLIB',
    'PERL5DB',
    'PHPRC',
    'PHP_INI_SCAN_DIR',
  ],
  ...['JAVA_TOOL_OPTIONS', '_JAVA_OPTIONS', 'JDK_JAVA_OPTIONS', 'JAVA_OPTS', 'CLASSPATH', 'MAVEN_OPTS', 'GRADLE_OPTS', 'SBT_OPTS'],
  ...[
    'GOFLAGS',
    'GOPATH',
    'GOROOT',
    'GOPROXY',
    'GONOSUMDB',
    'GONOSUMCHECK',
    'GOTOOLCHAIN',
    'RUSTC_WRAPPER',
    'RUSTFLAGS',
    'CARGO_HOME',
    'LUA_INIT',
    'LUA_PATH',
    'LUA_CPATH',
  ],
  ...['LESSOPEN', 'LESSCLOSE', 'MANPAGER', 'SSH_ASKPASS', 'SUDO_ASKPASS', 'SUDO_EDITOR', 'SSH_AUTH_SOCK', 'DISPLAY', 'XAUTHORITY'],
  ...[
    'HTTP_PROXY',
    'HTTPS_PROXY',
    'ALL_PROXY',
    'FTP_PROXY',
    'NO_PROXY',
    'SSL_CERT_FILE',
    'SSL_CERT_DIR',
    'CURL_CA_BUNDLE',
    'REQUESTS_CA_BUNDLE',
    'SSLKEYLOGFILE',
    'CURL_HOME',
  ],
  ...['DOCKER_HOST', 'DOCKER_CONFIG', 'KUBECONFIG', 'EXEPATH', 'OPENSSL_CONF', 'OPENSSL_MODULES', 'OPENSSL_ENGINES'],
]);

/** Prefixes of such variables. */
const RESERVED_PREFIXES = [
  ...['LD_', 'DYLD_', 'BASH_', 'ZSH_', 'XDG_', 'SVC_', 'COR_', 'CORECLR_', 'NPM_CONFIG_', 'PIP_', 'TSX_'],
  ...['NODE_OPTIONS', 'NODE_PATH', 'NODE_EXTRA_CA_CERTS', 'NODE_TLS_', 'NODE_REPL_', 'NODE_V8_', 'NODE_REDIRECT_', 'NODE_COMPILE_CACHE'],
  ...[
    'GIT_SSH',
    'GIT_ASKPASS',
    'GIT_EDITOR',
    'GIT_SEQUENCE_EDITOR',
    'GIT_EXEC_PATH',
    'GIT_CONFIG',
    'GIT_PROXY_COMMAND',
    'GIT_EXTERNAL_DIFF',
  ],
  ...['GIT_PAGER', 'GIT_TEMPLATE_DIR', 'GIT_DIR', 'GIT_WORK_TREE', 'GIT_OBJECT_', 'GIT_ALTERNATE_', 'GIT_INDEX_FILE', 'GIT_SSL_'],
  ...[
    'BUN_CONFIG',
    'BUN_OPTIONS',
    'BUN_INSPECT',
    'DENO_DIR',
    'DENO_CERT',
    'DENO_TLS_',
    'UV_INDEX',
    'UV_PYTHON',
    'UV_CONFIG',
    'YARN_RC_',
    'YARN_PLUGINS',
  ],
  ...[
    'DOTNET_STARTUP_HOOKS',
    'DOTNET_ADDITIONAL_DEPS',
    'DOTNET_SHARED_STORE',
    'DOTNET_ROOT',
    'ERL_',
    'ELIXIR_ERL_',
    'MAKEFLAGS',
    'AWS_CONFIG_FILE',
  ],
];

/** The list for the documentation. */
export const reservedNames = (): string[] => [...RESERVED, ...RESERVED_PREFIXES.map((prefix) => `${prefix}*`)];

/** Whether a variable of this name changes how programs run. Ignores case, as Windows does; proxy variables exist in both cases. */
export function isReserved(name: string): boolean {
  const upper = name.toUpperCase();
  return RESERVED.has(upper) || RESERVED_PREFIXES.some((prefix) => upper.startsWith(prefix));
}

/** Credentials of svc and their sources, which are never passed to a child. */
const OWN = ['SVC_TOKEN', 'SVC_TRUST_ID', 'SVC_ID_TOKEN', 'SVC_ID_TOKEN_FILE'];

export interface Choice {
  /** Only names that begin with this, which is removed from the variable name. */
  prefix?: string;
  /** Only these names. */
  only?: string[];
  /** Reserved names that the user allows. */
  allowed?: string[];
  /** Whether existing variables take precedence over secrets. */
  preserve?: boolean;
}

export interface Variables {
  env: NodeJS.ProcessEnv;
  /** Variables set from secrets. */
  names: string[];
  /** Secrets that are not passed, and why. */
  left: { name: string; why: 'reserved' | 'name' | 'value' | 'preserved' }[];
}

/** The environment of a child. */
export function variablesOf(values: ReadonlyMap<string, string>, own: NodeJS.ProcessEnv, choice: Choice): Variables {
  const env = Object.fromEntries(Object.entries(own).filter(([name]) => !OWN.includes(name.toUpperCase())));
  const variables: Variables = { env, names: [], left: [] };
  for (const [full, value] of values) {
    if (choice.prefix && !full.startsWith(choice.prefix)) continue;
    const name = full.slice(choice.prefix?.length ?? 0);
    if (choice.only && !choice.only.includes(name)) continue;
    const why = whyNot(name, value, own, choice);
    if (why) {
      variables.left.push({ name, why });
      continue;
    }
    env[name] = value;
    variables.names.push(name);
  }
  return variables;
}

function whyNot(name: string, value: string, own: NodeJS.ProcessEnv, { allowed, preserve }: Choice) {
  if (!/^[A-Za-z_][A-Za-z0-9_]*$/.test(name)) return 'name';
  // safety: cli-reserved-name
  if (isReserved(name) && !allowed?.includes(name)) return 'reserved';
  if (value.includes('\0')) return 'value';
  return preserve && own[name] !== undefined ? 'preserved' : undefined;
}

const WHY = {
  reserved: 'is reserved: it changes how programs run. Rename the secret, or allow it with --allow-reserved',
  name: 'is not a valid name for an environment variable',
  value: 'contains a NUL byte, which environment variables cannot contain',
} as const;

/** Warnings about secrets that are not passed to the child. */
export const warningsOf = ({ left }: Variables): string[] =>
  left.flatMap(({ name, why }) => (why === 'preserved' ? [] : [`${clean(name)} is left out: it ${WHY[why]}.`]));
