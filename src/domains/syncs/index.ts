// Syncs: write the secrets of an environment to other platforms.

import type { Domain } from '../domain';
import { actions } from './actions';
import { syncOperations } from './gate/operations';
import { syncs as store } from './gate/store';
import { followEnvironment, follows, runSyncs } from './gate/task';
import { syncRoutes } from './routes';
import { sync } from './rows';
import { run } from './run';

export const syncs = {
  tags: { Syncs: 'Secrets of an environment, written to other platforms. Fields are in camelCase.' },
  actions,
  rows: [sync],
  follows,
  followSecrets: followEnvironment,
  tasks: { syncs: runSyncs },
  sweep(core, now) {
    store(core).sweep(now);
    return false;
  },
  bringForward: (core, now) => store(core).bringForward(now),
  clear: (core) => store(core).clear(),
  operations: syncOperations,
  routes: syncRoutes,
  jobs: { sync: run },
  examples: {},
} satisfies Domain;
