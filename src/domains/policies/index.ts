// Rules of an organisation: for names, for rotation, and for what needs approval.
import type { Domain } from '../domain';
import { actions } from './actions';

export const policies = { tags: {}, actions, rows: ['policy'], operations: {}, routes: [], examples: {} } satisfies Domain;
