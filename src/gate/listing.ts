// Lists of rows, page by page, in the order of ids: which is the order in which they were made. Invariant: a page looks at a bounded
// number of rows, so that a list of few among many takes more pages, never more time.

import type { RowKind, RowTypes } from '../db/rows';
import type { Core } from './core';
import { type Outcome, ok } from './outcome';

/** What a list is asked for: so many items, after that id. */
export interface ListInput {
  limit: number;
  after: string | null;
}

const LOOKED_AT = 1000;
const STEP = 200;

/** One page of the rows whose id begins with `prefix` and for which `show` gives something. */
export function listed<K extends RowKind>(
  core: Core,
  kind: K,
  prefix: string,
  { limit, after }: ListInput,
  show: (row: RowTypes[K]) => unknown | null,
): Outcome {
  const items: unknown[] = [];
  const page = (next: string | null): Outcome => ok({ items, next });
  let last = after ?? prefix;
  for (let looked = 0; looked < LOOKED_AT; looked += STEP) {
    const rows = core.rows.after(kind, last, STEP);
    for (const row of rows) {
      if (!row.id.startsWith(prefix)) return page(null);
      const item = show(row);
      if (item !== null) {
        if (items.length === limit) return page(last);
        items.push(item);
      }
      last = row.id;
    }
    if (rows.length < STEP) return page(null);
  }
  return page(last);
}
