// Upstreams: HTTP APIs that callers use through the service, which places the secrets.
import type { Domain } from '../domain';
import { actions } from './actions';
import { directionOf } from './gate/call-leases';
import { intents } from './gate/intents';
import { upstreamOperations } from './gate/operations';
import { tokens } from './gate/own-tokens';
import { recordLost, recordUnderWay, useOperations } from './gate/use';
import { upstreamRoutes } from './routes';
import { upstream } from './rows';

export const upstreams = {
  tags: {
    Upstreams: 'HTTP APIs that callers use through the service, which places secrets they never see.',
  },
  actions,
  rows: [upstream],
  raises: {
    upstream(before, after) {
      const row = after ?? before;
      if (!row) return [];
      const change = before === null ? 'created' : after === null ? 'deleted' : 'updated';
      return [{ type: 'UPSTREAM_CHANGED', data: { upstream_id: row.id, name: row.name, change } }];
    },
  },
  follows: {
    // safety: token-ends-with-upstream
    upstream: (core, { before, after }) => {
      if (before && (!after || directionOf(before) !== directionOf(after))) tokens(core).drop(before.id);
    },
  },
  tasks: { uses: recordLost },
  sweep(core, now) {
    tokens(core).sweep(now);
    return false;
  },
  bringForward: (core, now) => intents(core).bringForward(now),
  close: recordUnderWay,
  clear(core) {
    intents(core).clear();
    tokens(core).clear();
  },
  operations: { ...upstreamOperations, ...useOperations },
  routes: upstreamRoutes,
  examples: {},
} satisfies Domain;
