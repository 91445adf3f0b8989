// The rendered rows of a table (TanStack Virtual): those in view, and the one that has the focus, so that the
// keyboard continues from it. Invariant: the focus moves by the number of a row, whether the row is rendered
// or not.
import { elementScroll, observeElementOffset, observeElementRect, Virtualizer } from '@tanstack/virtual-core';
import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import { positionOf } from '../../navigation/positions';
import type { Mover } from './movers';

/** The height of a row in pixels. */
const ROW = 48;
/** The next page is loaded when the view ends this many rows before the end. */
const AHEAD = 40;

const rowOf = (target: EventTarget | null): Element | null =>
  target instanceof Element ? target.closest('.table-row') : null;
const indexOf = (row: Element): number => Number(row.ariaRowIndex) - 2;

/** Whether the focus is nowhere but on the title of the page. */
const isFree = (): boolean =>
  document.activeElement === document.body || Boolean(document.activeElement?.matches('h1'));

function focusIn(scroller: Element | null, index: number): void {
  const row = scroller?.querySelector(`[aria-rowindex="${index + 2}"]`);
  row?.querySelector<HTMLElement>('a, button')?.focus({ preventScroll: true });
}

function useVirtual(count: number, offset: number, onOffset: (offset: number) => void) {
  const scroller = useRef<HTMLDivElement>(null);
  const [, draw] = useState(0);
  const redraw = () => draw((times) => times + 1);
  const [virtual] = useState(
    () =>
      new Virtualizer<HTMLDivElement, HTMLElement>({
        count,
        getScrollElement: () => scroller.current,
        estimateSize: () => ROW,
        overscan: 12,
        initialOffset: offset,
        observeElementRect,
        observeElementOffset,
        scrollToFn: elementScroll,
        onChange: ({ scrollOffset }) => {
          onOffset(scrollOffset ?? 0);
          redraw();
        },
      }),
  );
  virtual.setOptions({ ...virtual.options, count });
  useLayoutEffect(() => virtual._didMount(), [virtual]);
  useLayoutEffect(() => virtual._willUpdate());
  return { virtual, scroller, redraw };
}

interface Shown {
  index: number;
  /** In pixels from the top. */
  start: number;
}

/** The rows in view, and the active one above or below them. */
function withActive(shown: Shown[], active: number, count: number): Shown[] {
  const [first] = shown;
  if (!first || active < 0 || active >= count || shown.some(({ index }) => index === active)) return shown;
  const one = { index: active, start: active * ROW };
  return active < first.index ? [one, ...shown] : [...shown, one];
}

/**
 * The rows to render.
 * @param name identifies the list: its position is remembered by this name
 * @param keyAt the key of a row
 * @param onEnd called when the end is near
 */
export function useRows(name: string, count: number, keyAt: (index: number) => string, onEnd?: () => void) {
  const [position] = useState(() => positionOf(name));
  const { virtual, scroller, redraw } = useVirtual(count, position.offset, (offset) => {
    position.offset = offset;
  });
  /** The row that has the focus, or had it last: it is rendered even out of view. */
  const active = useRef(-1);
  /** The row that gets the focus once it is rendered. */
  const wanted = useRef(-1);
  useState(() => {
    if (position.row === undefined) return;
    active.current = Array.from({ length: count }).findIndex((_, index) => keyAt(index) === position.row);
    wanted.current = active.current;
  });
  const items = withActive(virtual.getVirtualItems(), active.current, count);
  const isDrawn = items.length > 0;
  useLayoutEffect(() => {
    if (!isDrawn || wanted.current < 0) return;
    if (isFree() || scroller.current?.contains(document.activeElement))
      focusIn(scroller.current, wanted.current);
    wanted.current = -1;
  });
  const last = virtual.range?.endIndex ?? 0;
  useLayoutEffect(() => {
    if (isDrawn && last >= count - 1 - AHEAD) onEnd?.();
  }, [count, isDrawn, last, onEnd]);
  const latest = useRef(count);
  latest.current = count;
  const [mover] = useState<Mover>(() => ({
    count: () => latest.current,
    page: () => Math.max(1, Math.floor((virtual.scrollRect?.height ?? 0) / ROW) - 1),
    current: () => {
      const row = rowOf(document.activeElement);
      return row && scroller.current?.contains(row) ? indexOf(row) : undefined;
    },
    first: () => Math.ceil((virtual.scrollOffset ?? 0) / ROW),
    focus: (index) => {
      active.current = index;
      wanted.current = index;
      virtual.scrollToIndex(index, { align: 'auto' });
      redraw();
    },
  }));
  const onRow = ({ target }: Event) => {
    const row = rowOf(target);
    if (!row) return;
    active.current = indexOf(row);
    position.row = keyAt(active.current);
  };
  return { scroller, items, height: virtual.getTotalSize(), mover, onRow };
}
