// The log streams of the organisation.
import { useState } from 'preact/hooks';
import { here, useList, vault } from '../../requests/api';
import { Button } from '../../ui/controls/button';
import { MakeButton } from '../../ui/controls/make-button';
import { Listing } from '../../ui/lists/listing';
import { Lines } from '../../ui/lists/table';
import { Badge, Empty, PageHead, Time } from '../../ui/parts';
import { NewLogStream } from './form';
import { kinds, type LogStream } from './kinds';

const tones = { active: 'good', failing: 'warn', disabled: 'plain' } as const;

export const LogStreamStatus = ({
  status,
  disabled_reason,
}: Pick<LogStream, 'status' | 'disabled_reason'>) => (
  <Badge tone={disabled_reason !== null && disabled_reason !== 'user' ? 'bad' : tones[status]}>
    {disabled_reason === 'maker' ? 'stopped' : status}
  </Badge>
);

export default function LogStreams() {
  const [creating, setCreating] = useState(false);
  const list = useList<LogStream>(['log-streams', 'list'], (cursor, signal) =>
    vault().api.GET('/orgs/{org_id}/log-streams', {
      params: { path: here(), query: { limit: 100, cursor } },
      signal,
    }),
  );
  const onCreate = () => setCreating(true);
  return (
    <>
      <PageHead
        title="Log streams"
        lead="Send the audit log to the systems of your security team as it grows."
      >
        <MakeButton onMake={onCreate}>New log stream</MakeButton>
      </PageHead>
      <Listing<LogStream>
        list={list}
        label="Log streams"
        keyOf={({ id }) => id}
        hrefOf={({ id }) => `/log-streams/${id}`}
        columns={[
          {
            label: 'Name',
            width: 'minmax(12rem, 2fr)',
            cell: ({ name, kind }) => <Lines sub={kinds[kind].label}>{name}</Lines>,
          },
          { label: 'Status', width: '7rem', cell: (stream) => <LogStreamStatus {...stream} /> },
          {
            label: 'Last error',
            width: 'minmax(12rem, 2fr)',
            wide: true,
            cell: ({ last_error }) => <span class="dim truncate">{last_error?.message}</span>,
          },
          { label: 'Position', width: '8rem', wide: true, cell: ({ position }) => position.sequence },
          { label: 'Created', width: '9rem', wide: true, cell: ({ created_at }) => <Time at={created_at} /> },
        ]}
        empty={
          <Empty title="No log streams yet" action={<Button onPress={onCreate}>Create a log stream</Button>}>
            A log stream sends each entry of the audit log to Splunk, Datadog, a bucket, OTLP or an HTTPS
            endpoint, at least once and in order.
          </Empty>
        }
      />
      {creating && <NewLogStream onClose={() => setCreating(false)} />}
    </>
  );
}
