// The rows that a held request rests on: those that it changes or reads, and those that these name. They are
// who gets a grant, who is in a team, which environments a slug stood for, and where a connection leads.
// Beside them stands what a new grant or credential takes from its creator. Invariant: an approval counts
// only while all of them are as they were when it was asked for.
import type { Change, Effect } from '../../auth/policies/effect';
import { sha256 } from '../../crypto/digest';
import { credentialKindOf, type IdKind, idPrefixes } from '../../db/ids';
import type { RowKind } from '../../db/rows';
import type {
  ApprovalConfig,
  ApprovalRow,
  CredentialRow,
  GrantRow,
  PolicyRow,
  SsoConnectionRow,
} from '../../db/schema';
import type { Core } from '../core';
import { grantRows } from '../identity/caller';
import { membershipId, membersOfTeam } from '../identity/team-members';

type Targets = ApprovalRow['targets'];

/** Ids of the rows that a changed row names and that decide what the change does. */
function namedBy(change: Change): string[] {
  const row = change.after ?? change.before;
  if (!row) return [];
  switch (change.kind) {
    case 'secret':
      // safety: approved-place-kept
      return change.before || !change.after ? [] : [change.after.environment_id];
    case 'grant':
      return [
        ...withMembers(change.after?.grantee_id),
        ...(change.after?.environments ?? []),
        ...limitsOf(change.after),
      ];
    case 'member':
      return [
        ...(change.before?.environments ?? []),
        ...(change.after?.environments ?? []),
        ...withGrants(change.before?.id),
      ];
    case 'credential':
      return change.before
        ? []
        : // With a SCIM token its connection is changed too.
          [...(change.after?.environments ?? []), ...limitsOf(change.after)];
    case 'policy':
      return [change.before, change.after].flatMap((one) => (one ? namedByPolicy(one) : []));
    case 'team_member': {
      const { team_id, member_id } = (change.after ?? change.before) as {
        team_id: string;
        member_id: string;
      };
      return [team_id, member_id, ...withGrants(team_id)];
    }
    case 'team':
      return change.after ? [row.id] : withMembers(row.id);
    case 'share':
      return change.after ? [change.after.secret_id] : [];
    case 'upstream':
      return [(change.after ?? change.before)?.environment_id ?? ''];
    case 'sync':
      return change.after ? [change.after.environment_id, change.after.integration_id ?? ''] : [];
    case 'org':
      // A new environment may have the slug that the request names.
      // safety: approved-default-kept
      return [row.id, ...(change.after ? [change.after.default_environment] : [])];
    case 'sso_connection':
      return [change.before, change.after].flatMap((one) => (one ? namedByConnection(one) : []));
    default:
      return [];
  }
}

/** The start of an id that stands for limits: it is a digest of them, so it never changes. */
const LIMITS = 'limits:';

/**
 * The limits of a new row, and what it ends with, under an id of their own. A request that does not name them
 * means those of its caller, which may be widened before the approval is used. When a credential expires
 * follows from the request.
 */
function limitsOf(row: GrantRow | CredentialRow | null): string[] {
  if (!row) return [];
  const { environments, secrets, upstreams, dies_with } = row;
  const further = [
    ...('grantee_id' in row ? [row.expires_at] : [row.allowed_addresses, row.device_id, row.mcp_limits]),
    ...(upstreams ? [upstreams] : []),
  ];
  // safety: approved-limits-kept
  return [`${LIMITS}${sha256(JSON.stringify([environments, secrets, dies_with, ...further]))}`];
}

function namedByPolicy({ environments, kind, config }: PolicyRow): string[] {
  const { approvers } = config as ApprovalConfig;
  const team = kind === 'approval' && 'team_id' in approvers ? approvers.team_id : undefined;
  return [...(environments ?? []), ...withMembers(team)];
}

/** Where a connection to an identity provider gives roles, and what its teams give. */
const namedByConnection = ({
  default_environments,
  role_mappings,
  team_mappings,
}: SsoConnectionRow): string[] => [
  ...(default_environments ?? []),
  ...role_mappings.flatMap(({ environments }) => environments ?? []),
  // safety: approved-connection-kept
  ...team_mappings.flatMap(({ team_id }) => [team_id, ...withGrants(team_id)]),
];

/** A grantee or a team; with a team also who is in it, under an id of their own. */
const withMembers = (id: string | undefined): string[] =>
  id === undefined ? [] : id.startsWith(`${idPrefixes.team}_`) ? [id, membershipId(id, '')] : [id];

/**
 * The start of an id that stands for all grants to a member, with those of the member's teams, or to a team.
 */
const GRANTS = 'grants:';

/**
 * What a member or a team was granted, and since when a member is in which teams: one who left a team and
 * joined it again has the same grants, but an approval from before has ended.
 */
const grantedTo = (core: Core, id: string) => [
  ...grantRows(core, id),
  // safety: approved-memberships-kept
  ...core.rows.within('team_member', id).map((row) => ({ id: row.id, revision: row.created_at })),
];

// safety: approved-grants-kept
const withGrants = (id: string | undefined): string[] => (id === undefined ? [] : [`${GRANTS}${id}`]);

/** A number that changes with the rows. */
const digestOf = (rows: readonly { id: string; revision: number }[]): number =>
  Number.parseInt(sha256(JSON.stringify(rows.map(({ id, revision }) => [id, revision]))).slice(0, 12), 16);

/**
 * The revision of what an id names, now; null if there is none. For the members of a team, and for grants, a
 * number that changes with them.
 */
function revisionOf(core: Core, id: string): number | null {
  if (id.startsWith(LIMITS)) return 0;
  if (id.startsWith(GRANTS)) return digestOf(grantedTo(core, id.slice(GRANTS.length)));
  if (id.endsWith('.')) return digestOf(membersOfTeam(core, id.slice(0, -1)));
  const kind = kindOf(id);
  return kind === null ? null : (core.rows.get(kind, id)?.revision ?? null);
}

/** The kind of the row that has an id. */
function kindOf(id: string): RowKind | null {
  if (credentialKindOf(id) !== null) return 'credential';
  if (id.includes('.')) return 'team_member';
  const prefix = id.slice(0, id.indexOf('_'));
  const found = Object.entries(idPrefixes).find(([, one]) => one === prefix);
  return found ? (found[0] as Extract<IdKind, RowKind>) : null;
}

/** The targets of a request by its effects and the rows that it writes and removes. */
export function targetsOf(core: Core, effects: readonly Effect[], changes: readonly Change[]): Targets {
  const named = [...new Set(changes.flatMap((change) => namedBy(change)))].flatMap((id) => {
    const revision = revisionOf(core, id);
    return revision === null ? [] : [{ id, revision }];
  });
  const all = [...effects.flatMap(({ targets }) => targets), ...named];
  return Object.fromEntries(
    all.map(({ id, revision }) => [id, revision] as const).sort(([a], [b]) => (a < b ? -1 : 1)),
  );
}

/** The most targets that are compared when an approval is shown. At its use all of them are. */
const MOST_COMPARED = 100;

/** Whether a target has changed, as far as it is known without repeating the request. */
export const haveTargetsChanged = (core: Core, { targets }: ApprovalRow): boolean =>
  Object.entries(targets)
    .slice(0, MOST_COMPARED)
    .some(([id, revision]) => revisionOf(core, id) !== revision);
