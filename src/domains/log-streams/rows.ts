// The rows of log streams.
import { rowKind } from '../../db/rows';
import { type LogStreamRow, logStreams } from '../../db/schema';
import { lasting, REMOVE } from '../../gate/limits/quotas';

declare module '../../db/rows' {
  interface RowTypes {
    log_stream: LogStreamRow;
  }
}

export const logStream = rowKind('log_stream', {
  table: logStreams,
  space: () => '',
  key: (row) => row.id,
  maker: ({ created_by }) => created_by,
  // The API promises this number to an organisation, whoever uses it.
  quota: lasting(20, 20, 'log streams', REMOVE),
});
