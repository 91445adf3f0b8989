// `npm run openapi`: updates what the packages and the Worker know about the API. Writes
// packages/client/openapi.json, the document that every deployment serves,
// packages/client/src/api/openapi.ts, the types generated from it, packages/cli/src/requests/shapes.ts, what
// svc compares responses with, and copies of the rules that packages share with the service. Invariant:
// nothing is written by hand; tests compare all with the service.
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { build } from 'esbuild';
import { convertV4MiniflareOptions, Miniflare } from 'miniflare';
import '../shared/temporary-files.mjs';
import { root } from '../shared/wrangler.mjs';
import { asDeployed } from './bundle-options.mjs';
import { shapesOf } from './openapi-shapes.mjs';
import { client, copies, copyOf, PUBLIC_URL, spelled, typesOf } from './openapi-types.mjs';

/** A Worker that answers with the document. */
const generator = `
import { openapiDocument } from './openapi/build';
import { routes } from './domains';
export default { fetch: () => Response.json(openapiDocument(routes, '${PUBLIC_URL}')) };`;

const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'openapi-'));
const worker = path.join(dir, 'generator.js');
await build({
  ...asDeployed,
  stdin: { contents: generator, resolveDir: path.join(root, 'src') },
  write: true,
  outfile: worker,
});
const runtime = new Miniflare(
  convertV4MiniflareOptions({
    modules: [{ type: 'ESModule', path: worker }],
    modulesRoot: dir,
    compatibilityDate: '2026-10-20',
    compatibilityFlags: ['nodejs_compat'],
    handleStructuredLogs: () => {},
  }),
);
try {
  const document = await (await runtime.dispatchFetch(PUBLIC_URL)).json();
  fs.writeFileSync(path.join(client, 'openapi.json'), spelled(document));
  fs.writeFileSync(path.join(client, 'src', 'api', 'openapi.ts'), await typesOf(document));
  fs.writeFileSync(path.join(root, 'packages', 'cli', 'src', 'requests', 'shapes.ts'), shapesOf(document));
  for (const [from, to] of copies) fs.writeFileSync(path.join(root, to), copyOf(from));
} finally {
  await runtime.dispose();
}
