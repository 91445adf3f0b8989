// Syncs: the connections to platforms where programs run, and their runs.
import { Plus } from 'lucide-preact';
import { Link } from 'wouter-preact';
import { may } from '../../session/may';
import { Tabs } from '../../ui/controls/tabs';
import { Listing } from '../../ui/lists/listing';
import { Lines } from '../../ui/lists/table';
import { Badge, Empty, PageHead, Time } from '../../ui/parts';
import { useConnections } from './connections';
import { slugsOf } from './edit';
import { PlatformMark } from './gallery';
import { Failing, Health } from './health';
import { type Integration, platformName } from './platforms';
import { Runs, useRuns } from './runs';

function Connections({ list }: { list: ReturnType<typeof useConnections> }) {
  const runs = useRuns().rows;
  return (
    <Listing<Integration>
      list={list}
      label="Connections"
      keyOf={({ id }) => id}
      hrefOf={({ id }) => `/syncs/connections/${id}`}
      columns={[
        {
          label: 'Name',
          width: 'minmax(12rem, 2fr)',
          cell: ({ id, platform, name, environments }) => (
            <>
              <PlatformMark platform={platform} />
              <Lines
                sub={
                  <>
                    <Failing runs={runs} id={id} isShort />
                    {platformName(platform)}, {slugsOf(environments).join(', ')}
                  </>
                }
              >
                {name}
              </Lines>
            </>
          ),
        },
        {
          label: 'Last run',
          width: 'minmax(9rem, 2.4fr)',
          wide: true,
          cell: ({ id }) => <Health runs={runs} id={id} />,
        },
        {
          label: 'Runs',
          width: '8rem',
          cell: ({ auto }) => (auto ? <Badge tone="accent">automatic</Badge> : <Badge>manual</Badge>),
        },
        {
          label: 'Environments',
          width: 'minmax(9rem, 1fr)',
          wide: true,
          cell: ({ environments }) => <span class="dim truncate">{slugsOf(environments).join(', ')}</span>,
        },
        { label: 'Changed', width: '9rem', wide: true, cell: ({ updatedAt }) => <Time at={updatedAt} /> },
      ]}
      empty={
        <Empty
          title="No connections yet"
          action={
            may('integrations:write') && (
              <Link href="/syncs/new" class="button plain">
                Choose a platform
              </Link>
            )
          }
        >
          Connect Vercel, GitHub Actions, AWS, Kubernetes and others. You see a preview before anything is
          written.
        </Empty>
      }
    />
  );
}

export default function Syncs() {
  const list = useConnections('sync');
  return (
    <>
      <PageHead
        title="Syncs"
        lead="Write the secrets of an environment to the platforms where your programs run."
      >
        {may('integrations:write') && (
          <Link href="/syncs/new" class="button primary">
            <Plus size={16} aria-hidden="true" /> New connection
          </Link>
        )}
      </PageHead>
      <Tabs
        label="Syncs"
        items={[
          {
            id: 'connections',
            label: 'Connections',
            count: list.rows.length,
            content: () => <Connections list={list} />,
          },
          { id: 'runs', label: 'Runs', content: () => <Runs connections={list.rows} /> },
        ]}
      />
    </>
  );
}
