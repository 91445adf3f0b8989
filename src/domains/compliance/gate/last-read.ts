// When a secret was last read: on its own, or in bulk with its environment if its name has the prefix of that
// request. A bulk read by a reader limited to some names counts for all names, so a secret reported as unread
// was certainly not read.
import type { SecretRow } from '../../../db/schema';
import { type Reading, readers } from '../../../gate/archive/readers';
import type { Core } from '../../../gate/core';

const newest = (readings: Iterable<Reading>): number | null => {
  let last: number | null = null;
  for (const { at } of readings) last = Math.max(last ?? 0, at);
  return last;
};

/** Answers for one secret at a time; the bulk readers of each environment are looked up once. */
export function lastReads(
  core: Core,
): (secret: Pick<SecretRow, 'id' | 'environment_id' | 'name'>) => number | null {
  const bulk = new Map<string, Reading[]>();
  const inBulk = (environment: string): Reading[] => {
    const known = bulk.get(environment) ?? [...readers(core).of(environment).values()];
    bulk.set(environment, known);
    return known;
  };
  return ({ id, environment_id, name }) =>
    newest([
      ...readers(core).of(id).values(),
      ...inBulk(environment_id).filter(({ prefix }) => name.startsWith(prefix ?? '')),
    ]);
}

/**
 * Since when reads are recorded: releases before 0.5.0 did not record them, and a gate that lost its storage
 * lost them.
 */
export const readsSince = ({ meta }: Core): number => Number(meta.get('reads_since') ?? 0);
