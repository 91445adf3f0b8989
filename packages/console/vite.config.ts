import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vite';

// The Worker serves the console below /console (src/pages/console.ts), from files with a hash of their
// content in the name.
export default defineConfig({
  base: '/console/',
  // From source, so that the build does not depend on another build.
  resolve: {
    alias: { '@secrets-vault/client': fileURLToPath(new URL('../client/src/index.ts', import.meta.url)) },
  },
  oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
  build: {
    target: 'es2022',
    // The licences of the bundled libraries.
    license: { fileName: 'licenses.md' },
    // The page's policy does not allow data: scripts or styles, so nothing is inlined.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    // The Worker serves only names of letters, digits, `-` and `_`, with one dot.
    rollupOptions: {
      output: { chunkFileNames: ({ name }) => `assets/${name.replace(/[^\w-]/g, '_')}-[hash].js` },
    },
  },
  server: { proxy: { '/api': process.env.VAULT ?? 'http://127.0.0.1:8787' } },
});
