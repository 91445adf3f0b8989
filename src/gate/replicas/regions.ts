// The regions in which an organisation has replicas, and that of its gate.

import type { Region } from '../../db/regions';
import type { Core } from '../core';
import type { Reply } from '../request/call';
import { demand } from './demand';
import { leases } from './leases';

const rowOf = ({ rows, org }: Pick<Core, 'rows' | 'org'>) => {
  const row = rows.get('org', org);
  return row?.deleted_at === null ? row : null;
};

export const isAuto = (core: Pick<Core, 'rows' | 'org'>): boolean => rowOf(core)?.regions === 'auto';

export function regionsOf(core: Core): readonly Region[] {
  const regions = rowOf(core)?.regions ?? [];
  return regions === 'auto' ? demand(core).regions() : regions;
}

export const isReplicated = (core: Core): boolean => regionsOf(core).length > 0;

/**
 * Whether a replica has the rows of the organisation, or may have them. One whose region was taken out
 * follows until it has deleted everything: it may hold a lease, and go on if its region is added again.
 */
// safety: endings-sent-to-former-regions
export const isFollowed = (core: Core): boolean => isReplicated(core) || leases(core).regions().length > 0;

/** Where the gate was placed; null if that is not known. */
export const placeOfGate = ({ rows, org }: Pick<Core, 'rows' | 'org'>): Region | null =>
  rows.get('org', org)?.location_hint ?? null;

/** What Workers are told, so that they choose who answers the next read. */
export const regionsForWorkers = (core: Core): NonNullable<Reply['regions']> => ({
  all: regionsOf(core),
  gate: placeOfGate(core),
  ...(isAuto(core) && { auto: true }),
});
