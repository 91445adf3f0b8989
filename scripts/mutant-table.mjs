// The mutants: each removes one safety check, and names the tests that should notice, as `file: part of a test's name`.
// A tag names the check in the source: `// safety: TAG` stands right above the statement, property or argument that a mutant changes,
// so that a refactoring moves it along. Invariant: each tag stands in the source once, and has a mutant here.

// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the edits quote source.

/**
 * @typedef {object} Mutant
 * @property {string} name What is taken out.
 * @property {string | string[]} [tag] Whose statement changes; of several tags, that of each.
 * @property {string} [file] Instead of a tag, for a migration: it was released, and never changes.
 * @property {'remove' | 'never' | 'always' | { from: string, to: string }} change The statement goes, its condition (that of `if` or of
 *   `A ? B : C`) becomes false or true, or a text in it that occurs there once is replaced. The first three survive a change of names.
 * @property {string} notice
 * @property {string} [survives] Why no test can notice: another safety covers this one.
 */

/** @type {Mutant[]} */
export const mutants = [
  // ---------------------------------------------------------------- one change at a time
  {
    name: 'nobody waits for the lock of a row',
    tag: 'row-locks-wait',
    change: 'remove',
    notice: 'faults/changes: fifty writers on one secret make versions 2 to 51',
  },
  {
    name: 'whoever makes a credential is not locked meanwhile',
    tag: 'creator-locked',
    change: { from: ', caller.credential, caller.id', to: '' },
    notice: 'faults/changes: a mint and the revocation of its parent are serialised',
  },
  {
    name: 'whether the caller is still alive is not asked again under the lock',
    tag: 'caller-rechecked-under-lock',
    change: { from: 'call.recheck()', to: 'null' },
    notice: 'faults/changes: revocation: a request whose caller is revoked while it waits',
  },
  {
    name: 'a secret is created in an environment that is being deleted',
    tag: 'environment-not-being-deleted',
    change: 'remove',
    notice: 'faults/changes: an environment and a secret in it are never deleted and created together',
  },
  {
    name: 'an environment is deleted into which a secret is being created',
    tag: 'environment-not-being-filled',
    change: { from: 'core.intents.concerns(row.id).filling', to: 'false' },
    notice: 'faults/changes: an environment and a secret in it are never deleted and created together',
  },
  {
    name: 'other things change while something is in doubt',
    tag: 'no-change-in-doubt',
    change: 'never',
    notice: 'model/histories: a keyed create in doubt',
  },

  // ---------------------------------------------------------------- marks
  {
    name: 'no mark is written before the batch',
    tag: 'intent-before-batch',
    change: 'remove',
    notice: 'faults/changes: it takes effect, while D1 stays unavailable, is settled by the next call',
  },
  {
    name: 'the mark is in memory alone',
    tag: 'intent-durable',
    change: 'remove',
    notice: 'faults/changes: and whose gate is evicted is settled by the next gate',
  },
  {
    name: 'a secret in doubt is read',
    tag: 'no-read-in-doubt',
    change: 'never',
    notice: 'faults/changes: it takes effect, while D1 stays unavailable, is settled by the next call',
  },
  {
    name: 'a credential whose end is in doubt is admitted',
    tag: 'no-admission-in-doubt',
    change: { from: ' ?? inDoubt', to: '' },
    notice: 'faults/changes: revocation: refuses the credential whose end is in doubt',
  },

  // ---------------------------------------------------------------- the batch and its marker
  {
    name: 'a batch lands under any epoch',
    tag: 'batch-epoch-guard',
    change: { from: '(select epoch from fences where org_id = ?) = ?', to: '(? <> ?)' },
    notice: 'faults/sweep: to create a key',
  },
  {
    name: 'a batch lands on any row',
    tag: 'batch-row-guards',
    change: { from: 'guard.sql', to: '`1 or ${guard.sql}`' },
    notice: 'faults/tampering: is refused with an integrity violation',
  },
  {
    name: 'another row under the planned revision passes for the planned one',
    tag: 'batch-row-mac',
    change: {
      from: 'mac from ${table} where org_id = ? and id = ?) = ?`, params: [org, row.id, row.mac]',
      to: 'revision from ${table} where org_id = ? and id = ?) = ?`, params: [org, row.id, row.revision]',
    },
    notice: 'faults/tampering: a row raised to the revision that comes next',
  },
  {
    name: 'a row is changed from whatever revision it is at',
    tag: 'update-from-planned-revision',
    change: { from: ', revision: from', to: '' },
    notice: 'faults/tampering: is refused with an integrity violation',
  },
  {
    name: 'many rows are changed though one of them is another',
    tag: 'batch-rows-counted',
    change: { from: '1) = ?', to: '1) <= ?' },
    notice: 'api/members/members: integrity: ends none of many credentials if one was altered',
  },
  {
    name: 'many rows are looked for by walking the organisation',
    tag: 'bulk-update-by-index',
    change: { from: 'cross join ${name} t on t.org_id = ? and t.id', to: 'join ${name} t on t.org_id = ? and +t.id' },
    notice: 'api/limits/query-plans: query plan: D1 finds every row by an index',
  },
  {
    name: 'a plan takes as many rows as there are',
    tag: 'batch-size-limited',
    change: { from: '.slice(0, past < 0 ? MOST_PUTS : past)', to: '' },
    notice: 'api/members/members: ends very many credentials in one batch, and reports how many remain',
  },
  {
    name: 'a marker may say that its guards do not hold',
    file: 'migrations/0000_foundation.sql',
    change: { from: 'CHECK("commits"."holds" = 1)', to: 'CHECK("commits"."holds" >= 0)' },
    notice: 'faults/tampering: is refused with an integrity violation',
  },
  {
    name: 'one commit may have two markers',
    file: 'migrations/0000_foundation.sql',
    change: { from: 'CREATE TABLE `commits` (\n\t`id` text PRIMARY KEY NOT NULL', to: 'CREATE TABLE `commits` (\n\t`id` text NOT NULL' },
    notice: 'faults/sweep: to create a key',
    survives: 'a batch that lands twice meets a row that has moved on, or a raised epoch',
  },
  {
    name: 'what failed without a verdict is taken for undone',
    tag: 'refused-by-constraint-only',
    change: { from: "why.includes('constraint failed') || isTooLarge(why)", to: 'true' },
    notice: 'faults/changes: after it took effect is found and answered as done',
  },

  // ---------------------------------------------------------------- the fence
  {
    name: 'an absent marker is believed without raising the epoch',
    tag: ['epoch-raised', 'epoch-raise-confirmed'],
    change: 'remove',
    notice: 'faults/sweep: to create a key',
  },
  {
    name: 'an absent marker is believed though the epoch could not be raised',
    tag: 'epoch-raise-confirmed',
    change: { from: 'return null', to: '' },
    notice: 'faults/changes: and may still arrive does not count as undone while the epoch',
  },
  {
    name: 'a database that does not answer is taken for one that was altered',
    tag: 'outage-is-no-violation',
    change: 'remove',
    notice: 'faults/changes: is not reported as an integrity violation',
  },
  {
    name: 'a gate that lost its storage goes on under the old epoch',
    tag: 'recovery-raises-epoch',
    change: { from: ' + 1', to: '' },
    notice: 'faults/lifecycle: ignores batches of its earlier life that arrive later',
  },
  {
    name: 'a gate goes on under an epoch that it did not raise itself',
    tag: 'epoch-raised-by-this-gate',
    change: { from: " || core.meta.get('raising') !== String(current)", to: '' },
    notice: 'faults/tampering: a fence raised by one',
  },

  // ---------------------------------------------------------------- settling
  {
    name: 'what a call left open is settled as done, whatever D1 says',
    tag: 'intent-settled-by-marker',
    change: { from: 'present.has(intent.id)', to: 'true' },
    notice: 'faults/changes: it takes effect, while D1 stays unavailable, is settled by the next call',
  },
  {
    name: 'what a call left open is settled as never, whatever D1 says',
    tag: 'intent-settled-by-marker',
    change: { from: 'present.has(intent.id)', to: 'false' },
    notice: 'faults/changes: it takes effect, while D1 stays unavailable, is settled by the next call',
  },
  {
    name: 'a batch without a reply is taken for done, whatever D1 says',
    tag: 'lost-reply-settled-by-marker',
    change: 'always',
    notice: 'faults/changes: before it takes effect is 503, did nothing, and can be repeated',
  },
  {
    name: 'a batch without a reply is taken for undone, whatever D1 says',
    tag: 'lost-reply-settled-by-marker',
    change: 'never',
    notice: 'faults/changes: after it took effect is found and answered as done',
  },

  {
    name: 'markers are cleared away while a commit is in doubt',
    tag: 'markers-kept-in-doubt',
    change: { from: 'intents.unsettled().length === 0', to: '!intents.held' },
    notice: 'faults/lifecycle: for more than a day, because D1 takes batches but answers no query',
  },

  // ---------------------------------------------------------------- once
  {
    name: 'the answer of a change is not kept in the turn of its effect',
    tag: 'response-stored-with-effect',
    change: 'remove',
    notice: 'faults/changes: idempotency: is found by its key when it is repeated',
  },
  {
    name: 'another request under a used Idempotency-Key gets its answer',
    tag: 'idempotency-key-digest',
    change: 'remove',
    notice: 'faults/lifecycle: is replayed in full to the token that made the call',
  },
  {
    name: 'a twin runs while the first under its Idempotency-Key does',
    tag: 'idempotency-in-progress',
    change: 'remove',
    notice: 'faults/changes: idempotency: twenty requests with one key make one credential',
  },
  {
    name: 'a request that the Worker repeats is not known by its id',
    tag: 'retry-known-by-request-id',
    change: { from: 'ask.request.id', to: 'Math.random()' },
    notice: 'faults/changes: that the Worker repeats after a lost reply is known by its id',
  },
  {
    name: 'a kept answer is replayed to who may no longer do this',
    tag: 'replay-authorized',
    change: 'always',
    notice: 'faults/lifecycle: is replayed in full to the token that made the call',
  },

  {
    name: 'a kept answer is found by whoever knows its Idempotency-Key',
    tag: 'idempotency-key-per-root',
    change: { from: '${root}:', to: '' },
    notice: 'faults/lifecycle: is replayed in full to the token that made the call',
  },

  // ---------------------------------------------------------------- who asks
  {
    name: 'a credential reaches what another organisation holds',
    tag: 'tenant-isolation',
    change: { from: 'path_org !== org', to: 'false' },
    notice: 'api/access/permissions: tenant isolation: answers 404 for another org, whether it exists or not',
  },
  {
    name: 'a child does not die with its parent',
    tag: 'ends-with-parent',
    change: { from: 'parent !== null', to: 'false' },
    notice: 'faults/changes: revocation: reads in flight are refused once their credential',
  },
  {
    name: 'a child outlives a parent that has been cleared away',
    tag: 'ends-with-missing-parent',
    change: { from: 'row.revoked_at ?? 0', to: 'row.revoked_at' },
    notice: 'faults/tampering: refuses a child whose parent is not in D1',
  },
  {
    name: 'what a session token makes does not die with it',
    tag: 'created-ends-with-creator',
    change: { from: 'caller.isDependent', to: 'false' },
    notice: 'faults/lifecycle: revocation: what a session token created ends with it',
  },
  {
    name: 'what an agent made keeps what the agent has lost',
    tag: 'permissions-within-ancestors',
    change: { from: 'overlap(narrower, permissionsOf(agent))', to: 'narrower' },
    notice: 'api/credentials/agents: narrows its descendants too',
  },
  {
    name: 'an agent raises its own rate limit',
    tag: 'own-rate-limit',
    change: { from: ' ?? raisesOwn(call, row, call.input.rate_limit)', to: '' },
    notice: 'api/credentials/agents: privilege escalation: an agent cannot give itself',
  },
  {
    name: 'who ends with another widens what does not',
    tag: 'widening-within-lifetime',
    change: { from: 'mayOutlive(call, row) ?? ', to: '' },
    notice: 'api/credentials/agents: privilege escalation: an agent cannot give itself',
  },
  {
    name: 'a credential is widened by whoever may change it',
    tag: 'widening-within-permissions',
    change: 'always',
    notice: 'api/credentials/agents: tokens:write may narrow an agent; nobody may give more than they hold',
  },
  {
    name: 'an action is open to every kind of caller',
    tag: 'credential-kind',
    change: 'remove',
    notice: 'api/credentials/break-glass: allow nothing else: every other route refuses the token',
  },
  {
    name: 'an action for owners is open to whoever holds its scopes',
    tag: 'owner-required',
    change: 'remove',
    notice: 'unit/auth/authorize: owner: an action for owners requires one, whatever the caller holds',
  },
  {
    name: 'two holdings together give what neither does',
    tag: 'scopes-and-limits-of-one-permission-set',
    change: {
      from: 'holds(permissionSet, scopes, place)',
      to: 'permissionSets.some((one) => gives(one, scopes)) && holds({ ...permissionSet, scopes }, scopes, place)',
    },
    notice: 'unit/auth/authorize: nothing by combination of two permission sets',
  },
  {
    name: 'the address of a caller is not looked at',
    tag: 'allowed-addresses',
    change: 'remove',
    notice: 'api/access/addresses: is accepted from its IPv4 and IPv6 ranges alone',
  },
  {
    name: 'only the first link of a lineage is limited by address',
    tag: 'allowed-addresses-of-lineage',
    change: { from: 'lineage.flatMap', to: 'lineage.slice(0, 1).flatMap' },
    notice: 'api/access/addresses: limits its descendants from the next request on',
  },
  {
    name: 'more than five break-glass tokens may be alive where several issue at once',
    tag: 'break-glass-count-locked',
    change: { from: ", 'break-glass'", to: '' },
    notice: 'api/credentials/break-glass: limit: at most five are live',
  },
  {
    name: 'a break-glass token destroys',
    tag: 'break-glass-cannot-purge',
    change: 'never',
    notice: 'api/credentials/break-glass: do not allow to purge a secret, live, deleted or missing',
  },
  {
    name: 'a use of a break-glass token is not told',
    tag: 'break-glass-use-notified',
    change: 'remove',
    notice: 'api/credentials/break-glass: events: one for the creation, one for the first use, then one a minute',
  },
  {
    name: 'a credential does not end by time',
    tag: 'expired-credential',
    change: 'remove',
    notice: 'faults/lifecycle: revocation: a credential is refused when its time is over',
  },
  {
    name: 'a secret does not end by time',
    tag: 'expired-secret',
    change: 'never',
    notice: 'faults/lifecycle: revocation: a credential is refused when its time is over',
  },
  {
    name: 'a read is not judged again after D1',
    tag: 'read-rechecked-after-fetch',
    change: { from: ' ?? (fetched && call.recheck())', to: '' },
    notice: 'faults/changes: revocation: a request whose caller is revoked while it waits',
  },
  {
    name: 'a bulk read is not judged again after D1',
    tag: 'bulk-read-rechecked-after-fetch',
    change: 'never',
    notice: 'faults/changes: revocation: a request whose caller is revoked while it waits',
  },
  {
    name: 'a list of versions is not judged again after D1',
    tag: 'versions-rechecked-after-fetch',
    change: { from: 'call.recheck()', to: 'null' },
    notice: 'faults/changes: revocation: a request whose caller is revoked while it waits',
  },
  {
    name: 'the tokens of a deleted organisation are admitted',
    tag: 'deleted-org',
    change: 'never',
    notice: 'faults/lifecycle: refuses its credentials and destroys its key at once',
  },
  {
    name: 'a credential that only D1 knows is believed without its MAC',
    tag: 'fetched-credential-mac',
    change: 'never',
    notice: 'faults/tampering: is refused: planted without a genuine tag, for another org',
  },

  // ---------------------------------------------------------------- budgets
  {
    name: 'a gate that starts knows of no budget that is spent',
    tag: 'rate-limit-restored',
    change: 'remove',
    notice: 'faults/lifecycle: is counted exactly, and survives eviction of the gate',
  },
  {
    name: "a session token takes nothing from its parent's budget",
    tag: 'rate-limit-of-lineage',
    change: { from: 'lineage.map', to: 'lineage.slice(0, 1).map' },
    notice: 'faults/lifecycle: session tokens share that of their parent; the lower one is shown',
  },

  // ---------------------------------------------------------------- the audit log
  {
    name: 'an answer leaves before its audit entry is written',
    tag: 'audit-before-response',
    change: {
      from: 'core.auditLog.append(draft(about), status, core.now())',
      to: 'void scheduler.wait(1000).then(() => core.auditLog.append(draft(about), status, core.now()))',
    },
    notice: 'faults/changes: audit log: its entry is stored before the response leaves',
  },
  {
    name: 'an entry does not hold the hash before it',
    tag: 'audit-hash-chain',
    change: { from: ': hash', to: ": ''" },
    notice: 'faults/lifecycle: moves closed segments to D1',
  },
  {
    name: 'a segment leaves the gate though D1 has not taken it',
    tag: 'segment-kept-until-stored',
    change: 'remove',
    notice: 'faults/lifecycle: keeps what D1 does not take',
  },
  {
    name: 'a check of the chain does not compare the hash before an entry',
    tag: 'audit-prev-hash-checked',
    change: { from: ' || entry.prev_hash !== before', to: '' },
    notice: 'faults/tampering: that were rewritten with right hashes',
  },
  {
    name: 'a check of the chain does not make hashes anew',
    tag: 'audit-hash-checked',
    change: { from: ' || entry.hash !== hashOf(entry)', to: '' },
    notice: 'faults/tampering: that were rewritten with right hashes',
  },

  // ---------------------------------------------------------------- what D1 was made to say
  {
    name: 'the Worker opens a value without checking the MAC of its row',
    tag: 'decrypted-secret-mac',
    change: { from: "equal(row.mac, macOf(keys.row, 'secret', row))", to: 'true' },
    notice: 'faults/tampering: is not decrypted by the Worker',
  },
  {
    name: 'the Worker opens a value without checking the MAC of its version',
    tag: 'decrypted-version-mac',
    change: { from: "equal(version.mac, macOf(keys.row, 'version', version))", to: 'true' },
    notice: 'faults/tampering: is not decrypted by the Worker',
  },
  {
    name: 'a session token that only D1 knows is revoked without its MAC',
    tag: 'revoked-session-mac',
    change: { from: " && row.mac === macOf(rowKeyOf(call), 'credential', row)", to: '' },
    notice: 'faults/tampering: is refused: planted without a genuine tag, for another org',
  },
  {
    name: 'a version that comes from D1 is believed without its MAC',
    tag: 'fetched-version-mac',
    change: { from: "version.mac === macOf(key, 'version', version)", to: 'true' },
    notice: 'faults/tampering: raises one integrity violation a request',
  },
  {
    name: 'a gate that lost its storage believes rows without their MAC',
    tag: 'recovered-row-mac',
    change: { from: ' && row.mac === macOf(key, kind, row)', to: '' },
    notice: 'faults/tampering: refuses a row with a wrong MAC',
  },
  {
    name: 'a gate without state begins empty where D1 does not know its organisation',
    tag: 'org-known-to-database',
    change: 'remove',
    notice: 'faults/lifecycle: does not start empty when D1 lost the organisation too',
  },

  // ---------------------------------------------------------------- secrets
  {
    name: 'a bulk read goes on over pages of different moments',
    tag: 'bulk-read-point-in-time',
    change: 'remove',
    notice: 'api/secrets/values: shows one point in time, also if values change between two pages',
  },
  {
    name: 'a secret is created under a name that is taken',
    tag: 'secret-name-unique-on-create',
    change: 'remove',
    notice: 'model/histories: random histories agree with it',
  },
  {
    name: 'a change does not heed If-Match',
    tag: 'if-match',
    change: 'always',
    notice: 'model/histories: random histories agree with it',
  },
  {
    name: 'a secret takes a name that is taken by being renamed',
    tag: 'secret-name-unique-on-rename',
    change: 'remove',
    notice: 'faults/changes: create, rename and restore give a name to one secret alone',
  },
  {
    name: 'a secret takes a name that is taken by being restored',
    tag: 'secret-name-unique-on-restore',
    change: 'remove',
    notice: 'faults/changes: create, rename and restore give a name to one secret alone',
  },
  {
    name: 'a secret is purged in the gate though D1 still holds its ciphertexts',
    tag: 'purged-in-database-first',
    change: 'remove',
    notice: 'faults/lifecycle: purge: a deleted secret leaves D1, though D1 was unavailable',
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
    name: 'destroying a secret leaves its ciphertexts in D1',
    tag: 'purge-deletes-versions',
    change: 'remove',
    notice: 'faults/sweep: to destroy a secret',
  },
  {
    name: 'destroying a secret leaves its ciphertexts in the gate',
    tag: 'purge-drops-ciphertexts',
    change: 'remove',
    notice: 'faults/sweep: to destroy a secret',
  },
  {
    name: 'destroying a secret leaves its generated values among the kept answers',
    tag: 'purge-drops-stored-responses',
    change: 'remove',
    notice: 'faults/lifecycle: loses its generated value when the secret is purged',
  },
  {
    name: 'a ciphertext that was fetched while its secret was destroyed is kept',
    tag: 'purged-version-not-cached',
    change: { from: 'row && version.version >= row.oldest_version && ', to: '' },
    notice: 'faults/changes: purge: a request that reads a ciphertext',
  },
  {
    name: 'a row that is gone leaves no tombstone',
    tag: 'deletion-leaves-tombstone',
    change: {
      from: 'update rows set revision = revision + 1, space = null, key = null, body = null, sweep_at = ? where',
      to: 'delete from rows where ? > 0 and',
    },
    notice: 'faults/restore: counts for secrets once it is adopted, and for nothing else',
  },
  {
    name: 'a backup revives what was deleted since',
    tag: 'adoption-keeps-deletions',
    change: { from: 'here.deleted_at ?? ', to: '' },
    notice: 'faults/restore: counts for secrets once it is adopted, and for nothing else',
  },
  {
    name: 'a backup gives numbers of versions again',
    tag: 'version-numbers-unique',
    change: { from: 'here.version', to: 'stored.version' },
    notice: 'faults/restore: uses no version number twice, and reports the lost ones',
  },
  {
    name: 'a backup is adopted whoever wrote its rows',
    tag: 'adopted-secret-mac',
    change: { from: " || stored.mac !== macOf(key, 'secret', stored)", to: '' },
    notice: 'faults/restore: accepts no row that the organisation never wrote',
  },
  {
    name: 'changes go on while a backup is adopted',
    tag: 'no-change-during-adoption',
    change: { from: 'core.intents.held || ', to: '' },
    notice: 'faults/restore: concurrency: no change happens during the adoption',
  },
  // ---------------------------------------------------------------- people
  {
    name: 'who is limited invites',
    tag: 'role-given-without-limits',
    change: 'remove',
    notice: 'api/members/members: are not given by a caller with limits in environments',
  },
  {
    name: 'whoever holds everything makes owners',
    tag: 'owner-made-by-owner',
    change: 'remove',
    notice: 'api/members/members: an admin cannot change, demote or remove an owner, nor make one',
  },
  {
    name: 'a role is given by who does not hold it',
    tag: 'role-within-permissions',
    change: { from: 'withinPermissions(caller, permissionsOfRole(role))', to: 'null' },
    notice: 'api/members/members: are given by callers who hold all their scopes',
  },
  {
    name: 'an admin ranks with an owner',
    tag: 'owner-outranks-others',
    change: 'remove',
    notice: 'api/members/members: an admin cannot change, demote or remove an owner, nor make one',
  },
  {
    name: 'whoever may write members changes those above them',
    tag: 'rank-within-permissions',
    change: { from: 'withinPermissions(caller, permissionsOfRole(role)) !== null', to: 'false' },
    notice: 'api/members/members: a key with members:write, and a session of the strongest key',
  },
  {
    name: 'two owners are removed at once',
    tag: 'owner-removal-locked',
    change: 'remove',
    notice: 'api/members/members: can be neither removed nor demoted, also not by concurrent requests',
  },
  {
    name: 'the last owner is demoted',
    tag: 'last-owner',
    change: 'remove',
    notice: 'api/members/members: can be neither removed nor demoted, also not by concurrent requests',
  },
  {
    name: 'two owners demote each other',
    tag: 'caller-locked',
    change: { from: 'caller.credential, caller.id', to: '' },
    notice: 'api/members/members: stays when two owners demote each other',
    survives: 'the lock on owners has the second one wait, and then see that it is the last',
  },
  {
    name: 'an email is two by its capitals',
    tag: 'email-case-insensitive',
    change: { from: '.toLowerCase()', to: '' },
    notice: 'api/members/members: is unique without regard to case, also with concurrent requests',
  },
  {
    name: 'an email is taken twice at once',
    tag: 'email-locked',
    change: { from: "'members', emailLock(call.input.email), ", to: '' },
    notice: 'api/members/members: is unique without regard to case, also with concurrent requests',
  },
  {
    name: 'an enrolment serves for a role that somebody else gave',
    tag: 'enrolment-for-given-role',
    change: { from: 'row.invited_by !== caller.id', to: 'false' },
    notice: 'api/members/members: applies to the role that its maker gave, and no other',
  },
  {
    name: 'who is removed leaves grants and memberships',
    tag: 'member-removal-removes-grants',
    change: { from: ", 'team_member', 'grant'", to: '' },
    notice: 'api/members/members: removes their passkeys, memberships and grants, and nothing of others',
  },
  {
    name: 'whoever removes a member ends credentials',
    tag: 'revocation-needs-scope',
    change: { from: "'tokens:write'", to: "'members:write'" },
    notice: 'api/members/members: permission: ends credentials only for callers who may end credentials',
  },
  {
    name: 'a member who is being removed makes a credential',
    tag: 'creator-locked',
    change: { from: ', caller.id', to: '' },
    notice: 'api/members/members: concurrency: leaves no credential that was being created',
  },
  {
    name: 'a team is filled whatever it holds',
    tag: 'team-within-permissions',
    change: 'remove',
    notice: 'api/members/teams: are added only by callers who hold what it gives',
  },
  {
    name: 'what ends with another fills a team',
    tag: 'team-member-added-independently',
    change: 'remove',
    notice: 'api/members/teams: are not added by a caller with a parent, whatever they hold',
  },
  {
    name: 'a deleted team goes on to give',
    tag: 'team-deletion-deletes-grants',
    change: 'remove',
    notice: 'api/members/teams: gives its grants to its members, until they leave or it is deleted',
  },
  {
    name: 'a grant gives more than its maker holds',
    tag: 'grant-within-permissions',
    change: { from: 'within(call, permissionsToGrant(call))', to: 'permissionsToGrant(call)' },
    notice: 'api/members/grants: in scopes, environments, names, addresses or time',
  },
  {
    name: 'a grant takes its maker to every address',
    tag: 'grant-checked-for-any-address',
    change: 'remove',
    notice: 'api/members/grants: in scopes, environments, names, addresses or time',
  },
  {
    name: 'a grant outlives the session token that made it',
    tag: 'grant-ends-with-creator',
    change: 'remove',
    notice: 'api/members/grants: ends with it, and never later',
  },
  {
    name: 'a browser session shuts itself out',
    tag: 'no-self-lockout',
    change: 'remove',
    notice: 'api/members/members: apply to members alone',
  },
  {
    name: 'who was revoked after a change is told that it was refused',
    tag: 'repeated-request-answered-as-done',
    change: 'always',
    notice: 'model/histories: a change whose reply was lost',
  },

  // ---------------------------------------------------------------- what providers push and revoke
  {
    name: 'a revoked secret is read',
    tag: 'revoked-secret',
    change: 'remove',
    notice: 'api/credentials/provider: revokes every way of reading and every change but issue',
  },
  {
    name: 'a revoked version is read once the secret is issued anew',
    tag: 'revoked-version',
    change: 'never',
    notice: 'api/credentials/provider: issue activates the secret with the next version',
  },
  {
    name: 'a revoked secret leaves kept one-time values behind',
    tag: 'revocation-destroys-stored-values',
    change: { from: ', destroyed: [row.id]', to: '' },
    notice: 'api/credentials/provider: destroys one-time values in stored responses, and cached ciphertexts',
  },
  {
    name: 'a backup brings back what was revoked after it',
    tag: 'adoption-keeps-revocations',
    change: { from: 'stored.version <= through', to: 'false' },
    notice: 'api/credentials/provider: survives adoption of a backup from before it',
  },
  {
    name: 'what a name stood for before its lock was free is changed',
    tag: 'names-resolved-under-lock',
    change: 'remove',
    notice: 'api/credentials/provider: concurrency: issue and revoke wait for a change',
  },
  {
    name: 'a value is taken that was sealed for another secret',
    tag: 'value-encrypted-for-this-secret',
    change: { from: 'row.id !== input.id || ', to: '' },
    notice: 'api/credentials/provider: creates a secret where that of the name is deleted',
  },
  {
    name: 'a secret is made under the id of one that was renamed or destroyed',
    tag: 'secret-id-unused',
    change: { from: ' || isUsedId(core, id)', to: '' },
    notice: 'api/credentials/provider: creates a secret where that of the name is deleted',
  },
  {
    name: 'a provider token reaches every name',
    tag: 'provider-token-limits',
    change: 'remove',
    notice: 'api/credentials/provider: is limited to environments and names',
  },

  // ---------------------------------------------------------------- reauthentication
  {
    name: 'a copy of an earlier JWT counts as confirmed when its owner confirms',
    tag: 'confirmation-of-this-jwt',
    change: { from: 'jwt >= refresh.confirmed', to: 'true' },
    notice: 'api/signin/confirmation: gains nothing when its owner confirms, in the same second or later',
  },
  {
    name: 'a confirmation never ends',
    tag: 'confirmation-expires',
    change: { from: 'now <= confirmed_at + CONFIRMED_FOR', to: 'true' },
    notice: 'api/signin/confirmation: is required five minutes after sign-in',
  },
  {
    name: 'a challenge confirms more than once',
    tag: 'challenge-used-once',
    change: { from: 'input.since !== since || ', to: '' },
    notice: 'api/signin/confirmation: accepts each challenge once',
  },
  {
    name: 'a confirmation leaves a cookie that was just used to be forgiven',
    tag: 'confirmation-ends-used-cookies',
    change: { from: 'used: []', to: 'used: [[1, now]]' },
    notice: 'api/signin/confirmation: that was used just before a confirmation is not accepted after it',
  },
  {
    name: 'a confirmation leaves the earlier cookies',
    tag: 'confirmation-ends-live-cookies',
    change: { from: 'live: [n]', to: 'live: [...row.refresh.live, n]' },
    notice: 'api/signin/confirmation: is refused after a confirmation',
  },
  {
    name: "another member's passkey confirms a session",
    tag: 'passkey-of-this-member',
    change: 'remove',
    notice: 'api/signin/confirmation: cannot confirm with a passkey of its own',
    survives: "the passkey is looked for among the session's member's alone",
  },
  {
    name: 'the gate takes the word of D1 for the counter of a confirmation',
    tag: 'passkey-counter',
    change: { from: ' || !mayFollow(passkey.counter, counter)', to: '' },
    notice: 'api/signin/confirmation: checks the counter, in D1 and in the gate',
  },
  {
    name: 'an owner is demoted without a confirmation',
    tag: 'owner-demotion-confirmed',
    change: { from: "[input.role, role].includes('owner')", to: "input.role === 'owner'" },
    notice: 'api/signin/confirmation: is required five minutes after sign-in',
  },
  {
    name: 'a panic spares other JWTs of the session that calls it',
    tag: 'panic-ends-other-jwts',
    change: { from: ', jwts: [jwt, jwt]', to: '' },
    notice: 'api/signin/confirmation: ends every copy of the cookie and every other JWT of the session',
  },
  {
    name: 'a request of a refused JWT that waits is carried out',
    tag: 'refused-jwt',
    change: { from: 'isRefused(row, bearer.jwt)', to: 'false' },
    notice: 'api/signin/confirmation: refuses requests in flight with another JWT of the session',
  },
  {
    name: 'a confirmation after a panic revives earlier JWTs',
    tag: 'confirmation-keeps-jwts-refused',
    change: { from: '...(row.refresh.jwts && { jwts: [n, null] })', to: '' },
    notice: 'api/signin/confirmation: ends every copy of the cookie and every other JWT of the session',
  },

  // ---------------------------------------------------------------- incident response
  {
    name: 'a panic spares the API key that asked to end all API keys',
    tag: 'panic-ends-calling-key',
    change: { from: "key && caller.kind === 'api_key'", to: 'false' },
    notice: 'api/incidents/panic: with api_keys ends every API key',
  },
  {
    name: 'the new key of a panic ends with the old ones',
    tag: 'panic-key-of-new-generation',
    change: { from: 'generation, ', to: '' },
    notice: 'api/incidents/panic: with api_keys ends every API key',
  },
  {
    name: 'callers are admitted while a panic is in doubt',
    tag: 'no-admission-during-panic',
    change: { from: 'core.intents.isOpen(id)', to: 'id !== ask.org && core.intents.isOpen(id)' },
    notice: 'api/incidents/panic: in doubt: no caller is admitted, old or new, before it is settled',
  },
  {
    name: 'a session that has left the gate forgets the panic',
    tag: 'panic-ends-removed-sessions',
    change: { from: "isPast(core.rows.get('org', ask.org), stored)", to: 'false' },
    notice: 'api/incidents/panic: after a session token left the gate',
  },
  {
    name: 'a credential that ends with one outside is not contained',
    tag: 'containment-of-root',
    change: { from: '{ id: root, parent_id: null }', to: '' },
    notice: 'api/incidents/containment: ends a session token alone, and not the key that minted it',
  },
  {
    name: 'what a member made in a browser session outlives its containment',
    tag: 'containment-of-browser-session',
    change: { from: ' union ${made} ${bySession}', to: '' },
    notice: 'api/incidents/containment: ends a browser session and what it created',
  },
  {
    name: 'a containment ends its own caller',
    tag: 'containment-spares-caller',
    change: 'remove',
    notice: 'api/incidents/containment: of an ancestor spares the caller, unless the caller ends with it',
  },
  {
    name: 'the account forgets that a secret was renamed',
    tag: 'exposure-follows-renames',
    change: 'remove',
    notice: 'api/incidents/containment: lists exactly what the responses contained',
  },
  {
    name: 'the account passes over segments of who was found meanwhile',
    tag: 'exposure-rereads-segments',
    change: 'never',
    notice: 'api/incidents/containment: repeats its answer after session tokens expired and left the gate',
  },
  {
    name: 'a repeated containment gives new values once more',
    tag: 'rotation-once',
    change: 'remove',
    notice: 'api/incidents/containment: rotates generated values by ordinary rotations',
  },

  // ---------------------------------------------------------------- generated values, and what is counted
  {
    name: 'a containment replaces values that others issued',
    tag: 'only-generated-replaced',
    change: { from: ' && generated', to: '' },
    notice: 'api/incidents/containment: leaves a value that this service did not generate unchanged byte for byte',
  },
  {
    name: 'a rotation without a value replaces what others issued',
    tag: 'issued-value-not-replaced',
    change: 'remove',
    notice: 'api/secrets/generated: without a value requires generate for an api_key',
  },
  {
    name: 'a rollback takes its value for a given one',
    tag: 'rollback-keeps-generated',
    change: { from: 'old.generated ?? null', to: 'null' },
    notice: 'api/secrets/generated: generated is true if the service made the current value',
  },
  {
    name: 'a soft delete leaves generated values in stored answers',
    tag: 'soft-delete-destroys-stored-values',
    change: { from: ', destroyed: [row.id]', to: '' },
    notice: 'api/secrets/generated: a soft delete destroys them in stored responses for good',
  },
  {
    name: 'destroyed versions stay in the quota',
    tag: 'quota-counts-kept-versions',
    change: { from: 'trims && kept', to: 'false' },
    notice: 'api/limits/usage: every new version counts what is kept',
  },
  {
    name: 'what is kept is counted for a row that is another by now',
    tag: 'count-of-this-row',
    change: 'remove',
    notice: 'api/limits/usage: a count is discarded when a database was adopted meanwhile',
  },
  {
    name: 'the caller is not judged again after what is fetched under the lock',
    tag: 'caller-rechecked-after-fetch',
    change: {
      from: 'const fetched = await fetch();',
      to: 'const early = call.recheck(); if (early) return { ok: false, refusal: early }; const fetched = await fetch(); call = { ...call, recheck: () => null };',
    },
    notice: 'api/limits/usage: revocation: a caller who is revoked while the change counts is refused',
  },
  {
    name: 'a credential counts as alive though what it ends with has ended',
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
  // ---------------------------------------------------------------- what a request may cost
  {
    name: 'what a chain of agents holds is worked out before its limits are judged',
    tag: 'permissions-computed-once',
    change: { from: 'callerOf(core, org, lineage)', to: '{ ...callerOf(core, org, lineage) }' },
    notice: 'api/limits/flood: is computed once for many requests',
  },
  {
    name: 'what D1 said of an unknown token is not remembered',
    tag: 'unknown-token-remembered',
    change: 'remove',
    notice: 'api/limits/flood: costs at most one query of D1 a minute, and none after 60 requests',
  },
  {
    name: 'a list compares any number of names',
    tag: 'list-steps-bounded',
    change: 'remove',
    notice: 'api/limits/flood: a list ends its page early, and its pages show each secret once',
  },
  {
    name: 'a bulk read compares any number of names',
    tag: 'bulk-read-steps-bounded',
    change: 'remove',
    notice: 'api/limits/flood: a bulk read with many patterns is refused, and one with few is not',
  },
  {
    name: 'a graph compares any number of names',
    tag: 'graph-steps-bounded',
    change: 'remove',
    notice: 'api/limits/flood: a graph counts up to the limit, and says so',
  },
  {
    name: 'a list of the audit log compares any number of names',
    tag: 'audit-list-steps-bounded',
    change: { from: ', mostLookedAt(view)', to: '' },
    notice: 'api/limits/flood: a list of the audit log reads fewer entries at a time',
  },
  {
    name: 'an account of bulk reads compares any number of names',
    tag: 'exposure-steps-bounded',
    change: { from: ' || steps.left <= 0', to: '' },
    notice: 'api/limits/flood: takes bounded steps, and counts a secret as read after that',
  },
  {
    name: 'an exposure report keeps any number of ways of reading in bulk apart',
    tag: 'exposure-kinds-bounded',
    change: 'never',
    notice: 'api/limits/flood: distinguishes 1,000 kinds of bulk reads, and ends',
  },
  {
    name: 'D1 remembers any number of expired session tokens',
    tag: 'expired-sessions-bounded',
    change: 'remove',
    notice: 'api/limits/stored-data: expired session tokens in D1 over the newest 20,000',
  },
  {
    name: 'a value that was checked for one organisation is decrypted for another',
    tag: 'checked-under-these-keys',
    change: { from: ' && before.keys === keys', to: '' },
    notice: 'unit/secrets/encryption: of another organisation is refused',
  },

  // ---------------------------------------------------------------- policies
  {
    name: 'naming policies are not enforced',
    tag: 'naming-policies-enforced',
    change: { from: 'namingViolation(call, proposed)', to: 'null' },
    notice: 'api/policies/naming: holds on every path: create, generate',
  },
  {
    name: 'policies are read once and never again',
    tag: 'policies-read-again',
    change: { from: 'known?.edits !== edits', to: '!known' },
    notice: 'api/policies/naming: applies to the next request',
  },
  {
    name: 'a policy that is off applies',
    tag: 'disabled-policy-ignored',
    change: { from: 'row.enabled === 1', to: 'true' },
    notice: 'api/policies/naming: applies to the next request',
  },
  {
    name: 'a pattern may repeat groups without bound before it is compiled',
    tag: 'pattern-size-limited',
    change: 'remove',
    notice: 'unit/auth/policies: refuses (a){65}',
  },
  {
    name: 'a pattern may compile to a program of any size',
    tag: 'program-size-limited',
    change: 'never',
    notice: 'unit/auth/policies: refuses [a-z]{600}',
  },
  {
    name: 'a credential that is limited to environments changes policies',
    tag: 'policies-by-unlimited-callers',
    change: { from: 'reachesAll(caller, need.scopes)', to: 'true' },
    notice: 'api/policies/policies: a credential that is limited to environments or names cannot change',
  },
  {
    name: 'a policy takes the config of another kind',
    tag: 'policy-kind-fixed',
    change: { from: 'config && configProblem(call, row.kind, config)', to: 'null' },
    notice: 'api/policies/policies: keeps its kind',
  },
  {
    name: 'violations are shown to who may not list the secrets',
    tag: 'violations-within-reach',
    change: { from: 'reaches(caller, LISTS, row.environment_id, row.name) &&', to: '' },
    notice: 'api/policies/naming: shows a caller only what it may list',
  },
  {
    name: 'a page of violations compares any number of names',
    tag: 'violations-steps-bounded',
    change: 'never',
    notice: 'api/policies/naming: a page compares a bounded number of names',
  },
  {
    name: 'secrets that are deleted, expired or revoked are due',
    tag: 'only-active-rotated',
    change: 'never',
    notice: 'api/policies/rotation: passes over what the policy does not apply to',
  },
  {
    name: 'a policy rotates secrets that did not opt in',
    tag: 'auto-rotation-opted-in',
    change: { from: 'row.auto_rotate === 1 && ', to: '' },
    notice: 'api/policies/rotation: replaces the value of a secret that opted in',
  },
  {
    name: 'a policy replaces a value that was issued elsewhere',
    tag: 'only-own-values-replaced',
    change: 'always',
    notice: 'api/policies/rotation: replaces the value of a secret that opted in',
  },
  {
    name: 'a search for due secrets forgets where it was',
    tag: 'rotation-place-kept',
    change: 'remove',
    notice: 'api/policies/rotation: a search that is cut off between its pages',
  },
  {
    name: 'a due secret is told in each search',
    tag: 'due-once-a-period',
    change: { from: 'known === null || known.period < since', to: 'true' },
    notice: 'api/policies/rotation: raises an event once a period',
  },
  {
    name: 'a value is taken for a secret that has changed since it was told',
    tag: 'rotated-once',
    change: { from: ' || etagOf(row) !== input.etag || !isToRotate(core, row, now)', to: '' },
    notice: 'api/policies/rotation: a value comes too late for a secret that has changed',
  },
  {
    name: 'a refused rotation is told again in the same period',
    tag: 'failure-told-once',
    change: 'always',
    notice: 'api/policies/rotation: a secret that gets no new value for six hours is told once',
  },

  // ---------------------------------------------------------------- approvals
  {
    name: 'a policy on updates is passed by a rotation',
    tag: 'new-value-held-either-way',
    change: { from: "['secret.update', 'secret.rotate'] as const", to: "['secret.rotate'] as const" },
    notice: 'api/approvals/approvals: is held',
  },
  {
    name: 'a rename takes a secret out of a policy',
    tag: 'leaving-a-policy-held',
    change: { from: 'policy.applies(before) && !policy.applies(after)', to: 'false' },
    notice: 'api/approvals/approvals: is held where a rename would take a secret out of a policy',
  },
  {
    name: 'an approval policy does not guard itself',
    tag: 'policy-guards-itself',
    change: { from: 'weakens(before, after)', to: 'false' },
    notice: 'api/approvals/guards: that weaken it are held by the policy itself',
  },
  {
    name: 'anybody is let decide approvals',
    tag: 'approver-made-by-approval',
    change: {
      from: '(decides(after.role) && !(before && decides(before.role))) || isApproving(policy, after.role, before?.role)',
      to: 'false',
    },
    notice: 'api/approvals/guards: are not changed, and nobody is let decide, without an approval',
  },
  {
    name: 'the approving team is not guarded',
    tag: 'approving-team-guarded',
    change: 'remove',
    notice: 'api/approvals/guards: are not changed, and nobody is let decide, without an approval',
  },
  {
    name: 'a change is judged by what was alone',
    tag: 'judged-before-and-after',
    change: {
      from: 'reach.secrets.some((row) => policy.applies(row))',
      to: 'reach.secrets.slice(0, 1).some((row) => policy.applies(row))',
    },
    notice: 'api/approvals/approvals: is held',
  },
  {
    name: 'comparing patterns of a policy takes any number of steps',
    tag: 'overlap-steps-bounded',
    change: 'remove',
    notice: 'unit/auth/effects: counts long lists of patterns as overlapping',
  },
  {
    name: 'the requester decides',
    tag: 'requester-decides-nothing',
    change: 'remove',
    notice: 'api/approvals/approvals: is held, approved by another person, and done once',
  },
  {
    name: 'anybody decides',
    tag: 'approver-of-policy',
    change: 'remove',
    notice: 'api/approvals/approvals: are not those whom the requester brought in during the last week',
  },
  {
    name: 'whom the requester invited decides',
    tag: 'connected-member-decides-nothing',
    change: { from: 'isConnected\n', to: 'false\n' },
    notice: 'api/approvals/approvals: are not those whom the requester brought in during the last week',
  },
  {
    name: 'who approved and lost the right counts',
    tag: 'deciders-judged-again',
    change: { from: 'member && ineligible(core, approval, policy, member, now) === null', to: 'member' },
    notice: 'api/approvals/races: an approver who became connected to the requester',
  },
  {
    name: 'calls of provider tokens wait for people',
    tag: 'provider-and-operator-ungoverned',
    change: { from: "caller.kind === 'provider' || ", to: '' },
    notice: 'api/approvals/races: calls of a provider token are never held',
  },
  {
    name: 'a break-glass token passes every policy',
    tag: 'break-glass-passes-only-if-allowed',
    change: { from: 'allow_break_glass === true && ', to: '' },
    notice: 'api/approvals/guards: passes approvals for secrets only where the policy allows it',
  },
  {
    name: 'an approval serves another credential',
    tag: 'approval-of-this-root',
    change: { from: 'row.root !== caller.root || ', to: '' },
    notice: 'api/approvals/approvals: serves the same path, query and body',
  },
  {
    name: 'an approval serves another request',
    tag: 'approval-of-this-request',
    change: { from: ' || row.digest !== ask.approval?.digest', to: '' },
    notice: 'api/approvals/approvals: serves the same path, query and body',
  },
  {
    name: 'an approval is used twice',
    tag: 'approval-used-once',
    change: { from: "row.status !== 'approved' || ", to: '' },
    notice: 'api/approvals/approvals: of a hundred calls at once lets one take effect',
  },
  {
    name: 'an approval lasts for ever',
    tag: 'approval-expires',
    change: { from: ' || row.expires_at <= now', to: '' },
    notice: 'api/approvals/races: expires 24 hours after',
  },
  {
    name: 'an approval serves though its target has changed',
    tag: 'approval-void-once-changed',
    change: 'remove',
    notice: 'api/approvals/approvals: is void once the target has changed',
  },
  {
    name: 'approvers are not judged at use',
    tag: 'approvers-judged-at-use',
    change: { from: 'approvalsFor(core, row, policy.row, now).length < required', to: 'false' },
    notice: 'api/approvals/approvals: no longer count once they lost the right',
  },
  {
    name: 'a credential asks for any number of approvals',
    tag: 'pending-approvals-bounded',
    change: 'remove',
    notice: 'api/approvals/races: at most 100 requests of one credential wait',
  },
  {
    name: 'a held read is answered',
    tag: 'held-read-refused',
    change: 'never',
    notice: 'api/approvals/approvals: is held, approved by another person, and done once',
  },
  {
    name: 'the approval of a request is not locked',
    tag: 'approval-locked',
    change: { from: 'approval ? ', to: 'approval && false ? ' },
    notice: 'api/approvals/races: the same request sent many times at once waits for one approval',
  },
  {
    name: 'a bulk read returns what is held',
    tag: 'bulk-read-withholds',
    change: { from: 'isHeld ? withheld.push(name) : rows.push(row)', to: 'rows.push(row)' },
    notice: 'api/approvals/approvals: by name, by version and of all values is held too',
  },
  {
    name: 'an approval is for a path, whatever the body',
    tag: 'approval-digest',
    change: { from: ', asked.body.bytes', to: '' },
    notice: 'api/approvals/races: is for the body that was sent',
  },
  {
    name: 'approvals of others are listed to everybody',
    tag: 'approvals-of-others-hidden',
    change: { from: 'reachesAll(caller, need.scopes) || ', to: 'true || ' },
    notice: 'api/approvals/races: shows a limited credential its own approvals alone',
  },
  {
    name: 'who waits for a decision is not judged again',
    tag: 'waiter-judged-again',
    change: { from: 'call.recheck()', to: 'null' },
    notice: 'api/approvals/races: a caller who is revoked while it waits',
  },
  {
    name: 'an ineligible member decides',
    tag: 'decider-eligible',
    change: 'remove',
    notice: 'api/approvals/approvals: is held, approved by another person, and done once',
  },
  {
    name: 'anybody cancels a request',
    tag: 'cancel-by-requester',
    change: 'never',
    notice: 'api/approvals/approvals: is cancelled by the requester alone',
  },
  {
    name: 'a policy that nobody can satisfy is created',
    tag: 'impossible-policy-refused',
    change: 'always',
    notice: 'api/approvals/guards: a policy that can never have enough approvers is refused',
  },
  {
    name: 'anybody mends a policy with too few approvers',
    tag: 'only-owners-mend',
    change: { from: 'caller.isOwner && ', to: '' },
    notice: 'api/approvals/guards: fails closed, and says who can mend it',
  },
  {
    name: 'a caller that is limited to names gets a compliance report',
    tag: 'report-needs-whole-reach',
    change: { from: "reachesAll(caller, ['compliance:read'])", to: 'true' },
    notice: 'api/compliance/report: is refused to a caller who is limited to environments or names',
  },
  {
    name: 'a compliance report is of any period',
    tag: 'report-period-bounded',
    change: 'never',
    notice: 'api/compliance/report: is refused unless from is before to, and at most 400 days',
  },
  {
    name: 'a finding keeps any amount of evidence',
    tag: 'report-evidence-bounded',
    change: 'always',
    notice: 'unit/compliance/compliance: a finding keeps 100 pieces of evidence, and makes no others',
  },
  {
    name: 'a compliance report compares any number of names with policies',
    tag: 'report-steps-bounded',
    change: 'never',
    notice: 'unit/compliance/compliance: comparing names with policies takes bounded steps',
  },
  {
    name: 'a compliance report counts entries twice that move meanwhile',
    tag: 'report-entry-counted-once',
    change: { from: 'Math.min(before ?? Number.MAX_SAFE_INTEGER, part.oldest)', to: 'part.oldest' },
    notice: 'unit/compliance/compliance: entries that move to D1 between two pages of the gate are not read there again',
  },
  {
    name: 'a cell of a compliance report is a formula',
    tag: 'csv-formula-escaped',
    change: 'never',
    notice: 'unit/compliance/compliance: a cell that begins as',
  },
  {
    name: 'compliance reports of an organisation are not limited',
    tag: 'reports-limited',
    change: 'never',
    notice: 'api/compliance/report: are at most ten a minute for an organisation, whoever asks',
  },
];
