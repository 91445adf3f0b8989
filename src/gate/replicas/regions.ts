// The regions in which an organisation has replicas.

import { REGIONS, type Region } from '../../db/regions';
import type { Core } from '../core';

export function regionsOf({ rows, org }: Pick<Core, 'rows' | 'org'>): readonly Region[] {
  const row = rows.get('org', org);
  if (!row || row.deleted_at !== null) return [];
  return row.regions === 'auto' ? REGIONS : (row.regions ?? []);
}

/** Where the gate was placed; null if that is not known. */
export const placeOfGate = ({ rows, org }: Pick<Core, 'rows' | 'org'>): Region | null =>
  rows.get('org', org)?.location_hint ?? null;

export const isReplicated = (core: Pick<Core, 'rows' | 'org'>): boolean => regionsOf(core).length > 0;
