// Whether a caller's limits include a connection. Invariants: a connection outside the caller's environments
// looks non-existent; whoever changes or deletes one can reach all that it can send.
import { type Caller, nobody, reachesEnvironment } from '../../../auth/authorize';
import { withinPermissions } from '../../../auth/delegation';
import type { IntegrationRow } from '../../../db/schema';
import { type Refusal, refuse } from '../../../errors';

const both = (a: readonly string[] | null, b: readonly string[] | null) =>
  a && b ? a.filter((id) => b.includes(id)) : (a ?? b);

/**
 * What a connection can send: one of kind notify tells of the whole organisation, and a sync connection of an
 * earlier release may not say.
 */
const sends = ({ environments, reach }: IntegrationRow) =>
  (reach ?? [{ environments: null, secrets: null }]).map((one) => ({
    ...one,
    environments: both(environments, one.environments),
  }));

/** The environments that a connection is about; null for all. */
function environmentsOf({ environments, reach }: IntegrationRow): readonly string[] | null {
  if (environments) return environments;
  return reach?.every((one) => one.environments) ? reach.flatMap((one) => one.environments ?? []) : null;
}

/** Whether a connection is shown to a caller. One of kind notify belongs to no environment. */
export function sees(caller: Caller, scopes: readonly string[], row: IntegrationRow): boolean {
  const ids = environmentsOf(row);
  // safety: connections-outside-limits-hidden
  return row.kind !== 'sync' || !ids?.length || ids.some((id) => reachesEnvironment(caller, scopes, id));
}

/** The environments of a connection that a caller may know; null for all within its creator's reach. */
export const environmentsSeen = (
  caller: Caller,
  scopes: readonly string[],
  { environments }: IntegrationRow,
): string[] | null => environments?.filter((id) => reachesEnvironment(caller, scopes, id)) ?? null;

/** 403 for a caller who does not reach all that a connection can send. */
export function mayChange(
  { permissions }: Caller,
  scopes: readonly string[],
  row: IntegrationRow,
): Refusal | null {
  const caller = { ...nobody, permissions };
  const wanted = sends(row).map(({ environments, secrets }) => ({
    environments,
    secrets,
    // It uses none.
    upstreams: [],
    scopes,
    expires_at: null,
    allowed_addresses: null,
  }));
  // safety: connection-changed-within-reach
  return wanted.every((one) => withinPermissions(caller, one) === null) ? null : beyond;
}

const beyond = refuse('INSUFFICIENT_SCOPE', {
  message:
    'This connection reaches beyond the environments or names of this credential. Use a credential that reaches all of them.',
});
