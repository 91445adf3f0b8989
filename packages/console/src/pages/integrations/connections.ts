// The stored connections, all of them: an organisation has up to 100, so one page of the list holds them.
import { here, useRead, vault } from '../../api';
import type { Kind } from './platforms';

/** @param kind only those of this kind */
export function useConnections(kind?: Kind) {
  const read = useRead(['integrations'], (signal) =>
    vault().api.GET('/orgs/{org_id}/integrations', { params: { path: here(), query: { limit: 100 } }, signal }),
  );
  const rows = (read.data?.data ?? []).filter((one) => !kind || one.kind === kind);
  return { ...read, rows, more: () => {} };
}
