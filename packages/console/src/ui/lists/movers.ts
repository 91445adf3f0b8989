// The tables on the page, for keyboard shortcuts. Apart from their code, because the shell contains the
// shortcuts but no table.

/** Moves the focus through the rows of a table. */
export interface Mover {
  count: () => number;
  /** The number of rows that fit into the view. */
  page: () => number;
  /** The number of the row that has the focus; undefined if none has it. */
  current: () => number | undefined;
  /** The number of the first row in view. */
  first: () => number;
  /** Scrolls to a row and focuses its link or button. */
  focus: (index: number) => void;
}

/** By the element of the table, for keyboard shortcuts. */
export const movers = new WeakMap<Element, Mover>();
