// The mutants of approvals: what is held, and what an approval is good for. index.mjs says what a mutant is.

// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the edits quote source.

import { checks } from './checks.mjs';

/** @type {import('./index.mjs').Mutant[]} */
export const mutants = [
  {
    name: 'groups of a connection past the first are left out of what deciders are shown',
    tag: 'given-roles-shown-whole',
    change: { from: 'Math.max(1, Math.ceil(text.length / MOST_FACT))', to: '1' },
    notice: 'api/approvals/connections: many groups hide none from those who decide',
  },
  {
    name: 'a connection with more groups than deciders are shown is held',
    tag: 'connection-shown-whole',
    change: { from: "kind === 'sso_connection'", to: 'false' },
    notice: 'api/approvals/connections: many groups hide none from those who decide',
  },
  {
    name: 'a request for more secrets than deciders are shown by name is held',
    tag: 'secrets-shown-whole',
    change: { from: 'past < named.length', to: 'false' },
    notice: 'api/secrets/promote: deciders are shown each name that a promotion writes or deletes',
  },
  {
    name: 'deciders are shown the first names of several secrets, and a number of others',
    tag: 'several-shown-by-name',
    change: { from: "name).join(', '))", to: "name).join(', ').slice(0, MOST_FACT))" },
    notice: 'api/approvals/shown: approval: long names hide none of several secrets from deciders',
  },
  {
    name: 'deciders are not shown which new secrets a promotion writes',
    tag: 'promoted-names-shown',
    change: { from: "created.join(', ')", to: "''" },
    notice: 'api/secrets/promote: deciders are shown each name that a promotion writes or deletes',
  },
  ...checks({
    'widener-accountable-for-sessions':
      'api/approvals/diverted: approval: who widened a key counts for what its session asks, though the session began before',
    'revoked-session-ends-approvals':
      'api/approvals/ends: approval: what a session asked for is void once the session is contained',
    'approval-details-end': 'api/approvals/ends: approval: what deciders were shown is erased once it ends',
    'decision-ends-with-membership':
      'api/approvals/ends: approval: a decision counts no more once its member has left the approving team, also after a return',
    'void-approval-stays-void':
      'api/approvals/targets: approval: one that was void at its use stays void when everything is as before',
    'bulk-read-withholds': 'api/approvals/approvals: by name, by version and of all values is held too',
  }),
  {
    name: 'an approval without details is as good as before',
    tag: 'approval-void-without-details',
    change: { from: 'void !== 0', to: 'void === 1' },
    notice:
      'api/approvals/ends: approval: is void once the gate has lost its storage, which knew what made others void',
  },
  {
    name: 'a policy on updates is passed by a rotation',
    tag: 'new-value-held-either-way',
    change: { from: "['secret.update', 'secret.rotate'] as const", to: "['secret.rotate'] as const" },
    notice:
      'api/approvals/approvals: is required for a new value by a policy on updates, and by one on rotation',
  },
  {
    name: 'a rename takes a secret out of a policy',
    tag: 'leaving-a-policy-held',
    change: { from: 'policy.applies(before) && !policy.applies(after)', to: 'false' },
    notice: 'api/approvals/approvals: is required for a rename that would take a secret out of a policy',
  },
  {
    name: 'a policy checks only the state before a change',
    tag: 'judged-before-and-after',
    change: {
      from: 'reach.secrets.some((row) => policy.applies(row))',
      to: 'reach.secrets.slice(0, 1).some((row) => policy.applies(row))',
    },
    notice: 'api/approvals/approvals: is required for a rename that would take a secret out of a policy',
  },
  {
    name: 'the requester decides',
    tag: 'requester-decides-nothing',
    notice: 'api/approvals/approvals: are not those whom the requester brought in during the last week',
  },
  {
    name: 'any member decides',
    tag: 'approver-of-policy',
    notice: 'api/approvals/approvals: are not those whom the requester brought in during the last week',
  },
  {
    name: 'an approver who has lost the permission counts',
    tag: 'deciders-judged-again',
    change: { from: 'member && ineligible(core, approval, policy, member, now) === null', to: 'member' },
    notice: 'api/approvals/races: an approver who became connected to the requester',
  },
  {
    name: 'calls of provider tokens wait for people',
    tag: 'provider-and-operator-ungoverned',
    change: { from: "['provider', 'scim']", to: "['scim']" },
    notice: 'api/approvals/races: calls of a provider token are never held',
  },
  {
    name: 'an approval is accepted from another credential',
    tag: 'approval-of-this-root',
    change: { from: 'row.root !== caller.root || ', to: '' },
    notice: 'api/approvals/approvals: works only for the same path, query, body and root',
  },
  {
    name: 'an approval is accepted for another request',
    tag: 'approval-of-this-request',
    change: { from: ' || row.digest !== ask.approval?.digest', to: '' },
    notice: 'api/approvals/approvals: works only for the same path, query, body and root',
  },
  {
    name: 'an approval is used twice',
    tag: 'approval-used-once',
    change: { from: "row.status !== 'approved' || ", to: '' },
    notice: 'api/approvals/approvals: is held, approved by another person, and done once',
  },
  {
    name: 'an approval lasts for ever',
    tag: 'approval-expires',
    change: { from: ' || row.expires_at <= now', to: '' },
    notice: 'api/approvals/races: expires 24 hours after',
  },
  {
    name: 'an approval is accepted although its target has changed',
    tag: 'approval-void-once-changed',
    notice: 'api/approvals/approvals: is void once the target has changed',
  },
  {
    name: 'an approved grant gives what its maker came to hold since',
    tag: 'approved-limits-kept',
    change: { from: '[environments, secrets, dies_with, ...further]', to: '[]' },
    notice:
      'api/approvals/targets: approval: one of a grant is void once its maker holds more than deciders were shown',
  },
  {
    name: 'a held call: its approval outlives the credential that asked',
    tag: 'approval-ends-with-requester',
    change: { from: 'credential === null || !isAlive(core, credential)', to: 'credential === null' },
    notice:
      'api/approvals/ends: approval: one of a credential is void once it is revoked, contained, or has expired',
  },
  {
    name: 'a held call: who repoints a trust decides what it asked before',
    tag: 'approval-ends-with-takeover',
    change: { from: 'accountableForRoot(core, root).some(', to: '[].some(' },
    notice:
      'api/approvals/diverted: attack: who repoints a trust or widens an agent does not decide what it asked before',
  },
  {
    name: 'a held call: what a session asked for outlives its device',
    tag: 'blocked-device-ends-approvals',
    notice:
      'api/approvals/ends: approval: what a session asked for is void once its device is blocked, also when the session is forgotten',
  },
  {
    name: 'a held call: what a session asked for outlives its passkey',
    tag: 'removed-passkey-ends-approvals',
    notice:
      'api/approvals/ends: approval: what a browser session asked for is void once its passkey is removed',
  },
  {
    name: 'a held call: what sessions asked for outlives a panic',
    tag: 'panic-ends-approvals',
    notice: 'api/approvals/ends: approval: what sessions asked for is void after a panic',
  },
  {
    name: 'a held call: an approval is used although its requester has ended',
    tag: 'approval-void-once-requester-ended',
    notice: 'api/approvals/ends: approval: what a session asked for is void once the session is contained',
  },
  {
    name: 'a held call: what deciders were shown outlives the approval',
    tag: 'approval-details-end-with-it',
    change: { from: 'ended_at !== null', to: 'false' },
    notice: 'api/approvals/ends: approval: what deciders were shown is erased once it ends',
  },
  {
    name: 'a held call: what deciders are shown has no quota',
    tag: 'approval-details-bounded',
    change: {
      from: "sum('where root = ?', root) + bytes <= MOST_ROOT && sum('') + bytes <= MOST_ALL",
      to: 'true',
    },
    notice: 'api/approvals/shown: approval: what deciders are shown is encrypted at rest',
  },
  {
    name: 'a held call: everybody who lists approvals is shown what it does',
    tag: 'shown-to-root-and-deciders',
    change: { from: 'isAsker(row, caller) || mayDecide', to: 'true' },
    notice: 'api/approvals/shown: approval: only its root and who may decide it are shown what it does',
  },
  {
    name: 'a held call: a member in a terminal session is shown what it does',
    tag: 'terminal-decides-nothing',
    change: { from: ' && !caller.isTerminal', to: '' },
    notice: 'api/approvals/shown: approval: a decider in a terminal session is shown nothing',
  },
  {
    name: 'an approval of a place in a team gives what the team was granted since',
    tag: 'approved-grants-kept',
    change: { from: '[`${GRANTS}${id}`]', to: '[]' },
    notice:
      'api/approvals/targets: approval: one of a place in a team, and of a role, is void once that gives more',
  },
  {
    name: 'an approval of a default environment serves for another with its slug',
    tag: 'approved-default-kept',
    change: { from: '...(change.after ? [change.after.default_environment] : [])', to: '' },
    notice:
      'api/approvals/targets: approval: one of the default environment is void once that is another with its slug',
  },
  {
    name: 'an approval adds secrets to another environment with the slug of the approved one',
    tag: 'approved-place-kept',
    change: { from: '[change.after.environment_id]', to: '[]' },
    notice:
      'api/approvals/targets: approval: one that adds secrets is void once their environment is another with its slug',
  },
  {
    name: 'an approval of a connection gives what its environments and teams give since',
    tag: 'approved-connection-kept',
    change: { from: '[team_id, ...withGrants(team_id)]', to: '[]' },
    notice:
      'api/approvals/targets: approval: one of a connection is void once an environment or a team that it names gives more',
  },
  {
    name: 'an approval counts again once a member has returned to a team',
    tag: 'approved-memberships-kept',
    change: { from: 'revision: row.created_at', to: 'revision: row.revision' },
    notice:
      'api/approvals/targets: approval: one of a role is void once the member has left a team, also after a return',
  },
  {
    name: 'an approval from before a policy counts again once the policy is gone',
    tag: 'new-policy-voids-approvals',
    change: { from: 'before === null ||', to: 'before !== null &&' },
    notice:
      'api/approvals/targets: approval: a policy that comes into force ends for good what it might hold, and nothing elsewhere',
  },
  {
    name: 'a held call: changes are repeated under one approval',
    tag: 'only-reads-repeated',
    change: { from: 'changes.length === 0', to: 'true' },
    notice:
      'api/approvals/repeats: approval: no more than every policy that holds the call allows, and only for reading',
  },
  {
    name: 'a held call: it is repeated for longer than its policies allow',
    tag: 'repeats-within-policies',
    notice:
      'api/approvals/repeats: approval: no more than every policy that holds the call allows, and only for reading',
  },
  {
    name: 'a held call: another credential of the same root repeats it',
    tag: 'repeated-by-same-credential',
    notice: 'api/approvals/repeats: approval: a session of a member repeats, and another of theirs does not',
  },
  {
    name: 'a held call: workloads of one trust share their approvals',
    tag: 'approval-of-workload-alone',
    change: { from: "requester.kind === 'session'", to: 'false' },
    notice:
      'api/approvals/diverted: attack: a workload neither spends, sees nor cancels what another workload of its trust asked',
  },
  {
    name: 'a held call: what one credential may repeat stands in the way of others',
    tag: 'repeatable-found-by-its-credential',
    change: { from: 'isOfOneCredential(row)', to: 'false' },
    notice:
      'api/approvals/repeats: approval: what one credential may repeat, another of the same root asks for itself',
  },
  {
    name: 'a held call: its repetitions do not name the approval',
    tag: 'each-use-names-its-approval',
    change: { from: 'approval !== null', to: 'use' },
    notice: 'api/approvals/repeats: approval: the same credential repeats the call until the time has passed',
  },
  {
    name: 'a held call: allowing more repetition does not weaken a policy',
    tag: 'repeating-weakens',
    change: { from: '(now.max_valid_seconds ?? 0) > (old.max_valid_seconds ?? 0)', to: 'false' },
    notice: 'api/approvals/repeats: policy: allowing more repetition weakens it',
  },
  {
    name: 'a held call: a sync goes to where its connection leads by now',
    tag: 'sync-connection-as-requested',
    change: { from: 'rows.get', to: 'false && rows.get' },
    notice: 'api/syncs/pins: sync: a connection that was changed between use and sending stops the sync',
  },
  {
    name: 'a held call: a sync sends a value that is newer than the approval',
    tag: 'sync-secrets-as-approved',
    change: {
      from: 'given?.targets[row.id] !== row.revision',
      to: '!Object.hasOwn(given?.targets ?? {}, row.id)',
    },
    notice: 'api/syncs/pins: sync: a held secret that was changed between use and sending is not sent',
  },
  {
    name: 'a held call: a sync sends what a policy holds that changed after the approval',
    tag: 'sync-policies-as-approved',
    change: { from: 'revision === policy.revision', to: 'revision > 0' },
    notice: 'api/syncs/pins: sync: a policy that was changed between use and sending holds its secrets',
  },
  {
    name: 'approvers are not checked at use',
    tag: 'approvers-judged-at-use',
    notice: 'api/approvals/approvals: no longer count once they lost the right',
  },
  {
    name: 'a credential may have any number of pending approvals',
    tag: 'pending-approvals-bounded',
    notice: 'api/approvals/races: at most 100 requests of one credential wait',
  },
  {
    name: 'a held read is answered',
    tag: 'held-read-refused',
    change: 'never',
    notice: 'api/approvals/approvals: is held, approved by another person, and done once',
  },
  {
    name: 'an approval covers a path with any body',
    tag: 'approval-digest',
    change: { from: ', asked.body.bytes', to: '' },
    notice: 'api/approvals/races: is for the body that was sent',
  },
  {
    name: 'an approval covers a request with any X-Access-Call',
    tag: 'approval-of-call',
    change: { from: '[call]', to: '[]' },
    notice: 'api/approvals/shown: X-Access-Call is shown whole, and the approval is for no other call',
  },
  {
    name: 'a writer learns whether a guess equals a value that is held',
    tag: 'equal-value-told-to-readers',
    change: { from: ' && mayRead', to: '' },
    notice: 'api/approvals/approvals: a guess at a held value tells nothing',
  },
  {
    name: 'approvals of others are listed to everybody',
    tag: 'approvals-of-others-hidden',
    change: { from: 'isAll || ', to: 'true || ' },
    notice: 'api/approvals/races: shows a limited credential only its own approvals',
  },
  {
    name: 'a caller who waits for a decision is not checked again',
    tag: 'waiter-judged-again',
    change: { from: 'call.recheck()', to: 'null' },
    notice: 'api/approvals/races: a caller who is revoked while it waits',
  },
  {
    name: 'an ineligible member decides',
    tag: 'decider-eligible',
    notice: 'api/approvals/approvals: is held, approved by another person, and done once',
  },
  {
    name: 'any caller cancels a request',
    tag: 'cancel-by-requester',
    change: 'never',
    notice: 'api/approvals/approvals: can be cancelled only by the requester',
  },
];
