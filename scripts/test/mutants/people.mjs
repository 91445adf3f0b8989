// The mutants of people: members, reauthentication and terminal login. index.mjs says what a mutant is.

import { checks } from './checks.mjs';

/** @type {import('./index.mjs').Mutant[]} */
export const mutants = [
  // ---------------------------------------------------------------- people
  ...checks({
    'team-deletion-deletes-grants':
      'api/members/teams: gives its grants to its members, until they leave or it is deleted',
    'grant-checked-for-any-address': 'api/members/grants: in scopes, environments, names, addresses or time',
    'grant-ends-with-creator': 'api/members/grants: is revoked together with it, and never later',
  }),
  {
    name: 'a caller limited to some names invites members',
    tag: 'role-given-without-limits',
    notice: 'api/members/members: are not given by a caller with limits in environments',
  },
  {
    name: 'a caller with all scopes appoints owners',
    tag: 'owner-made-by-owner',
    notice: 'api/members/members: an admin cannot change, demote or remove an owner, nor make one',
  },
  {
    name: 'a role is assigned by a caller who does not hold it',
    tag: 'role-within-permissions',
    change: { from: 'withinPermissions(caller, wantedOfRole(position))', to: 'null' },
    notice: 'api/members/members: are given by callers who hold all their scopes',
  },
  {
    name: 'an admin ranks with an owner',
    tag: 'owner-outranks-others',
    notice: 'api/members/members: an admin cannot change, demote or remove an owner, nor make one',
  },
  {
    name: 'a caller with members:write changes members with higher roles',
    tag: 'rank-within-permissions',
    change: { from: 'withinPermissions(caller, wantedOfRole(position)) !== null', to: 'false' },
    notice:
      'api/members/members: a key with members:write, and a session of the strongest key, can change only a viewer',
  },
  {
    name: 'a role that is limited to environments holds everywhere',
    tag: 'role-within-environments',
    change: { from: 'permissionsOfRole(member)', to: 'permissionsOfRole({ ...member, environments: null })' },
    notice: 'api/members/environments: bound what the role gives, in a browser and in whoami',
  },
  {
    name: 'an owner is limited to environments',
    tag: 'owner-without-limits',
    change: 'never',
    notice: 'api/members/environments: an owner has none',
  },
  {
    name: 'a suspended member goes on acting',
    tag: 'suspended-member-does-not-act',
    change: { from: 'row && !isSuspended(row) ? row : null', to: 'row' },
    notice: 'api/members/suspend: suspension: a sign-in at the same time leaves no session',
  },
  {
    name: 'a suspended owner or approver counts',
    tag: 'suspended-member-does-not-count',
    change: { from: '.filter((row) => !isSuspended(row))', to: '' },
    notice: 'api/members/suspend: suspension: they are no approver who counts for a policy',
  },
  {
    name: 'what a member began before a suspension goes on once they are resumed',
    tag: 'resumed-member-begins-anew',
    change: { from: ' || since <= (member.resumed_at ?? 0)', to: '' },
    notice: 'api/members/suspend: suspension: share links end for good',
  },
  {
    name: 'a suspended member is explained to hold something',
    tag: 'suspended-member-holds-nothing',
    change: { from: 'row && !isSuspended(row) ? row : null', to: 'row' },
    notice: 'api/members/suspend: suspension: the access of the member is explained as none',
  },
  {
    name: 'a decision counts though its member was suspended since',
    tag: 'decision-ends-with-suspension',
    change: { from: ' || hasMemberEnded(core, id, at)', to: '' },
    notice: 'api/members/suspend: suspension: what they approved counts no more, also once they are resumed',
  },
  {
    name: 'a request stays open though its member was suspended since',
    tag: 'approval-ends-with-suspension',
    change: { from: 'hasMemberEnded(core, asker, created_at)', to: 'false' },
    notice: 'api/members/suspend: suspension: what they asked for is void, and stays so',
  },
  {
    name: 'sessions count again once their member is resumed',
    tag: 'suspension-ends-sessions',
    change: { from: 'revoked_at: now', to: 'revoked_at: null' },
    notice:
      'api/members/suspend: suspension: are refused with the reply, and stay so when the member is resumed',
  },
  {
    name: 'whoever resumes a member is decided for by them',
    tag: 'resumption-ties',
    change: { from: 'withTies(row.connections, resumers(call), now)', to: 'row.connections' },
    notice: 'api/members/suspend: suspension: whoever resumes a member is not decided for by them',
  },
  {
    name: 'an admin signs in as a member by another address, and decides for them',
    tag: 'address-by-another-ties',
    notice: 'api/sso/second-person: is tied to whoever changed their address',
  },
  {
    name: 'no policy holds another address of a member',
    tag: 'address-by-another-held',
    change: { from: 'by !== after?.id && isReaddressed(before, after)', to: 'false' },
    notice: 'api/sso/second-person: is tied to whoever changed their address',
  },
  {
    name: 'an owner frees the links of a member, signs in as them, and decides for them',
    tag: 'unlinking-ties',
    notice: 'api/sso/second-person: is tied to whoever freed their links',
  },
  {
    name: 'no policy holds that links of a member are freed',
    tag: 'freed-link-held',
    change: { from: "operations: ['member.change']", to: "operations: ['secret.delete']" },
    notice: 'api/sso/second-person: is tied to whoever freed their links',
  },
  {
    name: 'an administrator invites and removes people until the organisation is full of them',
    tag: 'former-members-bounded',
    notice: 'api/members/readmit: past the most addresses that are remembered',
  },
  {
    name: 'an owner alone lets a suspended decider act again',
    tag: 'resumption-held',
    change: { from: 'isSuspended(before) && !isSuspended(after)', to: 'false' },
    notice: 'api/members/suspend: suspension: to resume a decider is held like making one',
  },
  {
    name: 'a caller resumes a member who holds more',
    tag: 'resumed-within-permissions',
    change: { from: 'mayGiveRole(call.caller, row)', to: 'null' },
    notice:
      'api/members/suspend: suspension: follows the rules of removal, and resume those of an invitation',
  },
  {
    name: 'a suspended member gets an enrolment link',
    tag: 'suspended-member-enrols-nothing',
    notice: 'api/members/suspend: suspension: is shown, listed and told in an event',
  },
  {
    name: 'whom SCIM brought in decides at once',
    tag: 'provisioned-decides-nothing',
    notice: 'api/scim/attacks: SCIM: whom it resumed or put into an approving team decides nothing',
  },
  {
    name: 'an owner whose row keeps the ties of removed members counts as brought in by a provider',
    tag: 'kept-ties-are-of-others',
    change: { from: 'other === undefined', to: 'true' },
    notice: 'api/scim/attacks: SCIM: keeps no owner from deciding by removing whom it made',
  },
  {
    name: 'a removed member is not tied to those who changed their connection',
    tag: 'removal-keeps-changers-tied',
    change: { from: ', ...changedBy(core, [row])', to: '' },
    notice:
      'api/sso/second-person: single sign-on: whoever changed what a connection gives stays tied to its people once it is deleted',
  },
  {
    name: 'the deletion of a connection unties those who changed it',
    tag: 'deletion-keeps-changers-tied',
    change: { from: 'changers.length > 0 && isOfSomebody', to: 'false' },
    notice:
      'api/sso/second-person: single sign-on: whoever changed what a connection gives stays tied to its people once it is deleted',
  },
  {
    name: 'a sign-in by another connection unties those who changed the deleted one',
    tag: 'other-connection-cuts-no-tie',
    change: { from: 'isMoved ?', to: 'false ?' },
    notice:
      'api/sso/second-person: single sign-on: whoever changed what a connection gives stays tied to its people once it is deleted',
  },
  {
    name: 'an owner alone makes a SCIM token, which removes members',
    tag: 'scim-token-held',
    change: { from: "['member.change', 'team.change']", to: "['team.change']" },
    notice:
      'api/scim/attacks: SCIM: is made under an approval where a policy holds what people do to members and teams',
  },
  {
    name: 'an owner alone makes a SCIM token that fills an approving team',
    tag: 'scim-team-of-approvers-guarded',
    notice: 'api/scim/attacks: SCIM: is made under an approval where it fills an approving team',
  },
  {
    name: 'SCIM lifts the suspension of a person who came second',
    tag: 'suspension-by-person-lasts',
    change: { from: "row.suspended_by?.startsWith(idStart('scim')) ?? false", to: 'false' },
    notice: 'api/scim/attacks: SCIM: does not lift a suspension that a person has made theirs',
  },
  {
    name: 'SCIM makes a removed member anew',
    tag: 'scim-removed-not-made-anew',
    change: { from: 'formerAt(core, email) !== null', to: 'false' },
    notice: 'api/members/readmit: SCIM: a member whom a person removed is not made anew',
  },
  {
    name: 'the text "False" is refused or true',
    tag: 'false-as-text',
    notice: 'api/scim/providers: SCIM: users: filters, PATCH with its spelling, soft and hard deletion',
  },
  {
    name: 'a Remove with a list removes everybody',
    tag: 'removes-those-alone',
    notice: 'api/scim/providers: SCIM: groups: Remove with a list removes those alone',
  },
  {
    name: 'SCIM takes an address of another type as that of a user',
    tag: 'address-of-its-type',
    change: { from: "isOurs && part === 'value' ? 'ours' : 'other'", to: "'ours'" },
    notice: 'unit/scim/reading: SCIM: is not changed by addresses of other types',
  },
  {
    name: "a token works on another connection's people",
    tag: 'people-of-own-connection',
    change: { from: 'owner === null || owner === connection', to: 'true' },
    notice: "api/scim/attacks: SCIM: another connection's person is not found",
  },
  {
    name: 'SCIM changes teams of people',
    tag: 'teams-of-own-connection',
    change: { from: 'provisioned !== null && provisioned.connection === connection', to: 'true' },
    notice: 'api/scim/attacks: SCIM: teams of people are shown without members and stay as they are',
  },
  ...checks({
    'scim-token-of-known-connection': 'api/scim/connection: SCIM: names its connection, which has to exist',
    'scim-text-printable': 'api/scim/attacks: SCIM: no name or address holds characters',
    'scim-name-printable': 'api/scim/attacks: SCIM: no name or address holds characters',
    'filter-depth-bounded':
      'api/scim/attacks: SCIM: filters, paths and bodies that are malformed, deep or huge are 400',
    'filter-terms-bounded':
      'api/scim/attacks: SCIM: filters, paths and bodies that are malformed, deep or huge are 400',
    'members-path-known': 'unit/scim/reading: SCIM: a removal from a group that is not understood is refused',
    'mapped-team-not-deleted': 'api/scim/connection: SCIM: fills the team that the connection maps',
    'scim-role-of-own-people': 'api/scim/connection: SCIM: changes no role that a person gave',
  }),
  {
    name: 'a SCIM token outlives its connection',
    tag: 'scim-token-ends-with-connection',
    change: {
      from: "(row.scim?.connection != null && !core.rows.get('sso_connection', row.scim.connection)) ||",
      to: '',
    },
    notice: 'api/scim/connection: SCIM: its tokens end with the reply, also those whose rows stayed',
  },
  {
    name: 'a SCIM token of a connection is made past the policies that hold the connection',
    tag: 'scim-token-held-as-connection',
    change: { from: 'connection\n      ?', to: 'false\n      ?' },
    notice: 'api/scim/connection: SCIM: a policy holds a token of a connection as it holds the connection',
  },
  {
    name: 'whoever makes a SCIM token is a stranger to those whom it brings in',
    tag: 'scim-token-maker-tied',
    change: { from: 'bringers(call)', to: '[]' },
    notice: 'api/scim/connection: SCIM: whom it gives a role or a place decides nothing for a week',
  },
  {
    name: 'a SCIM token without a connection ties nobody to whoever made it',
    tag: 'scim-token-ties-its-maker',
    change: { from: 'yield [by, row.id, row.created_at]', to: 'yield [by, row.id, 0]' },
    notice: 'api/sso/second-person: SCIM: its maker is tied for a week',
  },
  {
    name: 'SCIM gives a member without a passkey or a link another address, and ties nobody',
    tag: 'address-by-scim-ties',
    change: { from: '? [call.caller.id] : []', to: '? [] : []' },
    notice: 'api/sso/second-person: SCIM: its maker is tied for a week',
  },
  {
    name: 'whom SCIM gave a role decides at once',
    tag: 'scim-gain-ties',
    change: { from: 'withTies(member.connections, by, now)', to: 'member.connections' },
    notice: 'api/scim/connection: SCIM: whom it gives a role or a place decides nothing for a week',
  },
  {
    name: 'SCIM fills any team',
    tag: 'scim-fills-its-teams',
    change: { from: 'isOwn(call, team) || mappedOf(call, team) !== null', to: 'true' },
    notice: 'api/scim/connection: SCIM: fills the team that the connection maps',
  },
  {
    name: 'SCIM renames a mapped team',
    tag: 'mapped-team-keeps-name',
    notice: 'api/scim/connection: SCIM: fills the team that the connection maps',
  },
  {
    name: 'anybody who holds teams:write gives a role by renaming a group',
    tag: 'group-named-by-provider',
    notice: 'api/scim/renamed: attack: a group gives no other role because somebody renames its team',
  },
  {
    name: 'SCIM changes the address of any member',
    tag: 'address-of-own-members',
    notice: 'api/scim/attacks: SCIM: takes over no address, of those that it made neither',
  },
  {
    name: 'SCIM renames an owner',
    tag: 'owner-keeps-name-and-address',
    change: { from: 'isRenamed && !isOwner', to: 'isRenamed' },
    notice: 'api/scim/attacks: SCIM: removes no owner, renames none, and leaves one who acts',
  },
  {
    name: 'SCIM suspends the last owner who can act',
    tag: 'scim-keeps-an-owner',
    notice: 'api/scim/attacks: SCIM: removes no owner, renames none, and leaves one who acts',
  },
  {
    name: 'SCIM leaves an owner whom only the provider signs in',
    tag: 'scim-keeps-an-owner-with-passkey',
    change: { from: "core.rows.within('passkey', one.id).length > 0", to: 'true' },
    notice: 'api/scim/attacks: SCIM: an owner without a passkey is not the one who remains',
  },
  {
    name: 'SCIM moves the address of a member whom a person suspended',
    tag: 'suspended-by-person-keeps-address',
    notice: 'api/members/readmit: SCIM: a user whom a person suspended is not made anew',
  },
  {
    name: 'SCIM makes a suspended member anew',
    tag: 'suspended-by-person-not-made-anew',
    change: { from: 'isSuspendedByPerson(row) ? [remembering(call, row, now)] : []', to: '[]' },
    notice: 'api/members/readmit: SCIM: a user whom a person suspended is not made anew',
  },
  {
    name: 'SCIM takes away a place that a claim gives too',
    tag: 'scim-keeps-places-of-claims',
    notice: 'api/sso/signin: keep a place that SCIM takes away, until the claim does',
  },
  {
    name: 'SCIM lifts suspensions of people',
    tag: 'scim-lifts-its-own',
    change: { from: ' && !isSuspendedByPerson(row)', to: '' },
    notice: 'api/scim/attacks: SCIM: lifts its own suspensions alone',
  },
  {
    name: 'SCIM removes an owner',
    tag: 'scim-removes-no-owner',
    notice: 'api/scim/attacks: SCIM: removes no owner, renames none, and leaves one who acts',
  },
  {
    name: 'a member whom SCIM made is not marked',
    tag: 'provisioned-marked',
    change: { from: 'withTies(null, makers, now)', to: '[]' },
    notice: 'api/scim/attacks: SCIM: a member whom it made decides nothing for seven days',
  },
  {
    name: 'the last owner is suspended',
    tag: 'last-owner-not-suspended',
    notice: 'api/members/suspend: suspension: the last owner who acts is not suspended, demoted or removed',
  },
  {
    name: 'the last owner is demoted',
    tag: 'last-owner',
    notice: 'api/members/members: can be neither removed nor demoted, also not by concurrent requests',
  },
  {
    name: 'emails that differ only in case are distinct',
    tag: 'email-case-insensitive',
    change: { from: '.toLowerCase()', to: '' },
    notice: 'api/members/members: is unique without regard to case, also with concurrent requests',
  },
  {
    name: 'an enrolment is valid for a role that another caller assigned',
    tag: 'enrolment-for-given-role',
    change: { from: 'row.invited_by !== caller.id', to: 'false' },
    notice: 'api/members/members: applies to the role that its maker gave, and no other',
  },
  {
    name: 'a removed member leaves grants and memberships',
    tag: 'member-removal-removes-grants',
    change: { from: ", 'team_member', 'grant'", to: '' },
    notice: 'api/members/members: removes their passkeys, memberships and grants, and nothing of others',
  },
  {
    name: 'a caller without tokens:write revokes credentials by removing a member',
    tag: 'revocation-needs-scope',
    change: { from: "'tokens:write'", to: "'members:write'" },
    notice: 'api/members/members: permission: ends credentials only for callers who may end credentials',
  },
  {
    name: 'members are added to a team regardless of its permissions',
    tag: 'team-within-permissions',
    notice:
      'api/members/teams: are added only by callers who hold everything it gives, everywhere and for as long',
  },
  {
    name: 'a credential with a parent adds members to a team',
    tag: 'team-member-added-independently',
    notice: 'api/members/teams: are not added by a caller with a parent, regardless of its permissions',
  },
  {
    name: 'a grant gives more than its creator holds',
    tag: 'grant-within-permissions',
    change: {
      from: 'within(call, permissionsToGrant(call, call.input))',
      to: 'permissionsToGrant(call, call.input)',
    },
    notice: 'api/members/grants: in scopes, environments, names, addresses or time',
  },
  {
    name: 'a browser session shuts itself out',
    tag: 'no-self-lockout',
    notice: 'api/members/members: apply only to members',
  },
  {
    name: 'a caller revoked after a change receives a refusal for it',
    tag: 'repeated-request-answered-as-done',
    change: 'always',
    notice: 'model/histories: a change whose reply was lost',
  },
  {
    name: 'a credential with limits removes members',
    tag: 'member-removed-without-limits',
    change: 'always',
    notice: 'api/members/environments: removes nobody, nor with a grant without limits',
  },

  // ---------------------------------------------------------------- reauthentication
  {
    name: 'a copy of an earlier JWT counts as confirmed after its owner confirms',
    tag: 'confirmation-of-this-jwt',
    change: { from: 'jwt >= refresh.confirmed', to: 'true' },
    notice: 'api/signin/confirmation: gains nothing when its owner confirms, in the same second or later',
  },
  {
    name: 'a confirmation never ends',
    tag: 'confirmation-expires',
    change: { from: 'now <= confirmed_at + CONFIRMED_FOR', to: 'true' },
    notice: 'api/signin/confirmation: is required five minutes after sign-in',
  },
  {
    name: 'a challenge confirms more than once',
    tag: 'challenge-used-once',
    change: { from: 'input.since !== since || ', to: '' },
    notice: 'api/signin/confirmation: accepts each challenge once',
  },
  {
    name: 'a confirmation leaves a cookie valid that was just used',
    tag: 'confirmation-ends-used-cookies',
    change: { from: 'used: []', to: 'used: [[1, now]]' },
    notice: 'api/signin/confirmation: that was used just before a confirmation is not accepted after it',
  },
  {
    name: 'a confirmation leaves the earlier cookies',
    tag: 'confirmation-ends-live-cookies',
    change: { from: 'live: [n]', to: 'live: [...row.refresh.live, n]' },
    notice: 'api/signin/confirmation: is refused after a confirmation',
  },
  {
    name: "another member's passkey confirms a session",
    tag: 'passkey-of-this-member',
    notice: 'api/signin/confirmation: cannot confirm with a passkey of its own',
    survives: "the passkey is looked for among the session's member's alone",
  },
  {
    name: 'the gate takes the word of D1 for the counter of a confirmation',
    tag: 'passkey-counter',
    change: { from: ' || !mayFollow(passkey.counter, counter)', to: '' },
    notice: 'api/signin/confirmation: checks the counter, in D1 and in the gate',
  },
  {
    name: 'an owner is demoted without a confirmation',
    tag: 'owner-demotion-confirmed',
    change: { from: "[after.role, row.role].includes('owner')", to: "after.role === 'owner'" },
    notice: 'api/signin/confirmation: is required five minutes after sign-in',
  },
  {
    name: 'a panic spares other JWTs of the session that calls it',
    tag: 'panic-ends-other-jwts',
    change: { from: ', jwts: [jwt, jwt]', to: '' },
    notice: 'api/signin/confirmation: ends every copy of the cookie and every other JWT of the session',
  },
  {
    name: 'a request of a refused JWT that waits is carried out',
    tag: 'refused-jwt',
    change: { from: 'isRefused(row, bearer.jwt)', to: 'false' },
    notice: 'api/signin/confirmation: refuses requests in flight with another JWT of the session',
  },
  {
    name: 'a confirmation after a panic revives earlier JWTs',
    tag: 'confirmation-keeps-jwts-refused',
    change: { from: '...(refresh.jwts && { jwts: [n, null] })', to: '' },
    notice: 'api/signin/confirmation: ends every copy of the cookie and every other JWT of the session',
  },

  // ---------------------------------------------------------------- terminal login
  ...checks({
    'device-login-decided-once':
      'api/signin/terminals: while the gate of one organisation begins the session',
    'refresh-token-without-cookie': 'api/signin/terminals: origin: a page gains nothing',
    'refresh-token-without-origin': 'api/signin/terminals: origin: a page gains nothing',
  }),
  {
    name: 'a terminal session counts as a browser session',
    tag: 'terminal-known',
    change: { from: 'isTerminal: isTerminal(row)', to: 'isTerminal: false' },
    notice: 'api/signin/terminals: approvals: decides none, and cannot be confirmed with a passkey',
  },
  {
    name: 'a terminal session performs actions that need a browser',
    tag: 'browser-required',
    notice: 'api/signin/terminals: approvals: decides none, and cannot be confirmed with a passkey',
  },
  {
    name: 'a terminal session outlives the containment of the browser session that confirmed it',
    tag: 'terminal-contained-with-browser',
    change: { from: 'created_in: call.caller.credential', to: 'created_in: null' },
    notice: 'api/signin/terminals: containment of the browser session that confirmed it ends it too',
  },
  {
    name: 'codes of a terminal login serve for ever',
    tag: 'device-code-expires',
    change: { from: 'this.now() < kept.created_at + CODE_LIVES', to: 'true' },
    notice: 'api/signin/terminals: codes expire after ten minutes',
  },
  {
    name: 'a terminal login is confirmed in two organisations at once',
    tag: 'device-login-claimed',
    change: { from: 'login.claim(org)', to: 'login.asking()' },
    notice: 'api/signin/terminals: while the gate of one organisation begins the session',
  },
  {
    name: 'a terminal login is claimed by a second organisation',
    tag: 'device-login-claimed-once',
    change: { from: '(kept.decided ?? kept.claimed ?? org) !== org', to: 'kept.decided === false' },
    notice: 'api/signin/terminals: while the gate of one organisation begins the session',
  },
  {
    name: 'any device code of a user code fetches the session',
    tag: 'device-code-compared',
    change: { from: ' || !equal(kept.hash, hash)', to: '' },
    notice: 'api/signin/terminals: a device code of an earlier login with the same user code is refused',
  },
  {
    name: 'a forged device code is looked for',
    tag: 'device-code-genuine',
    change: { from: "equal(mac, toBase64Url(macOf(key, 'device-code', code, random)))", to: 'true' },
    notice:
      'api/signin/terminals: a forged, altered or foreign device code is refused like an expired one, without a call',
  },
  {
    name: 'a terminal may poll as often as it likes',
    tag: 'polls-slowed-down',
    change: { from: 'this.polled !== null &&', to: 'false &&' },
    notice: 'api/signin/terminals: SLOW_DOWN: adds five seconds to the interval for each early poll',
  },
  {
    name: 'early polls of a terminal are not counted',
    tag: 'early-polls-counted',
    change: { from: 'await context.count(refuse(', to: '(refuse(' },
    notice:
      'api/signin/terminals: an early poll writes nothing, and twenty of them in a minute block further ones',
  },
  {
    name: 'an address polls without a limit',
    tag: 'device-polls-limited',
    change: { from: 'await countPoll(context.env, context.request.ip)', to: '0' },
    notice: 'api/signin/terminals: rate limit: 1,200 polls a minute from an address',
  },
  {
    name: 'terminal logins are started without a limit',
    tag: 'device-logins-limited',
    change: {
      from: "await countAttempt(context.env, 'device login', clientOf(context.request.ip))",
      to: '0',
    },
    notice: 'api/signin/terminals: rate limit: a hundred logins a minute can be started from an address',
  },
  {
    name: 'user codes are guessed without a limit',
    tag: 'user-codes-limited',
    change: {
      from: "...(await Promise.all(who.map((one) => countAttempt(context.env, 'user code', one))))",
      to: '0',
    },
    notice: 'api/signin/terminals: rate limit: a member enters twenty codes a minute',
  },
  {
    name: 'two members of an organisation begin the session of one terminal login',
    tag: 'device-login-begins-once',
    change: { from: 'begun || ', to: '' },
    notice: 'api/signin/terminals: concurrency: of members of one organisation who confirm at once',
  },
];
