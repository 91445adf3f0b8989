// Lists of rows, page by page in id order, which is creation order. Invariant: a page examines a bounded
// number of rows, so a list with few matches takes more pages, not more time per page.

import type { RowKind, RowTypes } from '../../db/rows';
import type { Core } from '../core';
import { type Outcome, ok } from './outcome';

/** The input of a list: this many items, after that id. */
export interface ListInput {
  limit: number;
  after: string | null;
}

const LOOKED_AT = 1000;
const STEP = 200;

/** One page of the rows whose id begins with `prefix` and for which `show` returns something. */
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
