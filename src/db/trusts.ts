// What rows of trusts hold, and of the session tokens that they gave: which tokens of which issuer are accepted. Invariant: a trust keeps public
// keys alone.

/** A public key that tokens are verified with (RFC 7517): its required members, and how it is told from others. */
export type IssuerKey = { kid?: string; alg?: string } & (
  | { kty: 'RSA'; n: string; e: string }
  | { kty: 'EC'; crv: 'P-256'; x: string; y: string }
  | { kty: 'OKP'; crv: 'Ed25519'; x: string }
);

/** Globs by claim: one of them has to match. */
export type Claims = Record<string, string | string[]>;

/** What a trust accepts. `keys` by their thumbprints (RFC 7638) where its maker gave them; null where the issuer publishes them. */
export interface Trust {
  issuer: string;
  audiences: string[];
  claims: Claims;
  ttl: number;
  keys: Record<string, IssuerKey> | null;
  /** When it was last changed, but for its name. */
  changed_at: number;
}

/** What a verified token says. `key` is the thumbprint of the key that verified it, where the trust holds the keys itself. */
export interface Workload {
  issuer: string;
  audiences: string[];
  claims: Record<string, string[]>;
  key: string | null;
}
