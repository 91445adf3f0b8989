// What clients of AWS Secrets Manager find at a name: a secret, a deleted one that can be restored, or a
// secret without a value. Invariants: what is marked for deletion is refused in AWS's own words, by which
// clients know it; a label names one version of the secret as it is now.
import { idBytes, idOf } from '../../../../db/ids';
import type { EnvironmentRow, ReservedSecretRow, SecretRow } from '../../../../db/schema';
import { type Refusal, refuse } from '../../../../errors';
import type { Call } from '../../../../gate/request/call';
import { iso } from '../../../../http/wire';
import { hasVersion } from '../../rules';
import { placeOf } from '../paths';
import { unknownEnvironment } from '../reads';

/** How every request names a secret: by the name in the path and, with a whole ARN, by the end of its id. */
export interface AwsNamed {
  suffix: string | null;
}

/** The characters of a secret's id that its ARN ends with. */
export const suffixOf = (id: string): string => id.slice(-6);

/** The id that a secret without a value will have once it has one: its ARN does not change. */
export const secretIdOf = ({ id }: ReservedSecretRow): string =>
  idOf('sec', idBytes('rsv', id) as Uint8Array);

export const MARKED = "You can't perform this operation on the secret because it was marked for deletion.";
export const marked = (): Refusal => refuse('CONFLICT', { message: MARKED });
export const absent = (): Refusal => refuse('NOT_FOUND');

export interface AwsPlace {
  environment: EnvironmentRow | null;
  live: SecretRow | null;
  deleted: SecretRow | null;
  /** A secret without a value. */
  empty: ReservedSecretRow | null;
}

/** What has the name; with a suffix, only what has that id. */
export function awsPlaceOf(call: Call<unknown>, now = call.core.now()): AwsPlace {
  const { environment, live, deleted, reserved } = placeOf(call, now);
  const suffix = (call.input as Partial<AwsNamed> | null)?.suffix ?? null;
  const named = <R extends { id: string }>(row: R | null): R | null =>
    // safety: arn-of-this-secret
    row && (suffix === null || suffixOf(row.id) === suffix) ? row : null;
  return {
    environment,
    live: named(live),
    deleted: named(deleted),
    empty: reserved?.stays ? named(reserved) : null,
  };
}

/** The live secret or the one without a value; otherwise why there is none. */
export function usable(
  call: Call<AwsNamed>,
  now?: number,
): { live: SecretRow; empty: null } | { live: null; empty: ReservedSecretRow } | Refusal {
  const { environment, live, empty, deleted } = awsPlaceOf(call, now);
  if (!environment) return unknownEnvironment(call.ask.named.environment);
  if (live) return { live, empty: null };
  if (empty) return { live: null, empty };
  return deleted ? marked() : absent();
}

/** A secret as its answers show it, without a value. */
export interface AwsShown {
  id: string;
  name: string;
  description: string | null;
  tags: Record<string, string>;
  created_at: string;
  updated_at: string;
  deleted_at: string | null;
  /** The current version; 0 for a secret without a value. */
  version: number;
  /** The version with the label AWSPREVIOUS. */
  previous: number | null;
}

/** The version before the current one, if it is there and has its label. */
export const previousOf = (row: SecretRow): number | null =>
  row.version > 1 && row.unlabelled !== row.version - 1 && hasVersion(row, row.version - 1)
    ? row.version - 1
    : null;

export const shownOf = (row: SecretRow): AwsShown => ({
  id: row.id,
  name: row.name,
  description: row.description,
  tags: row.tags,
  created_at: iso(row.created_at),
  updated_at: iso(row.updated_at),
  deleted_at: row.deleted_at === null ? null : iso(row.deleted_at),
  version: row.version,
  previous: previousOf(row),
});

export const shownOfEmpty = (row: ReservedSecretRow): AwsShown => ({
  id: secretIdOf(row),
  name: row.name,
  description: row.description,
  tags: row.tags,
  created_at: iso(row.created_at),
  updated_at: iso(row.created_at),
  deleted_at: null,
  version: 0,
  previous: null,
});
