// The data in rows of trusts and their session tokens: which tokens of which issuer are accepted. Invariant:
// a trust contains only public keys.

/** A public key that verifies tokens (RFC 7517): its required members, and those that identify it. */
export type IssuerKey = { kid?: string; alg?: string; use?: 'sig' } & (
  | { kty: 'RSA'; n: string; e: string }
  | { kty: 'EC'; crv: 'P-256'; x: string; y: string }
  | { kty: 'OKP'; crv: 'Ed25519'; x: string }
);

/** Globs by claim; one of them must match. */
export type Claims = Record<string, string | string[]>;

/**
 * What a trust accepts. `keys` by thumbprint (RFC 7638) if its creator provided them; null if the issuer
 * publishes them.
 */
export interface Trust {
  issuer: string;
  audiences: string[];
  claims: Claims;
  ttl: number;
  keys: Record<string, IssuerKey> | null;
  /** Whether a token may be exchanged any number of times until it ends. Absent: ten times. */
  reuse?: boolean;
  /** When it was last changed, except for its name. */
  changed_at: number;
}

/**
 * The contents of a verified token. `key` is the thumbprint of the verifying key if the trust contains the
 * keys itself.
 */
export interface Workload {
  issuer: string;
  audiences: string[];
  claims: Record<string, string[]>;
  key: string | null;
}
