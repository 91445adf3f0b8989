// Whether the disk of a local vault takes what the service writes. Invariant: it writes nothing, so it also works on a full disk.
import fs from 'node:fs';

const MIB = 2 ** 20;
/** Below the first, changes fail soon or already: the runtime needs room for the journals of each database. Below the second, it warns. */
const FULL = 16 * MIB;
const SCARCE = 256 * MIB;

/** @typedef {{ verdict: 'ok' | 'warn' | 'fail', message: string }} Disk */

/**
 * @param {string} dir that of the state
 * @param {(dir: string) => number} [free] how many bytes are free
 * @returns {Disk | undefined} undefined if there is no such directory
 */
export function diskOf(dir, free = freeOn) {
  if (!fs.existsSync(dir)) return undefined;
  try {
    fs.accessSync(dir, fs.constants.R_OK | fs.constants.W_OK | fs.constants.X_OK);
  } catch {
    return { verdict: 'fail', message: 'STATE_DIR cannot be written: check its permissions, and whether its file system is read-only.' };
  }
  const bytes = free(dir);
  const left = `${Math.floor(bytes / MIB)} MiB are free on the disk of STATE_DIR`;
  if (bytes < FULL)
    return { verdict: 'fail', message: `${left}: requests fail once it is full. Free some space; nothing that was confirmed is lost.` };
  if (bytes < SCARCE) return { verdict: 'warn', message: `${left}: free some space before it is full.` };
  return { verdict: 'ok', message: left };
}

/** @param {string} dir */
function freeOn(dir) {
  const { bavail, bsize } = fs.statfsSync(dir);
  return bavail * bsize;
}
