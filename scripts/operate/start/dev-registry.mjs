// Where wrangler finds Workers of other processes on this machine: its dev registry, a directory with one
// file for each. Pure but for `isDirectory`.
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';

const isDirectory = (/** @type {string} */ dir) =>
  fs.statSync(dir, { throwIfNoEntry: false })?.isDirectory() ?? false;

/**
 * The directory that `wrangler dev` of the same user reads.
 * @param {Record<string, string | undefined>} env
 */
export function devRegistry(env, home = os.homedir(), platform = process.platform) {
  if (env.WRANGLER_REGISTRY_PATH) return env.WRANGLER_REGISTRY_PATH;
  const before = path.join(home, '.wrangler');
  if (isDirectory(before)) return path.join(before, 'registry');
  const usual =
    platform === 'darwin' ? path.join(home, 'Library', 'Preferences') : path.join(home, '.config');
  return path.join(env.XDG_CONFIG_HOME || usual, '.wrangler', 'registry');
}
