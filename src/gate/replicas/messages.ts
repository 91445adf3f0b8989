// What a gate and its replicas exchange. Invariant: plain data that can be sent by RPC, without a plaintext
// of a secret or a token.

import type { Region } from '../../db/regions';
import type { RowKind } from '../../db/rows';
import type { Draft } from '../audit/entry';
import type { JournalRecord } from '../journal/records';
import type { Ask, Reply } from '../request/call';
import { STORAGE_VERSION } from '../storage-version';

/** Raise it for what a replica of the release before must not ignore, or would not understand. */
const OWN = 1;

/**
 * Of what replicas store and exchange; a step of the gate's storage changes it too. While a deployment is
 * under way, Worker, gate and replica may be of two releases: where their formats differ, the replica gets no
 * lease, takes no records and answers nothing. Entries are taken whatever the format, so a release must
 * understand those of the one before.
 */
export const FORMAT = OWN * 1000 + STORAGE_VERSION;

/** For how long a lease lets a replica answer alone, in milliseconds, as the gate counts it. */
export const TERM = 5000;
/** How much earlier the replica stops: elapsed time on two machines may differ by 10 %. */
export const MARGIN = 500;

/** One instance of a replica, and how far it follows. */
export interface Follower {
  region: Region;
  /** A random id of the instance: another one may still run, and answers for itself alone. */
  holder: string;
  /** A random id of its storage. */
  storage: string;
  format: number;
  /** The term that it follows, and up to which record. */
  term: string | null;
  position: number;
  /** The id of that record: the same number means another one after storage was put back from a copy. */
  record: string;
}

/** A number of requests of a credential that a replica may answer, until its lease ends. */
export interface Lent {
  id: string;
  credential: string;
  count: number;
  /** The state of the rate limit without them. */
  limit: number;
  remaining: number;
}

/** What a replica asks of the gate. */
export interface LeaseAsk extends Follower {
  /** How many more requests of each credential it would answer. */
  wants: { credential: string; count: number }[];
  /** What it was lent and no longer uses. All entries that used it have been taken. */
  returns: string[];
  /** Its requests of the last minute. */
  reads_per_minute: number;
  /** How many requests of callers in other regions it answered since it asked last. */
  for_others?: [region: Region, reads: number][];
}

/**
 * The gate's answer: a lease, `last` being the last record decided before it, and `taken` the number of the
 * last entry that it has of the replica's storage; `restart`: the replica loads
 * all rows; `wait`: no lease for so many milliseconds; `end`: the organisation has no replica there.
 */
export type LeaseAnswer =
  | {
      kind: 'lease';
      last: number;
      stable: number;
      records: JournalRecord[];
      lent: Lent[];
      /** What the replica tells Workers. */
      regions: NonNullable<Reply['regions']>;
      taken: number;
    }
  | { kind: 'restart' }
  | { kind: 'wait'; for: number }
  | { kind: 'end' };

/** Rows for a replica that begins: a page in the order of kind and id. */
export interface RowPage {
  term: string;
  /** The last record decided before the page was read, and its id. */
  position: number;
  record: string;
  rows: { kind: RowKind; row: { id: string } }[];
  /** The revisions of environments. */
  revised: Record<string, number>;
  next: [kind: string, id: string] | null;
}

/** Records for a replica, and up to which one all replicas have them. */
export interface Push {
  format: number;
  term: string;
  records: JournalRecord[];
  stable: number;
}

/** Which instance took a push, and how far it follows. */
export interface Taken {
  holder: string;
  term: string | null;
  position: number;
}

/** The audit entry of a request that a replica answered. */
export interface ReplicaEntry {
  n: number;
  draft: Draft;
  status: number;
  /** How long ago it was written, in milliseconds. */
  age: number;
  /** Which lent requests it used, and the credentials above the one that was used. */
  used: { lent: string; credential: string; above: string[] } | null;
  place: string | null;
}

export interface ReplicaCalls extends Rpc.DurableObjectBranded {
  /** Null: ask the gate. `format`: that of the Worker. */
  answer(ask: Ask, region: Region, format: number): Promise<Reply | null>;
  push(push: Push): Promise<Taken>;
  /** Its region was taken out: it deletes everything, once its entries are taken. Returns whether it has. */
  leave(): Promise<boolean>;
  /** Sends its entries to the gate. Returns what is left. */
  flush(): Promise<number>;
  /** Stops using what it was lent for a credential, and sends its entries. Returns what it no longer uses. */
  recall(credential: string): Promise<{ holder: string; returns: string[] }>;
}

/** The calls of a gate by its replicas. */
export interface ReplicatedCalls {
  lease(ask: LeaseAsk): Promise<LeaseAnswer>;
  rowsFrom(follower: Follower, from: [kind: string, id: string] | null): Promise<RowPage | null>;
  /** Takes entries. Returns the number of the last one that it has of this storage. */
  takeEntries(region: Region, storage: string, entries: ReplicaEntry[]): Promise<number>;
}
