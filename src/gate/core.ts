// The parts of a gate: its SQLite, D1, and everything that works on them. One object per organisation, in the memory of its Durable Object.
// Invariant: the SQLite always has every row that decisions depend on; D1 is the relational record of the same rows and is written first.

import QuickLRU from 'quick-lru';
import type { JobName, QueueMessage } from '../delivery/messages';
import { type ApprovalDetailsTable, createApprovalDetails } from './approval-details';
import { type AuditLog, createAuditLog } from './audit-log';
import { type Backlogs, createBacklogs } from './backlog';
import { type Bound, createBound } from './bound';
import { type Checkpoints, createCheckpoints } from './checkpoints';
import { type CiphertextCache, createCiphertextCache } from './ciphertext-cache';
import { createDatabase, type Database } from './database';
import { createDeliveries, type Deliveries } from './deliveries';
import { createDescendants, type Descendants } from './descendants';
import { createDeviceProofs, type DeviceProofs } from './device-proofs';
import { createExchanged, type Exchanged } from './exchanged';
import { createExpiries, type Expiries } from './expiries';
import { createFormerMakers, type FormerMakers } from './former-makers';
import { createIntents, type Intents } from './intents';
import { createLastUsed, type LastUsed } from './last-used';
import { createLeaks, type Leaks } from './leaks';
import { lineageOf, type Overlaps, type Strangers } from './lineage';
import { createListeners, type Listeners } from './listeners';
import { createLocks, type Locks } from './locks';
import { createMeta, type Meta } from './meta';
import { createNotedLists } from './noted-lists';
import { createOutbox, type Outbox } from './outbox';
import { createPermits, type Permits } from './permits';
import { createRateLimit, type RateLimit } from './rate-limit';
import { createReaders, type Readers } from './readers';
import { recording } from './recording';
import { createRotations, type Rotations } from './rotations';
import { createRows, type Rows } from './rows';
import { createSchedule, type Schedule } from './schedule';
import { upgrade } from './storage-version';
import { createStoredResponses, type StoredResponses } from './stored-responses';
import { createSyncs, type Syncs } from './syncs';
import { createTold, type Told } from './told';
import { createWaiters, type Waiters } from './waiters';
import { wake } from './wake';

export interface Core {
  storage: DurableObjectStorage;
  meta: Meta;
  database: Database;
  rows: Rows;
  descendants: Descendants;
  formerMakers: FormerMakers;
  bound: Bound;
  ciphertexts: CiphertextCache;
  auditLog: AuditLog;
  checkpoints: Checkpoints;
  rateLimit: RateLimit;
  lastUsed: LastUsed;
  proofs: DeviceProofs;
  exchanged: Exchanged;
  readers: Readers;
  outbox: Outbox;
  deliveries: Deliveries;
  leaks: Leaks;
  told: Told;
  syncs: Syncs;
  permits: Permits;
  storedResponses: StoredResponses;
  intents: Intents;
  rotations: Rotations;
  expiries: Expiries;
  schedule: Schedule;
  locks: Locks;
  approvalWaiters: Waiters;
  approvalDetails: ApprovalDetailsTable;
  listeners: Listeners;
  backlogs: Backlogs;
  strangers: Strangers;
  overlaps: Overlaps;
  /** Requests a job from the Worker. */
  enqueue(job: JobName, id?: string): Promise<void>;
  now(): number;
}

/** Notes since when reads are recorded: always in the gate of a new organisation, from now on if a release before 0.5.0 did not record them. */
function beginReads(meta: Meta): void {
  if (meta.get('reads_since') === null) meta.set('reads_since', meta.get('org') === null ? '0' : String(Date.now()));
}

/** The credentials whose requests an actor's count for: the actor, and everything that it ends with. */
const linksIn = (rows: Rows) => (actor: string, parent: string | null) => {
  const row = rows.get('credential', actor);
  if (row) return lineageOf({ rows }, row).map(({ id }) => id);
  return parent === null ? [actor] : [actor, parent];
};

/** Opens the parts of a gate over its storage; creates the tables on first use. */
export function createCore(storage: DurableObjectStorage, { DB, QUEUE }: { DB: D1Database; QUEUE: Queue<QueueMessage> }): Core {
  const { sql } = storage;
  const meta = createMeta(sql);
  upgrade(storage, meta);
  beginReads(meta);
  const entries = createAuditLog(sql, meta);
  const rows = createRows(sql);
  const linksOf = linksIn(rows);
  const lastUsed = createLastUsed(sql, meta, {
    head: () => entries.head().sequence,
    linksOf,
    isKnown: (credential) => rows.get('credential', credential) !== null,
  });
  const readers = createReaders(sql, meta, {
    head: () => entries.head().sequence,
    isKnown: (target) => rows.get('secret', target) !== null || rows.get('environment', target) !== null,
  });
  const schedule = createSchedule(storage);
  const syncs = createSyncs(sql);
  const listeners = createListeners();
  const outbox = createOutbox(sql, meta, (now) => {
    listeners.wake();
    wake({ rows, outbox, schedule }, now);
  });
  const intents = createIntents(sql);
  const auditLog = recording(entries, lastUsed, readers, outbox, schedule, createNotedLists());
  return {
    storage,
    meta,
    database: createDatabase(DB),
    rows,
    descendants: createDescendants(sql, rows.edits),
    formerMakers: createFormerMakers(sql, rows),
    bound: createBound(sql),
    ciphertexts: createCiphertextCache(sql),
    auditLog,
    checkpoints: createCheckpoints(sql),
    rateLimit: createRateLimit(sql, auditLog, linksOf),
    lastUsed,
    proofs: createDeviceProofs(sql),
    exchanged: createExchanged(sql),
    readers,
    outbox,
    deliveries: createDeliveries(sql, meta),
    backlogs: createBacklogs(sql, { auditLog, outbox, intents }),
    leaks: createLeaks(sql),
    told: createTold(sql),
    syncs,
    permits: createPermits(syncs.isAnyLeased()),
    storedResponses: createStoredResponses(sql),
    intents,
    rotations: createRotations(sql),
    expiries: createExpiries(sql, meta),
    schedule,
    locks: createLocks(),
    approvalWaiters: createWaiters(),
    approvalDetails: createApprovalDetails(sql),
    listeners,
    strangers: new QuickLRU({ maxSize: 2500 }),
    overlaps: new QuickLRU({ maxSize: 1000 }),
    async enqueue(job, id) {
      const org = meta.get('org');
      if (org !== null) await QUEUE.send({ kind: 'job', job, org, ...(id !== undefined && { id }) });
    },
    now: () => Date.now(),
  };
}
