// The events that a change raises. Invariant: events of secrets, credentials, members, grants and policies follow from the rows that a plan
// writes or removes, never from the route, so no route to the same change can miss one; a change without rows raises none.
import type { Action } from '../auth/actions';
import { hasMoved } from '../auth/effects';
import { isBrief, type RowKind } from '../db/rows';
import type { CredentialRow, GrantRow, MemberRow, PolicyRow, SecretRow } from '../db/schema';
import type { Core } from './core';
import { slugOf } from './named';
import type { EventType, Raised } from './outbox';
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

/** The events of a plan: those that it lists, and those of the rows that it changes. */
export function raisedBy(core: Core, { events = [], puts = [], gone = [] }: Plan, action: Action): Raised[] {
  const derived = [...puts.map(({ kind, row }) => [kind, row.id, row] as const), ...gone.map(({ kind, id }) => [kind, id, null] as const)];
  return [
    ...events,
    ...derived.flatMap(([kind, id, after]) => raisers[kind]?.(core.rows.get(kind, id) as never, after as never, { core, action }) ?? []),
  ];
}

/** The row before, null if it is new, and after, null if it is removed. */
type Raiser = (before: never, after: never, of: { core: Core; action: Action }) => Raised[];

/** What raises the events of each kind of row. */
const raisers: Partial<Record<RowKind, Raiser>> = {
  secret: ofSecret,
  credential: ofCredential,
  member: ofMember,
  grant: ofGrant,
  policy: ofPolicy,
};

function ofSecret(before: SecretRow | null, after: SecretRow | null, { core, action }: { core: Core; action: Action }): Raised[] {
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

/**
 * The event of creating or revoking a credential, or of changing a trust. Session tokens and browser sessions are too many and raise none.
 */
function ofCredential(before: CredentialRow | null, after: CredentialRow | null): Raised[] {
  if (!after || isBrief(after.kind)) return [];
  const raise = (type: EventType, further = {}): Raised[] => [{ type, data: { ...credentialData(after), ...further } }];
  if (!before && after.kind === 'break_glass') return raise('BREAK_GLASS_ISSUED', { by: after.created_by });
  if (!before) return raise('CREDENTIAL_CREATED');
  if (after.revoked_at !== null && before.revoked_at === null) return raise('CREDENTIAL_REVOKED');
  return after.kind === 'trust' && after.revoked_at === null ? raise('TRUST_CHANGED') : [];
}

/** The event of a member. Enrolments have their own, and ties between members raise none. */
function ofMember(before: MemberRow | null, after: MemberRow | null, { core }: { core: Core }): Raised[] {
  const row = after ?? before;
  if (!row) return [];
  const raise = (type: EventType, further = {}): Raised[] => [
    {
      type,
      data: {
        member_id: row.id,
        name: row.name,
        role: row.role,
        environments: row.environments?.map((id) => slugOf(core, id)) ?? null,
        ...further,
      },
    },
  ];
  if (!after) return raise('MEMBER_REMOVED');
  if (!before) return raise('MEMBER_ADDED');
  const isSame = before.name === after.name && before.role === after.role && before.email === after.email && !hasMoved(before, after);
  return isSame ? [] : raise('MEMBER_CHANGED', { former_role: before.role });
}

/** The event of a grant. It never changes, and one that expires raises none. */
function ofGrant(before: GrantRow | null, after: GrantRow | null): Raised[] {
  const row = after ?? before;
  if (!row || (before && after)) return [];
  const { id, grantee_type, grantee_id, permission } = row;
  return [{ type: after ? 'GRANT_CREATED' : 'GRANT_REMOVED', data: { grant_id: id, grantee_type, grantee_id, permission } }];
}

function ofPolicy(before: PolicyRow | null, after: PolicyRow | null): Raised[] {
  const row = after ?? before;
  if (!row) return [];
  const type = !after ? 'POLICY_REMOVED' : before ? 'POLICY_CHANGED' : 'POLICY_CREATED';
  return [{ type, data: { policy_id: row.id, name: row.name, kind: row.kind, enabled: row.enabled === 1 } }];
}
