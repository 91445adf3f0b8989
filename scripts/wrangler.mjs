// How the scripts run wrangler. Invariant: it asks nothing, phones nobody, writes no log of its own, and is run by this very Node.
import { createRequire } from 'node:module';
import path from 'node:path';

/** The project: every path starts here, whatever directory the script was called from. */
export const root = path.dirname(import.meta.dirname);

const { resolve } = createRequire(path.join(root, 'package.json'));

/** Node's arguments; the CLI itself, since the package's bin only wraps it in one more process. @param {string[]} args */
export const wranglerArgs = (args) => ['--no-warnings', resolve('wrangler'), ...args];

export const wranglerEnv = {
  CI: '1',
  NO_COLOR: '1',
  FORCE_COLOR: '0',
  WRANGLER_HIDE_BANNER: 'true', // and with it the look-up of newer versions
  WRANGLER_SEND_METRICS: 'false',
  WRANGLER_WRITE_LOGS: 'false',
  X_LOCAL_OBSERVABILITY: 'false', // else every URL and log line would be kept in the state
  X_LOCAL_EXPLORER: 'false', // else whoever reaches the port could browse the databases
  CLOUDFLARE_CF_FETCH_ENABLED: 'false', // request.cf is a placeholder, as it is offline
};
