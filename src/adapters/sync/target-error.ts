// What can go wrong with a name at a target. Invariant: a message is a sentence of ours: it never holds a value, a credential or a text that the target
// answered.

/** Why a name was not written. The contract lists what each means. */
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
  /** A sentence of ours. It never holds a value, a credential or a text that the target answered. */
  message: string;
}

/** What ends a write, or the whole sync. */
export class TargetError extends Error {
  constructor(
    readonly problem: Problem,
    /** `name`: this name alone fails. `sync`: every open name fails, with this code. `stop`: this name fails with this code, what is open was not attempted. */
    readonly ends: 'name' | 'sync' | 'stop',
    /** Seconds after which the target may be called again, where it said so. */
    readonly retryAfter: number | null = null,
  ) {
    super(problem.code);
  }
}

/** The target answered in another shape than its vendor documents. */
export const unreadable = () =>
  new TargetError({ code: 'TARGET_REJECTED', message: 'The target answered in a shape that its vendor does not document.' }, 'sync');
