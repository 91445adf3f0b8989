// What every part of a gate works on: its SQLite, the rows that decide, the audit log, the outbox, the schedule, D1 and the clock. One object
// per organisation, in the memory of its Durable Object. Everything else is a part (`part.ts`), declared by the module that owns it.
// Invariant: the SQLite always has every row that decisions depend on; D1 is the relational record of the same rows and is written first.
import type { JobName, QueueMessage } from '../delivery/messages';
import { type AuditLog, createAuditLog } from './audit/log';
import { createOutbox, type Outbox } from './events/outbox';
import { createDatabase, type Database } from './journal/d1';
import { createMeta, type Meta } from './meta';
import { createRows, type Rows } from './rows/store';
import { upgrade } from './storage-version';
import { createSchedule, type Schedule } from './tasks/schedule';

export interface Core {
  storage: DurableObjectStorage;
  meta: Meta;
  database: Database;
  rows: Rows;
  auditLog: AuditLog;
  outbox: Outbox;
  schedule: Schedule;
  /** The parts made so far, by their declaration. */
  parts: Map<unknown, unknown>;
  /** Requests a job from the Worker. */
  enqueue(job: JobName, id?: string): Promise<void>;
  now(): number;
}

/** Opens a gate's storage: upgrades what an earlier release left, then creates the tables that are missing. */
export function createCore(storage: DurableObjectStorage, { DB, QUEUE }: { DB: D1Database; QUEUE: Queue<QueueMessage> }): Core {
  const { sql } = storage;
  const meta = createMeta(sql);
  upgrade(storage, meta);
  return {
    storage,
    meta,
    database: createDatabase(DB),
    rows: createRows(sql),
    auditLog: createAuditLog(sql, meta),
    outbox: createOutbox(sql, meta),
    schedule: createSchedule(storage),
    parts: new Map(),
    async enqueue(job, id) {
      const org = meta.get('org');
      if (org !== null) await QUEUE.send({ kind: 'job', job, org, ...(id !== undefined && { id }) });
    },
    now: () => Date.now(),
  };
}
