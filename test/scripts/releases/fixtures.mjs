// The states that earlier releases left; make-fixture.mjs makes them.
import fs from 'node:fs';
import path from 'node:path';
import zlib from 'node:zlib';
import { project } from '../service.mjs';

const folder = path.join(project, 'test', 'support', 'fixtures');

/** The names of all of them. */
export const releases = fs.readdirSync(folder).filter((name) => name.startsWith('release-'));

/**
 * Puts a state, and the keys that open it, into a copy of the project; answers what it holds.
 * @param {string} name
 * @param {string} dir
 */
export function putState(name, dir) {
  const left = JSON.parse(zlib.gunzipSync(fs.readFileSync(path.join(folder, name))).toString());
  for (const [file, content] of Object.entries(left.files)) {
    const to = path.join(dir, '.wrangler', 'state', file);
    fs.mkdirSync(path.dirname(to), { recursive: true });
    fs.writeFileSync(to, Buffer.from(content, 'base64'));
  }
  const variables = Object.entries(left.variables).map(([variable, value]) => `${variable}="${value}"\n`);
  fs.writeFileSync(path.join(dir, '.dev.vars'), variables.join(''), { mode: 0o600 });
  return left;
}
