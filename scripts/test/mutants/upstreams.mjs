// The mutants of upstreams. index.mjs says what a mutant is.

import { checks } from './checks.mjs';

const UPSTREAMS = 'api/upstreams/upstreams:';
const USE = 'api/upstreams/use:';
const TOKENS = 'api/upstreams/own-tokens:';

/** @type {import('./index.mjs').Mutant[]} */
export const mutants = [
  ...checks({
    'use-unopened-ends':
      'faults/uses: integrity: a value that does not open ends its call, and frees its place',
    'upstream-within-maker': `${UPSTREAMS} permission: making and changing one needs secrets:read on each secret that it places`,
    'upstream-shown-by-reach': `${UPSTREAMS} upstream: it is created, listed, changed and deleted`,
    'upstream-of-revoked-key-stops': `${UPSTREAMS} maker: it stops when its maker is contained, and works for whoever changes it`,
    'use-allowed': `${USE} use: only what is allowed, of secrets that can be read, while the maker may read them`,
    'use-while-maker-may-read': `${USE} use: only what is allowed, of secrets that can be read, while the maker may read them`,
    'use-of-unknown-upstream': `${USE} permission: what is outside the bounds of a credential is refused`,
    'use-ends-with-credential': `${USE} revocation: an answer may not begin or go on once credential, upstream or right has ended`,
    'use-ends-with-upstream': `${USE} revocation: an answer may not begin or go on once credential, upstream or right has ended`,
    'call-begins-under-lease': `${USE} revocation: its reply waits until the Worker has broken the call off`,
    'leases-survive-restart': `${USE} revocation: its reply waits for calls that began before the gate did`,
    'refused-token-dropped': `${TOKENS} own tokens: one that the API refuses is not used again`,
    'token-ends-with-upstream': `${TOKENS} own tokens: one ends with the upstream, a change of it, and its secrets`,
    'one-call-gets-token': `${TOKENS} own tokens: calls at the same time get one`,
    'use-entry-once': `${USE} audit: an intent is there before the answer, and has one entry`,
    'lost-use-recorded': `${USE} audit: a call of which nothing is heard failed for an unknown reason`,
    'altered-call-refused': `${USE} audit: a call whose stored record was altered has an integrity alarm, and keeps no other from its entry`,
    'use-under-way-recorded-at-reset': `${USE} audit: a call under way has its entry before its gate is given up`,
    'placed-by-readers': `${UPSTREAMS} permission: bringing a secret under a name that an upstream places needs secrets:read`,
    'exposure-counts-uses': `${USE} exposure: a report tells uses from reads, and names the upstreams that were made`,
    'exposure-follows-upstreams': `${USE} exposure: what anybody used through an upstream that it made or changed is to be rotated`,
  }),
  {
    name: 'an upstream that was revived without another host counts no more',
    tag: 'exposure-follows-revived-upstreams',
    change: { from: 'one.host === null || one.host === use.host', to: 'false' },
    notice: `${USE} exposure: what anybody used through an upstream that it made or changed is to be rotated`,
  },
  {
    name: 'the digest of a held call confirms a guess at its body',
    tag: 'approval-of-use-keyed',
    change: { from: 'keys.digest', to: "''" },
    notice: 'api/upstreams/use-route: the digest of a call is keyed, so it confirms no guess at the body',
  },
  {
    name: 'the approval of a GET opens a WebSocket',
    tag: 'approved-get-opens-no-websocket',
    change: { from: 'isWebSocket ?', to: 'false ?' },
    notice: 'api/upstreams/use-route: that of a GET sends it, and opens no WebSocket',
  },
  {
    name: 'a WebSocket is opened again and again under one approval',
    tag: 'websocket-approved-once',
    change: { from: 'isOnce: input.isWebSocket', to: 'isOnce: false' },
    notice: 'api/upstreams/use-route: that of a GET sends it, and opens no WebSocket',
  },
  {
    name: 'agents below agents each have the calls of a root',
    tag: 'uses-counted-for-quota-root',
    change: { from: 'quotaRootOf(core, caller)', to: 'caller.root' },
    notice: `${USE} rate limit: one root has 25 calls at a time, and a place is free once a call has ended`,
  },
  {
    name: 'a call may use an expired secret',
    tag: 'use-of-readable-secrets',
    change: { from: 'readable(secret, now) ?? revokedVersion', to: 'revokedVersion' },
    notice: `${USE} use: a secret that has expired is not placed`,
  },
  {
    name: 'a call uses secrets outside the bounds',
    tag: 'use-within-secrets',
    change: { from: 'mayUse(call.caller, row)', to: 'row.id' },
    notice: `${USE} permission: what is outside the bounds of a credential is refused`,
  },
  {
    name: 'a credential uses every upstream',
    tag: 'use-within-upstreams',
    change: { from: '(permissionSet.upstreams === null ||', to: '(permissionSet !== null ||' },
    notice: `${UPSTREAMS} permission: whole rows for upstreams:read, what is needed to call for secrets:use, and nothing else`,
  },
  {
    name: 'a child uses more upstreams than its creator',
    tag: 'upstreams-within-creator',
    change: { from: 'upstreams === null ||', to: 'scope !== null ||' },
    notice: `${USE} permission: a child has the upstreams of its creator at most`,
  },
  {
    name: 'a child without upstreams uses all',
    tag: 'created-with-upstreams-of-creator',
    change: { from: 'asked.upstreams ?? from.upstreams', to: 'asked.upstreams ?? null' },
    notice: `${USE} permission: a child has the upstreams of its creator at most`,
  },
  {
    name: 'an upstream sets any header',
    tag: 'upstream-headers-own',
    change: { from: 'isPlaceable,', to: "(name) => name !== ''," },
    notice: `${UPSTREAMS} validation: each wrong field is refused and named`,
  },
  {
    name: 'an upstream allows paths with dots',
    tag: 'upstream-paths-plain',
    change: { from: 'isPathPattern,', to: '(text) => text.length > 0,' },
    notice: `${UPSTREAMS} validation: each wrong field is refused and named`,
  },
  {
    name: 'an upstream places no secret',
    tag: 'upstream-places-a-secret',
    change: { from: 'placedBy(auth).length > 0', to: 'placedBy(auth).length >= 0' },
    notice: `${UPSTREAMS} validation: each wrong field is refused and named`,
  },
  {
    name: 'an upstream is this service',
    tag: 'upstream-not-this-service',
    change: { from: 'here.publicUrl !== null &&', to: 'here.publicUrl === url &&' },
    notice: 'unit/upstreams/config: loops: this service is no upstream refuses https://VAULT.example.com/api',
  },
  {
    name: 'a token endpoint is anywhere',
    tag: 'upstream-token-url-checked',
    change: { from: "one.type === 'oauth2_client_credentials'", to: "one.type === ('none' as string)" },
    notice: `${UPSTREAMS} validation: each wrong field is refused and named`,
  },
  {
    name: 'the upstream of a member outlives a panic',
    tag: 'upstream-before-panic',
    change: { from: 'generation < (core', to: '-1 > (core' },
    notice: `${UPSTREAMS} maker: it stops once the member who made it is ended by a panic`,
  },
  {
    name: 'an upstream works for a maker who may read nothing',
    tag: 'upstream-maker-judged-again',
    change: { from: " && holdsEach(maker, ['secrets:read'], row)", to: '' },
    notice: `${UPSTREAMS} maker: it stops once the member who made it may do less`,
  },
  {
    name: 'a root makes any number of calls at a time',
    tag: 'uses-at-a-time-bounded',
    change: { from: 'own >= MOST_CALLS.rootOnce', to: 'false' },
    notice: `${USE} rate limit: one root has 25 calls at a time, and a place is free once a call has ended`,
  },
  {
    name: 'an organisation makes any number of calls a minute',
    tag: 'uses-a-minute-bounded',
    change: { from: 'waitOf(recent, MOST_CALLS.minute, now)', to: '0' },
    notice: `${USE} rate limit: an organisation and a root have their calls a minute`,
  },
  {
    name: 'a held call is made',
    tag: 'use-held',
    change: { from: "operations: ['secret.use']", to: "operations: ['secret.rotate']" },
    notice: `${USE} approval: a held call waits for exactly this call, and is used once`,
  },
  {
    name: 'a held call sends another value beside the held one',
    tag: 'placed-beside-held-kept',
    change: {
      from: 'effects.some((effect) => policies.some((policy) => holds(policy, effect))) ? effects : []',
      to: 'effects.filter((effect) => policies.some((policy) => holds(policy, effect)))',
    },
    notice: `${USE} approval: it is void once another secret that the call places has changed`,
  },
  {
    name: 'an upstream is made without an approval',
    tag: 'upstream-held-as-share',
    change: { from: '{ operations, reach: { secrets: rows }, targets },', to: '' },
    notice: `${USE} approval: making an upstream, and changing where it sends, is secret.read of its secrets`,
  },
  {
    name: 'a rename to a placed name is no read',
    tag: 'placed-by-name-held-as-read',
    change: { from: 'isNamedAnew(before, after) && isPlaced(after)', to: 'isPlaced(after) && !after' },
    notice: `${USE} approval: a rename or restore to a placed name is a read of the secret`,
  },
  {
    name: 'a call that writes is repeated',
    tag: 'writing-calls-repeated-if-allowed',
    change: { from: '(!isWriting || repeat_writes) && ', to: '' },
    notice: `${USE} approval: a call that writes is repeated only where the policy says so`,
  },
  {
    name: 'an agent below another uses more upstreams',
    tag: 'upstreams-within-ancestors',
    change: {
      from: 'upstreams: bounded(one.upstreams, other.upstreams',
      to: 'upstreams: bounded(one.upstreams, null',
    },
    notice: `${USE} permission: an agent that is narrowed narrows what it made`,
  },
  {
    name: 'names of upstreams are shown beyond the bounds',
    tag: 'limits-shown-within-upstreams',
    change: { from: 'upstreams?.filter(isUpstreamWithin) ?? null', to: '[...(upstreams ?? [])]' },
    notice: `${USE} permission: a limited caller is shown no upstreams beyond its own`,
  },
  {
    name: 'the explanation of access names upstreams that its caller may not see',
    tag: 'usable-upstreams-within-reach',
    change: { from: 'isVisible(asker, row) && ', to: '' },
    notice: 'api/members/members: access: says which upstreams a member may use, and by what',
  },
];
