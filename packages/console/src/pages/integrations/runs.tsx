// The runs of syncs, newest first, refreshed while one is running.
import type { components } from '@secrets-vault/client';
import { useEffect } from 'preact/hooks';
import { environments } from '../../organisation/environments';
import { here, useList, vault } from '../../requests/api';
import { Listing } from '../../ui/lists/listing';
import { Badge, Empty, Time, type Tone } from '../../ui/parts';
import { PlatformMark } from './gallery';
import { countsOf } from './plan';
import { type Integration, platformName } from './platforms';

export type Sync = components['schemas']['Sync'];

const tones: Record<Sync['status'], Tone> = {
  queued: 'plain',
  running: 'accent',
  completed: 'good',
  partial: 'warn',
  failed: 'bad',
};

export const SyncStatus = ({ status }: { status: Sync['status'] }) => (
  <Badge tone={tones[status]}>{status}</Badge>
);
export const isOpen = ({ status }: Pick<Sync, 'status'>): boolean =>
  status === 'queued' || status === 'running';
export const slugOf = (id: string): string => environments.value.find((one) => one.id === id)?.slug ?? id;

/** The refresh interval while a sync is running; its end is an event. */
const AGAIN = 2000;

/** The runs of all connections, newest first. */
export const useRuns = () =>
  useList<Sync>(['syncs', 'list'], (cursor, signal) =>
    vault().api.GET('/orgs/{org_id}/integrations/syncs', {
      params: { path: here(), query: { limit: 50, cursor } },
      signal,
    }),
  );

/** @param connection only syncs of this connection */
export function Runs({ connections, connection }: { connections: Integration[]; connection?: string }) {
  const list = useRuns();
  const rows = connection ? list.rows.filter(({ integrationId }) => integrationId === connection) : list.rows;
  const works = rows.some(isOpen);
  useEffect(() => {
    if (!works) return;
    const timer = setInterval(() => void list.refetch(), AGAIN);
    return () => clearInterval(timer);
  }, [works, list.refetch]);
  const nameOf = ({ integrationId, platform }: Sync) =>
    connections.find(({ id }) => id === integrationId)?.name ??
    `${platformName(platform)}, ${integrationId ? 'removed' : 'run once'}`;
  return (
    <Listing<Sync>
      list={list}
      rows={rows}
      label="Runs"
      keyOf={({ id }) => id}
      hrefOf={({ id }) => `/syncs/${id}`}
      columns={[
        {
          label: 'Connection',
          width: 'minmax(12rem, 2fr)',
          cell: (sync) => (
            <>
              <PlatformMark platform={sync.platform} />
              <span class="truncate">{nameOf(sync)}</span>
            </>
          ),
        },
        { label: 'Status', width: '7.5rem', cell: (sync) => <SyncStatus status={sync.status} /> },
        {
          label: 'Environment',
          width: '9rem',
          wide: true,
          cell: ({ environmentId }) => <span class="dim">{slugOf(environmentId)}</span>,
        },
        {
          label: 'Results',
          width: 'minmax(10rem, 1.4fr)',
          wide: true,
          cell: ({ results }) => (
            <span class="dim">
              {countsOf(results)
                .map(([action, count]) => `${count} ${action}`)
                .join(', ')}
            </span>
          ),
        },
        { label: 'Requested', width: '9rem', wide: true, cell: ({ createdAt }) => <Time at={createdAt} /> },
      ]}
      empty={<Empty title="No runs yet">Runs are kept for 30 days.</Empty>}
    />
  );
}
