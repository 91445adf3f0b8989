// The mutants of the journal: records, batches, the position of D1, what a reply waits for, and the take-over
// of gates of earlier releases. index.mjs says what a mutant is.

// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the edits quote source.

import { checks } from './checks.mjs';

/** @type {import('./index.mjs').Mutant[]} */
export const mutants = [
  // ---------------------------------------------------------------- records
  ...checks({
    'record-durable': 'faults/journal: keeps its records through evictions',
    'record-kept-until-stored': 'faults/journal: is sent by the alarm where nothing waits for it',
    'query-after-records': 'faults/journal: a list of versions has those that D1 lacked',
    'no-purge-while-barred': 'faults/rollback: runs no task',
    'org-ends-after-its-records':
      'faults/lifecycle: refuses its credentials and destroys its key immediately',
    'row-fits-database': 'faults/journal: a row that D1 could not take is refused',
    'no-change-while-diverged': 'faults/rollback: is told from D1 put back under a running gate',
  }),
  {
    name: 'a change is not recorded',
    tag: 'recorded-with-effect',
    change: {
      from: 'record && journal(core).append({ ...record, revised, ...(patience?.must && { isReadFirst: true }) })',
      to: 'null',
    },
    notice: 'faults/journal: reads and changes go on, and D1 gets them once it is back',
  },
  {
    name: 'what D1 lacks is looked for in D1',
    tag: 'unmirrored-version-read',
    change: { from: 'journal(core).version(secret, version) ?? []', to: '[]' },
    notice: 'faults/journal: a value is read from the journal when its ciphertext has left the cache',
  },
  {
    name: 'a gate that began again does not tell that D1 refuses its changes',
    tag: 'vitals-send-first',
    change: { from: ' || journal(core).extent().records > 0', to: '' },
    notice: 'faults/health-adoption: is degraded while D1 refuses a change',
  },
  {
    name: 'a gate does not tell that D1 lacks its changes',
    tag: 'vitals-tell-lag',
    change: { from: '>= LATE', to: '< 0' },
    notice: 'faults/health: is degraded once D1 has lacked the changes of a gate',
  },
  {
    name: 'a journal has no bound',
    tag: 'journal-bounded',
    change: { from: 'records >= BOUND.records || bytes >= BOUND.bytes', to: 'records < 0' },
    notice: 'faults/journal: bounds: past what a journal holds only what ends access is changed',
  },

  // ---------------------------------------------------------------- the batch and its position
  {
    name: 'a batch of any term is taken',
    tag: 'batch-term-guard',
    change: { from: 'term = ? and', to: 'length(?) >= 0 and' },
    notice: 'faults/lifecycle: ignores batches of its earlier life that arrive later',
    survives: 'A new term begins with another record.',
  },
  {
    name: 'a batch is taken at any position',
    tag: ['batch-position-guard'],
    change: { from: 'and position = ? and record = ?', to: 'and length(?) >= 0 and length(?) >= 0' },
    notice: 'faults/journal: that arrives after further records were sent takes no effect',
  },
  {
    name: 'a batch is taken over any rows',
    tag: 'batch-row-guards',
    change: { from: '...guards.map(({ sql }) => sql)', to: '...guards.map(({ sql }) => `(1 or ${sql})`)' },
    notice: 'faults/tampering: stands in the gate, and D1 is not followed any further',
  },
  {
    name: 'another row under the planned revision passes for the planned one',
    tag: 'batch-row-mac',
    change: {
      from: '(select mac from ${table} where org_id = ? and id = ?) = ?',
      to: '(select mac from ${table} where org_id = ? and id = ?) <> ? || char(1)',
    },
    notice: 'faults/tampering: a row raised to the revision that comes next',
  },
  {
    name: 'a row is changed from any revision',
    tag: 'update-from-planned-revision',
    change: { from: ', revision: from', to: '' },
    notice: 'faults/tampering: stands in the gate, and D1 is not followed any further',
  },
  {
    name: 'many rows are changed though one of them is another',
    tag: 'batch-rows-counted',
    change: { from: '1) = ?', to: '1) <= ?' },
    notice: 'api/members/members: integrity: ends many credentials though one was altered',
  },
  {
    name: 'D1 takes a batch that found something else',
    file: 'migrations/0015_journal_positions.sql',
    change: { from: '."holds" = 1)', to: '."holds" >= 0)' },
    notice: 'faults/journal: that arrives after further records were sent takes no effect',
  },
  {
    name: 'a batch without a reply is sent again without regard to D1',
    tag: 'lost-reply-settled-by-position',
    notice: 'faults/journal: that ends after, at D1 call 1, is taken once',
  },
  {
    name: 'an unavailable database is reported as altered',
    tag: 'outage-is-no-violation',
    notice: 'faults/journal: reads and changes go on, and D1 gets them once it is back',
  },

  // ---------------------------------------------------------------- where D1 stands
  {
    name: 'a gate with older storage is not found by its position',
    tag: 'older-gate-by-position',
    change: { from: 'position > own.last() || ', to: '' },
    notice: 'faults/rollback: restore: a gate whose storage is older than D1 refuses everything',
    survives: 'Its last record is another.',
  },
  {
    name: 'a gate with older storage is not found by its audit log',
    tag: 'older-gate-by-sequence',
    change: { from: ' || sequence > core.auditLog.head().sequence', to: '' },
    notice: 'faults/rollback: restore: a gate whose storage is older than D1 is found by its audit log',
  },
  {
    name: 'a gate with older storage that gives numbers again is not found',
    tag: 'older-gate-by-record',
    change: { from: "own.idOf(position) === record ? 'follows' : 'behind'", to: "'follows'" },
    notice: 'faults/journal: gives numbers again, and is found by the records',
  },
  {
    name: 'a gate that is older than D1 makes changes',
    tag: 'no-change-by-older-gate',
    change: { from: ' || standing(core).isBehind', to: '' },
    notice: 'faults/rollback: restore: a gate whose storage is older than D1 serves reads while D1 is away',
  },
  {
    name: 'changes are accepted while a backup is adopted',
    tag: 'no-change-during-adoption',
    change: { from: 'own.isAdopting || ', to: '' },
    notice: 'faults/restore: concurrency: no change happens during the adoption',
    survives: 'The adoption has been noted by then.',
  },
  {
    name: 'a late adoption undoes newer records',
    tag: 'adoption-guarded-by-term',
    change: { from: ', ${holds})', to: ', 1 or ${holds})' },
    notice: 'faults/journal: a term that begins late, after another, takes no effect',
  },
  {
    name: 'D1 that stands elsewhere passes for put back',
    tag: 'stopped-until-database-is-back',
    change: 'always',
    notice: 'faults/rollback: goes on once D1 is as it was',
  },
  {
    name: 'an organisation that D1 has begins again',
    tag: 'no-second-beginning',
    change: { from: ' && !(await isInDatabase(this.core))', to: '' },
    notice: 'faults/lifecycle: does not begin a second time',
  },
  {
    name: 'a session leaves D1 while a record changes it',
    tag: 'unmirrored-sessions-kept',
    change: { from: 'since === null || since > early', to: 'true' },
    notice: 'faults/journal: a session that ended long ago stays in D1',
  },
  {
    name: 'entries stay in a gate that D1 does not follow',
    tag: 'archived-though-not-followed',
    change: {
      from: 'await archive(core, core.now())',
      to: 'isFollowed ? await archive(core, core.now()) : null',
    },
    notice: 'faults/journal: entries are archived though D1 refuses a change',
  },
  {
    name: 'without no batch during adoption',
    tag: 'no-batch-during-adoption',
    notice: 'faults/restore: concurrency: no change happens during the adoption',
    survives: 'No change begins meanwhile, and D1 takes no batch of the term before.',
  },
  {
    name: 'an adoption gives up what D1 lacks because it did not respond',
    tag: 'adoption-gives-up-only-the-refused',
    notice: 'faults/restore: gives up nothing of a database that is right and does not respond',
  },
  {
    name: 'an adoption sends nothing by force',
    tag: 'refused-sent-by-force',
    notice: 'faults/adoption-refused: gets all changes, and nothing is given up',
  },
  {
    name: 'an adoption removes another row for one that it cannot store',
    tag: 'put-replaces-own-row-only',
    change: { from: "into('insert')", to: "into('insert or replace')" },
    notice: 'faults/adoption-refused: removes no other secret for one that it cannot store',
  },
  {
    name: 'an adoption gives up a batch for one record that it cannot store',
    tag: 'given-up-alone',
    notice: 'faults/adoption-refused: gives up the changes that it cannot store, and no other',
  },
  {
    name: 'changes begin after an adoption that gave one up and was cut off',
    tag: 'given-up-once-noted',
    notice: 'faults/adoption-refused: lets no change happen between giving one up and naming it',
  },
  {
    name: 'a secret that an adoption restores replaces another one that has its name since',
    tag: 'adoption-replaces-no-other-secret',
    notice: 'faults/restore: names secrets whose name an earlier one had',
  },
  {
    name: 'an adoption does not name single versions that D1 lost',
    tag: 'adoption-names-lost-versions',
    change: { from: 'if (has.has(version)', to: 'if (true' },
    notice: 'faults/restore: names single versions that the database lost',
  },
  {
    name: 'a gate that lost its storage continues in the old term',
    tag: 'recovery-begins-term',
    notice: 'faults/lifecycle: ignores batches of its earlier life that arrive later',
  },

  // ---------------------------------------------------------------- what a reply waits for
  {
    name: 'the end of access is answered before D1 has it',
    tag: 'endings-wait',
    change: {
      from: 'deletes.length > 0 || writes.some((put) => mayEnd(rows, put))',
      to: 'writes.length < 0',
    },
    notice: 'faults/journal: is sent before the reply leaves',
  },
  {
    name: 'a new policy is answered before D1 has it',
    tag: 'new-policy-waits',
    change: { from: "kind === 'policy'", to: 'false' },
    notice: 'faults/journal: is sent before the reply leaves, where a new policy',
  },
  {
    name: 'a secret that expires sooner is answered before D1 has it',
    tag: 'sooner-expiry-waits',
    change: { from: ' || endOf(row) < endOf(rows.get(kind, row.id))', to: '' },
    notice: 'faults/journal: is sent before the reply leaves, where a new policy',
  },
  {
    name: 'rows that Workers read first are answered before D1 has them',
    tag: 'read-first-waits',
    notice: 'faults/journal: what Workers read first is 503, stands, and is found by a repeat',
  },
  {
    name: 'the repeat of a revocation is answered before D1 has it',
    tag: 'repeated-ending-waits',
    notice: 'faults/journal: the repeat of a revocation waits as the first one does',
  },
  {
    name: 'the replay of a revocation is answered before D1 has it',
    tag: 'replayed-ending-waits',
    change: { from: 'journal(core).last()', to: '0' },
    notice: 'faults/journal: the replay of a containment waits as the first one does',
  },
  {
    name: 'the repeat of a call whose reply was lost is answered before D1 has it',
    tag: 'repeated-call-waits',
    change: { from: 'operation.change && ', to: 'operation.change && ask.again && ' },
    notice: 'faults/journal: a revocation whose reply was lost waits for D1 when the Worker repeats the call',
  },
  {
    name: 'a repeat finds what Workers read first before D1 has it',
    tag: 'replayed-read-first-waits',
    notice: 'faults/journal: what Workers read first is 503, stands, and is found by a repeat',
  },

  // ---------------------------------------------------------------- gates of earlier releases
  {
    name: 'a gate that does not know whether its caller has ended answers',
    tag: 'no-answer-in-doubt',
    change: { from: ' || isInDoubt(core)', to: '' },
    notice: 'faults/take-over: in doubt about a change while D1 is away is not served',
  },
  {
    name: 'an older gate of an earlier release is taken over',
    tag: 'older-gate-by-mark',
    notice: 'faults/take-over: that is older than D1 is refused',
  },
  {
    name: 'a gate is taken over without raising the epoch',
    tag: 'epoch-raised',
    notice: 'faults/take-over: with a change in doubt',
  },
  {
    name: 'what is in doubt counts as done without regard to D1',
    tag: 'intent-settled-by-marker',
    change: { from: 'present.has(intent.id)', to: 'true' },
    notice: 'faults/take-over: with a change in doubt: never',
  },
  {
    name: 'what is in doubt counts as not done without regard to D1',
    tag: 'intent-settled-by-marker',
    change: { from: 'present.has(intent.id)', to: 'false' },
    notice: 'faults/take-over: with a change in doubt: done',
  },
];
