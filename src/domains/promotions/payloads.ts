// What the Worker and the gate exchange for a promotion. It never contains a plaintext value.
import type { Delivered, EncryptedValue } from '../secrets/rules';

export interface PromotionInput {
  /** The environment to copy from, by id or slug. */
  from: string;
  names: string[] | null;
  prefix: string | null;
  /** Whether to delete what the source does not have. */
  prune: boolean;
  dry_run: boolean;
  /** The ETag of a dry run. */
  if_match: string | null;
  /** The values, encrypted for the target; null until the gate has given them out. */
  values: PromotedValue[] | null;
}

/** A value of the source, encrypted for a secret of the target. */
export interface PromotedValue {
  name: string;
  id: string;
  value: EncryptedValue;
}

/** What the gate asks for: these values, encrypted for these secrets; null for a new one. */
export interface Wanted {
  items: { source: Delivered; id: string | null }[];
}

/** The names by what becomes of them. */
export interface PromotionResult {
  created: string[];
  updated: string[];
  unchanged: string[];
  removed: string[];
}
