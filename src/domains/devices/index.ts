// Devices of members, and the keys that sign requests.
import type { Domain } from '../domain';
import { actions } from './actions';

export const devices = { tags: {}, actions, rows: ['device'], operations: {}, routes: [], examples: {} } satisfies Domain;
