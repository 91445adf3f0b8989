// Where a page and its lists were left, so that Back and Forward show the same rows again. Invariants:
// positions are in memory alone and hold no names or values but the keys of rows; they are dropped when the
// session ends; a page that is opened anew starts at its top.
import { effect } from '@preact/signals';
import { me } from '../session/session';

export interface Position {
  /** In pixels from the top. */
  offset: number;
  /** The key of the row that last had the focus. */
  row?: string;
}

/** The number of positions to remember: the oldest are dropped first. */
const MOST = 100;
const positions = new Map<string, Position>();

let returns = false;
globalThis.addEventListener?.('popstate', () => {
  returns = true;
});
// Dispatched by the router.
for (const type of ['pushState', 'replaceState'])
  globalThis.addEventListener?.(type, () => {
    returns = false;
  });

effect(() => {
  if (!me.value) positions.clear();
});

/** Whether the current address was reached with Back or Forward. */
export const isReturn = (): boolean => returns;

/**
 * The position of a page or list, to be updated while it is shown: where it was left after Back or Forward,
 * otherwise its top.
 */
export function positionOf(key: string): Position {
  const position = (returns && positions.get(key)) || { offset: 0 };
  positions.delete(key);
  positions.set(key, position);
  const [oldest] = positions.keys();
  if (positions.size > MOST && oldest !== undefined) positions.delete(oldest);
  return position;
}

/** Forgets a position: the list is shown from its top again. */
export const dropPosition = (key: string): void => void positions.delete(key);
