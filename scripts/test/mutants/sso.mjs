// The mutants of domains and of connections to identity providers. index.mjs says what a mutant is.

import { checks } from './checks.mjs';

const oneAtATime =
  'api/sso/domains: a domain is verified for one organisation at a time, until it deletes it';
const cutOff = 'api/sso/domains: a claim cut off before the row is verified keeps the domain from nobody';

/** @type {import('./index.mjs').Mutant[]} */
export const mutants = [
  ...checks({
    'domain-claimed-once': 'api/sso/domains: the object gives a claim up by its number alone',
    'domain-of-another-organisation': oneAtATime,
    'claim-void-before-it-is-passed-on': cutOff,
    'dns-records-bounded':
      'unit/sso/dns: limit: a DNS answer has 199 records, as each name may follow thousands of pointers',
    'record-of-this-name': 'api/sso/domains: a record of another name proves nothing, in the wire form',
    'json-record-of-this-name': 'api/sso/domains: a record of another name proves nothing, in the json form',
    'issuer-without-template': 'api/sso/connections: hostile issuers are refused and not asked',
    'connection-discovers-its-issuer': 'api/sso/connections: another issuer makes no connection',
    'domains-of-this-organisation': 'api/sso/connections: no such domain is invalid',
    'new-issuer-takes-its-own-secret': 'api/sso/connections: another issuer takes its own client secret',
    'approver-by-connection-held':
      'api/sso/connections: giving a deciding role is held by every approval policy',
    'unmapped-team-keeps-others':
      'api/sso/provider-teams: ends the places that the claim and SCIM hold, and keeps those of people',
    'saml-name-id-no-address':
      'api/sso/saml: a provider that names people by addresses needs subject_attribute, at creation and later',
    'connection-changer-tied':
      'api/sso/connections: whoever made or changed it is tied to those who belong to it',
  }),
  {
    name: 'single sign-on: a void claim verifies a domain',
    tag: 'void-claim-verifies-nothing',
    change: { from: ' || claims(core).isVoid(row.id, input.found)', to: '' },
    notice: cutOff,
  },
  {
    name: 'single sign-on: a domain stays verified without its record',
    tag: 'missing-record-ends-proof',
    change: { from: 'now - since >= MISSING_FOR', to: 'false' },
    notice: 'api/sso/domains: a record that is gone for seven days makes the domain pending',
  },
  {
    name: 'single sign-on: any record proves a domain',
    tag: 'record-equals-exactly',
    change: { from: 'records?.includes(value)', to: 'records?.length' },
    notice: 'api/sso/domains: more after the value proves nothing, in the wire form',
  },
  {
    name: 'single sign-on: a provider names any endpoint',
    tag: 'discovered-endpoints-guarded',
    change: { from: '!isTarget(provider[name], egress)', to: 'false' },
    notice: 'api/sso/connections: a private token_endpoint makes no connection',
  },
  {
    name: 'single sign-on: a connection is configured by an older row',
    tag: 'sso-connection-unchanged-meanwhile',
    change: { from: 'made?.revision !== row.revision', to: '!made' },
    notice: 'api/sso/connections: a connection that changed meanwhile is configured by its newest row',
  },
  {
    name: 'single sign-on: whoever changes what a connection gives is not tied',
    tag: 'connection-changed-by-tied',
    change: { from: 'gives ? bringers(call) : []', to: '[]' },
    notice: 'api/sso/connections: whoever made or changed it is tied to those who belong to it',
  },
  {
    name: 'single sign-on: the row of a connection is not checked',
    tag: 'sso-connection-row-mac',
    change: { from: " && equal(row.mac, macOf(keys.row, 'sso_connection', row))", to: '' },
    notice: 'api/sso/connections: an altered row gives no client secret',
  },
  {
    name: 'a gate that lost its storage claims its domains a day later',
    tag: 'recovery-claims-domains',
    notice: 'api/sso/domains: daily check: a gate that begins from D1 asks for it at once',
  },
  {
    name: 'an adoption leaves lost claims of domains lost',
    tag: 'adoption-claims-domains',
    notice: 'api/sso/domains: daily check: an adoption asks for it',
  },
];
