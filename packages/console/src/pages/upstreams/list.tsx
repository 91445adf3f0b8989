// The upstreams of the organisation. A member without `upstreams:read` sees less of those they may use.
import { useState } from 'preact/hooks';
import { here, useList, vault } from '../../requests/api';
import { Button } from '../../ui/controls/button';
import { MakeButton } from '../../ui/controls/make-button';
import { Listing } from '../../ui/lists/listing';
import { Lines } from '../../ui/lists/table';
import { Badge, Empty, PageHead, Time } from '../../ui/parts';
import { NewUpstream } from './form';
import type { Shown } from './kinds';

export const UpstreamStatus = ({ status }: Pick<Shown, 'status'>) =>
  status ? <Badge tone={status === 'active' ? 'good' : 'bad'}>{status}</Badge> : null;

export default function Upstreams() {
  const [creating, setCreating] = useState(false);
  const list = useList<Shown>(['upstreams', 'list'], (cursor, signal) =>
    vault().api.GET('/orgs/{org_id}/upstreams', {
      params: { path: here(), query: { limit: 100, cursor } },
      signal,
    }),
  );
  const onCreate = () => setCreating(true);
  return (
    <>
      <PageHead
        title="Upstreams"
        lead="APIs that programs and agents call through the vault, which adds the secrets. Callers never see them."
      >
        <MakeButton onMake={onCreate}>New upstream</MakeButton>
      </PageHead>
      <Listing<Shown>
        list={list}
        label="Upstreams"
        keyOf={({ id }) => id}
        hrefOf={({ id }) => `/upstreams/${id}`}
        columns={[
          {
            label: 'Name',
            width: 'minmax(12rem, 2fr)',
            cell: ({ name, base_url }) => <Lines sub={base_url}>{name}</Lines>,
          },
          { label: 'Status', width: '7rem', cell: (upstream) => <UpstreamStatus {...upstream} /> },
          { label: 'Environment', width: '9rem', wide: true, cell: ({ environment }) => environment },
          {
            label: 'Secrets',
            width: 'minmax(10rem, 1fr)',
            wide: true,
            cell: ({ secrets }) => <span class="mono truncate">{secrets?.join(', ')}</span>,
          },
          { label: 'Changed', width: '9rem', wide: true, cell: ({ updated_at }) => <Time at={updated_at} /> },
        ]}
        empty={
          <Empty title="No upstreams yet" action={<Button onPress={onCreate}>Create an upstream</Button>}>
            An upstream lets programs and agents use an API, such as Stripe or OpenAI, without holding its
            key.
          </Empty>
        }
      />
      {creating && <NewUpstream onClose={() => setCreating(false)} />}
    </>
  );
}
