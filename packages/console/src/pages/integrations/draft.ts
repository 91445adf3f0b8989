// The draft of a connection before it is stored: its config by the platform's schema, and whether a change
// erases the stored credentials, which must then be entered again.
import type { EventType } from '@secrets-vault/client';
import { useState } from 'preact/hooks';
import { byLine, type KeyOf } from '../../changes/merge';
import type { Integration, Platform } from './platforms';
import {
  alternativeIn,
  alternativesOf,
  type Config,
  configOf,
  type Draft,
  draftOf,
  fieldsOf,
  patchOf,
  shownFields,
} from './schema';

/**
 * The default events of a new notification. Owners are always notified of new access, regardless of the
 * choice.
 */
export const USUAL: EventType[] = ['SECRET_ROTATED', 'SECRET_LEAKED', 'POLICY_VIOLATED'];

/** The input for a config: the fields, and which alternative is chosen. */
export interface ConfigDraft {
  chosen: number;
  fields: Draft;
}

/** The input for the config of a new connection, or of a stored one. */
export function configDraftOf(platform: Platform, stored?: Integration): ConfigDraft {
  const config = stored?.config as Config | undefined;
  return {
    chosen: config ? alternativeIn(alternativesOf(platform), config) : 0,
    fields: draftOf(fieldsOf(platform), config),
  };
}

/** The fields that are lists in the config, as lines of text in the form. */
export const linesIn = (platform: Platform): Record<string, KeyOf> =>
  Object.fromEntries(
    fieldsOf(platform)
      .filter(({ type }) => type === 'lines' || type === 'numbers')
      .map(({ name }) => [name, byLine]),
  );

/** The fields that show such input, and what it makes of the config. */
export function configOfDraft(
  platform: Platform,
  input: ConfigDraft,
  onInput: (input: ConfigDraft) => void,
  stored?: Integration,
) {
  const { chosen, fields: draft } = input;
  const all = fieldsOf(platform);
  const alternatives = alternativesOf(platform);
  const config = stored?.config as Config | undefined;
  const fields = shownFields(all, alternatives, chosen);
  const patch = stored ? patchOf(fields, all, draft, stored) : {};
  const credentials = new Set(all.filter(({ isCredential }) => isCredential).map(({ name }) => name));
  const mustComeAlong = Object.keys(patch).some((name) => !credentials.has(name));
  return {
    /** The props of `ConfigFields`. */
    shown: {
      fields,
      alternatives,
      chosen,
      onChosen: (next: number) => onInput({ ...input, chosen: next }),
      draft,
      onDraft: (next: Draft) => onInput({ ...input, fields: next }),
      ...(config && { stored: { config, mustComeAlong } }),
    },
    config: () => configOf(fields, draft),
    patch,
    mustComeAlong,
    dirty: stored ? Object.keys(patch).length > 0 : JSON.stringify(draft) !== JSON.stringify(draftOf(all)),
  };
}

/** The config of a new connection. */
export function useConfig(platform: Platform) {
  const [input, onInput] = useState(() => configDraftOf(platform));
  return configOfDraft(platform, input, onInput);
}
