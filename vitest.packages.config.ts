import os from 'node:os';
import { defineConfig } from 'vitest/config';
import './scripts/shared/temporary-files.mjs';

// The packages, as built, in Node against one real service, which the global set-up starts on a free port.
export default defineConfig({
  test: {
    include: ['packages/*/test/**/*.test.ts'],
    tags: [{ name: 'slow', description: 'takes long' }],
    globalSetup: './test/packages/service.mjs',
    // Files share modules and a browser, and leave nothing behind in them.
    isolate: false,
    // More than the cores: these tests mostly wait for browsers, processes and timeouts.
    maxWorkers: Math.ceil(os.availableParallelism() * 1.5),
    testTimeout: 120_000,
    hookTimeout: 120_000,
    expect: { poll: { timeout: 30_000 } },
  },
});
