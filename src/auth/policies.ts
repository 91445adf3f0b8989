// Which policies apply to a secret. Pure: a policy and a target in, an answer out. Invariant: what bounds a policy only narrows it, so a
// policy without bounds applies to every secret of its organisation.
import type { PolicyRow, SecretType } from '../db/schema';
import { matches } from './globs';

/** What a policy is asked about: a secret as it is, or as it would be. */
export interface PolicyTarget {
  environment_id: string;
  type: SecretType;
  name: string;
}

/** Whether a policy that is bounded so applies to a target. The patterns of names come last, for they cost most. */
export const appliesTo = (
  { environments, types, names }: Pick<PolicyRow, 'environments' | 'types' | 'names'>,
  { environment_id, type, name }: PolicyTarget,
): boolean =>
  (environments === null || environments.includes(environment_id)) &&
  (types === null || types.includes(type)) &&
  (names === null || names.some((pattern) => matches(pattern, name)));
