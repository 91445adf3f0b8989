// What an organisation is told of its replicas.

import type { Region } from '../../db/regions';
import type { Core } from '../core';
import { journal } from '../journal/records';
import { leases } from './leases';
import { regionsOf } from './regions';
import { readsPerMinute } from './serve';

export interface ReplicaState {
  region: Region;
  /** `starting`: it has had no lease since the gate began. `stopped`: nothing is read there at present. */
  status: 'starting' | 'serving' | 'stopped';
  reads_per_minute: number;
  /** How many changes it lacks. */
  behind: number;
}

/** The state of each region. */
export function replicaStates(core: Core): ReplicaState[] {
  const now = core.now();
  return regionsOf(core).map((region) => {
    const lease = leases(core).of(region)?.lease;
    const isServing = lease != null && lease.until > now;
    return {
      region,
      status: isServing ? 'serving' : lease ? 'stopped' : 'starting',
      reads_per_minute: readsPerMinute(core, region, now),
      behind: isServing ? journal(core).last() - leases(core).acknowledged(region, lease.holder) : 0,
    };
  });
}
