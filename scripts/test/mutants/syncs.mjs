// The mutants of syncs. index.mjs says what a mutant is.

import { checks } from './checks.mjs';

/** @type {import('./index.mjs').Mutant[]} */
export const mutants = [
  ...checks({
    'one-consumer-a-sync': 'api/syncs/syncs: a message that is delivered twice',
    'sync-connection-before-panic':
      "api/syncs/connections: sync: after a panic, a member's connection sends nothing until it is updated again",
    'call-begins-under-permit':
      'vendors/stops: nothing is sent to circleci after the reply to what stops a sync',
    'message-begins-under-permit': 'api/integrations/events: gets no message that waited too long to begin',
    'ended-permits-waited-for':
      'vendors/stops: nothing is sent to circleci after the reply to what stops a sync',
    'no-reply-before-permits-end': 'api/syncs/stops: sync: cancel of a sync by config',
    'sync-withheld-target-not-called':
      'vendors/stops: nothing is sent to circleci after the reply to what stops a sync',
    'written-names-noted':
      'api/syncs/syncs: sync: prune deletes names written by this service from this environment, and nothing else',
    'tries-end-with-connection':
      'api/syncs/connections: sync: nothing is kept of tries once the connection or the environment is gone',
    'tries-end-with-environment':
      'api/syncs/connections: sync: nothing is kept of tries once the connection or the environment is gone',
    'record-only-by-those-let-in':
      'api/syncs/limits: sync: whoever runs a connection does not push what it wrote out of the record',
    'sync-record-bounded':
      'api/syncs/limits: bounds: however many names are recorded, the rows of a bounded number of secrets',
    'sync-steps-marked':
      'api/syncs/attacks: sync: a lease is held by one consumer, and the next consumer knows which steps were handed out',
  }),
  {
    name: 'a connection is moved from outside its environments',
    tag: 'connection-changed-within-reach',
    change: { from: 'withinPermissions(caller, one) === null', to: 'true' },
    notice:
      'api/syncs/limits: sync: a connection outside them looks non-existent, and one that reaches beyond them is not changed',
  },
  {
    name: 'a connection outside the limits of a credential is shown',
    tag: 'connections-outside-limits-hidden',
    change: { from: "row.kind !== 'sync' ||", to: 'true ||' },
    notice:
      'api/syncs/limits: sync: a connection outside them looks non-existent, and one that reaches beyond them is not changed',
  },
  {
    name: 'a run of a connection goes beyond the limits of its requester',
    tag: 'sync-within-limits-of-requester',
    change: { from: 'asker ? [runnerOf(asker)] : []', to: '[] as Caller[]' },
    notice:
      'api/syncs/limits: sync: a run of a stored connection sends, shows and prunes only what its requester reaches',
  },
  {
    name: 'an agent stores a connection beyond the limits of integrations:write',
    tag: 'connection-within-limits-of-its-maker',
    change: {
      from: 'storing.map((other) => (one === other ? one : overlap(one, other)))',
      to: '[one, ...storing.slice(0, 0)]',
    },
    notice:
      'api/syncs/limits: sync: an agent stores no connection beyond the limits of integrations:write, whatever it may read',
  },
  {
    name: 'a sync outside the limits of a credential is shown',
    tag: 'syncs-outside-limits-hidden',
    change: { from: 'reachesEnvironment(caller, need.scopes, environment_id)', to: 'true' },
    notice: 'api/syncs/limits: sync: syncs outside the limits are neither shown nor cancelled',
  },
  {
    name: 'results of a sync are shown beyond the limits of a credential',
    tag: 'sync-results-within-limits',
    change: { from: 'isNamed ||', to: 'true ||' },
    notice: 'api/syncs/limits: sync: syncs outside the limits are neither shown nor cancelled',
  },
  {
    name: 'a credential cancels a sync beyond its names',
    tag: 'sync-cancelled-within-limits',
    change: { from: 'row.names?.length && row.names.every(within)', to: 'true' },
    notice: 'api/syncs/limits: sync: syncs outside the limits are neither shown nor cancelled',
  },
  {
    name: 'an agent generates a file beyond the limits of integrations:generate',
    tag: 'generate-within-limits-of-its-scope',
    change: { from: 'caller.permissions.length === 1 ||', to: 'true ||' },
    notice:
      'api/syncs/limits: sync: a session token, and an agent beyond its own scopes, stay within their limits too',
  },
  {
    name: 'a connection runs on any environment',
    tag: 'connection-within-its-environments',
    notice: 'api/syncs/connections: sync: it runs only on its environments',
  },
  {
    name: 'the result of a dry run is stored for other session tokens of the key',
    tag: 'dry-run-made-again',
    change: { from: 'dryRun === true', to: 'dryRun === undefined' },
    notice: 'api/syncs/syncs: idempotency: a dry run is made again under the same key, for whoever asks',
  },
  {
    name: 'a dry run compares values that a policy holds',
    tag: 'held-values-not-compared',
    change: { from: 'held.has(row.name)', to: 'false' },
    notice: 'api/syncs/held: sync: a dry run is never held, and reveals nothing about held secrets',
  },
  {
    name: 'a sync runs while an earlier one of its place is running',
    tag: 'syncs-of-a-place-in-order',
    change: { from: 'targets.has(targetIn(row.place)) &&', to: 'false &&' },
    notice: 'api/syncs/syncs: two of one place run one after the other',
  },
  {
    name: 'secrets outside the reach are sent',
    tag: 'sync-within-reach',
    change: { from: 'row && reached(name) ?', to: 'row ?' },
    notice: 'api/syncs/syncs: the scopes are judged in their order',
  },
  {
    name: 'a sync continues after its caller has ended',
    tag: 'sync-caller-judged-again',
    change: { from: 'endOf(core, lineage) === null', to: 'true' },
    notice: 'api/syncs/syncs: a caller whose credential ends',
  },
  {
    name: 'a creator who has ended counts',
    tag: 'sync-maker-judged-again',
    notice: 'api/syncs/connections: a maker who ends before the work begins',
  },
  {
    name: 'rows of any length stay parsed in memory',
    tag: 'parsed-rows-bounded',
    change: { from: 'body.length <= LONGEST_KEPT', to: 'true' },
    notice: 'api/syncs/syncs: the row of one that names many secrets',
  },
  {
    name: 'a connection reaches everything that its creator reaches',
    tag: 'sync-within-reach-of-its-making',
    change: { from: ', readerWithin(nobody, connection.reach ?? [])', to: '' },
    notice:
      "api/syncs/connections: sync: a connection stored by a session token stays within the token's reach, and is valid as long as its API key",
  },
  {
    name: 'an environment outside the reach is synced',
    tag: 'sync-environment-within-reach',
    change: { from: 'reachesEnvironment(caller, READ, environment)', to: 'true' },
    notice: 'api/syncs/syncs: the scopes are judged in their order',
  },
  {
    name: 'secrets that a policy holds by now are sent',
    tag: 'sync-held-secrets-not-sent',
    change: { from: 'holdingReads(core, row, doers).length > 0', to: 'false' },
    notice: 'api/syncs/held: sync: a policy created between request and sending holds its secrets',
  },
  {
    name: 'a sync does not need the approval of a policy',
    tag: 'sync-held-as-read',
    change: { from: 'selected.rows', to: '[]' },
    notice: 'api/syncs/held: a held secret holds the whole sync',
  },
  {
    name: 'prune goes beyond the reach',
    tag: 'prune-within-reach',
    change: { from: '&& reached(name)', to: '' },
    notice:
      'api/syncs/limits: sync: a run of a stored connection sends, shows and prunes only what its requester reaches',
  },
  {
    name: 'limits shown: environments of others beyond the reach of a caller',
    tag: 'limits-shown-within-environments',
    change: { from: 'own.some((one) => enters(one, id))', to: 'true' },
    notice:
      'api/access/limits: limits: an API key with every scope learns and changes nothing outside its limits',
  },
  {
    name: 'limits shown: name patterns of others beyond the reach of a caller',
    tag: 'limits-shown-within-names',
    change: { from: 'secrets?.filter(isWithin)', to: 'secrets?.filter(() => true)' },
    notice:
      'api/access/limits: limits: an API key with every scope learns and changes nothing outside its limits',
  },
  {
    name: 'limits shown: name patterns of environments beyond the reach of a caller',
    tag: 'names-shown-where-reached',
    change: 'always',
    notice:
      'api/access/limits: limits: an admin with every scope learns and changes nothing outside its limits',
  },
  {
    name: 'limits shown: a graph counts secrets beyond the reach of a caller',
    tag: 'graph-within-names',
    change: { from: '&& reaches(asker, need.scopes, id, name)', to: '' },
    notice:
      'api/access/limits: limits: what others are limited to is shown as far as the caller reaches, and its own in full',
  },
  {
    name: 'limits shown: a graph names environments beyond the reach of a caller',
    tag: 'graph-within-environments',
    change: { from: '&& reachesEnvironment(asker, need.scopes, id)', to: '' },
    notice:
      'api/access/limits: limits: what others are limited to is shown as far as the caller reaches, and its own in full',
  },
  {
    name: 'limits shown: an entry of the audit log names a former name beyond the reach of a caller',
    tag: 'audit-every-name-within-view',
    change: { from: 'namesIn(entry)', to: '[resource_name]' },
    notice:
      'api/access/limits: limits: an entry is shown only to who reaches the former name of its secret too',
  },
  {
    name: 'limits shown: an own entry of the audit log names what lies outside',
    tag: 'own-entries-within-limits',
    change: { from: 'reachesAll(view, entry.environment, named)', to: 'true' },
    notice:
      'api/access/limits: limits: a caller sees that it was refused, and neither the name nor the environment',
  },
  {
    name: 'syncs stop: a permit outlasts the caller',
    tag: 'permit-ends-with-caller',
    change: { from: '(expires_at ?? Number.POSITIVE_INFINITY)', to: 'Number.POSITIVE_INFINITY' },
    notice: 'api/syncs/stops: sync: a permit does not outlast the caller',
  },
  {
    name: 'syncs stop: a chunk is sent although its caller was narrowed',
    tag: 'permit-within-reach',
    change: { from: 'chunk?.reach !== reach', to: 'chunk === null' },
    notice:
      'api/syncs/stops: sync: what a trust no longer allows is not sent after the reply that narrows its scopes, and the rest is',
  },
  {
    name: 'syncs stop: a narrowing of the caller waits for no permit',
    tag: 'permit-ends-with-reach',
    change: { from: ' || reachIn(core, callers) !== reach', to: '' },
    notice:
      'api/syncs/stops: sync: what a trust no longer allows is not sent after the reply that narrows its scopes, and the rest is',
  },
  {
    name: 'syncs stop: what a policy holds by now is sent with its chunk',
    tag: 'permit-within-policies',
    change: { from: "core.rows.edits('policy')", to: '0' },
    notice:
      'api/syncs/stops: sync: what an approval policy holds is not sent after the reply by which it is made',
  },
  {
    name: 'syncs stop: whoever stops one sync after another holds up all changes',
    tag: 'later-ends-not-waited-for',
    change: { from: 'new Map(ended)', to: 'ended' },
    notice:
      'unit/gate/permits: permits: whoever ends one permit after another keeps no earlier reply waiting',
  },
  {
    name: 'syncs stop: a secret that is gone by now is sent with its chunk',
    tag: 'permit-while-secrets-last',
    change: { from: '!areThere(core, chunk, core.now())', to: 'false' },
    notice:
      'api/syncs/stops: sync: a secret that is deleted while its chunk is written is not written after the reply',
  },
  {
    name: 'syncs stop: a secret is sent for another that has its name by now',
    tag: 'same-secret-of-its-name',
    change: { from: 'row !== null &&', to: 'row === null ||' },
    notice: 'api/syncs/stops: sync: nor is it for another secret that has its name by then',
  },
  {
    name: 'a chunk of which nothing is sent ends the sync',
    tag: 'skipped-chunk-ends-no-sync',
    change: { from: 'next !== undefined &&', to: 'false &&' },
    notice: 'api/syncs/stops: sync: a chunk of which nothing is there any more ends no sync',
  },
  {
    name: 'a change waits for a sync that was cancelled',
    tag: 'cancelled-sync-sends-no-change',
    change: { from: 'cancelled_at === null && ', to: '' },
    notice: 'api/syncs/connections: sync: a change while a cancelled sync has not ended yet is not lost',
  },
  {
    name: 'a sync deletes what its caller no longer reaches',
    tag: 'removal-within-reach',
    change: { from: '&& reached(name)', to: '' },
    notice:
      'api/syncs/stops: sync: what a trust no longer reaches is not deleted at the target after the reply that narrows it (alone)',
  },
  {
    name: 'the later pages of a sync do not report what they leave out',
    tag: 'each-page-reports-its-names',
    change: { from: '({ name }) =>', to: '({ name }) => input.after === null &&' },
    notice:
      'api/syncs/reports: sync: a secret that was named, and is deleted once its sync has read others, is in the report',
  },
  {
    name: 'a sync that stopped before its names were known has completed',
    tag: 'stopped-sync-not-completed',
    change: { from: 'isStopped && results.length === 0', to: 'false' },
    notice: 'api/syncs/reports: sync: one whose member was removed before it began has not completed',
  },
  {
    name: 'a job reports a name as failed whose answer was lost and that another one writes',
    tag: 'lost-answers-handed-over',
    change: { from: ' && !options.permit?.isHandedOver()', to: '' },
    notice: 'api/syncs/reports: sync: a name whose answer was lost is written by the job that goes on',
  },
  {
    name: 'a job reports names as failed that another one writes',
    tag: 'handed-over-names-stay-open',
    change: { from: 'isHandedOver(applied.end)', to: 'applied.end === stale' },
    notice:
      'api/syncs/reports: sync: a job that another one replaced reports no failure for what it did not begin',
  },
  {
    name: 'prune deletes a name that a listing showed missing',
    tag: 'missing-names-not-ours',
    change: { from: 'of missing', to: 'of missing.slice(0, 0)' },
    notice:
      'api/syncs/prune: sync: a name that a listing showed missing is not ours any more, whoever makes it anew',
  },
  {
    name: 'prune deletes what another environment wrote to the target',
    tag: 'pruned-by-its-environment',
    change: { from: 'where place = ? and environment = ?', to: 'where place = ? and ? is not null' },
    notice: 'api/syncs/prune: sync: if two environments have one target, the last writer owns a name',
  },
  {
    name: 'a name that was found equal at the target is not known to hold its secret',
    tag: 'found-names-hold-their-secrets',
    change: {
      from: "'insert into sync_names values (?, ?, ?, ?, ?)",
      to: "'insert into sync_names select ?, ?, ?, ?, ? where false",
    },
    notice:
      'api/syncs/limits: sync: a name that was found equal at the target holds the value of its secret too',
  },
  {
    name: 'the record of a connection counts for whoever ran it',
    tag: 'record-of-connection-kept',
    change: { from: 'integration_id === null', to: 'true' },
    notice: 'api/syncs/limits: sync: whoever runs a connection does not push what it wrote out of the record',
  },
  {
    name: 'a server that the config chose puts words into an error',
    tag: 'codes-of-chosen-hosts-documented',
    change: { from: 'codes.find((one) => one === code) ?? null', to: 'codes && (code as string)' },
    notice: 'vendors/kubernetes: sync: kubernetes repeats no code that its vendor does not document',
  },
  {
    name: 'names whose secrets are gone are compared with patterns without a bound',
    tag: 'sync-steps-bounded',
    change: { from: 'steps.take(environment, name) &&', to: '' },
    notice: 'api/syncs/limits: bounds: however many secrets are gone, their names are compared',
  },
  {
    name: 'prune deletes a name that another environment wants',
    tag: 'last-writer-owns',
    change: { from: 'and environment <> ?', to: 'and ? is null' },
    notice: 'api/syncs/prune: sync: a name that another environment wants is not deleted',
  },
  {
    name: 'prune deletes a listed value of somebody else',
    tag: 'prune-only-last-written',
    change: { from: 'digestOf(target, value) !== digest', to: 'false' },
    notice: 'vendors/plan: a name of ours that somebody else has written since is not deleted',
  },
  {
    name: 'prune deletes a value of somebody else that is read',
    tag: 'removal-only-last-written',
    change: { from: '!isOurs(current)', to: 'false' },
    notice: 'vendors/apply: a value that somebody else has written since is not deleted',
  },
  {
    name: 'prune deletes bytes of somebody else',
    tag: 'removal-only-last-written',
    change: { from: '!begun', to: 'false' },
    notice: 'vendors/apply: sync apply: what has no text to compare is not deleted',
  },
  {
    name: 'the credentials of a request are stored',
    tag: 'sync-credentials-forgotten',
    change: { from: 'credentials_sealed: null, ', to: '' },
    notice:
      'api/syncs/held: sync: no value and no credential is in D1, on the queue, in events, or in responses',
  },
  {
    name: 'names that two secrets would share are written',
    tag: 'sync-collisions-fail',
    change: { from: '(wanted.get(fold(target)) ?? 0) > 1', to: 'false' },
    notice:
      'api/syncs/syncs: sync: a name that the target does not accept fails on its own, and two that map to one name both fail',
  },
  {
    name: 'the value of a secret outside the reach is overwritten by one whose name becomes the same',
    tag: 'unselected-secrets-not-overwritten',
    change: { from: 'before?.isTaken === true', to: 'false' },
    notice: 'api/syncs/limits: sync: a name that holds the value of another secret is not overwritten',
  },
  {
    name: 'the row of a sync is not checked',
    tag: 'credentials-row-mac',
    change: { from: ' || !equal(row.mac, macOf(keys.row, kind, row))', to: '' },
    notice: 'api/syncs/attacks: a row that was altered leads nowhere',
  },
  {
    name: 'values are returned although the caller has ended while they were fetched',
    tag: 'sync-rechecked-after-fetch',
    change: { from: 'again?.stop !== null', to: 'again === null' },
    notice: 'api/syncs/attacks: a caller who ends while values are fetched',
  },
  {
    name: 'a config is not checked again before it is used',
    tag: 'sync-target-checked-again',
    change: { from: 'checked(platform, config, settings)', to: '{ config }' },
    notice: 'api/syncs/attacks: a connection that leads to a private address by now',
  },
  {
    name: 'a consumer continues after its lease has expired',
    tag: 'sync-lease-checked',
    change: { from: 'before?.lease !== lease || ', to: '!before || ' },
    notice:
      'api/syncs/attacks: sync: a lease is held by one consumer, and the next consumer knows which steps were handed out',
  },
  {
    name: 'what an agent makes a connection send is not remembered as its own',
    tag: 'work-of-agent-marked',
    change: { from: 'isOfAgent(core, caller)', to: 'false' },
    notice:
      'api/syncs/held: sync: an agent that widens what a connection sends is judged from then on, whoever changes it later',
  },
  {
    name: 'approval policies on agents let connections pass that an agent has widened',
    tag: 'connection-of-agent-held',
    change: { from: 'accountable ?', to: 'false ?' },
    notice:
      'api/syncs/held: sync: an agent that widens what a connection sends is judged from then on, whoever changes it later',
  },
  {
    name: 'who repointed a connection decides what others send by it',
    tag: 'connection-changer-decides-nothing',
    change: { from: 'integration ?', to: 'false && integration ?' },
    notice:
      'api/syncs/held: attack: who repointed or widened a connection approves no run of it for seven days',
  },
  {
    name: 'nobody records who repointed a connection',
    tag: 'connection-changed-by',
    change: { from: 'bringers(call)', to: '[]' },
    notice:
      'api/syncs/held: attack: who repointed or widened a connection approves no run of it for seven days',
  },
  {
    name: 'the default environment that a policy names is changed without approval',
    tag: 'default-environment-held',
    change: { from: 'row.environments?.includes(id)', to: 'row.environments?.includes(id) && false' },
    notice:
      'api/approvals/guards: attack: the default environment is not changed around a policy that names it or the new one',
  },
  {
    name: 'an environment that a policy names is deleted without approval',
    tag: 'environment-of-policy-guarded',
    change: {
      from: 'row.environments?.includes(before.id) ?? false',
      to: 'row.environments?.includes(before.id) && false',
    },
    notice:
      'api/approvals/guards: attack: deleting an environment and creating it again takes no policy off it',
  },
  {
    name: 'the member accountable for the agent of a connection decides what others send by it',
    tag: 'accountable-for-all-doers',
    change: {
      from: '...doers.filter((one) => one.accountable || isOfAgent(core, one))',
      to: '...doers.slice(0, 0)',
    },
    notice:
      'api/syncs/held: sync: nobody who is accountable for the agent of a connection decides a run of it by a member',
  },
  {
    name: 'a member approves what they send themselves by the connection of an agent',
    tag: 'people-decide-nothing-of-theirs',
    change: { from: 'isOfAgent(core, caller) &&', to: 'true &&' },
    notice: 'api/syncs/held: sync: nobody approves a run of their own by the connection of an agent',
  },
];
