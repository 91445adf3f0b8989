// What the Worker and a gate exchange, the RPC methods of a gate, and the type of an operation. Invariant:
// everything here is plain data that can be sent by RPC; a refusal is a value, never an exception; it
// contains no plaintext of a secret or a token.
import type { Action, FullNeed } from '../../auth/actions';
import type { Proof } from '../../auth/authentication/dpop';
import type { TokenRef } from '../../auth/authentication/token';
import type { Caller } from '../../auth/authorize';
import type { forms } from '../../db/names';
import type { Region } from '../../db/regions';
import type { SecretRow } from '../../db/schema';
import type { IntegrityViolation, Refusal } from '../../errors';
import type { Subject } from '../audit/entry';
import type { Core } from '../core';
import type { Raised } from '../outbox';
import type { Outcome } from './outcome';
import type { Fact, Plan, Proposal } from './plan';

/** Keys that the Worker shares for one call. They cannot decrypt a value, and the gate never stores them. */
export interface LentKeys {
  /** Authenticates rows. */
  row: Uint8Array;
  /** Encrypts stored responses. */
  answer: Uint8Array;
}

/**
 * What the path itself names, by kind: the target first, then what it belongs to. An environment is an id or
 * a slug, or null for the default one; a secret is named by its name there or by its id. Checked before
 * anything in the body. A malformed name becomes an empty text, which names nothing.
 */
export type Named = { [Kind in Exclude<keyof typeof forms, 'environment'>]?: string } & {
  environment?: string | null;
};

export interface RequestFacts {
  id: string;
  ip: string;
  user_agent: string | null;
  reason: string | null;
  /** Where the request came from, according to Cloudflare. */
  place: string | null;
}

/** A Worker that is bound to the service: its organisation, its trust and its name, as its binding says. */
export interface Bound {
  org: string;
  workload: string;
  name: string;
}

/** Whom a provider has signed in, as the Worker verified it; null for nobody. */
export interface SsoIdentity {
  connection: string;
  /** The Worker refused the sign-in. */
  refused?: true;
  subject: { issuer: string; subject: string } | null;
  /** The address, if the provider says that it is verified. */
  email: string | null;
}

/** One request, parsed and validated by the Worker. */
export interface Ask {
  org: string;
  action: Action;
  /** The name of the operation that performs the action. */
  operation: string;
  /**
   * The caller: a token; a member that the Worker has authenticated; the service itself, for a job; the
   * holder of a link, by its id and the digest of its key; a trust, for a workload whose token the Worker has
   * verified or, with `refused`, has rejected; a Worker that is bound to the service; or whoever an
   * identity provider has signed in.
   */
  bearer:
    | TokenRef
    | 'bootstrap'
    | 'system'
    | { member: string }
    | { link: string; hash: string }
    | { trust: string; refused?: true }
    | Bound
    | { sso: SsoIdentity };
  /** The contents of the DPoP header, if any; and whether the token was sent with the DPoP scheme. */
  proof?: Proof;
  isDpop?: true;
  /** The organisation in the path, or null. */
  path_org: string | null;
  named: Named;
  /** What the Worker found wrong with the body, the query or the headers; refused in the contract's order. */
  finding: Refusal | null;
  /** The operation's input; null if there is a finding. */
  input: unknown;
  /** `storedFor`: for how long the response is stored, in milliseconds; a day without it. */
  idempotency: { key: string; digest: string; storedFor?: number } | null;
  /** The If-Match header of a route that changes a resource with a revision. */
  if_match?: string | null;
  /**
   * The one-time values of the response: JSON of their places and of the values, encrypted with a key derived
   * from the caller's token.
   */
  one_time: string | null;
  /**
   * Identifies the request if it uses an approval (`id`) or must be recorded as waiting for one: method,
   * path, and a keyed digest of these, the body and `call`, its X-Access-Call. `call` is here and not in
   * `request`, so that no audit entry has it.
   */
  approval?: {
    id: string | null;
    method: string;
    path: string;
    digest: string;
    call?: string;
    /** The client cannot name an approval: one that may be repeated is found by the digest. */
    isFound?: true;
  };
  /** `again`: a further round of a request that the gate answered with `more`. */
  again: boolean;
  /** The last round: what would need a further one is refused. */
  is_last?: true;
  /** A response to this request was lost: it may already have been performed. */
  repeated: boolean;
  keys: LentKeys | null;
  /** An alteration that the Worker found in the gate's data for this request. Such a call only reports it. */
  violation?: IntegrityViolation;
  request: RequestFacts;
  /** The region of the caller, where the organisation has replicas wherever it is read often. */
  region?: Region;
}

/** Secrets that are revealed together or not at all, and a text that completes "X asks to …". */
export interface Together {
  all: readonly SecretRow[];
  describes: string;
  shows?: Fact[];
}

/** A record that D1 should have before the reply leaves. */
export interface Wait {
  for: number;
  patience: number;
  /** Whether the reply is 503 otherwise: the Worker would not know what was changed. */
  must?: true;
  /** Whether it is the record of this request, and not of an earlier one. */
  isOwn?: true;
}

/** The result of an operation within the gate. */
export type OperationOutcome = Outcome & {
  /** Its audit entry is already written, or is that of an earlier call of the same request. */
  audited?: boolean;
  /** What only the operation knows about its target. */
  audit?: Partial<Subject>;
  /** For a read that reveals values: the secret, those of one file, or that held secrets were left out. */
  reveals?: SecretRow | Together | 'unheld';
  /** Events of a refusal or a read, raised in the turn of its audit entry. */
  events?: Raised[];
  /** What the reply waits for. */
  waits?: Wait;
  /** Instead of the audit entry: see `Plan.intent`. */
  intent?: Plan['intent'];
  /** It is the stored response of an earlier request, with its encrypted one-time values. */
  replay?: NonNullable<Reply['replay']>;
};

/** The remaining rate limit: `limit` per minute, `remaining` now, more in `reset` seconds. */
export interface RateLimitState {
  limit: number;
  remaining: number;
  reset: number;
}

export interface Reply<T = unknown> {
  outcome: Outcome<T>;
  rate_limit: RateLimitState | null;
  credential: string | null;
  /** Present for the stored response of an earlier request: its encrypted one-time values. */
  replay: { one_time: string | null } | null;
  d1_calls: number;
  /**
   * The regions in which the organisation has replicas, if any, and that of its gate; whether it has them
   * wherever it is read often; those that were waited out, and those whose entries may be missing.
   */
  regions?: {
    all: readonly Region[];
    gate?: Region | null;
    auto?: true;
    waited_out?: readonly Region[];
    missing?: readonly Region[];
  };
}

/** A request that has reached the gate and whose caller is not identified yet. */
export interface Arrived {
  core: Core;
  ask: Ask;
  operation: Operation;
  /** The permissions that its action needs. */
  need: FullNeed;
  /** Whether the audit log accepts only entries of urgent actions, or not even those. */
  isFull: boolean;
  isReserveFull: boolean;
}

/** A request in progress in the gate. */
export interface Call<I = unknown> extends Arrived {
  input: I;
  caller: Caller;
  /** The target in the audit entry: see `Operation.subject`. Set only by the gate's request handling. */
  subject: Subject;
  /**
   * Whether the action concerns only the caller and so needs no scope. While the audit log is full it needs
   * one, because anyone's requests could fill the rest.
   */
  isExempt(): boolean;
  /** A refusal if the caller or the rules have changed since admission. */
  recheck(): Refusal | null;
}

/** The inputs of a plan, in addition to the rows. */
export interface Found {
  /** From `before`, from `locked`, and from `authorize` in the turn of the plan. */
  fetched: unknown;
  locked: unknown;
  judged: object | null;
}

/**
 * An operation: a read returns an outcome, a change returns a plan, which is carried out in the same turn.
 */
export interface Operation<I = unknown> {
  /** A read that replicas answer too: it rests on rows and ciphertexts alone. */
  byReplica?: true;
  /** It tells of earlier requests: replicas send their entries first. */
  readsLog?: true;
  /**
   * The target in the audit entry, in addition to what the path names. Computed when the caller is
   * identified, and again in the turn of a change. What only the change knows is in its plan's `audit`.
   */
  subject?(call: Call<I>): Partial<Subject>;
  /** True if the action concerns only the caller and so needs no scope. */
  exempt?(call: Call<I>): boolean;
  /** 403 for other things that the path names, besides secrets and environments. Checked before the body. */
  reach?(call: Call<I>): Refusal | null;
  /**
   * 403 for things that only the body names; otherwise data for the plan, or null. Called before a stored
   * response is replayed, and again in the turn of a change.
   */
  authorize?(call: Call<I>, now: number): Refusal | object | null;
  read?(call: Call<I>): OperationOutcome | Promise<OperationOutcome>;
  /** Its change ends nothing, so it waits for no permits that another one has ended. */
  endsNothing?: true;
  change?: {
    /** Fetches data for the plan. */
    before?(call: Call<I>): Promise<unknown>;
    /**
     * Fetches data that depends on rows, alone with the ids and names of `locks`. The caller is checked again
     * afterwards.
     */
    locked?(call: Call<I>): Promise<unknown>;
    locks?(call: Call<I>): string[];
    /** The row whose revision If-Match names; null if it does not exist. */
    revises?(call: Call<I>): { revision: number } | null;
    plan(call: Call<I>, now: number, found: Found): Proposal;
  };
}

/**
 * `diverged`: D1 does not hold what this gate left there. `newer`: a newer release has upgraded its storage.
 * `behind`: D1 has later changes than this gate. `another`: its storage is that of another organisation.
 * `clock`: the clock is behind the audit log. `ahead`: D1 has lacked a change for minutes.
 */
export type Vitals = 'well' | 'diverged' | 'newer' | 'behind' | 'another' | 'clock' | 'ahead';

export const isRefusal = (value: object): value is Refusal => 'code' in value;

export const refusalIn = (judged: object | null | undefined): Refusal | null =>
  judged && isRefusal(judged) ? judged : null;

/**
 * What the gate of the health check holds: when a probe was last sent and came, the last survey, and when an
 * organisation last adopted the database.
 */
export interface Pulse {
  sent: number | null;
  came: number | null;
  survey: string | null;
  adopted: number | null;
}

/** What a gate says as it ends for a reset. */
export const RESET = 'this gate was reset';

export interface GateCalls extends Rpc.DurableObjectBranded {
  call(ask: Ask): Promise<Reply>;
  pulse(event?: 'sent' | 'came', at?: number): Promise<Pulse>;
  vitals(): Promise<Vitals>;
  surveyed(survey: string): Promise<void>;
  hadOrgs(): Promise<boolean>;
  adopted(): Promise<void>;
  reset(): Promise<void>;
  reserve(key: string, proposed: string, now?: number): Promise<string>;
}
