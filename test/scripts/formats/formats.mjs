// What the tests of generated files share: files of hostile and of random values, and the comparison of what
// a reader gives back.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { buildSync } from 'esbuild';
import fc from 'fast-check';
import { root } from '../../../scripts/shared/wrangler.mjs';

// The sources are TypeScript, and name files without their extension.
const { outputFiles } = buildSync({
  stdin: {
    contents: `export { formatOf } from './src/adapters/generate/index';
      export { generate } from './src/adapters/generate/render';
      export { anyValue, hostile } from './test/support/hostile';`,
    resolveDir: root,
  },
  bundle: true,
  write: false,
  format: 'esm',
  platform: 'node',
});
const { formatOf, generate, anyValue, hostile } = await import(
  `data:text/javascript;base64,${Buffer.from(outputFiles[0].contents).toString('base64')}`
);

/** How many random values one file holds. */
const MANY = 400;

/** @param {string} format @param {Record<string, string>} secrets @param {object} [options] */
const made = (format, secrets, options = {}) =>
  generate(
    formatOf(format),
    Object.entries(secrets).map(([name, value]) => ({ name, value })),
    formatOf(format).options.parse(options),
  );

/** The values that a format takes, under names that are good in all of them. */
function taken(format, values, options) {
  const secrets = Object.fromEntries(values.map((value, at) => [`V${at}`, value]));
  const file = made(format, secrets, options);
  for (const { path: name } of file.details ?? []) delete secrets[name];
  return secrets;
}

/**
 * Files of a format, each with what a reader is to give back: the hostile values that it takes, and random
 * ones.
 * @param {string} format @param {object} [options]
 * @returns {{ file: string, expected: Record<string, string> }[]}
 */
export function files(format, options) {
  const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'formats-'));
  const random = fc.sample(anyValue, MANY);
  return [Object.values(hostile), random].map((values, at) => {
    const expected = taken(format, values, options);
    assert.ok(Object.keys(expected).length > values.length / 4, `${format} takes few of the values`);
    const file = path.join(dir, `${at}-${formatOf(format).filename.replace(/^\./, '')}`);
    const { content, code } = made(format, expected, options);
    assert.equal(code, undefined);
    fs.writeFileSync(file, content);
    return { file, expected };
  });
}

/** A file of names alone. @param {string} format @param {string[]} names */
export function fileOfNames(format, names) {
  const file = path.join(fs.mkdtempSync(path.join(os.tmpdir(), 'formats-')), formatOf(format).filename);
  fs.writeFileSync(file, made(format, Object.fromEntries(names.map((name) => [name, 'x']))).content);
  return file;
}

/** What a reader printed: a line of JSON for each file, with base64 strings. @param {string} text */
export const decoded = (text) =>
  text
    .trim()
    .split('\n')
    .map((line) =>
      Object.fromEntries(
        Object.entries(JSON.parse(line)).map(([name, value]) => [
          name,
          Buffer.from(value, 'base64').toString('utf8'),
        ]),
      ),
    );

/** Compares by name, so that a failure shows one value and not the file. */
export function same(found, expected, what) {
  assert.deepEqual(Object.keys(found).sort(), Object.keys(expected).sort(), what);
  for (const [name, value] of Object.entries(expected))
    assert.equal(found[name], value, `${what}: ${JSON.stringify(value).slice(0, 200)}`);
}
