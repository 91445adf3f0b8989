// Whether the disk of a local vault takes what the service writes. Invariant: it writes nothing, so it also
// works on a full disk.
import fs from 'node:fs';
import path from 'node:path';

const MIB = 2 ** 20;
/**
 * Below the first, changes fail soon or already: the runtime needs room for the journals of each database.
 * Below the second, it warns.
 */
const FULL = 16 * MIB;
const SCARCE = 256 * MIB;

/** @typedef {{ verdict: 'ok' | 'warn' | 'fail', message: string }} Disk */

/**
 * @param {string} dir that of the state
 * @param {(dir: string) => number} [free] how many bytes are free
 * @param {(file: string) => void} [expectWritable] throws if it is not
 * @returns {Disk | undefined} undefined if there is no such directory
 */
export function diskOf(
  dir,
  free = freeOn,
  expectWritable = (file) => fs.accessSync(file, fs.constants.R_OK | fs.constants.W_OK),
) {
  if (!fs.existsSync(dir)) return undefined;
  try {
    fs.accessSync(dir, fs.constants.R_OK | fs.constants.W_OK | fs.constants.X_OK);
  } catch {
    return {
      verdict: 'fail',
      message:
        'STATE_DIR cannot be written: check its permissions, and whether its file system is read-only.',
    };
  }
  const files = databases(dir);
  if (!Array.isArray(files)) return files;
  for (const file of files) {
    try {
      expectWritable(file);
    } catch (error) {
      // The runtime deletes journals while this runs.
      if (/** @type {NodeJS.ErrnoException} */ (error).code === 'ENOENT') continue;
      const name = path.relative(dir, file);
      return {
        verdict: 'fail',
        message: `${name} in STATE_DIR cannot be written: check its permissions, owner and attributes.`,
      };
    }
  }
  const bytes = free(dir);
  const left = `${Math.floor(bytes / MIB)} MiB are free on the disk of STATE_DIR`;
  if (bytes < FULL)
    return {
      verdict: 'fail',
      message: `${left}: requests fail once it is full. Free some space; nothing that was confirmed is lost.`,
    };
  if (bytes < SCARCE) return { verdict: 'warn', message: `${left}: free some space before it is full.` };
  return { verdict: 'ok', message: left };
}

/** The files of databases, with their journals, or the folder that cannot be read. @param {string} dir */
function databases(dir) {
  try {
    return fs
      .readdirSync(dir, { recursive: true, encoding: 'utf8' })
      .filter((name) => /\.sqlite(-wal|-shm)?$/.test(name))
      .map((name) => path.join(dir, name));
  } catch (error) {
    const { path: folder } = /** @type {NodeJS.ErrnoException} */ (error);
    const message = `${folder} cannot be read: check its permissions and owner.`;
    return { verdict: /** @type {const} */ ('fail'), message };
  }
}

/** @param {string} dir */
function freeOn(dir) {
  const { bavail, bsize } = fs.statfsSync(dir);
  return bavail * bsize;
}
