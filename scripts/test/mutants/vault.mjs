// The mutants of the Vault-compatible API and of what it asks for. index.mjs says what a mutant is.

import { checks } from './checks.mjs';

/** @type {import('./index.mjs').Mutant[]} */
export const mutants = [
  ...checks({
    'wrapping-refused': 'api/vault/tokens: an unsupported path has no handler',
    'vault-namespace-bounded':
      'api/vault/tokens: base path and namespace must name the organisation of the token',
    'vault-other-org': 'api/vault/tokens: base path and namespace must name the organisation of the token',
    'event-pattern-bounded':
      'api/vault/events: a pattern of types has five wildcards at most, so that comparing takes few steps',
    'vault-dot-segments': 'unit/compat/vault: a segment . or .. is refused, however it is spelled',
    'cas-version': 'api/vault/kv: 0 creates only, another number must be the current version',
    'secret-keeps-its-type':
      'api/vault/kv: a new value is generic or json, and an existing secret keeps its type',
    'merge-needs-read':
      'api/vault/kv: a writer who may not read is refused, whatever the length of the value',
    'revival-needs-delete': 'api/vault/kv: reviving needs secrets:delete, as restoring does',
    'merged-tags-bounded':
      'api/vault/kv: 64 keys of 128 bytes with 512 bytes each; a merge cannot exceed them',
    'login-names-its-key': 'api/vault/tokens: everything that is wrong is one refusal, and makes no session',
    'only-own-tokens': 'api/vault/tokens: only the own token and own session tokens',
    'clients-end-sessions-alone':
      'api/vault/tokens: ends a session token at once, and never an API key or an agent credential',
    'only-repeatable-found':
      'api/vault/attacks: one that may be repeated serves the same credential without a header, and no other',
    'folder-write-within-names': 'api/vault/folders: one key that is refused leaves every other as it was',
    'folder-steps-bounded-on-write':
      'api/vault/folders: comparing many long names with many patterns is refused before it takes long',
    'child-sessions-bounded': 'api/vault/tokens: 50 of a session token live at a time',
    'child-of-workload-has-its-root':
      'api/vault/tokens: that of one workload does not belong to another workload of the trust',
    'folder-cas': 'api/vault/folders: the revision of the environment, or 0 for a folder that is not there',
    'folder-put-removes-nothing':
      'api/vault/folders: refuses to remove keys, naming those that the caller may see',
    'unseen-keys-unnamed': 'api/vault/folders: refuses to remove keys, naming those that the caller may see',
    'folder-deleted-whole-or-not':
      'api/vault/folders: one secret that the key may not delete keeps all, and is not named',
    'named-exchange-limited-before-database':
      'api/vault/tokens: past the limit of its address, a login by name reads no D1',
  }),
  {
    name: 'the versions at a path are shown to a caller who was revoked while they were fetched',
    tag: 'metadata-rechecked-after-fetch',
    change: { from: 'call.recheck()', to: 'null' },
    notice: 'api/vault/attacks: a key that is revoked while versions are fetched gets none',
  },
  {
    name: 'a trust lets tokens be used again without the right to widen it',
    tag: 'reuse-widens-trust',
    change: { from: '(before.reuse === true || after.reuse !== true) &&', to: '' },
    notice: 'api/vault/tokens: a trust says whether a token serves more than ten times',
  },
  {
    name: 'a value whose reads need approval is merged with a patch',
    tag: 'merge-of-held-value',
    change: { from: 'mayReveal(call, row).isHeld', to: 'false' },
    notice: 'api/vault/kv: a value whose reads need approval is not merged, whatever its length',
  },
  {
    name: 'tags without a value stay until they are swept',
    tag: 'reservation-ends',
    change: { from: '(reserved.stays || reserved.created_at + RESERVED > now)', to: 'true' },
    notice: 'api/vault/kv: after an hour without one, the path is absent',
  },
  {
    name: 'a list of any length counts as one request',
    tag: 'list-parts-counted',
    change: { from: 'counts: true', to: 'counts: false' },
    notice: 'api/vault/tokens: each further part of a long list counts as a request',
  },
  {
    name: 'session tokens of session tokens do not count for the key',
    tag: 'sessions-of-sessions-count',
    change: { from: '+b.id and', to: '+b.id and 0 and' },
    notice: 'api/vault/tokens: 50 of a session token live at a time',
  },
  {
    name: 'the keys of a folder are not counted together',
    tag: 'folder-within-limits',
    change: { from: 'created.length', to: '0' },
    notice: 'api/vault/folders: the encrypted bytes and the number of secrets are counted for all keys',
  },
  {
    name: 'a break-glass token deletes a folder permanently',
    tag: 'break-glass-cannot-purge-folder',
    change: { from: "caller.kind === 'break_glass'", to: 'false' },
    notice: 'api/vault/folders: one secret that the key may not delete keeps all, and is not named',
  },
  {
    name: 'a break-glass token destroys a secret by its path',
    tag: 'break-glass-cannot-purge-path',
    change: { from: "caller.kind === 'break_glass'", to: 'false' },
    notice: 'api/vault/attacks: provider tokens do nothing here, and a break-glass token destroys nothing',
  },
];
