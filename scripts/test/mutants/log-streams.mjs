// The mutants of log streams. index.mjs says what a mutant is.

import { checks } from './checks.mjs';

/** @type {import('./index.mjs').Mutant[]} */
export const mutants = [
  ...checks({
    'log-stream-unchanged-meanwhile':
      'api/log-streams/log-streams: log stream: a change of the target that another overtook is refused',
    'log-stream-drains-bounded':
      'api/log-streams/log-streams: log stream: earlier targets that wait are bounded',
    'deleted-log-streams-bounded':
      'api/log-streams/log-streams: log stream: deleted ones that still get entries are bounded',
    'log-stream-seeks-back-only':
      'api/log-streams/log-streams: log stream: a seek sends again from there, never further on',
    'log-stream-drained-before-change':
      'api/log-streams/log-streams: log stream: one that is disabled first sends the entries up to that change',
    'late-log-report-ignored':
      'api/log-streams/delivery: log stream: the failure of an earlier batch says nothing of a later one',
    'log-batch-begins-under-permit':
      'api/log-streams/log-streams: log stream: no request begins after the reply to what ends its maker',
    'log-stream-gap-told':
      'api/log-streams/log-streams: audit retention: a stream holds nothing back, and what left meanwhile is told',
    'log-batch-taken-by-2xx': 'api/log-streams/delivery: log stream: a redirect does not count as taken',
    'splunk-code-0':
      'api/log-streams/delivery: log stream: a Splunk code other than 0 does not count as taken',
    'otlp-partly-taken-is-not-taken':
      'api/log-streams/delivery: log stream: OTLP records that were refused does not count as taken',
    'log-batch-bounded':
      'api/log-streams/delivery: log stream: the size of a batch includes what a format adds',
    'archived-chain-checked':
      'api/log-streams/delivery: log stream: an entry that was altered in D1 is not sent, nor are those after it',
  }),
  {
    name: 'a disabled log stream sends',
    tag: 'disabled-log-stream-not-sent',
    change: { from: 'row.disabled !== null || ', to: '' },
    notice:
      'api/log-streams/log-streams: log stream: one that is disabled first sends the entries up to that change',
  },
  {
    name: 'a log stream whose maker has ended sends',
    tag: 'log-stream-maker-judged-again',
    change: { from: ' && reachesLog(maker) === null', to: '' },
    notice: 'api/log-streams/log-streams: log stream: it stops once the member who made it may do less',
  },
  {
    name: 'the log stream of a member outlives a panic',
    tag: 'log-stream-before-panic',
    change: { from: 'generation < (org?.generation ?? 0) || ', to: '' },
    notice:
      'api/log-streams/log-streams: log stream: it stops once the member who made it is ended by a panic',
  },
  {
    name: 'a limited caller uses log streams',
    tag: 'log-streams-by-unlimited-callers',
    change: { from: 'reachesLog(caller)', to: '(caller as unknown) === 1 ? reachesLog(caller) : null' },
    notice: 'api/log-streams/log-streams: permission: log streams take both scopes, without limits',
  },
  {
    name: 'entries from before are sent at any rate',
    tag: 'catch-up-rate',
    change: { from: 'window_bytes + MOST_BATCH > CATCH_UP', to: 'window_bytes < 0' },
    notice: 'api/log-streams/log-streams: rate limit: entries from before are sent at 10 MB a minute at most',
  },
  {
    name: 'a log stream whose target fails for days goes on',
    tag: 'log-stream-disabled-after-failing',
    change: { from: 'now - since >= FAILING_FOR', to: 'now < 0' },
    notice: 'api/log-streams/delivery: log stream: five days of failures disable it, and not less',
  },
  {
    name: 'a batch undoes a seek',
    tag: 'seek-outlasts-batch',
    change: { from: 'state.position !== from', to: 'from < 0' },
    notice: 'api/log-streams/delivery: log stream: a seek during a batch outlasts it',
  },
  {
    name: 'two jobs send for one log stream',
    tag: 'one-log-batch-at-a-time',
    change: { from: '(state.lease_until ?? 0) > now', to: 'now < 0' },
    notice:
      'api/log-streams/delivery: log stream: a job that ends before its report is repeated once its lease has ended',
  },
  {
    name: 'a position that was altered in D1 counts',
    tag: 'stored-position-mac',
    change: { from: 'equal(stored.mac, positionMac(key, core.org, id, stored.sequence))', to: 'stored.mac' },
    notice: 'api/log-streams/delivery: log stream: a position that was altered in D1 does not count',
  },
  {
    name: 'an altered log stream sends',
    tag: 'log-stream-row-mac',
    change: { from: "equal(row.mac, macOf(keys.row, 'log_stream', row))", to: 'row.mac.length > 0' },
    notice: 'api/log-streams/log-streams: tampering: a row whose MAC is wrong is not used',
  },
  {
    name: 'a config replaces headers of the service',
    tag: 'log-stream-headers-own',
    change: { from: 'SET_BY_US.test(name)', to: 'name === SET_BY_US.source' },
    notice:
      'api/log-streams/log-streams: log stream: headers of a config replace none of the service, and inject none',
  },
  {
    name: 'a config injects headers',
    tag: 'log-stream-header-values',
    change: { from: 'HEADER_VALUE.test(value)', to: 'value !== HEADER_VALUE.source' },
    notice:
      'api/log-streams/log-streams: log stream: headers of a config replace none of the service, and inject none',
  },
  {
    name: 'a log stream is stored with any address',
    tag: 'log-stream-target-checked',
    change: { from: 'checkTarget(url, egress) ??', to: '' },
    notice:
      'api/log-streams/log-streams: egress: a target that is not public, has credentials or is no URL is refused',
  },
  {
    name: 'credentials of a log stream are shown',
    tag: 'log-stream-credentials-apart',
    change: { from: '!CREDENTIALS.has(name)', to: "name !== ''" },
    notice:
      'api/log-streams/log-streams: log stream: it is created, listed, changed and deleted, and shows no credential',
  },
  {
    name: 'a mended target waits for hours',
    tag: 'log-stream-test-resumes',
    notice:
      'api/log-streams/delivery: log stream: a test that its target takes has a failed batch sent at once',
  },
];
