// One log stream: how far it has come, its last error, its target, and what one can do with it.
import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { useLocation } from 'wouter-preact';
import { at, forget, useRead, vault } from '../../requests/api';
import { type Changing, change } from '../../requests/seen';
import { Button } from '../../ui/controls/button';
import { Menu } from '../../ui/controls/menu';
import { Confirm } from '../../ui/dialogs/confirm';
import { Crumbs, LoadingPage, Missing } from '../../ui/page';
import { Facts, Id, PageHead, Time } from '../../ui/parts';
import { tell } from '../../ui/toast';
import { NewTarget, Seek } from './form';
import { kinds, type LogStream } from './kinds';
import { LogStreamStatus } from './list';

type Doing = 'target' | 'seek' | 'disable' | 'delete' | null;

const whyDisabled: Record<string, string> = {
  user: 'This stream was disabled. It sends nothing until it is enabled, and then sends on from its position.',
  failing:
    'This stream was disabled because every attempt failed for 5 days. Fix the target and enable the stream.',
  gone: 'This stream was disabled because the target responded with 410 Gone. If that was a mistake, enable it again.',
  maker:
    'This stream has stopped because whoever made it was removed, or may not make it any more. Take it over to send on from its position.',
};

async function setEnabled(stream: LogStream, enabled: boolean, changing: Changing): Promise<void> {
  const { data } = await changing((header) =>
    vault().api.PATCH('/orgs/{org_id}/log-streams/{id}', { ...at(stream.id, header), body: { enabled } }),
  );
  await forget('log-streams');
  tell(enabled ? 'Log stream enabled' : 'Log stream disabled', undefined, () =>
    setEnabled(data, !enabled, (call) => change(data, call)),
  );
}

function Doings({ stream, doing, end }: { stream: LogStream; doing: Doing; end: () => void }) {
  const [, go] = useLocation();
  const remove = async (changing: Changing) => {
    await changing((header) => vault().api.DELETE('/orgs/{org_id}/log-streams/{id}', at(stream.id, header)));
    await forget('log-streams');
    tell('Log stream deleted');
    go('/log-streams');
  };
  if (doing === 'target') return <NewTarget stream={stream} onClose={end} />;
  if (doing === 'seek') return <Seek stream={stream} onClose={end} />;
  if (doing === 'disable')
    return (
      <Confirm
        title="Disable this log stream?"
        action="Disable log stream"
        resource={stream}
        onConfirm={(changing) => setEnabled(stream, false, changing)}
        onClose={end}
      >
        <p>It first sends the entries up to this change. Later ones wait until it is enabled again.</p>
      </Confirm>
    );
  if (doing === 'delete')
    return (
      <Confirm
        title="Delete this log stream?"
        action="Delete log stream"
        resource={stream}
        onConfirm={remove}
        onClose={end}
      >
        <p>It first sends the entries up to this change. Its credentials are erased.</p>
      </Confirm>
    );
  return null;
}

const Config = ({ stream }: { stream: LogStream }) => (
  <Facts
    items={[
      ['Target', kinds[stream.kind].label],
      ...Object.entries(stream.config).map(([name, value]): [string, ComponentChildren] => [
        kinds[stream.kind].fields.find((field) => field.name === name)?.label ?? name,
        <span class="mono">{[value].flat().join(', ')}</span>,
      ]),
      ['Format', stream.format === 'ocsf' ? 'OCSF' : 'As in the audit log'],
      ['Last entry taken', stream.position.sequence],
      stream.position.time !== null && ['Its time', <Time at={stream.position.time} />],
      stream.last_error !== null && ['Last error', stream.last_error.message],
      stream.last_error !== null && ['Failed', <Time at={stream.last_error.time} />],
      ['Created', <Time at={stream.created_at} />],
      ['Created by', <code>{stream.created_by}</code>],
      ['Changed', <Time at={stream.updated_at} />],
      ['ID', <Id id={stream.id} />],
    ]}
  />
);

export default function LogStreamPage({ params: { id = '' } }: { params: Record<string, string> }) {
  const [doing, setDoing] = useState<Doing>(null);
  const { data, error, refetch } = useRead(['log-streams', 'one', id], (signal) =>
    vault().api.GET('/orgs/{org_id}/log-streams/{id}', { ...at(id), signal }),
  );
  if (error)
    return (
      <Missing what="log stream" list={['/log-streams', 'Log streams']} error={error} onRetry={refetch} />
    );
  if (!data) return <LoadingPage />;
  const test = async () => {
    await vault().api.POST('/orgs/{org_id}/log-streams/{id}/test', at(id));
    tell('The target took the test message');
  };
  return (
    <>
      <Crumbs places={[['/log-streams', 'Log streams']]} />
      <PageHead title={data.name} lead={<LogStreamStatus {...data} />}>
        <Button onPress={test}>Send test message</Button>
        {data.disabled_reason !== null && (
          <Button kind="primary" onPress={() => setEnabled(data, true, (call) => change(data, call))}>
            {data.disabled_reason === 'maker' ? 'Take over' : 'Enable'}
          </Button>
        )}
        <Menu
          label="More actions"
          actions={[
            { label: 'Change target', onSelect: () => setDoing('target') },
            { label: 'Send entries again', onSelect: () => setDoing('seek') },
            data.enabled && { label: 'Disable', onSelect: () => setDoing('disable') },
            { label: 'Delete', danger: true, onSelect: () => setDoing('delete') },
          ]}
        />
      </PageHead>
      {data.disabled_reason !== null && <p class="note warn spaced">{whyDisabled[data.disabled_reason]}</p>}
      <Config stream={data} />
      <Doings stream={data} doing={doing} end={() => setDoing(null)} />
    </>
  );
}
