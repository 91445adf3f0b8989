// A vitest plugin: the Worker's source as one module. Without it, each test file loads a thousand modules one
// by one. The bundler, its conditions and the replacement of zod are those of the deployed Worker.
// Invariants: every module of src exists once, and so does every package that both src and tests import: a
// test gets the bundle's instance. Modules that a test spies on stay out of the bundle, because inside it
// their functions would call each other directly.
import fs from 'node:fs';
import path from 'node:path';
import { build } from 'esbuild';
import { asDeployed } from '../build/bundle-options.mjs';
import { root } from '../shared/wrangler.mjs';

const BUNDLE = 'virtual:source';
const source = path.join(root, 'src') + path.sep;
const [sources, tests] = ['src', 'test'].map(textsIn);
const spied = spiedBy(tests);
const packages = packagesOf(sources);
const shared = new Set([...packagesOf(tests)].filter((name) => packages.has(name)));
const isSource = (/** @type {string} */ id) => id.startsWith(source) && id.endsWith('.ts') && !spied.has(id);

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
    resolveId: (id) => (id === BUNDLE || shared.has(id) ? `\0${id}` : undefined),
    async load(id) {
      const part = isSource(id) ? id : id.slice(1);
      if (!isSource(id) && id !== `\0${BUNDLE}` && !shared.has(part)) return;
      building ??= bundled();
      const { names, ...bundle } = await building;
      if (part === BUNDLE) return bundle;
      return {
        code: exportsOf(part, BUNDLE, names, (name, unique) => `${unique} as ${name}`),
        map: { mappings: '' },
      };
    },
  };
}

/** All modules of src, and the packages that tests share with them, as one; and their exports. */
async function bundled() {
  const names = await namesOf([...sources.keys()].filter(isSource));
  const { outputFiles } = await build({
    ...asDeployed,
    stdin: {
      contents: [...names.keys()]
        .map((part) => exportsOf(part, part, names, (name, unique) => `${name} as ${unique}`))
        .join('\n'),
      resolveDir: root,
    },
    outfile: path.join(root, 'source.js'),
    legalComments: 'none',
    sourcemap: 'external',
    plugins: [{ name: 'spied', setup: leaveOut }],
  });
  const [map, code] = outputFiles.map(({ text }) => text);
  return { code, map: withoutContents(JSON.parse(map)), names };
}

/** @param {import('esbuild').PluginBuild} build */
function leaveOut({ onResolve }) {
  onResolve({ filter: /^\./ }, ({ path: name, resolveDir }) => {
    const file = `${path.resolve(resolveDir, name)}.ts`;
    return spied.has(file) ? { path: file, external: true } : undefined;
  });
}

/**
 * The source map goes to each worker with the code. Blank contents prevent Vite from adding the sources to
 * it. @param {{ sources: string[] }} map
 */
const withoutContents = (map) => ({
  ...map,
  sources: map.sources.map((name) => path.join(root, name)),
  sourcesContent: map.sources.map(() => ' '),
});

/**
 * The names that each module and each shared package exports.
 * @param {string[]} files
 * @returns {Promise<Map<string, string[]>>}
 */
async function namesOf(files) {
  const common = {
    outdir: root,
    absWorkingDir: root,
    write: false,
    metafile: true,
    logLevel: /** @type {const} */ ('error'),
  };
  const modules = await build({ ...common, entryPoints: files });
  const found = Object.values(modules.metafile.outputs).map(
    ({ entryPoint = '', exports }) => /** @type {const} */ ([path.join(root, entryPoint), exports]),
  );
  const ofPackages = [...shared].map(async (name) => {
    const { metafile } = await build({ ...asDeployed, ...common, entryPoints: [name] });
    return /** @type {const} */ ([name, Object.values(metafile.outputs)[0].exports]);
  });
  return new Map([...found, ...(await Promise.all(ofPackages))]);
}

/**
 * The statement that exports what a module or a package exports, from there or from the bundle.
 * @param {string} part @param {string} from @param {Map<string, string[]>} names
 * @param {(name: string, unique: string) => string} spelled `unique`: the name in the bundle.
 */
function exportsOf(part, from, names, spelled) {
  const prefix = part.replace(source, './').replace(/\W/g, '_');
  const list = (names.get(part) ?? []).map((name) => spelled(name, `${prefix}_${name}`));
  return `export { ${list.join(', ')} } from ${JSON.stringify(from)};`;
}

/** The text of each module in a folder of the project. @param {string} folder */
function textsIn(folder) {
  const names = fs
    .readdirSync(path.join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'));
  const files = names.map((name) => path.join(root, folder, name));
  return new Map(files.map((file) => [file, fs.readFileSync(file, 'utf8')]));
}

/** The packages that modules import. @param {Map<string, string>} texts */
function packagesOf(texts) {
  const names = [...texts.values()].flatMap((text) =>
    [...text.matchAll(/ from '([^.'][^']*)';$/gm)].map(([, name]) => name),
  );
  return new Set(names.filter((name) => !/^(node|cloudflare):/.test(name)));
}

/** The modules of src that tests hold as a whole and spy on. @param {Map<string, string>} texts */
function spiedBy(texts) {
  const modules = [...texts].flatMap(([file, text]) =>
    [...text.matchAll(/^import \* as (\w+) from '(\..*)';$/gm)]
      .filter(([, name]) => text.includes(`spyOn(${name},`))
      .map(([, , from]) => `${path.resolve(path.dirname(file), from)}.ts`),
  );
  return new Set(modules.filter((file) => file.startsWith(source)));
}
