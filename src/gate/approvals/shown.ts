// What deciders are shown of a held request: facts about the rows that it reads, writes and removes, in
// words. Invariant: no fact contains a value or a credential, but for what a requester writes in
// X-Access-Call; every kind of row whose change can be held has facts, whichever route changes it.

import type { Change, Effect } from '../../auth/policies/effect';
import { isReaddressed } from '../../auth/policies/effects-of-people';
import { fromUtf8, utf8 } from '../../crypto/bytes';
import { decrypt, encrypt } from '../../crypto/envelope';
import {
  type CredentialRow,
  type GrantRow,
  isSuspended,
  type MemberRow,
  type OrgRow,
  type PolicyRow,
  type ScimToken,
  type SecretRow,
  type ShareRow,
  type SsoConnectionRow,
  type SsoLinkRow,
  type TeamMemberRow,
  type UpstreamRow,
} from '../../db/schema';
import type { Core } from '../core';
import { grantRows } from '../identity/caller';
import { isGrantAlive } from '../identity/lifetime';
import { membersOfTeam } from '../identity/team-members';
import type { Fact } from '../request/plan';
import { slugOf } from '../request/target';

/** The most characters of one fact, and of all. */
const MOST_FACT = 8000;
const MOST_ALL = 48_000;

/** Secrets and changed rows that are shown one by one. */
const MOST_EACH = 20;

const fact = (name: string, value: string | number | null | undefined): Fact[] =>
  value === null || value === undefined || value === ''
    ? []
    : [{ name, value: cut(String(value), MOST_FACT) }];

/** Whole characters, ending in an ellipsis if some are left out. */
function cut(text: string, most: number): string {
  if (text.length <= most) return text;
  const end = /[\uD800-\uDBFF]/.test(text[most - 2] ?? '') ? most - 2 : most - 1;
  return `${text.slice(0, end)}…`;
}

/** A text as several facts if it is too long for one: what comes last is shown as well. */
export function inPieces(name: string, text: string): Fact[] {
  // safety: given-roles-shown-whole
  const count = Math.max(1, Math.ceil(text.length / MOST_FACT));
  return Array.from({ length: count }, (_, n) => text.slice(n * MOST_FACT, (n + 1) * MOST_FACT)).flatMap(
    (piece, n) => fact(n > 0 ? `${name}, part ${n + 1}` : name, piece),
  );
}

/** A list in words, with the number of entries that do not fit. */
export function listInWords(all: readonly string[]): string {
  let length = 0;
  const past = all.findIndex((one) => {
    length += one.length + 2;
    return length > MOST_FACT - 50;
  });
  return past < 0
    ? all.join(', ')
    : `${all.slice(0, past).join(', ')} and ${(all.length - past).toLocaleString('en')} more`;
}

/** Environments in words. */
const placesOf = (core: Core, { environments }: { environments: readonly string[] | null }): string =>
  environments ? listInWords(environments.map((id) => slugOf(core, id))) : 'all';

const limits = (
  core: Core,
  row: {
    environments: readonly string[] | null;
    secrets: readonly string[] | null;
    upstreams: readonly string[] | null;
  },
) => [
  ...fact('Environments', placesOf(core, row)),
  ...fact('Names', row.secrets ? listInWords(row.secrets) : 'all'),
  ...(row.upstreams ? fact('Upstreams', listInWords(row.upstreams)) : []),
];

const until = (time: number | null): Fact[] =>
  fact('Expires', time === null ? 'never' : new Date(time).toISOString());

/** A row before and after: each field that changes. */
function differences<T extends object>(before: T, after: T, fields: readonly (keyof T & string)[]): Fact[] {
  const text = (value: unknown) => (typeof value === 'string' ? value : JSON.stringify(value ?? null));
  return fields
    .filter((field) => JSON.stringify(before[field]) !== JSON.stringify(after[field]))
    .flatMap((field) => [
      ...fact(`${field} before`, text(before[field])),
      ...inPieces(`${field} after`, text(after[field])),
    ]);
}

/** Secrets that are read: one in detail, several all by name. */
function ofReads(core: Core, rows: readonly SecretRow[]): Fact[] {
  if (rows.length === 0) return [];
  const [row] = rows as [SecretRow];
  if (rows.length > 1)
    return [
      ...fact('Secrets', rows.length),
      // safety: several-shown-by-name
      ...inPieces('Names', rows.map(({ name }) => name).join(', ')),
      ...environmentsOf(core, rows),
    ];
  return [
    ...fact('Secret', row.name),
    ...fact('Environment', slugOf(core, row.environment_id)),
    ...fact('Type', row.type),
  ];
}

const environmentsOf = (core: Core, rows: readonly SecretRow[]): Fact[] =>
  fact(
    'Environments',
    listInWords([...new Set(rows.map(({ environment_id }) => slugOf(core, environment_id)))]),
  );

const SECRET_FIELDS = [
  'name',
  'type',
  'description',
  'tags',
  'expires_at',
  'rotate_every_seconds',
  'auto_rotate',
] as const;

function ofSecret(core: Core, before: SecretRow | null, after: SecretRow | null): Fact[] {
  if (!before) return [];
  const where = [...fact('Secret', before.name), ...fact('Environment', slugOf(core, before.environment_id))];
  if (!after) return [...where, ...fact('Change', 'deleted for good')];
  if (after.deleted_at !== before.deleted_at)
    return [...where, ...fact('Change', after.deleted_at === null ? 'restored' : 'deleted')];
  const value = after.version > before.version ? `replaced; the new version is ${after.version}` : null;
  return [...where, ...fact('Value', value), ...differences(before, after, SECRET_FIELDS)];
}

const POLICY_FIELDS = ['name', 'enabled', 'environments', 'types', 'names', 'config'] as const;

function ofPolicy(core: Core, before: PolicyRow | null, after: PolicyRow | null): Fact[] {
  const named = (row: PolicyRow) => ({
    ...row,
    environments: row.environments?.map((id) => slugOf(core, id)) ?? null,
  });
  const { name } = (before ?? after) as PolicyRow;
  if (before && after)
    return [...fact('Policy', name), ...differences(named(before), named(after), POLICY_FIELDS)];
  const row = named((before ?? after) as PolicyRow);
  return [
    ...fact('Policy', name),
    ...(before ? fact('Change', 'deleted') : []),
    ...POLICY_FIELDS.slice(1).flatMap((field) => fact(field, JSON.stringify(row[field]))),
  ];
}

function ofOrg(core: Core, before: OrgRow | null, after: OrgRow | null): Fact[] {
  const place = (label: string, row: OrgRow | null) =>
    fact(label, row && slugOf(core, row.default_environment));
  const isMoved = before?.default_environment !== after?.default_environment;
  return [
    ...fact('Organisation', before?.name),
    ...(isMoved
      ? [...place('Default environment before', before), ...place('Default environment after', after)]
      : []),
  ];
}

function ofMember(core: Core, before: MemberRow | null, after: MemberRow | null): Fact[] {
  const row = (before ?? after) as MemberRow;
  const who = [...fact('Member', row.name), ...fact('Email', row.email)];
  const held = [...fact('Role', row.role), ...fact('Environments', placesOf(core, row))];
  if (!before) return [...who, ...held];
  if (!after) return [...who, ...held, ...fact('Change', 'removed')];
  const roles =
    before.role === after.role
      ? []
      : [...fact('Role before', before.role), ...fact('Role after', after.role)];
  const was = placesOf(core, before);
  const is = placesOf(core, after);
  const places = was === is ? [] : [...fact('Environments before', was), ...fact('Environments after', is)];
  const states =
    isSuspended(before) === isSuspended(after)
      ? []
      : [...held, ...fact('Change', isSuspended(after) ? 'suspended' : 'resumed')];
  const address = isReaddressed(before, after) ? fact('Email after', after.email) : [];
  const grants = fact('Grants of the member', grantsInWords(core, before.id));
  return [...who, ...address, ...roles, ...places, ...states, ...grants];
}

/**
 * The grants in force to a member, with those of the member's teams, or to a team: what a change gives
 * besides.
 */
const grantsInWords = (core: Core, id: string): string =>
  listInWords(
    grantRows(core, id)
      .filter((grant) => isGrantAlive(core, grant))
      .map(
        (grant) =>
          `${grant.permission} ${grant.secrets?.join(' ') ?? 'all names'} in ${placesOf(core, grant)}`,
      ),
  );

function ofTeamMember(core: Core, after: boolean, { team_id, member_id }: TeamMemberRow): Fact[] {
  const { rows } = core;
  const member = rows.get('member', member_id);
  return [
    ...fact('Team', rows.get('team', team_id)?.name ?? team_id),
    ...fact('Member', member?.name ?? member_id),
    ...fact('Email', member?.email),
    ...fact('Role', member?.role),
    ...fact('Change', after ? 'added' : 'removed'),
    ...fact('Grants of the team', grantsInWords(core, team_id)),
  ];
}

const membersInWords = (core: Core, team: string): string =>
  listInWords(
    membersOfTeam(core, team).map(({ member_id }) => core.rows.get('member', member_id)?.name ?? member_id),
  );

function ofGrant(core: Core, row: GrantRow): Fact[] {
  const { grantee_type, grantee_id, permission } = row;
  const kind = grantee_type === 'agent' ? 'credential' : grantee_type;
  const { name } = core.rows.get(kind, grantee_id) ?? { name: null };
  return [
    ...fact('Grantee', `${grantee_type} ${name ?? ''} (${grantee_id})`),
    ...(grantee_type === 'team' ? fact('Members', membersInWords(core, grantee_id) || 'nobody') : []),
    ...fact('Permission', permission),
    ...limits(core, row),
    ...until(row.expires_at),
  ];
}

function ofShare(core: Core, row: ShareRow): Fact[] {
  const secret = core.rows.get('secret', row.secret_id);
  return [
    ...(secret ? ofReads(core, [secret]) : []),
    ...fact('Version', row.version),
    ...fact('Views', row.max_views),
    ...fact('Passphrase', row.passphrase === null ? 'no' : 'yes'),
    ...until(row.expires_at),
  ];
}

const UPSTREAM_FIELDS = ['name', 'base_url', 'auth', 'allow'] as const;

/** All of where it sends, so that deciders approve exactly that. */
const ofUpstream = (core: Core, before: UpstreamRow | null, after: UpstreamRow): Fact[] => [
  ...fact('Upstream', after.name),
  ...fact('Base URL', after.base_url),
  ...fact('Environment', slugOf(core, after.environment_id)),
  ...fact('Secrets', listInWords(after.secrets)),
  ...fact('auth', JSON.stringify(after.auth)),
  ...fact('allow', JSON.stringify(after.allow)),
  ...(before ? differences(before, after, UPSTREAM_FIELDS) : []),
];

const ofCredential = (core: Core, row: CredentialRow): Fact[] => [
  ...fact('Credential', row.name),
  ...(row.scim ? ofScimToken(core, row.scim) : ofHeld(core, row)),
  ...until(row.expires_at),
];

function ofScimToken(core: Core, { connection: id, end_credentials }: ScimToken): Fact[] {
  const connection = id === null ? null : core.rows.get('sso_connection', id);
  return [
    ...fact('Ends credentials of those it suspends or removes', end_credentials ? 'yes' : 'no'),
    ...(connection ? ofSsoConnection(core, null, connection) : []),
  ];
}

/** An identity that is no longer the member's: the address says who is. */
function ofFreedLink(core: Core, { member_id, issuer, subject }: SsoLinkRow): Fact[] {
  const member = core.rows.get('member', member_id);
  return [
    ...fact('Member', member?.name ?? member_id),
    ...fact('Email', member?.email),
    ...fact('Link freed', `${subject} of ${issuer}`),
  ];
}

/** What a connection to an identity provider gives, to whom, as names. */
const connectionInWords = (core: Core, row: SsoConnectionRow) => ({
  Issuer: row.config.issuer,
  Client: row.config.client_id,
  'Claim of groups': row.config.groups_claim,
  'Attribute of the subject': row.config.subject_attribute,
  'Keys that sign': row.config.signers,
  Domains: row.domains.map((id) => core.rows.get('domain', id)?.domain ?? id),
  'Makes members': row.jit === 1 ? 'yes' : 'no',
  'Role without a group': `${row.default_role} in ${placesOf(core, { environments: row.default_environments })}`,
  'Roles of groups': row.role_mappings.map(
    ({ group, role, environments = null }) => `${group}: ${role} in ${placesOf(core, { environments })}`,
  ),
  'Teams of groups': row.team_mappings.map(
    ({ group, team_id }) => `${group}: ${core.rows.get('team', team_id)?.name ?? team_id}`,
  ),
});

function ofSsoConnection(core: Core, before: SsoConnectionRow | null, after: SsoConnectionRow): Fact[] {
  const is = connectionInWords(core, after);
  const names = Object.keys(is) as (keyof typeof is)[];
  return [
    ...fact('Connection', after.name),
    ...(before
      ? differences(connectionInWords(core, before), is, names)
      : names.flatMap((name) => factOf(name, is[name]))),
  ];
}

const factOf = (name: string, value: unknown): Fact[] =>
  Array.isArray(value)
    ? inPieces(name, value.join(', '))
    : fact(name, value == null ? null : typeof value === 'string' ? value : JSON.stringify(value));

const ofHeld = (core: Core, row: CredentialRow): Fact[] => [
  ...fact('Reason', row.reason),
  ...fact('Scopes', row.scopes.join(', ')),
  ...limits(core, row),
  ...fact('Addresses', row.allowed_addresses?.join(', ')),
];

/** The facts of one changed row. */
function ofChange(core: Core, change: Change): Fact[] {
  const { before, after } = change;
  switch (change.kind) {
    case 'secret':
      return ofSecret(core, change.before, change.after);
    case 'policy':
      return ofPolicy(core, change.before, change.after);
    case 'member':
      return ofMember(core, change.before, change.after);
    case 'team':
      // Who joins or leaves also moves the team's revision, and has facts of their own.
      return change.before?.name === change.after?.name
        ? []
        : fact('Team', (change.before ?? change.after)?.name);
    case 'team_member':
      return ofTeamMember(core, after !== null, (change.after ?? change.before) as TeamMemberRow);
    case 'grant':
      return change.after && !before ? ofGrant(core, change.after) : [];
    case 'sso_link':
      return change.before ? ofFreedLink(core, change.before) : [];
    case 'sso_connection':
      return change.after ? ofSsoConnection(core, change.before, change.after) : [];
    case 'upstream':
      return change.after ? ofUpstream(core, change.before, change.after) : [];
    case 'share':
      return change.after && !before ? ofShare(core, change.after) : [];
    case 'credential':
      return change.after && !before ? ofCredential(core, change.after) : [];
    case 'environment':
      return before && !after
        ? [...fact('Environment', change.before?.slug), ...fact('Change', 'deleted')]
        : [];
    case 'org':
      return ofOrg(core, change.before, change.after);
    default:
      return [];
  }
}

/** Secrets that exist, where a request changes several: they are shown by name. */
function severalOf(changes: readonly Change[]): SecretRow[] {
  const secrets = changes.flatMap(({ kind, before }) => (kind === 'secret' && before ? [before] : []));
  return secrets.length > 1 ? secrets : [];
}

/** The first few changed rows, without secrets that are shown by name. */
function ofChanges(core: Core, changes: readonly Change[]): Fact[] {
  const isNamed = severalOf(changes).length > 0;
  const each = isNamed ? changes.filter(({ kind }) => kind !== 'secret') : changes;
  const facts = each.map((change) => ofChange(core, change)).filter(({ length }) => length > 0);
  const more = facts.length - MOST_EACH;
  return [...facts.slice(0, MOST_EACH).flat(), ...(more > 0 ? fact('Further changes', more) : [])];
}

/**
 * What the requester says that it needs the secret for. Shown whole: it does not count towards `MOST_ALL`.
 */
export const callFact = (call: string | undefined): Fact[] => fact('Call', call);

/**
 * What deciders are shown of a request: what the operation says of it, and the rows that it reads and
 * changes. Null if the request is too long for that: a secret or a group could be hidden among others.
 */
export function factsOf(
  core: Core,
  effects: readonly Effect[],
  changes: readonly Change[],
  shows: readonly Fact[] = [],
): Fact[] | null {
  const reads = effects.flatMap(({ operations, reach }) =>
    operations.length === 1 &&
    operations[0] === 'secret.read' &&
    typeof reach === 'object' &&
    'secrets' in reach
      ? reach.secrets
      : [],
  );
  let length = 0;
  const named = [...shows, ...ofReads(core, reads), ...ofReads(core, severalOf(changes))];
  const all = [...named, ...ofChanges(core, changes)];
  const past = all.findIndex(({ name, value }) => {
    length += name.length + value.length;
    return length > MOST_ALL;
  });
  if (past < 0) return all;
  // safety: connection-shown-whole
  const isConnection = changes.some(({ kind }) => kind === 'sso_connection');
  // safety: secrets-shown-whole
  const isHiding = past < named.length;
  return isConnection || isHiding
    ? null
    : [...all.slice(0, past), ...fact('Further facts', all.length - past)];
}

/** Encrypts facts for an approval. */
export const encryptFacts = (
  key: Uint8Array,
  org: string,
  approval: string,
  facts: readonly Fact[],
): string => encrypt(key, 'approval', [org, approval], utf8(JSON.stringify(facts)));

/** Decrypts the facts of an approval; null if they do not open. */
export function decryptFacts(
  key: Uint8Array,
  org: string,
  approval: string,
  ciphertext: string,
): Fact[] | null {
  const opened = decrypt(key, 'approval', [org, approval], ciphertext);
  const text = opened && fromUtf8(opened);
  return text ? JSON.parse(text) : null;
}
