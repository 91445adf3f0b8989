// A paginated list: its skeleton, error, table and empty state.
import type { ComponentProps } from 'preact';
import { Button } from './button';
import { Empty, ErrorNote, Skeleton } from './parts';
import { Table } from './table';

/** The result of `useList`. */
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
  /** Whether a long list has changed since it was read. */
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
      <Empty title="Nothing found so far" action={<Button onPress={async () => void (await list.fetchNextPage?.())}>Continue</Button>}>
        Only part of the list has been searched.
      </Empty>
    );
  return (
    <>
      {list.isChanged && (
        <div class="note plain row" role="status">
          <p class="grow">This list has changed since you opened it.</p>
          <Button small onPress={async () => void (await list.again?.())}>
            Show changes
          </Button>
        </div>
      )}
      <Table {...table} rows={table.rows ?? list.rows} onEnd={list.more} />
      {list.moreError ? <ErrorNote error={list.moreError} onRetry={list.fetchNextPage} /> : null}
    </>
  );
}
