// The type of a job, which `queue.ts` runs. Separate, so that a domain can declare one.
import type { Action } from '../auth/actions';
import type { Env } from '../env';
import type { Outcome } from '../gate/request/outcome';
import type { OrgKeys } from '../keys/keyring';

/** The context of a job. */
export interface JobContext {
  env: Env;
  org: string;
  keys: OrgKeys;
  /** The subject of the job, if a message names one: an endpoint. */
  id: string | null;
  /** Notes an observation for `GET /metrics`. */
  measure(name: 'svc_log_stream_lag_seconds', labels: readonly string[], value: number): void;
  /** Calls the gate as the service itself, a caller of kind `system`. Each call has its own audit entry. */
  ask(action: Action, input: unknown, operation?: string): Promise<Outcome>;
}

/** Safe to repeat. Throws if it must be retried. */
export type Job = (context: JobContext) => Promise<void>;
