// The health check: can callers be served? `down` (503) if none can, `degraded` (200) if some cannot, or work
// behind the requests stands still. The database, the deployment key, a sample of organisations' keys and a
// gate are tried directly; all organisations are seen slowly by the scheduled run (`survey.ts`).
// Invariants: a caller causes at most one D1 batch and one call to the gate of the health check in ten
// seconds per isolate, and a second query if that batch fails; a response has counts, never the id of an
// organisation.

import { getTableName, is } from 'drizzle-orm';
import { SQLiteTable } from 'drizzle-orm/sqlite-core';
import * as schema from '../db/schema';
import { type Env, type MasterKey, type Settings, settingsOf } from '../env';
import type { Pulse } from '../gate/request/call';
import {
  ANOTHER_DEPLOYMENT_KEY,
  DATABASE_LOST,
  DEPLOYMENT_KEY_MISSING,
  markOf,
  opens,
  type WrappedKey,
  whyClosed,
} from '../keys/keyring';
import { unequal } from './row-walk';
import {
  firstPosition,
  isRestored,
  type Keyed,
  keyedAfter,
  type OrgPosition,
  opensOrg,
  readSurvey,
  type Survey,
  sinceMended,
  survey,
} from './survey';

/** How long a result is reused, and how long one that is not `ok`. */
const REUSED_FOR = 10_000;
const FAILURE_REUSED_FOR = 2000;
/** How long a part may take before it counts as failing. */
const ANSWERS_WITHIN = 5000;
/** From when on the database counts as slow. */
const SLOW = 2000;
/** How long a probe may be in transit, and how long after the one before it the last probe is sent. */
const ON_ITS_WAY = 50_000;
const BETWEEN_PROBES = 90_000;
/** How old the last scheduled run may be. */
const RUNS_WITHIN = 5 * 60_000;
/** How many organisations' keys each check opens. */
const SAMPLE = 10;

export interface Check {
  name:
    | 'database'
    | 'tables'
    | 'keys'
    | 'organisations'
    | 'gate'
    | 'organisation_rows'
    | 'gates'
    | 'gate_storage'
    | 'adoption'
    | 'changes'
    | 'rows'
    | 'clock'
    | 'saml'
    | 'schedule'
    | 'queue';
  ok: boolean;
  message?: string;
}

export interface Health {
  status: 'ok' | 'degraded' | 'down';
  version: string;
  checks: Check[];
}

/** A check, and whether nobody can be served without it. */
interface Judged extends Check {
  stops: boolean;
}

const gateOf = (env: Env) => env.GATE.getByName('health');

let last: { env: Env; at: number; found: Promise<Health> } | null = null;
let latest: Health | null = null;
/** Where the sample of this isolate goes on. */
let sampled = '';

/**
 * The health of this deployment. A recent result is reused. `defer` keeps a check going whose caller has
 * gone: others wait for it too.
 */
export async function health(
  env: Env,
  settings: Settings,
  version: string,
  defer: (work: Promise<unknown>) => void,
): Promise<Health> {
  const now = Date.now();
  const isFresh =
    last?.env === env && now - last.at < (latest?.status === 'ok' ? REUSED_FOR : FAILURE_REUSED_FOR);
  // safety: health-not-amplified
  if (last && isFresh) return last.found;
  latest = null;
  const found = tryAll(env, settings, version, now).then((result) => {
    latest = result;
    return result;
  });
  last = { env, at: now, found };
  defer(found);
  return found;
}

async function tryAll(env: Env, { masterKeys }: Settings, version: string, now: number): Promise<Health> {
  const began = Date.now();
  let took = 0;
  const timed = storedIn(env).finally(() => {
    took = Date.now() - began;
  });
  const [stored, pulse] = await Promise.all([
    answered(timed),
    answered(Promise.resolve(gateOf(env).pulse())),
  ]);
  const seen = sinceMended(readSurvey(pulse, now), pulse?.mended, now);
  const judged: Judged[] = [
    databaseCheck(stored !== null, took),
    ...(stored
      ? [tablesCheck(stored), ...(stored.keys ? keyChecks(masterKeys, stored.keys, seen) : [])]
      : []),
    judge(
      'gate',
      pulse !== null,
      'The gate of the health check does not answer. If requests are answered, only this gate is broken: see "The gates of the service itself" in docs/operations/gates.md.',
      true,
    ),
    ...(pulse
      ? [
          ...surveyed(seen, isRestored(seen, stored?.keys?.position ?? null)),
          judge('saml', !seen.lacksSaml || env.SAML !== undefined, SAML_LACKING, false),
          ...(await background(env, pulse, seen, now)),
        ]
      : []),
  ];
  const status = judged.some(({ ok, stops }) => !ok && stops)
    ? 'down'
    : judged.some(({ ok }) => !ok)
      ? 'degraded'
      : 'ok';
  return { status, version, checks: judged.map(({ stops: _, ...check }) => check) };
}

const judge = (name: Check['name'], ok: boolean, message: string, stops: boolean): Judged =>
  ok ? { name, ok, stops } : { name, ok, message, stops };

/** Callers wait for a slow database, and are served. */
const databaseCheck = (hasAnswered: boolean, took: number): Judged =>
  hasAnswered
    ? judge(
        'database',
        took < SLOW,
        `The database answers slowly: it took ${Math.round(took / 1000)} seconds. Changes take as long.`,
        false,
      )
    : judge('database', false, 'The database does not answer within 5 seconds.', true);

/** What a part answers; null if it fails or takes too long. */
async function answered<T>(part: Promise<T>): Promise<T | null> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<null>((done) => {
    timer = setTimeout(() => done(null), ANSWERS_WITHIN);
  });
  return Promise.race([part.catch(() => null), late]).finally(() => clearTimeout(timer));
}

interface StoredKeys {
  deployment: WrappedKey | null;
  sample: Keyed[];
  /** Whether the database has an organisation or the key of one. */
  hasOrgs: boolean;
  position: OrgPosition | null;
}

/** The tables that this release uses. */
const TABLES = Object.values(schema).flatMap((table) =>
  is(table, SQLiteTable) ? [getTableName(table)] : [],
);
const lackingIn = (DB: D1Database) =>
  DB.prepare(
    "select value as name from json_each(?) where value not in (select name from sqlite_master where type = 'table') order by name",
  ).bind(JSON.stringify(TABLES));

interface Stored {
  /** Tables that are missing. */
  lacking: string[];
  /** Null if a table of keys is missing. */
  keys: StoredKeys | null;
}

async function storedIn(env: Env): Promise<Stored> {
  try {
    return await keysIn(env);
  } catch (error) {
    // A batch on a table that is missing fails as a whole.
    const lacking = (await lackingIn(env.DB).all<{ name: string }>()).results.map(({ name }) => name);
    if (lacking.length === 0) throw error;
    return { lacking, keys: null };
  }
}

async function keysIn({ DB }: Env): Promise<Stored> {
  const [own, page, any, lacking, positions] = await DB.batch<Record<string, unknown>>([
    DB.prepare("select master_id, key_sealed from deployment_keys where id = 'deployment'"),
    keyedAfter(DB, sampled, SAMPLE),
    DB.prepare('select exists (select 1 from orgs) or exists (select 1 from org_keys) as n'),
    lackingIn(DB),
    firstPosition(DB),
  ]);
  const sample = (page?.results ?? []) as unknown as Keyed[];
  sampled = sample.length < SAMPLE ? '' : (sample.at(-1)?.id ?? '');
  return {
    lacking: (lacking?.results ?? []).map(({ name }) => String(name)),
    keys: {
      deployment: (own?.results[0] as unknown as WrappedKey) ?? null,
      sample,
      hasOrgs: any?.results[0]?.n === 1,
      position: (positions?.results[0] as unknown as OrgPosition) ?? null,
    },
  };
}

/** How many missing tables a message names. */
const NAMED = 5;

const tablesCheck = ({ lacking, keys }: Stored): Judged =>
  judge(
    'tables',
    lacking.length === 0,
    `The database lacks ${lacking.length === 1 ? 'the table' : 'the tables'} ${lacking.slice(0, NAMED).join(', ')}${lacking.length > NAMED ? ` and ${lacking.length - NAMED} more` : ''}: rows are lost, or migrations were not applied. Run npm run doctor, which says which, and what to do.`,
    keys === null,
  );

/** Whether the deployment key and the organisations' keys open. */
function keyChecks(
  masters: MasterKey[],
  { deployment, sample, hasOrgs }: StoredKeys,
  { found, all, hadOrgs, mark }: Survey,
): Judged[] {
  // A new vault gets its key with the first request.
  const isOpen = deployment
    ? opens(masters, 'deployment key', 'deployment', deployment)
    : !hasOrgs && !hadOrgs;
  const missing = hasOrgs ? DEPLOYMENT_KEY_MISSING : DATABASE_LOST;
  // safety: other-deployment-key-told
  const isOther = deployment !== null && isOpen && mark !== null && markOf(masters, deployment) !== mark;
  const closed = sample.filter((org) => !opensOrg(masters, org));
  const known = new Set([...found.key, ...closed.map(({ id }) => id)]);
  // Where the survey knows of some, it knows better than a sample whether it is all.
  const isAll = closed.length > 0 && closed.length === sample.length && (all.key || found.key.length === 0);
  return [
    judge('keys', isOpen, deployment ? whyClosed(masters, deployment) : missing, true),
    judge(
      'organisations',
      known.size === 0 && !isOther,
      isOther
        ? ANOTHER_DEPLOYMENT_KEY
        : `${isAll ? 'No key of an organisation opens' : `The keys of ${many(known.size)} do not open`}: requests of ${isAll ? 'every organisation' : 'these'} are refused. The log names them (org_key_does_not_open). Restore org_keys, or the original MASTER_KEYS.`,
      isAll || isOther,
    ),
  ];
}

const SAML_LACKING =
  'There are connections by SAML, and this deployment has no SAML Worker: their members cannot sign in. Run npm run deploy -- --saml, or locally npm start -- --saml. If nobody needs them, delete the connections.';

/** How far a clock is ahead of another one, in words. */
const lasting = (ms: number) =>
  `${Math.round(Math.abs(ms) / 60_000).toLocaleString('en')} minutes ${ms > 0 ? 'ahead of' : 'behind'}`;

const many = (count: number) => (count === 1 ? '1 organisation' : `${count} organisations`);

/** The organisations whose gates refuse requests because of their storage. */
const refusing = ({ behind, another }: Survey['found']): string[] => [...behind, ...another];

/** What the last survey knows of gates. `isOther`: the database was restored since. */
const surveyed = ({ found, all, rows, apart }: Survey, isOther: boolean): Judged[] => [
  rowsOfOrgs(found, all.lost),
  judge(
    'gates',
    found.gate.length === 0,
    `${all.gate ? 'No gate of an organisation that was asked answers' : `The gates of ${many(found.gate.length)} do not answer`}, or a newer release has upgraded them. The log names them (gate_unreachable).`,
    all.gate,
  ),
  judge(
    'gate_storage',
    refusing(found).length === 0,
    `The gates of ${many(refusing(found).length)} are older than the database or have the storage of another organisation, and refuse requests: storage was put back from a copy, or files of gates were exchanged. The log names them (gate_behind, gate_of_another). Put exchanged files back under their names, since a new gate lacks changes that the database lacks. For gates that are older, run npm run gate -- reset ORG. See docs/operations/gates.md.`,
    false,
  ),
  judge(
    'adoption',
    found.adoption.length === 0 && !isOther,
    isOther
      ? 'The database was restored since the organisations were last looked at, which happens each minute. Until they have adopted it, changes can be refused, and values missing. If you restored it, run npm run restore -- --adopt --reason TEXT. If nobody restored it, do not adopt it yet: see "A database that went back" in docs/operations/backup-and-restore.md.'
      : `The database does not hold the last changes of ${many(found.adoption.length)}, as after a restore: changes can be refused, and values missing. The log names them (adoption_awaited). If the database was restored, run npm run restore -- --adopt --reason TEXT. If nobody restored it, do not adopt it yet: see "A database that went back" in docs/operations/backup-and-restore.md.`,
    false,
  ),
  judge(
    'changes',
    found.ahead.length === 0,
    `The database has lacked changes of ${many(found.ahead.length)} for five minutes and more: their gates cannot write it. Nothing is lost while the gates keep their storage, and only what ends access can be changed once 20,000 changes wait. The log names them (database_late). See "Changes that the database lacks" in docs/operations/gates.md.`,
    false,
  ),
  rowsCheck(
    rows
      ? unequal(rows).filter((org) => !found.adoption.includes(org) && !refusing(found).includes(org))
      : [],
  ),
  judge(
    'clock',
    found.clock.length === 0 && apart === 0,
    apart === 0
      ? `The clock is behind the audit log of ${many(found.clock.length)}: it was set back, and expired credentials can work again, or it was ahead before. Set it right, then run npm run gate -- accept-clock --reason TEXT. The log names them (clock_behind).`
      : `The clock is ${lasting(apart)} the clock of the schedule: it was moved while the service ran. Set it right. If it is right, restart the service.`,
    false,
  ),
];

/** Whether D1 has the organisations themselves. */
const rowsOfOrgs = ({ row, lost }: Survey['found'], isAll: boolean): Judged =>
  judge(
    'organisation_rows',
    row.length + lost.length === 0,
    lost.length
      ? `The database lacks ${many(lost.length)} that it had, and whose gates are there: it is that of another vault, or has lost them. If it is that of another vault, put the right one back. Otherwise see "Organisations that the database lost" in docs/operations/backup-and-restore.md. The log names them (org_row_missing).`
      : `The database has lost the row of ${many(row.length)}: a lost gate of theirs cannot begin again. Run npm run restore -- --adopt --only ORG --reason TEXT for each: its gate writes the row back. The log names them (org_row_missing).`,
    isAll,
  );

/** Where a database that awaits adoption is the reason, that is told instead. */
const rowsCheck = (orgs: string[]): Judged =>
  judge(
    'rows',
    orgs.length === 0,
    `Rows of ${many(orgs.length)} differ between the database and the gates: they were lost, altered or put back in the database. The log names them (rows_differ). Run npm run restore -- FILE --rows with a backup that holds them, which brings secrets and audit entries back, then npm run restore -- --adopt --reason TEXT, which has the gates write all other rows back. npm run doctor -- --deep says what is left.`,
    false,
  );

/**
 * The scheduled run and the queue. Without them callers are served, but deliveries, syncs and rotations stand
 * still.
 */
async function background(env: Env, { sent, came }: Pulse, { at }: Survey, now: number): Promise<Judged[]> {
  // Before the first scheduled run no probe has been sent.
  if (sent === null) await sendProbe(env).catch(() => {});
  return [
    judge(
      'schedule',
      now - at < RUNS_WITHIN,
      'The scheduled run has not succeeded in the last 5 minutes.',
      false,
    ),
    judge('queue', isDelivering(sent, came, now), 'The queue has not delivered the last message yet.', false),
  ];
}

/**
 * Whether probes come through. One is sent each minute, so one that is in transit says nothing about those
 * before it.
 */
const isDelivering = (sent: number | null, came: number | null, now: number): boolean =>
  sent !== null &&
  came !== null &&
  (came >= sent || (now - sent < ON_ITS_WAY && sent - came < BETWEEN_PROBES));

/** Sends the message that tests the queue; called by each scheduled run. */
export async function sendProbe(env: Env): Promise<void> {
  await gateOf(env).pulse('sent');
  await env.QUEUE.send({ kind: 'probe', id: crypto.randomUUID() });
}

/** A probe has arrived. */
export async function probeCame(env: Env): Promise<void> {
  await gateOf(env).pulse('came');
}

/**
 * Logs a deployment key that is missing or does not open. Isolates keep the key that they have read, so
 * callers can be served for as long as an isolate lives, and no request tells.
 */
async function tellOfDeploymentKey(env: Env, masters: MasterKey[], { hadOrgs }: Survey): Promise<void> {
  // A table of keys that is missing is told by /healthz.
  const { keys } = await storedIn(env);
  if (!keys) return;
  const event = keys.deployment
    ? !opens(masters, 'deployment key', 'deployment', keys.deployment) && 'wrapped_key_does_not_open'
    : keys.hasOrgs
      ? 'deployment_key_missing'
      : hadOrgs && 'database_lost';
  if (!event) return;
  const { master_id } = keys.deployment ?? {};
  console.error(JSON.stringify({ level: 'error', event, owner: 'deployment', master_id }));
}

/**
 * The scheduled run: tells of the deployment key and of a queue that stands still, sends the next probe, and
 * looks at some organisations.
 */
export async function watch(env: Env, scheduled: number, now = Date.now()): Promise<void> {
  const settings = settingsOf(env);
  if ('problem' in settings) throw new Error('misconfigured');
  const pulse = await gateOf(env).pulse();
  const { sent, came } = pulse;
  if (sent !== null && !isDelivering(sent, came, now))
    console.warn(
      JSON.stringify({
        level: 'warn',
        event: 'queue_stalled',
        seconds: Math.round((now - (came ?? sent)) / 1000),
      }),
    );
  // Each happens whatever becomes of the others.
  const known = readSurvey(pulse);
  const surveying = survey(env, settings.masterKeys, known, now, scheduled).then(async (after) => {
    await gateOf(env).surveyed(JSON.stringify(after));
    last = null; // what this isolate knows is older
  });
  const telling = tellOfDeploymentKey(env, settings.masterKeys, known);
  const failed = (await Promise.allSettled([sendProbe(env), surveying, telling])).find(
    ({ status }) => status === 'rejected',
  );
  if (failed) throw (failed as PromiseRejectedResult).reason;
}
