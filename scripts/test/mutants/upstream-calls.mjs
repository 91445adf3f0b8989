// The mutants of forwarding calls to upstreams. index.mjs says what a mutant is.

import { checks } from './checks.mjs';

const ROUTE = 'api/upstreams/use-route:';
const PLACE = 'unit/upstreams/place:';
const FORWARD = 'unit/upstreams/forward:';
const LEASE = 'unit/upstreams/lease:';
const EGRESS = 'unit/delivery/egress:';
const HEADERS = 'unit/upstreams/headers:';

/** @type {import('./index.mjs').Mutant[]} */
export const mutants = [
  ...checks({
    'use-plain-path': `${HEADERS} allow: only what an entry names`,
    'use-path-sent-as-judged': 'unit/upstreams/path: path: "/a{b}" is refused',
    'use-short-value': `${PLACE} placing: short values are refused, guessable ones unless auth says so`,
    'use-guessable-value': `${PLACE} placing: short values are refused, guessable ones unless auth says so`,
    'use-no-line-breaks': `${PLACE} placing: a value with a line feed in it is refused in a header`,
    'use-header-bounded':
      'unit/upstreams/credential: credential: an Authorization header longer than any that SDKs send identifies nobody',
    'use-one-credential': 'unit/upstreams/credential: credential: several are refused',
    'use-request-bytes': `${FORWARD} bounds: an upload past its bound is refused, and is not sent to its end`,
    'use-response-bytes': `${FORWARD} bounds: an answer past its bound is broken off`,
    'use-known-length': `${FORWARD} bounds: an answer whose length is known to be past its bound is refused`,
    'use-entry-before-answer': `${FORWARD} audit: no answer begins before its entry is durable, nor if it may not`,
    'use-cut-with-credential': `${FORWARD} revocation: an answer that nobody reads just then is broken off at once`,
    'use-answer-ends': `${FORWARD} revocation: an answer that nobody reads just then is broken off at once`,
    'use-upload-ends': `${FORWARD} bounds: an upload past its bound is refused, and is not sent to its end`,
    'mask-escaped-base64':
      'unit/upstreams/mask: masking: base64 is masked with what JSON and URLs escape of it',
    'mask-steps-bounded':
      'unit/upstreams/mask: masking: what takes too many steps is refused, and a long value in single bytes is not',
    'use-ends-without-gate': `${LEASE} lease: a call ends without the gate, where it is silent`,
    'use-ends-by-time': `${LEASE} lease: a call ends by its time, to the millisecond`,
    'stream-checked-before-request': `${EGRESS} egress: a stream to https://127.0.0.1/ is refused`,
    'stream-name-looked-up': `${EGRESS} egress: a stream to a name that leads to a private address is refused`,
    'use-loop': `${ROUTE} use: an unknown upstream, a loop and an unknown method are refused`,
  }),
  {
    name: 'redirects of an upstream are followed',
    tag: 'stream-redirects-not-followed',
    change: { from: "'manual'", to: "'follow'" },
    notice: `${EGRESS} egress: a stream has the headers given alone, and its redirects are not followed`,
  },
  {
    name: 'a header with an underscore is another one',
    tag: 'use-headers-compared-as-servers-do',
    change: { from: 'asCompared(given)', to: 'given.toLowerCase()' },
    notice: `${HEADERS} headers: X_HTTP_Method_Override is not sent on`,
  },
  {
    name: 'the header of auth is sent with an underscore too',
    tag: 'use-headers-of-auth-once',
    change: { from: 'set.has(asCompared(name))', to: 'set.has(name)' },
    notice: `${PLACE} placing: a header of auth takes the place of the caller’s, whatever its spelling`,
  },
  {
    name: 'facts of a held call beyond their bound are left out',
    tag: 'held-call-shown-whole',
    change: { from: 'length > MOST_REST ? null : ', to: '' },
    notice: `${ROUTE} approval: deciders see all that is sent, and nothing that the upstream’s auth replaces`,
  },
  {
    name: 'the ends of a held body are longer than deciders are shown',
    tag: 'ends-of-body-shown-whole',
    change: { from: 'if (Math.max(start.length, end.length) > MOST_BODY / 2) continue;', to: '' },
    notice:
      'unit/upstreams/shown: approval: whatever the body, both ends fit, and tell how much is between them',
  },
  {
    name: 'every header of a caller is sent on',
    tag: 'use-headers-kept-here',
    change: { from: '!isKeptHere(name) && ', to: '' },
    notice: `${HEADERS} headers: Authorization is not sent on`,
  },
  {
    name: 'an answer leads to this service',
    tag: 'use-no-way-to-this-origin',
    change: { from: '? null : target.href', to: '? target.href : target.href' },
    notice: `${HEADERS} answer: Location https://vault.example.com/api/v1/orgs/org_1/secrets`,
  },
];
