// Which files of Durable Objects of a local vault are damaged, and what to do about each. Invariant: it
// changes nothing.
import path from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { damagedObjects, gateFile, vaultFile } from '../vault/state-dir.mjs';

/**
 * What is damaged, each with the next step.
 * @param {string} dir that of the state
 * @returns {string[]}
 */
export function damageIn(dir) {
  const damaged = damagedObjects(dir);
  if (damaged.length === 0) return [];
  const gates = new Map(
    ['health', 'deployment', ...orgsIn(dir)].map((name) => [path.relative(dir, gateFile(dir, name)), name]),
  );
  return damaged.map((name) => `${name} in STATE_DIR is damaged: ${remedy(name, gates.get(name))}`);
}

/** @param {string} name of the file @param {string | undefined} gate whose it is */
function remedy(name, gate) {
  if (gate === 'health' || gate === 'deployment')
    return `stop the service, and run npm run gate -- reset ${gate}.`;
  if (gate)
    return `it is the gate of ${gate}. Stop the service, and run npm run gate -- reset ${gate} --reason TEXT: see docs/operations/gates.md.`;
  if (path.basename(name) === 'metadata.sqlite') return 'restart the service, which sets it aside.';
  // Where the database is lost, nothing names its organisations.
  if (name.includes('-Gate'))
    return 'it is a gate of no organisation that the database has. Leave it there, put the database right first, then run this again.';
  if (name.includes('-Replica'))
    return 'it is a replica. See "A broken replica" in docs/operations/gates.md.';
  return 'see "Objects of no organisation" in docs/operations/gates.md.';
}

/** The organisations of a database; none if it cannot be read. @param {string} dir @returns {string[]} */
function orgsIn(dir) {
  try {
    const file = vaultFile(dir);
    if (!file) return [];
    const db = new DatabaseSync(file, { readOnly: true, timeout: 2_000 });
    try {
      return db
        .prepare('SELECT id FROM orgs')
        .all()
        .map(({ id }) => String(id));
    } finally {
      db.close();
    }
  } catch {
    return [];
  }
}
