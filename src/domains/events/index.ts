// What happened in an organisation: the feed of its events.
import type { Domain } from '../domain';
import { actions } from './actions';

export const events = { tags: {}, actions, rows: [], operations: {}, routes: [], examples: {} } satisfies Domain;
