// Bundles svc into dist: one small entry, and a chunk for each command that is loaded when the command runs.
// The client is bundled from its source, so the only dependency of the package is the optional keychain.
import fs from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

const here = path.dirname(fileURLToPath(import.meta.url));
const { version } = JSON.parse(fs.readFileSync(path.join(here, 'package.json'), 'utf8'));

/**
 * commander can start programs as subcommands. svc has none, and loading node:child_process would slow down
 * every start.
 */
const withoutChildProcess = {
  name: 'without-child-process',
  setup(/** @type {import('esbuild').PluginBuild} */ { onResolve, onLoad }) {
    onResolve({ filter: /^node:child_process$/ }, ({ importer }) =>
      /[/\\]commander[/\\]/.test(importer) ? { path: 'child_process', namespace: 'absent' } : undefined,
    );
    onLoad({ filter: /.*/, namespace: 'absent' }, () => ({ contents: 'module.exports = {};', loader: 'js' }));
  },
};

fs.rmSync(path.join(here, 'dist'), { recursive: true, force: true });
const { metafile } = await build({
  absWorkingDir: here,
  entryPoints: ['src/main.ts'],
  outdir: 'dist',
  bundle: true,
  splitting: true,
  format: 'esm',
  platform: 'node',
  target: 'node20.12',
  minifySyntax: true,
  minifyWhitespace: true,
  legalComments: 'none',
  metafile: true,
  define: { SVC_VERSION: JSON.stringify(version) },
  external: ['@napi-rs/keyring'],
  plugins: [withoutChildProcess],
  alias: {
    '@secrets-vault/client': path.join(here, '..', 'client', 'src', 'index.ts'),
    // Its main file loads its parts in a way that cannot be bundled.
    'jsonc-parser': 'jsonc-parser/lib/esm/main.js',
  },
  // Bundled CommonJS modules load Node.js modules with require().
  banner: {
    js: "import{createRequire as __createRequire}from'node:module';const require=__createRequire(import.meta.url);",
  },
  logLevel: 'warning',
});

// The licences of bundled libraries must be distributed with them.
const inputs = Object.keys(metafile.inputs).map(
  (file) => /^(.*node_modules\/(?:@[^/]+\/)?[^/]+)\//.exec(file)?.[1],
);
const notices = [...new Set(inputs)].filter(Boolean).map((at) => {
  const dir = path.join(here, at);
  const { name, version, license } = JSON.parse(fs.readFileSync(path.join(dir, 'package.json'), 'utf8'));
  const file = fs.readdirSync(dir).find((entry) => /^licen[cs]e/i.test(entry));
  return `${name} ${version} (${license})\n\n${file ? fs.readFileSync(path.join(dir, file), 'utf8').trim() : `Licence: ${license}`}\n`;
});
fs.writeFileSync(
  path.join(here, 'dist', 'THIRD-PARTY-LICENSES.txt'),
  notices.sort().join(`\n${'-'.repeat(70)}\n\n`),
);
