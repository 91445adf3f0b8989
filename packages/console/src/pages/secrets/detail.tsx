// One secret: its value on request, its history, who read it, its links and grants, and what can be done with it.
import { ApprovalRequiredError } from '@secrets-vault/client';
import { useState } from 'preact/hooks';
import { Link, useLocation } from 'wouter-preact';
import { forget, here, useRead, vault } from '../../api';
import { may } from '../../may';
import { Button } from '../../ui/button';
import { Confirm } from '../../ui/dialog';
import { Held } from '../../ui/form';
import { Menu } from '../../ui/menu';
import { Empty, ErrorNote, Facts, Id, PageHead, Skeleton, Time } from '../../ui/parts';
import { SecretValue } from '../../ui/secret-value';
import { Tabs } from '../../ui/tabs';
import { tell } from '../../ui/toast';
import { EditSecret, NewValue, Rotate } from './change';
import { Versions } from './history';
import { type Secret, StatusBadge } from './list';
import { Readers } from './readers';
import { Shares } from './shares';

const pathOf = (id: string) => ({ params: { path: { ...here(), id } } });

/** Its metadata and versions: none of this is a read of the value. */
const useSecret = (id: string) =>
  useRead(['secrets', 'one', id], async (signal) => {
    const path = here();
    const [found, history] = await Promise.all([
      vault().api.GET('/orgs/{org_id}/secrets', { params: { path, query: { id, limit: 1 } }, signal }),
      vault().api.GET('/orgs/{org_id}/secrets/{id}/versions', { params: { path: { ...path, id }, query: { limit: 100 } }, signal }),
    ]);
    return { data: { secret: found.data.data[0], versions: history.data.data } };
  });

type Doing = 'edit' | 'value' | 'rotate' | 'delete' | 'destroy' | null;

function Overview({ secret }: { secret: Secret }) {
  const [held, setHeld] = useState<ApprovalRequiredError | null>(null);
  const read = async (reason?: string) => {
    setHeld(null);
    try {
      const { data } = await vault().api.GET('/orgs/{org_id}/secrets/{id}', {
        ...pathOf(secret.id),
        ...(reason && { headers: { 'X-Access-Reason': reason } }),
      });
      return data.value;
    } catch (error) {
      if (error instanceof ApprovalRequiredError) setHeld(error);
      throw error;
    }
  };
  return (
    <div class="stack">
      {!may('secrets:read') ? (
        <p class="note plain">Your role shows names and metadata, not values. An owner or an administrator can grant you this secret.</p>
      ) : secret.status === 'active' ? (
        <SecretValue name={secret.name} read={read} />
      ) : (
        <p class="note warn">This secret is {secret.status}, so its value cannot be read.</p>
      )}
      {held && <Held error={held} />}
      <Facts
        items={[
          ['Environment', secret.environment],
          ['Type', secret.type],
          ['Version', secret.version],
          ['Description', secret.description || <span class="dim">None</span>],
          [
            'Tags',
            Object.keys(secret.tags).length ? (
              Object.entries(secret.tags).map(([key, value]) => (
                <span key={key} class="badge plain mono">
                  {value ? `${key}: ${value}` : key}
                </span>
              ))
            ) : (
              <span class="dim">None</span>
            ),
          ],
          [
            'Rotate every',
            secret.rotate_every_seconds ? `${Math.round(secret.rotate_every_seconds / 86_400)} days` : <span class="dim">Not set</span>,
          ],
          ['Ends', <Time at={secret.expires_at} none="Never" />],
          ['Created', <Time at={secret.created_at} />],
          ['Changed', <Time at={secret.updated_at} />],
          ['Id', <Id id={secret.id} />],
        ]}
      />
    </div>
  );
}

function Doings({ secret, doing, end }: { secret: Secret; doing: Doing; end: () => void }) {
  const [, go] = useLocation();
  const remove = async (permanent: boolean) => {
    await vault().api.DELETE('/orgs/{org_id}/secrets/{id}', {
      params: { path: { ...here(), id: secret.id }, query: permanent ? { permanent: 'true' } : {} },
    });
    await forget('secrets');
    tell(permanent ? `${secret.name} is destroyed` : `${secret.name} is deleted`, permanent ? undefined : 'You can restore it for 7 days.');
    if (permanent) go(`/secrets?environment=${secret.environment}`);
  };
  if (doing === 'edit') return <EditSecret secret={secret} onClose={end} />;
  if (doing === 'value') return <NewValue secret={secret} onClose={end} />;
  if (doing === 'rotate') return <Rotate secret={secret} onClose={end} />;
  if (doing === 'delete')
    return (
      <Confirm title={`Delete ${secret.name}?`} action="Delete secret" onConfirm={() => remove(false)} onClose={end}>
        <p>
          Programs that read <strong class="mono">{secret.name}</strong> in {secret.environment} get an error at once. You can restore it
          for 7 days.
        </p>
      </Confirm>
    );
  if (doing === 'destroy')
    return (
      <Confirm title={`Destroy ${secret.name}?`} action="Destroy secret" word={secret.name} onConfirm={() => remove(true)} onClose={end}>
        <p>
          Every version of <strong class="mono">{secret.name}</strong> in {secret.environment} is destroyed now. Nobody can bring it back.
        </p>
      </Confirm>
    );
  return null;
}

export default function SecretPage({ params: { id = '' } }: { params: Record<string, string> }) {
  const { data, error, isPending, refetch } = useSecret(id);
  const [doing, setDoing] = useState<Doing>(null);
  if (error)
    return (
      <>
        <PageHead title="Secret" />
        <ErrorNote error={error} onRetry={refetch} />
      </>
    );
  if (isPending || !data) return <Skeleton />;
  const { secret, versions } = data;
  if (!secret)
    return (
      <>
        <PageHead title="Secret" />
        <Empty title="There is no such secret">It was destroyed, or you may not see it.</Empty>
      </>
    );
  const isDeleted = secret.status === 'deleted';
  const restore = async () => {
    await vault().api.POST('/orgs/{org_id}/secrets/{id}/restore', pathOf(id));
    await forget('secrets');
    tell(`${secret.name} is restored`);
  };
  return (
    <>
      <nav class="crumbs" aria-label="Where you are">
        <Link href={`/secrets?environment=${secret.environment}`}>Secrets</Link> / {secret.environment}
      </nav>
      <PageHead title={secret.name} lead={<StatusBadge status={secret.status} />}>
        {isDeleted ? (
          <Button kind="primary" onPress={restore}>
            Restore
          </Button>
        ) : (
          <>
            {may('secrets:rotate') && <Button onPress={() => setDoing('rotate')}>Rotate</Button>}
            {may('secrets:write') && (
              <Button kind="primary" onPress={() => setDoing('value')}>
                New value
              </Button>
            )}
          </>
        )}
        <Menu
          label="More actions"
          actions={[
            !isDeleted && may('secrets:write') && { label: 'Edit details', onSelect: () => setDoing('edit') },
            !isDeleted && may('secrets:delete') && { label: 'Delete', danger: true, onSelect: () => setDoing('delete') },
            may('secrets:delete') && { label: 'Destroy permanently', danger: true, onSelect: () => setDoing('destroy') },
          ]}
        />
      </PageHead>
      <Tabs
        label="About this secret"
        items={[
          { id: 'overview', label: 'Overview', content: () => <Overview key={secret.version} secret={secret} /> },
          { id: 'history', label: 'History', count: versions.length, content: () => <Versions secret={secret} versions={versions} /> },
          { id: 'readers', label: 'Readers', content: () => <Readers id={id} /> },
          { id: 'shares', label: 'Shares', content: () => <Shares secret={secret} /> },
        ]}
      />
      <Doings secret={secret} doing={doing} end={() => setDoing(null)} />
    </>
  );
}
