// What pages of devices share: a device, and the badge of its status.
import type { components } from '@secrets-vault/client';
import { Badge } from '../../ui/parts';

export type Device = components['schemas']['Device'];

export const DeviceStatus = ({ status }: Pick<Device, 'status'>) => (
  <Badge tone={status === 'active' ? 'good' : 'bad'}>{status}</Badge>
);
