import { defineConfig } from 'vitest/config';
import './scripts/scratch.mjs';

// The packages, as built, in Node against one real service, which the global set-up starts on a free port.
export default defineConfig({
  test: {
    include: ['packages/*/test/**/*.test.ts'],
    globalSetup: './test/packages/service.mjs',
    maxWorkers: '100%',
    testTimeout: 60_000,
    hookTimeout: 60_000,
  },
});
