// Requests that a policy holds until people approve them.
import type { Domain } from '../domain';
import { actions } from './actions';

export const approvals = { tags: {}, actions, rows: ['approval'], operations: {}, routes: [], examples: {} } satisfies Domain;
