// The events that a change raises. Invariant: events of secrets, credentials, members, grants and policies
// follow from the rows that a plan writes or removes, never from the route, so no route to the same change
// can miss one; a change without rows raises none.
import type { Action } from '../../auth/actions';
import type { RowKind } from '../../db/rows';
import type { CredentialRow, SecretRow } from '../../db/schema';
import type { Core } from '../core';
import type { Raised } from '../outbox';
import type { Plan } from '../request/plan';
import { slugOf } from '../request/target';

/** A secret in events. The environment id decides who may see the event: a slug can be reused. */
export const secretData = (core: Pick<Core, 'rows'>, { id, name, environment_id, version }: SecretRow) => ({
  secret_id: id,
  name,
  environment: slugOf(core as Core, environment_id),
  environment_id,
  version,
});

/** A credential in events. */
export const credentialData = ({ id, kind, name }: CredentialRow) => ({ credential_id: id, kind, name });

/** The events of a plan: those that it lists, and those of the rows that it changes. */
export function raisedBy(
  core: Core,
  { events = [], writes = [], deletes = [] }: Plan,
  action: Action,
): Raised[] {
  const derived = [
    ...writes.map(({ kind, row }) => [kind, row.id, row] as const),
    ...deletes.map(({ kind, id }) => [kind, id, null] as const),
  ];
  return [
    ...events,
    ...derived.flatMap(([kind, id, after]) =>
      core.rules.raise<RowKind>(kind, core.rows.get(kind, id), after, { core, action }),
    ),
  ];
}
