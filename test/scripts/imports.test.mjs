// The direction of imports in src: no cycles, type-only ones included, and nothing that runs in the gate reaches the keys or HTTP.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { root } from '../../scripts/wrangler.mjs';

const src = path.join(root, 'src');
const files = fs
  .readdirSync(src, { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.ts') && !name.endsWith('.d.ts'))
  .map((name) => name.replaceAll(path.sep, '/'));

/** What each file imports or exports from, by its path below src; `types` leaves type-only imports out. */
function importsOf(file, { types = true } = {}) {
  const text = fs.readFileSync(path.join(src, file), 'utf8');
  return [...text.matchAll(/^(?:import|export) (type )?(?:[^'";]*? from )?'(\.[^']*)';$/gms)]
    .filter(([, isType]) => types || !isType)
    .map(([, , to]) => path.posix.join(path.posix.dirname(file), to))
    .map((to) => [`${to}.ts`, `${to}/index.ts`].find((name) => files.includes(name)))
    .filter((to) => to !== undefined);
}

const graph = new Map(files.map((file) => [file, importsOf(file)]));

/** A cycle that a file is part of, or null. */
function cycleOf(start) {
  const seen = new Set();
  const walk = (file, trail) => {
    for (const next of graph.get(file) ?? []) {
      if (next === start) return [...trail, next];
      if (seen.has(next)) continue;
      seen.add(next);
      const found = walk(next, [...trail, next]);
      if (found) return found;
    }
    return null;
  };
  return walk(start, [start]);
}

test('imports: there are no cycles, including type-only imports', () => {
  const imports = [...graph.values()].reduce((sum, list) => sum + list.length, 0);
  assert.ok(imports > 400, `only ${imports} imports were found`);
  for (const file of files) assert.equal(cycleOf(file)?.join(' → '), undefined);
});

test('imports: they point one way, from HTTP over the domains to the gate and down to pure functions', () => {
  const rules = [
    [/^(crypto|db)\//, /^(auth|gate|domains|http|docs|pages)\//],
    [/^auth\//, /^(gate|domains|http|docs|pages)\//],
    [/^gate\//, /^(domains|http|docs|pages)\//],
    [/^domains\//, /^(docs|pages)\//],
  ];
  for (const [from, never] of rules)
    for (const file of files.filter((name) => from.test(name)))
      for (const to of graph.get(file) ?? []) assert.ok(!never.test(to), `${file} imports ${to}`);
});

test('imports: code that runs in the gate imports neither the keyring nor code that runs in the Worker', () => {
  const inGate = files.filter((name) => /^(gate|domains\/\w+\/gate)\//.test(name));
  assert.ok(inGate.length > 50);
  for (const file of inGate) {
    const imports = importsOf(file);
    assert.ok(!imports.includes('crypto/keyring.ts'), file);
    assert.deepEqual(
      imports.filter((to) => /^http\/(?!wire)|^domains\/\w+\/(routes|index)\.ts$/.test(to)),
      [],
      file,
    );
  }
});
