// `npm run backup`: the whole database of a vault in one SQL file, encrypted as stored. First, the gates of a running service move their
// newest audit entries to the database. Invariants: the backup shows the vault at one point in time, while the service continues; it is
// created completely or not at all; its last line is a SHA-256 of everything before it, so a truncated backup is recognised.
import { createHash } from 'node:crypto';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { parseArgs } from 'node:util';
import { countsOf, dump, migrationsOf, statementsOf } from './dump.mjs';
import { Fault } from './fault.mjs';
import { deployedBindings, reachDatabase } from './remote.mjs';
import { isInUse, vaultFile } from './state.mjs';
import { bootstrapCaller, localUrl, orgsOf, progress, run, stateDir, variable, wrangler } from './vault.mjs';
import { requireOpenKeys } from './vault-keys.mjs';

const WRAPS = 'SELECT master_id FROM deployment_keys UNION SELECT master_id FROM org_keys ORDER BY 1';

const USAGE = `npm run backup -- [options]

Writes the whole database of a vault to one SQL file, encrypted as stored.

  --output FILE   the file to create; vault-TIME.sql by default
  --remote        back up the deployment instead of the vault of npm start
  --url URL       where the service answers, to include the newest audit entries
  --json          print one JSON object
  --help          print this
`;

await run(async () => {
  const { values } = parseArgs({
    options: {
      remote: { type: 'boolean', default: false },
      url: { type: 'string' },
      output: { type: 'string' },
      json: { type: 'boolean', default: false },
    },
  });
  const time = new Date();
  const name = values.output ?? `vault-${time.toISOString().replace(/\.\d+/, '').replaceAll(':', '')}.sql`;
  const file = path.resolve(process.env.INIT_CWD ?? '', name);
  const scratch = fs.mkdtempSync(path.join(os.tmpdir(), 'vault-backup-'));
  try {
    const { done, why, remedy } = await archive(values.remote ? await remoteService(values.url) : localService(values.url));
    const db = values.remote ? await exported(scratch) : snapshot();
    if (!(await requireOpenKeys(db, values.remote)))
      process.stderr.write('Not checked: MASTER_KEYS is not on this machine, so it is not known whether it decrypts this backup.\n');
    const made = write(db, file, time);
    const orgs = db.prepare('SELECT id FROM orgs').all();
    db.close();
    const missing = orgs.filter(({ id }) => !done.has(String(id))).length;
    const result = { file, ...made, archived: orgs.length - missing, not_archived: missing };
    if (missing)
      process.stderr.write(
        `The newest audit entries of ${missing} of ${orgs.length} organisations are only in their gates and not in this backup: ${why}. To include them, ${remedy} and create the backup again.\n`,
      );
    process.stdout.write(
      values.json
        ? `${JSON.stringify(result)}\n`
        : `${file}: ${made.rows} ${made.rows === 1 ? 'row' : 'rows'}, SHA-256 ${made.sha256}, under the master keys ${made.master_keys.join(', ') || 'none'}. Keep it apart from MASTER_KEYS.\n`,
    );
  } finally {
    fs.rmSync(scratch, { recursive: true, force: true });
  }
}, USAGE);

/** @typedef {{ url: string, token: string | undefined } | { why: string, remedy: string }} Service */

/** The service that runs on the local vault. @param {string | undefined} url @returns {Service} */
function localService(url) {
  const remedy = 'start the service';
  if (!url && !isInUse(stateDir())) return { why: 'no service runs on this vault', remedy };
  return { url: url ?? localUrl(), token: variable('BOOTSTRAP_TOKEN') };
}

/** The service of the deployment. The local vault's token is not sent to it. @param {string | undefined} url @returns {Promise<Service>} */
async function remoteService(url) {
  const token = process.env.BOOTSTRAP_TOKEN;
  if (!token) return { why: 'BOOTSTRAP_TOKEN is not set', remedy: "set it to the deployment's in the environment" };
  if (url) return { url, token };
  try {
    await reachDatabase();
    const deployed = (await deployedBindings()).find(({ name }) => name === 'PUBLIC_URL')?.text;
    if (deployed) return { url: deployed, token };
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
  }
  return { why: 'the address of the deployment is not known', remedy: 'give it with --url' };
}

/**
 * Has the gate of each organisation move its audit entries to the database.
 * @param {Service} service
 * @returns {Promise<{ done: Set<string>, why: string, remedy: string }>} which did, and why others are missing
 */
async function archive(service) {
  const done = new Set();
  if ('why' in service) return { done, ...service };
  const remedy = 'start the service, or give its address with --url,';
  if (!(await answers(service.url))) return { done, why: `no vault answers at ${service.url}`, remedy };
  const call = bootstrapCaller(service.url, service.token);
  const orgs = await orgsOf(call);
  const bar = progress('archiving audit entries');
  try {
    for (const [at, id] of orgs.entries()) {
      bar.at(at, orgs.length);
      const { status, json } = await call('POST', `/orgs/${id}/audit-log/archive`);
      if (status === 200) done.add(id);
      else if (status !== 404 || (await orgsOf(call)).includes(id))
        throw new Fault(
          `The audit entries of ${id} were not archived, and no backup was made (${status} ${json?.error?.code ?? ''}): ${json?.error?.message ?? ''}`,
        );
    }
    bar.at(orgs.length, orgs.length);
  } finally {
    bar.end();
  }
  return {
    done,
    why: `the service at ${service.url} does not have them, or did not when it was asked`,
    remedy: 'check that it is the right service',
  };
}

/** Whether a vault responds there: the token is not sent anywhere else. @param {string} url */
async function answers(url) {
  try {
    const answer = await fetch(new URL('/healthz', url), { redirect: 'error', signal: AbortSignal.timeout(10_000) });
    return (await answer.text()) !== '' && answer.headers.has('request-id');
  } catch {
    return false;
  }
}

/** A snapshot of the local database, without later writes. */
function snapshot() {
  const vault = vaultFile(stateDir());
  if (!vault)
    throw new Fault(
      `There is no vault in ${stateDir()}: start the service once, set STATE_DIR to the value used by npm start, or pass --remote`,
    );
  const db = new DatabaseSync(vault, { readOnly: true, timeout: 10_000 });
  db.exec('BEGIN');
  db.prepare('SELECT count(*) FROM d1_migrations').get(); // the first read takes the snapshot
  return db;
}

/**
 * The deployment's database, as exported by D1: it serves no queries during the export, so this is a snapshot too. @param {string} scratch
 */
async function exported(scratch) {
  const sql = path.join(scratch, 'export.sql');
  await wrangler(['d1', 'export', 'DB', '--remote', '--skip-confirmation', '--output', sql]);
  const db = new DatabaseSync(path.join(scratch, 'export.sqlite'));
  db.exec('PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; BEGIN');
  for await (const statement of statementsOf(sql)) db.exec(statement);
  return db;
}

/** @param {DatabaseSync} db @param {string} file @param {Date} time */
function write(db, file, time) {
  const rows = countsOf(db);
  const total = Object.values(rows).reduce((sum, n) => sum + n, 0);
  const master_keys = db
    .prepare(WRAPS)
    .all()
    .map((row) => String(row.master_id));
  const header = { format: 1, made_at: time.toISOString(), migrations: migrationsOf(db), rows, master_keys };
  let fd;
  try {
    fd = fs.openSync(file, 'wx', 0o600);
  } catch (error) {
    throw new Fault(
      error.code === 'EEXIST' ? `${file} already exists: name another file with --output` : `${file} cannot be created: ${error.message}`,
    );
  }
  const hash = createHash('sha256');
  const put = (/** @type {string} */ text) => {
    hash.update(text);
    fs.writeSync(fd, text);
  };
  const bar = progress('backing up, bytes:');
  try {
    put(`-- Secrets Vault Service: a backup. Restore it with npm run restore.\n-- ${JSON.stringify(header)}\n`);
    let bytes = 0;
    for (const statement of dump(db)) {
      put(`${statement}\n`);
      bytes += statement.length;
      bar.at(bytes);
    }
    const sha256 = hash.digest('hex');
    fs.writeSync(fd, `-- sha256 ${sha256}\n`);
    fs.fsyncSync(fd);
    fs.closeSync(fd);
    return { rows: total, sha256, master_keys };
  } catch (error) {
    fs.rmSync(file, { force: true });
    throw error;
  } finally {
    bar.end();
  }
}
