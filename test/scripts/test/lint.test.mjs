// The lint rules of scripts/test/lint: each reports what it is for, and nothing else.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import '../../../scripts/shared/temporary-files.mjs';
import { root } from '../../../scripts/shared/wrangler.mjs';

/** The messages of these rules on a text. @param {string} text */
function reported(text) {
  const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'svc-lint-'));
  const file = path.join(dir, 'sample.ts');
  fs.writeFileSync(file, text);
  const biome = path.join(root, 'node_modules/.bin/biome');
  const { stdout, stderr } = spawnSync(
    biome,
    ['lint', `--config-path=${root}`, '--vcs-enabled=false', file],
    { encoding: 'utf8' },
  );
  assert.match(`${stdout}${stderr}`, /Checked 1 file/);
  return [...`${stdout}${stderr}`.matchAll(/Write .*\./g)].map(([message]) => message);
}

test('lint: an object literal is not spread into another', () => {
  assert.deepEqual(reported('export const a = { one: 1, ...{ two: 2 } };\n'), [
    'Write these fields into the object itself.',
  ]);
  assert.deepEqual(
    reported('export const a = (b: object) => ({ one: 1, ...b, ...(b && { two: 2 }) });\n'),
    [],
  );
});

test('lint: an array literal is not taken apart at once', () => {
  assert.deepEqual(reported('export const [a, b] = [1, 2];\n'), ['Write one declaration for each name.']);
  assert.deepEqual(reported('export const [a, b] = await Promise.all([1, 2]);\n'), []);
});

test('lint: a comment is at most as wide as code, unless it is a directive or an example', () => {
  const { lineWidth } = JSON.parse(fs.readFileSync(path.join(root, 'biome.json'), 'utf8')).formatter;
  const { stdout } = spawnSync('git', ['ls-files', '*.ts', '*.tsx', '*.mjs'], {
    cwd: root,
    encoding: 'utf8',
  });
  // Two files are generated.
  const wide = stdout
    .trim()
    .split('\n')
    .filter(
      (file) =>
        fs.existsSync(path.join(root, file)) &&
        !/^packages\/(client\/src\/api\/openapi|cli\/src\/requests\/shapes)\.ts$/.test(file),
    )
    .flatMap((file) => {
      // An example of the client is code.
      const text = fs.readFileSync(path.join(root, file), 'utf8').replace(/@example[^@]*?\*\//g, '');
      const comments = text.split('\n').filter((line) => /^\s*(\/\/|\/\*\*|\* )/.test(line));
      return comments.filter((line) => line.length > lineWidth && !/\/\/ (safety:|biome-ignore) /.test(line));
    });
  assert.deepEqual(wide, []);
});
