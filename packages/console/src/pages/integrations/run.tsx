// One run of a sync: its progress, the result for each name, and a button to cancel it.
import { VaultError } from '@secrets-vault/client';
import { useState } from 'preact/hooks';
import { Link } from 'wouter-preact';
import { counted } from '../../counted';
import { forget, here, queries, useRead, vault } from '../../requests/api';
import { Button } from '../../ui/controls/button';
import { Confirm } from '../../ui/dialogs/confirm';
import { Crumbs, LoadingPage, Missing, type Place } from '../../ui/page';
import { Empty, Facts, Id, PageHead, Time } from '../../ui/parts';
import { tell } from '../../ui/toast';
import { useConnections } from './connections';
import { Plan } from './plan';
import { type Integration, platformName } from './platforms';
import { isOpen, type Sync, SyncStatus, slugOf } from './runs';

/** The refresh interval while it is running. */
const AGAIN = 1000;

const useSync = (id: string) =>
  useRead(
    ['syncs', 'one', id],
    (signal) =>
      vault().api.GET('/orgs/{org_id}/integrations/syncs/{id}', {
        params: { path: { ...here(), id } },
        signal,
      }),
    true,
    (last) => (!last || isOpen(last) ? AGAIN : false),
  );

const placesOf = (connection: Integration | undefined): Place[] =>
  connection
    ? [
        ['/syncs', 'Syncs'],
        [`/syncs/connections/${connection.id}`, connection.name],
        [`/syncs/connections/${connection.id}?tab=runs`, 'Runs'],
      ]
    : [
        ['/syncs', 'Syncs'],
        ['/syncs?tab=runs', 'Runs'],
      ];

/** The status, in a sentence. */
function standing(sync: Sync): string {
  const where = platformName(sync.platform);
  const failed = sync.results.filter(({ action }) => action === 'failed').length;
  const words: Record<Sync['status'], string> = {
    queued: 'Waiting to start. Values are read when the sync starts.',
    running: `Writing to ${where}: ${counted(sync.results.length, 'secret')} done so far.`,
    completed: `All secrets are on ${where}.`,
    partial: `${failed.toLocaleString()} of ${counted(sync.results.length, 'secret')} failed. The others are on ${where}.`,
    failed: `Nothing was written to ${where}.`,
  };
  return words[sync.status];
}

function Cancel({ sync, onClose }: { sync: Sync; onClose: () => void }) {
  const cancel = async () => {
    try {
      await vault().api.POST('/orgs/{org_id}/integrations/syncs/{id}/cancel', {
        params: { path: { ...here(), id: sync.id } },
      });
      tell('Sync cancelled');
    } catch (error) {
      if (!(error instanceof VaultError) || error.code !== 'SYNC_ENDED') throw error;
      tell('The sync has already ended');
    }
    await forget('syncs');
  };
  return (
    <Confirm title="Cancel this sync?" action="Cancel sync" onConfirm={cancel} onClose={onClose}>
      <p>
        Remaining secrets are not written. A write in progress is completed. Secrets already written are kept.
      </p>
    </Confirm>
  );
}

function Progress({ sync }: { sync: Sync }) {
  const open = isOpen(sync);
  return (
    <section class={`card stack run-${sync.status}`} aria-live="polite">
      <p>{standing(sync)}</p>
      {open && <progress aria-label="Sync in progress" />}
      {sync.status === 'failed' && sync.results[0]?.message && <p class="dim">{sync.results[0].message}</p>}
      {sync.redeployRequired && !open && (
        <p class="dim">
          Changes take effect with the next deployment on the platform. This service does not deploy.
        </p>
      )}
      {sync.retryAfter !== null && (
        <p class="dim">
          {platformName(sync.platform)} accepts requests again in {counted(sync.retryAfter, 'second')}.
        </p>
      )}
    </section>
  );
}

export default function RunPage({ params: { id = '' } }: { params: Record<string, string> }) {
  const [isCancelling, setCancelling] = useState(false);
  const { data: sync, error, refetch } = useSync(id);
  const connections = useConnections('sync');
  if (error) return <Missing what="sync" list={['/syncs', 'Syncs']} error={error} onRetry={refetch} />;
  if (!sync) return <LoadingPage />;
  const connection = connections.rows.find((one) => one.id === sync.integrationId);
  return (
    <>
      <Crumbs places={placesOf(connection)} />
      <PageHead
        title={`Sync of ${slugOf(sync.environmentId)} to ${platformName(sync.platform)}`}
        lead={<SyncStatus status={sync.status} />}
      >
        {isOpen(sync) ? (
          <Button onPress={() => setCancelling(true)}>Cancel</Button>
        ) : (
          connection && (
            <Link href={`/syncs/connections/${connection.id}`} class="button plain">
              Preview again
            </Link>
          )
        )}
      </PageHead>
      <div class="stack">
        <Progress sync={sync} />
        {sync.results.length > 0 ? (
          <Plan results={sync.results} />
        ) : (
          !isOpen(sync) && <Empty title="No secrets were synced" />
        )}
        <Facts
          items={[
            ['Requested', <Time at={sync.createdAt} />],
            ['Started', <Time at={sync.startedAt} none="Not yet" />],
            ['Finished', <Time at={sync.finishedAt} none="Not yet" />],
            ['ID', <Id id={sync.id} />],
          ]}
        />
      </div>
      {isCancelling && isOpen(queries.getQueryData<Sync>(['syncs', 'one', id]) ?? sync) && (
        <Cancel sync={sync} onClose={() => setCancelling(false)} />
      )}
    </>
  );
}
