// A list that is read page by page: its skeleton, its error, its table, and what stands there when it is empty.
import type { ComponentProps } from 'preact';
import { Button } from './button';
import { Empty, ErrorNote, Skeleton } from './parts';
import { Table } from './table';

/** What `useList` gives. */
export interface Read<Row> {
  rows: Row[];
  error: unknown;
  isPending: boolean;
  refetch: () => unknown;
  more: () => void;
  /** Why no further page could be read. */
  moreError?: unknown;
  isUnfinished?: boolean;
  fetchNextPage?: () => unknown;
  /** Whether a long list is no longer as it was read. */
  isChanged?: boolean;
  again?: () => Promise<unknown>;
}

type TableProps<Row> = ComponentProps<typeof Table<Row>>;

export function Listing<Row>({
  list,
  skeleton = 6,
  ...table
}: { list: Read<Row>; skeleton?: number; rows?: Row[] } & Omit<TableProps<Row>, 'rows' | 'onEnd'>) {
  if (list.error) return <ErrorNote error={list.error} onRetry={list.refetch} />;
  if (list.isPending) return <Skeleton of="table" rows={skeleton} />;
  if (list.isUnfinished && !list.moreError)
    return (
      <Empty title="Nothing found so far" action={<Button onPress={async () => void (await list.fetchNextPage?.())}>Look further</Button>}>
        Part of the list was searched. There is more of it.
      </Empty>
    );
  return (
    <>
      {list.isChanged && (
        <div class="note plain row" role="status">
          <p class="grow">This list has changed since you opened it.</p>
          <Button small onPress={async () => void (await list.again?.())}>
            Show the changes
          </Button>
        </div>
      )}
      <Table {...table} rows={table.rows ?? list.rows} onEnd={list.more} />
      {list.moreError ? <ErrorNote error={list.moreError} onRetry={list.fetchNextPage} /> : null}
    </>
  );
}
