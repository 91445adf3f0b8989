// All stored connections: an organisation has at most 100, so they fit on one page of the list.
import { here, useRead, vault } from '../../requests/api';
import type { Kind } from './platforms';

/** @param kind only connections of this kind */
export function useConnections(kind?: Kind) {
  const read = useRead(['integrations'], (signal) =>
    vault().api.GET('/orgs/{org_id}/integrations', {
      params: { path: here(), query: { limit: 100 } },
      signal,
    }),
  );
  const rows = (read.data?.data ?? []).filter((one) => !kind || one.kind === kind);
  return { ...read, rows, more: () => {} };
}
