// The readers of a secret, from the audit log.
import type { components } from '@secrets-vault/client';
import { counted } from '../../counted';
import { kindOfId } from '../../organisation/people';
import { here, useList, vault } from '../../requests/api';
import { Late } from '../../ui/late';
import { Lines, Table } from '../../ui/lists/table';
import { Empty, ErrorNote, Skeleton, Time } from '../../ui/parts';

type Reader = components['schemas']['Reader'];

export function Readers({ id }: { id: string }) {
  const { rows, data, error, isPending, refetch, more } = useList<Reader>(
    ['secrets', 'readers', id],
    (cursor, signal) =>
      vault().api.GET('/orgs/{org_id}/secrets/{id}/readers', {
        params: { path: { ...here(), id }, query: { limit: 100, cursor } },
        signal,
      }),
  );
  if (error) return <ErrorNote error={error} onRetry={refetch} />;
  if (isPending) return <Skeleton of="table" rows={3} />;
  return (
    <div class="stack">
      <p class="dim">
        Who has read the value. Who may read it depends on roles and grants: see Shares, or check a member’s
        access on their page.
      </p>
      <Late answers={data?.pages} />
      <Table
        label="Readers"
        rows={rows}
        keyOf={({ actor, via }) => `${actor.kind} ${actor.id} ${via}`}
        onEnd={more}
        columns={[
          {
            label: 'Actor',
            width: 'minmax(10rem, 2fr)',
            cell: ({ actor, last_read_at, count }) => (
              <Lines
                sub={
                  <>
                    {actor.kind.replaceAll('_', ' ')},{' '}
                    {count === 1 ? 'read once' : `read ${counted(count, 'time')}`}, <Time at={last_read_at} />
                  </>
                }
              >
                {actor.name ??
                  (actor.id?.startsWith('shr_')
                    ? `${kindOfId(actor.id)} …${actor.id.slice(-6)}`
                    : (actor.id ?? actor.kind))}
              </Lines>
            ),
          },
          {
            label: 'Kind',
            width: '8rem',
            wide: true,
            cell: ({ actor }) => <span class="dim">{actor.kind.replaceAll('_', ' ')}</span>,
          },
          {
            label: 'Method',
            width: '6rem',
            wide: true,
            cell: ({ via }) => <span class="dim">{via === 'bulk' ? 'bulk read' : 'single read'}</span>,
          },
          { label: 'Reads', width: '5rem', wide: true, cell: ({ count }) => count.toLocaleString() },
          {
            label: 'Last read',
            width: '9rem',
            wide: true,
            cell: ({ last_read_at }) => <Time at={last_read_at} />,
          },
        ]}
        empty={
          <Empty title="No reads yet">
            Each read of the value is recorded in the audit log and listed here.
          </Empty>
        }
      />
    </div>
  );
}
