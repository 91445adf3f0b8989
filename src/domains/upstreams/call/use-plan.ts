// What the gate decides about one call of an upstream, and what forwarding it needs. Types alone: the gate
// judges the call as `UseCall` describes it, the Worker opens the values of the plan, and `forward` sends it.
import type { UpstreamAuth } from '../../../db/upstreams';

/** A token that the service gets itself, and sends as `Authorization: Bearer`. */
export type OwnToken = Extract<
  UpstreamAuth,
  { type: 'oauth2_client_credentials' | 'google_service_account' | 'github_app' }
>;

/** A call as the gate judges it: what the caller wrote, without what is not sent on. */
export interface UseCall {
  upstream: string;
  method: string;
  /** Behind the upstream's name, as the caller wrote it. It may be sent: see `isPlainPath`. */
  path: string;
  /** Of a call by its whole URL: where that leads. `path` then begins with the path of the base URL. */
  origin?: string;
  /** As the caller wrote it: empty, or beginning with `?`. */
  query: string;
  /** What would be sent on, in lower case and sorted, without what `auth` sets. */
  headers: readonly (readonly [name: string, value: string])[];
  /** Of `Content-Length`; null if there is a body of unknown length. */
  bytes: number | null;
  isWebSocket: boolean;
  /**
   * Only where the gate asked for the whole body. `digest` is what an approval is bound to, `shown` the body
   * as deciders see it.
   */
  whole: { digest: string; body_bytes: number; shown?: string } | null;
}

/** The opened value of a secret that `auth` names. */
export interface PlacedValue {
  value: string;
  /** It is of the type `password`, and this service did not generate it. */
  isChosen: boolean;
}

export interface UsePlan {
  upstream: { id: string; name: string; base_url: string };
  auth: readonly UpstreamAuth[];
  /** By the name in `{{NAME}}`. */
  values: Readonly<Record<string, PlacedValue>>;
  max_request_bytes: number;
  max_response_bytes: number;
  timeout_seconds: number;
  /** The call was held: only what its digest covers is sent on, and this key as `Idempotency-Key`. */
  held: { idempotency_key: string | null } | null;
}

/** How a call ended after its answer began. */
export type UseEnd =
  | 'complete'
  | 'caller_gone'
  | 'upstream_broke_off'
  | 'too_large'
  | 'timeout'
  | 'credential_ended';

/** What forwarding a call needs of its surroundings. */
export interface UsePorts {
  /** Aborts as soon as the credential or the upstream ends: the call is broken off. */
  ends: AbortSignal;
  /**
   * Makes the audit entry of the call durable, before its answer begins. `status` is null if there is no
   * answer; then `code` tells why. False if the answer may no longer be given.
   */
  answered(answer: { status: number | null; code: string | null; request_bytes: number }): Promise<boolean>;
  /** Called once after an answer began. `isNoted`: it took over 60 s, or was cut off. */
  ended(end: { response_bytes: number; how: UseEnd; isNoted: boolean }): Promise<void>;
  /** The token of `auth[index]`: one that is kept and still lasts, or what `get` gets, which is kept. */
  ownToken(index: number, get: () => Promise<{ token: string; expires_at: number }>): Promise<string>;
  /** Work that goes on after the answer began. */
  defer(work: Promise<unknown>): void;
}
