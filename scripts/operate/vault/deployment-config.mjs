// The deployment's configuration for wrangler: wrangler.toml plus what belongs to one account. Invariant:
// wrangler.toml stays as committed; account-specific data is looked up on every run and written to a file
// that git ignores.
import fs from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { FOR_DEPLOYMENT, root } from '../../shared/wrangler.mjs';

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
/** The same for the SAML Worker. */
export const SAML_CONFIG = path.join('.wrangler', deployment, 'saml.json');
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

/** What the names of this deployment end with: nothing of two deployments is shared. */
const suffix = deployment === 'production' ? '' : `-${deployment}`;

/** The same with names of this deployment. @param {any} toml */
function named(toml) {
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
    stored: storedIn(toml),
  };
}

/**
 * The names of secrets that are bindings to Cloudflare's Secrets Store.
 * @param {any} toml
 * @returns {string[]}
 */
const storedIn = (toml) => (toml.secrets_store_secrets ?? []).map(({ binding }) => binding);

/**
 * wrangler.toml with the database and the address of this account; its paths are relative to the output file.
 * @param {any} toml
 * @param {string} databaseId
 * @param {string} publicUrl '' if not known yet
 * @param {string} [commit] what is deployed
 * @param {boolean} [withSaml] whether it calls the SAML Worker
 */
export function productionConfig(toml, databaseId, publicUrl, commit = '', withSaml = false) {
  const [database, ...others] = toml.d1_databases;
  return {
    ...toml,
    ...(withSaml && { services: [{ binding: 'SAML', service: samlConfig().name }] }),
    main: moved(toml.main),
    build: { ...toml.build, command: `${toml.build.command} ${FOR_DEPLOYMENT}` },
    alias: Object.fromEntries(Object.entries(toml.alias).map(([name, to]) => [name, moved(to)])),
    assets: { ...toml.assets, directory: moved(toml.assets.directory) },
    vars: { ...toml.vars, PUBLIC_URL: publicUrl, COMMIT: commit, WORKER_NAME: toml.name },
    d1_databases: [
      { ...database, database_id: databaseId, migrations_dir: moved(database.migrations_dir) },
      ...others,
    ],
  };
}

/** The configuration of the SAML Worker of this deployment. */
export function samlConfig() {
  const dir = 'packages/saml';
  const { experimental_readRawConfig: read } = createRequire(path.join(root, 'package.json'))('wrangler');
  const { rawConfig: toml } = read({ config: path.join(root, dir, 'wrangler.toml') });
  return {
    ...toml,
    name: toml.name + suffix,
    main: moved(path.join(dir, toml.main)),
    alias: Object.fromEntries(
      Object.entries(toml.alias).map(([name, to]) => [name, moved(path.join(dir, to))]),
    ),
  };
}

/** A path of the project, from where configurations are written. @param {string} to */
const moved = (to) => path.relative(path.dirname(path.join(root, CONFIG)), path.join(root, to));

/** @param {{ name: string }} config @param {string} to */
export function writeConfig(config, to = CONFIG) {
  const file = path.join(root, to);
  fs.mkdirSync(path.dirname(file), { recursive: true });
  fs.writeFileSync(file, `${JSON.stringify(config, null, 2)}\n`);
}
