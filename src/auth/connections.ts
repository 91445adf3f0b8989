// What a connection to an identity provider gives to people. Pure. Invariant: whoever decides what a provider
// says (its issuer, its client, the domains and the claim of groups) decides who gets all that the connection
// gives.
import type { Role, SsoConnectionRow } from '../db/schema';

/** The roles and teams that a change of a connection could give to others than before. */
export interface Given {
  roles: Role[];
  teams: string[];
}

/** One thing that a connection gives, as a text that differs if it is given to others or elsewhere. */
interface Gift {
  key: string;
  role?: Role;
  team?: string;
}

function giftsOf(row: SsoConnectionRow): Gift[] {
  const role = (group: string | null, role: Role, environments: readonly string[] | null): Gift => ({
    key: JSON.stringify([group, role, environments]),
    role,
  });
  return [
    role(null, row.default_role, row.default_environments),
    ...row.role_mappings.map(({ group, role: one, environments = null }) => role(group, one, environments)),
    ...row.team_mappings.map(({ group, team_id }) => ({
      key: JSON.stringify([group, team_id]),
      team: team_id,
    })),
  ];
}

// safety: saml-signers-decide
const SOURCES = ['issuer', 'client_id', 'groups_claim', 'subject_attribute', 'signers'] as const;

/** Whether other people than before may get what a connection gives. */
const isOpened = (before: SsoConnectionRow, after: SsoConnectionRow): boolean =>
  SOURCES.some((name) => before.config[name] !== after.config[name]) ||
  after.domains.some((id) => !before.domains.includes(id)) ||
  after.jit > before.jit;

/** What a new connection, or a changed one, could give that it did not before. */
export function givenAnew(before: SsoConnectionRow | null, after: SsoConnectionRow): Given {
  const known = !before || isOpened(before, after) ? [] : giftsOf(before).map(({ key }) => key);
  const anew = giftsOf(after).filter(({ key }) => !known.includes(key));
  return {
    roles: [...new Set(anew.flatMap(({ role }) => role ?? []))],
    teams: [...new Set(anew.flatMap(({ team }) => team ?? []))],
  };
}
