// A stored connection to a platform: a preview, a run, its previous runs, and its settings.
import { useEffect, useState } from 'preact/hooks';
import { useLocation } from 'wouter-preact';
import { here, useRead, vault } from '../../requests/api';
import { Menu } from '../../ui/controls/menu';
import { Tabs } from '../../ui/controls/tabs';
import { Crumbs, LoadingPage, Missing } from '../../ui/page';
import { Badge, Facts, Id, PageHead, Time } from '../../ui/parts';
import { EditConnection, RemoveConnection, slugsOf } from './edit';
import { aboutPlatform, type Integration, platformName } from './platforms';
import { RunPanel } from './run-panel';
import { Runs } from './runs';
import { labelOf } from './schema';

function SetUp({ connection }: { connection: Integration }) {
  const { auto, prune, config } = connection;
  return (
    <Facts
      items={[
        ['Platform', platformName(connection.platform)],
        ['Writes', aboutPlatform(connection.platform).what],
        ...Object.entries(config).map(([name, value]): [string, string] => [
          labelOf(name),
          Array.isArray(value) ? value.join(', ') : String(value),
        ]),
        ['Credentials', <span class="dim">Encrypted and never shown</span>],
        ['Environments', slugsOf(connection.environments).join(', ')],
        ['Runs', auto ? 'Automatically, a few seconds after a secret changes' : 'Manually'],
        auto && ['Deletes removed secrets', prune ? 'Yes, if this service wrote them' : 'No'],
        ['Created', <Time at={connection.createdAt} />],
        ['Changed', <Time at={connection.updatedAt} />],
        ['ID', <Id id={connection.id} />],
      ]}
    />
  );
}

export default function ConnectionPage({ params: { id = '' } }: { params: Record<string, string> }) {
  const [, go] = useLocation();
  const [doing, setDoing] = useState<'edit' | 'remove' | null>(null);
  const { data, error, refetch } = useRead(['integrations', id], (signal) =>
    vault().api.GET('/orgs/{org_id}/integrations/{id}', { params: { path: { ...here(), id } }, signal }),
  );
  useEffect(() => {
    if (data?.kind === 'notify') go('/notifications', { replace: true });
  }, [data?.kind, go]);
  if (error) return <Missing what="connection" list={['/syncs', 'Syncs']} error={error} onRetry={refetch} />;
  if (!data) return <LoadingPage />;
  const end = () => setDoing(null);
  return (
    <>
      <Crumbs places={[['/syncs', 'Syncs']]} />
      <PageHead
        title={data.name}
        lead={data.auto ? <Badge tone="accent">automatic</Badge> : <Badge>manual</Badge>}
      >
        <Menu
          label="More actions"
          actions={[
            { label: 'Edit', onSelect: () => setDoing('edit') },
            { label: 'Remove', danger: true, onSelect: () => setDoing('remove') },
          ]}
        />
      </PageHead>
      <Tabs
        label="About this connection"
        items={[
          {
            id: 'run',
            label: 'Preview and run',
            content: () => <RunPanel key={data.updatedAt} connection={data} />,
          },
          { id: 'runs', label: 'Runs', content: () => <Runs connections={[data]} connection={id} /> },
          { id: 'setup', label: 'Set-up', content: () => <SetUp connection={data} /> },
        ]}
      />
      {doing === 'edit' && <EditConnection stored={data} onClose={end} />}
      {doing === 'remove' && <RemoveConnection stored={data} onRemoved={() => go('/syncs')} onClose={end} />}
    </>
  );
}
