// The effects of a request in terms of approval policies. Pure. An effect follows from the rows that a change
// writes or removes, or from the secret that a read reveals, never from the route, so no route to the same
// effect can be missed.
import type { RowKind, RowTypes } from '../../db/rows';
import {
  type ApprovalConfig,
  type CredentialRow,
  type EnvironmentRow,
  type GrantRow,
  type HeldOperation,
  isSuspended,
  type MemberRow,
  type OrgRow,
  type PolicyRow,
  type SecretRow,
  type ShareRow,
  type SsoConnectionRow,
  type SsoLinkRow,
  type TeamMemberRow,
  type UpstreamRow,
} from '../../db/schema';
import { givenAnew } from '../connections';
import { intersects } from '../globs';
import { covers, roleScopes } from '../scopes';

/**
 * What an effect reaches: a secret before and after, everything in an area, or everything that a policy can
 * apply to. With `guarded`, only `isGuarded` says which policies hold it.
 */
export type Reach = { secrets: readonly SecretRow[] } | { area: Area } | 'all' | 'guarded';

/** Environments and name patterns; null means no limit. */
export interface Area {
  environments: readonly string[] | null;
  names: readonly string[] | null;
}

/** A policy with a function that checks whether it applies; see `policiesOf`. */
interface Applying {
  row: PolicyRow;
  applies(target: { environment_id: string; type: SecretRow['type']; name: string }): boolean;
}

export interface Effect {
  /** The operations for which a policy can hold it. The first one names it. */
  operations: readonly [HeldOperation, ...HeldOperation[]];
  reach: Reach;
  /**
   * For an effect on everything, or on what is guarded: the environments that it concerns. Absent or null for
   * the whole organisation.
   */
  environments?: readonly string[] | null;
  /** The current rows that it concerns: an approval is void once one of them has changed. */
  targets: readonly { id: string; revision: number }[];
  /**
   * Whether a policy holds it regardless of the policy's operations: effects that weaken the policy or choose
   * its approvers.
   */
  isGuarded?(policy: Applying): boolean;
  /** It adds a possible approver: an owner may do this for a policy that has too few. */
  adds?: boolean;
}

/** A row that a change writes (`before` is null for a new one) or removes (`after` is null). */
export type Change = {
  [K in RowKind]: { kind: K; before: RowTypes[K] | null; after: RowTypes[K] | null };
}[RowKind];

/** The effect of using a secret through an upstream. An approval is void once either has changed. */
export const useEffect = (row: SecretRow, upstream: UpstreamRow): Effect => ({
  // safety: use-held
  operations: ['secret.use'],
  reach: { secrets: [row] },
  targets: [row, upstream],
});

/** The secrets that an upstream places, and whether some upstream places one of this name. */
export interface Placed {
  by(upstream: UpstreamRow): readonly SecretRow[];
  isPlaced(secret: SecretRow): boolean;
}

/** The effect of revealing a secret's value. */
export const readEffect = (row: SecretRow): Effect => ({
  operations: ['secret.read'],
  reach: { secrets: [row] },
  targets: [row],
});

/** The effect of copying a secret's value to where others may read it. */
export const copyEffect = (row: SecretRow): Effect => ({
  operations: ['secret.share', 'secret.read'],
  reach: { secrets: [row] },
  targets: [row],
});

/**
 * Finds the rows that a change names: the secret that a link shows, the team that decides for a policy, the
 * connection of a SCIM token.
 */
export type Find = <K extends 'secret' | 'team' | 'sso_connection'>(
  kind: K,
  id: string,
) => RowTypes[K] | null;

/**
 * The effects of a change. `by` is the caller; `placed` finds the secrets that upstreams place.
 */
export function effectsOf(
  changes: readonly Change[],
  by: string,
  find: Find = () => null,
  placed: Placed = { by: () => [], isPlaced: () => false },
): Effect[] {
  const removed = new Set(
    changes.flatMap(({ kind, before, after }) => (kind === 'member' && before && !after ? [before.id] : [])),
  );
  return changes.flatMap((change): Effect[] => {
    switch (change.kind) {
      case 'secret':
        return ofSecret(change.before, change.after, placed);
      case 'org':
        return ofOrg(change.before, change.after);
      case 'policy':
        return [ofPolicy(change.before, change.after)];
      case 'member':
        return ofMember(change.before, change.after, by);
      case 'environment':
        return change.after ? [] : ofEnvironment(change.before);
      case 'team':
        return change.after
          ? []
          : [ofTeam(change.before?.id as string, change.before ? [change.before] : [])];
      case 'team_member': {
        const row = (change.after ?? change.before) as TeamMemberRow;
        // A member who leaves the organisation also leaves its teams.
        return removed.has(row.member_id)
          ? []
          : [{ ...ofTeam(row.team_id, change.before ? [change.before] : []), adds: change.after !== null }];
      }
      case 'sso_link':
        return change.before && !change.after && !removed.has(change.before.member_id)
          ? [ofFreedLink(change.before)]
          : [];
      case 'sso_connection':
        return change.after ? ofSsoConnection(change.before, change.after) : [];
      case 'grant':
        return change.after && !change.before ? [ofGrant(change.after)] : [];
      case 'share':
        return change.after && !change.before ? [ofShare(change.after, find)] : [];
      case 'upstream':
        return change.after ? ofUpstream(change.before, change.after, placed) : [];
      case 'credential':
        return change.after && !change.before ? ofCredential(change.after, find) : [];
      default:
        return [];
    }
  });
}

/**
 * The effect of changing, deleting or restoring a secret. A new secret has nothing yet that needs approval.
 */
function ofSecret(before: SecretRow | null, after: SecretRow | null, { isPlaced }: Placed): Effect[] {
  if (!before) return [];
  const targets = [before];
  if (!after || (after.deleted_at !== null && before.deleted_at === null))
    return [{ operations: ['secret.delete'], reach: { secrets: [before] }, targets }];
  const reach = { secrets: [before, after] };
  const isRotated = after.version > before.version || isRotatedSooner(before, after);
  // A new value counts as an update and a rotation, whichever route is used. Otherwise one policy could be
  // bypassed through the other route.
  // safety: new-value-held-either-way
  const operations = isRotated ? (['secret.update', 'secret.rotate'] as const) : (['secret.update'] as const);
  // An upstream then sends the value to whoever may call it.
  // safety: placed-by-name-held-as-read
  const isRead = isNamedAnew(before, after) && isPlaced(after);
  // A new name or type could take the secret out of a policy's scope and so bypass it.
  // safety: leaving-a-policy-held
  return [
    {
      operations: isRead ? [...operations, 'secret.read'] : operations,
      reach,
      targets,
      isGuarded: (policy) => policy.applies(before) && !policy.applies(after),
    },
  ];
}

/** Whether a live secret has a name that it did not have before. */
export const isNamedAnew = (before: SecretRow, after: SecretRow): boolean =>
  after.deleted_at === null && (before.name !== after.name || before.deleted_at !== null);

/**
 * Whether a rotation policy may now replace the value by itself, or sooner than before. Another name or type
 * can bring the secret under another policy, and one that is active again is due again.
 */
const isRotatedSooner = (before: SecretRow, after: SecretRow): boolean =>
  // safety: automatic-rotation-held-as-rotation
  after.auto_rotate === 1 &&
  (before.auto_rotate !== 1 ||
    (after.rotate_every_seconds ?? Number.POSITIVE_INFINITY) <
      (before.rotate_every_seconds ?? Number.POSITIVE_INFINITY) ||
    // safety: move-to-rotation-policy-held
    before.name !== after.name ||
    before.type !== after.type ||
    // safety: return-to-rotation-held
    isActiveLonger(before, after));

/** Whether a secret is restored, or expires later than before. */
const isActiveLonger = (before: SecretRow, after: SecretRow): boolean =>
  (before.deleted_at !== null && after.deleted_at === null) ||
  (after.expires_at ?? Number.POSITIVE_INFINITY) > (before.expires_at ?? Number.POSITIVE_INFINITY);

/**
 * The effects of deleting an organisation, with its secrets and policies, and of making another environment
 * the default one.
 */
function ofOrg(before: OrgRow | null, after: OrgRow | null): Effect[] {
  if (!before || !after) return [];
  const targets = [before];
  if (after.deleted_at !== null && before.deleted_at === null)
    return [{ operations: ['secret.delete', 'policy.change'], reach: 'all', targets, isGuarded: () => true }];
  if (after.default_environment === before.default_environment) return [];
  const environments = [before.default_environment, after.default_environment];
  // A request that names no environment then gets other values.
  // safety: default-environment-held
  const isGuarded = ({ row }: Applying) => environments.some((id) => row.environments?.includes(id));
  return [
    { operations: ['secret.update'], reach: { area: { environments, names: null } }, targets, isGuarded },
  ];
}

/**
 * Deleting an environment takes it off the policies that name it: a new one with the same slug has another
 * id.
 */
const ofEnvironment = (before: EnvironmentRow | null): Effect[] =>
  before
    ? [
        {
          operations: ['policy.change'],
          reach: 'guarded',
          environments: [before.id],
          targets: [before],
          // safety: environment-of-policy-guarded
          isGuarded: ({ row }) => row.environments?.includes(before.id) ?? false,
        },
      ]
    : [];

/** Whether an operation concerns the environments of secrets, and not the whole organisation. */
export const isOfSecrets = (operation: HeldOperation): boolean =>
  operation.startsWith('secret.') || operation === 'provider_token.create';

/** Whether a policy holds what concerns the whole organisation, whatever it applies to. */
const isOrgWide = (row: PolicyRow | null): boolean =>
  row?.kind === 'approval' && !(row.config as ApprovalConfig).operations.every(isOfSecrets);

const ofPolicy = (before: PolicyRow | null, after: PolicyRow | null): Effect => ({
  operations: ['policy.change'],
  reach: 'all',
  // safety: org-wide-policy-changed-by-all
  environments: isOrgWide(before) || isOrgWide(after) ? null : either(before, after),
  targets: before ? [before] : [],
  // safety: policy-guards-itself
  isGuarded: ({ row }) => before !== null && row.id === before.id && weakens(before, after),
});

/** Whether a changed approval policy holds less than before or has other approvers. */
export function weakens(before: PolicyRow, after: PolicyRow | null): boolean {
  if (before.kind !== 'approval' || !before.enabled) return false;
  if (!after?.enabled) return true;
  const old = before.config as ApprovalConfig;
  const now = after.config as ApprovalConfig;
  const narrows = (was: readonly string[] | null, is: readonly string[] | null) =>
    is !== null && (was === null || was.some((one) => !is.includes(one)));
  return (
    old.operations.some((operation) => !now.operations.includes(operation)) ||
    now.required < old.required ||
    JSON.stringify(now.approvers) !== JSON.stringify(old.approvers) ||
    (now.allow_break_glass === true && old.allow_break_glass !== true) ||
    // safety: repeating-weakens
    (now.max_valid_seconds ?? 0) > (old.max_valid_seconds ?? 0) ||
    (now.repeat_writes === true && old.repeat_writes !== true) ||
    narrows(before.environments, after.environments) ||
    narrows(before.types, after.types) ||
    narrows(before.names, after.names)
  );
}

/** Whether a role can decide approvals. */
export const decides = (role: MemberRow['role']): boolean => covers(roleScopes[role], 'approvals:decide');

/** The environments of a row before and after: all of both, null for no limit. */
const either = (...rows: ({ environments: readonly string[] | null } | null)[]): readonly string[] | null =>
  joined(rows.flatMap((row) => (row ? [row.environments] : [])));

/** Environments of several, null for no limit. */
function joined(all: readonly (readonly string[] | null)[]): readonly string[] | null {
  const ids = all.flatMap((one) => one ?? []);
  return all.includes(null) ? null : [...new Set(ids)];
}

/**
 * The environments that some effects concern: whoever decides them must reach each. Null for the whole
 * organisation.
 */
export const environmentsOf = (effects: readonly Effect[]): readonly string[] | null =>
  joined(
    effects.map(({ reach, environments }) => {
      if (typeof reach === 'string') return environments ?? null;
      return 'area' in reach ? reach.area.environments : reach.secrets.map((row) => row.environment_id);
    }),
  );

/** Whether the environments of a member now include some in which the member did not hold the role before. */
const isWidened = (before: MemberRow, after: MemberRow): boolean =>
  before.environments !== null &&
  (after.environments?.some((id) => !before.environments?.includes(id)) ?? true);

/** Whether a suspended member acts again: whatever the role gives, it gives anew. */
const isResumed = (before: MemberRow | null, after: MemberRow | null): boolean =>
  // safety: resumption-held
  before !== null && after !== null && isSuspended(before) && !isSuspended(after);

/** Whether a member decides approvals who did not before, or decides them in more environments. */
const becomesDecider = (before: MemberRow | null, after: MemberRow): boolean =>
  // safety: wider-decider-made-by-approval
  decides(after.role) &&
  (!before || !decides(before.role) || isWidened(before, after) || isResumed(before, after));

/**
 * Whether a member has another address. By single sign-on, a member without a passkey or a link is whoever
 * has it.
 */
export const isReaddressed = (before: MemberRow | null, after: MemberRow | null): boolean =>
  before !== null && after !== null && before.email.toLowerCase() !== after.email.toLowerCase();

/**
 * The effect of inviting a member, changing a role or its environments, creating an enrolment link or setting
 * the address for someone else, or removing, suspending or resuming a member.
 */
function ofMember(before: MemberRow | null, after: MemberRow | null, by: string): Effect[] {
  const isRole = before?.role !== after?.role || hasMoved(before, after) || isResumed(before, after);
  const isEnrolment =
    before &&
    after &&
    after.enrolment_hash !== null &&
    after.enrolment_hash !== before.enrolment_hash &&
    by !== after.id;
  // Whoever makes a suspension theirs decides who may lift it.
  const isSuspension = before && after && isSuspended(after) && before.suspended_by !== after.suspended_by;
  // safety: address-by-another-held
  const isAddress = by !== after?.id && isReaddressed(before, after);
  if (!isRole && !isEnrolment && !isSuspension && !isAddress) return [];
  const targets = before ? [before] : [];
  const environments = either(before, after);
  // Removing or suspending a member gives no access and may be urgent: it needs approval only if a policy
  // requires it.
  if (!after || !isRole) return [{ operations: ['member.change'], reach: 'all', environments, targets }];
  return [
    {
      operations: ['member.change'],
      reach: 'all',
      environments,
      targets,
      adds:
        decides(after.role) &&
        (!before || before.role !== after.role || isWidened(before, after) || isResumed(before, after)),
      // safety: approver-made-by-approval
      isGuarded: (policy) => becomesDecider(before, after) || isApproving(policy, after.role, before?.role),
    },
  ];
}

/** The effect of freeing a link: the member is then whoever signs in with the address. */
const ofFreedLink = (before: SsoLinkRow): Effect => ({
  // safety: freed-link-held
  operations: ['member.change'],
  reach: 'all',
  targets: [{ id: before.id, revision: before.revision }],
});

/** Whether the environments of a member's role are others than before. */
export const hasMoved = (before: MemberRow | null, after: MemberRow | null): boolean =>
  JSON.stringify(before?.environments ?? null) !== JSON.stringify(after?.environments ?? null);

const isApproving = ({ row: { config } }: Applying, ...roles: (string | undefined)[]): boolean => {
  const { approvers } = config as ApprovalConfig;
  return 'role' in approvers && roles.includes(approvers.role);
};

/** The effect of changing a team's membership or deleting the team. */
const ofTeam = (team: string, targets: Effect['targets']): Effect => ({
  operations: ['team.change'],
  reach: 'all',
  targets,
  // safety: approving-team-guarded
  isGuarded: (policy) => isApprovingTeam(policy, team),
});

const isApprovingTeam = ({ row: { config } }: Applying, team: string): boolean => {
  const { approvers } = config as ApprovalConfig;
  return 'team_id' in approvers && approvers.team_id === team;
};

/**
 * The effect of a connection to an identity provider, whose sign-ins make members and give roles and teams.
 */
function ofSsoConnection(before: SsoConnectionRow | null, after: SsoConnectionRow): Effect[] {
  const { roles, teams } = givenAnew(before, after);
  if (roles.length === 0 && teams.length === 0) return [];
  return [
    {
      operations: teams.length > 0 ? ['member.change', 'team.change'] : ['member.change'],
      reach: 'all',
      targets: before ? [before] : [],
      // safety: approver-by-connection-held
      isGuarded: (policy) =>
        roles.some(decides) ||
        isApproving(policy, ...roles) ||
        teams.some((team) => isApprovingTeam(policy, team)),
    },
  ];
}

/** A new link shows a value to anyone who has it. */
function ofShare({ secret_id }: ShareRow, find: Find): Effect {
  const secret = find('secret', secret_id);
  // safety: link-held-as-read
  return {
    operations: ['secret.share', 'secret.read'],
    reach: secret ? { secrets: [secret] } : 'all',
    targets: secret ? [secret] : [],
  };
}

/** An upstream shows nothing, but sends values to whoever its address belongs to. */
function ofUpstream(before: UpstreamRow | null, after: UpstreamRow, { by }: Placed): Effect[] {
  const directs = ({ name, base_url, auth, allow, maker, taken_at }: UpstreamRow) =>
    JSON.stringify([name, base_url, auth, allow, maker, taken_at]);
  if (before && directs(before) === directs(after)) return [];
  const rows = by(after);
  const absent = after.secrets.filter((name) => !rows.some((row) => row.name === name));
  const operations = ['secret.read', 'secret.share'] as const;
  const targets = [...(before ? [before] : []), ...rows];
  // safety: upstream-held-as-share
  return [
    { operations, reach: { secrets: rows }, targets },
    // A name without a secret is judged as what may have it later.
    ...(absent.length
      ? [
          {
            operations,
            reach: { area: { environments: [after.environment_id], names: absent } },
            targets,
          },
        ]
      : []),
  ];
}

/** What a grant of each permission shares. */
// safety: grant-held-as-share
const GRANTED = {
  use: ['secret.use', 'secret.share'],
  read: ['secret.read', 'secret.share'],
  write: ['secret.read', 'secret.update', 'secret.rotate', 'secret.share'],
} as const;

/** A grant shares everything in its area, whichever route creates it. */
const ofGrant = ({ permission, environments, secrets }: GrantRow): Effect => ({
  operations: GRANTED[permission],
  reach: { area: { environments, names: secrets } },
  targets: [],
});

/** The effects of requests with a provider token; policies do not hold these requests. */
const PROVIDED = {
  issue: ['secret.update', 'secret.rotate'],
  rotate: ['secret.update', 'secret.rotate'],
  revoke: ['secret.delete'],
} as const;

function ofCredential({ kind, scopes, environments, secrets, scim }: CredentialRow, find: Find): Effect[] {
  if (kind === 'scim') return [ofScimToken(find), ...ofTokenOf(scim?.connection ?? null, find)];
  if (kind === 'break_glass') return [{ operations: ['break_glass.create'], reach: 'all', targets: [] }];
  if (kind !== 'provider') return [];
  const done = scopes.flatMap((scope) => PROVIDED[scope as keyof typeof PROVIDED] ?? []);
  return [
    {
      operations: ['provider_token.create', ...new Set(done)],
      reach: { area: { environments, names: secrets } },
      targets: [],
    },
  ];
}

/**
 * The effect of a token that adds, suspends and removes members and fills teams, none of which waits for
 * approval.
 */
const ofScimToken = (find: Find): Effect => ({
  // safety: scim-token-held
  operations: ['member.change', 'team.change'],
  reach: 'all',
  targets: [],
  // safety: scim-team-of-approvers-guarded
  isGuarded({ row: { config } }) {
    const { approvers } = config as ApprovalConfig;
    return 'team_id' in approvers && (find('team', approvers.team_id)?.provisioned ?? null) !== null;
  },
});

/** Whoever has a token of a connection decides who gets what the connection gives. */
function ofTokenOf(id: string | null, find: Find): Effect[] {
  const connection = id === null ? null : find('sso_connection', id);
  // safety: scim-token-held-as-connection
  return connection
    ? ofSsoConnection(null, connection).map((one) => ({ ...one, targets: [connection] }))
    : [];
}

/** Whether an enabled approval policy holds an effect. */
export function holds(policy: Applying, { operations, reach, isGuarded }: Effect): boolean {
  if (isGuarded?.(policy)) return true;
  if (reach === 'guarded') return false;
  const { operations: held } = policy.row.config as ApprovalConfig;
  if (!operations.some((operation) => held.includes(operation))) return false;
  if (reach === 'all') return true;
  // safety: judged-before-and-after
  if ('secrets' in reach) return reach.secrets.some((row) => policy.applies(row));
  return overlaps(policy.row, reach.area);
}

/** The most steps for comparing two lists of patterns. Longer lists count as overlapping. */
const MOST_STEPS = 200_000;

/** Whether a secret of any type could be both in an area and in a policy's scope. */
function overlaps({ environments, names }: PolicyRow, area: Area): boolean {
  if (environments && area.environments && !environments.some((id) => area.environments?.includes(id)))
    return false;
  if (!names || !area.names) return true;
  const length = (patterns: readonly string[]) =>
    patterns.reduce((sum, pattern) => sum + pattern.length + 1, 0);
  // safety: overlap-steps-bounded
  if (length(names) * length(area.names) > MOST_STEPS) return true;
  return names.some((pattern) => area.names?.some((other) => intersects(pattern, other)));
}
