// Connections to other platforms.
import type { Domain } from '../domain';
import { actions } from './actions';

export const integrations = { tags: {}, actions, rows: ['integration'], operations: {}, routes: [], examples: {} } satisfies Domain;
