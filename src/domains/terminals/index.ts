// Terminal login (RFC 8628): a terminal shows a code, a member confirms it in a browser, and the terminal
// gets a session.
import type { Domain } from '../domain';
import { actions } from './actions';
import { terminalOperations } from './gate/operations';
import { terminalRoutes } from './routes';

export const terminals = {
  tags: {
    'Terminal login':
      'A program without a browser signs a member in (RFC 8628): it shows a code, the member confirms the code on the page /device in a browser, and the program receives a session.',
  },
  actions,
  rows: [],
  operations: terminalOperations,
  routes: terminalRoutes,
  examples: {
    'DeviceLogin.expires_in': 600,
    'DeviceLoginRequest.expires_at': '2026-11-21T12:10:00.000Z',
    'DeviceLogin.interval': 5,
    'DeviceLoginRequest.address': '203.0.113.7',
    'DeviceLoginRequest.same_address': true,
  },
} satisfies Domain;
