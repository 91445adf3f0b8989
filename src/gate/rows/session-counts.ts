// How many session tokens each root has in the gate, ended ones included until they leave. Counted when the
// gate starts, then as they come and go: minting writes nothing more. Invariant: a token is counted for the
// root of its parent until it leaves, also if the parent has left.
import type { CredentialRow } from '../../db/schema';
import { type RootReader, rootOfCredential } from './quota-root';

export interface SessionCounts {
  /** How many a root has. */
  of(root: string): number;
  all(): number;
  /** Follows a change of a credential. */
  note(before: CredentialRow | null, after: CredentialRow | null): void;
  clear(): void;
}

interface Parent {
  root: string;
  count: number;
}

export function createSessionCounts(sql: SqlStorage, rows: RootReader): SessionCounts {
  const parents = new Map<string, Parent>();
  const roots = new Map<string, number>();
  let total = 0;
  const add = (id: string, count: number) => {
    const parent = parents.get(id) ?? { root: rootOfCredential({ rows }, id), count: 0 };
    parent.count += count;
    if (parent.count > 0) parents.set(id, parent);
    else parents.delete(id);
    const left = (roots.get(parent.root) ?? 0) + count;
    if (left > 0) roots.set(parent.root, left);
    else roots.delete(parent.root);
    total += count;
  };
  for (const { parent, count } of sql.exec<{ parent: string; count: number }>(
    "select body ->> 'dies_with' parent, count(*) count from rows where kind = 'credential' and space = 'session' and body is not null group by parent",
  ))
    add(parent, count);
  const parentOf = (row: CredentialRow | null) => (row?.kind === 'session' ? row.dies_with : null);
  return {
    of: (root) => roots.get(root) ?? 0,
    all: () => total,
    note(before, after) {
      if (!before === !after) return;
      const id = parentOf(before) ?? parentOf(after);
      if (id !== null) add(id, after ? 1 : -1);
    },
    clear() {
      parents.clear();
      roots.clear();
      total = 0;
    },
  };
}
