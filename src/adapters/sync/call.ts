// What is called at a platform, and what a vendor does in its own way: the words that adapters, the client and its judgement share.
import type { Answered, GuardedRequest, Unreachable } from '../../delivery/egress';

/** What a vendor does in its own way. */
export interface Vendor {
  /** Headers of every call: authentication above all. */
  headers?: Record<string, string>;
  /** Signs a call at the address in effect; gives all headers. */
  sign?(request: { method: string; url: string; headers: Record<string, string>; body: string }): Promise<Record<string, string>>;
  /** The vendor's own error code in the body of a response. */
  code?(body: unknown): unknown;
  /** What the caller can do about an error: a sentence of ours. */
  advice?(reply: Reply): string | null;
  /** What a response means where its status alone does not say so: errors in a 200, rate limits in a 400, permissions in other words. */
  meaning?(reply: Reply): Meaning | null;
}

/** `unauthenticated`: the credential itself is refused, whatever it is used for. `auth`: it may not do this. */
export type Meaning = 'rate_limit' | 'unauthenticated' | 'auth' | 'not_found' | 'rejected' | 'ok';

/** What a call is for: the refusal of a token, or of a listing, ends the sync. */
export type Purpose = 'token' | 'list' | 'write';

export interface Call {
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** The vendor's own URL; `PLATFORM_BASE_URLS` replaces its origin. */
  url: string;
  /** By default `list` for GET, else `write`. */
  purpose?: Purpose;
  headers?: Record<string, string>;
  /** Sent as JSON. */
  json?: unknown;
  /** Sent as a form. */
  form?: Record<string, string>;
  /** Statuses and codes of the vendor that the adapter deals with itself, beside 2xx. */
  expects?: readonly (number | string)[];
  /** Statuses and codes which say that it cannot be done yet: it is tried again until the waits are spent. */
  pending?: readonly (number | string)[];
  /** For a write that must not be done twice: before another try this is asked, and the write is over where its reply says so. */
  settle?: { call: Call; done(reply: Reply): boolean };
  /** Whether the vendor's headers are left out: token calls. */
  bare?: boolean;
}

export interface Reply {
  status: number;
  headers: Headers;
  /** The body as JSON; undefined for what is none. */
  body: unknown;
  /** The vendor's own error code, if there is one. */
  code: string | null;
  /** Whether an earlier try of this call may have been carried out: it got no answer, or a 5xx. */
  isRepeat: boolean;
}

export type Fetch = (url: string, request: GuardedRequest) => Promise<Answered | { unreachable: Unreachable; ms: number }>;
