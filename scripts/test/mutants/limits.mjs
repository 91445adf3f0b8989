// The mutants of limits: what a request may cost. index.mjs says what a mutant is.

import { checks } from './checks.mjs';

/** @type {import('./index.mjs').Mutant[]} */
export const mutants = [
  ...checks({
    'walk-steps-bounded':
      'unit/gate/progress: yielding: a walk takes several turns, and continues where it stopped',
    'walk-judged-again':
      'unit/gate/progress: yielding: a walk ends in a refusal for a caller who may no longer',
    'left-check-ends': 'unit/http/refused-attempts: give their place back although the client has left',
    'checks-at-a-time':
      'unit/http/refused-attempts: of one address are ten at a time, however they end, and those of another do not count',
    'histogram-segments-bounded':
      'api/audit/histogram: audit histogram: what it counts opens 50 segments, and says from when on it is complete',
    'gate-that-does-not-begin-is-reset': 'faults/gate-reset: of a gate that cannot upgrade its storage',
    'failed-transaction-told': 'faults/monitoring: fires at transaction_failed',
    'health-not-amplified': 'faults/health: is answered from memory',
    'unknown-token-remembered':
      'api/limits/flood: costs at most one query of D1 a minute, and none after 60 requests',
    'withheld-lists-bounded': 'unit/gate/noted-lists: a caller who causes ever new lists of withheld secrets',
    'exposure-kinds-bounded': 'api/limits/flood: distinguishes 1,000 kinds of bulk reads, and ends',
    'expired-sessions-bounded': 'api/limits/stored-data: expired session tokens in D1 over the newest 20,000',
    'ended-with-parent-has-finished': 'api/limits/quotas: what ended with its parent is an ended one',
    'table-of-root-bounded':
      'unit/scan/leaks: places of more than a day ago are deleted, and the oldest of too many',
    'table-of-org-bounded': 'api/limits/stored-data: makers that have left the gate are bounded',
    'tombstones-of-root-bounded': 'unit/gate/tombstones: tombstones: those of a root leave beyond its quota',
    'long-work-of-root-bounded': 'unit/gate/turns: has few requests of one root at a time',
  }),
  {
    name: 'the permissions of a chain of agents are computed before its limits are checked',
    tag: 'permissions-computed-once',
    change: { from: 'callerOf(core, lineage)', to: '{ ...callerOf(core, lineage) }' },
    notice: 'api/limits/flood: is computed once for many requests',
  },
  {
    name: 'a list compares any number of names',
    tag: 'list-steps-bounded',
    notice: 'api/limits/flood: a list ends its page early, and its pages show each secret once',
  },
  {
    name: 'a stream names changes to a caller that does not see all events',
    tag: 'changes-for-who-sees-all',
    change: { from: ' || view !== null', to: '' },
    notice: 'api/events/stream: is not sent to callers who did not ask for it or do not see all events',
  },
  {
    name: 'a list by folders compares any number of names',
    tag: 'folder-steps-bounded',
    notice: 'api/limits/flood: a list ends its page early, and its pages show each secret once: by folders',
  },
  {
    name: 'a list by folders shows a folder of which the caller may list nothing',
    tag: 'folder-within-permissions',
    change: { from: 'row && matches(row)', to: 'row' },
    notice: 'api/secrets/list: tells a limited credential of no folder but those of names that it may list',
  },
  {
    name: 'a bulk read compares any number of names',
    tag: 'bulk-read-steps-bounded',
    notice: 'api/limits/flood: a bulk read with many patterns is refused, and one with few is not',
  },
  {
    name: 'a graph compares any number of names',
    tag: 'graph-steps-bounded',
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
    change: { from: ' || !slices.take(name.length * width)', to: '' },
    notice: 'api/limits/flood: takes bounded steps, in slices, and counts a secret as read after that',
  },
  {
    name: 'the exposure report lists what a bulk read withheld',
    tag: 'exposure-leaves-out-withheld',
    change: { from: '!shape.withheld.has(secret) &&', to: '' },
    notice: 'unit/incidents/exposure: lists no secret that each of the bulk reads withheld',
  },
  {
    name: 'a value that was checked for one organisation is decrypted for another',
    tag: 'checked-under-these-keys',
    change: { from: ' && before.keys === keys', to: '' },
    notice: 'unit/secrets/encryption: of another organisation is refused',
  },
  {
    name: 'one root fills what others share',
    tag: 'rows-of-root-bounded',
    change: { from: 'isMore(added.count, count, most.count)', to: 'false' },
    notice: 'api/limits/quotas: webhook: one root, agents included, creates no more than its part',
  },
  {
    name: 'the bytes that one root created have no quota',
    tag: 'rows-of-root-bounded',
    change: { from: ' || isMore(added.bytes, bytes, most.bytes)', to: '' },
    notice: 'api/limits/quotas: are bounded in bytes, whoever writes their versions',
  },
  {
    name: 'one root takes all session tokens of an organisation',
    tag: 'sessions-of-root-bounded',
    change: { from: 'sessions.of(root) + minted <= sessionQuotas.root', to: 'true' },
    notice: 'api/limits/quotas: session tokens are bounded for all its keys together',
  },
];
