// Incident response: find a leaked credential, or revoke all credentials.
import { useState } from 'preact/hooks';
import { useLocation } from 'wouter-preact';
import { useParameter } from '../../navigation/router';
import { Button } from '../../ui/controls/button';
import { FilterText } from '../../ui/lists/filters';
import { Table } from '../../ui/lists/table';
import { Badge, Empty, ErrorNote, PageHead, Skeleton, Time } from '../../ui/parts';
import { type Found, identify, isId, KINDS, useCredentials } from './credentials';
import { type Incident as One, useIncidents } from './data';
import { PanicCard } from './panic';
import './incident.css';

const columns = [
  {
    label: 'Credential',
    width: 'minmax(12rem, 2fr)',
    cell: ({ name, hint, id }: Found) => (
      <span class="truncate">
        {name || <span class="mono">{hint || id}</span>}{' '}
        {name && hint && <span class="dim mono">{hint}</span>}
      </span>
    ),
  },
  { label: 'Kind', width: '9rem', cell: ({ kind }: Found) => <span class="dim">{KINDS[kind]}</span> },
  { label: 'Last used', width: '9rem', wide: true, cell: ({ lastUsed }: Found) => <Time at={lastUsed} /> },
];

const fits =
  (search: string) =>
  ({ name, id, hint }: Found): boolean =>
    [name, id, hint].some((text) => text.toLowerCase().includes(search.toLowerCase()));

/** Finds a credential by its name, id or token. A pasted token never becomes part of the address. */
function Find() {
  const [search, setSearch] = useParameter('search');
  const [problem, setProblem] = useState('');
  const [, go] = useLocation();
  const { data, error, isPending, refetch } = useCredentials();
  const look = async (token: string) => {
    const id = await identify(token);
    if (id) go(`/incident/${id}`);
    else setProblem('This token does not belong to a credential of this organisation.');
  };
  const onSearch = (text: string) => {
    setProblem('');
    setSearch(text);
  };
  const onToken = (token: string) => {
    setProblem('');
    look(token).catch(() =>
      setProblem('The token could not be looked up. Try the id or name of the credential.'),
    );
  };
  const rows = (data ?? []).filter(fits(search.trim()));
  return (
    <section class="stack" aria-labelledby="contain">
      <div>
        <h2 id="contain">Contain a credential</h2>
        <p class="dim">
          Revoke one credential and everything it created. You see what it read before you confirm.
        </p>
      </div>
      <div class="filters">
        <FilterText label="Name, ID or leaked token" value={search} onValue={onSearch} onToken={onToken} />
        {isId(search.trim()) && (
          <Button kind="primary" onPress={() => go(`/incident/${search.trim()}`)}>
            Open this ID
          </Button>
        )}
      </div>
      {problem && (
        <p class="note warn" role="alert">
          {problem}
        </p>
      )}
      {error ? (
        <ErrorNote error={error} onRetry={refetch} />
      ) : isPending ? (
        <Skeleton of="table" rows={4} />
      ) : (
        <Table
          label="Live credentials"
          rows={rows}
          columns={columns}
          keyOf={({ id }) => id}
          hrefOf={({ id }) => `/incident/${id}`}
          empty={
            <Empty title={search ? 'No live credential matches' : 'No live credentials'}>
              The list shows the newest 100 of each kind. For any other, including expired ones, enter its ID
              from the audit log.
            </Empty>
          }
        />
      )}
    </section>
  );
}

export const IncidentStatus = ({ status }: Pick<One, 'status'>) => (
  <Badge tone={status === 'open' ? 'warn' : 'good'}>{status}</Badge>
);

export const titleOf = ({ kind, credential }: Pick<One, 'kind' | 'credential'>): string =>
  kind === 'panic' ? 'All credentials revoked' : `${credential?.name || credential?.id} contained`;

/** The newest incidents. Nothing is shown before the first one. */
function Incidents() {
  const { data } = useIncidents();
  if (!data?.data.length) return null;
  return (
    <section class="stack wide" aria-labelledby="incidents">
      <h2 id="incidents">Incidents</h2>
      <Table
        label="Incidents"
        name="Newest incidents"
        rows={data.data}
        keyOf={({ id }) => id}
        hrefOf={({ id }) => `/incident/report/${id}`}
        columns={[
          {
            label: 'Incident',
            width: 'minmax(12rem, 2fr)',
            cell: (one) => <span class="truncate">{titleOf(one)}</span>,
          },
          { label: 'Status', width: '7rem', cell: IncidentStatus },
          { label: 'Opened', width: '9rem', cell: ({ created_at }) => <Time at={created_at} /> },
        ]}
        empty={null}
      />
    </section>
  );
}

export default function Incident() {
  return (
    <>
      <PageHead
        title="Incident response"
        lead="If a credential leaked, revoke it, see what it read, and rotate those secrets."
      />
      <div class="incident">
        <Find />
        <PanicCard />
        <Incidents />
      </div>
    </>
  );
}
