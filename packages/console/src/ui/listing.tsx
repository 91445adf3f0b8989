// A list that is read page by page: its skeleton, its error, its table, and what stands there when it is empty.
import type { ComponentProps } from 'preact';
import { ErrorNote, Skeleton } from './parts';
import { Table } from './table';

/** What `useList` gives. */
export interface Read<Row> {
  rows: Row[];
  error: unknown;
  isPending: boolean;
  refetch: () => unknown;
  more: () => void;
}

type TableProps<Row> = ComponentProps<typeof Table<Row>>;

export function Listing<Row>({
  list,
  skeleton = 6,
  ...table
}: { list: Read<Row>; skeleton?: number; rows?: Row[] } & Omit<TableProps<Row>, 'rows' | 'onEnd'>) {
  if (list.error) return <ErrorNote error={list.error} onRetry={list.refetch} />;
  if (list.isPending) return <Skeleton of="table" rows={skeleton} />;
  return <Table {...table} rows={table.rows ?? list.rows} onEnd={list.more} />;
}
