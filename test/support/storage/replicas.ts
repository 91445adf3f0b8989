// Organisations with replicas: reads from a region, what a replica has in it, and a gate whose replicas say
// nothing.
import { evictDurableObject, runInDurableObject } from 'cloudflare:test';
import { env } from 'cloudflare:workers';
import { expect } from 'vitest';
import type { Region } from '../../../src/db/regions';
import { type Draft, SYSTEM_ACTOR } from '../../../src/gate/audit/entry';
import { type Core, replicaName } from '../../../src/gate/core';
import { type ChangeRecord, journal } from '../../../src/gate/journal/records';
import { FORMAT, type LeaseAsk } from '../../../src/gate/replicas/messages';
import type { Replica } from '../../../src/objects/replica';
import type { Entries } from '../../../src/replica/entries';
import type { Following } from '../../../src/replica/following';
import type { Loans } from '../../../src/replica/loans';
import type { Times } from '../../../src/replica/times';
import { inCore } from '../gate';
import { type Answer, type Caller, newOrg } from '../world';

export const from = (region: string) => ({ 'Svc-Test-Region': region });

/** Who answered: a region, or the gate. */
export const regionOf = ({ headers }: Pick<Answer, 'headers'>) => headers.get('svc-region');

/** Reads from a region until its replica answers. */
export async function warm(o: Caller, path: string, region: string) {
  for (let tries = 0; tries < 500; tries++) {
    const answer = await o.get(path, from(region));
    if (regionOf(answer) === region) return answer;
    await new Promise((done) => setTimeout(done, 20));
  }
  throw new Error(`the replica in ${region} does not answer ${path}`);
}

export async function replicated(regions = ['weur', 'oc']) {
  const o = await newOrg();
  expect((await o.patch('', { regions })).status).toBe(200);
  return o;
}

/** A replica from inside. */
export interface Inside {
  core: Core;
  entries: Entries;
  following: Following;
  loans: Loans;
  times: Times;
  lease: { until: number; last: number } | null;
  requests: number;
  notBefore: number;
  answer: Replica['answer'];
  push: Replica['push'];
  follower(): object;
  begin(): { core: Core; noted(): { draft: Draft }[] };
  gate(): object;
  isOf(org: string, region: Region): boolean;
  join(): Promise<void>;
  renewed(): Promise<void>;
  flush: Replica['flush'];
  recall: Replica['recall'];
  leave: Replica['leave'];
}

const replicaOf = (o: { id: string }, region: Region) => {
  const { REPLICA } = env as unknown as { REPLICA: DurableObjectNamespace<Replica> };
  return REPLICA.getByName(replicaName(o.id, region));
};

export const inReplica = <T>(
  o: { id: string },
  region: Region,
  run: (replica: Inside) => T | Promise<T>,
): Promise<T> => runInDurableObject(replicaOf(o, region), (replica) => run(replica as unknown as Inside));

export const evictReplica = (o: { id: string }, region: Region) => evictDurableObject(replicaOf(o, region));

/** Leaves storage that no release can open. */
export async function breakReplica(o: { id: string }, region: Region) {
  await inReplica(o, region, ({ core: { storage } }) => {
    storage.sql.exec('drop table rows');
    storage.sql.exec('create table rows (other text)');
  });
  await evictReplica(o, region);
}

/** No replica answers the gate. */
export function silence(core: Core): void {
  core.replica = () => ({ push: () => new Promise(() => {}), flush: async () => 0 }) as never;
}

/** How an instance of the replica in `oc` asks for a lease. It has all records. */
export const askFor = (
  core: Core,
  { position = journal(core).last(), ...fields }: Partial<LeaseAsk> = {},
): LeaseAsk => ({
  region: 'oc',
  holder: 'one',
  storage: 'storage one',
  format: FORMAT,
  term: journal(core).term(),
  position,
  record: journal(core).idOf(position) ?? '',
  wants: [],
  returns: [],
  reads_per_minute: 0,
  ...fields,
});

/** A record on which each request rests. */
export const general = (): ChangeRecord => ({
  id: crypto.randomUUID(),
  request: null,
  at: Date.now(),
  resource: null,
  writes: [],
  deletes: [{ kind: 'share', id: 'share_none' }],
  versions: [],
  trimmed: [],
  statements: [],
});

/** Until the gate has decided something after a record. */
export async function decidedAfter(o: Caller, n: number): Promise<void> {
  for (let tries = 0; tries < 500; tries++) {
    if (await inCore(o, (core) => journal(core).last() > n)) return;
    await new Promise((done) => setTimeout(done, 5));
  }
  throw new Error('nothing was decided');
}

/** The draft of an entry. */
export const draft = (request_id: string) => ({
  actor: SYSTEM_ACTOR,
  action: 'secret.read',
  resource: null,
  environment: null,
  version: null,
  reason: null,
  request_id,
  ip: '',
  user_agent: null,
});
