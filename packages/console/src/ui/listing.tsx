// A paginated list: its skeleton, error, table and empty state.
import type { ComponentProps } from 'preact';
import { ErrorNote, Skeleton } from './parts';
import { Table } from './table';

/** The result of `useList`. */
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
  if (list.isPending) return <Skeleton rows={skeleton} />;
  return <Table {...table} rows={table.rows ?? list.rows} onEnd={list.more} />;
}
