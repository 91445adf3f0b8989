// The policies of the organisation: what names must look like, how old values may become, and what needs approval.
import { Plus } from 'lucide-preact';
import { useState } from 'preact/hooks';
import { here, useList, vault } from '../../api';
import { useMaker } from '../../shortcuts';
import { Button } from '../../ui/button';
import { Listing } from '../../ui/listing';
import { Badge, Empty, PageHead, type Tone } from '../../ui/parts';
import type { Column } from '../../ui/table';
import { PolicyForm } from './form';
import { appliesWhere, doesWhat, type Kind, kindLabels, type Policy } from './words';
import '../../styles/access.css';
import { may } from '../../may';

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
    label: 'State',
    width: '5rem',
    wide: true,
    cell: ({ enabled }) => (enabled ? <Badge tone="good">on</Badge> : <Badge>off</Badge>),
  },
];

export default function Policies() {
  const [creating, setCreating] = useState(false);
  useMaker(() => setCreating(true), may('policies:write'));
  const list = useList<Policy>(['policies', 'list'], (cursor, signal) =>
    vault().api.GET('/orgs/{org_id}/policies', { params: { path: here(), query: { limit: 100, cursor } }, signal }),
  );
  const add = may('policies:write') && (
    <Button kind="primary" onPress={() => setCreating(true)}>
      <Plus size={16} aria-hidden="true" /> New policy
    </Button>
  );
  return (
    <>
      <PageHead title="Policies" lead="What names must look like, how old values may become, and what needs approval.">
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
            A good first one: whoever reads a value in production needs the approval of an admin, or values are rotated every 90 days.
          </Empty>
        }
      />
      {creating && <PolicyForm onClose={() => setCreating(false)} />}
    </>
  );
}
