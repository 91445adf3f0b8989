// Whether master keys open the keys that are wrapped by them, by the very code that the Worker runs. Invariant: an opened key is thrown away
// at once; what comes out is names and verdicts.
import { createRequire } from 'node:module';
import path from 'node:path';
import { root } from './wrangler.mjs';

/** @typedef {{ owner: string, master_id: string, key_sealed: string }} Wrap `owner` is `deployment`, or an organisation's id */

/** `MASTER_KEYS`, once it has passed the check of settings. @param {string} text @returns {Map<string, Uint8Array>} by id */
export const masterKeys = (text) =>
  new Map(
    text.split(',').map((entry) => {
      const at = entry.indexOf(':');
      return [entry.slice(0, at).trim(), new Uint8Array(Buffer.from(entry.slice(at + 1).trim(), 'base64'))];
    }),
  );

/** `open` of src/crypto/envelope.ts, which is written for a bundler. */
async function envelope() {
  // esbuild comes with wrangler, whose own version is the one that bundles the Worker.
  const { buildSync } = createRequire(createRequire(path.join(root, 'package.json')).resolve('wrangler'))('esbuild');
  const built = buildSync({
    entryPoints: [path.join(root, 'src', 'crypto', 'envelope.ts')],
    bundle: true,
    format: 'esm',
    platform: 'node',
    write: false,
    logLevel: 'silent',
  });
  return import(`data:text/javascript;base64,${Buffer.from(built.outputFiles[0].contents).toString('base64')}`);
}

/**
 * Opens each wrap with the master keys at hand.
 * @param {Map<string, Uint8Array>} masters
 * @param {Wrap[]} wraps
 * @returns {Promise<{ missing: string[], closed: string[] }>} ids of master keys that are not at hand, and owners whose wrap does not open
 */
export async function checkWraps(masters, wraps) {
  const { open } = await envelope();
  const missing = new Set();
  const closed = [];
  for (const { owner, master_id: id, key_sealed: sealed } of wraps) {
    const master = masters.get(id);
    if (!master) missing.add(id);
    else if (open(master, owner === 'deployment' ? 'deployment key' : 'org key', [owner, id], sealed)?.length !== 32) closed.push(owner);
  }
  return { missing: [...missing], closed };
}
