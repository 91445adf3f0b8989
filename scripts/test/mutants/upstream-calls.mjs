// The mutants of forwarding calls to upstreams. index.mjs says what a mutant is.

import { checks } from './checks.mjs';

const ROUTE = 'api/upstreams/use-route:';
const PLACE = 'unit/upstreams/place:';
const HEADERS = 'unit/upstreams/headers:';

/** @type {import('./index.mjs').Mutant[]} */
export const mutants = [
  ...checks({
    'use-plain-path': `${HEADERS} allow: only what an entry names`,
    'use-path-sent-as-judged': 'unit/upstreams/path: path: "/a{b}" is refused',
    'use-short-value': `${PLACE} placing: short values are refused, guessable ones unless auth says so`,
    'use-guessable-value': `${PLACE} placing: short values are refused, guessable ones unless auth says so`,
    'use-no-line-breaks': `${PLACE} placing: a value with a line feed in it is refused in a header`,
    'use-one-credential': 'unit/upstreams/credential: credential: several are refused',
    'use-loop': `${ROUTE} use: an unknown upstream, a loop and an unknown method are refused`,
  }),
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
