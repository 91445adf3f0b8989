// The direction of imports: no cycles in the service, in the scripts and in any package, type-only ones
// included, and nothing that runs in the gate reaches the keys or HTTP.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { root } from '../../../scripts/shared/wrangler.mjs';

/**
 * The files below a directory and what each of them imports or exports from, by their paths below it;
 * `outside` is what is not below it.
 * @param {string} dir relative to the project
 */
function sourcesIn(dir) {
  const top = path.join(root, dir);
  const files = fs
    .readdirSync(top, { recursive: true, encoding: 'utf8' })
    .filter((name) => /\.(tsx?|mjs)$/.test(name) && !name.endsWith('.d.ts'))
    .map((name) => name.replaceAll(path.sep, '/'));
  /** `types` leaves type-only imports out. Imports at run time count. */
  const namedIn = (file, types) => {
    // What JavaScript names in comments, for its types, is no import.
    const text = fs
      .readFileSync(path.join(top, file), 'utf8')
      .replace(file.endsWith('.mjs') ? /^ *\/\*\*[\s\S]*?\*\//gm : '', '');
    return [
      ...text.matchAll(
        /^(?:import|export) (type )?(?:[^'";]*? from )?'(\.[^']*)';$|\bimport\('(\.[^']*)'\)/gms,
      ),
    ]
      .filter(([, isType]) => types || !isType)
      .map(([, , to, later]) => path.posix.join(path.posix.dirname(file), to ?? later));
  };
  const importsOf = (file, { types = true } = {}) =>
    namedIn(file, types)
      .map((to) => to.replace(/\.(js|mjs|tsx?)$/, ''))
      .map((to) =>
        [`${to}.ts`, `${to}.tsx`, `${to}/index.ts`, `${to}/index.tsx`, `${to}.mjs`].find((name) =>
          files.includes(name),
        ),
      )
      .filter((to) => to !== undefined);
  const outside = (file) => namedIn(file, true).filter((to) => to.startsWith('../'));
  return { files, importsOf, outside, graph: new Map(files.map((file) => [file, importsOf(file)])) };
}

const { files, importsOf, graph } = sourcesIn('src');

/** A cycle that a file is part of, or null. */
function cycleOf(start, graph) {
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

/** @type {[string, number][]} Each directory, and a number of imports that it has at least. */
const SOURCES = [
  ['src', 400],
  ['scripts', 200],
  ['packages/cli/src', 250],
  ['packages/client/src', 40],
  ['packages/console/src', 600],
  ['packages/saml/src', 7],
];

for (const [dir, least] of SOURCES)
  test(`imports: there are no cycles in ${dir}, including type-only imports`, () => {
    const { graph } = sourcesIn(dir);
    const imports = [...graph.values()].reduce((sum, list) => sum + list.length, 0);
    assert.ok(imports > least, `only ${imports} imports were found`);
    const cycles = [...graph.keys()].map((file) => cycleOf(file, graph)?.join(' → ')).filter(Boolean);
    assert.deepEqual(cycles, []);
  });

test('imports: every package is tested for cycles', () => {
  const packages = fs.readdirSync(path.join(root, 'packages')).map((name) => `packages/${name}/src`);
  assert.deepEqual(
    packages.filter((dir) => !SOURCES.some(([tested]) => tested === dir)),
    [],
  );
});

/**
 * The rooms of the service, and what each may import besides itself. Everything may import what stands at the
 * top: errors, texts, versions.
 */
const MAY = {
  crypto: [],
  metrics: [],
  db: ['crypto'],
  auth: ['crypto', 'db'],
  keys: ['crypto', 'db', 'auth'],
  gate: ['crypto', 'db', 'auth'],
  delivery: ['crypto', 'db', 'auth', 'keys', 'gate'],
  adapters: ['crypto', 'auth', 'delivery'],
  http: ['crypto', 'metrics', 'db', 'auth', 'keys', 'gate'],
  domains: ['crypto', 'db', 'auth', 'keys', 'gate', 'delivery', 'adapters', 'http'],
  compat: ['crypto', 'db', 'auth', 'domains', 'gate', 'http'],
  openapi: ['crypto', 'db', 'auth', 'domains', 'http'],
  pages: ['crypto', 'metrics', 'db', 'auth', 'keys', 'domains', 'http', 'openapi'],
  replica: ['db', 'gate'],
  health: ['db', 'keys', 'gate', 'objects'],
  objects: ['crypto', 'metrics', 'db', 'auth', 'gate', 'domains', 'delivery', 'replica'],
};

test('imports: they point one way, from HTTP over the domains to the gate and down to pure functions', () => {
  const roomOf = (file) => (file.includes('/') ? file.split('/')[0] : null);
  const wrong = files.flatMap((file) => {
    const room = roomOf(file);
    if (room === null) return [];
    assert.ok(room in MAY, `${room} is in no rule`);
    return graph
      .get(file)
      .filter((to) => roomOf(to) !== null && roomOf(to) !== room && !MAY[room].includes(roomOf(to)))
      .map((to) => `${file} imports ${to}`);
  });
  assert.deepEqual(wrong, []);
});

/**
 * The files of `src` itself that rooms may import, and which rooms: `null` for all. Those for all import
 * nothing of `src` themselves. Every other file there is an entry point, or a part of one.
 */
const ROOT_FILES = {
  'errors.ts': null,
  'etag.ts': null,
  'text.ts': null,
  'version.ts': null,
  'env.ts': ['keys', 'delivery', 'http', 'domains', 'pages', 'health', 'objects'],
  'stored-secrets.ts': ['objects'],
};

test('imports: rooms import no entry point, and what runs in the gate no environment of the Worker', () => {
  const isRoot = (file) => !file.includes('/');
  const wrong = files.flatMap((file) => {
    const room = isRoot(file) ? null : file.includes('/gate/') ? 'gate' : file.split('/')[0];
    const mayImport = (to) => to in ROOT_FILES && (ROOT_FILES[to] === null || ROOT_FILES[to].includes(room));
    return graph
      .get(file)
      .filter((to) => (room === null ? ROOT_FILES[file] === null : isRoot(to) && !mayImport(to)))
      .map((to) => `${file} imports ${to}`);
  });
  assert.deepEqual(wrong, []);
});

/**
 * Folders whose areas a document lists in a table, lowest first: the folder, the document and the heading
 * above the table. A row names folders, or files of the folder itself.
 */
const AREAS = [
  ['src/gate', 'gate.md', '## Areas'],
  ['packages/client/src', 'code.md', '### The client'],
  ['packages/cli/src', 'code.md', '### The command line'],
  ['packages/console/src', 'code.md', '### The console'],
];

/** The rows of the table under a heading. */
function areasIn(document, heading) {
  const text = fs.readFileSync(path.join(root, 'docs/architecture', document), 'utf8');
  const [table] = text.split(`\n${heading}\n`)[1].split(/^#/m);
  return [...table.matchAll(/^\| (`.*?) \|/gm)].map(([, names]) =>
    [...names.matchAll(/`([\w-]+)`/g)].map(([, name]) => name),
  );
}

for (const [dir, document, heading] of AREAS)
  test(`imports: each area of ${dir} imports only from those above it in the table of ${document}`, () => {
    const areas = areasIn(document, heading);
    const { graph } = sourcesIn(dir);
    const areaOf = (file) => file.replace(/\.tsx?$/, '').split('/')[0];
    assert.deepEqual([...new Set([...graph.keys()].map(areaOf))].sort(), areas.flat().sort());
    const place = (file) => areas.findIndex((area) => area.includes(areaOf(file)));
    const climbing = [...graph].flatMap(([file, imported]) =>
      imported.filter((to) => place(to) > place(file)).map((to) => `${file} imports ${to}`),
    );
    assert.deepEqual(climbing, []);
  });

test('imports: code that runs in the gate imports neither the keyring nor code that runs in the Worker', () => {
  const inGate = files.filter((name) => /^(gate|delivery\/gate|domains\/[\w-]+\/gate)\//.test(name));
  assert.ok(inGate.length > 50);
  for (const file of inGate) {
    const imports = importsOf(file);
    assert.ok(!imports.includes('keys/keyring.ts'), file);
    assert.deepEqual(
      imports.filter((to) => /^http\/(?!wire)|^domains\/[\w-]+\/(routes|index)\.ts$/.test(to)),
      [],
      file,
    );
  }
});

test('imports: the service knows of packages the calls of the SAML Worker alone, as types', () => {
  const source = sourcesIn('src');
  const reached = source.files.flatMap((file) =>
    source
      .outside(file)
      .filter((to) => to.startsWith('../packages/'))
      .map((to) => `${file}: ${to}`),
  );
  assert.deepEqual([...new Set(reached)], ['env.ts: ../packages/saml/src/calls']);
  assert.deepEqual(
    source.importsOf('env.ts', { types: false }).filter((to) => to.includes('saml')),
    [],
  );
});

/** The rooms of the scripts, and what each may import besides itself. */
const SCRIPTS_MAY = {
  shared: [],
  build: ['shared'],
  test: ['shared', 'build', 'test/mutants'],
  'test/mutants': [],
  bench: ['shared', 'build'],
  operate: ['shared', 'operate/vault'],
  'operate/vault': ['shared'],
  'operate/start': ['shared', 'operate/vault', 'build'],
  'operate/deploy': ['shared', 'operate/vault'],
  'operate/doctor': ['shared', 'operate/vault'],
  'operate/recovery': ['shared', 'operate/vault'],
};

test('imports: commands of scripts share code by libraries, and never import from each other', () => {
  const scripts = sourcesIn('scripts');
  const wrong = scripts.files.flatMap((file) => {
    const room = path.posix.dirname(file);
    assert.ok(room in SCRIPTS_MAY, `scripts/${room} is in no rule`);
    return scripts.graph
      .get(file)
      .map((to) => [to, path.posix.dirname(to)])
      .filter(([, other]) => other !== room && !SCRIPTS_MAY[room].includes(other))
      .map(([to]) => `${file} imports ${to}`);
  });
  assert.deepEqual(wrong, []);
});

test('imports: from the service and its tests, scripts import only a constant, the configuration of migrations, stand-ins of platforms, bound Workers and, to wrap it, the Worker', () => {
  const scripts = sourcesIn('scripts');
  const reached = new Set(
    scripts.files.flatMap((file) => scripts.outside(file).map((to) => `${path.posix.dirname(file)}: ${to}`)),
  );
  assert.deepEqual([...reached].sort(), [
    'bench: ../src/index.ts',
    'bench: ../test/packages/bound.mjs',
    'bench: ../test/packages/vault.mjs',
    'bench: ../test/vendors/fakes/all.ts',
    'build: ../drizzle.config.ts',
    'operate/vault: ../src/gate/storage-version.ts',
  ]);
});
