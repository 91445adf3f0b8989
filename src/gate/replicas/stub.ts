// The calls of a replica, from its gate and from Workers.

import type { Region } from '../../db/regions';
import { type Core, type Replicas, replicaOf } from '../core';
import type { ReplicaCalls } from './messages';

export type ReplicaStub = Omit<ReplicaCalls, keyof Rpc.DurableObjectBranded>;

/** Of this gate's organisation. */
export const replicaIn = (core: Pick<Core, 'replica'>, region: Region): ReplicaStub =>
  core.replica(region) as ReplicaStub;

/** Of any organisation. */
export const stubOf = (replicas: unknown, org: string, region: Region): ReplicaStub =>
  replicaOf(replicas as Replicas, org, region) as ReplicaStub;
