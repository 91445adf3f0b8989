// Members who sign in by single sign-on: which identity of a provider is which member, who must sign in that
// way, and when a session of it has ended. Invariants: an identity is a connection, an issuer and a subject,
// never an address; an address finds a member only within the verified domains of the connection.
import { tuple } from '../../crypto/bytes';
import { sha256 } from '../../crypto/digest';
import { idOf, idPrefixes } from '../../db/ids';
import type { CredentialRow, MemberRow, SsoConnectionRow, SsoLinkRow } from '../../db/schema';
import type { Core } from '../core';
import type { SsoIdentity } from '../request/call';

type Reader = Pick<Core, 'rows'>;
type Ending = Pick<Core, 'rows' | 'org'>;

/** The id of the link of an identity: an identity is found by it, and has one at most. */
export function linkIdOf(connection: string, issuer: string, subject: string): string {
  const digest = sha256(tuple('svc/v1/sso-link', connection, issuer, subject));
  return idOf(idPrefixes.sso_link, Uint8Array.from(Buffer.from(digest, 'hex').subarray(0, 16)));
}

/** The link of an identity; null if it has none. */
export function linkOf({ rows }: Reader, { connection, subject }: SsoIdentity): SsoLinkRow | null {
  if (!subject) return null;
  const row = rows.get('sso_link', linkIdOf(connection, subject.issuer, subject.subject));
  return row &&
    row.connection_id === connection &&
    row.issuer === subject.issuer &&
    row.subject === subject.subject
    ? row
    : null;
}

/** The domain of an address. */
export const domainOf = (email: string): string => email.slice(email.lastIndexOf('@') + 1).toLowerCase();

/** Whether a domain is one of a connection, and verified for this organisation. */
export function isDomainOf({ rows }: Reader, connection: SsoConnectionRow, domain: string): boolean {
  return connection.domains.some((id) => {
    const row = rows.get('domain', id);
    // safety: sso-verified-domain
    return row?.verified_at != null && row.domain === domain;
  });
}

/** The member whom an identity is or may become; null for none. */
export function memberBehind(core: Reader, identity: SsoIdentity): MemberRow | null {
  const { rows } = core;
  const link = linkOf(core, identity);
  if (link) return rows.get('member', link.member_id);
  const connection = rows.get('sso_connection', identity.connection);
  if (!connection || identity.email === null || !isDomainOf(core, connection, domainOf(identity.email)))
    return null;
  return rows.find('member', '', identity.email.toLowerCase());
}

/** The connections whose verified domains include the address of a member. */
const connectionsOf = (core: Reader, { email }: MemberRow): SsoConnectionRow[] =>
  core.rows
    .within('sso_connection', '')
    .filter((connection) => isDomainOf(core, connection, domainOf(email)));

/** Whether a member may sign in by single sign-on alone. Owners keep their passkeys. */
export const mustUseSso = (core: Reader, member: MemberRow): boolean =>
  member.role !== 'owner' && connectionsOf(core, member).some(({ enforce }) => enforce === 1);

/**
 * When single sign-on was last made the only way, of a connection whose sessions with passkeys it ended for
 * good.
 */
export const enforcedAt = ({ config }: SsoConnectionRow): number =>
  typeof config.enforced_at === 'number' ? config.enforced_at : 0;

/** Whether a panic stopped sign-ins by a connection. An owner's change of it lets them begin again. */
export const isStopped = ({ config }: SsoConnectionRow): boolean => config.stopped_at != null;

/** When a connection last got another issuer, whose sessions ended then. */
const issuerSince = ({ config }: SsoConnectionRow): number =>
  typeof config.issuer_at === 'number' ? config.issuer_at : -1;

/** Until when sessions by passkey of a member have ended, of a domain that had to sign in otherwise. */
const passkeysEndedAt = ({ rows, org }: Ending, { email }: MemberRow): number => {
  const ended = rows.get('org', org)?.passkeys_ended ?? {};
  const domain = domainOf(email);
  return Math.max(Object.hasOwn(ended, domain) ? (ended[domain] ?? 0) : 0, ended['*'] ?? 0);
};

/** Whether a session of a member has ended with its connection, issuer or link, or because of `enforce`. */
export function hasSessionEnded(core: Ending, { sso, member_id, created_at }: CredentialRow): boolean {
  const { rows } = core;
  if (sso) {
    const connection = rows.get('sso_connection', sso.connection);
    // safety: sso-session-ends-with-connection
    if (!connection || !isOf(rows.get('sso_link', sso.link), member_id)) return true;
    // safety: sso-session-ends-with-issuer
    return created_at <= issuerSince(connection);
  }
  const member = member_id === null ? null : rows.get('member', member_id);
  if (!member || member.role === 'owner') return false;
  // safety: enforce-outlasts-connection
  if (created_at <= passkeysEndedAt(core, member)) return true;
  // safety: enforce-ends-passkey-sessions
  return connectionsOf(core, member).some(
    (connection) => connection.enforce === 1 || created_at < enforcedAt(connection),
  );
}

/**
 * Whether a session of single sign-on is of an owner without a passkey. Only the provider can have confirmed
 * it, before the member became an owner.
 */
export const isOwnerByProvider = ({ rows }: Reader, { sso, member_id }: CredentialRow): boolean =>
  sso !== null &&
  member_id !== null &&
  rows.get('member', member_id)?.role === 'owner' &&
  rows.within('passkey', member_id).length === 0;

/**
 * Whether a passkey began or confirmed a session: a provider confirms only members who have none, so one that
 * was there at the confirmation made it.
 */
export function isByPasskey(
  { rows }: Reader,
  { passkey_id, member_id, confirmed_at }: CredentialRow,
): boolean {
  if (passkey_id !== null) return true;
  // safety: passkey-there-at-confirmation
  return rows.within('passkey', member_id ?? '').some(({ created_at }) => created_at < (confirmed_at ?? 0));
}

/**
 * What to tell whoever gives a team something, or lets it decide: that an identity provider decides who is in
 * it. Empty for other teams.
 */
export function providerWarning({ rows }: Reader, team: string | null): { warning?: string } {
  const row = team === null ? null : rows.get('team', team);
  const isMapped = rows
    .within('sso_connection', '')
    .some(({ team_mappings }) => team_mappings.some(({ team_id }) => team_id === team));
  return row && (row.provisioned !== null || isMapped)
    ? { warning: `An identity provider decides who is in the team ${row.name}.` }
    : {};
}

const isOf = (link: SsoLinkRow | null, member: string | null): boolean => link?.member_id === member;
