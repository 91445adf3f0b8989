import { cloudflareTest, readD1Migrations } from '@cloudflare/vitest-plugin';
import { defineConfig } from 'vitest/config';
import './scripts/shared/temporary-files.mjs'; // before the runtime makes its directories
import './scripts/build/assets.mjs';
import { bundledSource } from './scripts/test/bundled-source.mjs';

// The real Worker in the local runtime, its D1 wrapped so that a test can delay or fail any call
// (`test/support/main.ts`).
export default defineConfig({
  plugins: [
    bundledSource(),
    cloudflareTest(async () => ({
      main: './test/support/main.ts',
      wrangler: { configPath: './wrangler.toml' },
      miniflare: {
        bindings: {
          MIGRATIONS: await readD1Migrations('./migrations'),
          MASTER_KEYS: `k1:${Buffer.alloc(32, 7).toString('base64')}`,
          BOOTSTRAP_TOKEN: 'bootstrap-token-of-the-tests-0123456789',
          PUBLIC_URL: 'http://localhost',
          HISTORIES: process.env.HISTORIES ?? '',
          SEED: process.env.SEED ?? '',
          FLOOD: process.env.FLOOD ?? '',
          FAULTS: process.env.FAULTS ?? '',
          TRIALS: process.env.TRIALS ?? '',
          QUICK: process.env.QUICK ?? '',
        },
      },
    })),
  ],
  test: {
    include: ['test/**/*.test.ts'],
    exclude: ['test/vendors/**'],
    // npm test leaves these out; npm run test:whole, and a run of single files, includes them.
    tags: [{ name: 'slow', description: 'takes long' }],
    // The Worker's log lines are its own; a failing test says what it needs.
    silent: true,
    // A cached module would come to a worker without its source map.
    fsModuleCache: false,
    // On a machine of two cores the default would be one.
    maxWorkers: '100%',
    testTimeout: 60_000,
    hookTimeout: 60_000,
  },
});
