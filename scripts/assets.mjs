// The files that pages load, put where they are served from: ours, and those of packages. wrangler runs this before it builds (`[build]` in
// wrangler.toml). Invariants: the directory holds just these files; and a file that somebody reads meanwhile is never half written.
import fs from 'node:fs';
import path from 'node:path';
import { root } from './wrangler.mjs';

/** As in `[assets]` of wrangler.toml. */
const assetsDir = path.join(root, 'dist', 'assets');

const own = path.join(root, 'src', 'pages', 'assets');
const packages = {
  'swagger-ui.css': 'swagger-ui-dist/swagger-ui.css',
  'swagger-ui.js': 'swagger-ui-dist/swagger-ui-bundle.js',
  'webauthn.js': '@simplewebauthn/browser/dist/bundle/index.umd.min.js',
};

const sources = new Map([
  ...fs.readdirSync(own).map((name) => /** @type {const} */ ([name, path.join(own, name)])),
  ...Object.entries(packages).map(([name, file]) => /** @type {const} */ ([name, path.join(root, 'node_modules', file)])),
]);

fs.mkdirSync(assetsDir, { recursive: true });
for (const [name, source] of sources) {
  const [target, part] = [path.join(assetsDir, name), path.join(root, 'dist', `.${name}.${process.pid}`)];
  const bytes = fs.readFileSync(source);
  if (fs.existsSync(target) && fs.readFileSync(target).equals(bytes)) continue;
  fs.writeFileSync(part, bytes);
  fs.renameSync(part, target);
}
for (const name of fs.readdirSync(assetsDir)) if (!sources.has(name)) fs.rmSync(path.join(assetsDir, name));

/**
 * The binding for the local runtime: the directory itself. The runtime's stand-in for the platform's router would run before each request.
 * @param {any} declared the Worker's options, as wrangler read them from wrangler.toml
 */
export const assetsBinding = ({ assets, serviceBindings }) => ({
  assets: undefined,
  serviceBindings: { ...serviceBindings, [assets.binding]: { disk: { path: assetsDir } } },
});
