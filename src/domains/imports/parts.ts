// What passes between the Worker and the gate for an import. No value is among it in plain text.
import type { Failure } from '../../adapters/import/source';
import type { Refusal } from '../../errors';
import type { EncryptedValue } from '../secrets/rules';

export const conflictWays = ['skip', 'overwrite', 'fail'] as const;
export type OnConflict = (typeof conflictWays)[number];

/** An item with the name that it gets, and its value, encrypted for a secret. */
export interface ImportItem {
  name: string;
  /** Its name in the export, as far as it is shown. */
  original: string;
  /** The secret that the value is encrypted for: a new one, until the gate says which one has the name. */
  id: string;
  value: EncryptedValue;
  /** The value is the base64 text of bytes. */
  is_base64: boolean;
}

export interface ImportInput {
  source: string;
  environment: string | null;
  on_conflict: OnConflict;
  dry_run: boolean;
  items: ImportItem[];
  /** What failed before the gate was asked. */
  failed: Failure[];
  /** Why the export could not be read, which is refused in its turn: after what the caller may not do. */
  refusal: Refusal | null;
}

/** What the gate asks for: values that are encrypted for the secrets that have the names, by the place of the item. */
export interface Wanted {
  ids: [item: number, id: string][];
}

export interface ImportResult {
  created: string[];
  updated: string[];
  skipped: string[];
  failed: Failure[];
}
