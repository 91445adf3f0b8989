// Errors of names at a target. Invariant: a message is our own sentence: it never contains a value, a
// credential or text from the target's response.

/** Why a name was not written. The contract lists what each code means. */
export type SyncCode =
  | 'NAME_INVALID'
  | 'NAME_COLLISION'
  | 'VALUE_TOO_LARGE'
  | 'VALUE_NOT_ALLOWED'
  | 'TARGET_AUTH'
  | 'TARGET_NOT_FOUND'
  | 'TARGET_REJECTED'
  | 'TARGET_RATE_LIMITED'
  | 'TARGET_UNREACHABLE'
  | 'NOT_ATTEMPTED'
  | 'CALLER_REVOKED'
  | 'NOT_FOUND'
  | 'SECRET_EXPIRED'
  | 'SECRET_REVOKED';

export interface Problem {
  code: SyncCode;
  /** Our own sentence. It never contains a value, a credential or text from the target's response. */
  message: string;
}

/** An error that ends a write or the whole sync. */
export class TargetError extends Error {
  constructor(
    readonly problem: Problem,
    /**
     * `name`: only this name fails. `sync`: every open name fails with this code. `stop`: this name fails
     * with this code, the open ones were not attempted.
     */
    readonly ends: 'name' | 'sync' | 'stop',
    /** Seconds to wait before calling the target again, if it sent them. */
    readonly retryAfter: number | null = null,
  ) {
    super(problem.code);
  }
}

/** What to do about a request that a target refuses for its time. */
export const SKEWED_CLOCK =
  'It refuses the time of the request: the clock of this service and that of the target differ.';

/** The target's response does not have the documented shape. */
export const unreadable = () =>
  new TargetError(
    { code: 'TARGET_REJECTED', message: 'The target sent a response that its vendor does not document.' },
    'sync',
  );
