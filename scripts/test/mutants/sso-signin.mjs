// The mutants of sign-in by single sign-on. index.mjs says what a mutant is.

import { checks } from './checks.mjs';

/** @type {import('./index.mjs').Mutant[]} */
export const mutants = [
  ...checks({
    'sso-stopped-confirms-nothing': 'api/sso/panic: confirms no session either',
    'sso-stopped-by-panic': 'api/sso/panic: refuses sign-ins until an owner changes the connection',
    'enforce-outlasts-connection': 'api/sso/ends: when the connection is deleted',
    'sso-session-ends-with-issuer': 'api/sso/ends: with its issuer, and does not come back with it',
    'enforce-ends-passkey-sessions':
      'api/sso/ends: refuses passkeys of the members of the domains, ends their sessions, and leaves owners and others',
    'enforce-refuses-passkeys':
      'api/sso/ends: refuses passkeys of the members of the domains, ends their sessions, and leaves owners and others',
    'enforce-refuses-enrolment':
      'api/sso/ends: refuses passkeys of the members of the domains, ends their sessions, and leaves owners and others',
    'provider-makes-no-decider':
      'api/sso/second-person: made decides for a week, nor are two of them two people',
    'sso-algorithms-pinned':
      'api/sso/signin: of a just-in-time member begins a session like that of a passkey, marked sso',
    'sso-nonce':
      'api/sso/signin: of a just-in-time member begins a session like that of a passkey, marked sso',
    'sso-test-shown-to-owner':
      'api/sso/test-connection: the result is not shown once the session of the owner ended, or they are no owner',
    'sso-test-once':
      'api/sso/test-connection: in another browser, a second time and after the connection is gone it is refused',
    'sso-test-signs-nobody-in':
      'api/sso/test-connection: shows the claims, the member that would be made, role and teams, and does nothing',
    'sso-authorized-party': 'api/sso/attacks: with wrong claims is refused',
    'sso-issued-in-the-past': 'api/sso/attacks: with wrong claims is refused',
    'sso-confirms-same-identity': 'api/sso/ends: by another person, an old authentication or none is refused',
    'sso-flow-of-this-browser':
      'api/sso/attacks: in another browser is refused (login CSRF), and tells nobody',
    'sso-google-domain': 'api/sso/attacks: of Google needs the Workspace of a verified domain',
    'sso-issuer-of-the-start':
      'api/sso/attacks: is nobody once the connection has another issuer than at the start',
    'sso-keeps-places-by-hand': 'api/sso/signin: change no role that a person gave, nor a place',
    'sso-link-of-this-browser':
      'api/sso/signin: with the passkey of somebody else, or from another browser, links nobody',
    'sso-links-in-verified-domains':
      'api/sso/signin: of somebody unknown is refused without jit, and so is an address outside the verified domains',
    'sso-connection-as-used': 'api/sso/races: of the member or the connection counts',
    'sso-link-by-the-issuer-of-the-start':
      'api/sso/races: that gives the connection another issuer ends a link that waits for a passkey',
    'sso-links-within-its-connection': 'api/sso/races: a person whom another connection provisions',
    'sso-suspended-not-linked': 'api/sso/races: a member who is suspended, linked to nothing yet',
    'sso-token-signed':
      'api/sso/attacks: with a key of its own in the header, an unknown kid, or a signature of another key is refused',
    'sso-links-once': 'api/sso/signin: links an invited member once, ends the invitation and tells owners',
    'sso-logout-once': 'api/sso/ends: takes no other token, none twice and none by another key',
    'sso-logout-token': 'api/sso/ends: takes no other token, none twice and none by another key',
    'sso-removed-not-made-anew': 'api/sso/signin: of somebody whom a person removed is refused',
    'sso-session-ends-with-connection':
      'api/sso/ends: with its connection, its link and its member, with the reply',
    'sso-state-once': 'api/sso/attacks: serves once, refused or not',
    'sso-state-spent': 'api/sso/attacks: serves once, refused or not',
    'sso-suspended-refused': 'api/sso/ends: with a suspension, which no sign-in gets around',
    'sso-terminal-ends-with-identity': 'api/sso/ends: of a terminal that it confirmed, too',
  }),
  {
    name: 'an owner stays confirmed by a provider',
    tag: 'provider-confirms-no-owner',
    change: { from: '!isOwnerByProvider(core, lineage[0] as CredentialRow)', to: 'true' },
    notice: 'api/sso/ends: is not for owners, whatever the provider confirmed before they were',
  },
  {
    name: 'a provider confirms for an owner',
    tag: 'sso-confirms-no-owner',
    change: 'never',
    notice: 'api/sso/ends: of somebody who became an owner at the provider is refused',
  },
  {
    name: 'sessions come back with the link of the same identity',
    tag: 'unlinking-ends-sessions',
    change: { from: '.filter(({ sso }) => sso)', to: '.filter(() => false)' },
    notice:
      'api/sso/ends: with its link for good: the same identity links anew, and no earlier session comes back',
  },
  {
    name: 'a subject that no database stores as it is signs in',
    tag: 'sso-claims-storable',
    change: { from: ' && value.isWellFormed()', to: '' },
    notice: 'api/sso/attacks: with a subject that no database stores as it is identifies nobody',
  },
  {
    name: 'an altered connection begins a sign-in',
    tag: 'sso-lookup-row-mac',
    change: { from: ' && row.mac === macOf(keys.row, kind, row)', to: '' },
    notice: 'api/sso/races: a connection or a domain that was altered in D1 begins no sign-in',
  },
  {
    name: 'a logout at a provider ends sessions of others',
    tag: 'sso-logout-of-its-sessions',
    change: { from: 'sso?.connection === connection && ', to: '' },
    notice:
      'api/sso/ends: without a sid ends all of the person by this connection, and no session of a passkey',
  },
  {
    name: 'sessions of passkeys come back when enforce is switched off',
    tag: 'enforce-ends-for-good',
    change: { from: '? now : before.enforced_at', to: '? before.enforced_at : before.enforced_at' },
    notice: 'api/sso/ends: ends sessions of passkeys for good, with the time when it was switched on',
  },
  {
    name: 'a provider makes deciders of members who were there',
    tag: 'sso-gain-ties',
    change: { from: 'position !== null || gains || (isLinking && !isProven)', to: 'false' },
    notice: 'api/sso/second-person: gave a role decides for a week',
  },
  {
    name: 'an old sign-in at the provider confirms a session',
    tag: 'sso-confirmation-recent',
    change: 'never',
    notice: 'api/sso/ends: by another person, an old authentication or none is refused',
  },
  {
    name: 'a provider confirms for a member with a passkey',
    tag: 'sso-confirms-without-passkey',
    notice: 'api/sso/ends: is for sessions of single sign-on, of members without a passkey',
  },
  {
    name: 'an unverified address links',
    tag: 'sso-email-verified',
    change: { from: 'parsed.success && isVerified', to: 'parsed.success' },
    notice: 'api/sso/signin: takes only true for a verified address, and nothing else that looks like it',
  },
  {
    name: 'a sign-in never expires',
    tag: 'sso-flow-expires',
    change: { from: 'flow.until > now && ', to: '' },
    notice: 'api/sso/attacks: after ten minutes, or with an altered cookie, is refused',
  },
  {
    name: 'a group makes owners',
    tag: 'sso-gives-no-owner',
    change: { from: " && role !== 'owner'", to: '' },
    notice: 'api/sso/signin: give the role that holds most and places in teams, and take them again',
  },
  {
    name: 'groups change a role that a person gave',
    tag: 'sso-keeps-role-by-hand',
    change: { from: '!provisioned?.role || ', to: '' },
    notice: 'api/sso/signin: change no role that a person gave, nor a place',
  },
  {
    name: 'a member with a passkey is linked without it',
    tag: 'sso-link-needs-passkey',
    change: 'always',
    notice: 'api/sso/signin: asks a member with a passkey for it, and the link is confirmed and sso',
  },
  {
    name: 'a sign-in leads to another site',
    tag: 'sso-return-path',
    change: { from: '(?![/\\\\])', to: '' },
    notice: 'api/sso/signin: takes no return_to but a path of this deployment',
  },
  {
    name: 'another tenant of Entra signs in',
    tag: 'sso-tenant-pinned',
    change: { from: 'claims.tid === tenant', to: 'true' },
    notice: 'api/sso/attacks: of Entra is an object of the pinned tenant, whatever the address says',
  },
  {
    name: 'a domain that is not verified any more links',
    tag: 'sso-verified-domain',
    change: { from: 'row?.verified_at != null && row.domain === domain', to: 'row?.domain === domain' },
    notice:
      'api/sso/attacks: is nobody by an address of a domain that another organisation verified, or that is verified no longer',
  },
  {
    name: 'other certificates of a SAML provider give nothing to others',
    tag: 'saml-signers-decide',
    change: { from: ", 'signers'", to: '' },
    notice: 'unit/auth/connections: give all of it to others by another source',
  },
  {
    name: 'the metadata of a SAML provider sends browsers anywhere',
    tag: 'saml-sign-in-guarded',
    change: { from: 'checkTarget(signInUrl, settings)', to: 'false' },
    notice: 'api/sso/saml: refuses fields of other kinds, private addresses and unreadable metadata',
  },
  {
    name: 'a NameID that may be given to somebody else identifies a person',
    tag: 'saml-subject-persistent',
    change: { from: 'format === PERSISTENT ? nameId : null', to: 'nameId' },
    notice: 'api/sso/saml: a subject comes from subject_attribute, or else from a persistent NameID',
  },
  {
    name: 'a SAML response counts without the RelayState of its start',
    tag: 'saml-relay-state',
    change: { from: 'relay !== state || ', to: '' },
    notice: 'api/sso/saml: a response without its RelayState, or with two, begins no session',
  },
  {
    name: 'nobody is told of an altered client secret',
    tag: 'altered-client-secret-told',
    notice:
      'api/sso/attacks: with a client secret that was altered in D1 is 500, and the organisation is told',
  },
  {
    name: 'sessions come back with their issuer',
    tag: 'issuer-ends-sessions',
    change: { from: 'config.issuer === before.issuer ? before.issuer_at : now', to: 'before.issuer_at' },
    notice: 'api/sso/ends: with its issuer, and does not come back with it',
  },
  {
    name: 'single sign-on: a session that a provider confirmed approves',
    tag: 'provider-approves-nothing',
    notice: 'api/sso/second-person: approves nothing: that takes a passkey',
  },
  {
    name: 'single sign-on: a passkey that came after the confirmation counts as its proof',
    tag: 'passkey-there-at-confirmation',
    change: { from: 'created_at < (confirmed_at ?? 0)', to: 'created_at > 0' },
    notice: 'api/sso/second-person: approves nothing: that takes a passkey',
  },
  {
    name: 'single sign-on: a passkey that a provider let somebody register decides at once',
    tag: 'passkey-on-word-of-provider-ties',
    change: 'always',
    notice: 'api/sso/second-person: registers a passkey that decides nothing for a week',
  },
];
