// The Worker's own code for scripts: what they check is checked by the same functions that the service uses.
import fs from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { root } from '../../shared/wrangler.mjs';

const domains = path.join(root, 'src', 'domains');

/** Import statements that declare every kind of row: without them, no row has a MAC. */
export const ROW_KINDS = fs
  .readdirSync(domains)
  .filter((domain) => fs.existsSync(path.join(domains, domain, 'rows.ts')))
  .map((domain) => `import './src/domains/${domain}/rows';\n`)
  .join('');

/**
 * Modules of src, bundled for Node.
 * @param {string} contents export statements, with paths from the project's root
 * @returns {Promise<any>}
 */
export async function fromSource(contents) {
  // esbuild comes with wrangler; that version also bundles the Worker.
  const { build } = createRequire(createRequire(path.join(root, 'package.json')).resolve('wrangler'))(
    'esbuild',
  );
  const { outputFiles } = await build({
    stdin: { contents, resolveDir: root, loader: 'ts' },
    bundle: true,
    format: 'esm',
    platform: 'node',
    write: false,
    logLevel: 'silent',
  });
  return import(`data:text/javascript;base64,${Buffer.from(outputFiles[0].contents).toString('base64')}`);
}
