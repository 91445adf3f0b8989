// The effects of a request in terms of approval policies. Pure. An effect follows from the rows that a change
// writes or removes, or from the secret that a read reveals, never from the route, so no route to the same
// effect can be missed.
import type { ApprovalConfig, CredentialRow, PolicyRow, TeamMemberRow } from '../../db/schema';
import { type Change, type Effect, either, type Find, isOfSecrets } from './effect';
import { ofFreedLink, ofMember, ofScimToken, ofSsoConnection, ofTeam, ofTokenOf } from './effects-of-people';
import {
  ofEnvironment,
  ofGrant,
  ofOrg,
  ofSecret,
  ofShare,
  ofUpstream,
  type Placed,
} from './effects-of-secrets';

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
