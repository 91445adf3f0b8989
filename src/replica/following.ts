// How a replica follows the journal of its gate: it loads all rows once, then takes each record in order.
// Invariants: a record and the position after it are one transaction; a record that comes twice is dropped,
// and one that comes too early is not taken; what a replica has of another term is deleted.

import { isBrief } from '../db/credential-kinds';
import type { VersionRow } from '../db/schema';
import type { Core } from '../gate/core';
import { setEnvironmentRevision } from '../gate/journal/apply';
import { ciphertexts } from '../gate/journal/ciphertexts';
import type { JournalRecord } from '../gate/journal/records';
import { type Changes, changesOf, type Looked, restsOn } from '../gate/replicas/looked';
import { FORMAT, type RowPage } from '../gate/replicas/messages';

/** How often ended sessions are deleted, how many at once, and how long after their end; in milliseconds. */
const SWEEP = 60_000;
const PER_SWEEP = 1000;
const ENDED = 3_600_000;

export interface Following {
  /** Null before the rows are loaded. */
  term(): string | null;
  position(): number;
  /** The id of the record at the position. */
  record(): string;
  /** Takes records. Returns whether there was one. */
  take(term: string, records: readonly JournalRecord[]): boolean;
  /** Takes a page of rows; after the last one, it follows from the record of the first one. */
  load(page: RowPage, first: Pick<RowPage, 'position' | 'record'>): void;
  /** Deletes everything but entries. The object has to begin again. */
  clear(): void;
  /** Deletes sessions that ended long ago, at most so often: no record says that they leave the gate. */
  sweep(now: number): void;
  /** The gate says that records up to this one are everywhere. */
  settle(stable: number): void;
  /** Whether what a request looked at may not be everywhere yet. */
  isUnsettled(looked: Looked): boolean;
}

export function createFollowing(storage: DurableObjectStorage, core: Core): Following {
  const { sql } = storage;
  const transactionSync = (work: () => void) => storage.transactionSync(work);
  let [term, position, record] = stored(core);
  /** Records taken by this instance that are not known to be everywhere. */
  let unsettled: Changes[] = [];
  /** What records up to here change is not known any more; and up to where all replicas have them. */
  let forgotten = position;
  let settled = -1;
  let swept = 0;
  const stand = (in_: string | null, at: number, id: string) => {
    [term, position, record] = [in_, at, id];
    core.meta.set('follows', JSON.stringify([in_, at, FORMAT, id]));
  };
  return {
    term: () => term,
    position: () => position,
    record: () => record,
    take(of, records) {
      if (of !== term) return false;
      const before = position;
      for (const next of records) {
        // safety: replica-records-in-order
        if (next.n !== position + 1) continue;
        transactionSync(() => {
          apply(core, next);
          stand(of, next.n, next.id);
        });
        const changes = changesOf(next);
        if (changes) unsettled.push(changes);
      }
      return position > before;
    },
    load(page, first) {
      transactionSync(() => {
        for (const { kind, row } of page.rows) core.rows.put(kind, row as never);
        for (const [id, revision] of Object.entries(page.revised)) setEnvironmentRevision(core, id, revision);
        if (page.next === null) stand(page.term, first.position, first.record);
      });
      forgotten = first.position;
    },
    clear() {
      transactionSync(() => {
        for (const table of ['rows', 'stored_rows', 'seals']) sql.exec(`delete from ${table}`);
        core.meta.drop('revision:');
        for (const fact of ['loading', 'follows']) core.meta.forget(fact);
      });
    },
    sweep(now) {
      if (now - swept < SWEEP) return;
      swept = now;
      const ended = core.rows.sweepable(now - ENDED, PER_SWEEP).rows;
      transactionSync(() => {
        for (const { kind, id } of ended)
          if (kind === 'credential' && isBrief(core.rows.get('credential', id)?.kind ?? 'api_key'))
            core.rows.forget(kind, id);
      });
    },
    settle(stable) {
      settled = Math.max(settled, stable);
      unsettled = unsettled.filter(({ n }) => n > stable);
    },
    // safety: forgotten-records-unsettled
    isUnsettled: (looked) => settled < forgotten || restsOn(unsettled, looked) > 0,
  };
}

/** Where it stood. Rows of another format belong to a term that no gate has, so it begins again. */
function stored(core: Core): [term: string | null, position: number, record: string] {
  const [term, position, format, record = ''] = JSON.parse(core.meta.get('follows') ?? `[null,0,${FORMAT}]`);
  // safety: rows-of-other-format-deleted
  if (format !== FORMAT) return [`rows of format ${format}`, 0, ''];
  return [term, position, record];
}

/** Carries out a record in the rows of the replica. */
function apply(
  core: Core,
  { writes, local = [], deletes, versions, trimmed, revised = {}, at }: JournalRecord,
): void {
  for (const { kind, row } of [...writes, ...local]) {
    core.rows.put(kind, row as never);
    // Nothing may be read of it any more.
    if (kind === 'secret' && row.deleted_at !== null) ciphertexts(core).drop(row.id);
  }
  for (const { kind, id } of deletes) {
    core.rows.forget(kind, id);
    if (kind === 'secret') ciphertexts(core).drop(id);
  }
  for (const { secret, version } of trimmed) ciphertexts(core).drop(secret, version);
  for (const version of versions as VersionRow[]) ciphertexts(core).keep(version, at);
  for (const [id, revision] of Object.entries(revised)) setEnvironmentRevision(core, id, revision);
}
