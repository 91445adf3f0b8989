// Applies the migrations to the database of a local vault. wrangler's own command gives the same result, but
// starts the runtime again for each migration. Invariant: a migration and the record that it was applied are
// one transaction.
import fs from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { knownMigrations } from '../../shared/migrations.mjs';
import { root } from '../../shared/wrangler.mjs';
import { inspectState } from './state-dir.mjs';

const folder = path.join(root, 'migrations');
/** As created by wrangler. */
const NOTES = `CREATE TABLE IF NOT EXISTS "d1_migrations"(
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  name TEXT UNIQUE,
  applied_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP NOT NULL
)`;

/**
 * Applies missing migrations in order. The caller owns the directory (`claimState`).
 * @param {string} dir that of the state
 */
export async function applyMigrations(dir) {
  const { applied } = inspectState(dir);
  const missing = knownMigrations(folder).filter((name) => !applied.has(name));
  if (missing.length === 0) return;
  process.env.WRANGLER_LOG ??= 'error'; // stdout belongs to the script
  const require = createRequire(path.join(root, 'package.json'));
  const { Miniflare, convertV4MiniflareOptions } = require('miniflare');
  const {
    unstable_getMiniflareWorkerOptions: workerOptions,
    unstable_splitSqlQuery: statementsOf,
  } = require('wrangler');
  const { d1Databases } = workerOptions(path.join(root, 'wrangler.toml')).workerOptions;
  const runtime = new Miniflare(
    convertV4MiniflareOptions({
      modules: true,
      script: '',
      resourcePersistencePath: path.join(dir, 'v3'),
      d1Databases,
    }),
  );
  try {
    const db = await runtime.getD1Database('DB');
    await db.prepare(NOTES).run();
    for (const name of missing.sort()) {
      const statements = statementsOf(fs.readFileSync(path.join(folder, name), 'utf8')).map((statement) =>
        db.prepare(statement),
      );
      await db.batch([...statements, db.prepare('INSERT INTO d1_migrations (name) VALUES (?)').bind(name)]);
    }
  } finally {
    await runtime.dispose();
  }
}
