// A digest of sources: whether a build is current is decided by their content, not by times.
import { createHash } from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { root } from '../shared/wrangler.mjs';

/**
 * The digest of files, and of all files below folders, with their paths. What does not exist counts as
 * absent.
 * @param {string[]} places relative to the project
 */
export function digestOf(places) {
  const hash = createHash('sha256');
  for (const file of places.flatMap((place) => filesOf(path.join(root, place))))
    hash
      .update(`${path.relative(root, file)}\0`)
      .update(createHash('sha256').update(fs.readFileSync(file)).digest());
  return hash.digest('hex');
}

/** @param {string} place @returns {string[]} */
function filesOf(place) {
  const found = fs.statSync(place, { throwIfNoEntry: false });
  if (!found?.isDirectory()) return found ? [place] : [];
  const entries = fs
    .readdirSync(place, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile());
  return entries.map((entry) => path.join(entry.parentPath, entry.name)).sort();
}
