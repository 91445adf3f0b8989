// The regions in which an organisation has replicas.

import { REGIONS, type Region } from '../../db/regions';
import type { Core } from '../core';

export function regionsOf({ rows, org }: Pick<Core, 'rows' | 'org'>): readonly Region[] {
  const row = rows.get('org', org);
  if (!row || row.deleted_at !== null) return [];
  return row.regions === 'auto' ? REGIONS : (row.regions ?? []);
}

export const isReplicated = (core: Pick<Core, 'rows' | 'org'>): boolean => regionsOf(core).length > 0;
