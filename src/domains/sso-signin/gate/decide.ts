// Who a person is whom a provider has signed in: a member, one that has to confirm with a passkey first, or a
// new one; or why nobody. Invariants: an address links once, within verified domains, and only a member who
// is linked to no subject; an owner, a member with a passkey and one who was linked before link with the
// passkey alone; who was removed or suspended is not let in and not made anew.
import type { MemberRow, SsoConnectionRow, SsoLinkRow } from '../../../db/schema';
import type { Core } from '../../../gate/core';
import { domainOf, isDomainOf, isStopped, linkOf, memberBehind } from '../../../gate/identity/sso';
import { formerAt, isFormerIdentity, mayAdd } from '../../members/gate/former';
import type { Person } from '../rules';

export type Decision =
  | { is: 'refused'; reason: string }
  /** `link`: the link that there is. */
  | { is: 'member'; connection: SsoConnectionRow; member: MemberRow; link: SsoLinkRow | null }
  /** The member must prove a passkey first. */
  | { is: 'asked'; connection: SsoConnectionRow; member: MemberRow }
  | { is: 'new'; connection: SsoConnectionRow; email: string };

const no = (reason: string): Decision => ({ is: 'refused', reason });

interface Asked {
  connection: string;
  /** Of the connection, as the Worker used it. */
  revision: number;
  person: Person;
}

/** `hasPasskey`: the person has just proved a passkey of the member. */
export function decide(
  core: Core,
  { connection: id, revision, person }: Asked,
  hasPasskey: boolean,
): Decision {
  const { rows } = core;
  const connection = rows.get('sso_connection', id);
  if (!connection) return no('the connection was deleted');
  // safety: sso-connection-as-used
  if (connection.revision !== revision) return no('the connection was changed during the sign-in');
  // safety: sso-stopped-by-panic
  if (isStopped(connection)) return no('a panic stopped the connection, until an owner changes it');
  const identity = { connection: id, subject: person, email: person.email };
  const link = linkOf(core, identity);
  const member = memberBehind(core, identity);
  if (link) return linked(connection, link, member);
  const { email, hd } = person;
  if (email === null) return no('the provider names no verified e-mail address');
  const isTheirs = isDomainOf(core, connection, domainOf(email));
  // safety: sso-links-in-verified-domains
  if (!isTheirs) return no('the address is in no verified domain of the connection');
  // safety: sso-google-domain
  if (hd !== undefined && (hd === null || !isDomainOf(core, connection, hd)))
    return no('the account belongs to no verified domain');
  return member ? linking(core, connection, member, hasPasskey) : making(core, connection, person, email);
}

function linked(connection: SsoConnectionRow, link: SsoLinkRow, member: MemberRow | null): Decision {
  if (!member) return no('the member was removed');
  // safety: sso-suspended-refused
  if (member.suspended_at !== null) return no('the member is suspended');
  return { is: 'member', connection, member, link };
}

function linking(core: Core, connection: SsoConnectionRow, member: MemberRow, hasPasskey: boolean): Decision {
  const { rows } = core;
  // safety: sso-suspended-not-linked
  if (member.suspended_at !== null) return no('the member is suspended');
  const links = rows.within('sso_link', member.id);
  // safety: sso-links-once
  if (links.some(({ connection_id }) => rows.get('sso_connection', connection_id)))
    return no('the member is linked to another identity');
  const other = member.provisioned?.connection ?? null;
  // safety: sso-links-within-its-connection
  if (other !== null && other !== connection.id && rows.get('sso_connection', other))
    return no('the member belongs to another connection');
  const passkeys = rows.within('passkey', member.id).length;
  // safety: sso-link-needs-passkey
  if (hasPasskey || (passkeys === 0 && links.length === 0 && member.role !== 'owner'))
    return { is: 'member', connection, member, link: null };
  return passkeys > 0
    ? { is: 'asked', connection, member }
    : no('the member can only link with a passkey, and has none');
}

function making(core: Core, connection: SsoConnectionRow, person: Person, email: string): Decision {
  if (!connection.jit) return no('no member has this address');
  // safety: sso-removed-not-made-anew
  if (isFormer(core, connection, person, email)) return no('the member was removed');
  if (mayAdd(core, core.now())) return no('too many members were removed');
  return { is: 'new', connection, email };
}

/** Whether a person removed a member with this address or identity. */
const isFormer = (core: Core, { id }: SsoConnectionRow, { issuer, subject }: Person, email: string) =>
  formerAt(core, email) !== null || isFormerIdentity(core, { connection: id, issuer, subject });
