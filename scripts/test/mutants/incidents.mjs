// The mutants of incidents: revocations by providers, containment and scans. index.mjs says what a mutant is.

// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the edits quote source.

import { checks } from './checks.mjs';

/** @type {import('./index.mjs').Mutant[]} */
export const mutants = [
  // ---------------------------------------------------------------- what providers push and revoke
  ...checks({
    'provider-token-limits':
      'api/credentials/provider: is limited to environments and names; secrets out of reach look non-existent',
  }),
  {
    name: 'a revoked secret is read',
    tag: 'revoked-secret',
    notice: 'api/credentials/provider: revokes every way of reading and every change but issue',
  },
  {
    name: 'a revoked version can be read after the secret is issued again',
    tag: 'revoked-version',
    change: 'never',
    notice: 'api/credentials/provider: issue activates the secret with the next version',
  },
  {
    name: 'a revoked secret leaves stored one-time values',
    tag: 'revocation-destroys-stored-values',
    change: { from: ', destroyed: [row.id]', to: '' },
    notice: 'api/credentials/provider: destroys one-time values in stored responses, and cached ciphertexts',
  },
  {
    name: 'a restored backup brings back credentials that were revoked after it',
    tag: 'adoption-keeps-revocations',
    change: { from: 'stored.version <= through', to: 'false' },
    notice: 'api/credentials/provider: survives adoption of a backup from before it',
  },
  {
    name: 'a change by name applies to the secret that had the name before the lock was acquired',
    tag: 'names-resolved-under-lock',
    notice: 'api/credentials/provider: concurrency: issue and revoke wait for a change',
  },
  {
    name: 'a value encrypted for another secret is accepted',
    tag: 'value-encrypted-for-this-secret',
    change: { from: 'row.id !== input.id || ', to: '' },
    notice:
      'api/credentials/provider: creates a secret if the one with the name is deleted, and follows a renamed one',
  },
  {
    name: 'a secret is created under the id of one that was renamed or destroyed',
    tag: 'secret-id-unused',
    change: { from: ' || isUsedId(core, id)', to: '' },
    notice:
      'api/credentials/provider: creates a secret if the one with the name is deleted, and follows a renamed one',
  },

  // ---------------------------------------------------------------- incident response
  ...checks({
    'former-makers-remembered':
      'api/incidents/preview: what they made is followed, after the rows of several makers in a row have left the gate',
    'incidents-bounded':
      'api/incidents/incidents: the oldest closed one leaves, and where all are open a containment goes on without a record',
    'preview-spares-caller':
      'api/incidents/preview: the graph shows every live descendant with its depth, and what a containment would end',
    'preview-changes-nothing':
      'api/incidents/preview: a dry run answers what the containment answers, and changes nothing',
    'exposure-connections-bounded':
      'api/incidents/connections: contain: connections and syncs since a time, and of the many the newest',
    'descent-bounded':
      'unit/incidents/descent: descent: follows a bounded number of session tokens, and every other credential',
    'exposure-rereads-segments':
      'api/incidents/containment: repeats its answer after session tokens expired and left the gate',
  }),
  {
    name: 'a panic spares the API key that asked to end all API keys',
    tag: 'panic-ends-calling-key',
    change: { from: "key && caller.kind === 'api_key'", to: 'false' },
    notice: 'api/incidents/panic: with api_keys ends every API key',
  },
  {
    name: 'the new key of a panic ends with the old ones',
    tag: 'panic-key-of-new-generation',
    change: { from: 'generation: nextGeneration(call), ', to: '' },
    notice: 'api/incidents/panic: with api_keys ends every API key',
  },
  {
    name: 'a recovery that contains leaves other credentials alive',
    tag: 'recovery-contains',
    change: { from: 'input.contain ?', to: 'false ?' },
    notice: 'api/incidents/recovery: with contain ends every other credential',
  },
  {
    name: 'the new key of a recovery that contains ends with the old ones',
    tag: 'recovery-key-of-new-generation',
    change: { from: '{ generation: nextGeneration(call) }', to: '{}' },
    notice: 'api/incidents/recovery: with contain ends every other credential',
  },
  {
    name: 'a panic at an earlier time of the clock leaves links alive',
    tag: 'panic-after-everything',
    change: { from: 'Math.max(now, call.core.auditLog.time())', to: 'now' },
    notice: 'faults/lifecycle: revocation: a credential stays revoked after the clock is set back',
  },
  {
    name: 'a session that has left the gate forgets the panic',
    tag: 'panic-ends-removed-sessions',
    change: { from: '(isGone ? 0 : null)', to: 'null' },
    notice: 'api/incidents/panic: after a session token left the gate',
  },
  {
    name: 'a credential that ends with one outside is not contained',
    tag: 'containment-of-root',
    change: { from: '{ id: root, parent_id: null }', to: '' },
    notice: 'api/incidents/containment: revokes only a session token, and not the key that minted it',
  },
  {
    name: 'credentials that a member created in a browser session outlive its containment',
    tag: 'containment-of-browser-session',
    change: { from: ' union ${made} ${bySession}', to: '' },
    notice:
      'api/incidents/containment: revokes a browser session and what it created, and not what another session created',
  },
  {
    name: 'a repeated containment narrows what its incident covers',
    tag: 'incident-never-narrowed',
    change: {
      from: 'before.since === null || since === null ? null : Math.min(before.since, since)',
      to: 'since',
    },
    notice:
      'api/incidents/incidents: is one for a credential, however often and at once it is contained, and never covers less',
  },
  {
    name: 'the incident of a panic names people to callers who may not list members',
    tag: 'incident-people-for-those-who-list-them',
    change: {
      from: "call.caller.permissions.some(({ scopes }) => covers(scopes, 'members:read'))",
      to: 'true',
    },
    notice: 'api/incidents/incidents: keeps what was recent, for those who may list members',
  },
  {
    name: 'a dry run of a containment counts as one',
    tag: 'preview-audited-as-look',
    change: { from: "call.input.dry_run ? { action: 'credential.graph' as const } : {}", to: '{}' },
    notice: 'api/incidents/preview: a dry run answers what the containment answers, and changes nothing',
  },
  {
    name: 'a report names log streams, domains and connections to callers that may not list them',
    tag: 'report-set-up-as-listed',
    change: { from: 'whole(call) === null', to: 'true' },
    notice: 'api/incidents/set-up: contain: what the caller may not list has no name',
  },
  {
    name: 'reports and incidents name upstreams to callers that may not see them',
    tag: 'report-upstreams-as-listed',
    change: { from: 'isVisible(caller, row)', to: 'true' },
    notice: 'api/incidents/connections: contain: names upstreams only to callers that may see them',
  },
  {
    name: 'a report tells the environment of secrets that the caller may not list',
    tag: 'report-environments-as-listed',
    change: { from: 'mayList ? slugOf(core, environment_id) : null', to: 'slugOf(core, environment_id)' },
    notice: 'api/incidents/set-up: contain: tells environments as the list of secrets does',
  },
  {
    name: 'a report names connections to callers that may not list them',
    tag: 'report-connections-as-listed',
    change: { from: 'mayList ? ids.connections : []', to: 'ids.connections' },
    notice:
      'api/incidents/connections: contain: shows only the ids of connections and syncs that the caller may not list',
  },
  {
    name: 'a report shows syncs to callers that may not list them',
    tag: 'report-syncs-as-listed',
    change: { from: 'reachesEnvironment(caller, look, environment_id)', to: 'true' },
    notice:
      'api/incidents/connections: contain: shows only the ids of connections and syncs that the caller may not list',
  },
  {
    name: 'upstreams beyond those that a report lists count no more',
    tag: 'exposure-follows-any-of-many',
    change: { from: 'size > MOST_CONNECTIONS', to: 'false' },
    notice:
      'api/incidents/connections: contain: connections and syncs since a time, and of the many the newest',
  },
  {
    name: 'a report leaves out what others send through a connection of the credential',
    tag: 'exposure-follows-connections',
    change: { from: 'entry.action === SENDING', to: 'false' },
    notice:
      'api/incidents/connections: contain: counts what others, and automatic syncs, send through a connection that it changed',
  },
  {
    name: 'a dry run of a containment rotates what a policy holds',
    tag: 'preview-rotates-as-act',
    change: { from: 'isNewValueHeld(call, row)', to: 'false' },
    notice: 'api/incidents/preview: a dry run says what is not rotated',
  },
  {
    name: 'a dry run of a containment leaves out what is alive',
    tag: 'preview-lists-living',
    change: { from: '(dry_run && one.alive) || ', to: '' },
    notice: 'api/incidents/preview: a dry run answers what the containment answers, and changes nothing',
  },
  {
    name: 'a containment ends its own caller',
    tag: 'containment-spares-caller',
    notice:
      'api/incidents/containment: of an ancestor spares the caller, unless the caller is revoked together with it',
  },
  {
    name: 'the account forgets that a secret was renamed',
    tag: 'exposure-follows-renames',
    notice:
      'api/incidents/containment: lists exactly what the responses contained, regardless of later changes and where the log is',
  },
  {
    name: 'a repeated containment gives new values once more',
    tag: 'rotation-once',
    notice: 'api/incidents/containment: rotates generated values by ordinary rotations',
  },

  // ---------------------------------------------------------------- scans
  ...checks({
    'scan-within-reach': 'api/scans/scans: a secret that the caller may not read is not reported',
    'scan-active-only': 'api/scans/scans: only current ones of 8 characters or more, of active secrets',
    'scan-is-no-way-around-approval': 'api/scans/scans: a secret whose read needs approval is not found',
    'scan-steps-bounded': 'api/scans/attacks: comparing names with patterns takes bounded steps',
    'scan-only-genuine-tokens': 'api/scans/scans: one of the right form without its tag is no finding',
    'scan-after-admission': 'api/scans/attacks: causes no scan',
  }),
  {
    name: 'a scan does not say that it left secrets out',
    tag: 'scan-cut-is-said',
    change: { from: 'isCut: true', to: 'isCut: false' },
    notice: 'api/scans/attacks: more secrets than are listed have a value',
  },
  {
    name: 'a scan revokes tokens without tokens:write',
    tag: 'scan-revokes-by-scope',
    change: 'never',
    notice: 'api/scans/scans: needs tokens:write, and does nothing without',
  },
  {
    name: 'a scan says whether a token of another organisation is live',
    tag: 'scan-tokens-of-own-org',
    change: { from: 'token?.org === context.org', to: 'token' },
    notice: 'api/scans/scans: nothing but that it is one',
  },
  {
    name: 'a scan reports a used refresh token as live',
    tag: 'scan-used-refresh-token',
    change: { from: "kind === 'refresh' && !row?.refresh?.live.includes(token.n)", to: 'false' },
    notice: 'api/scans/scans: is live until it has been used',
  },
  {
    name: 'the preview of a finding shows more than four characters',
    tag: 'scan-preview-redacted',
    change: { from: 'prefix.slice(0, SHOWN)', to: 'prefix' },
    notice:
      'api/scans/scans: own token: says whether it is live, and names the credential to callers who may read tokens',
  },
  {
    name: 'the fingerprint of a finding confirms a guess',
    tag: 'scan-fingerprint-keyed',
    change: { from: 'keys.digest', to: "utf8('no key')" },
    notice: 'api/scans/scans: tells nothing to another organisation',
  },
  {
    name: 'a scan looks for short values',
    tag: 'scan-no-short-values',
    change: {
      from: 'value.length >= LEAST && (value.length >= 2 * LEAST || [...value].length >= LEAST)',
      to: 'true',
    },
    notice: 'unit/scan/find: have 8 characters or more',
  },
  {
    name: 'a leak raises an event with each scan',
    tag: 'leak-told-once-a-day',
    change: { from: 'where leaks.at <= ?', to: 'where leaks.at <= ? or true' },
    notice: 'api/scans/scans: is raised once a day for each place',
  },
];
