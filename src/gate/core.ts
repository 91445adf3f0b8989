// What every part of a gate works on: its SQLite, the rows that decide, the audit log, the outbox, the
// schedule, D1 and the clock. One object per organisation, in the memory of its Durable Object. Everything
// else is a part (`part.ts`), declared by the module that owns it. Invariant: the SQLite always has every row
// that decisions depend on and is written first; D1 is the relational copy, which follows the journal.
import type { Action } from '../auth/actions';
import type { Region } from '../db/regions';
import type { RowKind, RowTypes } from '../db/rows';
import { type AuditLog, createAuditLog } from './audit/log';
import { createDatabase, type Database } from './d1';
import { createMeta, type Meta } from './meta';
import { createOutbox, type Outbox, type Raised } from './outbox';
import type { JobName, QueueMessage } from './queue-messages';
import { createRows } from './rows/store';
import { type Watched, watched } from './rows/watched';
import { createSchedule, type Schedule } from './schedule';
import { upgrade } from './storage-version';

/**
 * A row that is about to be written (`before` is null if it is new), or to leave the gate (`after` is null).
 */
export interface RowChange<K extends RowKind> {
  id: string;
  before: RowTypes[K] | null;
  after: RowTypes[K] | null;
  /** When the change was decided, and its action; a row that leaves after its retention has none. */
  at: number;
  action: string | null;
}

/** Called just before a row is written or leaves, in the same turn. */
export type Follow<K extends RowKind> = (core: Core, change: RowChange<K>, now: number) => void;

/** The events of a change: of the row before, null if it is new, and after, null if it is removed. */
export type Raise<K extends RowKind> = (
  before: RowTypes[K] | null,
  after: RowTypes[K] | null,
  of: { core: Core; action: Action },
) => Raised[];

/**
 * A task in bounded batches. Returns when to run next, or null. It can be interrupted at any point, and then
 * simply runs again.
 */
export type TaskRun = (core: Core, now: number) => Promise<number | null> | number | null;

export interface Declared {
  follows?: { [K in RowKind]?: Follow<K> };
  raises?: { [K in RowKind]?: Raise<K> };
  /** Secrets of an environment have changed. */
  followSecrets?(core: Core, environment: string, now: number): void;
  /** A commit has been applied. */
  followCommit?(core: Core, now: number): void;
  /** By name. A name is never used again for another task: gates remember when it is due. */
  tasks?: Record<string, TaskRun>;
  /** Deletes what is past its time, hourly. Returns whether there is more. */
  sweep?(core: Core, now: number): boolean;
  /** The clock was ahead and is right again: nothing waits any longer for a time that only it showed. */
  bringForward?(core: Core, now: number): void;
  /** This gate is to be given up for a new one: what is under way gets its audit entries now. */
  close?(core: Core, now: number): void;
  /** The organisation was deleted: deletes everything that this holds in the gate. */
  clear?(core: Core): void;
}

/** What all areas of the gate and all domains declare, as the gate uses it. */
export interface Rules {
  follow<K extends RowKind>(core: Core, kind: K, change: RowChange<K>): void;
  raise<K extends RowKind>(
    kind: K,
    before: RowTypes[K] | null,
    after: RowTypes[K] | null,
    of: { core: Core; action: Action },
  ): Raised[];
  followSecrets(core: Core, environment: string, now: number): void;
  followCommit(core: Core, now: number): void;
  tasks: Record<string, TaskRun>;
  sweep(core: Core, now: number): boolean;
  bringForward(core: Core, now: number): void;
  close(core: Core, now: number): void;
  clear(core: Core): void;
}

/**
 * What these declare, as one. Invariant: what follows from a row runs in the turn of its change, whichever
 * route made it; each declaration is called in the order of the list.
 */
export function rulesOf(all: readonly Declared[]): Rules {
  const named = all.flatMap(({ tasks = {} }) => Object.entries(tasks));
  const tasks = Object.fromEntries(named);
  if (Object.keys(tasks).length < named.length) throw new Error('two tasks have the same name');
  const of = <F extends keyof Declared>(field: F) =>
    all.map((one) => one[field]).filter((value) => value !== undefined);
  const follows = of('follows');
  const raises = of('raises');
  const secrets = of('followSecrets');
  const commits = of('followCommit');
  const sweeps = of('sweep');
  const bringsForward = of('bringForward');
  const closes = of('close');
  const clears = of('clear');
  return {
    follow(core, kind, change) {
      for (const one of follows) one[kind]?.(core, change, core.now());
    },
    raise: (kind, before, after, context) =>
      raises.flatMap((one) => one[kind]?.(before, after, context) ?? []),
    followSecrets(core, environment, now) {
      for (const follow of secrets) follow(core, environment, now);
    },
    followCommit(core, now) {
      for (const follow of commits) follow(core, now);
    },
    tasks,
    // Each sweeps, even if an earlier one has more.
    sweep: (core, now) => sweeps.map((sweep) => sweep(core, now)).includes(true),
    bringForward(core, now) {
      for (const bringForward of bringsForward) bringForward(core, now);
    },
    close(core, now) {
      for (const close of closes) close(core, now);
    },
    clear(core) {
      for (const clear of clears) clear(core);
    },
  };
}

export interface Core {
  /** The organisation; empty until the gate knows whose it is. */
  org: string;
  storage: DurableObjectStorage;
  meta: Meta;
  database: Database;
  rows: Watched;
  auditLog: AuditLog;
  outbox: Outbox;
  schedule: Schedule;
  /** What areas and domains declare. */
  rules: Rules;
  /** The Durable Object of the replica in a region: see replicas/stub.ts. */
  replica(region: Region): object;
  /** The parts made so far, by their declaration. */
  parts: Map<unknown, unknown>;
  /** Requests a job from the Worker. */
  enqueue(job: JobName, id?: string): Promise<void>;
  now(): number;
}

interface Bindings {
  DB: D1Database;
  QUEUE: Queue<QueueMessage>;
  REPLICA: Replicas;
}

/**
 * Opens a gate's storage: upgrades what an earlier release left, then creates the tables that are missing.
 */
export function createCore(
  storage: DurableObjectStorage,
  { DB, QUEUE, REPLICA }: Bindings,
  rules: Rules,
): Core {
  const { sql } = storage;
  const meta = createMeta(sql);
  upgrade(storage, meta);
  return {
    org: meta.get('org') ?? '',
    storage,
    meta,
    database: createDatabase(DB),
    rows: watched(createRows(sql)),
    auditLog: createAuditLog(sql, meta),
    outbox: createOutbox(sql, meta),
    schedule: createSchedule(storage, meta),
    rules,
    replica: (region) => replicaOf(REPLICA, meta.get('org') ?? '', region),
    parts: new Map(),
    async enqueue(job, id) {
      const org = meta.get('org');
      if (org !== null) await QUEUE.send({ kind: 'job', job, org, ...(id !== undefined && { id }) });
    },
    now: () => Date.now(),
  };
}

/** Where replicas are found. */
export type Replicas = Pick<DurableObjectNamespace, 'getByName'>;

/** The replica of an organisation in a region: its name says both. */
export const replicaOf = (replicas: Replicas, org: string, region: Region): object =>
  replicas.getByName(replicaName(org, region), { locationHint: region as DurableObjectLocationHint });

export const replicaName = (org: string, region: Region): string => `${org} ${region}`;
