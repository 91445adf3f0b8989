// Running syncs: who works on one, the rest of its plan, the results, and which names this service wrote at
// which place. Invariants: a name is ours from the turn in which its write is reported, until another
// environment is about to write it or a listing lacks it; a step is marked when it is handed out, so after an
// interruption the next consumer knows that it may have been done; only one consumer works on a sync at a
// time.
import type { Owned, Result, Step } from '../../../adapters/sync/steps';
import { DAY } from '../../../db/rows';
import { part } from '../../../gate/part';
import { permits } from '../../../gate/request/permits';

/** A step of a plan, and whether it was handed out before. */
export interface OpenStep extends Step {
  begun: boolean;
}

/** A target, and the environment that is written there. */
export interface Place {
  target: string;
  environment: string;
  /** Whether names at the target are case-insensitive. */
  folds: boolean;
}

/** The target in a sync's `place`, which several environments may share. */
export const targetIn = (place: string): string => place.split(':')[0] as string;

export interface Syncs {
  /** Starts or continues a sync: returns a lease unless another one is held. */
  take(sync: string, now: number): { lease: number; started: number; planned: boolean } | null;
  /** Whether a lease is still held; extends it if so. */
  renew(sync: string, lease: number, now: number): boolean;
  release(sync: string): void;
  /** Whether a job may be at work on some sync. */
  isAnyLeased(): boolean;
  /** When work on an unfinished sync last began; null if never. */
  startedAt(sync: string): number | null;
  /** A job was requested. */
  asked(sync: string, until: number): void;
  /** When a job may be requested: after the lease, and after the previous request. */
  askAt(sync: string): number;
  /**
   * Stores a plan. Names that the listing lacks are no longer ours; names that it leaves unchanged hold their
   * secrets from now on, and are no longer another environment's.
   */
  plan(sync: string, place: Place, plan: { steps: Step[]; results: Result[]; missing: string[] }): void;
  /** The remaining steps: writes first, then deletions. */
  steps(sync: string, most: number): OpenStep[];
  /** Marks steps as handed out. What they write is no longer another environment's. */
  begin(sync: string, place: Place, steps: Step[]): void;
  /** Drops a step without a result; its name, if it was still open. */
  drop(sync: string, step: Pick<Step, 'kind' | 'target'>): string | null;
  add(sync: string, result: Result): void;
  /** Somebody else has written these names since: they are no longer ours. */
  disown(place: Place, targets: readonly string[]): void;
  /** Records results of steps, and which names are ours from now on. */
  report(sync: string, place: Place, done: (Result & { digest: string })[]): void;
  /** Ends the open steps as failures with this code. */
  fail(sync: string, problem: { code: string; message: string }, which: 'all' | 'not begun'): void;
  results(sync: string): Result[];
  count(sync: string): number;
  /**
   * The names that this service was the last to write to a target, from this environment, or found there with
   * the values of their secrets.
   */
  owned(place: Place): Owned[];
  /** And from other environments. */
  ownedElsewhere(place: Place): string[];
  /**
   * An environment is due for this connection, because a secret has changed or a sync is made again. The
   * earliest time counts.
   */
  due(integration: string, environment: string, at: number): void;
  dueBy(now: number): { integration: string; environment: string }[];
  nextDue(): number | null;
  /** A sync of a connection and an environment starts, covering all changes so far. */
  undue(integration: string, environment: string, until: number): void;
  /**
   * A sync has ended: what is recorded of its target counts for this root from now on. A connection that led
   * elsewhere before has nothing recorded there any more. Where a root or the organisation has too many
   * names, those of its oldest targets are forgotten.
   */
  settle(place: Place, by: { root: string; integration: string | null }, now: number): void;
  /** Forgets the names at targets that no sync has written to for long. */
  sweep(now: number): void;
  forget(sync: string): void;
  forgetEnvironment(environment: string): void;
  /** Forgets the names at targets that a connection was the last to write to. */
  forgetIntegration(integration: string): void;
  /** The clock was ahead and is right again: no lease or request lasts longer than from now on. */
  bringForward(now: number): void;
  clear(): void;
}

/** How long a consumer may be silent: a few chunks of writes to a slow target, including waits. */
const LEASE = 180_000;

type StepRow = {
  name: string;
  target: string;
  kind: string;
  listed: string | null;
  handle: string | null;
  digest: string;
  begun: number;
};

const stepOf = ({ name, target, kind, listed, handle, digest, begun }: StepRow): OpenStep => ({
  name,
  target,
  kind: kind as Step['kind'],
  remote: listed === null ? null : { target: listed, ...(handle !== null && { handle }) },
  digest,
  begun: begun === 1,
});

type ResultRow = {
  name: string;
  target: string | null;
  action: string;
  code: string | null;
  message: string | null;
};

const resultOf = ({ name, target, action, code, message }: ResultRow): Result => ({
  name,
  targetName: target,
  action: action as Result['action'],
  ...(code !== null && { code: code as NonNullable<Result['code']> }),
  ...(message !== null && { message }),
});

function createTables(sql: SqlStorage): void {
  sql.exec(`create table if not exists sync_runs (sync text primary key, started integer not null, lease integer not null, leased_until integer not null,
    asked_until integer not null, planned integer not null) without rowid`);
  sql.exec(`create table if not exists sync_steps (sync text not null, name text not null, target text not null, kind text not null, listed text,
    handle text, digest text not null, begun integer not null, primary key (sync, kind, target)) without rowid`);
  sql.exec(
    `create table if not exists sync_results (sync text not null, name text not null, target text, action text not null, code text, message text)`,
  );
  sql.exec('create index if not exists sync_results_sync on sync_results (sync)');
  sql.exec(`create table if not exists sync_names (place text not null, target text not null, name text not null, digest text not null,
    environment text not null, primary key (place, target)) without rowid`);
  sql.exec(`create table if not exists sync_places (place text not null, environment text not null, root text not null, integration text,
    at integer not null, names integer not null, bytes integer not null, primary key (place, environment)) without rowid`);
  sql.exec(
    'create table if not exists sync_due (integration text not null, environment text not null, at integer not null, primary key (integration, environment)) without rowid',
  );
}

const TABLES = ['sync_runs', 'sync_steps', 'sync_results', 'sync_names', 'sync_places', 'sync_due'];

type Query = <T extends Record<string, SqlStorageValue>>(query: string, ...values: SqlStorageValue[]) => T[];

export function createSyncs(sql: SqlStorage): Syncs {
  createTables(sql);
  const all: Query = (query, ...values) => sql.exec<never>(query, ...values).toArray();
  const { owned, ownedElsewhere, forget } = owners(sql, all);
  return {
    ...leases(sql, all),
    ...progress(sql, all),
    ...results(sql, all),
    ...dues(sql, all),
    owned,
    ownedElsewhere,
    disown(place, targets) {
      for (const target of targets) forget(place, target);
    },
    forget(sync) {
      for (const table of ['sync_runs', 'sync_steps', 'sync_results'])
        sql.exec(`delete from ${table} where sync = ?`, sync);
    },
    forgetEnvironment(environment) {
      for (const table of ['sync_names', 'sync_places', 'sync_due'])
        sql.exec(`delete from ${table} where environment = ?`, environment);
    },
    ...places(sql, all),
    bringForward(now) {
      sql.exec('update sync_due set at = min(at, ?)', now);
      sql.exec(
        'update sync_runs set started = min(started, ?1), leased_until = min(leased_until, ?2), asked_until = min(asked_until, ?2)',
        ...[now, now + LEASE],
      );
    },
    clear() {
      for (const table of TABLES) sql.exec(`delete from ${table}`);
    },
  };
}

/** The leases of syncs. */
function leases(
  sql: SqlStorage,
  all: Query,
): Pick<Syncs, 'take' | 'renew' | 'release' | 'isAnyLeased' | 'startedAt' | 'asked' | 'askAt'> {
  type Run = { started: number; lease: number; leased_until: number; asked_until: number; planned: number };
  const run = (sync: string) => all<Run>('select * from sync_runs where sync = ?', sync)[0];
  return {
    take(sync, now) {
      const before = run(sync);
      // safety: one-consumer-a-sync
      if (before && before.leased_until > now) return null;
      const { lease, started, planned } = {
        lease: (before?.lease ?? 0) + 1,
        started: before?.started || now,
        planned: before?.planned ?? 0,
      };
      sql.exec(
        'insert or replace into sync_runs values (?, ?, ?, ?, ?, ?)',
        sync,
        started,
        lease,
        now + LEASE,
        0,
        planned,
      );
      return { lease, started, planned: planned === 1 };
    },
    renew(sync, lease, now) {
      const before = run(sync);
      // safety: sync-lease-checked
      if (before?.lease !== lease || before.leased_until === 0) return false;
      sql.exec('update sync_runs set leased_until = ? where sync = ?', now + LEASE, sync);
      return true;
    },
    release: (sync) =>
      void sql.exec('update sync_runs set leased_until = 0, asked_until = 0 where sync = ?', sync),
    isAnyLeased: () => all('select 1 one from sync_runs where leased_until > 0 limit 1').length > 0,
    startedAt: (sync) => run(sync)?.started || null,
    asked(sync, until) {
      sql.exec('insert or ignore into sync_runs values (?, 0, 0, 0, 0, 0)', sync);
      sql.exec('update sync_runs set asked_until = ? where sync = ?', until, sync);
    },
    askAt(sync) {
      const { leased_until = 0, asked_until = 0 } = run(sync) ?? {};
      return Math.max(leased_until, asked_until);
    },
  };
}

/** Stores the result for a name. */
function addResult(sql: SqlStorage, sync: string, { name, targetName, action, code, message }: Result): void {
  sql.exec(
    'insert into sync_results values (?, ?, ?, ?, ?, ?)',
    sync,
    name,
    targetName,
    action,
    code ?? null,
    message ?? null,
  );
}

/** The results of runs. */
function results(sql: SqlStorage, all: Query): Pick<Syncs, 'fail' | 'results' | 'count'> {
  return {
    fail(sync, { code, message }, which) {
      const open = all<StepRow>(
        `select * from sync_steps where sync = ?${which === 'all' ? '' : ' and begun = 0'}`,
        sync,
      );
      for (const { name, target } of open)
        addResult(sql, sync, {
          name,
          targetName: target,
          action: 'failed',
          code: code as NonNullable<Result['code']>,
          message,
        });
      sql.exec(`delete from sync_steps where sync = ?${which === 'all' ? '' : ' and begun = 0'}`, sync);
    },
    results: (sync) =>
      all<ResultRow>('select name, target, action, code, message from sync_results where sync = ?', sync).map(
        resultOf,
      ),
    count: (sync) =>
      all<{ n: number }>('select count(*) n from sync_results where sync = ?', sync)[0]?.n ?? 0,
  };
}

/** The remaining plans, and which names are ours. */
function progress(
  sql: SqlStorage,
  all: Query,
): Pick<Syncs, 'plan' | 'steps' | 'begin' | 'drop' | 'add' | 'report'> {
  const { note, find, forget, yieldTo } = owners(sql, all);
  return {
    plan(sync, place, { steps, results, missing }) {
      // safety: missing-names-not-ours
      for (const target of missing) forget(place, target);
      for (const { action, targetName: target, name } of results)
        if (action === 'unchanged' && target !== null) find(place, { target, name });
      sql.exec('delete from sync_steps where sync = ?', sync);
      sql.exec('delete from sync_results where sync = ?', sync);
      for (const { name, target, kind, remote, digest } of steps)
        sql.exec(
          'insert or ignore into sync_steps values (?, ?, ?, ?, ?, ?, ?, 0)',
          ...[sync, name, target, kind, remote?.target ?? null, remote?.handle ?? null, digest],
        );
      for (const result of results) addResult(sql, sync, result);
      sql.exec('update sync_runs set planned = 1 where sync = ?', sync);
    },
    steps: (sync, most) =>
      all<StepRow>('select * from sync_steps where sync = ? order by kind, target limit ?', sync, most).map(
        stepOf,
      ),
    begin(sync, place, steps) {
      for (const { kind, target } of steps) {
        // safety: sync-steps-marked
        sql.exec(
          'update sync_steps set begun = 1 where sync = ? and kind = ? and target = ?',
          sync,
          kind,
          target,
        );
        if (kind === 'put') yieldTo(place, target);
      }
    },
    drop: (sync, { kind, target }) =>
      all<{ name: string }>(
        'delete from sync_steps where sync = ? and kind = ? and target = ? returning name',
        sync,
        kind,
        target,
      )[0]?.name ?? null,
    add: (sync, result) => addResult(sql, sync, result),
    report(sync, place, done) {
      for (const { digest, ...result } of done) {
        const { name, targetName, action } = result;
        const kind = action === 'deleted' ? 'remove' : 'put';
        const step = all(
          'select 1 one from sync_steps where sync = ? and target = ? and name = ?',
          sync,
          targetName,
          name,
        );
        // A result that was already reported counts once.
        if (step.length === 0) continue;
        sql.exec('delete from sync_steps where sync = ? and target = ? and name = ?', sync, targetName, name);
        addResult(sql, sync, result);
        // safety: written-names-noted
        if (action === 'created' || action === 'updated')
          note(place, { target: targetName as string, name, digest });
        if (action === 'unchanged') find(place, { target: targetName as string, name });
        if (kind === 'remove') forget(place, targetName as string);
      }
    },
  };
}

/**
 * In place of a digest: the name was found with the value of its secret, and others wrote it. It is the
 * digest of no value, so a prune takes it for theirs.
 */
const FOUND = '';

/** Which environment was the last to write a name to a target. `place` in the table is the target. */
function owners(sql: SqlStorage, all: Query) {
  const key = ({ folds }: Place, target: string) => (folds ? target.toUpperCase() : target);
  // safety: last-writer-owns
  const yieldTo = (place: Place, target: string) =>
    sql.exec(
      'delete from sync_names where place = ? and target = ? and environment <> ?',
      ...[place.target, key(place, target), place.environment],
    );
  return {
    yieldTo,
    /** The name already had the value of this secret. If others wrote it, it is not ours to delete. */
    find(place: Place, { target, name }: Pick<Owned, 'target' | 'name'>) {
      yieldTo(place, target);
      // safety: found-names-hold-their-secrets
      sql.exec(
        'insert into sync_names values (?, ?, ?, ?, ?) on conflict do update set name = excluded.name',
        ...[place.target, key(place, target), name, FOUND, place.environment],
      );
    },
    note: (place: Place, { target, name, digest }: Owned) =>
      sql.exec(
        'insert or replace into sync_names values (?, ?, ?, ?, ?)',
        place.target,
        key(place, target),
        name,
        digest,
        place.environment,
      ),
    forget: (place: Place, target: string) =>
      sql.exec('delete from sync_names where place = ? and target = ?', place.target, key(place, target)),
    owned: ({ target, environment }: Place) =>
      // safety: pruned-by-its-environment
      all<Owned & Record<string, string>>(
        'select target, name, digest from sync_names where place = ? and environment = ?',
        ...[target, environment],
      ),
    ownedElsewhere: ({ target, environment }: Place) =>
      all<{ target: string }>(
        'select target from sync_names where place = ? and environment <> ?',
        target,
        environment,
      ).map((one) => one.target),
  };
}

/**
 * The most targets, names and bytes of names that are recorded for a root and for an organisation; and for
 * how long without a sync.
 */
export const nameQuotas = {
  root: { places: 1000, names: 50_000, bytes: 16 * 1024 ** 2 },
  org: { places: 5000, names: 200_000, bytes: 64 * 1024 ** 2 },
  kept: 400 * DAY,
};

/** The targets whose names are recorded, by environment: who wrote there last, and when. */
function places(sql: SqlStorage, all: Query): Pick<Syncs, 'settle' | 'sweep' | 'forgetIntegration'> {
  type At = { place: string; environment: string };
  const drop = (where: string, ...values: SqlStorageValue[]) => {
    for (const { place, environment } of all<At>(
      `delete from sync_places where ${where} returning place, environment`,
      ...values,
    ))
      sql.exec('delete from sync_names where place = ? and environment = ?', place, environment);
  };
  const measured =
    'count(*) names, coalesce(sum(100 + octet_length(target) + octet_length(name)), 0) bytes from sync_names';
  const trim = (bounds: typeof nameQuotas.org, where: string, ...values: SqlStorageValue[]) => {
    const known = all<At & { names: number; bytes: number }>(
      `select * from sync_places where ${where} order by at desc`,
      ...values,
    );
    const sum = { places: 0, names: 0, bytes: 0 };
    for (const { place, environment, names, bytes } of known) {
      sum.places++;
      sum.names += names;
      sum.bytes += bytes;
      // safety: sync-names-bounded
      if (sum.places > bounds.places || sum.names > bounds.names || sum.bytes > bounds.bytes)
        drop('place = ? and environment = ?', place, environment);
    }
  };
  return {
    settle({ target, environment }, { root, integration }, now) {
      if (integration !== null)
        drop('integration = ? and environment = ? and place <> ?', integration, environment, target);
      const [size] = all<{ names: number; bytes: number }>(
        `select ${measured} where place = ? and environment = ?`,
        target,
        environment,
      );
      const { names = 0, bytes = 0 } = size ?? {};
      sql.exec(
        'insert or replace into sync_places values (?, ?, ?, ?, ?, ?, ?)',
        target,
        environment,
        root,
        integration,
        now,
        names,
        bytes,
      );
      if (names === 0) drop('place = ? and environment = ?', target, environment);
      trim(nameQuotas.root, 'root = ?', root);
      trim(nameQuotas.org, 'true');
    },
    sweep(now) {
      drop('at < ?', now - nameQuotas.kept);
      // Of an earlier release, or of a sync that did not end: they are known from now on.
      sql.exec(
        `insert or ignore into sync_places select place, environment, '', null, ?, ${measured} group by place, environment`,
        now,
      );
    },
    forgetIntegration(integration) {
      // safety: sync-names-end-with-connection
      drop('integration = ?', integration);
      sql.exec('delete from sync_due where integration = ?', integration);
    },
  };
}

/** The automatic syncs that are due. */
function dues(sql: SqlStorage, all: Query): Pick<Syncs, 'due' | 'dueBy' | 'nextDue' | 'undue'> {
  return {
    due: (integration, environment, at) =>
      void sql.exec(
        'insert into sync_due values (?, ?, ?) on conflict do update set at = min(at, excluded.at)',
        integration,
        environment,
        at,
      ),
    dueBy: (now) =>
      all<{ integration: string; environment: string }>(
        'select integration, environment from sync_due where at <= ? limit 100',
        now,
      ),
    nextDue: () => all<{ at: number | null }>('select min(at) at from sync_due')[0]?.at ?? null,
    undue: (integration, environment, until) =>
      void sql.exec(
        'delete from sync_due where integration = ? and environment = ? and at <= ?',
        integration,
        environment,
        until,
      ),
  };
}

export const syncs = part((core) => {
  const all = createSyncs(core.storage.sql);
  if (all.isAnyLeased()) permits(core).resume();
  return all;
});
