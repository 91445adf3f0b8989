// What a change will do: built and carried out in one turn, by `answer/commit.ts`.

import type { Caller } from '../../auth/authorize';
import type { RowKind, RowTypes } from '../../db/rows';
import type { SecretRow, UpstreamRow, VersionRow } from '../../db/schema';
import type { Statement } from '../../db/statements';
import type { Refusal } from '../../errors';
import type { Draft, Subject } from '../audit/entry';
import type { Core } from '../core';
import type { Raised } from '../outbox';
import type { More } from './outcome';

/** A new row state, and the revision that it replaces; 0 for a new row. */
export type Put = { [K in RowKind]: { kind: K; row: RowTypes[K]; from: number } }[RowKind];

/** Somebody for whom a request is made. `accountable`: of one that is known by these members alone. */
export type Doer = Pick<Caller, 'kind' | 'id' | 'credential'> & { accountable?: readonly string[] };

/** The details of a new approval. */
export interface ApprovalDetails {
  id: string;
  root: string;
  /** The credential that asked: for a member, the session. */
  credential: string;
  sealed: string;
  until: number;
}

/** What a change will do. Rows come from `insertion` and `revision`, so they have a MAC. */
export interface Plan {
  status: number;
  /** The body of the response, without its one-time values. */
  data: unknown;
  etag?: string;
  writes?: Put[];
  deletes?: { kind: RowKind; id: string }[];
  /** New versions; their ciphertexts are added to the cache. */
  versions?: VersionRow[];
  /** Further statements for D1, before those of its rows. */
  statements?: Statement[];
  environments?: string[];
  destroyed?: string[];
  trimmed?: { secret: string; version: number }[];
  /** The resource that stored one-time values belong to. */
  resource?: string;
  events?: Raised[];
  /** What only the change knows about its target, for the audit entry. */
  audit?: Partial<Subject>;
  /** The change is recorded and the request refused: it waits for approval. */
  refusal?: Refusal;
  /** Secrets whose values are sent out with it. */
  reveals?: SecretRow[];
  /** Secrets whose values it copies to other secrets. */
  copies?: SecretRow[];
  /** Secrets that are used through an upstream, and whether the call can change something there. */
  uses?: { upstream: UpstreamRow; secrets: SecretRow[]; isWriting: boolean; isOnce: boolean };
  /** Keeps what the audit entry will say, instead of writing it: its outcome is not known yet. */
  intent?(core: Core, draft: Draft): void;
  /** Those for whom it is made, besides its caller: approval policies judge them together. */
  doers?: Doer[];
  /** The response of a read is not stored. */
  isRead?: true;
  /** What it requests, without any value, worded to complete "X asks to …" for approvers. */
  describes?: string;
  /** What else deciders are shown of it, without any value: see approvals/shown.ts. */
  shows?: Fact[];
  /** What is kept of a request that waits for approval. */
  details?: ApprovalDetails;
}

/** One thing that deciders are shown of a held request, in words. */
export interface Fact {
  name: string;
  value: string;
}

/**
 * What an operation answers when it is asked for a plan: the plan, a refusal, or what the Worker must produce
 * first.
 */
export type Proposal = Plan | Refusal | More;
