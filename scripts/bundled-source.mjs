// A plugin for vitest: the Worker's source as one module. Without it, each test file loads a thousand modules one by one. The bundler, its
// conditions and the replacement of zod are those of the deployed Worker. Invariant: every module of src exists once, in the bundle, and a
// test that imports one of them gets what the bundle holds of it.
import fs from 'node:fs';
import path from 'node:path';
import { build } from 'esbuild';
import { root } from './wrangler.mjs';

const BUNDLE = 'virtual:source';
const source = path.join(root, 'src') + path.sep;
const isSource = (/** @type {string} */ id) => id.startsWith(source) && id.endsWith('.ts');

/** @returns {import('vite').Plugin} */
export function bundledSource() {
  /** @type {ReturnType<typeof bundled> | undefined} */
  let building;
  return {
    name: 'bundled-source',
    enforce: 'pre',
    buildStart() {
      building = undefined;
    },
    resolveId: (id) => (id === BUNDLE ? `\0${BUNDLE}` : undefined),
    async load(id) {
      if (id !== `\0${BUNDLE}` && !isSource(id)) return;
      building ??= bundled();
      const { names, ...bundle } = await building;
      return isSource(id)
        ? { code: exportsOf(id, BUNDLE, names, (name, unique) => `${unique} as ${name}`), map: { mappings: '' } }
        : bundle;
    },
  };
}

/** All modules of src as one, and what each of them exports. */
async function bundled() {
  const files = fs
    .readdirSync(source, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .map((name) => path.join(source, name));
  const names = await namesOf(files);
  const { outputFiles } = await build({
    stdin: {
      contents: files.map((file) => exportsOf(file, file, names, (name, unique) => `${name} as ${unique}`)).join('\n'),
      resolveDir: root,
    },
    bundle: true,
    write: false,
    outfile: path.join(root, 'source.js'),
    format: 'esm',
    target: 'es2024',
    keepNames: true,
    legalComments: 'none',
    sourcemap: 'external',
    conditions: ['workerd', 'worker', 'browser'],
    mainFields: ['browser', 'module', 'main'],
    external: ['cloudflare:*', 'node:*'],
    alias: { zod: path.join(source, 'http', 'zod.js') },
    logLevel: 'error',
  });
  const [map, code] = outputFiles.map(({ text }) => text);
  return { code, map: withoutContents(JSON.parse(map)), names };
}

/** A map goes to each worker with the code. Blank contents keep Vite from adding the sources to it. @param {{ sources: string[] }} map */
const withoutContents = (map) => ({
  ...map,
  sources: map.sources.map((name) => path.join(root, name)),
  sourcesContent: map.sources.map(() => ' '),
});

/** The names that each module exports. @param {string[]} files */
async function namesOf(files) {
  const { metafile } = await build({
    entryPoints: files,
    outdir: root,
    absWorkingDir: root,
    write: false,
    metafile: true,
    logLevel: 'error',
  });
  return new Map(Object.values(metafile.outputs).map(({ entryPoint = '', exports }) => [path.join(root, entryPoint), exports]));
}

/**
 * The statement that exports what a module of src exports, from that module or from the bundle.
 * @param {string} file @param {string} from @param {Map<string, string[]>} names
 * @param {(name: string, unique: string) => string} spelled `unique`: the name in the bundle.
 */
function exportsOf(file, from, names, spelled) {
  const prefix = file.slice(source.length).replace(/\W/g, '_');
  const list = (names.get(file) ?? []).map((name) => spelled(name, `${prefix}_${name}`));
  return `export { ${list.join(', ')} } from ${JSON.stringify(from)};`;
}
