// The secrets of an environment: with search, filters, and folders from `/` in names.
import { type components, secretTypes } from '@secrets-vault/client';
import { Download, Folder, GitCompare, Plus, Upload } from 'lucide-preact';
import { useState } from 'preact/hooks';
import { Link } from 'wouter-preact';
import { useParameter } from '../../navigation/router';
import { environments, useEnvironment } from '../../organisation/environments';
import { here, useList, vault } from '../../requests/api';
import { may } from '../../session/may';
import { Button } from '../../ui/controls/button';
import { useMaker } from '../../ui/controls/shortcuts';
import { FilterSelect, FilterText, Segments, useSettled } from '../../ui/lists/filters';
import { Listing } from '../../ui/lists/listing';
import type { Column } from '../../ui/lists/table';
import { Empty, PageHead, Time } from '../../ui/parts';
import { NewSecret } from './create';
import { type Row, type Secret, StatusBadge } from './secret';
import { Selected, useChosen } from './selected';
import { nameOfType } from './type-names';
import { Views } from './views';

type SecretPage = components['schemas']['SecretPage'];

/** The folders of a page, then its secrets: the service lists all folders before the first secret. */
const rowsOf = ({ folders = [], data }: SecretPage): Row[] => [
  ...folders.map((folder) => ({ folder })),
  ...data.map((secret) => ({ secret })),
];

const columnsFor = (path: string, hrefOfFolder: (folder: string) => string): Column<Row>[] => [
  {
    label: 'Name',
    width: 'minmax(12rem, 2.2fr)',
    cell: ({ folder, secret }) =>
      folder ? (
        <Link href={hrefOfFolder(folder)} class="row-link">
          <Folder size={15} aria-hidden="true" />{' '}
          <span class="mono truncate">{folder.slice(path.length)}</span>
        </Link>
      ) : (
        <Link href={`/secrets/${secret?.id}`} class="row-link">
          <span class="grow">
            <span class="mono truncate" title={secret?.name}>
              {secret?.name.slice(path.length)}
            </span>
            <span class="sub truncate">
              {secret && nameOfType(secret.type)}, {secret?.status}, <Time at={secret?.updated_at} />
            </span>
          </span>
        </Link>
      ),
  },
  {
    label: 'Type',
    width: '11.5rem',
    wide: true,
    roomy: true,
    cell: ({ secret }) => <span class="dim truncate">{secret && nameOfType(secret.type)}</span>,
  },
  {
    label: 'Status',
    width: '6.5rem',
    cell: ({ secret }) => (secret ? <StatusBadge status={secret.status} /> : <span class="dim">Folder</span>),
  },
  {
    label: 'Version',
    width: '5.5rem',
    wide: true,
    roomy: true,
    cell: ({ secret }) => secret && <span class="dim">{secret.version}</span>,
  },
  {
    label: 'Changed',
    width: '9rem',
    wide: true,
    cell: ({ secret }) => secret && <Time at={secret.updated_at} />,
  },
];

function Path({ path, onGo }: { path: string; onGo: (path: string) => void }) {
  const parts = path.split('/').filter(Boolean);
  if (!parts.length) return null;
  return (
    <nav aria-label="Folder" class="crumbs mono">
      <button type="button" class="link" onClick={() => onGo('')}>
        All
      </button>
      {parts.map((part, index) => {
        const whole = `${parts.slice(0, index + 1).join('/')}/`;
        return (
          <span key={whole}>
            {' / '}
            <button
              type="button"
              class="link"
              aria-current={index === parts.length - 1 ? 'location' : undefined}
              onClick={() => onGo(whole)}
            >
              {part}
            </button>
          </span>
        );
      })}
    </nav>
  );
}

interface Filters {
  environment: string;
  path: string;
  search: string;
  type: string;
  status: string;
}

/**
 * The folders and secrets directly below a path, or all secrets below it whose names contain the search text.
 */
function useSecrets({ environment, path, search, type, status }: Filters) {
  const isOrdered = environment !== '' && status !== 'deleted';
  return useList<Row, SecretPage>(
    ['secrets', 'list', environment, path, search, type, status],
    (cursor, signal) =>
      vault().api.GET('/orgs/{org_id}/secrets', {
        params: {
          path: here(),
          query: {
            environment: environment || undefined,
            prefix: path || undefined,
            contains: search || undefined,
            type: (type || undefined) as Secret['type'] | undefined,
            status: (status || undefined) as Secret['status'] | undefined,
            ...(isOrdered && (search ? { sort: 'name' as const } : { delimiter: '/' as const })),
            limit: 100,
            cursor,
          },
        },
        signal,
      }),
    rowsOf,
  );
}

const Actions = ({ environment, onCreate }: { environment: string; onCreate: () => void }) => (
  <PageHead title="Secrets" lead="Values for programs and people. Each new value is a version.">
    <Link href={`/secrets/compare?left=${environment}`} class="button plain">
      <GitCompare size={16} aria-hidden="true" /> <span class="fold">Compare</span>
    </Link>
    {may('integrations:import', environment) && (
      <Link href={`/secrets/import?environment=${environment}`} class="button plain">
        <Upload size={16} aria-hidden="true" /> <span class="fold">Import</span>
      </Link>
    )}
    {may('integrations:generate', environment) && (
      <Link href={`/secrets/export?environment=${environment}`} class="button plain">
        <Download size={16} aria-hidden="true" /> <span class="fold">Export</span>
      </Link>
    )}
    {may('secrets:write', environment) && (
      <Button kind="primary" onPress={onCreate}>
        <Plus size={16} aria-hidden="true" /> New secret
      </Button>
    )}
  </PageHead>
);

const Nothing = ({
  isFiltered,
  environment,
  onCreate,
}: {
  isFiltered: boolean;
  environment: string;
  onCreate: () => void;
}) =>
  isFiltered ? (
    <Empty title="No matching secrets">Change the filters or choose another environment.</Empty>
  ) : !may('secrets:write', environment) ? (
    <Empty title={`No secrets in ${environment} that you can see`}>
      An owner or admin can change your role, or create a grant for some names.
    </Empty>
  ) : (
    <Empty
      title={`No secrets in ${environment} yet`}
      action={
        <div class="row">
          <Button onPress={onCreate}>Store a secret</Button>
          <Link href={`/secrets/import?environment=${environment}`} class="button plain">
            Import a file
          </Link>
        </div>
      }
    >
      Store a secret, or import from another tool or a .env file.
    </Empty>
  );

export default function Secrets() {
  const [environment, chooseEnvironment] = useEnvironment();
  const [path, setPath] = useParameter('path', true);
  const [search, setSearch] = useParameter('search');
  const [type, setType] = useParameter('type');
  const [status, setStatus] = useParameter('status');
  const [creating, setCreating] = useState(false);
  // A folder opens with the same filters.
  const filters = { ...(type && { type }), ...(status && { status }) };
  const list = useSecrets({ environment, path, search: useSettled(search), type, status });
  const { chosen, choosing, keep } = useChosen(list.hash);
  const onCreate = () => setCreating(true);
  useMaker(onCreate, may('secrets:write', environment));
  return (
    <>
      <Actions environment={environment} onCreate={onCreate} />
      <search class="filters">
        <Segments
          label="Environment"
          value={environment}
          onValue={chooseEnvironment}
          choices={environments.value.map(({ slug, name }) => ({ value: slug, label: name }))}
        />
        <FilterText label="Name contains" value={search} onValue={setSearch} />
        <FilterSelect
          label="Type"
          all="All types"
          value={type}
          onValue={setType}
          choices={secretTypes}
          wordsOf={nameOfType}
        />
        <FilterSelect
          label="Status"
          all="Not deleted"
          value={status}
          onValue={setStatus}
          choices={['active', 'expired', 'revoked', 'deleted']}
        />
        <Views environment={environment} />
      </search>
      <Path path={path} onGo={setPath} />
      <Listing<Row>
        list={list}
        choosing={
          ['secrets:write', 'secrets:delete', 'integrations:generate'].some((scope) =>
            may(scope, environment),
          )
            ? choosing
            : undefined
        }
        skeleton={8}
        label={`Secrets of ${environment}`}
        columns={columnsFor(
          path,
          (folder) => `/secrets?${new URLSearchParams({ ...filters, environment, path: folder })}`,
        )}
        keyOf={({ folder, secret }) => folder ?? secret?.id ?? ''}
        empty={
          <Nothing
            isFiltered={Boolean(search || type || status || path)}
            environment={environment}
            onCreate={onCreate}
          />
        }
      />
      <Selected environment={environment} chosen={chosen} keep={keep} />
      {creating && <NewSecret environment={environment} path={path} onClose={() => setCreating(false)} />}
    </>
  );
}
