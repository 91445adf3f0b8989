// The rows of devices.
import { rowKind } from '../../db/rows';
import { type DeviceRow, devices } from '../../db/schema';
import { lasting, REMOVE } from '../../gate/limits/quotas';

declare module '../../db/rows' {
  interface RowTypes {
    device: DeviceRow;
  }
}

export const device = rowKind('device', {
  table: devices,
  space: (row) => row.member_id ?? '',
  key: (row) => row.id,
  maker: ({ created_by }) => created_by,
  quota: lasting(2000, 1000, 'devices', REMOVE),
});
