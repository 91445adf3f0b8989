// One secret: its value on request, its history, its readers, its links and grants, and its actions.
import { ApprovalRequiredError } from '@secrets-vault/client';
import { Link2, Users } from 'lucide-preact';
import { useEffect, useState } from 'preact/hooks';
import { useLocation } from 'wouter-preact';
import { Who } from '../../organisation/people';
import { at, forget, here, useRead, vault } from '../../requests/api';
import type { Changing } from '../../requests/seen';
import { may } from '../../session/may';
import { Button } from '../../ui/controls/button';
import { Menu } from '../../ui/controls/menu';
import { Tabs } from '../../ui/controls/tabs';
import { Confirm } from '../../ui/dialogs/confirm';
import { Held } from '../../ui/dialogs/refusal';
import { Crumbs, LoadingPage, Missing, type Place } from '../../ui/page';
import { Badge, Facts, Id, PageHead, Time } from '../../ui/parts';
import { tell } from '../../ui/toast';
import { SecretValue } from '../../ui/values/secret-value';
import { Affected } from './affected';
import { EditSecret, NewValue, Rotate } from './change';
import { GrantSecret } from './grant';
import { Versions } from './history';
import { Readers } from './readers';
import { Reads } from './reads';
import { Due, Schedule } from './rotation';
import { type Secret, StatusBadge, useSecret } from './secret';
import { NewLink, Shares } from './shares';
import { nameOfType } from './type-names';

/** A timer of a browser cannot be set for longer than 24 days, and no page is open for that long. */
const DAY_MS = 86_400_000;
/** The service judges by its own clock, which may be behind the browser's. */
const CLOCK_SKEW = 1000;

/** Reads the secret again when its value becomes due, since no event tells this of a period of its own. */
function useDueTime(secret: Secret | undefined, refetch: () => unknown): void {
  const dueAt = secret?.rotation?.is_due ? undefined : secret?.rotation?.due_at;
  useEffect(() => {
    const wait = Date.parse(dueAt ?? '') - Date.now();
    if (!(wait < DAY_MS)) return;
    const timer = setTimeout(() => void refetch(), Math.max(wait, 0) + CLOCK_SKEW);
    return () => clearTimeout(timer);
  }, [dueAt, refetch]);
}

/** Who made the current version. */
function Author({ secret }: { secret: Secret }) {
  const { data } = useRead(['secrets', 'one', secret.id, 'author', secret.version], (signal) =>
    vault().api.GET('/orgs/{org_id}/secrets/{id}/versions', {
      params: { path: { ...here(), id: secret.id }, query: { limit: 1 } },
      signal,
    }),
  );
  const author = data?.data[0]?.created_by;
  return author ? (
    <span class="dim">
      by <Who id={author} />
    </span>
  ) : null;
}

/** The list, the environment, and the folders in the name. */
function placesOf({ environment, name }: Secret): Place[] {
  const folders = name.split('/').slice(0, -1);
  const at = (path: string) => `/secrets?${new URLSearchParams({ environment, ...(path && { path }) })}`;
  return [
    ['/secrets', 'Secrets'],
    [at(''), environment],
    ...folders.map((folder, index): Place => [at(`${folders.slice(0, index + 1).join('/')}/`), folder]),
  ];
}

type Doing = 'edit' | 'value' | 'rotate' | 'grant' | 'link' | 'delete' | 'destroy' | null;

/** Whether the person may do something with a secret. */
const allows =
  ({ environment, name }: Secret) =>
  (scope: string) =>
    may(scope, environment, name);

interface OverviewProps {
  secret: Secret;
  onEdit: () => void;
  onRotate: () => void;
}

function Overview({ secret, onEdit, onRotate }: OverviewProps) {
  const allowed = allows(secret);
  const [held, setHeld] = useState<ApprovalRequiredError | null>(null);
  const read = async (reason?: string) => {
    setHeld(null);
    try {
      const { data } = await vault().api.GET('/orgs/{org_id}/secrets/{id}', {
        ...at(secret.id),
        ...(reason && { headers: { 'X-Access-Reason': reason } }),
      });
      return data.value;
    } catch (error) {
      if (!(error instanceof ApprovalRequiredError)) throw error;
      setHeld(error);
      return null;
    }
  };
  return (
    <div class="stack">
      {!allowed('secrets:read') ? (
        <p class="note plain">
          Your role can see names and metadata, but not values. An owner or admin can give you access to this
          secret.
        </p>
      ) : secret.status === 'active' ? (
        <SecretValue name={secret.name} read={read} />
      ) : (
        <p class="note warn">This secret is {secret.status}, so its value cannot be read.</p>
      )}
      {held && <Held error={held} />}
      {secret.rotation?.is_due && (
        <Due secret={secret} onRotate={allowed('secrets:rotate') ? onRotate : undefined} />
      )}
      <Facts
        items={[
          ['Environment', secret.environment],
          ['Type', nameOfType(secret.type)],
          [
            'Version',
            <>
              {secret.version}{' '}
              {secret.status !== 'deleted' && may('members:read') && <Author secret={secret} />}
            </>,
          ],
          ['Description', secret.description || <span class="dim">None</span>],
          [
            'Tags',
            Object.keys(secret.tags).length ? (
              <span class="chips">
                {Object.entries(secret.tags).map(([key, value]) => (
                  <span key={key} class="badge plain mono">
                    {value ? `${key}: ${value}` : key}
                  </span>
                ))}
              </span>
            ) : (
              <span class="dim">None</span>
            ),
          ],
          ['Rotation', <Schedule secret={secret} />],
          secret.rotation && ['New value due', <Time at={secret.rotation.due_at} />],
          ['Expires', <Time at={secret.expires_at} none="Never" />],
          secret.status !== 'deleted' && allowed('audit:read') ? ['Reads', <Reads id={secret.id} />] : null,
          ['Created', <Time at={secret.created_at} />],
          ['Changed', <Time at={secret.updated_at} />],
          ['ID', <Id id={secret.id} />],
        ]}
      />
      {secret.status !== 'deleted' && allowed('secrets:write') && (
        <div>
          <Button small onPress={onEdit}>
            Edit details
          </Button>
        </div>
      )}
    </div>
  );
}

async function restore({ id, name }: Secret): Promise<void> {
  await vault().api.POST('/orgs/{org_id}/secrets/{id}/restore', at(id));
  await forget('secrets');
  tell(`${name} restored`);
}

function Doings({ secret, doing, end }: { secret: Secret; doing: Doing; end: () => void }) {
  const [, go] = useLocation();
  const remove = async (permanent: boolean, changing: Changing) => {
    await changing((header) =>
      vault().api.DELETE('/orgs/{org_id}/secrets/{id}', {
        params: { path: { ...here(), id: secret.id }, query: permanent ? { permanent: 'true' } : {}, header },
      }),
    );
    await forget('secrets');
    if (permanent) tell(`${secret.name} destroyed`);
    else tell(`${secret.name} deleted`, 'You can restore it for 7 days.', () => restore(secret));
    if (permanent) go(`/secrets?environment=${secret.environment}`);
  };
  if (doing === 'edit') return <EditSecret secret={secret} onClose={end} />;
  if (doing === 'value') return <NewValue secret={secret} onClose={end} />;
  if (doing === 'rotate') return <Rotate secret={secret} onClose={end} />;
  if (doing === 'grant') return <GrantSecret secret={secret} onClose={end} />;
  if (doing === 'link') return <NewLink secret={secret} onClose={end} />;
  if (doing === 'delete')
    return (
      <Confirm
        title={`Delete ${secret.name}?`}
        action="Delete secret"
        resource={secret}
        onConfirm={(changing) => remove(false, changing)}
        onClose={end}
      >
        <p>
          Programs that read <strong class="mono">{secret.name}</strong> in {secret.environment} will fail
          immediately. You can restore it for 7 days.
        </p>
        <Affected secrets={[secret]} outcome="They will fail." />
      </Confirm>
    );
  if (doing === 'destroy')
    return (
      <Confirm
        title={`Destroy ${secret.name}?`}
        action="Destroy secret"
        word={secret.name}
        resource={secret}
        onConfirm={(changing) => remove(true, changing)}
        onClose={end}
      >
        <p>
          This destroys every version of <strong class="mono">{secret.name}</strong> in {secret.environment}.
          It cannot be undone.
        </p>
      </Confirm>
    );
  return null;
}

/** What can be done with a secret, as far as the person may. */
function Actions({ secret, begin }: { secret: Secret; begin: (doing: Doing) => void }) {
  const [, go] = useLocation();
  const { id } = secret;
  const allowed = allows(secret);
  const isDeleted = secret.status === 'deleted';
  return (
    <>
      {isDeleted ? (
        allowed('secrets:write') && (
          <Button kind="primary" onPress={() => restore(secret)}>
            Restore
          </Button>
        )
      ) : (
        <>
          {secret.status === 'active' && (allowed('secrets:share') || may('members:write')) && (
            <Menu
              label="Share this secret"
              actions={[
                {
                  label: 'With people, teams or agents',
                  icon: <Users size={15} />,
                  onSelect: () => begin('grant'),
                },
                { label: 'With a link', icon: <Link2 size={15} />, onSelect: () => begin('link') },
              ]}
            >
              Share
            </Menu>
          )}
          {allowed('secrets:rotate') && <Button onPress={() => begin('rotate')}>Rotate</Button>}
          {allowed('secrets:write') && <Button onPress={() => begin('value')}>New value</Button>}
        </>
      )}
      <Menu
        label="More actions"
        actions={[
          !isDeleted && allowed('secrets:write') && { label: 'Edit details', onSelect: () => begin('edit') },
          may('audit:read') && {
            label: 'View in audit log',
            onSelect: () => go(`/audit?resource=${id}&range=30d`),
          },
          !isDeleted &&
            allowed('secrets:delete') && { label: 'Delete', danger: true, onSelect: () => begin('delete') },
          allowed('secrets:delete') && {
            label: 'Destroy permanently',
            danger: true,
            onSelect: () => begin('destroy'),
          },
        ]}
      />
    </>
  );
}

export default function SecretPage({ params: { id = '' } }: { params: Record<string, string> }) {
  const { data, error, isPending, refetch } = useSecret(id);
  const [doing, setDoing] = useState<Doing>(null);
  useDueTime(data?.secret, refetch);
  if (error) return <Missing what="secret" list={['/secrets', 'Secrets']} error={error} onRetry={refetch} />;
  if (isPending || !data) return <LoadingPage />;
  const { secret } = data;
  if (!secret) return <Missing what="secret" list={['/secrets', 'Secrets']} />;
  const overview = () => (
    <Overview
      key={secret.version}
      secret={secret}
      onEdit={() => setDoing('edit')}
      onRotate={() => setDoing('rotate')}
    />
  );
  const isDeleted = secret.status === 'deleted';
  const allowed = allows(secret);
  return (
    <>
      <Crumbs places={placesOf(secret)} />
      <PageHead
        title={secret.name}
        lead={
          secret.rotation?.is_due ? (
            <Badge tone="warn">Rotation due</Badge>
          ) : (
            <StatusBadge status={secret.status} />
          )
        }
      >
        <Actions secret={secret} begin={setDoing} />
      </PageHead>
      <Tabs
        label="About this secret"
        items={[
          { id: 'overview', label: 'Overview', content: overview },
          ...(isDeleted
            ? []
            : [{ id: 'history', label: 'History', content: () => <Versions secret={secret} /> }]),
          ...(may('audit:read')
            ? [{ id: 'readers', label: 'Readers', content: () => <Readers id={id} /> }]
            : []),
          ...(!isDeleted && allowed('secrets:share')
            ? [{ id: 'shares', label: 'Shares', content: () => <Shares secret={secret} /> }]
            : []),
        ]}
      />
      <Doings secret={secret} doing={doing} end={() => setDoing(null)} />
    </>
  );
}
