// Copies files to where they are served from: those that pages load (ours, those of packages, and the
// console) and the OpenAPI document. wrangler runs this before it builds (`[build]` in wrangler.toml).
// Invariants: the directory contains exactly these files; a file that another process reads is never
// half-written.
import fs from 'node:fs';
import path from 'node:path';
import { FOR_DEPLOYMENT, root } from '../shared/wrangler.mjs';
import { buildConsole, consoleDist } from './console.mjs';

const { RUN_BY_SCRIPT, WRANGLER_COMMAND } = process.env;
if (WRANGLER_COMMAND === 'deploy' && !RUN_BY_SCRIPT && !process.argv.includes(FOR_DEPLOYMENT)) {
  process.stderr.write(
    `wrangler deploy alone does not make a vault: it applies no migrations, and makes neither the queues nor the secrets. Run npm run deploy. A further deployment takes --config .wrangler/production/wrangler.json.\n`,
  );
  process.exit(1);
}

/** As in `[assets]` of wrangler.toml. */
const assetsDir = path.join(root, 'dist', 'assets');

const own = path.join(root, 'src', 'pages', 'assets');
const packages = {
  'swagger-ui.css': 'swagger-ui-dist/swagger-ui.css',
  'swagger-ui.js': 'swagger-ui-dist/swagger-ui-bundle.js',
  'webauthn.js': '@simplewebauthn/browser/dist/bundle/index.umd.min.js',
};

/** Files of the console that other pages load too. */
const consoles = { 'icon.svg': 'icon.svg', 'tokens.css': 'styles/tokens.css' };

buildConsole();
const built = fs
  .readdirSync(consoleDist, { recursive: true, withFileTypes: true })
  .filter((entry) => entry.isFile() && !entry.name.startsWith('.') && entry.name !== 'manifest.json')
  .map((entry) => path.relative(consoleDist, path.join(entry.parentPath, entry.name)));

const sources = new Map([
  ['openapi.json', path.join(root, 'packages', 'client', 'openapi.json')],
  ...fs.readdirSync(own).map((name) => /** @type {const} */ ([name, path.join(own, name)])),
  ...Object.entries(packages).map(
    ([name, file]) => /** @type {const} */ ([name, path.join(root, 'node_modules', file)]),
  ),
  ...Object.entries(consoles).map(
    ([name, file]) => /** @type {const} */ ([name, path.join(root, 'packages', 'console', 'src', file)]),
  ),
  ...built.map((name) => /** @type {const} */ ([path.join('console', name), path.join(consoleDist, name)])),
]);

/** A file, in the form in which it is served. @param {string} source */
const served = (source) => {
  const bytes = fs.readFileSync(source);
  return path.basename(source) === 'openapi.json'
    ? Buffer.from(JSON.stringify(JSON.parse(bytes.toString())))
    : bytes;
};

for (const [name, source] of sources) {
  const target = path.join(assetsDir, name);
  const part = path.join(root, 'dist', `.${name.replaceAll(path.sep, '.')}.${process.pid}`);
  const bytes = served(source);
  if (fs.existsSync(target) && fs.readFileSync(target).equals(bytes)) continue;
  fs.mkdirSync(path.dirname(target), { recursive: true });
  fs.writeFileSync(part, bytes);
  fs.renameSync(part, target);
}
for (const entry of fs.readdirSync(assetsDir, { recursive: true, withFileTypes: true })) {
  const file = path.join(entry.parentPath, entry.name);
  if (entry.isFile() && !sources.has(path.relative(assetsDir, file))) fs.rmSync(file);
}

/**
 * The binding for the local runtime: the directory itself. The runtime's emulation of the platform's router
 * would run before each request.
 * @param {any} declared the Worker's options, as wrangler read them from wrangler.toml
 */
export const assetsBinding = ({ assets, serviceBindings }) => ({
  assets: undefined,
  serviceBindings: { ...serviceBindings, [assets.binding]: { disk: { path: assetsDir } } },
});
