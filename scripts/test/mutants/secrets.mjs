// The mutants of secrets, of generated values and of what is counted. index.mjs says what a mutant is.

import { checks } from './checks.mjs';

/** @type {import('./index.mjs').Mutant[]} */
export const mutants = [
  // ---------------------------------------------------------------- secrets
  ...checks({
    'absence-ends-with-a-write':
      'unit/gate/stored-lists: rows: what stays in memory, absence included, is what is stored',
    'purge-deletes-versions': 'faults/sweep: to destroy a secret',
    'purge-drops-ciphertexts': 'faults/sweep: to destroy a secret',
    'purge-drops-stored-responses': 'faults/lifecycle: loses its generated value when the secret is purged',
  }),
  ...checks({
    'promotion-within-source': 'api/secrets/promote: limits to environments and names hold on both sides',
    'prune-needs-delete': 'api/secrets/promote: it needs secrets:read there, secrets:write here',
    'promotion-revives-nothing':
      'api/secrets/promote: refuses an invalid promotion, or one of a source that is not active',
    'promotion-bounded': 'api/secrets/promote: more than 4 MiB of values, and more than 2,000 secrets',
    'promotion-steps-bounded': 'api/secrets/promote: comparing many long names with many patterns is 422',
    'promotion-if-match': 'api/secrets/promote: with the ETag of a dry run, a change of any secret',
    'promotion-dry-run-writes-nothing':
      'api/secrets/promote: with the ETag of a dry run, a change of any secret',
    'prune-keeps-what-the-source-has':
      'api/secrets/promote: promotes the named, those with a prefix, and prunes',
    'promotion-needs-read': 'api/secrets/promote: it needs secrets:read there, secrets:write here',
  }),
  {
    name: 'a promotion takes secrets of the source that the caller may not read',
    tag: 'promotion-within-source-names',
    change: {
      from: 'mayReach(caller, READ, { environment: from.id, shown: from.slug, name })',
      to: 'null',
    },
    notice: 'api/secrets/promote: pruning passes over names that the caller may not read there',
  },
  {
    name: 'a promotion with a prefix writes secrets that the caller may not write',
    tag: 'promotion-within-target-names',
    notice: 'api/secrets/promote: a prefix reaches no name that the caller may not write here',
  },
  {
    name: 'a promotion reveals to any caller that a value is equal',
    tag: 'promotion-equal-told-to-readers',
    change: { from: ' && mayRead(target) && mayRead(source)', to: '' },
    notice: 'api/secrets/promote: equality is told only to who may read the target',
  },
  {
    name: 'pruning deletes names that the caller may not read in the source',
    tag: 'prune-within-names',
    change: {
      from: 'reaches(caller, READ.scopes, from.id, name) && ',
      to: '',
    },
    notice: 'api/secrets/promote: pruning passes over names that the caller may not read there',
  },
  {
    name: 'a promotion writes a value that the source had before',
    tag: 'promoted-value-of-source',
    change: { from: 'value.fingerprint === source.fingerprint', to: 'true' },
    notice: 'api/secrets/promote: a source that changes between the two calls of the gate',
  },
  {
    name: 'a promotion goes beyond the limits of the organisation',
    tag: 'promotion-within-limits',
    change: { from: 'limits(core, added', to: 'limits(core, 0 * added' },
    notice: 'api/secrets/promote: the limits of the organisation count what is copied',
  },
  {
    name: 'a promotion is not held as a share of the source',
    tag: 'promotion-held-as-share',
    change: { from: 'policies.some((policy) => holds(policy, effect))', to: 'false' },
    notice: 'api/secrets/promote: one on secret.share holds it as what it does to each source',
  },
  {
    name: 'an approved promotion copies another value than the one that was approved',
    tag: 'approved-copies-kept',
    change: { from: 'rests = copies', to: 'rests: typeof copies = []' },
    notice: 'api/secrets/promote: one on secret.update holds it as the change of the target',
  },
  {
    name: 'an entry of a promotion names a source outside the limits of its reader',
    tag: 'audit-source-within-view',
    change: { from: 'environments?.includes(imported.source) ?? true', to: 'true' },
    notice: 'api/secrets/promote: audit: an entry is shown to who reaches both environments',
  },
  {
    name: 'an exposure report leaves out what was promoted',
    tag: 'exposure-counts-promotions',
    change: { from: 'entry.imported?.copied ?? {}', to: '{}' },
    notice: 'api/secrets/promote: one entry names what was written and copied',
  },
  {
    name: 'a list of rows stays in memory after one of them was written',
    tag: 'list-ends-with-a-write',
    change: { from: 'known?.edits === now', to: 'known' },
    notice: 'unit/gate/stored-lists: rows: what stays in memory, absence included, is what is stored',
  },
  {
    name: 'a list of names stays in memory after a secret was written',
    tag: 'names-end-with-a-write',
    change: { from: 'known?.edits === edits()', to: 'known' },
    notice: 'unit/gate/stored-lists: rows: what stays in memory, absence included, is what is stored',
  },
  {
    name: 'a bulk read combines pages of different points in time',
    tag: 'bulk-read-point-in-time',
    notice: 'api/secrets/values: shows one point in time, also if values change between two pages',
  },
  {
    name: 'pages of a bulk read show different revisions',
    tag: 'bulk-pages-of-one-revision',
    notice: 'api/secrets/values: are of one revision, else 409',
  },
  {
    name: 'a cursor of a bulk read serves another environment or other prefixes',
    tag: 'bulk-cursor-of-this-read',
    notice: 'api/secrets/values: are of one revision, else 409',
  },
  {
    name: 'of two secrets with one name, the earlier prefix wins',
    tag: 'bulk-later-prefix-wins',
    change: { from: 'isThere(other + shown) ||', to: '' },
    notice: 'api/secrets/values: without their prefix, a later one wins, on pages too',
  },
  {
    name: 'an exposure report counts only what begins with the first prefix of a bulk read',
    tag: 'exposure-covers-each-prefix',
    change: { from: 'entry.prefixes ??', to: 'entry.prefixes?.slice(0, 1) ??' },
    notice: 'api/secrets/values: an entry names all prefixes, and a containment report counts each',
  },
  {
    name: 'one value that does not open fails a whole bulk read',
    tag: 'bulk-names-what-does-not-open',
    change: { from: '!(error instanceof ApiError && error.violation)', to: 'true' },
    notice: 'api/secrets/values: is named, and costs no other: an altered ciphertext',
  },
  {
    name: 'a secret is created under a name that is taken',
    tag: 'secret-name-unique-on-create',
    notice: 'model/histories: random histories agree with it',
  },
  {
    name: 'a change does not heed If-Match',
    tag: 'if-match',
    change: 'always',
    notice: 'model/histories: random histories agree with it',
  },
  {
    name: 'a change of a resource does not heed If-Match',
    tag: 'revision-if-match',
    change: 'always',
    notice: 'api/requests/revisions: another revision is 412 and changes nothing',
  },
  {
    name: 'a secret takes a name that is taken by being renamed',
    tag: 'secret-name-unique-on-rename',
    notice: 'faults/changes: create, rename and restore give a name to only one secret',
  },
  {
    name: 'a secret takes a name that is taken by being restored',
    tag: 'secret-name-unique-on-restore',
    notice: 'faults/changes: create, rename and restore give a name to only one secret',
  },
  {
    name: 'a deleted secret is purged before seven days are over',
    tag: 'restore-period-kept',
    change: { from: 'RESTORABLE', to: '6 * DAY' },
    notice: 'faults/lifecycle: restore: a deleted secret can be restored for exactly seven days',
  },
  {
    name: 'a deleted secret is restored after seven days, where nothing has purged it',
    tag: 'restore-period-ends',
    change: { from: ' || (row.deleted_at !== null && row.deleted_at + RESTORABLE <= now)', to: '' },
    notice: 'faults/lifecycle: restore: a deleted secret can be restored for exactly seven days',
  },
  {
    name: 'a ciphertext that was fetched while its secret was destroyed is cached',
    tag: 'purged-version-not-cached',
    change: { from: 'row && version.version >= row.oldest_version && ', to: '' },
    notice: 'faults/changes: purge: a request that reads a ciphertext',
  },
  {
    name: 'a deleted row leaves no tombstone',
    tag: 'deletion-leaves-tombstone',
    change: {
      from: 'update rows set revision = revision + 1, space = ?, key = null, body = null, sweep_at = ? where',
      to: 'delete from rows where ? is not 0 and ? > 0 and',
    },
    notice: 'faults/restore: counts for secrets once it is adopted, and for nothing else',
  },
  {
    name: 'a restored backup brings back rows that were deleted since',
    tag: 'adoption-keeps-deletions',
    change: { from: 'here.deleted_at ?? ', to: '' },
    notice: 'faults/restore: counts for secrets once it is adopted, and for nothing else',
  },
  {
    name: 'a restored backup reuses version numbers',
    tag: 'version-numbers-unique',
    change: { from: 'here.version', to: 'stored.version' },
    notice: 'faults/restore: uses no version number twice, and reports the lost ones',
  },
  {
    name: 'an adoption gives up a secret whose row was altered',
    tag: 'altered-secret-stands',
    notice: 'faults/adoption-refused: is replaced by that of the gate if D1 has its value',
  },
  {
    name: 'a backup is adopted without verification of its rows',
    tag: 'adopted-secret-mac',
    change: { from: " || stored.mac !== macOf(key, 'secret', stored)", to: '' },
    notice: 'faults/restore: accepts no row that the organisation never wrote',
  },

  // ---------------------------------------------------------------- generated values, and what is counted
  {
    name: 'a containment replaces values that others issued',
    tag: 'only-generated-replaced',
    change: { from: ' && generated', to: '' },
    notice:
      'api/incidents/containment: leaves a value that this service did not generate unchanged byte for byte',
  },
  {
    name: 'a rotation without a value replaces a value issued elsewhere',
    tag: 'issued-value-not-replaced',
    notice: 'api/secrets/generated: without a value requires generate for an api_key',
  },
  {
    name: 'a rollback does not keep the mark of a generated value',
    tag: 'rollback-keeps-generated',
    change: { from: 'old.generated ?? null', to: 'null' },
    notice: 'api/secrets/generated: generated is true if the service made the current value',
  },
  {
    name: 'a soft delete leaves generated values in stored responses',
    tag: 'soft-delete-destroys-stored-values',
    notice: 'api/secrets/generated: a soft delete destroys them in stored responses for good',
  },
  {
    name: 'destroyed versions stay in the quota',
    tag: 'quota-counts-kept-versions',
    change: { from: 'trims && kept', to: 'false' },
    notice:
      'api/limits/usage: every new version counts the kept versions, with one more read, and corrects a wrong count',
  },
  {
    name: 'stored versions are counted for a row that has changed meanwhile',
    tag: 'count-of-this-row',
    notice: 'api/limits/usage: a count is discarded if a database was adopted in the meantime',
  },
  {
    name: 'the caller is not checked again after a fetch under the lock',
    tag: 'caller-rechecked-after-fetch',
    change: {
      from: 'const fetched = await inTurns(core, payerOf(call), () => change.fetch?.());',
      to: 'const early = call.recheck(); if (early) return fail(early); const fetched = await inTurns(core, payerOf(call), () => change.fetch?.()); call = { ...call, recheck: () => null };',
    },
    notice: 'api/limits/usage: revocation: a caller who is revoked while the change counts is refused',
  },
  {
    name: 'a credential counts as active although its parent has ended',
    tag: 'count-by-lineage',
    change: { from: 'lives(parent)', to: 'true' },
    notice: 'api/limits/usage: a credential counts while it and all its ancestors are live',
  },
  {
    name: 'a 404 names environments beyond the reach of its reader',
    tag: 'hint-within-permissions',
    change: { from: "reaches(caller, ['secrets:list', 'secrets:read'], id, name) && ", to: '' },
    notice: 'api/requests/errors: tenant isolation: names only environments and secrets',
  },
  {
    name: 'an unknown token is refused in words of its own',
    tag: 'unknown-token-message',
    change: { from: 'isToken', to: 'false' },
    notice: 'api/requests/errors: a mistyped, forged or forgotten token: the same message',
  },

  // ---------------------------------------------------------------- comparisons of environments
  ...checks({
    'compare-steps-bounded': 'api/limits/flood: a comparison of environments ends its page early',
  }),
  {
    name: 'a comparison shows environments outside the reach of the caller',
    tag: 'compare-within-reach',
    change: { from: 'mayReach(caller, need, ', to: 'null && mayReach(caller, need, ' },
    notice: 'api/secrets/compare: stays within the environments and names of the caller',
  },
  {
    name: 'a comparison shows names that the caller may not list',
    tag: 'compare-within-permissions',
    change: { from: '.filter(({ id }) => reaches(caller, need.scopes, id, name))', to: '' },
    notice: 'api/secrets/compare: stays within the environments and names of the caller',
  },
  {
    name: 'a comparison tells equality to a caller that cannot read the values',
    tag: 'compare-needs-read',
    change: { from: '!reaches(call.caller, READ, row.environment_id, row.name) || ', to: '' },
    notice: 'api/secrets/compare: is not whether values are equal, for a caller that may only list',
  },
  {
    name: 'a comparison tells equality of a value whose read needs an approval',
    tag: 'compare-withholds',
    change: { from: '!isHeld', to: 'true' },
    notice: 'api/secrets/compare: is not equality of a value whose read needs an approval',
  },
];
