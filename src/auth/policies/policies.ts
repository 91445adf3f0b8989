// Which policies apply to a secret. Pure. Invariant: limits only narrow a policy, so a policy without limits
// applies to every secret of its organisation.
import type { PolicyRow, SecretType } from '../../db/schema';
import { matches } from '../globs';

/** A secret before or after a change. */
export interface PolicyTarget {
  environment_id: string;
  type: SecretType;
  name: string;
}

/** Whether a name matches the patterns of a policy; null for every name. */
export const matchesName = (names: PolicyRow['names'], name: string): boolean =>
  names === null || names.some((pattern) => matches(pattern, name));

/**
 * Whether a policy with these limits applies to a target. Name patterns are compared last because they cost
 * most.
 */
export const appliesTo = (
  { environments, types, names }: Pick<PolicyRow, 'environments' | 'types' | 'names'>,
  { environment_id, type, name }: PolicyTarget,
): boolean =>
  (environments === null || environments.includes(environment_id)) &&
  (types === null || types.includes(type)) &&
  matchesName(names, name);
