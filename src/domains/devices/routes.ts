// HTTP routes of devices. The Worker validates a public key before it calls the gate.
import { readPublicKey } from '../../auth/authentication/jwk';
import { newId } from '../../db/ids';
import { ApiError, invalid } from '../../errors';
import { listRoute } from '../../http/list';
import { by, route } from '../../http/route';
import * as wire from './wire';

const devices = '/orgs/{org_id}/devices';

export const deviceRoutes = [
  route({
    method: 'post',
    path: devices,
    action: 'device.create',
    tag: 'Devices',
    summary: 'Register a device',
    description:
      'With a public key, session tokens and agent credentials can be bound to the device (`device_id`). Each request with such a credential needs a DPoP proof (RFC 9449) signed by the private key, which never leaves the device.',
    body: { schema: wire.DeviceIn, nulls: ['serial', 'public_key'] },
    answers: { 201: wire.Device },
    refusals: ['CONFLICT', 'LIMIT_REACHED'],
    async prepare({ body }) {
      const public_key = body.public_key === undefined ? null : await readPublicKey(body.public_key);
      if (typeof public_key === 'string') throw new ApiError(invalid('public_key', public_key));
      const { name, platform, serial = null } = body;
      return { input: { id: newId('dev'), name, platform, serial, public_key } };
    },
  }),
  listRoute({
    path: devices,
    action: 'device.list',
    tag: 'Devices',
    summary: 'List devices',
    query: wire.DeviceQuery,
    answers: { 200: wire.DevicePage },
    filters: (query) => ({ status: query.status ?? null, member_id: query.member_id ?? null }),
  }),
  route({
    method: 'get',
    path: `${devices}/{id}`,
    action: 'device.read',
    tag: 'Devices',
    summary: 'Show a device',
    answers: { 200: wire.Device },
    refusals: ['NOT_FOUND'],
    named: by('device'),
  }),
  route({
    method: 'patch',
    path: `${devices}/{id}`,
    action: 'device.update',
    revises: true,
    tag: 'Devices',
    summary: 'Change the name, platform or serial number of a device',
    description:
      'The public key cannot be changed. To replace a key, register the device again and remove the old one.',
    body: { schema: wire.DevicePatch },
    answers: { 200: wire.Device },
    refusals: ['NOT_FOUND'],
    named: by('device'),
    prepare: ({ body }) => ({ input: body }),
  }),
  route({
    method: 'delete',
    path: `${devices}/{id}`,
    action: 'device.delete',
    revises: true,
    tag: 'Devices',
    summary: 'Remove a device',
    description: 'Credentials bound to the device are refused as soon as this request returns.',
    answers: { 204: null },
    refusals: ['NOT_FOUND'],
    named: by('device'),
  }),
  route({
    method: 'post',
    path: `${devices}/{id}/assign`,
    action: 'device.assign',
    revises: true,
    tag: 'Devices',
    summary: 'Assign a device to a member',
    description:
      'null unassigns it. Credentials bound to the device stay valid. A blocked device, or one whose member was removed, cannot be assigned: register it again with a new key.',
    body: { schema: wire.DeviceAssign },
    answers: { 200: wire.Device },
    refusals: ['NOT_FOUND', 'CONFLICT'],
    named: by('device'),
    prepare: ({ body }) => ({ input: body }),
  }),
  route({
    method: 'post',
    path: `${devices}/{id}/block`,
    action: 'device.block',
    revises: true,
    tag: 'Devices',
    summary: 'Block a device',
    description:
      'For a device that is lost or no longer trusted. Credentials bound to it are refused as soon as this request returns. A blocked device stays blocked. Safe to repeat.',
    answers: { 200: wire.Device },
    refusals: ['NOT_FOUND'],
    named: by('device'),
  }),
];
