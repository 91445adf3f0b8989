// What the Worker and the gate exchange during a scan. Invariant: nothing of the text, and only hashes and keyed digests of what was
// found.
import type { Kind, PageKind } from '../../auth/token';

/** A genuine token of this organisation that stands in the text; a refresh token says whose session it renews, and which of its tokens it is. */
export type FoundToken = { kind: Kind | PageKind; hash: string } | { kind: 'refresh'; hash: string; session: string; n: number };

export interface ScanInput {
  id: string;
  revoke_live: boolean;
  /** How many findings matched a format only. */
  known: number;
  tokens: FoundToken[];
  /** Keyed digests of what could be the value of a secret; null before the text is scanned. */
  fingerprints: string[] | null;
  /** For those that are values, keyed digests of their places, by fingerprint; null before the gate has named them. */
  places: Record<string, string[]> | null;
}

/** What the gate knows of a token. */
export interface KnownToken {
  live: boolean;
  kind: FoundToken['kind'];
  /** Null where the gate does not know it any more. */
  id: string | null;
  /** Of a share link that is live: its secret. */
  secret?: string;
  /** Whether the caller may see its id. */
  isShown: boolean;
  /** Its distance above the caller: 0 for the calling credential, null if the caller does not end with it. */
  above: number | null;
}

export interface ScanPart {
  tokens: KnownToken[];
  /** Ids of the secrets that have these values, by fingerprint. */
  secrets: Record<string, string[]>;
}
