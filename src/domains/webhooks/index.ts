// Webhooks: endpoints that events are delivered to.
import type { Domain } from '../domain';
import { actions } from './actions';

export const webhooks = { tags: {}, actions, rows: ['webhook'], operations: {}, routes: [], examples: {} } satisfies Domain;
