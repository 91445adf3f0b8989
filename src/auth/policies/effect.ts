// An effect of a request in terms of approval policies, and which policies hold it. Pure. effects.ts derives
// effects from what a request changes or reads.
import type { RowKind, RowTypes } from '../../db/rows';
import type { ApprovalConfig, HeldOperation, PolicyRow, SecretRow } from '../../db/schema';
import { intersects } from '../globs';

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
export interface Applying {
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

/**
 * Finds the rows that a change names: the secret that a link shows, the team that decides for a policy, the
 * connection of a SCIM token.
 */
export type Find = <K extends 'secret' | 'team' | 'sso_connection'>(
  kind: K,
  id: string,
) => RowTypes[K] | null;

/** Whether an operation concerns the environments of secrets, and not the whole organisation. */
export const isOfSecrets = (operation: HeldOperation): boolean =>
  operation.startsWith('secret.') || operation === 'provider_token.create';

/** The environments of a row before and after: all of both, null for no limit. */
export const either = (
  ...rows: ({ environments: readonly string[] | null } | null)[]
): readonly string[] | null => joined(rows.flatMap((row) => (row ? [row.environments] : [])));

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
