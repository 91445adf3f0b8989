// What a replica works on: the rows of an organisation, cached ciphertexts, and its own list of audit
// entries. Requests are answered by the same modules as in the gate. Invariant: whatever is not here is asked
// of the gate: the core has no commit, database, outbox or schedule, and of the gate's parts only those named
// here.

import type { Core } from '../gate/core';
import { createDatabase } from '../gate/d1';
import { overlaps } from '../gate/identity/caller';
import { descendants } from '../gate/identity/descendants';
import { ciphertexts } from '../gate/journal/ciphertexts';
import { journal } from '../gate/journal/records';
import { lastUsed } from '../gate/limits/last-used';
import { rateLimit } from '../gate/limits/rate-limit';
import { createMeta } from '../gate/meta';
import type { Part } from '../gate/part';
import { AskGate, CIPHERTEXT } from '../gate/replicas/ask-gate';
import { createRows } from '../gate/rows/store';
import { watched } from '../gate/rows/watched';
import type { Loans } from './loans';

/** `descendants`: rows use its indexes. */
const own: readonly Part<unknown>[] = [ciphertexts, overlaps, descendants];

/** Something that a replica does not have. */
export const absent = <T extends object>(what: string): T =>
  new Proxy({} as T, {
    get() {
      throw new AskGate(what);
    },
  });

/** The parts of a gate that a replica has too; of all others it asks the gate. */
class OwnParts extends Map<unknown, unknown> {
  override has(of: unknown): boolean {
    // safety: replica-has-no-other-parts
    if (!super.has(of) && !own.includes(of as Part<unknown>)) throw new AskGate('part');
    return super.has(of);
  }
}

/** A ciphertext that is not cached: it is fetched afterwards, for the next read. */
const absentCiphertext = () => {
  throw new AskGate(CIPHERTEXT);
};

/** The same core for a read that only fills the cache: with D1, and without an entry. */
export const fetchingCore = (core: Core, db: D1Database): Core => ({
  ...core,
  database: createDatabase(db),
  auditLog: { append: () => ({ sequence: 0 }), size: () => 0 } as unknown as Core['auditLog'],
  parts: new Map([...core.parts, [journal, { version: () => null }]]),
});

export function createReplicaCore(storage: DurableObjectStorage, loans: Loans): Core {
  const meta = createMeta(storage.sql);
  const parts = new OwnParts();
  parts.set(rateLimit, loans.rateLimit);
  parts.set(lastUsed, loans.lastUsed);
  parts.set(journal, { version: absentCiphertext });
  const core: Core = {
    org: meta.get('org') ?? '',
    storage,
    meta,
    database: absent('database'),
    rows: watched(createRows(storage.sql)),
    // Each request has its own.
    auditLog: absent('audit log'),
    outbox: absent('outbox'),
    schedule: absent('schedule'),
    rules: absent('rules'),
    replica: () => absent('replicas'),
    parts,
    enqueue: () => {
      throw new AskGate('queue');
    },
    now: () => Date.now(),
  };
  for (const open of own) open(core);
  return core;
}
