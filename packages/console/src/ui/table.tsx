// Tables. Only visible rows are in the document (TanStack Virtual), so a list of 100,000 scrolls like one of ten. Invariants: a row is a link
// or a button, so it is reachable with the keyboard; on a phone a row becomes a card with the same cells.
import type { ComponentChildren } from 'preact';
import { useLayoutEffect, useRef } from 'preact/hooks';
import { Link } from 'wouter-preact';
import { movers } from './movers';
import { useRows } from './rows';

export interface Column<Row> {
  label: string;
  /** In the syntax of grid-template-columns. */
  width: string;
  cell: (row: Row) => ComponentChildren;
  /** Hidden on narrow screens. */
  wide?: boolean;
}

/** The first cell of a row: its name, and on phones the content of hidden columns below it. */
export const Lines = ({ sub, mono, children }: { sub: ComponentChildren; mono?: boolean; children: ComponentChildren }) => (
  <span class="grow">
    <span class={mono ? 'mono truncate' : 'truncate'}>{children}</span>
    <span class="sub truncate">{sub}</span>
  </span>
);

interface TableProps<Row> {
  /** The accessible name of the table. */
  label: string;
  rows: Row[];
  columns: Column<Row>[];
  keyOf: (row: Row) => string;
  /** The link of a row. */
  hrefOf?: (row: Row) => string;
  /** The actions at the end of a row. */
  actions?: (row: Row) => ComponentChildren;
  /** Identifies the list if its label does not: the position in it is remembered by this name. */
  name?: string;
  /** Called when the end is near, to load the next page. */
  onEnd?: () => void;
  empty?: ComponentChildren;
}

export function Table<Row>({ label, name = label, rows, columns, keyOf, hrefOf, actions, onEnd, empty }: TableProps<Row>) {
  const { scroller, items, height, mover, onRow } = useRows(name, rows.length, (index) => keyOf(rows[index] as Row), onEnd);
  const table = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => void (table.current && movers.set(table.current, mover)));
  const template = [...columns.map(({ width }) => width), ...(actions ? ['2.75rem'] : [])].join(' ');
  if (!rows.length) return <>{empty}</>;
  return (
    <div
      ref={table}
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
      <div class="table-body" role="rowgroup" ref={scroller} tabIndex={hrefOf || actions ? -1 : 0} onFocusIn={onRow} onPointerDown={onRow}>
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
