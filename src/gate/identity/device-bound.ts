// Which credentials, except session tokens, are bound to which devices: to revoke them with a device.
// Answered from a covering index on the gate's rows, so it never scans an organisation's credentials, most of
// which are not bound.
import { BRIEF_KINDS, leastGeneration } from '../../db/credential-kinds';
import type { OrgRow } from '../../db/schema';
import { part } from '../part';

export interface Bound {
  /** Those that are live by their own row and generation: how many, by device and parent. */
  live(now: number, org: OrgRow): { device: string; parent: string | null; n: number }[];
  /** Schedules the sweep of credentials bound to these devices, no later than their own sweep time. */
  orphan(devices: string[], at: number): void;
}

export function createBound(sql: SqlStorage): Bound {
  const where = `kind = 'credential' and body ->> 'device_id' is not null and space not in ${BRIEF_KINDS} and body ->> 'revoked_at' is null`;
  sql.exec(
    `create index if not exists rows_bound on rows (body ->> 'device_id', body ->> 'dies_with', space, body ->> 'expires_at', body ->> 'generation', id)
      where ${where}`,
  );
  return {
    live: (now, { generation, keys_generation, spared }) =>
      sql
        .exec<{ device: string; parent: string | null; n: number }>(
          `select body ->> 'device_id' device, body ->> 'dies_with' parent, count(*) n from rows indexed by rows_bound
            where ${where} and coalesce(body ->> 'expires_at', 9e15) > ?
              and (coalesce(body ->> 'generation', 0) >= ${leastGeneration('space')} or id = ?)
            group by device, parent`,
          now,
          keys_generation ?? 0,
          generation ?? 0,
          spared,
        )
        .toArray(),
    orphan(devices, at) {
      sql.exec(
        `update rows indexed by rows_bound set sweep_at = ?1 where ${where} and (sweep_at is null or sweep_at > ?1)
          and body ->> 'device_id' in (select value from json_each(?2))`,
        at,
        JSON.stringify(devices),
      );
    },
  };
}

export const bound = part(({ storage }) => createBound(storage.sql));
