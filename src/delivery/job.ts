// The type of a job, which `jobs.ts` runs. It is separate so that a domain can declare one.
import type { Action } from '../auth/actions';
import type { OrgKeys } from '../crypto/keyring';
import type { Env } from '../env';
import type { Outcome } from '../gate/outcome';

/** What a job works with. */
export interface JobContext {
  env: Env;
  org: string;
  keys: OrgKeys;
  /** What the job is about, where a message names it: an endpoint. */
  id: string | null;
  /** Asks the gate as the service itself: a caller of the kind `system`. Each call has an audit entry of its own. */
  ask(action: Action, input: unknown, operation?: string): Promise<Outcome>;
}

/** Safe to repeat. It throws if it must be tried again. */
export type Job = (context: JobContext) => Promise<void>;
