// Operations on devices in the gate. Invariants: a blocked device stays blocked, and so does a device whose
// member was removed or suspended, so no credential bound to it becomes valid again; a public key never
// changes and belongs to one device of the organisation. Whether a credential is valid is derived from these
// rows (`gate/identity/lifetime.ts`).

import { type PublicKey, thumbprintOf } from '../../../auth/authentication/jwk';
import { idStart } from '../../../db/ids';
import { type DeviceRow, isSuspended } from '../../../db/schema';
import { refuse } from '../../../errors';
import type { Core } from '../../../gate/core';
import { isBlocked } from '../../../gate/identity/lifetime';
import type { Raised } from '../../../gate/outbox';
import type { Call, Operation } from '../../../gate/request/call';
import { type ListInput, listed } from '../../../gate/request/listing';
import { found } from '../../../gate/request/outcome';
import { namedId } from '../../../gate/request/target';
import { insertion, revision } from '../../../gate/request/writes';
import { deviceOut, type Status } from '../wire';

const MOST_DEVICES = 2000;

const target = ({ ask }: Call<unknown>) => namedId(ask, 'device');
const find = (call: Call<unknown>): DeviceRow | null => call.core.rows.get('device', target(call));

const statusOf = (core: Core, row: DeviceRow): Status => (isBlocked(core, row) ? 'blocked' : 'active');
const shown = (core: Core, row: DeviceRow) => deviceOut(row, statusOf(core, row));

const raised = (type: Raised['type'], { id, name, member_id }: DeviceRow): Raised => ({
  type,
  data: { device_id: id, name, member_id },
});

const list: Operation<ListInput & { status: Status | null; member_id: string | null }> = {
  read: ({ core, input }) =>
    listed(core, 'device', idStart('device'), input, (row) =>
      (input.status === null || statusOf(core, row) === input.status) &&
      (input.member_id === null || row.member_id === input.member_id)
        ? shown(core, row)
        : null,
    ),
};

const read: Operation<Record<string, never>> = {
  read: (call) => found(find(call), (row) => shown(call.core, row)),
};

/** The device with this public key. */
function deviceWith(core: Core, key: PublicKey): DeviceRow | undefined {
  const thumbprint = thumbprintOf(key);
  const has = ({ public_key }: DeviceRow) =>
    public_key?.x === key.x && thumbprintOf(public_key as PublicKey) === thumbprint;
  return core.rows.after('device', '', MOST_DEVICES).find(has);
}

interface NewInput {
  id: string;
  name: string;
  platform: string;
  serial: string | null;
  public_key: PublicKey | null;
}

const create: Operation<NewInput> = {
  subject: ({ input }) => ({ resource: input.id }),
  change: {
    plan(call, now) {
      const { core, ask, caller, input } = call;
      const other = input.public_key && deviceWith(core, input.public_key);
      // safety: device-key-unique
      if (other)
        return refuse('CONFLICT', {
          message: `This public key belongs to the device ${other.id}. Create a new key for each device.`,
        });
      const fields = { org_id: ask.org, ...input, created_by: caller.id, created_at: now, updated_at: now };
      const put = insertion(call, 'device', fields);
      const row = put.row as DeviceRow;
      return {
        status: 201,
        data: shown(core, row),
        writes: [put],
        events: [raised('DEVICE_REGISTERED', row)],
      };
    },
  },
};

const update: Operation<{ name?: string; platform?: string; serial?: string | null }> = {
  change: {
    revises: find,
    plan(call, now) {
      const row = find(call);
      if (!row) return refuse('NOT_FOUND');
      const put = revision(call, 'device', row, { ...call.input, updated_at: now });
      return { status: 200, data: shown(call.core, put.row as DeviceRow), writes: [put] };
    },
  },
};

const assign: Operation<{ member_id: string | null }> = {
  change: {
    revises: find,
    plan(call, now) {
      const { core, input } = call;
      const row = find(call);
      if (!row) return refuse('NOT_FOUND');
      const member = input.member_id === null ? null : core.rows.get('member', input.member_id);
      if (input.member_id !== null && !member)
        return refuse('NOT_FOUND', { message: 'The member in member_id does not exist.' });
      if (member && isSuspended(member)) return refuse('CONFLICT', { message: 'The member is suspended.' });
      // safety: blocked-device-not-assigned
      if (isBlocked(core, row))
        return refuse('CONFLICT', {
          message:
            'This device is blocked, or its member was removed or suspended. Register it again with a new key to assign it.',
        });
      if (row.member_id === input.member_id) return { status: 200, data: shown(core, row) };
      const put = revision(call, 'device', row, {
        member_id: input.member_id,
        assigned_at: input.member_id === null ? null : now,
        updated_at: now,
      });
      const after = put.row as DeviceRow;
      const event =
        input.member_id === null ? raised('DEVICE_UNASSIGNED', row) : raised('DEVICE_ASSIGNED', after);
      return { status: 200, data: shown(core, after), writes: [put], events: [event] };
    },
  },
};

const block: Operation<Record<string, never>> = {
  change: {
    revises: find,
    plan(call, now) {
      const row = find(call);
      if (!row) return refuse('NOT_FOUND');
      if (row.blocked_at !== null) return { status: 200, data: shown(call.core, row) };
      const put = revision(call, 'device', row, { blocked_at: now, updated_at: now });
      return {
        status: 200,
        data: shown(call.core, put.row as DeviceRow),
        writes: [put],
        events: [raised('DEVICE_BLOCKED', row)],
      };
    },
  },
};

const remove: Operation<Record<string, never>> = {
  change: {
    revises: find,
    plan(call) {
      const row = find(call);
      if (!row) return refuse('NOT_FOUND');
      return {
        status: 204,
        data: null,
        deletes: [{ kind: 'device', id: row.id }],
        events: [raised('DEVICE_REMOVED', row)],
      };
    },
  },
};

export const deviceOperations = {
  'device.list': list,
  'device.read': read,
  'device.create': create,
  'device.update': update,
  'device.assign': assign,
  'device.block': block,
  'device.delete': remove,
};
