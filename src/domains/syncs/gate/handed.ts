// The chunk of each sync that a job has: under which reach of its callers it was handed out, and which
// secrets are in it. In memory: after a restart it is not known, and the job asks for its chunk again.
// Invariant: a chunk one of whose secrets is gone, renamed or no longer readable is known as such from the
// turn of that change on, also if another secret has the name since.
import QuickLRU from 'quick-lru';
import type { SecretRow, SyncRow } from '../../../db/schema';
import type { Core } from '../../../gate/core';
import { part } from '../../../gate/part';
import { readable } from '../../secrets/rules';

interface Handed {
  reach: string;
  environment: string;
  /** The names of its secrets, by id. */
  secrets: ReadonlyMap<string, string>;
  isOver: boolean;
}

const chunks = part(() => new QuickLRU<string, Handed>({ maxSize: 1000 }));

export function handOut(
  core: Core,
  { id, environment_id }: SyncRow,
  reach: string,
  rows: readonly SecretRow[],
): void {
  const secrets = new Map(rows.map((row) => [row.id, row.name]));
  chunks(core).set(id, { reach, environment: environment_id, secrets, isOver: false });
}

export const handedOut = (core: Core, sync: string): Handed | null => chunks(core).get(sync) ?? null;

/** The sync has ended, or another job goes on. */
export const takeBack = (core: Core, sync: string): void => void chunks(core).delete(sync);

const isSent = ({ environment, secrets }: Handed, id: string, row: SecretRow | null, now: number): boolean =>
  // safety: same-secret-of-its-name
  row !== null &&
  row.name === secrets.get(id) &&
  row.environment_id === environment &&
  readable(row, now) === null;

/** Whether all secrets of a chunk are still there: looked up, since one may have expired. */
export function areThere({ rows }: Core, chunk: Handed, now: number): boolean {
  if (!chunk.isOver)
    chunk.isOver = [...chunk.secrets.keys()].some((id) => !isSent(chunk, id, rows.get('secret', id), now));
  return !chunk.isOver;
}

/** A secret is written or leaves. */
export function followSecret(
  core: Core,
  { id, after }: { id: string; after: SecretRow | null },
  now: number,
): void {
  for (const chunk of chunks(core).values())
    if (chunk.secrets.has(id) && !isSent(chunk, id, after, now)) chunk.isOver = true;
}
