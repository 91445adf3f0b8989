// Bundles svc into dist: one small entry, and a chunk for each command that is loaded when it is called. The client is bundled from its
// source, so the package has no dependency but the optional keychain.
import fs from 'node:fs';
import path from 'node:path';
import { build } from 'esbuild';

const here = import.meta.dirname ?? path.dirname(new URL(import.meta.url).pathname);
const { version } = JSON.parse(fs.readFileSync(path.join(here, 'package.json'), 'utf8'));

fs.rmSync(path.join(here, 'dist'), { recursive: true, force: true });
await build({
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
  legalComments: 'linked',
  define: { SVC_VERSION: JSON.stringify(version) },
  external: ['@napi-rs/keyring'],
  alias: { '@secrets-vault/client': path.join(here, '..', 'client', 'src', 'index.ts') },
  // Bundled CommonJS modules ask for Node's own modules with require().
  banner: { js: "import{createRequire as __createRequire}from'node:module';const require=__createRequire(import.meta.url);" },
  logLevel: 'warning',
});
