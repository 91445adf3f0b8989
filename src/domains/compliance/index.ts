// The compliance report.
import type { Domain } from '../domain';
import { actions } from './actions';

export const compliance = { tags: {}, actions, rows: [], operations: {}, routes: [], examples: {} } satisfies Domain;
