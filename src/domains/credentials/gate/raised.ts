// The events of credentials. Invariant: they follow from the rows that a change writes, never from its route.
import { isBrief } from '../../../db/credential-kinds';
import type { Raise } from '../../../gate/core';
import { credentialData } from '../../../gate/events/raised';
import type { EventType, Raised } from '../../../gate/outbox';

/**
 * The event of creating or revoking a credential, or of changing a trust. Session tokens and browser sessions
 * are too many and raise none.
 */
export const raised: Raise<'credential'> = (before, after) => {
  if (!after || isBrief(after.kind)) return [];
  const raise = (type: EventType, further = {}): Raised[] => [
    { type, data: { ...credentialData(after), ...further } },
  ];
  if (!before && after.kind === 'break_glass') return raise('BREAK_GLASS_ISSUED', { by: after.created_by });
  if (!before) return raise('CREDENTIAL_CREATED');
  if (after.revoked_at !== null && before.revoked_at === null) return raise('CREDENTIAL_REVOKED');
  return after.kind === 'trust' && after.revoked_at === null ? raise('TRUST_CHANGED') : [];
};
