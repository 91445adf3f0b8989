// The hash chain of the audit log. Invariant: the hash of an entry is SHA-256 over its canonical JSON (RFC
// 8785) without `hash` itself, and covers the hash before it. log.ts appends the links;
// domains/audit/check-chain.ts checks them.
import canonicalize from 'canonicalize';
import { sha256 } from '../../crypto/digest';

/** The hash before the first entry, which binds a chain to its org. */
export const genesis = (org: string): string => sha256(`svc/v1/audit/${org}`);

/** The format of new entries. */
export const FORMAT = 2;

/**
 * Computes the hash of an entry from its public form; null if its format is unknown. The hash covers the
 * format: another format, or none, results in another hash.
 */
export function hashOf({ hash: _, ...entry }: { hash: string; format?: number }): string | null {
  const text =
    entry.format === FORMAT
      ? canonicalize(entry)
      : entry.format === undefined
        ? JSON.stringify(entry)
        : undefined;
  return text === undefined ? null : sha256(text);
}

/** The hash of an entry whose fields are in the order of canonical JSON. */
export const hashOfText = (text: string): string => sha256(text);
