// Scans of text for leaked credentials.
import type { Domain } from '../domain';
import { actions } from './actions';

export const scans = { tags: {}, actions, rows: [], operations: {}, routes: [], examples: {} } satisfies Domain;
