// Devices of members, and the keys that sign requests.

import type { Domain } from '../domain';
import { actions } from './actions';
import { deviceOperations } from './gate/operations';
import { deviceRoutes } from './routes';
import { device } from './rows';

export const devices = {
  tags: {
    Devices:
      'A device belongs to a member and can hold a public key. A session token or an agent credential that is bound to it works only with a proof signed by that key (DPoP, RFC 9449).',
  },
  actions,
  rows: [device],
  operations: deviceOperations,
  routes: deviceRoutes,
  examples: {
    'Device.name': 'Laptop of Ann',
    'DeviceIn.name': 'Laptop of Ann',
    'DevicePatch.name': 'Laptop of Ann',
  },
} satisfies Domain;
