// MASTER_KEYS for operators: the list in its file, and whether it decrypts a wrapped key. Invariant: the file
// is replaced atomically, readable only by its owner, and no key in it is ever dropped: an unused one stays
// as a retired one.
import { randomBytes } from 'node:crypto';
import fs from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { parseEnv } from 'node:util';
import { root } from '../../shared/wrangler.mjs';

/** @typedef {{ id: string, text: string, key: Buffer }} MasterKey */
/**
 * @typedef {{ owner: string, master_id: string, key_sealed: string }} Wrap `owner` is `deployment`, or an
 *   organisation's id
 */

/** @param {string} text @returns {MasterKey[] | undefined} undefined if it is malformed */
export function parseMasterKeys(text) {
  const keys = text.split(',').map((entry) => {
    const [, id, text] = /^([A-Za-z0-9_-]{1,32}):([A-Za-z0-9+/]{43}=)$/.exec(entry.trim()) ?? [];
    return { id, text: entry.trim(), key: Buffer.from(text ?? '', 'base64') };
  });
  const valid =
    keys.every(({ id, key }) => id && key.length === 32) &&
    new Set(keys.map(({ id }) => id)).size === keys.length;
  return valid ? keys : undefined;
}

/** @param {MasterKey[]} keys */
export const formatMasterKeys = (keys) => keys.map(({ text }) => text).join(',');

/**
 * A new key with an unused id: one more than the highest number.
 * @param {MasterKey[]} known
 * @returns {MasterKey}
 */
export function newMasterKey(known) {
  const id = `k${Math.max(0, ...known.map((key) => Number(/^k(\d{1,9})$/.exec(key.id)?.[1] ?? 0))) + 1}`;
  const key = randomBytes(32);
  return { id, text: `${id}:${key.toString('base64')}`, key };
}

/**
 * @param {string} file
 * @returns {{ keys: MasterKey[] | undefined, retired: MasterKey[] } | undefined} undefined if the file does
 *   not exist or has no MASTER_KEYS
 */
export function readKeyFile(file) {
  if (!fs.existsSync(file)) return undefined;
  const vars = parseEnv(fs.readFileSync(file, 'utf8').replace(/^\uFEFF/, ''));
  if (!vars.MASTER_KEYS) return undefined;
  return {
    keys: parseMasterKeys(vars.MASTER_KEYS),
    retired: (vars.RETIRED_MASTER_KEYS && parseMasterKeys(vars.RETIRED_MASTER_KEYS)) || [],
  };
}

/**
 * Writes these lists to the file, without changing its other lines.
 * @param {string} file @param {MasterKey[]} keys @param {MasterKey[]} retired
 */
export function writeKeyFile(file, keys, retired) {
  const real = fs.existsSync(file) ? fs.realpathSync(file) : file; // a link stays a link
  let text = fs.existsSync(real) ? fs.readFileSync(real, 'utf8') : '';
  const set = (/** @type {string} */ name, /** @type {string} */ value) => {
    const line = new RegExp(`^(?:export )?[ \\t]*${name}[ \\t]*=.*\\n?`, 'm');
    const whole = value ? `${name}=${value}\n` : '';
    text = line.test(text)
      ? text.replace(line, () => whole)
      : `${text}${text && !text.endsWith('\n') ? '\n' : ''}${whole}`;
  };
  set('MASTER_KEYS', formatMasterKeys(keys));
  set('RETIRED_MASTER_KEYS', formatMasterKeys(retired));
  const draft = `${real}.${process.pid}.${randomBytes(6).toString('hex')}`;
  try {
    const fd = fs.openSync(draft, 'wx', 0o600);
    fs.writeSync(fd, text);
    fs.fsyncSync(fd); // nothing may be encrypted under a key that a power cut could still remove
    fs.closeSync(fd);
    fs.renameSync(draft, real);
  } finally {
    fs.rmSync(draft, { force: true });
  }
}

/** `decrypt` of src/crypto/envelope.ts, which needs bundling. */
async function envelope() {
  // esbuild comes with wrangler; that version also bundles the Worker.
  const { buildSync } = createRequire(createRequire(path.join(root, 'package.json')).resolve('wrangler'))(
    'esbuild',
  );
  const built = buildSync({
    entryPoints: [path.join(root, 'src', 'crypto', 'envelope.ts')],
    bundle: true,
    format: 'esm',
    platform: 'node',
    write: false,
    logLevel: 'silent',
  });
  return import(
    `data:text/javascript;base64,${Buffer.from(built.outputFiles[0].contents).toString('base64')}`
  );
}

/** How many keys that do not decrypt are tried as those of the others. */
const MOST_COMPARED = 100;

/**
 * Decrypts each wrapped key with the given master keys, with the Worker's own code. The plaintext is
 * discarded immediately.
 * @param {MasterKey[]} masters
 * @param {Wrap[]} wraps
 * @returns {Promise<{ missing: string[], undecryptable: Wrap[], exchanged: { org: string, has: string }[] }>}
 *   ids of missing master keys, wrapped keys that do not decrypt, and of these those that are the key of
 *   another organisation
 */
export async function checkWraps(masters, wraps) {
  const { decrypt } = await envelope();
  const byId = new Map(masters.map(({ id, key }) => [id, new Uint8Array(key)]));
  const decrypts = ({ owner, master_id: id, key_sealed: sealed }) =>
    byId.has(id) &&
    decrypt(byId.get(id), owner === 'deployment' ? 'deployment key' : 'org key', [owner, id], sealed)
      ?.length === 32;
  const undecryptable = wraps.filter((wrap) => byId.has(wrap.master_id) && !decrypts(wrap));
  const own = undecryptable.filter(({ owner }) => owner !== 'deployment').slice(0, MOST_COMPARED);
  return {
    missing: [...new Set(wraps.map(({ master_id: id }) => id))].filter((id) => !byId.has(id)),
    undecryptable,
    exchanged: own.flatMap((wrap) =>
      own
        .filter(({ owner }) => decrypts({ ...wrap, owner }))
        .map(({ owner }) => ({ org: wrap.owner, has: owner })),
    ),
  };
}
