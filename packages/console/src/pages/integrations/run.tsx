// One run of a sync, as it goes on: how many names are done, what happened to each, and a way to end it.
import { VaultError } from '@secrets-vault/client';
import { useState } from 'preact/hooks';
import { Link } from 'wouter-preact';
import { forget, here, queries, useRead, vault } from '../../api';
import { Button } from '../../ui/button';
import { Confirm } from '../../ui/dialog';
import { Crumbs, LoadingPage, Missing, type Place } from '../../ui/page';
import { Empty, Facts, Id, PageHead, Time } from '../../ui/parts';
import { tell } from '../../ui/toast';
import { useConnections } from './connections';
import { Plan } from './plan';
import { type Integration, platformName } from './platforms';
import { isOpen, type Sync, SyncStatus, slugOf } from './runs';

/** While it works it is read again this often. */
const AGAIN = 1000;

const useSync = (id: string) =>
  useRead(
    ['syncs', 'one', id],
    (signal) => vault().api.GET('/orgs/{org_id}/integrations/syncs/{id}', { params: { path: { ...here(), id } }, signal }),
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

/** How it stands, in a sentence. */
function standing(sync: Sync): string {
  const where = platformName(sync.platform);
  const failed = sync.results.filter(({ action }) => action === 'failed').length;
  const words: Record<Sync['status'], string> = {
    queued: 'It waits for its turn. Values are read when the work begins.',
    running: `Writing to ${where}: ${sync.results.length.toLocaleString()} names done so far.`,
    completed: `Everything is at ${where}.`,
    partial: `${failed.toLocaleString()} of ${sync.results.length.toLocaleString()} names failed. The others are at ${where}.`,
    failed: `Nothing was written to ${where}.`,
  };
  return words[sync.status];
}

function Cancel({ sync, onClose }: { sync: Sync; onClose: () => void }) {
  const cancel = async () => {
    try {
      await vault().api.POST('/orgs/{org_id}/integrations/syncs/{id}/cancel', { params: { path: { ...here(), id: sync.id } } });
      tell('The sync is cancelled');
    } catch (error) {
      if (!(error instanceof VaultError) || error.code !== 'SYNC_ENDED') throw error;
      tell('It had ended already');
    }
    await forget('syncs');
  };
  return (
    <Confirm title="Cancel this sync?" action="Cancel the sync" onConfirm={cancel} onClose={onClose}>
      <p>What is not written yet is not attempted. A name that is being written at this moment is finished. What is written stays.</p>
    </Confirm>
  );
}

function Progress({ sync }: { sync: Sync }) {
  const open = isOpen(sync);
  return (
    <section class={`card stack run-${sync.status}`} aria-live="polite">
      <p>{standing(sync)}</p>
      {open && <progress aria-label="The sync works" />}
      {sync.status === 'failed' && sync.results[0]?.message && <p class="dim">{sync.results[0].message}</p>}
      {sync.redeployRequired && !open && <p class="dim">It takes effect with the next deployment there. This service deploys nothing.</p>}
      {sync.retryAfter !== null && (
        <p class="dim">
          {platformName(sync.platform)} may be called again after {sync.retryAfter} seconds.
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
        {sync.results.length > 0 ? <Plan results={sync.results} /> : !isOpen(sync) && <Empty title="No secrets took part" />}
        <Facts
          items={[
            ['Asked', <Time at={sync.createdAt} />],
            ['Began', <Time at={sync.startedAt} none="Not yet" />],
            ['Ended', <Time at={sync.finishedAt} none="Not yet" />],
            ['Id', <Id id={sync.id} />],
          ]}
        />
      </div>
      {isCancelling && isOpen(queries.getQueryData<Sync>(['syncs', 'one', id]) ?? sync) && (
        <Cancel sync={sync} onClose={() => setCancelling(false)} />
      )}
    </>
  );
}
