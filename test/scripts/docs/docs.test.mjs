// The documents agree with the tree: every file, test and variable that they name exists. Links are tested in
// links.test.mjs.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { it } from 'node:test';
import { readSettings } from '../../../scripts/operate/vault/settings.mjs';
import { project } from '../service.mjs';

/** @param {string} dir @returns {string[]} files below a directory, relative to the project */
const filesIn = (dir) =>
  fs
    .readdirSync(path.join(project, dir), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => path.relative(project, path.join(entry.parentPath, entry.name)));

const rootPages = fs.readdirSync(project).filter((name) => name.endsWith('.md'));
const pages = [...rootPages, ...filesIn('docs'), ...filesIn('.github')].filter((name) =>
  name.endsWith('.md'),
);
const read = (name) => fs.readFileSync(path.join(project, name), 'utf8');

it('documents: every file of the source that they name exists', () => {
  const missing = pages
    .filter((name) => name !== 'CHANGELOG.md')
    .flatMap((name) =>
      [...read(name).matchAll(/`((?:src|scripts|test|migrations|docs)\/[\w./-]+)`/g)]
        .map(([, file]) => file)
        .filter((file) => !fs.existsSync(path.join(project, file)))
        .map((file) => `${name}: ${file}`),
    );
  assert.deepEqual(missing, []);
});

it('documents: every test that they name exists', () => {
  const tests = new Set(filesIn('test').map((file) => path.basename(file)));
  const missing = pages.flatMap((name) =>
    [...read(name).matchAll(/`([\w-]+\.test\.(?:ts|mjs))`/g)]
      .map(([, test]) => test)
      .filter((test) => !tests.has(test)),
  );
  assert.deepEqual(missing, []);
});

it('documents: every variable that npm start obeys is listed', () => {
  const variables = {
    MASTER_KEYS: `k1:${Buffer.alloc(32).toString('base64')}`,
    BOOTSTRAP_TOKEN: 'x'.repeat(32),
  };
  const { settings } = readSettings(variables, {});
  const listed = new Set(
    [...read('docs/reference/environment-variables.md').matchAll(/^\| `(\w+)`/gm)].map(([, name]) => name),
  );
  for (const name of [...Object.keys(settings?.worker ?? {}), 'HOST', 'PORT', 'STATE_DIR'])
    assert.ok(listed.has(name), name);
});
