// The credentials of each kind, with their risks. Invariant: filters and orders apply to the whole list, so
// it is read to its end for them.
import { useEffect, useState } from 'preact/hooks';
import '../../styles/access.css';
import { useParameter } from '../../navigation/router';
import { useList } from '../../requests/api';
import { may } from '../../session/may';
import { scopesInWords } from '../../session/scopes';
import { MakeButton } from '../../ui/controls/make-button';
import { Tabs } from '../../ui/controls/tabs';
import { FilterSelect, FilterText } from '../../ui/lists/filters';
import { Listing } from '../../ui/lists/listing';
import type { Column } from '../../ui/lists/table';
import { Badge, Empty, PageHead, Time, type Tone } from '../../ui/parts';
import { NewCredential } from './create';
import { type Credential, type Kind, kinds, nameOf, readPage, type Status, statusOf } from './kinds';
import { CHIPS, filtered, RISKS, risksOf, SORTS } from './risks';
import { TrustForm } from './trust';

const tones: Record<Status, Tone> = { active: 'good', expired: 'warn', revoked: 'bad' };

export const CredentialStatus = ({ credential }: { credential: Credential }) => {
  const status = statusOf(credential);
  return <Badge tone={tones[status]}>{status}</Badge>;
};

/** The environments where it is valid, and the names if they are restricted. */
export const placeOf = ({ kind, environments, secrets }: Credential): string =>
  kind === 'session'
    ? 'same as parent'
    : [environments?.join(', ') ?? 'all environments', secrets && `names ${secrets.join(', ')}`]
        .filter(Boolean)
        .join(' · ');

const Risks = ({ row }: { row: Credential }) => (
  <span
    class="truncate chips"
    title={risksOf(row)
      .map((risk) => RISKS[risk])
      .join(', ')}
  >
    {risksOf(row).map((risk) => (
      <Badge key={risk} tone="warn">
        {CHIPS[risk]}
      </Badge>
    ))}
  </span>
);

const columns: Column<Credential>[] = [
  {
    label: 'Name',
    width: 'minmax(10rem, 1.6fr)',
    cell: (row) => (
      <span class="grow">
        <span class="truncate">
          {row.name} <code class="dim">{row.hint}</code>
        </span>
        <span class="sub truncate">
          {[...risksOf(row).map((risk) => RISKS[risk]), scopesInWords(row.scopes), placeOf(row)].join(' · ')}
        </span>
      </span>
    ),
  },
  { label: 'Status', width: '5.5rem', cell: (row) => <CredentialStatus credential={row} /> },
  { label: 'Risks', width: '12rem', wide: true, cell: (row) => <Risks row={row} /> },
  {
    label: 'Scopes',
    width: 'minmax(9rem, 1fr)',
    wide: true,
    roomy: true,
    cell: ({ scopes }) => (
      <span class="truncate block" title={scopes.join(', ')}>
        {scopesInWords(scopes)}
      </span>
    ),
  },
  {
    label: 'Access to',
    width: 'minmax(9rem, 1fr)',
    wide: true,
    roomy: true,
    cell: (row) => (
      <span class="dim truncate block" title={placeOf(row)}>
        {placeOf(row)}
      </span>
    ),
  },
  { label: 'Last used', width: '8rem', wide: true, cell: ({ lastUsed }) => <Time at={lastUsed} /> },
  { label: 'Expires', width: '8rem', wide: true, roomy: true, cell: ({ ends }) => <Time at={ends} /> },
];

/** The filters, kept in the address. */
function useFilters() {
  const [search, setSearch] = useParameter('search');
  const [risk, setRisk] = useParameter('risk');
  const [sort, setSort] = useParameter('sort');
  const bar = (
    <search class="filters">
      <FilterText label="Name, hint or ID" value={search} onValue={setSearch} />
      <FilterSelect
        label="Risk"
        all="With and without risks"
        value={risk}
        onValue={setRisk}
        choices={['any', ...Object.keys(RISKS)]}
        wordsOf={(choice) => (choice === 'any' ? 'Any risk' : RISKS[choice as keyof typeof RISKS])}
      />
      <FilterSelect
        label="Order"
        all="Newest first"
        value={sort}
        onValue={setSort}
        choices={Object.keys(SORTS)}
        wordsOf={(choice) => SORTS[choice] ?? choice}
      />
    </search>
  );
  return { bar, filters: { search, risk, sort }, isSet: Boolean(search.trim() || risk || sort) };
}

function Rows({ kind, onCreate }: { kind: Kind; onCreate?: () => void }) {
  const about = kinds[kind];
  const list = useList<Credential>(['credentials', kind], (cursor, signal) => readPage(kind, cursor, signal));
  const { bar, filters, isSet } = useFilters();
  useEffect(() => {
    if (isSet) list.more();
  });
  const rows = isSet ? filtered(list.rows, filters) : list.rows;
  return (
    <>
      <div class="row spaced">
        <p class="dim grow lead">{about.lead}</p>
        {onCreate && <MakeButton onMake={onCreate}>New {nameOf(kind)}</MakeButton>}
      </div>
      {bar}
      {isSet && !list.isPending && (
        <p class="dim small" role="status">
          {rows.length.toLocaleString()} of {list.rows.length.toLocaleString()}
          {list.hasNextPage && ', more are being read'}
        </p>
      )}
      <Listing
        list={list}
        rows={rows}
        label={about.plural}
        columns={columns}
        keyOf={({ id }) => id}
        hrefOf={({ id }) => `/credentials/${id}`}
        empty={
          isSet ? (
            <Empty title="No credentials found">Change the filters.</Empty>
          ) : (
            <Empty
              title={`No ${kind === 'trust' ? 'trusts' : about.plural.toLowerCase().replace('api', 'API')}`}
            >
              {about.none}
            </Empty>
          )
        }
      />
    </>
  );
}

/** Whether the member's role may create credentials of a kind here. */
const canCreate = (kind: Kind): boolean =>
  kind !== 'session' && may(kind === 'break_glass' ? '*' : 'tokens:write');

export default function Credentials() {
  const [creating, setCreating] = useState<Kind | null>(null);
  const order: Kind[] = ['api_key', 'agent', 'trust', 'provider', 'session', 'break_glass'];
  return (
    <>
      <PageHead
        title="Credentials"
        lead="Programs sign in with these. Each has its own scopes, environments, secret names and expiry."
      />
      <Tabs
        label="Kinds of credentials"
        items={order.map((kind) => ({
          id: kind,
          label: kinds[kind].plural,
          content: () => (
            <Rows kind={kind} onCreate={canCreate(kind) ? () => setCreating(kind) : undefined} />
          ),
        }))}
      />
      {creating === 'trust' && <TrustForm onClose={() => setCreating(null)} />}
      {creating && creating !== 'trust' && (
        <NewCredential kind={creating} onClose={() => setCreating(null)} />
      )}
    </>
  );
}
