// The table of mutants and the safety tags in the source agree, so that npm run test:mutants removes what it
// says.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { it } from 'node:test';
import { transform } from 'esbuild';
import { root } from '../../../scripts/shared/wrangler.mjs';
import { mutants } from '../../../scripts/test/mutants/index.mjs';
import { applied, sourcesIn, tagsIn, testFile } from '../../../scripts/test/safety-tags.mjs';

const sources = sourcesIn(root);
const of = (source) => new Map([['src/a.ts', source]]);
const mutant = (change, tag = 'checked') => ({ name: 'nobody checks', tag, change, notice: 'a: b' });
const mutated = (change, source, tag = undefined) =>
  applied(mutant(change, tag), of(source)).source.replace(/\s+/g, ' ').trim();

it('mutants: each tag is in the source exactly once and has a mutant; each mutant has a unique name', () => {
  const inSource = tagsIn(sources).map(({ tag }) => tag);
  const inTable = new Set(mutants.flatMap(({ tag }) => tag ?? []));
  assert.deepEqual([...inSource].sort(), [...inTable].sort());
  for (const tag of inSource) assert.match(tag, /^[a-z0-9]+(-[a-z0-9]+)+$/);
  assert.equal(new Set(mutants.map(({ name }) => name)).size, mutants.length);
});

it('mutants: each changes its source, which still parses', async () => {
  const parsed = mutants.map(async (mutant) => {
    const { file, source } = applied(mutant, sources);
    assert.notEqual(source, sources.get(file), mutant.name);
    if (file.endsWith('.ts')) await assert.doesNotReject(transform(source, { loader: 'ts' }), mutant.name);
  });
  await Promise.all(parsed);
});

it('mutants: a change that follows from its statement is left out', () => {
  const repeated = mutants.filter(({ change, ...mutant }) => {
    if (change === undefined || mutant.file !== undefined) return false;
    const { source } = applied(mutant, sources);
    return applied({ ...mutant, change }, sources).source === source || change === 'remove';
  });
  assert.deepEqual(
    repeated.map(({ name }) => name),
    [],
  );
});

it('mutants: each names an existing test file, and a file instead of a tag only for a migration', () => {
  for (const { name, tag, file, notice } of mutants) {
    assert.ok(fs.existsSync(path.join(root, testFile(notice.split(': ')[0]))), notice);
    assert.ok(tag === undefined ? file?.startsWith('migrations/') : file === undefined, name);
  }
});

it('mutants: remove takes out the tagged statement, property or argument, and nothing after it', () => {
  const tagged = '// safety: checked\n';
  assert.equal(mutated('remove', `a();\n${tagged}check();\nb();\n`), 'a(); // safety: checked b();');
  assert.equal(
    mutated('remove', `${tagged}if (a)\n  return [\n    '};',\n  ];\nb();\n`),
    '// safety: checked b();',
  );
  assert.equal(
    mutated('remove', `${tagged}if (a) {\n  // }\n  b(\`\${c({ d })};\`);\n}\ne();\n`),
    '// safety: checked e();',
  );
  assert.equal(
    mutated('remove', `f({\n${tagged}  a: { b, c },\n  d,\n});\n`),
    'f({ // safety: checked d, });',
  );
  assert.equal(
    mutated('remove', `f(\n${tagged}  a(b, /[/;,]\\//),\n  c,\n);\n`),
    'f( // safety: checked c, );',
  );
  assert.equal(mutated('remove', `f(\n  a,\n${tagged}  b\n);\n`), 'f( a, // safety: checked );');
});

it('mutants: never and always replace the condition of an if, or of a conditional expression', () => {
  const tagged = '// safety: a, checked\n';
  assert.equal(
    mutated('never', `${tagged}if (a(b) && (c || d)) return e(f);\n`),
    '// safety: a, checked if (false) return e(f);',
  );
  assert.equal(
    mutated('always', `${tagged}return a?.(b ? c : d) ? 'e' : 'f';\n`),
    "// safety: a, checked return true ? 'e' : 'f';",
  );
  assert.equal(
    mutated('never', `${tagged}const a = b ?? c\n  ? d\n  : e;\n`),
    '// safety: a, checked const a = false ? d : e;',
  );
  assert.throws(
    () => mutated('never', `${tagged}check();\na ? b : c;\n`),
    /src\/a\.ts: .*nobody checks.* none/,
  );
});

it('mutants: by default, the condition of a tagged if becomes false, and any other statement goes', () => {
  const tagged = '// safety: checked\n';
  assert.equal(
    mutated(undefined, `${tagged}if (a(b)) return c;\n`),
    '// safety: checked if (false) return c;',
  );
  assert.equal(mutated(undefined, `${tagged}check();\nb();\n`), '// safety: checked b();');
});

it('mutants: a replaced text must occur in the tagged statement exactly once', () => {
  const change = { from: ' && b', to: '' };
  assert.equal(
    mutated(change, 'c && b;\n// safety: checked\na && b;\nc && b;\n'),
    'c && b; // safety: checked a; c && b;',
  );
  assert.throws(
    () => mutated(change, '// safety: checked\na();\nc && b;\n'),
    /src\/a\.ts: .*nobody checks.* 0 times/,
  );
  assert.throws(() => mutated(change, '// safety: checked\na && b && b;\n'), /2 times/);
});

it('mutants: a mutant of several tags changes each of their statements', () => {
  const source = '// safety: a-b\na();\nb();\n// safety: c-d\nc();\n';
  assert.equal(mutated('remove', source, ['a-b', 'c-d']), '// safety: a-b b(); // safety: c-d');
});

it('mutants: a tag that is missing or occurs twice is an error that names it', () => {
  assert.throws(() => mutated('remove', 'check();\n'), /nobody checks.* checked .*nowhere/);
  assert.throws(
    () => mutated('remove', '// safety: checked\na();\n// safety: checked\nb();\n'),
    /src\/a\.ts, src\/a\.ts/,
  );
});
