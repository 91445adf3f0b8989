// The built Worker, kept in dist/worker so that `npm start` need not build it again. Invariant: what is taken
// from there is complete, and was built from the sources and with the packages that are here now.
import { createHash } from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { root } from '../shared/wrangler.mjs';
import { digestOf } from './digest.mjs';

const home = path.join(root, 'dist', 'worker');
const FILES = ['index.js', 'index.js.map'];
const STAMP = 'built-from.json';

/**
 * A digest of everything that the Worker is built from. npm writes what is installed to
 * node_modules/.package-lock.json.
 */
export const workerSources = () =>
  digestOf([
    'src',
    'wrangler.toml',
    'tsconfig.json',
    'package.json',
    'package-lock.json',
    'node_modules/.package-lock.json',
  ]);

/** @param {Buffer} bytes */
const sha256 = (bytes) => createHash('sha256').update(bytes).digest('hex');

/**
 * Copies the kept Worker to a directory. Returns false if there is none of these sources, or if it is
 * incomplete.
 * @param {string} sources @param {string} to @param {string} [kept]
 */
export function takeWorker(sources, to, kept = home) {
  try {
    const stamp = JSON.parse(fs.readFileSync(path.join(kept, STAMP), 'utf8'));
    const files = FILES.map((name) => /** @type {const} */ ([name, fs.readFileSync(path.join(kept, name))]));
    // Another process may be replacing the files one by one.
    if (stamp.sources !== sources || files.some(([name, bytes]) => sha256(bytes) !== stamp.files[name]))
      return false;
    fs.mkdirSync(to, { recursive: true });
    for (const [name, bytes] of files) fs.writeFileSync(path.join(to, name), bytes);
    return true;
  } catch {
    return false;
  }
}

/**
 * Keeps a Worker that was just built. Where dist cannot be written, the next start builds again.
 * @param {string} sources those from before the build @param {string} from @param {string} [kept]
 */
export function keepWorker(sources, from, kept = home) {
  try {
    const files = FILES.map((name) => /** @type {const} */ ([name, fs.readFileSync(path.join(from, name))]));
    const stamp = { sources, files: Object.fromEntries(files.map(([name, bytes]) => [name, sha256(bytes)])) };
    fs.mkdirSync(kept, { recursive: true });
    for (const [name, bytes] of [
      ...files,
      /** @type {const} */ ([STAMP, Buffer.from(JSON.stringify(stamp))]),
    ]) {
      const part = path.join(kept, `.${name}.${process.pid}`);
      fs.writeFileSync(part, bytes);
      fs.renameSync(part, path.join(kept, name));
    }
  } catch {}
}
