// Suites for a run of all tests: the files of a folder as one, because each file that the runner starts costs
// a second. Invariants: a folder's suite contains all of its files and is written again for each run; a
// file's tests, with their hooks, are a group named by its path.
import fs from 'node:fs';
import path from 'node:path';
import { root } from '../shared/wrangler.mjs';

const dir = path.join(root, 'dist', 'suites');

/**
 * Writes a suite for each of these folders. Returns the size of the tests per file, in bytes.
 * @param {string[]} folders Relative to the project.
 */
export function suitesOf(folders) {
  fs.mkdirSync(dir, { recursive: true });
  return new Map(
    folders.map((folder) => {
      const names = fs.readdirSync(path.join(root, folder), { recursive: true, encoding: 'utf8' }).sort();
      const files = names.filter((name) => name.endsWith('.test.ts')).map((name) => `${folder}/${name}`);
      const groups = files.map(
        (file) =>
          `describe(${JSON.stringify(file)}, () => import(${JSON.stringify(path.join(root, file))}));`,
      );
      const suite = path.join(dir, `${folder.replaceAll('/', '-')}.test.ts`);
      fs.writeFileSync(suite, `import { describe } from 'vitest';\n\n${groups.join('\n')}\n`);
      return [suite, files.reduce((sum, file) => sum + fs.statSync(path.join(root, file)).size, 0)];
    }),
  );
}
