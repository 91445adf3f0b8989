// Devices: the machines that credentials are bound to, and the members they are assigned to.
import { useState } from 'preact/hooks';
import { useParameter } from '../../navigation/router';
import { useMembers, Who } from '../../organisation/people';
import { at, forget, here, useList, vault } from '../../requests/api';
import { change, useChange } from '../../requests/seen';
import { MakeButton } from '../../ui/controls/make-button';
import { Menu } from '../../ui/controls/menu';
import { Confirm } from '../../ui/dialogs/confirm';
import { Dialog } from '../../ui/dialogs/dialog';
import { SelectField } from '../../ui/forms/field';
import { Form, useProblems } from '../../ui/forms/form';
import { StatusFilter } from '../../ui/lists/filters';
import { Listing } from '../../ui/lists/listing';
import { type Column, Lines } from '../../ui/lists/table';
import { Empty, PageHead, Time } from '../../ui/parts';
import { tell } from '../../ui/toast';
import { DeviceDetail } from './detail';
import { type Device, DeviceStatus } from './device';
import { DeviceForm } from './form';
import '../../styles/access.css';
import { may } from '../../session/may';

function Assign({ device, onClose }: { device: Device; onClose: () => void }) {
  const { members } = useMembers();
  const [member, setMember] = useState(device.member_id ?? '');
  const problems = useProblems();
  const changing = useChange(device);
  const assign = async () => {
    await changing((header) =>
      vault().api.POST('/orgs/{org_id}/devices/{id}/assign', {
        ...at(device.id, header),
        body: { member_id: member || null },
      }),
    );
    await forget('devices');
    tell(member ? `${device.name} assigned` : `${device.name} unassigned`);
    onClose();
  };
  return (
    <Dialog
      title={`Assign ${device.name}`}
      lead="Records who has the device. This does not change any access."
      onClose={onClose}
    >
      <Form
        action="Assign device"
        onSubmit={assign}
        onCancel={onClose}
        problems={problems}
        disabled={member === (device.member_id ?? '')}
      >
        <SelectField
          label="Member"
          value={member}
          onValue={setMember}
          error={problems.of('member_id')}
          choices={[
            { value: '', label: 'Unassigned' },
            ...members.map(({ id, name, email }) => ({ value: id, label: `${name} (${email})` })),
          ]}
        />
      </Form>
    </Dialog>
  );
}

type Doing = 'assign' | 'edit' | 'block' | 'remove';

function Acting({ doing, device, onClose }: { doing: Doing; device: Device; onClose: () => void }) {
  if (doing === 'assign') return <Assign device={device} onClose={onClose} />;
  if (doing === 'edit') return <DeviceForm device={device} onClose={onClose} />;
  const isBlock = doing === 'block';
  const act = async () => {
    const { api } = vault();
    if (isBlock)
      await change(device, (header) => api.POST('/orgs/{org_id}/devices/{id}/block', at(device.id, header)));
    else await change(device, (header) => api.DELETE('/orgs/{org_id}/devices/{id}', at(device.id, header)));
    await forget('devices', 'credentials');
    tell(isBlock ? `${device.name} blocked` : `${device.name} removed`);
  };
  return (
    <Confirm
      title={`${isBlock ? 'Block' : 'Remove'} ${device.name}?`}
      action={isBlock ? 'Block device' : 'Remove device'}
      onConfirm={act}
      onClose={onClose}
    >
      <p>
        This immediately revokes the credentials bound to <strong>{device.name}</strong>.{' '}
        {isBlock
          ? 'A blocked device cannot be unblocked. Register it again if you recover it.'
          : 'The device stays in the audit log.'}
      </p>
    </Confirm>
  );
}

const columns: Column<Device>[] = [
  {
    label: 'Name',
    width: 'minmax(9rem, 1.5fr)',
    cell: ({ name, platform }) => <Lines sub={platform}>{name}</Lines>,
  },
  { label: 'Status', width: '6rem', cell: (device) => <DeviceStatus {...device} /> },
  {
    label: 'Platform',
    width: '8rem',
    wide: true,
    roomy: true,
    cell: ({ platform }) => <span class="truncate block">{platform}</span>,
  },
  {
    label: 'Assigned to',
    width: 'minmax(7rem, 1fr)',
    wide: true,
    cell: ({ member_id }) => (member_id ? <Who id={member_id} /> : <span class="dim">Unassigned</span>),
  },
  {
    label: 'Key',
    width: '6rem',
    wide: true,
    roomy: true,
    cell: ({ public_key }) => (public_key ? public_key.crv : <span class="dim">None</span>),
  },
  { label: 'Registered', width: '9rem', wide: true, cell: ({ created_at }) => <Time at={created_at} /> },
];

const useDevices = (status: string) =>
  useList<Device>(['devices', 'list', status], (cursor, signal) =>
    vault().api.GET('/orgs/{org_id}/devices', {
      params: {
        path: here(),
        query: { limit: 100, cursor, status: (status || undefined) as Device['status'] | undefined },
      },
      signal,
    }),
  );

export default function Devices() {
  const [status, setStatus] = useParameter('status');
  const [shown, show] = useParameter('id', true);
  const [creating, setCreating] = useState(false);
  const [acting, setActing] = useState<{ doing: Doing; device: Device } | null>(null);
  const list = useDevices(status);
  return (
    <>
      <PageHead
        title="Devices"
        lead="Machines that credentials are bound to. A token stolen from a device works nowhere else."
      >
        {may('devices:write') && <MakeButton onMake={() => setCreating(true)}>Register device</MakeButton>}
      </PageHead>
      <StatusFilter value={status} onValue={setStatus} choices={{ active: 'Active', blocked: 'Blocked' }} />
      <Listing
        list={list}
        label="Devices"
        columns={columns}
        keyOf={({ id }) => id}
        hrefOf={({ id }) => `/devices?${new URLSearchParams({ ...(status && { status }), id })}`}
        actions={
          !may('devices:write')
            ? undefined
            : (device) => (
                <Menu
                  label={`Actions for ${device.name}`}
                  actions={[
                    { label: 'Assign', onSelect: () => setActing({ doing: 'assign', device }) },
                    { label: 'Edit', onSelect: () => setActing({ doing: 'edit', device }) },
                    device.status === 'active' && {
                      label: 'Block',
                      danger: true,
                      onSelect: () => setActing({ doing: 'block', device }),
                    },
                    { label: 'Remove', danger: true, onSelect: () => setActing({ doing: 'remove', device }) },
                  ]}
                />
              )
        }
        empty={
          <Empty title={status ? 'No devices have this status' : 'No devices yet'}>
            Register a laptop or server to bind credentials to it.
          </Empty>
        }
      />
      {creating && <DeviceForm onClose={() => setCreating(false)} />}
      {shown && <DeviceDetail id={shown} onClose={() => show('')} />}
      {acting && <Acting {...acting} onClose={() => setActing(null)} />}
    </>
  );
}
