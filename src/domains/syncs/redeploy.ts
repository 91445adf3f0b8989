// Whether a sync must be followed by a deployment.
import type { SyncAdapter } from '../../adapters/sync/adapter';
import type { Result } from '../../adapters/sync/steps';

const WRITES = ['created', 'updated', 'deleted'];

/** True only if something was written and the platform needs a deployment for it. */
export const redeployRequired = (
  adapter: Pick<SyncAdapter, 'redeploy'> | undefined,
  results: readonly Result[],
): boolean => adapter?.redeploy === true && results.some(({ action }) => WRITES.includes(action));
