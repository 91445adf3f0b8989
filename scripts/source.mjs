// The Worker's own code for scripts: what they check is checked by the same functions that the service uses.
import { createRequire } from 'node:module';
import path from 'node:path';
import { root } from './wrangler.mjs';

/** Modules of src, bundled for Node. @param {string} contents export statements, with paths from the project's root @returns {Promise<any>} */
export async function fromSource(contents) {
  // esbuild comes with wrangler; that version also bundles the Worker.
  const { build } = createRequire(createRequire(path.join(root, 'package.json')).resolve('wrangler'))('esbuild');
  const { outputFiles } = await build({
    stdin: { contents, resolveDir: root, loader: 'ts' },
    ...{ bundle: true, format: 'esm', platform: 'node', write: false, logLevel: 'silent' },
  });
  return import(`data:text/javascript;base64,${Buffer.from(outputFiles[0].contents).toString('base64')}`);
}
