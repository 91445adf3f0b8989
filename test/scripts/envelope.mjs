// `encrypt` of src/crypto/envelope.ts for tests of scripts: what the Worker stores, made without a Worker.
import { buildSync } from 'esbuild';
import { project } from './service.mjs';

const built = buildSync({
  entryPoints: [`${project}/src/crypto/envelope.ts`],
  bundle: true,
  format: 'esm',
  platform: 'node',
  write: false,
});
export const { encrypt } = await import(
  `data:text/javascript;base64,${Buffer.from(built.outputFiles[0].contents).toString('base64')}`
);
