// What passes between the Worker and a gate, and what an operation is. Invariant: everything here is plain data that survives an
// RPC; a refusal is a value, never an exception; no plaintext of a secret or a token is among it.
import type { Action, FullNeed } from '../auth/actions';
import type { Caller } from '../auth/authorize';
import type { Proof } from '../auth/dpop';
import type { TokenRef } from '../auth/token';
import type { SecretRow } from '../db/schema';
import type { IntegrityViolation, Refusal } from '../errors';
import type { Subject } from './audit-entry';
import type { Core } from './core';
import type { Raised } from './outbox';
import type { Outcome } from './outcome';
import type { Plan } from './plan';
import type { RateLimitState } from './rate-limit';

/** Keys that the Worker lends for one call. They neither open a value nor are they ever stored by the gate. */
export interface LentKeys {
  /** Authenticates rows. */
  row: Uint8Array;
  /** Encrypts stored responses. */
  answer: Uint8Array;
}

/** What the path itself names; judged before anything in the body. What is not well formed stands as an empty text, which names nothing. */
export interface Named {
  /** An environment, by id or slug; null for the default one. */
  environment?: string | null;
  /** A secret's name in that environment. */
  name?: string;
  /** A secret, by id. */
  secret?: string;
  /** A credential, by id. */
  credential?: string;
  /** A member, team, grant or passkey, by id. */
  member?: string;
  team?: string;
  grant?: string;
  passkey?: string;
  policy?: string;
  approval?: string;
  device?: string;
  webhook?: string;
  delivery?: string;
  integration?: string;
  share?: string;
  sync?: string;
}

export interface RequestFacts {
  id: string;
  ip: string;
  user_agent: string | null;
  reason: string | null;
  /** Where the request came in, as Cloudflare tells it. */
  place: string | null;
}

/** One request, parsed and validated by the Worker. */
export interface Ask {
  org: string;
  action: Action;
  /** How the action is done: the name of its operation. */
  operation: string;
  /**
   * Whose token; or a member for whom the Worker vouches, having seen them sign in; or the service itself, for a job; or whoever has a link, by its
   * id and the digest of its key; or a trust, for a workload whose token the Worker has verified or, with `refused`, has not.
   */
  bearer: TokenRef | 'bootstrap' | 'system' | { member: string } | { link: string; hash: string } | { trust: string; refused?: true };
  /** What the header DPoP holds, where there is one; and whether the token came under the scheme DPoP. */
  proof?: Proof;
  isDpop?: true;
  /** The org that the path names, or null if it names none. */
  path_org: string | null;
  named: Named;
  /** What the Worker found wrong with the body, the query or the headers; refused in the contract's order. */
  finding: Refusal | null;
  /** The operation's input; null if there is a finding. */
  input: unknown;
  idempotency: { key: string; digest: string } | null;
  /** The one-time values of the answer: JSON of their places in it, and of them, encrypted under a key that only the bearer has. */
  one_time: string | null;
  /**
   * Which request this is, where it says by which approval it may be done (`id`), or where the gate has to note that it waits for one: method, path
   * and a keyed digest of these and of the body.
   */
  approval?: { id: string | null; method: string; path: string; digest: string };
  /** `again`: the second half of a request that the gate answered with `more`. */
  again: boolean;
  /** The reply to this very request was lost once: it may have been done. */
  repeated: boolean;
  keys: LentKeys | null;
  /** What the Worker found altered in what the gate gave it for this very request. Such a call only reports it. */
  violation?: IntegrityViolation;
  request: RequestFacts;
}

/** Secrets that are revealed together or not at all, and for what: words that finish the sentence "X asks to …". */
export interface Together {
  all: readonly SecretRow[];
  describes: string;
}

/** What an operation answers within the gate. */
export type OperationOutcome = Outcome & {
  /** Its audit entry is written already, or is that of an earlier call of the same request. */
  audited?: boolean;
  /** What only the operation knows of its target. */
  about?: Partial<Subject>;
  /** Of a read that reveals values: the secret, or those of one file, or that what is held for approval was left out. */
  reveals?: SecretRow | Together | 'unheld';
  /** What a refusal or a read raises, in the turn of its audit entry. */
  events?: Raised[];
};

export interface Reply<T = unknown> {
  outcome: Outcome<T>;
  rate_limit: RateLimitState | null;
  credential: string | null;
  /** Present where this is the stored response of an earlier request: its encrypted one-time values. */
  replay: { one_time: string | null } | null;
  d1_calls: number;
}

/** One request under way in the gate. */
export interface Call<I = unknown> {
  core: Core;
  ask: Ask;
  /** What its action needs. */
  need: FullNeed;
  input: I;
  caller: Caller;
  /** What the audit entry says of the target: see `Operation.subject`. Only the gate's request handling sets it. */
  subject: Subject;
  /** Whether the action concerns the caller alone, and so needs no scope. While the audit log is full it needs one: what anybody may do could fill the rest. */
  isExempt(): boolean;
  /** Refuses if the caller or the rules have changed since it was admitted. */
  recheck(): Refusal | null;
}

/** What a plan is made with, besides the rows under lock. */
export interface Found {
  /** By `before`, by `locked`, and by `authorize` under the locks. */
  fetched: unknown;
  locked: unknown;
  judged: object | null;
}

/** Something that a caller can do: a read answers an outcome, a change a plan, made while its rows are locked. */
export interface Operation<I = unknown> {
  /**
   * What the audit entry says of the target, beside what the path names. Computed when the caller is identified, and again under the locks
   * of a change. What only the change itself knows is in the `about` of its plan.
   */
  subject?(call: Call<I>): Partial<Subject>;
  /** True where the action concerns the caller alone, and so needs no scope. */
  exempt?(call: Call<I>): boolean;
  /** 403 for what the path names, besides secrets and environments. Judged before the body. */
  reach?(call: Call<I>): Refusal | null;
  /**
   * 403 for what only the body names; else what was judged, for the plan, or null. Called before a stored response is replayed, and again under
   * the locks of a change.
   */
  authorize?(call: Call<I>, now: number): Refusal | object | null;
  read?(call: Call<I>): OperationOutcome | Promise<OperationOutcome>;
  change?: {
    /** What must stand still meanwhile: ids of rows, and names that are to be unique. */
    locks(call: Call<I>): string[];
    /** What has to be fetched before the plan can be made. */
    before?(call: Call<I>): Promise<unknown>;
    /** What has to be fetched while the rows are locked. The caller is judged again after it. */
    locked?(call: Call<I>): Promise<unknown>;
    plan(call: Call<I>, now: number, found: Found): Plan | Refusal | { more: unknown };
  };
}

export const isRefusal = (value: object): value is Refusal => 'code' in value;

export const refusalIn = (judged: object | null | undefined): Refusal | null => (judged && isRefusal(judged) ? judged : null);
