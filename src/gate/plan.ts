// What a change will do: made while its rows are locked, carried out by `commit.ts`.

import type { RowKind } from '../db/rows';
import type { SecretRow, VersionRow } from '../db/schema';
import type { Statement } from '../db/statements';
import type { Refusal } from '../errors';
import type { Subject } from './audit-entry';
import type { Intent } from './intents';
import type { Raised } from './outbox';

/** A row as it will be, and the revision that it replaces; 0 for a new row. */
export type Put = Intent['puts'][number] & { from: number };

/** What a change will do. Rows come from `insertion` and `revision`, so that they bear a MAC. */
export interface Plan {
  status: number;
  /** The body of the answer, without its one-time values. */
  data: unknown;
  etag?: string;
  puts?: Put[];
  gone?: { kind: RowKind; id: string }[];
  /** New versions; their ciphertexts go into the cache. */
  versions?: VersionRow[];
  /** Further statements of the batch, before its marker. */
  also?: Statement[];
  environments?: string[];
  destroyed?: string[];
  trimmed?: { secret: string; version: number }[];
  /** The resource that kept one-time values belong to. */
  resource?: string;
  events?: Raised[];
  /** What only the change knows of its target, for the audit entry. */
  about?: Partial<Subject>;
  /** The change is noted, and the request refused: it waits for approval. */
  refusal?: Refusal;
  /** Secrets whose values leave with it. */
  reveals?: SecretRow[];
  /** The response of a read is not stored. */
  isRead?: true;
  /** What it asks for, without any value, in words that finish the sentence "X asks to …" for those who approve it. */
  describes?: string;
}
