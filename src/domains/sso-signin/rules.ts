// What the claims of a provider say of a person, and what their groups give. Pure. Invariants: an identity is
// an issuer and a subject, of Entra a tenant and an object; an address counts only where `email_verified` is
// the boolean true; nothing gives the role owner.
import { allScopes, covers, roleScopes } from '../../auth/scopes';
import type { RoleMapping, SsoConnectionRow, TeamMapping } from '../../db/schema';
import type { SamlAssertion } from '../../env';
import { printable } from '../../text';
import { Email } from '../members/wire';
import type { SamlConfig } from '../sso/wire';

/** The hosts of Entra's issuers. The path names the tenant. */
const ENTRA = new Set([
  'login.microsoftonline.com',
  'login.microsoftonline.us',
  'login.partner.microsoftonline.cn',
]);
const GOOGLE = 'https://accounts.google.com';

const MOST_SUBJECT = 255;
const MOST_NAME = 100;
/** The most groups of a claim that are read, and characters of one. */
const MOST_GROUPS = 5000;
const MOST_GROUP = 256;

/** A person, as the provider's claims say. */
export interface Person {
  issuer: string;
  subject: string;
  /** Only if the provider says that it is verified. */
  email: string | null;
  /**
   * Of Google: the domain of the Workspace. Without one, Google verified the address once, and somebody else
   * may have it now.
   */
  hd?: string | null;
  name: string | null;
  /** The provider's own id of the session. */
  sid: string | null;
  /** Those that the connection maps; null if the provider left them out for their number. */
  groups: string[] | null;
  /** When the person last authenticated at the provider, in seconds. */
  auth_time: number | null;
}

type Claims = Record<string, unknown>;

const textOf = (value: unknown, most: number): string | null =>
  // A database would store another text than one with half a surrogate pair, and its MAC would not match.
  // safety: sso-claims-storable
  typeof value === 'string' && value !== '' && value.length <= most && value.isWellFormed() ? value : null;

/** The subject, or null if the claims do not identify anybody of this issuer. */
export function subjectOf(issuer: string, claims: Claims): string | null {
  const url = new URL(issuer);
  if (!ENTRA.has(url.hostname)) return textOf(claims.sub, MOST_SUBJECT);
  // Entra's sub differs between applications, and its addresses can be chosen by other tenants.
  const [tenant] = url.pathname.split('/').filter(Boolean);
  const oid = textOf(claims.oid, 64);
  // safety: sso-tenant-pinned
  return oid && claims.tid === tenant ? `${tenant}/${oid}` : null;
}

/**
 * The verified address of somebody, or null. Entra has no `email_verified`; it says in `xms_edov` that the
 * owner of the domain has verified the address.
 */
function emailOf(issuer: string, { email, email_verified, xms_edov }: Claims): string | null {
  const parsed = Email.safeParse(email);
  const isVerified = email_verified === true || (ENTRA.has(new URL(issuer).hostname) && xms_edov === true);
  // safety: sso-email-verified
  return parsed.success && isVerified ? parsed.data : null;
}

/** The groups in a claim, as far as the connection maps them; null if they were too many to be sent. */
function groupsOf(claims: Claims, claim: string, mapped: ReadonlySet<string>): string[] | null {
  const elsewhere = claims._claim_names;
  const isElsewhere = typeof elsewhere === 'object' && elsewhere !== null && Object.hasOwn(elsewhere, claim);
  if (isElsewhere || claims.hasgroups === true) return null;
  const value = Object.hasOwn(claims, claim) ? claims[claim] : [];
  const groups = (Array.isArray(value) ? value : [value]).slice(0, MOST_GROUPS);
  return [
    ...new Set(groups.filter((group) => textOf(group, MOST_GROUP) !== null && mapped.has(group)) as string[]),
  ];
}

const whole = (value: unknown): number | null => (Number.isSafeInteger(value) ? (value as number) : null);

/** What verified claims say of a person, or null if they identify nobody. */
export function personOf(
  issuer: string,
  claims: Claims,
  connection: Pick<SsoConnectionRow, 'role_mappings' | 'team_mappings'>,
  claim: string,
): Person | null {
  const subject = subjectOf(issuer, claims);
  if (subject === null) return null;
  return {
    issuer,
    subject,
    email: emailOf(issuer, claims),
    ...(issuer === GOOGLE && { hd: textOf(claims.hd, 253)?.toLowerCase() ?? null }),
    name: printable(textOf(claims.name, 1000) ?? '', MOST_NAME).trim() || null,
    sid: textOf(claims.sid, MOST_SUBJECT),
    groups: groupsOf(claims, claim, mappedGroups(connection)),
    auth_time: whole(claims.auth_time),
  };
}

const PERSISTENT = 'urn:oasis:names:tc:SAML:2.0:nameid-format:persistent';
/** The attributes of an address and of a name, as providers call them. */
const EMAILS = [
  'email',
  'mail',
  'http://schemas.xmlsoap.org/ws/2005/05/identity/claims/emailaddress',
  'urn:oid:0.9.2342.19200300.100.1.3',
];
const NAMES = [
  'name',
  'displayName',
  'http://schemas.microsoft.com/identity/claims/displayname',
  'urn:oid:2.16.840.1.113730.3.1.241',
];

/**
 * What a SAML assertion says of a person, or null if it identifies nobody. An address counts as verified; the
 * gate takes it only within the verified domains of the connection.
 */
export function personOfSaml(
  { issuer, subject_attribute, groups_claim }: SamlConfig,
  { subject: nameId, format, sessionIndex, authenticatedAt, attributes }: SamlAssertion,
  { role_mappings, team_mappings }: Pick<SsoConnectionRow, 'role_mappings' | 'team_mappings'>,
): Person | null {
  const valuesOf = (name: string) => (Object.hasOwn(attributes, name) ? (attributes[name] ?? []) : []);
  /** Of an attribute with one value, that. */
  const one = (names: string[]) => {
    const values = names.map(valuesOf).find(({ length }) => length > 0) ?? [];
    return values.length === 1 ? values[0] : null;
  };
  // A NameID of another format may be given to somebody else later.
  // safety: saml-subject-persistent
  const lasting = format === PERSISTENT ? nameId : null;
  const subject = textOf(subject_attribute === null ? lasting : one([subject_attribute]), MOST_SUBJECT);
  if (subject === null) return null;
  const email = Email.safeParse(one(EMAILS));
  return {
    issuer,
    subject,
    email: email.success ? email.data : null,
    name: printable(textOf(one(NAMES), 1000) ?? '', MOST_NAME).trim() || null,
    sid: textOf(sessionIndex, MOST_SUBJECT),
    groups: groupsOf(
      { [groups_claim]: valuesOf(groups_claim) },
      groups_claim,
      mappedGroups({ role_mappings, team_mappings }),
    ),
    auth_time: whole(Math.floor(authenticatedAt / 1000)),
  };
}

/** The groups that a connection maps. */
const mappedGroups = ({
  role_mappings,
  team_mappings,
}: Pick<SsoConnectionRow, 'role_mappings' | 'team_mappings'>) =>
  new Set([...role_mappings, ...team_mappings].map(({ group }) => group));

type Given = Pick<RoleMapping, 'role'> & { environments: string[] | null };

/** The role that a connection gives to members of groups: of several the one that holds most. */
export function roleOf(connection: SsoConnectionRow, groups: readonly string[]): Given {
  const { default_role, default_environments, role_mappings } = connection;
  // safety: sso-gives-no-owner
  const given = role_mappings
    .filter(({ group, role }) => groups.includes(group) && role !== 'owner')
    .map(({ role, environments }): Given => ({ role, environments: environments ?? null }));
  const best = given.toSorted((a, b) => holds(b) - holds(a) || reach(b) - reach(a))[0];
  return (
    best ?? { role: default_role === 'owner' ? 'viewer' : default_role, environments: default_environments }
  );
}

const holds = ({ role }: Given): number =>
  allScopes.filter((scope) => covers(roleScopes[role], scope)).length;
const reach = ({ environments }: Given): number => environments?.length ?? Number.POSITIVE_INFINITY;

/** The teams that a connection gives to members of groups. */
export const teamsOf = (mappings: readonly TeamMapping[], groups: readonly string[]): Set<string> =>
  new Set(mappings.filter(({ group }) => groups.includes(group)).map(({ team_id }) => team_id));

/** Whether a text is a path of this deployment: a redirect to it leads nowhere else. */
export const isReturnPath = (text: string): boolean =>
  // safety: sso-return-path
  /^\/(?![/\\])[\x21-\x7e]*$/.test(text) && !text.includes('\\') && text.length <= 500;
