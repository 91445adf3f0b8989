// How other scripts bundle the Worker's source: as wrangler does for a deployment.
import path from 'node:path';
import { root } from '../shared/wrangler.mjs';

/** The bundler options of the deployed Worker. @type {import('esbuild').BuildOptions} */
export const asDeployed = {
  bundle: true,
  write: false,
  format: 'esm',
  target: 'es2024',
  keepNames: true,
  conditions: ['workerd', 'worker', 'browser'],
  mainFields: ['browser', 'module', 'main'],
  external: ['cloudflare:*', 'node:*'],
  alias: { zod: path.join(root, 'src', 'http', 'zod.js') },
  logLevel: 'error',
};
