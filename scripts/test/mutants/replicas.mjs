// The mutants of replicas: leases, what a reply waits for, audit entries, and lent requests. index.mjs says
// what a mutant is.

import { checks } from './checks.mjs';

/** @type {import('./index.mjs').Mutant[]} */
export const mutants = [
  // ---------------------------------------------------------------- leases
  ...checks({
    'vitals-gather-entries': 'faults/alarms: keeps no audit entry in a region that nobody reads',
    'lease-of-same-format': 'api/regions/leases: another format gets none',
    'lease-of-this-term': 'api/regions/leases: a replica of another term begins again',
    'left-without-entries': 'api/regions/instance: does not leave before the gate has its entries',
    'entry-numbers-after-taken': 'api/regions/instance: gives no number to an entry that the gate has',
    'one-holder-a-region': 'api/regions/leases: another instance waits',
    'lease-stored': 'api/regions/leases: a gate that starts counts each stored lease',
    'full-log-gives-no-lease': 'api/regions/leases: none is given while the audit log takes no more reads',
    'lost-lease-stored': 'api/regions/leases: a new term waits for each region also after a restart',
    'new-term-waits-at-start': 'api/regions/leases: a new term waits for each region also after a restart',
    'lost-leases-waited-out': 'api/regions/leases: a new term waits for each region',
    'waited-out-region-pauses': 'api/regions/leases: a region that was waited out pauses',
    'copies-known': 'api/regions/leases: a replica that only loaded rows is told to leave too',
  }),
  {
    name: 'the end of a session is not sent to regions that were taken out',
    tag: 'endings-sent-to-former-regions',
    change: { from: ' || leases(core).regions().length > 0', to: '' },
    notice: 'api/regions/replicas: attack: a session that ends is refused by the replica of a region',
  },
  {
    name: 'reads that are refused begin a replica',
    tag: 'refused-reads-begin-no-replica',
    change: { from: " && outcome.kind === 'ok'", to: '' },
    notice: 'api/regions/auto: refused reads, and requests that no replica answers, begin none',
  },
  {
    name: 'auto begins more than nine replicas',
    tag: 'most-regions-begun',
    change: { from: ' || begun.size >= MOST_REGIONS', to: '' },
    notice: 'api/regions/auto: there are nine at most',
  },
  {
    name: 'a replica of another history gets a lease',
    tag: 'replica-of-this-journal',
    change: { from: 'return id === record', to: 'return true' },
    notice: 'api/regions/leases: a replica of another history begins again',
  },
  {
    name: 'that an organisation had regions is forgotten',
    tag: 'former-regions-known',
    change: { from: 'regions.length || before ? regions : null', to: 'regions.length ? regions : null' },
    notice: 'api/regions/leases: a gate that lost its storage assumes replicas of former regions',
  },
  {
    name: 'a gate with older rows gives leases',
    tag: 'older-gate-gives-no-lease',
    change: { from: 'await isBehind(this.core)', to: 'false' },
    notice: 'api/regions/leases: a gate that is behind D1 gives none',
  },
  {
    name: 'a gate gives leases before it has compared itself with D1',
    tag: 'older-gate-gives-no-lease',
    change: { from: 'await isBehind(this.core)', to: 'null' },
    notice: 'api/regions/leases: a gate that starts compares itself with D1',
  },
  {
    name: 'replicas follow a gate during an adoption',
    tag: 'no-replicas-in-adoption',
    change: { from: ' && !mirror(this.core).isPaused()', to: '' },
    notice: 'api/regions/leases: nothing follows a gate during an adoption',
  },
  {
    name: 'a lease does not name the last record',
    tag: 'lease-names-last-record',
    change: { from: 'last: own.last()', to: 'last: ask.position' },
    notice: 'api/regions/leases: names the last record',
  },
  {
    name: 'a gate that starts trusts the stored end of a lease',
    tag: 'lease-whole-term-at-start',
    change: { from: 'until: started + TERM', to: 'until: row.until' },
    notice: 'api/regions/leases: a gate that starts counts each stored lease',
  },
  {
    name: 'any instance acknowledges for the one that holds the lease',
    tag: 'acknowledged-by-holder',
    change: {
      from: 'if (standing) standing.acknowledged = Math.max(standing.acknowledged, n)',
      to: 'const any = regions.get(region); if (any) any.acknowledged = Math.max(any.acknowledged, n)',
    },
    notice: 'api/regions/leases: only the instance that holds the lease acknowledges',
  },
  {
    name: 'a replica that may still answer owes no entries',
    tag: 'live-replica-owes',
    change: { from: ' && (standing.lease?.until ?? 0) <= now', to: '' },
    notice: 'api/regions/entries: a region owes entries while its lease holds',
  },
  {
    name: 'a region is forgotten while its lease holds',
    tag: 'dismissed-after-lease',
    change: {
      from: ' && !leases(core).live(core.now()).some((one) => one.region === region)',
      to: '',
    },
    notice: 'api/regions/leases: a region that was taken out is forgotten after its lease',
  },

  // ---------------------------------------------------------------- what a reply waits for
  ...checks({
    'records-unstable-at-start': 'api/regions/stability: not stable when the gate ended',
    'absence-looked-at': 'api/regions/stability: a name that is not found counts as a list',
  }),
  {
    name: 'a new term does not wait for leases',
    tag: 'new-term-waits-for-leases',
    change: {
      from: 'wait(termFrom(Math.max(1, own.last())));',
      to: '',
    },
    notice: 'api/regions/leases: a new term waits for each region',
  },
  {
    name: 'a reply leaves before what it looked at is stable',
    tag: 'reply-waits-until-stable',
    change: {
      from: "stability(core).restsOn(operation?.byReplica && reply.outcome.kind === 'ok' ? looked : 'everything')",
      to: '0',
    },
    notice: 'api/regions/stability: the reply of a change, and of a read of what it changed, waits',
  },
  {
    name: 'a list rests on no change',
    tag: 'list-rests-on-all',
    change: { from: 'looked.all = true', to: 'looked.all = false' },
    notice: 'api/regions/stability: a list rests on each change of a secret',
  },
  {
    name: 'a changed credential counts as an added one',
    tag: 'added-credential-stable',
    change: { from: "kind === 'credential' && from === 0", to: "kind === 'credential'" },
    notice: 'api/regions/stability: the end of a session token waits',
  },
  {
    name: 'records that are not stable leave the journal',
    tag: 'unstable-records-stay',
    change: { from: 'Math.min(least, stability(core).stable())', to: 'least' },
    notice: 'api/regions/stability: records that are not stable stay',
  },

  // ---------------------------------------------------------------- what a replica answers
  ...checks({
    'replica-has-no-other-parts': 'api/regions/instance: reaching for what only the gate has',
    'worker-of-same-format': 'api/regions/instance: leaves a request of a Worker of another release',
    'rows-of-other-format-deleted': 'api/regions/instance: of another release than the one that stored',
    'replica-of-its-name': 'api/regions/instance: is that of its name',
    'replica-records-in-order': 'api/regions/instance: takes records in order',
    'replica-entry-before-reply': 'api/regions/replicas: each answered read has one entry',
    'push-of-same-format': 'api/regions/instance: takes no records of another release',
    'changed-credential-ends-loans': 'api/regions/instance: gives up loans of a credential that changes',
    'timer-ends-lease': 'api/regions/instance: its lease ends by a timer',
  }),
  {
    name: 'what is settled in another term counts',
    tag: 'settled-in-this-term',
    change: 'always',
    notice: 'api/regions/instance: ignores what was settled in another term',
  },
  {
    name: 'a request waits for a silent replica',
    tag: 'silent-replica-costs-a-second',
    change: { from: 'PATIENCE', to: '60_000' },
    notice: 'api/regions/replicas: a replica that says nothing costs a second',
  },
  {
    name: 'a replica answers after its lease',
    tag: 'lease-holds-as-it-answers',
    change: { from: 'this.holds() && ', to: '' },
    notice: 'api/regions/instance: leaves a request to the gate: its lease ends meanwhile',
  },
  {
    name: 'a replica answers from rows that change meanwhile',
    tag: 'no-record-between',
    change: { from: 'this.following.position() === turn.from && ', to: '' },
    notice: 'api/regions/instance: leaves a request to the gate: a record comes meanwhile',
  },
  {
    name: 'a replica answers although another request has begun',
    tag: 'no-request-between',
    change: { from: 'this.requests === turn.request && ', to: '' },
    notice: 'api/regions/instance: leaves a request to the gate: another request begins meanwhile',
  },
  {
    name: 'a replica tells what may not be everywhere',
    tag: 'replica-reads-settled',
    change: { from: '!this.following.isUnsettled(turn.looked) && ', to: '' },
    notice: 'api/regions/instance: leaves a request to the gate: what it reads may not be everywhere',
  },
  {
    name: 'a replica decides by its own clock',
    tag: 'no-deciding-time-near',
    change: { from: '!turn.times.any()', to: 'true' },
    notice: 'api/regions/instance: leaves a request to the gate: a credential expires within seconds',
  },
  {
    name: 'a replica counts its lease from the answer',
    tag: 'lease-counted-from-sending',
    change: { from: 'sent + TERM', to: 'Date.now() + TERM' },
    notice: 'api/regions/instance: counts its lease from when it asked',
  },
  {
    name: 'a replica follows from the last page',
    tag: 'position-of-the-first-page',
    change: { from: 'load(page, first)', to: 'load(page, page)' },
    notice: 'api/regions/instance: follows from the position of the first page',
  },

  // ---------------------------------------------------------------- entries and lent requests
  {
    name: 'a gate without storage takes no entry of a replica that went on',
    tag: 'unknown-entries-taken',
    change: { from: '(entries[0]?.n ?? 1) - 1', to: '0' },
    notice: 'api/regions/entries: a gate that knows nothing of a replica takes all',
  },
  ...checks({
    'entry-taken-once': 'api/regions/entries: an entry is taken once',
    'full-log-takes-no-entries': 'api/regions/entries: entries leave the rest of the audit log',
    'loan-stored': 'api/regions/entries: a loan outlives the gate',
    'loan-reserved': 'api/regions/entries: lent requests count as used',
    'loan-within-lease': 'api/regions/instance: uses a loan only under the lease',
    'loans-returned-after-entries': 'api/regions/instance: returns loans once its entries are taken',
    'recalled-before-refusal': 'api/regions/entries: are recalled before the gate refuses a request',
  }),
  {
    name: 'a new instance takes all records for settled',
    tag: 'forgotten-records-unsettled',
    change: { from: 'settled < forgotten || ', to: '' },
    notice: 'api/regions/instance: takes no record of an earlier instance for settled',
  },
  {
    name: 'what was taken of an idle storage is forgotten',
    tag: 'storage-of-lease-remembered',
    change: { from: ' and storage not in (select storage from leases)', to: '' },
    notice: 'api/regions/entries: the gate remembers entries of a storage with a lease',
  },
  {
    name: 'a containment lacks what replicas answered until it took effect',
    tag: 'entries-before-report',
    change: { from: 'operation?.readsLog && operation.change ? await gather(core) : before', to: 'before' },
    notice: 'api/regions/entries: a containment has what replicas answered',
  },
  {
    name: 'a gate that starts trusts the stored end of a loan',
    tag: 'loan-whole-at-start',
    change: { from: 'loan.until > now - CLOCKS ? now + TERM + CLOCKS : loan.until', to: 'loan.until' },
    notice: 'api/regions/entries: a gate that starts counts a loan as lent',
  },
  {
    name: 'a loan that was given back is used',
    tag: 'loan-still-held',
    change: { from: 'pending.loan && loans.has(pending.loan.id)', to: 'pending.loan' },
    notice: 'api/regions/instance: its loan is given back meanwhile',
  },
  {
    name: 'an entry is deleted when it was sent',
    tag: 'entry-deleted-once-taken',
    change: { from: 'taken(taken)', to: 'taken(Number.MAX_SAFE_INTEGER)' },
    notice: 'api/regions/instance: keeps its entries until the gate has taken them',
  },
  {
    name: 'lent requests do not count',
    tag: 'reserved-requests-count',
    change: { from: 'most - reserved.of(id)', to: 'most' },
    notice: 'api/regions/entries: lent requests count as used',
  },
  {
    name: 'a loan ends with its lease',
    tag: 'loan-outlives-lease',
    change: { from: 'until + CLOCKS', to: 'until' },
    notice: 'api/regions/entries: a loan of a region that does not answer',
  },
];
