// .dev.vars, with the secrets of local development. Invariant: the file is created atomically, readable only
// by its owner, and never overwritten: of two concurrent first starts, one creates the file and the other
// reads it.
import { randomBytes } from 'node:crypto';
import fs from 'node:fs';
import { parseEnv } from 'node:util';

const SECRETS = {
  MASTER_KEYS: () => `k1:${randomBytes(32).toString('base64')}`,
  BOOTSTRAP_TOKEN: () => randomBytes(33).toString('base64url'),
};

/** New keys for the secrets that the shell does not set. @param {Record<string, string | undefined>} env */
export const freshSecrets = (env) =>
  Object.fromEntries(
    Object.entries(SECRETS).flatMap(([name, make]) => (env[name] === undefined ? [[name, make()]] : [])),
  );

/**
 * @param {string} file
 * @returns {{ vars: Record<string, string | undefined>, text: string, exposed: boolean } | undefined}
 *   undefined if it does not exist
 */
export function readDevVars(file) {
  let text;
  try {
    text = fs.readFileSync(file, 'utf8').replace(/^\uFEFF/, '');
  } catch (error) {
    if (error.code === 'ENOENT') return undefined;
    throw error;
  }
  return {
    vars: parseEnv(text),
    text,
    exposed: process.platform !== 'win32' && (fs.statSync(file).mode & 0o077) !== 0,
  };
}

/**
 * Creates the file, unless another process was first: then its content is kept.
 * @param {string} file
 * @param {Record<string, string>} secrets
 * @param {string} [note] one comment line for the reader of the file
 */
export function createDevVars(
  file,
  secrets,
  note = 'Created by npm start. Keep it: without MASTER_KEYS, the vault cannot be decrypted.',
) {
  const draft = `${file}.${process.pid}.${randomBytes(6).toString('hex')}`;
  const lines = Object.entries(secrets).map(([name, value]) => `${name}=${value}\n`);
  try {
    fs.writeFileSync(draft, `# ${note}\n${lines.join('')}`, {
      mode: 0o600,
      flag: 'wx',
    });
    // A link is created only if the name is unused, and the file it refers to is already complete.
    fs.linkSync(draft, file);
  } catch (error) {
    if (error.code !== 'EEXIST') throw error;
  } finally {
    fs.rmSync(draft, { force: true });
  }
}

/**
 * A shell command that prints BOOTSTRAP_TOKEN from the file.
 * @param {string} file
 * @param {string} text its content
 */
export function bootstrapTokenCommand(file, text) {
  const plain = `sed -n 's/^BOOTSTRAP_TOKEN=//p' '${file.replaceAll("'", String.raw`'\''`)}'`;
  return /^BOOTSTRAP_TOKEN=[^\s"'`#]+$/m.test(text) && !text.includes('\r')
    ? plain
    : String.raw`${plain.replace('BOOTSTRAP_TOKEN=', ' *BOOTSTRAP_TOKEN *= *')} | tr -d '\042\047\140\r '`;
}
