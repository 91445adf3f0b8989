// `npm run openapi`: updates what the packages know about the service. Writes packages/client/openapi.json, the document that the built
// Worker serves, and packages/client/src/api.ts, the types generated from it. Invariant: nothing is written by hand; a test compares both
// with a running service.
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { convertV4MiniflareOptions, Miniflare } from 'miniflare';
import './scratch.mjs';
import { client, PUBLIC_URL, spelled, typesOf } from './openapi-types.mjs';
import { runWrangler } from './wrangler.mjs';

const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'openapi-'));
const built = await runWrangler(['deploy', '--dry-run', '--outdir', dir]);
if (built.code === 0) {
  const document = await served(path.join(dir, 'index.js'));
  fs.writeFileSync(path.join(client, 'openapi.json'), spelled(document));
  fs.writeFileSync(path.join(client, 'src', 'api.ts'), await typesOf(document));
} else {
  process.stderr.write(`The Worker could not be built; wrangler said:\n${built.said}`);
  process.exitCode = 1;
}

/** The document, read from the Worker in the local runtime. @param {string} worker */
async function served(worker) {
  const runtime = new Miniflare(
    convertV4MiniflareOptions({
      modules: [{ type: 'ESModule', path: worker }],
      modulesRoot: dir,
      compatibilityDate: '2026-10-20',
      compatibilityFlags: ['nodejs_compat'],
      bindings: { PUBLIC_URL, MASTER_KEYS: `k1:${Buffer.alloc(32, 1).toString('base64')}`, BOOTSTRAP_TOKEN: 'x'.repeat(32) },
      handleStructuredLogs: () => {},
    }),
  );
  try {
    return await (await runtime.dispatchFetch(`${PUBLIC_URL}/api/v1/openapi.json`)).json();
  } finally {
    await runtime.dispose();
  }
}
