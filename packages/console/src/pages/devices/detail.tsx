// The details of a device, in a panel beside the list.
import { Link } from 'wouter-preact';
import { Who } from '../../organisation/people';
import { here, useRead, vault } from '../../requests/api';
import { may } from '../../session/may';
import { Dialog } from '../../ui/dialogs/dialog';
import { ErrorNote, Facts, Id, Skeleton, Time } from '../../ui/parts';
import { DeviceStatus } from './device';

export function DeviceDetail({ id, onClose }: { id: string; onClose: () => void }) {
  const { data, error, refetch } = useRead(['devices', 'one', id], (signal) =>
    vault().api.GET('/orgs/{org_id}/devices/{id}', { params: { path: { ...here(), id } }, signal }),
  );
  return (
    <Dialog side title={data?.name ?? 'Device'} onClose={onClose}>
      {error ? <ErrorNote error={error} onRetry={refetch} /> : null}
      {!data && !error ? <Skeleton rows={5} /> : null}
      {data && (
        <Facts
          items={[
            ['Status', <DeviceStatus status={data.status} />],
            ['Platform', data.platform],
            ['Serial number', data.serial ?? <span class="dim">None</span>],
            [
              'Assigned to',
              data.member_id ? <Who id={data.member_id} /> : <span class="dim">Unassigned</span>,
            ],
            ['Assigned', <Time at={data.assigned_at} />],
            [
              'Public key',
              data.public_key ? (
                `${data.public_key.kty} ${data.public_key.crv}`
              ) : (
                <span class="dim">None</span>
              ),
            ],
            ['Thumbprint', data.thumbprint ? <code>{data.thumbprint}</code> : <span class="dim">None</span>],
            [
              'Registered',
              <>
                <Time at={data.created_at} /> by <Who id={data.created_by} />
              </>,
            ],
            data.blocked_at ? ['Blocked', <Time at={data.blocked_at} />] : null,
            may('tokens:read')
              ? ['Credentials', <Link href={`/blast/${id}`}>What its credentials could read</Link>]
              : null,
            ['ID', <Id id={data.id} />],
          ]}
        />
      )}
    </Dialog>
  );
}
