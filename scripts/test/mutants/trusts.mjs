// The mutants of workload identity. index.mjs says what a mutant is.

import { checks } from './checks.mjs';

/** @type {import('./index.mjs').Mutant[]} */
export const mutants = [
  ...checks({
    'repointed-trust-ends-sessions':
      'api/trusts/trusts: applies to its session tokens immediately: removed permissions, and workloads it no longer accepts',
    'trust-issuer':
      'api/trusts/trusts: applies to its session tokens immediately: removed permissions, and workloads it no longer accepts',
    'trust-audience':
      'api/trusts/trusts: applies to its session tokens immediately: removed permissions, and workloads it no longer accepts',
    'trust-key':
      'api/trusts/trusts: applies to its session tokens immediately: removed permissions, and workloads it no longer accepts',
    'trust-claims': 'api/trusts/tokens: is refused with one body, and the audit log has the reason',
    'subject-is-one-text': 'api/trusts/tokens: is refused with one body, and the audit log has the reason',
    'address-verified':
      'api/trusts/tokens: does not name its caller by an address that the issuer has not verified',
    'issuer-token-issued': 'api/trusts/tokens: is refused with one body, and the audit log has the reason',
    'issuer-token-end': 'api/trusts/tokens: is refused with one body, and the audit log has the reason',
    'exchange-limited-before-database':
      'api/trusts/tokens: past the limit of its address an exchange reads no D1',
    'refused-exchange-acts-as-nobody':
      'api/trusts/tokens: refused exchanges of a trust do not reduce what its workloads can do, and look alike past the limit of entries',
    'ended-trust-gives-nothing': 'api/trusts/trusts: that is deleted after the Worker has looked at it',
    'exchange-addresses': 'api/trusts/trusts: allowed addresses bound the exchange',
    'trust-bound-to-no-device':
      'api/trusts/trusts: an agent credential that is bound to a device makes no trust',
    'trust-names-workload':
      'api/trusts/trusts: refuses claims that accept more than a workload, and keys that are not public',
    'changed-trust-names-account':
      'api/trusts/trusts: an issuer of many accounts and claims that name none are refused, whichever of them changes',
    'stored-trust-names-caller': 'unit/auth/issuers: a stored trust that names no caller accepts nothing',
    'issuer-key-public':
      'api/trusts/trusts: refuses claims that accept more than a workload, and keys that are not public',
    'issuer-key-strength': 'api/trusts/issuers: that publishes weak RSA keys',
    'issuer-key-for-signatures':
      'api/trusts/trusts: refuses claims that accept more than a workload, and keys that are not public',
    'discovery-of-this-issuer': 'api/trusts/issuers: that names another issuer gives nothing',
    'props-strict': 'api/bindings/vault: bindings: props are three texts, and nothing else',
    'props-well-formed': 'api/bindings/vault: bindings: props are three texts, and nothing else',
    'binding-within-its-org':
      'api/bindings/vault: bindings: a request reaches its own organisation alone, and brings no credential',
    'binding-brings-no-credential':
      'api/bindings/vault: bindings: a request reaches its own organisation alone, and brings no credential',
    'arguments-plain':
      'api/bindings/vault: bindings: arguments are plain data, and nothing of them is called',
    'binding-of-known-org':
      'api/bindings/vault: bindings: a trust that is none, of another kind, name or organisation is one refusal',
    'names-of-binding-bounded':
      'api/bindings/vault: rate limit: 600 a minute for a name, and 20 names a trust',
    'rate-limit-of-binding-restored':
      'api/bindings/vault: rate limit: 600 a minute for a name, and 20 names a trust',
    'names-of-binding-restored':
      'api/bindings/vault: rate limit: 600 a minute for a name, and 20 names a trust',
    'bound-call-by-its-binding':
      'api/bindings/upstream: attack: a credential of any kind is dropped, and identifies nobody',
    'use-behind-base-url': 'api/bindings/upstream: attack: https://evil.example/v1/chat/x is not sent',
    'binding-exchanges-nothing':
      'api/bindings/vault: trusts: those of bound Workers exchange no token, and look unknown there',
  }),
  {
    name: 'workload identity: a session token keeps permissions that its trust has lost',
    tag: 'narrowed-trust-narrows-sessions',
    change: { from: " || kind === 'trust'", to: '' },
    notice:
      'api/trusts/trusts: applies to its session tokens immediately: removed permissions, and workloads it no longer accepts',
  },
  {
    name: 'bindings: a wildcard gives power over people and credentials',
    tag: 'binding-names-powers',
    change: { from: '!NAMED_ALONE.has(scope)', to: 'true' },
    notice:
      'api/bindings/vault: trusts: a wildcard of bound Workers gives no power over people, credentials and policies',
  },
  {
    name: 'bindings: a trust that a wildcard gives no power is narrowed to that power',
    tag: 'binding-narrowed-by-what-it-gives',
    change: { from: 'isBinding(row) ? { ...of, scopes: bindingScopes(of.scopes) } : of', to: 'of' },
    notice:
      'api/bindings/ends: attack: a Worker that may change trusts gives its own trust no more than it holds',
  },
  {
    name: 'bindings: a Worker acts by a trust that does not take its name',
    tag: 'binding-by-its-trust',
    change: { from: ' || refusedBy(row.trust, workload) !== null', to: '' },
    notice:
      'api/bindings/vault: bindings: a trust that is none, of another kind, name or organisation is one refusal',
  },
  {
    name: 'bindings: a Worker names the address in its audit entries',
    tag: 'bound-worker-names-no-address',
    change: { from: "bound ? 'unknown' : headers.ip", to: 'headers.ip' },
    notice: 'api/bindings/vault: bindings: a Worker reads, and the audit log names it',
  },
  {
    name: 'bindings: a trust of bound Workers takes tokens too',
    tag: 'binding-without-tokens',
    notice:
      'api/bindings/vault: trusts: those of bound Workers name a Worker, and have no audiences, keys, lifetime or addresses',
  },
  {
    name: 'bindings: a trust of bound Workers is changed so that it takes tokens',
    tag: 'changed-binding-without-tokens',
    change: { from: 'field === undefined', to: 'true' },
    notice:
      'api/bindings/vault: trusts: those of bound Workers name a Worker, and have no audiences, keys, lifetime or addresses',
  },
  {
    name: 'workload identity: a session token outlives the current lifetime limit of its trust',
    tag: 'shortened-trust-shortens-sessions',
    change: 'always',
    notice: 'api/trusts/trusts: that gives a shorter lifetime shortens its session tokens immediately',
  },
  {
    name: 'workload identity: a token may be older than an hour',
    tag: 'issuer-token-age',
    change: 'never',
    notice: 'api/trusts/tokens: is refused with one body, and the audit log has the reason',
  },
  {
    name: 'workload identity: a token is verified with any available key',
    tag: 'issuer-key-fits-algorithm',
    change: { from: '(kid === undefined || key.kid === kid)', to: 'true' },
    notice: 'api/trusts/tokens: is refused where the issuer signs with ES256',
  },
  {
    name: 'workload identity: a token can be exchanged any number of times',
    tag: 'token-exchanged-ten-times',
    change: 'never',
    notice: 'api/trusts/tokens: ten of many concurrent exchanges succeed',
  },
  {
    name: 'workload identity: an address over its limit still reaches the gate',
    tag: 'exchange-limited-before-gate',
    change: 'always',
    notice: 'api/trusts/tokens: refused exchanges are limited by client address',
  },
  {
    name: 'workload identity: refusals of the gate are not counted by address',
    tag: 'exchange-refusals-alike',
    change: 'never',
    notice:
      'api/trusts/tokens: a token can be exchanged ten times, even by its jti alone, for another trust, and after an eviction',
  },
  {
    name: 'workload identity: a trust is checked in the state that the Worker saw',
    tag: 'exchange-judged-by-gate',
    change: { from: 'refusedBy(row.trust, input.workload)', to: 'null' },
    notice: 'api/trusts/trusts: that is narrowed after the Worker has looked at it',
  },
  {
    name: 'workload identity: a trust is used without verification of its row in D1',
    tag: 'trust-mac',
    change: { from: " && row.mac === macOf(keys.row, 'credential', row)", to: '' },
    notice: 'api/trusts/trusts: whose row was altered in the database',
  },
  {
    name: 'workload identity: a trust holds more than its creator',
    tag: 'trust-within-permissions',
    change: { from: 'within(call, permissionsOf(call))', to: 'permissionsOf(call)' },
    notice: 'api/trusts/trusts: a trust holds no more than its maker',
  },
  {
    name: 'workload identity: anyone who may change a trust makes it accept other tokens',
    tag: 'trust-repointed-within-permissions',
    change: 'always',
    notice: 'api/trusts/trusts: a trust holds no more than its maker',
  },
  {
    name: 'workload identity: a caller that makes a trust accept other tokens does not become its creator',
    tag: 'trust-repointed-by-maker',
    change: { from: '...maker(caller), ', to: '' },
    notice: 'api/trusts/trusts: a caller that makes a trust accept other tokens becomes its creator',
  },
  {
    name: 'workload identity: a trust accepts every account of a platform',
    tag: 'trust-names-caller',
    change: 'always',
    notice: 'unit/auth/issuers: claims that name the caller are accepted, others refused',
  },
  {
    name: 'workload identity: another spelling of an issuer escapes what its claims must name',
    tag: 'known-issuer-as-spelled',
    change: 'never',
    notice: 'unit/auth/issuers: a known issuer has one spelling',
  },
  {
    name: 'workload identity: a trust is changed so that its keys are fetched from any address',
    tag: 'changed-issuer-reachable',
    change: {
      from: 'after.keys ? null : checkTarget(after.issuer, { allowPrivate })',
      to: 'null as string | null',
    },
    notice: 'api/trusts/trusts: PATCH is judged as POST is',
  },
  {
    name: 'workload identity: an issuer publishes any number of keys',
    tag: 'issuer-keys-bounded',
    change: { from: ' || jwks.keys.length > MOST_KEYS', to: '' },
    notice: 'api/trusts/issuers: that sends thousands of keys',
  },
  {
    name: 'workload identity: an issuer is asked for each unknown key',
    tag: 'issuer-asked-once-a-minute',
    change: 'always',
    notice: 'api/trusts/issuers: with an unknown kid are asked for once a minute',
  },
  {
    name: 'workload identity: a key that was replaced under its kid is trusted until it is stale',
    tag: 'doubted-keys-fetched-anew',
    change: 'always',
    notice: 'api/trusts/issuers: that are replaced under the same kid are fetched anew',
  },
  {
    name: 'workload identity: keys are used indefinitely while the issuer does not respond',
    tag: 'issuer-keys-served-for-a-day',
    change: { from: 'Math.abs(now - after.at) < SERVES', to: 'true' },
    notice:
      'api/trusts/issuers: that are cached are used for a day while the issuer does not respond; a key that is no longer published is refused once it does',
  },
];
