// What the Worker and the gate exchange for an import. It never contains a plaintext value.
import type { Failure } from '../../adapters/import/source';
import type { Refusal } from '../../errors';
import type { EncryptedValue } from '../secrets/rules';

export const conflictWays = ['skip', 'overwrite', 'fail'] as const;
export type OnConflict = (typeof conflictWays)[number];

/** An item with its new name and its value, encrypted for a secret. */
export interface ImportItem {
  name: string;
  /** Its name in the export, shortened for display. */
  original: string;
  /**
   * The secret that the value is encrypted for: a new one, until the gate finds an existing secret with the
   * name.
   */
  id: string;
  value: EncryptedValue;
  /** The value is base64-encoded bytes. */
  is_base64: boolean;
  /** The type of the secret, if it is new. An earlier release sends none. */
  type?: 'generic' | 'json';
}

export interface ImportInput {
  source: string;
  environment: string | null;
  on_conflict: OnConflict;
  dry_run: boolean;
  items: ImportItem[];
  /** Items that failed before the gate was called. */
  failed: Failure[];
  /** Why the export could not be read. It is refused only after the permission checks. */
  refusal: Refusal | null;
}

/** What the gate asks for: values encrypted for the existing secrets, by item index. */
export interface Wanted {
  ids: [item: number, id: string][];
}

export interface ImportResult {
  created: string[];
  updated: string[];
  skipped: string[];
  failed: Failure[];
}
