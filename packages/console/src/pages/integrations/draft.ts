// The draft of a connection before it is stored: its config by the platform's schema, and whether a change erases the stored
// credentials, which must then be entered again.
import type { EventType } from '@secrets-vault/client';
import { useState } from 'preact/hooks';
import type { Integration, Platform } from './platforms';
import { alternativeIn, alternativesOf, type Config, configOf, draftOf, fieldsOf, patchOf, shownFields } from './schema';

/** The default events of a new notification. Owners are always notified of new access, regardless of the choice. */
export const USUAL: EventType[] = ['SECRET_ROTATED', 'SECRET_LEAKED', 'POLICY_VIOLATED'];

/** The config of a new connection, or of a stored one being changed. */
export function useConfig(platform: Platform, stored?: Integration) {
  const [all] = useState(() => fieldsOf(platform));
  const [alternatives] = useState(() => alternativesOf(platform));
  const config = stored?.config as Config | undefined;
  const [chosen, onChosen] = useState(() => (config ? alternativeIn(alternatives, config) : 0));
  const [draft, onDraft] = useState(() => draftOf(all, config));
  const fields = shownFields(all, alternatives, chosen);
  const patch = stored ? patchOf(fields, all, draft, stored) : {};
  const credentials = new Set(all.filter(({ isCredential }) => isCredential).map(({ name }) => name));
  const mustComeAlong = Object.keys(patch).some((name) => !credentials.has(name));
  return {
    /** The props of `ConfigFields`. */
    shown: { fields, alternatives, chosen, onChosen, draft, onDraft, ...(config && { stored: { config, mustComeAlong } }) },
    config: () => configOf(fields, draft),
    patch,
    mustComeAlong,
    dirty: stored ? Object.keys(patch).length > 0 : JSON.stringify(draft) !== JSON.stringify(draftOf(all)),
  };
}
