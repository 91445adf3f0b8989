// The mutants of svc (packages/cli). Their tests run svc built from the mutant. index.mjs says what a mutant
// is.

import { checks } from './checks.mjs';

/** @type {import('./index.mjs').Mutant[]} */
export const mutants = [
  {
    name: 'svc set replaces a secret in production that was created since none was found',
    tag: 'cli-set-new',
    change: { from: ' || existing?.what === null', to: '' },
    notice:
      'packages/cli/requests/seen: if-match: a secret that a colleague created in production meanwhile is not replaced',
  },
  // ---------------------------------------------------------------- credentials
  ...checks({
    'cli-token-origin':
      'packages/cli/attacks: credential: a credential stored for one vault is not sent to another address',
    'cli-private-file':
      'packages/cli/attacks: credential store: a file that other users can read, or a link, is refused',
    'cli-foreign-project':
      'packages/cli/attacks: configuration: a file of another user in a parent directory is refused',
    'cli-write-link':
      'packages/cli/attacks: files: svc init and svc scan write through no link of a repository',
    'cli-plain-http': 'packages/cli/attacks: plain http: a token is sent over http only to this machine',
    'cli-login-project':
      'packages/cli/attacks: credential: a credential stored for one vault is not sent to another address',
    'cli-scan-complete':
      'packages/cli/scan/scan: scan --staged: a file that cannot be scanned is named, and the exit code is not 0',
    'cli-scan-replaced':
      'packages/cli/scan/scan: scan --staged: an object that stands in for a staged one is not scanned in its place',
    'cli-scan-named':
      'packages/cli/scan/scan: scan: a link that an argument names is scanned, and what is no file is missed',
    'cli-scan-bytes': 'packages/cli/scan/scan: scan --staged: a file of UTF-16 and then ASCII is scanned',
    'cli-scan-readings': 'packages/cli/scan/scan: scan --staged: a file UTF-16 in part is scanned',
    'cli-scan-unreadable':
      'packages/cli/scan/files: scan: what is gone or cannot be listed while a directory is read is missed',
    'cli-scan-wide': 'packages/cli/scan/scan: scan --staged: a file UTF-32 is scanned',
    'cli-login-page':
      'packages/cli/commands/login: device login: svc polls while the code is pending, slows down when asked, and opens only pages of the vault',
    'cli-bootstrap-address':
      'packages/cli/commands/org: organisation: the token is not sent to an address from a repository or a profile',
    'cli-keychain-quote':
      'packages/cli/commands/login: keychain: an error about what it holds does not quote it',
    'cli-org-overwrite':
      'packages/cli/commands/org: organisation: a stored key is replaced only after confirmation',
    'cli-device-private-key':
      'packages/cli/commands/manage: device: registered with a public key, assigned, blocked and removed',
  }),
  {
    name: 'svc: a credential goes to another address than it was stored for',
    tag: 'cli-origin-bound',
    change: { from: ' && stored.origin === origin', to: '' },
    notice: 'packages/cli/attacks: credential: a file stored for one address is not read for another',
  },
  {
    name: 'svc: a scan that looked at no file passes',
    tag: 'cli-scan-of-nothing',
    notice: 'packages/cli/scan/scan: scan: where git tracks nothing',
  },
  {
    name: 'svc: a scan of staged files leaves out what only the working tree ignores',
    tag: 'cli-scan-staged-ignore',
    change: {
      from: 'stagedFile(context, IGNORE_FILE)?.toString()',
      to: 'textAt(path.join(rootOf(context) ?? context.host.cwd, IGNORE_FILE))',
    },
    notice: 'packages/cli/scan/files: scan --staged: the ignore file is that of the next commit',
  },
  {
    name: 'svc: an error of the vault adds lines to the output',
    tag: 'cli-vault-error-one-line',
    change: { from: 'clean(error.message)', to: 'error.message' },
    notice: 'packages/cli/attacks: escape sequences: errors of the vault are escaped',
  },
  {
    name: 'svc: a text of the vault adds lines to what svc says',
    tag: 'cli-success-line',
    change: { from: 'clean(text)', to: 'text' },
    notice: 'packages/cli/attacks: escape sequences: what a vault says adds no line to a sentence',
  },
  {
    name: 'svc: a text of the vault adds lines to a result',
    tag: 'cli-output-one-line',
    change: { from: 'clean(text)', to: 'text' },
    notice: 'packages/cli/attacks: escape sequences: what a vault says adds no line to a sentence',
  },

  {
    name: 'svc completion: offers any text that a vault sends as a name',
    tag: 'cli-completion-names',
    change: { from: "LC_ALL=C command grep -xE '[A-Za-z0-9_][A-Za-z0-9_./-]*'", to: 'cat' },
    notice:
      'packages/cli/definition/completion: completion bash: names of secrets after ["get",""] are neither run nor offered',
  },

  // ---------------------------------------------------------------- values and arguments
  ...checks({
    'cli-token-in-argv':
      'packages/cli/attacks: token in argv: a vault token is refused in every position, and nothing is sent',
    'cli-value-in-argv': 'packages/cli/attacks: value in argv: svc set NAME',
    'cli-value-in-name': 'packages/cli/attacks: value in argv: svc set NAME=',
    'cli-pasted-lines':
      'packages/cli/terminal/terminal: prompt: a paste of several lines is refused, and does not reach the shell',
    'cli-if-match': 'packages/cli/requests/seen: a team that a colleague renamed is not deleted',
    'cli-set-unread':
      'packages/cli/requests/seen: if-match: a secret in production that could not be looked up',
    'cli-if-match-unread':
      'packages/cli/requests/seen: if-match: what could not be read, because of a rate limit',
    'cli-promote-tag':
      'packages/cli/requests/hostile-vault: promote: a dry run without an ETag is followed by no promotion',
    'cli-if-match-large': 'packages/cli/requests/seen: an incident whose report is too large to compare',
  }),
  {
    name: 'svc: a terminal gets a value with its escape sequences',
    tag: 'cli-terminal-value',
    change: { from: 'cleanLines(value)', to: 'value' },
    notice:
      'packages/cli/attacks: escape sequences: a terminal gets a value with visible escapes, a pipe gets the exact value',
  },
  {
    name: 'svc: destructive commands do not need --yes in a script',
    tag: 'cli-confirm',
    notice:
      'packages/cli/commands/commands: delete, restore: a deleted secret is restored; a script without --yes is refused',
  },

  // ---------------------------------------------------------------- a hostile vault
  ...checks({
    'cli-answer-shape':
      'packages/cli/requests/hostile-vault: response: {} is one clear error of every command',
    'cli-tells-missing-regions':
      'packages/cli/requests/hostile-vault: regions: an answer from the log names those that it lacks, once',
    'cli-body-bounded': 'packages/cli/requests/hostile-vault: response: an endless body is given up',
    'cli-pages-bounded': 'packages/cli/requests/hostile-vault: list: pages without an end are given up',
  }),

  // ---------------------------------------------------------------- svc run
  ...checks({
    'cli-export-one-revision':
      'packages/cli/secrets/many: export: a change between parts starts it again, so that the file shows one revision',
    'cli-reserved-name':
      'packages/cli/run/run: reserved names: loader and SVC_ variables are left out, unless allowed by name',
    'cli-steering-name':
      'packages/cli/settings/project: steering names: a name that becomes such a variable is one, and a list names secrets, not variables',
    'cli-only-listed': 'packages/cli/settings/project: run --listed: passes only secrets on the list',
    'cli-empty-option':
      'packages/cli/definition/options: options: an empty one is refused, as of a variable that is not set',
    'cli-export-collision':
      'packages/cli/secrets/many: export: more secrets than one file of the vault holds are in one file, and none is lost',
    'cli-init-environment':
      'packages/cli/settings/project: init: the environment is chosen: at no terminal by --env alone, and never the default one',
    'cli-fallback-place': 'packages/cli/run/run: fallback: a path beside the key is refused',
    'cli-fallback-other-file':
      'packages/cli/run/run: fallback: a file that is no copy is neither replaced nor deleted',
    'cli-fallback-age':
      'packages/cli/run/run: fallback: the copy is not used for another environment, prefix or credential, or past its maximum age',
  }),
  {
    name: 'svc: a fallback copy gives a secret that has expired since',
    tag: 'cli-fallback-expired',
    change: { from: 'entry[2] && !(Date.now() < Date.parse(entry[2]))', to: 'false' },
    notice: 'packages/cli/run/run: fallback: a secret serves no longer than until it expires',
  },
  {
    name: 'svc: a profile that a repository chooses decides where SVC_TOKEN goes',
    tag: 'cli-profile-choice',
    change: {
      from: "this.givenProfile || !this.project?.profile ? 'profile' : 'project'",
      to: "'profile' as Source",
    },
    notice:
      'packages/cli/attacks: credential: a profile that .svc.json chooses decides no address for SVC_TOKEN',
  },
  {
    name: 'svc init: lists what can steer programs',
    tag: 'cli-init-steering',
    change: { from: 'steeringOf(name, prefixes) && !before.includes(name)', to: 'false' },
    notice:
      'packages/cli/settings/project: init: lists the names of the environment, but none that can steer programs until a person lists it',
  },
  {
    name: 'svc run: a fallback copy is used after any failure',
    tag: 'cli-fallback-refused',
    change: { from: '!fallback || !isUnreachable(error)', to: '!fallback' },
    notice: 'packages/cli/run/run: fallback: the copy is not used if the vault responds, even with a 404',
  },

  // ---------------------------------------------------------------- svc proxy
  ...checks({
    'proxy-page': 'packages/cli/proxy/proxy: access: Origin is 403',
    'proxy-host': 'packages/cli/proxy/proxy: access: a rebound Host is 403',
    'proxy-token': 'packages/cli/proxy/proxy: access: no key is 403',
    'proxy-path': 'packages/cli/proxy/proxy: access: the path /../other/v1/x does not reach the API',
    'proxy-inner-host': 'packages/cli/proxy/proxy: proxy: within a tunnel, another Host',
    'proxy-connect-token': 'packages/cli/proxy/proxy: proxy: a tunnel without the token',
    'proxy-upgrade-body': 'packages/cli/proxy/proxy: WebSocket: a body that it declares does not swallow',
    'proxy-broken-off': 'packages/cli/proxy/proxy: access: a caller that breaks off while it is refused',
    'proxy-upgrade-gone':
      'packages/cli/proxy/proxy: WebSocket: a program that breaks off before the vault is asked',
    'proxy-pass-destroyed': 'packages/cli/proxy/proxy: WebSocket: a program that breaks off before it is',
    'proxy-own-credential': 'packages/cli/proxy/proxy: base URL: the token is taken in X-Api-Key',
  }),
  {
    name: 'svc proxy: its certificates are good for every host',
    tag: 'proxy-authority-hosts',
    change: {
      from: 'new x509.Extension(id_ce_nameConstraints, true, constraints(hosts)),',
      to: '',
    },
    notice:
      'packages/cli/proxy/proxy: authority: its certificates are good for hosts of upstreams, and for no other',
  },

  // ---------------------------------------------------------------- svc mcp
  ...checks({
    'mcp-no-key': 'packages/cli/mcp/mcp: credential: an API key, a session token and a member',
    'mcp-agent-only': 'packages/cli/mcp/mcp: credential: an API key, a session token and a member',
    'mcp-keeps-values-out':
      'packages/cli/mcp/upstreams: credential: one that gets values is refused, unless options allow where they go',
    'mcp-use-path': 'packages/cli/mcp/upstreams: attack: the path "/v1/x#y" is not sent',
    'mcp-use-headers': 'packages/cli/mcp/upstreams: attack: the header "X-Access-Reason" is not sent',
    'mcp-upstreams-alone':
      'packages/cli/mcp/upstreams: tools: upstreams and approvals, and nothing that concerns values',
    'mcp-own-token':
      'packages/cli/mcp/attacks: credential: a program gets no setting of svc, and the token of the server is masked in every output',
    'mcp-approvals-together':
      'packages/cli/mcp/approvals: approval: a held call does nothing and names the approval',
    'mcp-approval-of-call':
      'packages/cli/mcp/approvals: approval: one that was given for a command is not spent on another call',
    'mcp-call-shown-whole': 'packages/cli/mcp/approvals: approval: a held call that has no room is refused',
    'mcp-short-value': 'packages/cli/mcp/attacks: arguments: a value that is too short to be masked',
    'mcp-argv': 'packages/cli/mcp/attacks: arguments: a reference in an argument',
    'mcp-allow-command-needs-run':
      'packages/cli/mcp/mcp: tools: run_command exists only with --allow-run, and the server says what that gives away',
    'mcp-stored-limits': 'packages/cli/mcp/limits: limits: options cannot exceed those of the credential',
    'mcp-child-home': 'packages/cli/mcp/attacks: home: each command has an empty home of its own',
    'mcp-unbound':
      'packages/cli/mcp/attacks: --bind: a secret that is bound to a path and a header is sent nowhere else',
    'mcp-allow-command': 'packages/cli/mcp/attacks: --allow-command: no other program runs',
    'mcp-reserved': 'packages/cli/mcp/attacks: arguments: LD_PRELOAD',
    'mcp-cwd': 'packages/cli/mcp/mcp: run_command: exit codes, missing programs, and directories',
    'mcp-process-group':
      'packages/cli/mcp/mcp: run_command: processes that a program starts are killed when it exits or times out',
    'mcp-userinfo': 'packages/cli/mcp/attacks: hosts: only allowed hosts are called, in any spelling',
    'mcp-https': 'packages/cli/mcp/attacks: hosts: only allowed hosts are called, in any spelling',
    'mcp-bind': 'packages/cli/mcp/attacks: http_request: a secret that is bound elsewhere',
    'mcp-header-break': 'packages/cli/mcp/attacks: http_request: a line break in a value',
  }),
  {
    name: 'svc mcp: read_secret is available without --allow-read',
    tag: 'mcp-allow-read',
    change: 'always',
    notice: 'packages/cli/mcp/mcp: tools: each has a schema, a description and hints',
  },
  {
    name: 'svc mcp: rotate_secret returns the new value',
    tag: 'mcp-rotate-answer',
    change: { from: 'rotated: true', to: 'rotated: true, value' },
    notice:
      'packages/cli/mcp/mcp: rotate_secret: creates a new version, returns no value, and masks the new one',
  },
  ...['upstreams', 'approval'].map((of) => ({
    name: `svc mcp: texts of ${of === 'upstreams' ? 'upstreams' : 'an approval'} are not masked`,
    tag: `mcp-${of}-masked`,
    change: { from: 'session.masked(', to: '(' },
    notice: `packages/cli/mcp/mask: ${of === 'upstreams' ? 'list_upstreams' : 'wait_for_approval'}: a value in them is masked`,
  })),
  {
    name: 'svc mcp: rotate_secret generates a value that can be guessed',
    tag: 'mcp-rotate-strength',
    change: { from: 'SHORTEST_GENERATED', to: '1' },
    notice: 'packages/cli/mcp/mcp: rotate_secret: a value that the agent could guess is not generated',
  },
  {
    name: 'svc mcp: a reference in a value is expanded too',
    tag: 'mcp-expand-once',
    change: { from: 'value(inner.trim()))', to: 'expand(value(inner.trim()), value))' },
    notice:
      'packages/cli/mcp/mask: reference: a reference inside a value is not expanded, and neither is $& in a replacement',
  },
  {
    name: 'svc mcp: an output is cut before it is masked',
    tag: 'mcp-mask-before-cut',
    change: {
      from: 'session.mask(Buffer.concat(this.chunks), isCut)',
      to: 'session.mask(Buffer.concat(this.chunks).subarray(0, characters), isCut)',
    },
    notice:
      'packages/cli/mcp/mcp: run_command: a large output is cut after masking, and does not exhaust memory',
  },
  {
    name: 'svc mcp: run_command exists without --allow-run',
    tag: 'mcp-allow-run',
    change: 'always',
    notice:
      'packages/cli/mcp/mcp: tools: run_command exists only with --allow-run, and the server says what that gives away',
  },
  {
    name: 'svc mcp: an option that is left out lifts a stored binding',
    tag: 'mcp-stored-bindings',
    change: { from: '...bindings.filter((one) => !bound.has(secretOf(one)))', to: '' },
    notice: 'packages/cli/mcp/limits: limits: a stored binding holds whatever options the server has',
  },
  {
    name: 'svc mcp: a program that is allowed by its path is looked for in the directory of the call',
    tag: 'mcp-command-file',
    change: { from: '{ file, name: at }', to: '{ file: name, name }' },
    notice: 'packages/cli/mcp/attacks: --allow-command: a path is the file that it was at the start',
  },
  {
    name: 'svc mcp: a relative directory in PATH decides which program runs',
    tag: 'mcp-child-path',
    change: { from: 'path.isAbsolute(directory)', to: 'true' },
    notice: 'packages/cli/mcp/attacks: --allow-command: no other program runs',
  },
  {
    name: 'svc mcp: a bound secret goes to any path',
    tag: 'mcp-bind-path',
    change: { from: "prefix === '' ||", to: 'true ||' },
    notice:
      'packages/cli/mcp/attacks: --bind: a secret that is bound to a path and a header is sent nowhere else',
  },
  {
    name: 'svc mcp: the path of a bound secret may climb in an encoded form',
    tag: 'mcp-bind-path',
    change: { from: 'isPlain(path) && ', to: '' },
    notice:
      'packages/cli/mcp/attacks: --bind: a secret that is bound to a path and a header is sent nowhere else',
  },
  {
    name: 'svc mcp: a bound secret goes into any header',
    tag: 'mcp-bind-header',
    change: { from: ' && (header === undefined || header === place.header)', to: '' },
    notice:
      'packages/cli/mcp/attacks: --bind: a secret that is bound to a path and a header is sent nowhere else',
  },
  {
    name: 'svc mcp: a program gets the variables of svc',
    tag: 'mcp-child-env',
    change: { from: '!WITHHELD.test(name)', to: 'true' },
    notice:
      'packages/cli/mcp/attacks: credential: a program gets no setting of svc, and the token of the server is masked in every output',
  },
  {
    name: 'svc mcp: any host below an allowed name is called',
    tag: 'mcp-host',
    change: { from: ': url.hostname === host', to: ': url.hostname.endsWith(host)' },
    notice: 'packages/cli/mcp/attacks: hosts: only allowed hosts are called, in any spelling',
  },
  {
    name: 'svc mcp: any port of an allowed host is called',
    tag: 'mcp-host',
    change: { from: 'url.port === port && ', to: '' },
    notice: 'packages/cli/mcp/attacks: hosts: only allowed hosts are called, in any spelling',
  },
  {
    name: 'svc mcp: a redirect is followed',
    tag: 'mcp-no-redirect',
    change: { from: "redirect: 'manual'", to: "redirect: 'follow'" },
    notice: 'packages/cli/mcp/attacks: redirect: not followed',
  },
];
