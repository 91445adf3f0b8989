// A paginated list: its skeleton, error, table and empty state.
import type { ComponentProps } from 'preact';
import { useState } from 'preact/hooks';
import { dropPosition } from '../../navigation/positions';
import { Button } from '../controls/button';
import { Empty, ErrorNote, Skeleton } from '../parts';
import { Table } from './table';

/** The result of `useList`. */
export interface Read<Row> {
  rows: Row[];
  /** Identifies the list with its filters. */
  hash?: string;
  error: unknown;
  isPending: boolean;
  refetch: () => unknown;
  more: () => void;
  /** Why no further page could be read. */
  moreError?: unknown;
  isUnfinished?: boolean;
  fetchNextPage?: () => unknown;
  /** Undefined if the rows are a part of the list on purpose. */
  hasNextPage?: boolean;
  /** Whether a long list may have changed since it was read. */
  isChanged?: boolean;
  again?: () => Promise<unknown>;
}

type TableProps<Row> = ComponentProps<typeof Table<Row>>;

const Continue = <Row,>({ list }: { list: Read<Row> }) => (
  <Button small onPress={async () => void (await list.fetchNextPage?.())}>
    Continue
  </Button>
);

/** Below this number of rows, the whole list is in view anyway. */
const MANY = 20;

/** How much of a list has been read. */
function Foot<Row>({ list }: { list: Read<Row> }) {
  const count = list.rows.length;
  if (list.hasNextPage === undefined || (!list.hasNextPage && count < MANY)) return null;
  return (
    <p class="row dim small list-foot">
      {list.hasNextPage
        ? `${count.toLocaleString()} loaded, more as you scroll`
        : `${count.toLocaleString()} in total`}
      {list.isUnfinished && (
        <>
          . The last part of the list had no results. <Continue list={list} />
        </>
      )}
    </p>
  );
}

export function Listing<Row>({
  list,
  skeleton = 6,
  ...table
}: { list: Read<Row>; skeleton?: number; rows?: Row[] } & Omit<TableProps<Row>, 'rows' | 'onEnd'>) {
  const [times, setTimes] = useState(0);
  const again = async () => {
    await list.again?.();
    dropPosition(list.hash ?? '');
    setTimes(times + 1);
  };
  if (list.error) return <ErrorNote error={list.error} onRetry={list.refetch} />;
  if (list.isPending) return <Skeleton of="table" rows={skeleton} />;
  if (list.isUnfinished && !list.rows.length)
    return (
      <Empty title="Nothing found so far" action={<Continue list={list} />}>
        Only part of the list has been searched.
      </Empty>
    );
  return (
    <>
      {list.isChanged && (
        <div class="note plain row" role="status">
          <p class="grow">This list may have changed since you opened it.</p>
          <Button small onPress={again}>
            Show changes
          </Button>
        </div>
      )}
      <Table
        key={`${list.hash} ${times}`}
        name={list.hash}
        {...table}
        rows={table.rows ?? list.rows}
        onEnd={list.more}
      />
      {list.moreError ? (
        <ErrorNote error={list.moreError} onRetry={list.fetchNextPage} />
      ) : (
        <Foot list={list} />
      )}
    </>
  );
}
