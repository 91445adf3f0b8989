// The events of secrets. Invariant: they follow from the rows that a change writes or removes, never from its
// route.
import type { Action } from '../../../auth/actions';
import type { SecretRow } from '../../../db/schema';
import type { Raise } from '../../../gate/core';
import { secretData } from '../../../gate/events/raised';
import type { Raised } from '../../../gate/outbox';

/** Actions whose new value is a rotation; any other new value is an update. */
const ROTATING: ReadonlySet<Action> = new Set([
  'secret.rotate',
  'secret.auto_rotate',
  'provider.issue',
  'provider.rotate',
]);

export const raised: Raise<'secret'> = (before, after, { core, action }) => {
  const raise = (type: Raised['type'], further = {}): Raised[] => [
    { type, data: { ...secretData(core, (after ?? before) as SecretRow), ...further } },
  ];
  if (!after) return before ? raise('SECRET_DELETED', { permanent: true }) : [];
  if (!before) return raise('SECRET_CREATED');
  if (after.deleted_at !== null && before.deleted_at === null)
    return raise('SECRET_DELETED', { permanent: false });
  if (after.deleted_at === null && before.deleted_at !== null) return raise('SECRET_RESTORED');
  if (after.revoked_at !== null && before.revoked_at === null) return raise('SECRET_REVOKED');
  if (after.version > before.version && ROTATING.has(action)) return raise('SECRET_ROTATED');
  return raise('SECRET_UPDATED', after.name === before.name ? {} : { former_name: before.name });
};
