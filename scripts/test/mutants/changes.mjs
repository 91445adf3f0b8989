// The mutants of changes: locks, marks, batches, the fence, settling and idempotency. index.mjs says what a
// mutant is.

// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the edits quote source.

import { checks } from './checks.mjs';

/** @type {import('./index.mjs').Mutant[]} */
export const mutants = [
  // ---------------------------------------------------------------- one change at a time
  ...checks({
    'row-locks-wait': 'faults/changes: fifty writers on one secret make versions 2 to 51',
    'no-change-in-doubt': 'model/histories: a keyed create in doubt',
  }),
  {
    name: 'the creator of a credential is not locked during the creation',
    tag: 'creator-locked',
    change: { from: ', caller.credential, caller.id', to: '' },
    notice: 'faults/changes: a mint and the revocation of its parent are serialised',
  },
  {
    name: "the caller's validity is not checked again under the lock",
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
    change: { from: 'intents(core).concerns(row.id).filling', to: 'false' },
    notice: 'faults/changes: an environment and a secret in it are never deleted and created together',
  },
  {
    name: 'policies change while a change is checked against them',
    tag: 'policies-stand-while-judged',
    change: { from: '!need.governs', to: 'true' },
    notice: 'model/histories: a secret is created while a naming policy that forbids its name is enabled',
  },

  // ---------------------------------------------------------------- marks
  ...checks({
    'intent-before-batch':
      'faults/changes: it takes effect, while D1 stays unavailable, is settled by the next call',
    'intent-durable': 'faults/changes: and whose gate is evicted is settled by the next gate',
  }),
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
    notice: 'faults/changes: and arrives after it was settled as undone takes no effect',
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
    name: 'a row is changed from any revision',
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
    change: {
      from: 'cross join ${name} t on t.org_id = ? and t.id',
      to: 'join ${name} t on t.org_id = ? and +t.id',
    },
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
    change: {
      from: 'CREATE TABLE `commits` (\n\t`id` text PRIMARY KEY NOT NULL',
      to: 'CREATE TABLE `commits` (\n\t`id` text NOT NULL',
    },
    notice: 'faults/sweep: to create a key',
    survives: 'a batch that lands twice meets a row that has moved on, or a raised epoch',
  },
  {
    name: 'a failure with an unknown outcome counts as not applied',
    tag: 'refused-by-constraint-only',
    change: { from: "why.includes('constraint failed') || isTooLarge(why)", to: 'true' },
    notice: 'faults/changes: after it took effect is found and answered as done',
  },

  // ---------------------------------------------------------------- the fence
  {
    name: 'an absent marker is believed without raising the epoch',
    tag: ['epoch-raised', 'epoch-raise-confirmed'],
    change: 'remove',
    notice: 'faults/changes: and arrives after it was settled as undone takes no effect',
  },
  {
    name: 'an absent marker is believed though the epoch could not be raised',
    tag: 'epoch-raise-confirmed',
    change: { from: 'return null', to: '' },
    notice: 'faults/changes: and may still arrive does not count as undone while the epoch',
  },
  {
    name: 'an unavailable database is reported as altered',
    tag: 'outage-is-no-violation',
    change: 'remove',
    notice: 'faults/changes: is not reported as an integrity violation',
  },
  {
    name: 'a gate that lost its storage continues under the old epoch',
    tag: 'recovery-raises-epoch',
    change: { from: ' + 1', to: '' },
    notice: 'faults/lifecycle: ignores batches of its earlier life that arrive later',
  },
  {
    name: 'an organisation that does not exist gets a gate',
    tag: 'reset-of-existing-org',
    change: { from: 'if (!keys)', to: 'if (false as boolean)' },
    notice: 'faults/gate-reset: permission',
  },
  {
    name: 'storage of a newer release is deleted by a reset',
    tag: 'newer-storage-not-reset',
    change: { from: 'if (this.isNewer)', to: 'if (false as boolean)' },
    notice: 'faults/gate-reset: storage of a newer release stays',
  },
  {
    name: 'a gate continues under an epoch that it did not raise itself',
    tag: 'epoch-raised-by-this-gate',
    change: { from: " || core.meta.get('raising') !== String(current)", to: '' },
    notice: 'faults/tampering: a fence raised by one',
  },

  // ---------------------------------------------------------------- settling
  {
    name: 'an unsettled change is settled as applied without regard to D1',
    tag: 'intent-settled-by-marker',
    change: { from: 'present.has(intent.id)', to: 'true' },
    notice: 'faults/changes: it takes effect, while D1 stays unavailable, is settled by the next call',
  },
  {
    name: 'an unsettled change is settled as not applied without regard to D1',
    tag: 'intent-settled-by-marker',
    change: { from: 'present.has(intent.id)', to: 'false' },
    notice: 'faults/changes: it takes effect, while D1 stays unavailable, is settled by the next call',
  },
  {
    name: 'a batch without a reply counts as applied without regard to D1',
    tag: 'lost-reply-settled-by-marker',
    change: 'always',
    notice: 'faults/changes: before it takes effect is 503, did nothing, and can be repeated',
  },
  {
    name: 'a batch without a reply counts as not applied without regard to D1',
    tag: 'lost-reply-settled-by-marker',
    change: 'never',
    notice: 'faults/changes: after it took effect is found and answered as done',
  },
  {
    name: 'markers are cleared away while a commit is in doubt',
    tag: 'markers-kept-in-doubt',
    change: { from: 'intents(core).unsettled().length === 0', to: '!intents(core).held' },
    notice: 'faults/lifecycle: for more than a day, because D1 takes batches but answers no query',
  },

  // ---------------------------------------------------------------- once
  {
    name: 'the response of a change is not stored in the turn of its effect',
    tag: 'response-stored-with-effect',
    change: 'remove',
    notice: 'faults/changes: idempotency: is found by its key when it is repeated',
  },
  {
    name: 'another request with a used Idempotency-Key gets the stored response',
    tag: 'idempotency-key-digest',
    change: 'remove',
    notice: 'faults/lifecycle: is replayed in full to the token that made the call',
  },
  {
    name: 'a concurrent request with the same Idempotency-Key runs',
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
    name: 'a stored response is replayed to a caller who has lost the permission',
    tag: 'replay-authorized',
    change: 'always',
    notice: 'faults/lifecycle: is replayed in full to the token that made the call',
  },
  {
    name: 'a stored response is returned to any caller who knows its Idempotency-Key',
    tag: 'idempotency-key-per-root',
    change: { from: '${root}:', to: '' },
    notice: 'faults/lifecycle: is replayed in full to the token that made the call',
  },
  {
    name: 'whoever makes a trust accept other tokens gets the stored responses of the workloads before',
    tag: 'idempotency-key-of-accepted-workloads',
    change: { from: 'JSON.stringify([issuer, audiences, claims, keys])', to: "''" },
    notice:
      'api/trusts/trusts: whose issuer is replaced gives nobody the stored responses of the workloads before',
  },
  // ---------------------------------------------------------------- storage put back from a copy
  ...checks({
    'vitals-write':
      'faults/health: with a gate that answers and cannot write, as on a full disk, until it can',
  }),
  {
    name: 'a clock that leapt forward deletes everything by its age',
    tag: 'age-held-after-leap',
    change: { from: 'Math.min(now, kept(core, now).to + DAY)', to: 'now' },
    notice: 'faults/lifecycle: retention: a clock that leaps forward deletes no more than a day',
  },
  {
    name: 'each run of retention moves the age by a day',
    tag: 'age-moves-once-an-hour',
    change: 'remove',
    notice: 'faults/lifecycle: retention: a clock that leaps forward deletes no more than a day',
  },
  {
    name: 'a gate with storage of hours ago serves reads while D1 is away',
    tag: 'stale-gate-waits-for-database',
    change: 'remove',
    notice: 'faults/rollback: is not served while D1 is away, if it was last written hours ago',
  },
  {
    name: 'an adoption takes no endings from D1',
    tag: 'adoption-takes-endings',
    change: 'remove',
    notice: 'unit/gate/merge: what has ended on either side stays ended: in D1',
  },
  {
    name: 'an adoption takes newer rows with a wrong MAC',
    tag: 'adopted-newer-row-mac',
    change: { from: 'stored.mac !== macOf(key, kind, stored) || ', to: '' },
    notice: 'faults/rollback: restore: a newer row in D1 with a wrong MAC is not adopted',
  },
  {
    name: 'a reset needs no row of the organisation',
    tag: 'reset-needs-org-row',
    change: 'remove',
    notice: 'faults/gate-reset: refuses an organisation whose row D1 has lost',
  },
  {
    name: 'a lost gate begins without the row of the organisation',
    tag: 'recovery-needs-org-row',
    change: { from: " || own?.mac !== macOf(key, 'org', own as object)", to: '' },
    notice: 'faults/gate-reset: a lost gate does not begin without a right row of the organisation',
  },
  {
    name: 'a gate with the storage of another organisation answers',
    tag: 'gate-of-another-refuses',
    change: 'remove',
    notice: 'faults/rollback: restore: a gate with the storage of another organisation refuses everything',
  },
  {
    name: 'a gate with the storage of another organisation runs tasks',
    tag: 'gate-of-another-runs-no-tasks',
    change: 'remove',
    notice: 'faults/rollback: restore: a gate with the storage of another organisation refuses everything',
  },
  {
    name: 'a gate with older storage answers',
    tag: 'older-gate-refuses',
    change: 'remove',
    notice: 'faults/rollback: restore: a gate whose storage is older than D1 refuses everything',
  },
  {
    name: 'a gate with older storage runs tasks',
    tag: 'older-gate-runs-no-tasks',
    change: 'remove',
    notice: 'faults/rollback: restore: a gate whose storage is older than D1 refuses everything',
  },
  {
    name: 'a gate with older storage is not found by its last commit',
    tag: 'older-gate-by-mark',
    change: { from: '(mark ?? 0) > marks(core).given()', to: 'false' },
    notice: 'faults/rollback: restore: a gate whose storage is older than D1 refuses everything',
  },
  {
    name: 'a gate with older storage is not found by its audit log',
    tag: 'older-gate-by-sequence',
    change: { from: '(sequence ?? 0) > core.auditLog.head().sequence', to: 'false' },
    notice: 'faults/rollback: restore: a gate whose storage is older than D1 is found by its audit log',
  },
  {
    name: 'a gate that has not compared itself with D1 makes changes',
    tag: 'no-change-by-older-gate',
    change: { from: ' || marks(call.core).isBehind !== false', to: '' },
    notice: 'faults/rollback: restore: a gate whose storage is older than D1 serves reads while D1 is away',
  },
  {
    name: 'retention deletes the newest marker',
    tag: 'newest-mark-kept',
    change: { from: ' and created_at < (select max(created_at) from commits where org_id = ?1)', to: '' },
    notice: 'faults/rollback: restore: a gate whose storage is older than D1 is found days after',
  },
  {
    name: 'D1 may be an older copy of itself',
    tag: 'batch-mark-guard',
    change: { from: 'MARK_GUARD, ', to: "'? is not ?', " },
    notice:
      'faults/rollback: restore: a gate whose storage is older than D1 is told from D1 put back under a running gate',
  },
  {
    name: 'D1 is not told that a session token was revoked',
    tag: 'endings-marked-in-d1',
    change: { from: ' && put.from === 0', to: '' },
    notice: 'faults/session-tokens: session token: a storage that was put back from a copy',
  },
  {
    name: 'session tokens of an earlier release come back from D1',
    tag: 'lost-sessions-end',
    change: { from: 'isInD1({ kind, row } as never)', to: 'true' },
    notice: 'faults/session-tokens: session token: a gate that lost its storage ends them',
    survives: 'They are deleted from D1 before its rows are read.',
  },
  {
    name: 'ended session tokens are known for ever',
    tag: 'ended-sessions-forgotten',
    change: { from: 'now - REMEMBERED', to: '0' },
    notice: 'faults/session-tokens: session token: one that has left',
  },
];
