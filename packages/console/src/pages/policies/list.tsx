import { useState } from 'preact/hooks';
import { here, useList, vault } from '../../requests/api';
import { MakeButton } from '../../ui/controls/make-button';
import { Listing } from '../../ui/lists/listing';
import type { Column } from '../../ui/lists/table';
import { Badge, Empty, PageHead, type Tone } from '../../ui/parts';
import { PolicyForm } from './form';
import { appliesWhere, doesWhat, type Kind, kindLabels, type Policy } from './words';
import '../../styles/access.css';
import { may } from '../../session/may';

const tones: Record<Kind, Tone> = { naming: 'plain', rotation: 'accent', approval: 'warn' };

export const KindBadge = ({ kind }: { kind: Kind }) => <Badge tone={tones[kind]}>{kindLabels[kind]}</Badge>;

const columns: Column<Policy>[] = [
  {
    label: 'Name',
    width: 'minmax(9rem, 1.4fr)',
    cell: (policy) => (
      <span class="grow">
        <span class="truncate">{policy.name}</span>
        <span class="sub truncate">
          {doesWhat(policy)} · {policy.enabled ? 'on' : 'off'}
        </span>
      </span>
    ),
  },
  { label: 'Kind', width: '6rem', cell: ({ kind }) => <KindBadge kind={kind} /> },
  {
    label: 'Rule',
    width: 'minmax(10rem, 1.8fr)',
    wide: true,
    cell: (policy) => (
      <span class={`truncate block ${policy.kind === 'naming' ? 'mono' : ''}`} title={doesWhat(policy)}>
        {doesWhat(policy)}
      </span>
    ),
  },
  {
    label: 'Applies to',
    width: 'minmax(8rem, 1fr)',
    wide: true,
    cell: (policy) => (
      <span class="dim truncate block" title={appliesWhere(policy)}>
        {appliesWhere(policy)}
      </span>
    ),
  },
  {
    label: 'Status',
    width: '5rem',
    wide: true,
    cell: ({ enabled }) => (enabled ? <Badge tone="good">enabled</Badge> : <Badge>disabled</Badge>),
  },
];

export default function Policies() {
  const [creating, setCreating] = useState(false);
  const list = useList<Policy>(['policies', 'list'], (cursor, signal) =>
    vault().api.GET('/orgs/{org_id}/policies', {
      params: { path: here(), query: { limit: 100, cursor } },
      signal,
    }),
  );
  const add = may('policies:write') && <MakeButton onMake={() => setCreating(true)}>New policy</MakeButton>;
  return (
    <>
      <PageHead
        title="Policies"
        lead="Rules for secret names, for rotation, and for operations that require approval."
      >
        {add}
      </PageHead>
      <Listing
        list={list}
        label="Policies"
        columns={columns}
        keyOf={({ id }) => id}
        hrefOf={({ id }) => `/policies/${id}`}
        empty={
          <Empty title="No policies yet">
            To start, require an admin's approval to read values in production, or rotate values every 90
            days.
          </Empty>
        }
      />
      {creating && <PolicyForm onClose={() => setCreating(false)} />}
    </>
  );
}
