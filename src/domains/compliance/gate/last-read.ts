// When a secret was last read: the one place that says so. By itself, or with its environment, where its name has the prefix of that request.
// A bulk reader who is limited to some names counts for all of them, so that a secret that is called unread was surely not read.
import type { SecretRow } from '../../../db/schema';
import type { Core } from '../../../gate/core';
import type { Reading } from '../../../gate/readers';

const newest = (readings: Iterable<Reading>): number | null => {
  let last: number | null = null;
  for (const { at } of readings) last = Math.max(last ?? 0, at);
  return last;
};

/** Answers for one secret after another; what is known of environments is asked for once. */
export function lastReads({ readers }: Core): (secret: Pick<SecretRow, 'id' | 'environment_id' | 'name'>) => number | null {
  const bulk = new Map<string, Reading[]>();
  const inBulk = (environment: string): Reading[] => {
    const known = bulk.get(environment) ?? [...readers.of(environment).values()];
    bulk.set(environment, known);
    return known;
  };
  return ({ id, environment_id, name }) =>
    newest([...readers.of(id).values(), ...inBulk(environment_id).filter(({ prefix }) => name.startsWith(prefix ?? ''))]);
}

/** Since when reads are known: a release before 0.5.0 did not note them, and a gate that lost its storage has forgotten them. */
export const readsSince = ({ meta }: Core): number => Number(meta.get('reads_since') ?? 0);
