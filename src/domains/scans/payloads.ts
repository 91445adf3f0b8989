// What the Worker and the gate exchange during a scan. Invariant: it contains nothing of the text, and only
// hashes and keyed digests of the findings.
import type { PageKind, TokenKind } from '../../auth/authentication/token';

/**
 * A genuine token of this organisation in the text. `hash` is its SHA-256. A refresh token is the `n`-th of
 * its session.
 */
export type FoundToken =
  | { kind: TokenKind | PageKind; hash: string }
  | { kind: 'refresh'; hash: string; session: string; n: number };

export interface ScanInput {
  id: string;
  revoke_live: boolean;
  /** How many findings matched a format only. */
  known: number;
  tokens: FoundToken[];
  /** Keyed digests of candidates for secret values; null before the text is scanned. */
  fingerprints: string[] | null;
  /**
   * Keyed digests of the places of actual values, by fingerprint; null before the gate has named the values.
   */
  places: Record<string, string[]> | null;
}

/** What the gate knows about a token. */
export interface KnownToken {
  live: boolean;
  kind: FoundToken['kind'];
  /** Null if the gate no longer knows it. */
  id: string | null;
  /** For a live share link: its secret. */
  secret?: string;
  /** Whether the caller may see its id. */
  isShown: boolean;
  /**
   * Its distance above the caller: 0 for the calling credential, null if the caller is not revoked together
   * with it.
   */
  above: number | null;
}

/** A secret that the caller may read: its id, its name, and the slug of its environment. */
export interface KnownSecret {
  id: string;
  name: string;
  environment: string | null;
}

export interface ScanPart {
  tokens: KnownToken[];
  /** The secrets that have these values, by fingerprint. */
  secrets: Record<string, KnownSecret[]>;
  /** Whether more secrets have these values. A gate of release 0.5.0 does not say. */
  isCut?: boolean;
}
