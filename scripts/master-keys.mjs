// MASTER_KEYS for those who operate a vault: the list in its file, and whether a wrapped key opens with it. Invariant: the file is
// replaced whole, readable by its owner alone, and no key in it is ever dropped: one that is taken out of use stays as a retired one.
import { createDecipheriv, hkdfSync, randomBytes } from 'node:crypto';
import fs from 'node:fs';
import { parseEnv } from 'node:util';

/** @typedef {{ id: string, spelled: string, key: Buffer }} MasterKey */

/** @param {string} text @returns {MasterKey[] | undefined} undefined where it is malformed */
export function parseMasterKeys(text) {
  const keys = text.split(',').map((entry) => {
    const [, id, spelled] = /^([A-Za-z0-9_-]{1,32}):([A-Za-z0-9+/]{43}=)$/.exec(entry.trim()) ?? [];
    return { id, spelled: entry.trim(), key: Buffer.from(spelled ?? '', 'base64') };
  });
  const sound = keys.every(({ id, key }) => id && key.length === 32) && new Set(keys.map(({ id }) => id)).size === keys.length;
  return sound ? keys : undefined;
}

/** @param {MasterKey[]} keys */
export const spellMasterKeys = (keys) => keys.map(({ spelled }) => spelled).join(',');

/** A new key, with an id that none of these has: one more than the highest number. @param {MasterKey[]} known @returns {MasterKey} */
export function newMasterKey(known) {
  const id = `k${Math.max(0, ...known.map((key) => Number(/^k(\d{1,9})$/.exec(key.id)?.[1] ?? 0))) + 1}`;
  const key = randomBytes(32);
  return { id, spelled: `${id}:${key.toString('base64')}`, key };
}

/**
 * @param {string} file
 * @returns {{ keys: MasterKey[] | undefined, retired: MasterKey[] } | undefined} undefined where there is no file, or no list in it
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

/** Puts these lists into the file, and leaves its other lines as they are. @param {string} file @param {MasterKey[]} keys @param {MasterKey[]} retired */
export function writeKeyFile(file, keys, retired) {
  const real = fs.existsSync(file) ? fs.realpathSync(file) : file; // a link stays one
  let text = fs.existsSync(real) ? fs.readFileSync(real, 'utf8') : '';
  const set = (/** @type {string} */ name, /** @type {string} */ value) => {
    const line = new RegExp(`^(?:export )?[ \\t]*${name}[ \\t]*=.*\\n?`, 'm');
    const whole = value ? `${name}=${value}\n` : '';
    text = line.test(text) ? text.replace(line, () => whole) : `${text}${text && !text.endsWith('\n') ? '\n' : ''}${whole}`;
  };
  set('MASTER_KEYS', spellMasterKeys(keys));
  set('RETIRED_MASTER_KEYS', spellMasterKeys(retired));
  const draft = `${real}.${process.pid}.${randomBytes(6).toString('hex')}`;
  try {
    const fd = fs.openSync(draft, 'wx', 0o600);
    fs.writeSync(fd, text);
    fs.fsyncSync(fd); // nothing may be sealed under a key that a power cut could still take
    fs.closeSync(fd);
    fs.renameSync(draft, real);
  } finally {
    fs.rmSync(draft, { force: true });
  }
}

/** What src/crypto/envelope.ts authenticates. @param {(string | Buffer)[]} parts */
const tuple = (...parts) =>
  Buffer.concat(
    parts.flatMap((part) => {
      const bytes = Buffer.from(part);
      const length = Buffer.alloc(4);
      length.writeUInt32BE(bytes.length);
      return [length, bytes];
    }),
  );

/**
 * Whether a wrapped key opens; by src/crypto/envelope.ts: format byte, 24 bytes of salt, ciphertext, 16 bytes of tag.
 * @param {MasterKey[]} keys
 * @param {{ owner: string, master_id: string, key_sealed: string }} wrapped
 */
export function opens(keys, { owner, master_id, key_sealed }) {
  const master = keys.find(({ id }) => id === master_id);
  const bytes = Buffer.from(key_sealed, 'base64');
  if (!master || bytes.length < 41) return false;
  const purpose = owner === 'deployment' ? 'deployment key' : 'org key';
  const derived = Buffer.from(hkdfSync('sha256', master.key, bytes.subarray(1, 25), `svc/v1/seal/${purpose}`, 44));
  const decipher = createDecipheriv('aes-256-gcm', derived.subarray(0, 32), derived.subarray(32), { authTagLength: 16 });
  decipher.setAAD(tuple(bytes.subarray(0, 1), purpose, owner, master_id));
  decipher.setAuthTag(bytes.subarray(-16));
  decipher.update(bytes.subarray(25, -16));
  try {
    decipher.final();
    return true;
  } catch {
    return false;
  }
}
