// Used proofs of possession (DPoP). Invariant: stored durably, so an eviction of the gate allows no replay.

import { part } from './part';

/**
 * How long after its time a proof is remembered, in milliseconds: twice its validity, because the clock of the gate's next host may be
 * behind.
 */
const KEPT = 120_000;
const SWEPT_EVERY = 60_000;

export interface DeviceProofs {
  /** Whether this proof already admitted another request. */
  isUsed(device: string, jti: string, request: string): boolean;
  use(device: string, jti: string, request: string, iat: number, now: number): void;
}

export function createDeviceProofs(sql: SqlStorage): DeviceProofs {
  sql.exec(
    'create table if not exists proofs (device text not null, jti text not null, request text not null, iat integer not null, primary key (device, jti)) without rowid',
  );
  let swept = 0;
  return {
    isUsed: (device, jti, request) =>
      sql.exec('select 1 from proofs where device = ? and jti = ? and request <> ?', device, jti, request).toArray().length > 0,
    use(device, jti, request, iat, now) {
      // safety: proof-used-once
      sql.exec('insert or ignore into proofs values (?, ?, ?, ?)', device, jti, request, iat);
      if (Math.abs(now - swept) < SWEPT_EVERY) return;
      swept = now;
      sql.exec('delete from proofs where iat < ?', now - KEPT);
    },
  };
}

export const deviceProofs = part(({ storage }) => createDeviceProofs(storage.sql));
