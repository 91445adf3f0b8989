// Tables. Only the rows that can be seen are in the document (TanStack Virtual), so a list of 100,000 scrolls like one of ten.
// Invariants: a row is a link or a button, so the keyboard reaches it; and on a phone a row becomes a card of the same cells.
import { elementScroll, observeElementOffset, observeElementRect, Virtualizer } from '@tanstack/virtual-core';
import type { ComponentChildren } from 'preact';
import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import { Link } from 'wouter-preact';

export interface Column<Row> {
  label: string;
  /** As in grid-template-columns. */
  width: string;
  cell: (row: Row) => ComponentChildren;
  /** Left out on narrow screens. */
  wide?: boolean;
}

/** The first cell of a row: what it is called, and on phones below it what the columns say that are left out there. */
export const Lines = ({ sub, mono, children }: { sub: ComponentChildren; mono?: boolean; children: ComponentChildren }) => (
  <span class="grow">
    <span class={mono ? 'mono truncate' : 'truncate'}>{children}</span>
    <span class="sub truncate">{sub}</span>
  </span>
);

interface TableProps<Row> {
  /** What the table lists, for screen readers. */
  label: string;
  rows: Row[];
  columns: Column<Row>[];
  keyOf: (row: Row) => string;
  /** Where a row leads. */
  hrefOf?: (row: Row) => string;
  /** What can be done with a row: at its end. */
  actions?: (row: Row) => ComponentChildren;
  /** Called when the end comes into sight: loads the next page. */
  onEnd?: () => void;
  empty?: ComponentChildren;
}

const ROW = 48;

/** The rows in sight, of a list that scrolls in `scroller`. */
function useVirtual(count: number, onEnd?: () => void) {
  const scroller = useRef<HTMLDivElement>(null);
  const [, draw] = useState(0);
  const [virtual] = useState(
    () =>
      new Virtualizer<HTMLDivElement, HTMLElement>({
        count,
        getScrollElement: () => scroller.current,
        estimateSize: () => ROW,
        overscan: 12,
        observeElementRect,
        observeElementOffset,
        scrollToFn: elementScroll,
        onChange: () => draw((times) => times + 1),
      }),
  );
  virtual.setOptions({ ...virtual.options, count });
  useLayoutEffect(() => virtual._didMount(), [virtual]);
  useLayoutEffect(() => virtual._willUpdate());
  const items = virtual.getVirtualItems();
  const last = items.at(-1)?.index ?? 0;
  useLayoutEffect(() => {
    if (count && last >= count - 1) onEnd?.();
  }, [count, last, onEnd]);
  return { scroller, items, height: virtual.getTotalSize() };
}

export function Table<Row>({ label, rows, columns, keyOf, hrefOf, actions, onEnd, empty }: TableProps<Row>) {
  const { scroller, items, height } = useVirtual(rows.length, onEnd);
  const template = [...columns.map(({ width }) => width), ...(actions ? ['2.75rem'] : [])].join(' ');
  if (!rows.length) return <>{empty}</>;
  return (
    <div
      class="table"
      role="table"
      aria-label={label}
      aria-rowcount={rows.length + 1}
      style={{ '--columns': template, '--total': `${height}px` }}
    >
      <div class="table-head" role="row" aria-rowindex={1}>
        {columns.map((column) => (
          <span key={column.label} role="columnheader" class={column.wide ? 'wide' : undefined}>
            {column.label}
          </span>
        ))}
        {actions && (
          <span role="columnheader">
            <span class="unseen">Actions</span>
          </span>
        )}
      </div>
      <div class="table-body" role="rowgroup" ref={scroller} tabIndex={hrefOf || actions ? -1 : 0}>
        <div style={{ height: `${height}px`, position: 'relative' }}>
          {items.map(({ index, start }) => {
            const row = rows[index] as Row;
            return (
              <div key={keyOf(row)} class="table-row" role="row" aria-rowindex={index + 2} style={{ transform: `translateY(${start}px)` }}>
                {columns.map((column, at) => (
                  <span key={column.label} role="cell" class={column.wide ? 'wide' : undefined}>
                    {at === 0 && hrefOf ? (
                      <Link href={hrefOf(row)} class="row-link">
                        {column.cell(row)}
                      </Link>
                    ) : (
                      column.cell(row)
                    )}
                  </span>
                ))}
                {actions && (
                  <span role="cell" class="row-actions">
                    {actions(row)}
                  </span>
                )}
              </div>
            );
          })}
        </div>
      </div>
    </div>
  );
}
