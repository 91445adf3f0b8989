// Tables. Only visible rows are in the document (TanStack Virtual), so a list of 100,000 scrolls like one of
// ten. Invariants: a row is a link or a button, so it is reachable with the keyboard; on a phone a row
// becomes a card with the same cells, and on a tablet too where the table has no room.
import type { ComponentChildren } from 'preact';
import { useLayoutEffect, useMemo, useRef } from 'preact/hooks';
import { Link } from 'wouter-preact';
import { movers } from './movers';
import { useRows } from './rows';

export interface Column<Row> {
  label: string;
  /** In the syntax of grid-template-columns. */
  width: string;
  cell: (row: Row) => ComponentChildren;
  /** Hidden on phones. */
  wide?: boolean;
  /** Left out on tablets, so that the other columns have room. */
  roomy?: boolean;
}

/** The first cell of a row: its name, and on phones the content of hidden columns below it. */
export const Lines = ({
  sub,
  mono,
  children,
}: {
  sub: ComponentChildren;
  mono?: boolean;
  children: ComponentChildren;
}) => (
  <span class="grow">
    <span class={mono ? 'mono truncate' : 'truncate'}>{children}</span>
    <span class="sub truncate">{sub}</span>
  </span>
);

/** Rows that can be chosen, for actions on several of them. */
export interface Choosing<Row> {
  /** The name of a row, or null if it cannot be chosen. */
  nameOf: (row: Row) => string | null;
  isChosen: (row: Row) => boolean;
  choose: (rows: Row[], isChosen: boolean) => void;
}

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
  choosing?: Choosing<Row>;
  /** Identifies the list if its label does not: the position in it is remembered by this name. */
  name?: string;
  /** Called when the end is near, to load the next page. */
  onEnd?: () => void;
  empty?: ComponentChildren;
}

/** Chooses a row, or with Shift all rows from the one before. */
function useChoice<Row>(rows: Row[], choosing: Choosing<Row> | undefined) {
  const before = useRef(0);
  return (index: number, event: Event & { currentTarget: HTMLInputElement }) => {
    const isRange = (event as unknown as MouseEvent).shiftKey;
    const [from, to] = isRange
      ? [Math.min(before.current, index), Math.max(before.current, index)]
      : [index, index];
    before.current = index;
    choosing?.choose(
      rows.slice(from, to + 1).filter((row) => choosing.nameOf(row) !== null),
      event.currentTarget.checked,
    );
  };
}

/** Chooses all loaded rows, or none. */
function ChooseAll<Row>({ rows, choosing }: { rows: Row[]; choosing: Choosing<Row> }) {
  // Not for each scrolled frame: there can be 100,000 rows.
  const [able, count] = useMemo(() => {
    const all = rows.filter((row) => choosing.nameOf(row) !== null);
    return [all, all.filter(choosing.isChosen).length];
  }, [rows, choosing]);
  return (
    <span role="columnheader" class="row-choice">
      <input
        type="checkbox"
        aria-label="Select all loaded rows"
        disabled={!able.length}
        checked={count > 0 && count === able.length}
        indeterminate={count > 0 && count < able.length}
        onChange={(event) => choosing.choose(able, event.currentTarget.checked)}
      />
    </span>
  );
}

/** The room for columns on a tablet, in rem: 768 px without the rail and the padding of page and row. */
const ROOM = 38.75;
const GAP = 1;
/** What the boxes that select, and the actions of a row, take. */
const CHOICE = 1.1;
const ACTIONS = 2.75;

/** The least width of a column, in rem. */
const leastOf = (width: string): number => Number(/[\d.]+(?=rem)/.exec(width)?.[0] ?? 8);

/** The template of the columns, and that of a tablet, or null if there is no room for them. */
function templatesOf<Row>(columns: Column<Row>[], hasChoice: boolean, hasActions: boolean) {
  const widthsOf = (shown: Column<Row>[]) => [
    ...(hasChoice ? [`${CHOICE}rem`] : []),
    ...shown.map(({ width }) => width),
    ...(hasActions ? [`${ACTIONS}rem`] : []),
  ];
  const widths = widthsOf(columns.filter(({ roomy }) => !roomy));
  const needed = widths.reduce((sum, width) => sum + leastOf(width), GAP * (widths.length - 1));
  return { all: widthsOf(columns).join(' '), tablet: needed > ROOM ? null : widths.join(' ') };
}

/** The class of a cell by where its column is hidden. */
const classOf = ({ wide, roomy }: { wide?: boolean; roomy?: boolean }): string | undefined =>
  [wide && 'wide', roomy && 'roomy'].filter(Boolean).join(' ') || undefined;

type HeadProps<Row> = Pick<TableProps<Row>, 'rows' | 'columns' | 'actions' | 'choosing'>;

const Head = <Row,>({ rows, columns, actions, choosing }: HeadProps<Row>) => (
  <div class="table-head" role="row" aria-rowindex={1}>
    {choosing && <ChooseAll rows={rows} choosing={choosing} />}
    {columns.map((column) => (
      <span key={column.label} role="columnheader" class={classOf(column)}>
        {column.label}
      </span>
    ))}
    {actions && (
      <span role="columnheader">
        <span class="unseen">Actions</span>
      </span>
    )}
  </div>
);

type CellsProps<Row> = Pick<TableProps<Row>, 'columns' | 'hrefOf' | 'actions' | 'choosing'> & {
  row: Row;
  onChoice: (event: Event & { currentTarget: HTMLInputElement }) => void;
};

function Cells<Row>({ row, columns, hrefOf, actions, choosing, onChoice }: CellsProps<Row>) {
  const name = choosing?.nameOf(row) ?? null;
  return (
    <>
      {choosing && (
        <span role="cell" class="row-choice">
          {name !== null && (
            <input
              type="checkbox"
              aria-label={`Select ${name}`}
              checked={choosing.isChosen(row)}
              onClick={onChoice}
            />
          )}
        </span>
      )}
      {columns.map((column, at) => (
        <span key={column.label} role="cell" class={classOf(column)}>
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
    </>
  );
}

export function Table<Row>({ label, name = label, rows, keyOf, onEnd, empty, ...cells }: TableProps<Row>) {
  const { columns, hrefOf, actions, choosing } = cells;
  const { scroller, items, height, mover, onRow } = useRows(
    name,
    rows.length,
    (index) => keyOf(rows[index] as Row),
    onEnd,
  );
  const table = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => void (table.current && movers.set(table.current, mover)));
  const onChoice = useChoice(rows, choosing);
  const { all, tablet } = templatesOf(columns, choosing !== undefined, actions !== undefined);
  if (!rows.length) return <>{empty}</>;
  return (
    <div
      ref={table}
      class={['table', choosing && 'chooses', tablet && 'fits'].filter(Boolean).join(' ')}
      role="table"
      aria-label={label}
      aria-rowcount={rows.length + 1}
      style={{
        '--columns': all,
        ...(tablet && { '--tablet': tablet }),
        '--total': `${height}px`,
      }}
    >
      <Head rows={rows} {...cells} />
      <div
        class="table-body"
        role="rowgroup"
        ref={scroller}
        tabIndex={hrefOf || actions ? -1 : 0}
        onFocusIn={onRow}
        onPointerDown={onRow}
      >
        <div style={{ height: `${height}px`, position: 'relative' }}>
          {items.map(({ index, start }) => {
            const row = rows[index] as Row;
            return (
              <div
                key={keyOf(row)}
                class="table-row"
                role="row"
                aria-rowindex={index + 2}
                style={{ transform: `translateY(${start}px)` }}
              >
                <Cells row={row} {...cells} onChoice={(event) => onChoice(index, event)} />
              </div>
            );
          })}
        </div>
      </div>
    </div>
  );
}
