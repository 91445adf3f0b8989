// The passkeys of the tests, which are TypeScript, for tests of scripts.
import { createRequire } from 'node:module';
import path from 'node:path';
import { project } from './service.mjs';

/** @returns {Promise<typeof import('../support/signin/passkey')>} */
export async function passkeySoftware() {
  const require = createRequire(path.join(project, 'package.json'));
  const { build } = createRequire(require.resolve('wrangler'))('esbuild');
  const stdin = {
    contents: "export { newPasskey } from './test/support/signin/passkey';",
    resolveDir: project,
    loader: 'ts',
  };
  const { outputFiles } = await build({
    stdin,
    bundle: true,
    write: false,
    format: 'esm',
    platform: 'node',
    target: 'node20',
  });
  return import(`data:text/javascript;base64,${Buffer.from(outputFiles[0].contents).toString('base64')}`);
}
