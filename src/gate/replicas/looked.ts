// What a request has looked at, as far as replicas may not have it yet. Of the rows that decide who may do
// what, all count for every request; of secrets, those that it has looked at. Invariant: whatever is not
// known in detail counts as all.

import type { RowKind } from '../../db/rows';
import type { JournalRecord } from '../journal/records';

/** The secrets that a request has looked at. */
export interface Looked {
  ids: Set<string>;
  /** It looked at a list, or for a name that it did not find. */
  all: boolean;
}

export const nothingLooked = (): Looked => ({ ids: new Set(), all: false });

/** Notes a row that is looked at; without an id, a list. */
export function lookAt(looked: Looked, kind: RowKind, id: string | null): void {
  if (kind !== 'secret') return;
  // safety: list-rests-on-all
  if (id === null) looked.all = true;
  else looked.ids.add(id);
}

/** What a record changes. */
export interface Changes {
  n: number;
  /** Rows other than secrets: any request may rest on them. */
  isGeneral: boolean;
  secrets: ReadonlySet<string>;
}

/**
 * Whether a record only adds rows by whose absence nobody answers: a replica asks the gate for a token that
 * it does not know.
 */
const onlyAdds = ({ writes, local = [], deletes, statements, versions, trimmed }: JournalRecord): boolean =>
  deletes.length + statements.length + versions.length + trimmed.length === 0 &&
  // safety: added-credential-stable
  [...writes, ...local].every(({ kind, from }) => kind === 'credential' && from === 0);

/** What a record changes for requests; null if no request can have rested on the state before. */
export function changesOf(record: JournalRecord): Changes | null {
  if (onlyAdds(record)) return null;
  const writes = [...record.writes, ...(record.local ?? [])];
  const rows = [...writes.map(({ kind, row: { id } }) => ({ kind, id })), ...record.deletes];
  return {
    n: record.n,
    isGeneral: record.statements.length > 0 || rows.some(({ kind }) => kind !== 'secret'),
    secrets: new Set(rows.filter(({ kind }) => kind === 'secret').map(({ id }) => id)),
  };
}

/** The last of these changes that a request rests on; 0 if it rests on none. */
export function restsOn(changes: readonly Changes[], looked: Looked | 'everything'): number {
  for (let at = changes.length - 1; at >= 0; at--) {
    const { n, isGeneral, secrets } = changes[at] as Changes;
    if (looked === 'everything' || isGeneral || looked.all || [...looked.ids].some((id) => secrets.has(id)))
      return n;
  }
  return 0;
}
