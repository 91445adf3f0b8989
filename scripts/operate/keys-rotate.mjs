// `npm run keys:rotate -- add | rewrap | remove`: a new master key, in three steps; without a step, the
// progress. Invariants: each step can be interrupted at any point and run again; a key is in the operator's
// file before anything is wrapped with it; the old key is removed only once the database shows that nothing
// is wrapped with it.
import path from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as sleep } from 'node:timers/promises';
import { ExpectedError } from '../shared/expected-error.mjs';
import { parseArgs } from '../shared/npm-options.mjs';
import { closedKeys } from './vault/check-keys.mjs';
import {
  formatMasterKeys,
  newMasterKey,
  parseMasterKeys,
  readKeyFile,
  writeKeyFile,
} from './vault/master-keys.mjs';
import { vaultFile } from './vault/state-dir.mjs';
import {
  bootstrapCaller,
  devVarsFile,
  localUrl,
  progress,
  remoteRows,
  run,
  stateDir,
  wrangler,
} from './vault/vault.mjs';

const USAGE = `npm run keys:rotate -- [add | rewrap | remove] [options]

Rotates the master key, in three steps. Without a step, prints where a rotation is and what is next.

  add                puts a new key first in the list
  rewrap             wraps every key under it, by the running service
  remove             takes the old key out of the list

  --remote           rotate the key of the deployment instead of that of npm start
  --keys FILE        the file with MASTER_KEYS; .dev.vars by default, required with --remote
  --url URL          where the service answers; required for rewrap with --remote
  --settle SECONDS   how long a deployment takes to pass on a new list; 60 by default
  --json             print one JSON object
  --help             print this
`;
const COUNT =
  'select master_id as id, count(*) as n from (select master_id from deployment_keys union all select master_id from org_keys) group by master_id order by master_id';
const WRAPS =
  'select id as owner, master_id, key_sealed from deployment_keys union all select org_id, master_id, key_sealed from org_keys';

async function main() {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      remote: { type: 'boolean', default: false },
      keys: { type: 'string' },
      url: { type: 'string' },
      settle: { type: 'string', default: '60' },
      json: { type: 'boolean', default: false },
    },
  });
  const step = { add, rewrap, remove, status }[positionals[0] ?? 'status'];
  const settle = Number(values.settle);
  if (!step || positionals.length > 1 || !(settle >= 0)) throw new ExpectedError(USAGE.trimEnd());
  if (values.remote && !values.keys)
    throw new ExpectedError(
      "--keys is missing: name the file that stores the deployment's MASTER_KEYS; if it does not exist yet, it is created from the variable MASTER_KEYS",
    );
  if (values.remote && step === rewrap && !values.url)
    throw new ExpectedError('--url is missing: pass the address of the deployment');
  const file = values.keys ? path.resolve(process.env.INIT_CWD ?? '', values.keys) : devVarsFile;
  if (!values.keys && process.env.MASTER_KEYS !== undefined)
    throw new ExpectedError(
      'MASTER_KEYS is set in the shell and overrides .dev.vars: unset it, or name the file that it comes from with --keys',
    );
  const inFile = readKeyFile(file);
  if (!inFile && !values.keys && !vaultFile(stateDir()))
    throw new ExpectedError(
      'There is no vault and no .dev.vars yet, so there is nothing to rotate: npm start creates the first master key',
    );
  const kept = inFile ?? { keys: parseMasterKeys(process.env.MASTER_KEYS ?? ''), retired: [] };
  if (!kept.keys)
    throw new ExpectedError(
      `${values.keys ? 'The file of --keys' : '.dev.vars'} contains no valid MASTER_KEYS: add the current list as MASTER_KEYS=id:base64,…`,
    );
  const task = {
    ...values,
    url: values.url ?? localUrl(),
    settle,
    file,
    keys: kept.keys,
    retired: kept.retired,
  };
  const result = await step(task);
  process.stdout.write(
    values.json
      ? `${JSON.stringify({ step: positionals[0] ?? 'status', ...result })}\n`
      : `${result.message}\n`,
  );
}

/**
 * @typedef {{ remote: boolean, url: string, settle: number, file: string, json: boolean, keys:
 *   import('./vault/master-keys.mjs').MasterKey[], retired: import('./vault/master-keys.mjs').MasterKey[] }}
 *   Task
 */

/**
 * How many keys are wrapped with each master key, according to the database.
 * @param {Task} task
 * @returns {Promise<Map<string, number>>}
 */
const counts = async (task) => new Map((await rows(task, COUNT)).map(({ id, n }) => [String(id), Number(n)]));

/**
 * What a query on the database gives.
 * @param {Task} task
 * @param {string} sql
 * @returns {Promise<any[]>}
 */
async function rows({ remote }, sql) {
  if (remote) return remoteRows(sql);
  const database = vaultFile(stateDir());
  // A vault that is not here may well need the keys that this one does not.
  if (!database)
    throw new ExpectedError(
      `There is no vault in ${stateDir()}: set STATE_DIR to the value used by npm start; nothing was changed`,
    );
  const db = new DatabaseSync(database, { readOnly: true, timeout: 5_000 });
  try {
    return db.prepare(sql).all();
  } finally {
    db.close();
  }
}

/** The wrapped keys of the database. @param {Task} task */
const wrapsOf = async (task) => ({ wraps: await rows(task, WRAPS), orgs: [] });

const total = (/** @type {Map<string, number>} */ under) =>
  [...under.values()].reduce((sum, n) => sum + n, 0);
const others = (/** @type {Map<string, number>} */ under, /** @type {string} */ id) =>
  total(under) - (under.get(id) ?? 0);
const ids = (/** @type {{ id: string }[]} */ keys) => keys.map(({ id }) => id);
const keysAre = (/** @type {number} */ n) => (n === 1 ? '1 key is' : `${n} keys are`);

/**
 * What to do about keys wrapped with a master key that is not in the list; undefined if there is none.
 * @param {Task} task
 * @param {Map<string, number>} under
 */
function absentKeys({ keys, retired }, under) {
  const absent = [...under.keys()].filter((id) => !keys.some((key) => key.id === id));
  if (absent.length === 0) return undefined;
  const count = absent.reduce((sum, id) => sum + (under.get(id) ?? 0), 0);
  const where = retired.some(({ id }) => absent.includes(id))
    ? 'it is in RETIRED_MASTER_KEYS'
    : 'from your copy of the file';
  return `MASTER_KEYS lacks ${absent.join(', ')}, which wraps ${count === 1 ? '1 key' : `${count} keys`} of this vault: add it after the current one (${where}); without it they can be neither read nor re-wrapped`;
}

/** The command for a step. @param {Task} task @param {string} step */
const command = ({ remote }, step) =>
  `npm run keys:rotate -- ${step}${remote ? ' with the same options' : ''}`;
const nothingToDo = (/** @type {Task} */ task) =>
  `There is nothing left to do. To begin a rotation: ${command(task, 'add')}`;

/**
 * Sets the deployment's list, which reaches every isolate within seconds.
 * @param {Task} task
 * @param {Task['keys']} keys
 */
async function putKeys(task, keys) {
  await wrangler(['secret', 'put', 'MASTER_KEYS'], formatMasterKeys(keys));
  const bar = progress('waiting until every isolate has it');
  for (let waited = 0; waited < task.settle; waited++) {
    bar.at(waited, task.settle);
    await sleep(1000);
  }
  bar.at(task.settle, task.settle);
  bar.end();
}

/** @param {Task} task */
async function add(task) {
  const under = await counts(task);
  let { keys } = task;
  const [first] = keys;
  const absent = absentKeys(task, under);
  if (absent) throw new ExpectedError(`${absent}; nothing was changed`);
  const added = keys.length > 1 && !under.get(first.id);
  if (!added && others(under, first.id))
    throw new ExpectedError(
      `A rotation is in progress: ${others(under, first.id)} of ${total(under)} keys are not under ${first.id} yet; run ${command(task, 'rewrap')}, or restore the master key that wraps them`,
    );
  if (!added) {
    keys = [newMasterKey([...keys, ...task.retired]), ...keys];
    writeKeyFile(task.file, keys, task.retired);
  }
  if (task.remote) {
    // First after the others: until every isolate can decrypt with it, none may wrap with it.
    await putKeys(task, [...keys.slice(1), ...keys.slice(0, 1)]);
    await putKeys(task, keys);
  }
  const then = task.remote ? '' : 'Restart the service. ';
  return {
    added: keys[0].id,
    master_keys: ids(keys),
    message: `The new master key ${keys[0].id} ${added ? 'was already added and is' : 'is'} first in ${task.file}. Keep a copy of that file offline now. ${then}Next: ${command(task, 'rewrap')}`,
  };
}

/** @param {Task} task */
async function rewrap(task) {
  const call = bootstrapCaller(task.url);
  const [{ id }] = task.keys;
  const bar = progress('re-wrapping');
  let calls = 0;
  try {
    for (let pass = 0; ; pass++) {
      /** @type {string | null} */
      let cursor = null;
      let at = { done: 0, total: 0 };
      do {
        const { status, json } = await call(
          'POST',
          '/deployment/keys/rewrap',
          cursor === null ? {} : { cursor },
        );
        if (status !== 200)
          throw new ExpectedError(
            `The service refused the request (${status} ${json?.error?.code ?? ''}): ${json?.error?.message ?? ''}`,
          );
        calls++;
        at = json;
        bar.at(at.done, at.total);
        cursor = json.next;
        // The isolate that responds may still have the previous list, with another current key: the database
        // shows it.
        if (calls === 1 && at.total && !(await counts(task)).get(id))
          throw new ExpectedError(
            `The service does not have ${id} as its first master key yet: ${task.remote ? `run ${command(task, 'add')}` : 'restart it'}, then run ${command(task, 'rewrap')}`,
          );
      } while (cursor !== null);
      const left = others(await counts(task), id);
      if (at.done === at.total && left === 0)
        return {
          done: at.done,
          total: at.total,
          calls,
          message: `All keys (${at.total}) are under ${id}. ${task.keys.length > 1 ? `Next: ${command(task, 'remove')}` : nothingToDo(task)}`,
        };
      if (pass >= 20)
        throw new ExpectedError(
          `${keysAre(left)} still under another master key: isolates with the previous list create organisations; run ${command(task, 'rewrap')} again in a minute`,
        );
    }
  } finally {
    bar.end();
  }
}

/** @param {Task} task */
async function remove(task) {
  const [first, ...old] = task.keys;
  const under = await counts(task);
  const left = others(under, first.id);
  const absent = absentKeys(task, under);
  if (absent) throw new ExpectedError(`${absent}; nothing was removed`);
  if (left)
    throw new ExpectedError(
      `${keysAre(left)} still under another master key than ${first.id}: run ${command(task, 'rewrap')}, then remove again; nothing was removed`,
    );
  if (old.length === 0)
    return {
      removed: [],
      master_keys: [first.id],
      message: `Only ${first.id} is in use. ${nothingToDo(task)}`,
    };
  // The service may have wrapped them under another key with this id.
  const [closed] = await closedKeys(await wrapsOf(task), [first], task.file);
  if (closed) throw new ExpectedError(`${closed}; nothing was removed`);
  if (task.remote) {
    await putKeys(task, [first]);
    // An isolate with the old list may have created an organisation in the meantime.
    const late = others(await counts(task), first.id);
    if (late) {
      await putKeys(task, task.keys);
      throw new ExpectedError(
        `${late === 1 ? '1 key was' : `${late} keys were`} wrapped with an old master key in the meantime, so the old master keys were restored; run ${command(task, 'rewrap')}, then remove again`,
      );
    }
  }
  writeKeyFile(task.file, [first], [...task.retired, ...old]);
  return {
    removed: ids(old),
    master_keys: [first.id],
    message: `Removed from MASTER_KEYS: ${ids(old).join(', ')}.${task.remote ? '' : ' Restart the service.'} Backups made before need them: they stay in ${task.file} as RETIRED_MASTER_KEYS, which no service reads. Delete that line once you keep no such backup.`,
  };
}

/** @param {Task} task */
async function status(task) {
  const under = await counts(task);
  const [first, ...old] = task.keys;
  const left = others(under, first.id);
  const [closed] = await closedKeys(await wrapsOf(task), task.keys, task.file);
  const problem = absentKeys(task, under) ?? closed;
  if (problem) process.exitCode = 1;
  const next = problem
    ? null
    : left
      ? 'rewrap'
      : old.length
        ? under.get(first.id)
          ? 'remove'
          : 'rewrap'
        : 'add';
  return {
    master_keys: ids(task.keys),
    wrapped: Object.fromEntries(under),
    next,
    message: `MASTER_KEYS holds ${ids(task.keys).join(', ')}; ${total(under) === 0 ? 'the vault is empty and has no keys yet' : `${total(under) - left} of ${total(under)} keys are under ${first.id}`}. ${problem ? `${problem}.` : next === 'add' ? nothingToDo(task) : `Next: ${command(task, String(next))}`}`,
  };
}

await run(main, USAGE);
