// Few false alarms: a scan of ordinary code, our own and that of what is installed, finds nothing but what is
// there on purpose.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import { registerHooks } from 'node:module';
import path from 'node:path';
import { test } from 'node:test';
import { root } from '../../../scripts/shared/wrangler.mjs';
import { slow } from '../slow.mjs';

// The sources name files without their extension.
registerHooks({
  resolve: (name, context, next) =>
    next(/^\.\.?\/[^.]*$/.test(name) && context.parentURL?.endsWith('.ts') ? `${name}.ts` : name, context),
});
const { find } = await import('../../../src/domains/scans/engine/find.ts');

const TEXT = /\.(?:[cm]?[jt]sx?|json|md|ya?ml|toml|sql|html|css|txt|sh|svg|map)$/;
const MOST = 1_048_576;

/** The text files below a folder, as many bytes each as one scan takes. */
function* textsIn(folder) {
  for (const entry of fs.readdirSync(folder, { withFileTypes: true })) {
    const file = path.join(folder, entry.name);
    if (entry.isDirectory() && !entry.name.startsWith('.')) yield* textsIn(file);
    else if (entry.isFile() && TEXT.test(entry.name) && fs.statSync(file).size <= MOST)
      yield [file, fs.readFileSync(file, 'utf8')];
  }
}

/** What is found below a folder: rule and file, each once. */
function foundIn(folder) {
  const found = new Set();
  let bytes = 0;
  for (const [file, text] of textsIn(path.join(root, folder))) {
    bytes += text.length;
    for (const { rule } of find(text))
      found.add(`${rule} ${path.relative(root, file).replaceAll(path.sep, '/')}`);
  }
  return { bytes, found: [...found].sort() };
}

test('scan: finds nothing in the sources, scripts, migrations and documents of this project', () => {
  for (const folder of ['src', 'scripts', 'migrations', 'docs'])
    assert.deepEqual(foundIn(folder).found, [], folder);
});

test('scan: finds in the tests of this project the vectors that are keys and tokens', () => {
  assert.deepEqual(foundIn('test').found, [
    'assigned-secret test/support/vectors/token.json',
    'private-key test/support/vectors/openssh.json',
  ]);
});

test('scan: finds nothing in installed packages, except tokens in their tests', slow(120_000), () => {
  const { bytes, found } = foundIn('node_modules');
  assert.ok(bytes > 10_000_000, `${bytes} bytes`);
  assert.deepEqual(
    found.filter((one) => !/^(?:jwt|private-key) .*\/tests?\//.test(one)),
    [],
  );
});
