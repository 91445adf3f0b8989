// The mutants of svc (packages/cli), as in mutant-table.mjs. Their tests are those of the package, with svc built from the mutant.

/** @type {import('./mutant-table.mjs').Mutant[]} */
export const mutants = [
  // ---------------------------------------------------------------- credentials
  {
    name: 'svc: a credential that is not stored goes to an address that only .svc.json names',
    tag: 'cli-token-origin',
    change: 'never',
    notice: 'packages/cli/attacks: credential: a credential stored for one vault is not sent to another address',
  },
  {
    name: 'svc: a credential goes to another address than it was stored for',
    tag: 'cli-origin-bound',
    change: { from: ' && stored.origin === origin', to: '' },
    notice: 'packages/cli/attacks: credential: a file stored for one address is not read for another',
  },
  {
    name: 'svc: a file with a credential may be readable by others',
    tag: 'cli-private-file',
    change: 'never',
    notice: 'packages/cli/attacks: credential store: a file that other users can read, or a link, is refused',
  },
  {
    name: 'svc: a .svc.json of another user is used',
    tag: 'cli-foreign-project',
    change: 'never',
    notice: 'packages/cli/attacks: configuration: a file of another user in a parent directory is refused',
  },
  {
    name: 'svc: a token goes over plain http to any host',
    tag: 'cli-plain-http',
    change: 'never',
    notice: 'packages/cli/attacks: plain http: a token is sent over http only to this machine',
  },
  {
    name: 'svc: login signs in at the address of .svc.json without confirmation',
    tag: 'cli-login-project',
    change: 'never',
    notice: 'packages/cli/attacks: credential: a credential stored for one vault is not sent to another address',
  },
  {
    name: 'svc: login opens any address that the vault names',
    tag: 'cli-login-page',
    change: 'never',
    notice: 'packages/cli/login: device login: svc polls while the code is pending, slows down when asked, and opens only http addresses',
  },
  {
    name: 'svc: the bootstrap token goes to a vault that the user did not name',
    tag: 'cli-bootstrap-address',
    change: 'never',
    notice: 'packages/cli/org: organisation: the token is not sent to an address from a repository or a profile',
  },
  {
    name: 'svc: a new organisation replaces a stored key without confirmation',
    tag: 'cli-org-overwrite',
    change: 'never',
    notice: 'packages/cli/org: organisation: a stored key is replaced only after confirmation',
  },
  {
    name: 'svc: the private key of a device is sent to the vault',
    tag: 'cli-device-private-key',
    change: 'never',
    notice: 'packages/cli/manage: device: registered with a public key, assigned, blocked and removed',
  },
  // ---------------------------------------------------------------- values and arguments
  {
    name: 'svc: a token is accepted as an argument',
    tag: 'cli-token-in-argv',
    change: 'never',
    notice: 'packages/cli/attacks: token in argv: a vault token is refused in every position, and nothing is sent',
  },
  {
    name: 'svc: a value is accepted as an argument',
    tag: 'cli-value-in-argv',
    change: 'never',
    notice: 'packages/cli/attacks: value in argv: svc set NAME',
  },
  {
    name: 'svc: a value is accepted after a name',
    tag: 'cli-value-in-name',
    change: 'never',
    notice: 'packages/cli/attacks: value in argv: svc set NAME=',
  },
  {
    name: 'svc: a terminal gets a value with its escape sequences',
    tag: 'cli-terminal-value',
    change: { from: 'cleanLines(value)', to: 'value' },
    notice: 'packages/cli/attacks: escape sequences: a terminal gets a value with visible escapes, a pipe gets the exact value',
  },
  {
    name: 'svc: the rest of a paste at a prompt goes to the shell',
    tag: 'cli-pasted-lines',
    change: 'never',
    notice: 'packages/cli/terminal: prompt: a paste of several lines is refused, and does not reach the shell',
  },
  {
    name: 'svc: destructive commands do not need --yes in a script',
    tag: 'cli-confirm',
    change: { from: '!canAsk(this.host)', to: 'false' },
    notice: 'packages/cli/commands: delete, restore: a deleted secret is restored; a script without --yes is refused',
  },
  // ---------------------------------------------------------------- svc run
  {
    name: 'svc run: a secret may set PATH',
    tag: 'cli-reserved-name',
    change: 'never',
    notice: 'packages/cli/run: reserved names: variables that change how programs run are left out, unless allowed by name',
  },
  {
    name: 'svc run: a fallback copy is used after any failure',
    tag: 'cli-fallback-refused',
    change: { from: '!fallback || !isUnreachable(error)', to: '!fallback' },
    notice: 'packages/cli/run: fallback: the copy is not used if the vault responds, even with a 404',
  },
  {
    name: 'svc run: a fallback copy is stored beside its key',
    tag: 'cli-fallback-place',
    change: 'never',
    notice: 'packages/cli/run: fallback: a path beside the key is refused',
  },
  {
    name: 'svc run: a fallback copy of any age is used',
    tag: 'cli-fallback-age',
    change: 'never',
    notice: 'packages/cli/run: fallback: the copy is not used for another environment, prefix or credential, or past its maximum age',
  },
  // ---------------------------------------------------------------- svc mcp
  {
    name: 'svc mcp: an API key is sent before it is refused',
    tag: 'mcp-no-key',
    change: 'never',
    notice: 'packages/cli/mcp: credential: an API key, a session token and a member',
  },
  {
    name: 'svc mcp: any kind of credential is accepted',
    tag: 'mcp-agent-only',
    change: 'never',
    notice: 'packages/cli/mcp: credential: an API key, a session token and a member',
  },
  {
    name: 'svc mcp: read_secret is available without --allow-read',
    tag: 'mcp-allow-read',
    change: 'always',
    notice: 'packages/cli/mcp: tools: each has a schema, a description and hints',
  },
  {
    name: 'svc mcp: the token of the server is not masked',
    tag: 'mcp-own-token',
    change: 'remove',
    notice: 'packages/cli/mcp-attacks: credential: a program gets no setting of svc, and the token of the server is masked in every output',
  },
  {
    name: 'svc mcp: a command runs while one of its secrets waits for approval',
    tag: 'mcp-approvals-together',
    change: 'never',
    notice: 'packages/cli/mcp: approval: a held call does nothing and names the approval',
  },
  {
    name: 'svc mcp: a value that is too short to be masked is used',
    tag: 'mcp-short-value',
    change: 'never',
    notice: 'packages/cli/mcp-attacks: arguments: a value that is too short to be masked',
  },
  {
    name: 'svc mcp: rotate_secret returns the new value',
    tag: 'mcp-rotate-answer',
    change: { from: 'rotated: true', to: 'rotated: true, value' },
    notice: 'packages/cli/mcp: rotate_secret: creates a new version, returns no value, and masks the new one',
  },
  {
    name: 'svc mcp: a reference in a value is expanded too',
    tag: 'mcp-expand-once',
    change: { from: 'value(name))', to: 'expand(value(name), value))' },
    notice: 'packages/cli/mcp-mask: reference: a reference inside a value is not expanded, and neither is $& in a replacement',
  },
  {
    name: 'svc mcp: an output is cut before it is masked',
    tag: 'mcp-mask-before-cut',
    change: {
      from: 'session.mask(Buffer.concat(this.chunks), isCut)',
      to: 'session.mask(Buffer.concat(this.chunks).subarray(0, characters), isCut)',
    },
    notice: 'packages/cli/mcp: run_command: a large output is cut after masking, and does not exhaust memory',
  },
  {
    name: 'svc mcp: a value is accepted in an argument',
    tag: 'mcp-argv',
    change: 'never',
    notice: 'packages/cli/mcp-attacks: arguments: a reference in an argument',
  },
  {
    name: 'svc mcp: any program runs',
    tag: 'mcp-allow-command',
    change: 'never',
    notice: 'packages/cli/mcp-attacks: --allow-command: no other program runs',
  },
  {
    name: 'svc mcp: a reserved variable is set',
    tag: 'mcp-reserved',
    change: 'never',
    notice: 'packages/cli/mcp-attacks: arguments: LD_PRELOAD',
  },
  {
    name: 'svc mcp: a program runs in any directory',
    tag: 'mcp-cwd',
    change: 'never',
    notice: 'packages/cli/mcp: run_command: exit codes, missing programs, and directories',
  },
  {
    name: 'svc mcp: a program gets the variables of svc',
    tag: 'mcp-child-env',
    change: { from: '!/^SVC_/i.test(name)', to: 'true' },
    notice: 'packages/cli/mcp-attacks: credential: a program gets no setting of svc, and the token of the server is masked in every output',
  },
  {
    name: 'svc mcp: child processes of a program continue after it ends',
    tag: 'mcp-process-group',
    change: 'remove',
    notice: 'packages/cli/mcp: run_command: processes that a program starts are killed when it exits or times out',
  },
  {
    name: 'svc mcp: any host below an allowed name is called',
    tag: 'mcp-host',
    change: { from: ': url.hostname === host', to: ': url.hostname.endsWith(host)' },
    notice: 'packages/cli/mcp-attacks: hosts: only allowed hosts are called, in any spelling',
  },
  {
    name: 'svc mcp: any port of an allowed host is called',
    tag: 'mcp-host',
    change: { from: 'url.port === port && ', to: '' },
    notice: 'packages/cli/mcp-attacks: hosts: only allowed hosts are called, in any spelling',
  },
  {
    name: 'svc mcp: an address with a password is called',
    tag: 'mcp-userinfo',
    change: 'never',
    notice: 'packages/cli/mcp-attacks: hosts: only allowed hosts are called, in any spelling',
  },
  {
    name: 'svc mcp: a value goes over plain http to any host',
    tag: 'mcp-https',
    change: 'never',
    notice: 'packages/cli/mcp-attacks: hosts: only allowed hosts are called, in any spelling',
  },
  {
    name: 'svc mcp: a bound secret goes to any host',
    tag: 'mcp-bind',
    change: 'never',
    notice: 'packages/cli/mcp-attacks: http_request: a secret that is bound elsewhere',
  },
  {
    name: 'svc mcp: a value breaks a header',
    tag: 'mcp-header-break',
    change: 'never',
    notice: 'packages/cli/mcp-attacks: http_request: a line break in a value',
  },
  {
    name: 'svc mcp: a redirect is followed',
    tag: 'mcp-no-redirect',
    change: { from: "redirect: 'manual'", to: "redirect: 'follow'" },
    notice: 'packages/cli/mcp-attacks: redirect: not followed',
  },
];
