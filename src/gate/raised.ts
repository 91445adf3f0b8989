// The events that a change raises. Invariant: events of secrets and credentials follow from the rows that a plan writes or removes, never
// from the route, so no route to the same change can miss one; a change without rows raises none.
import type { Action } from '../auth/actions';
import { isBrief } from '../db/rows';
import type { CredentialRow, SecretRow } from '../db/schema';
import type { Core } from './core';
import { slugOf } from './named';
import type { Raised } from './outbox';
import type { Plan } from './plan';

/** Actions whose new value is a rotation; any other new value is an update. */
const ROTATING: ReadonlySet<Action> = new Set(['secret.rotate', 'secret.auto_rotate', 'provider.issue', 'provider.rotate']);

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

/** The events of a plan: those that it lists, and those of the secrets and credentials that it changes. */
export function raisedBy(core: Core, { events = [], puts = [], gone = [] }: Plan, action: Action): Raised[] {
  const derived = [...puts.map(({ kind, row }) => [kind, row.id, row] as const), ...gone.map(({ kind, id }) => [kind, id, null] as const)];
  return [
    ...events,
    ...derived.flatMap(([kind, id, after]): Raised[] => {
      if (kind === 'secret') return ofSecret(core, core.rows.get('secret', id), after as SecretRow | null, action);
      return kind === 'credential' ? ofCredential(core.rows.get('credential', id), after as CredentialRow | null) : [];
    }),
  ];
}

function ofSecret(core: Core, before: SecretRow | null, after: SecretRow | null, action: Action): Raised[] {
  const raise = (type: Raised['type'], further = {}): Raised[] => [
    { type, data: { ...secretData(core, (after ?? before) as SecretRow), ...further } },
  ];
  if (!after) return before ? raise('SECRET_DELETED', { permanent: true }) : [];
  if (!before) return raise('SECRET_CREATED');
  if (after.deleted_at !== null && before.deleted_at === null) return raise('SECRET_DELETED', { permanent: false });
  if (after.deleted_at === null && before.deleted_at !== null) return raise('SECRET_RESTORED');
  if (after.revoked_at !== null && before.revoked_at === null) return raise('SECRET_REVOKED');
  if (after.version > before.version && ROTATING.has(action)) return raise('SECRET_ROTATED');
  return raise('SECRET_UPDATED', after.name === before.name ? {} : { former_name: before.name });
}

/** The event of creating or revoking a credential. Session tokens and browser sessions are too many and raise none. */
function ofCredential(before: CredentialRow | null, after: CredentialRow | null): Raised[] {
  if (!after || isBrief(after.kind)) return [];
  if (!before && after.kind === 'break_glass')
    return [{ type: 'BREAK_GLASS_ISSUED', data: { ...credentialData(after), by: after.created_by } }];
  if (!before) return [{ type: 'CREDENTIAL_CREATED', data: credentialData(after) }];
  return after.revoked_at !== null && before.revoked_at === null ? [{ type: 'CREDENTIAL_REVOKED', data: credentialData(after) }] : [];
}
