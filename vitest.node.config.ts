import { defineConfig } from 'vitest/config';
import './scripts/shared/temporary-files.mjs';

// Adapters against servers that speak the vendors' wire formats, and the vendors' own clients against the
// same servers: in Node, where both run.
export default defineConfig({
  test: {
    include: ['test/vendors/**/*.test.ts'],
    tags: [{ name: 'slow', description: 'takes long' }],
    // No file changes what another sees: modules are loaded once a worker.
    isolate: false,
    maxWorkers: '100%',
    testTimeout: 60_000,
  },
});
