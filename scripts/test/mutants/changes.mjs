// The mutants of changes: locks, idempotency, and storage that was put back from a copy. index.mjs says what
// a mutant is.

// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the edits quote source.

import { checks } from './checks.mjs';

/** @type {import('./index.mjs').Mutant[]} */
export const mutants = [
  // ---------------------------------------------------------------- one change at a time
  ...checks({
    'row-locks-wait': 'faults/changes: fifty writers on one secret make versions 2 to 51',
  }),
  {
    name: "the caller's validity is not checked again under the lock",
    tag: 'caller-rechecked-under-lock',
    change: { from: 'call.recheck()', to: 'null' },
    notice: 'faults/changes: revocation: a request whose caller is revoked while it waits',
  },

  // ---------------------------------------------------------------- the batch and its marker
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
    name: 'a failure with an unknown outcome counts as not applied',
    tag: 'refused-by-constraint-only',
    change: { from: "why.includes('constraint failed') || isTooLarge(why)", to: 'true' },
    notice: 'faults/changes: after it took effect is found and answered as done',
  },

  // ---------------------------------------------------------------- the fence
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

  // ---------------------------------------------------------------- once
  {
    name: 'the response of a change is not stored in the turn of its effect',
    tag: 'response-stored-with-effect',
    notice: 'faults/changes: idempotency: is found by its key when it is repeated',
  },
  {
    name: 'another request with a used Idempotency-Key gets the stored response',
    tag: 'idempotency-key-digest',
    notice: 'faults/lifecycle: is replayed in full to the token that made the call',
  },
  {
    name: 'a concurrent request with the same Idempotency-Key runs',
    tag: 'idempotency-in-progress',
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
      'api/trusts/trusts: gives nobody the stored responses of earlier workloads after its issuer was replaced',
  },
  // ---------------------------------------------------------------- storage put back from a copy
  ...checks({
    'vitals-write':
      'faults/health: with a gate that answers and cannot write, as on a full disk, until it can',
    'lost-schedule-mended':
      'faults/alarms: a gate without a time for retention tells of it, and makes all tasks due',
    'lost-time-missed':
      'faults/alarms: a gate without a single one of its times tells of it, and makes all tasks due',
    'altered-events-told':
      'api/events/feed: are skipped, told of once and counted, and hold up no other event',
    'altered-event-number-not-reused':
      'api/events/feed: are skipped, told of once and counted, and hold up no other event',
    'feed-ends-behind-altered':
      'api/events/feed: are skipped, told of once and counted, and hold up no other event',
    'only-deleted-orgs-end':
      'faults/alarms: an organisation that is not deleted does not end, whatever is scheduled',
    'lost-alarm-set-again': 'faults/alarms: is set again by the next change',
    'vitals-keep-alarm': 'faults/alarms: is set again by the health check, in a gate without requests',
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
    notice: 'faults/lifecycle: retention: a clock that leaps forward deletes no more than a day',
  },
  {
    name: 'a gate with storage of hours ago serves reads while D1 is away',
    tag: 'stale-gate-waits-for-database',
    notice: 'faults/rollback: is not served while D1 is away, if it was last written hours ago',
  },
  {
    name: 'an adoption takes no endings from D1',
    tag: 'adoption-takes-endings',
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
    notice: 'faults/rollback: restore: a gate with the storage of another organisation refuses everything',
  },
  {
    name: 'a gate with the storage of another organisation runs tasks',
    tag: 'gate-of-another-runs-no-tasks',
    notice: 'faults/rollback: restore: a gate with the storage of another organisation refuses everything',
  },
  {
    name: 'a gate with older storage answers',
    tag: 'older-gate-refuses',
    notice: 'faults/rollback: restore: a gate whose storage is older than D1 refuses everything',
  },
  {
    name: 'a gate with older storage runs tasks',
    tag: 'older-gate-runs-no-tasks',
    notice: 'faults/rollback: restore: a gate whose storage is older than D1 refuses everything',
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
    tag: 'former-sessions-forgotten',
    change: { from: 'now - REMEMBERED', to: '0' },
    notice: 'faults/session-tokens: session token: one that has left',
  },
];
