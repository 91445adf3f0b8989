// The deployment's configuration for wrangler: wrangler.toml plus what belongs to one account. Invariant: wrangler.toml stays as committed;
// account-specific data is looked up on every run and written to a file that git ignores.
import fs from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { root } from './wrangler.mjs';

/** Relative to the project, as in the commands. */
export const CONFIG = path.join('.wrangler', 'production', 'wrangler.json');
/** Where the deployment's secrets are stored until they are taken offline. */
export const varsFile = path.join(root, '.production.vars');
export const VARS_NOTE =
  'Created by npm run deploy. MASTER_KEYS decrypts everything in the vault and cannot be recovered: keep a copy offline, separate from backups.';

/** wrangler.toml, parsed by wrangler's own parser. @returns {any} */
export function readToml(dir = root) {
  const { experimental_readRawConfig: read } = createRequire(path.join(root, 'package.json'))('wrangler');
  return read({ config: path.join(dir, 'wrangler.toml') }).rawConfig;
}

/** The resources of the deployment, by their names in wrangler.toml. */
export function partsOf(toml) {
  const consumer = toml.queues.consumers[0];
  return { worker: toml.name, database: toml.d1_databases[0].database_name, queues: [consumer.queue, consumer.dead_letter_queue] };
}

/**
 * wrangler.toml with the database and the address of this account; its paths are relative to the output file.
 * @param {any} toml
 * @param {string} databaseId
 * @param {string} publicUrl '' if not known yet
 */
export function productionConfig(toml, databaseId, publicUrl) {
  const [database, ...others] = toml.d1_databases;
  const from = path.dirname(path.join(root, CONFIG));
  const moved = (to) => path.relative(from, path.join(root, to));
  return {
    ...toml,
    main: moved(toml.main),
    alias: Object.fromEntries(Object.entries(toml.alias).map(([name, to]) => [name, moved(to)])),
    assets: { ...toml.assets, directory: moved(toml.assets.directory) },
    vars: { ...toml.vars, PUBLIC_URL: publicUrl },
    d1_databases: [{ ...database, database_id: databaseId, migrations_dir: moved(database.migrations_dir) }, ...others],
  };
}

/** @param {ReturnType<typeof productionConfig>} config */
export function writeConfig(config) {
  const file = path.join(root, CONFIG);
  fs.mkdirSync(path.dirname(file), { recursive: true });
  fs.writeFileSync(file, `${JSON.stringify(config, null, 2)}\n`);
}
