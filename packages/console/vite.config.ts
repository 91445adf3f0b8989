import { defineConfig } from 'vite';

// The console is served by the Worker below /console (src/pages/console.ts), from files whose names hold a hash of their content.
export default defineConfig({
  base: '/console/',
  // From its source, so that a build needs no other build before it.
  resolve: { alias: { '@secrets-vault/client': new URL('../client/src/index.ts', import.meta.url).pathname } },
  oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
  build: {
    target: 'es2022',
    // The licences of the libraries in it.
    license: { fileName: 'licenses.md' },
    // The policy of the page allows no data: scripts or styles, so nothing is inlined.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    // The Worker serves names of letters, digits, `-` and `_`, with one dot.
    rollupOptions: { output: { chunkFileNames: ({ name }) => `assets/${name.replace(/[^\w-]/g, '_')}-[hash].js` } },
  },
  server: { proxy: { '/api': process.env.VAULT ?? 'http://127.0.0.1:8787' } },
});
