// The deployment's configuration for wrangler: wrangler.toml plus what belongs to one account. Invariant:
// wrangler.toml stays as committed; account-specific data is looked up on every run and written to a file
// that git ignores.
import fs from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { root } from '../../shared/wrangler.mjs';

/** Which deployment of the account the commands act on: production, or another one beside it. */
export const deployment = process.env.DEPLOYMENT || 'production';
if (!/^[a-z][a-z0-9-]{0,19}$/.test(deployment) || deployment === 'dev') {
  process.stderr.write(
    'DEPLOYMENT is not a name: set it to 1 to 20 lower-case letters, digits and hyphens, such as staging, or unset it for production.\n',
  );
  process.exit(1);
}
/** Relative to the project, as in the commands. */
export const CONFIG = path.join('.wrangler', deployment, 'wrangler.json');
/** Where the deployment's secrets are stored until they are taken offline. */
export const VARS = `.${deployment}.vars`;
export const varsFile = path.join(root, VARS);
export const VARS_NOTE =
  'Created by npm run deploy. MASTER_KEYS decrypts everything in the vault and cannot be recovered: keep a copy offline, separate from backups.';

/** wrangler.toml, parsed by wrangler's own parser. @returns {any} */
export function readToml(dir = root) {
  const { experimental_readRawConfig: read } = createRequire(path.join(root, 'package.json'))('wrangler');
  return named(read({ config: path.join(dir, 'wrangler.toml') }).rawConfig);
}

/** The same with names of this deployment: nothing of two deployments is shared. @param {any} toml */
function named(toml, suffix = deployment === 'production' ? '' : `-${deployment}`) {
  const { producers, consumers } = toml.queues;
  return {
    ...toml,
    name: toml.name + suffix,
    d1_databases: toml.d1_databases.map((one) => ({ ...one, database_name: one.database_name + suffix })),
    queues: {
      producers: producers.map((one) => ({ ...one, queue: one.queue + suffix })),
      consumers: consumers.map((one) => ({
        ...one,
        queue: one.queue + suffix,
        dead_letter_queue: one.dead_letter_queue + suffix,
      })),
    },
  };
}

/** The resources of the deployment, by their names in wrangler.toml. */
export function partsOf(toml) {
  const consumer = toml.queues.consumers[0];
  return {
    worker: toml.name,
    database: toml.d1_databases[0].database_name,
    queues: [consumer.queue, consumer.dead_letter_queue],
  };
}

/**
 * wrangler.toml with the database and the address of this account; its paths are relative to the output file.
 * @param {any} toml
 * @param {string} databaseId
 * @param {string} publicUrl '' if not known yet
 * @param {string} [commit] what is deployed
 */
export function productionConfig(toml, databaseId, publicUrl, commit = '') {
  const [database, ...others] = toml.d1_databases;
  const from = path.dirname(path.join(root, CONFIG));
  const moved = (to) => path.relative(from, path.join(root, to));
  return {
    ...toml,
    main: moved(toml.main),
    alias: Object.fromEntries(Object.entries(toml.alias).map(([name, to]) => [name, moved(to)])),
    assets: { ...toml.assets, directory: moved(toml.assets.directory) },
    vars: { ...toml.vars, PUBLIC_URL: publicUrl, COMMIT: commit },
    d1_databases: [
      { ...database, database_id: databaseId, migrations_dir: moved(database.migrations_dir) },
      ...others,
    ],
  };
}

/** @param {ReturnType<typeof productionConfig>} config */
export function writeConfig(config) {
  const file = path.join(root, CONFIG);
  fs.mkdirSync(path.dirname(file), { recursive: true });
  fs.writeFileSync(file, `${JSON.stringify(config, null, 2)}\n`);
}
