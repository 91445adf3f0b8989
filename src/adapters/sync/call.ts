// Calls to a platform and vendor-specific behaviour: the types shared by adapters, the client and its error
// handling.
import type { Answered, GuardedRequest, Unreachable } from '../../delivery/egress';

/** Vendor-specific behaviour. */
export interface Vendor {
  /** Headers of every call, such as authentication. */
  headers?: Record<string, string>;
  /** Signs a call at the effective address; returns all headers. */
  sign?(request: {
    method: string;
    url: string;
    headers: Record<string, string>;
    body: string;
  }): Promise<Record<string, string>>;
  /** The vendor's own error code in the body of a response. */
  code?(body: unknown): unknown;
  /** What the caller can do about an error, in our own words. */
  advice?(reply: Reply): string | null;
  /**
   * The meaning of a response if its status does not determine it: errors in a 200, rate limits in a 400,
   * unusual permission errors.
   */
  meaning?(reply: Reply): Meaning | null;
}

/** `unauthenticated`: the credential itself is refused for any use. `auth`: it lacks permission for this. */
export type Meaning = 'rate_limit' | 'unauthenticated' | 'auth' | 'not_found' | 'rejected' | 'ok';

/** The purpose of a call: a refused token or listing ends the sync. */
export type Purpose = 'token' | 'list' | 'write';

export interface Call {
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** The vendor's own URL; `PLATFORM_BASE_URLS` replaces its origin. */
  url: string;
  /** By default `list` for GET, otherwise `write`. */
  purpose?: Purpose;
  headers?: Record<string, string>;
  /** Sent as JSON. */
  json?: unknown;
  /** Sent as a form. */
  form?: Record<string, string>;
  /** Statuses and vendor codes, besides 2xx, that the adapter handles itself. */
  expects?: readonly (number | string)[];
  /** Statuses and codes that mean "not yet": the call is repeated until the waiting time is used up. */
  pending?: readonly (number | string)[];
  /**
   * For a write that must not be done twice: this call is made before another attempt, and the write is done
   * if its reply says so.
   */
  settle?: { call: Call; done(reply: Reply): boolean };
  /** Whether the vendor's headers are omitted, as in token calls. */
  bare?: boolean;
}

export interface Reply {
  status: number;
  headers: Headers;
  /** The body as JSON; undefined if it is not JSON. */
  body: unknown;
  /** The vendor's own error code, if there is one. */
  code: string | null;
  /** Whether an earlier attempt of this call may have been carried out: it got no response, or a 5xx. */
  isRepeat: boolean;
}

/** Whether calls may begin. */
export interface Permit {
  /** Asked right before each call. */
  mayBegin(): Promise<boolean>;
  /** Calls that must not be cut apart: whatever stops the sync waits for them, for some seconds. */
  whole<T>(run: () => Promise<T>): Promise<T>;
  /** Why no call may begin. */
  refusal(): Error;
  /** Whether another job continues, so that what has no answer here is not a result. */
  isHandedOver(): boolean;
}

export type Fetch = (
  url: string,
  request: GuardedRequest,
) => Promise<Answered | { unreachable: Unreachable; ms: number }>;
