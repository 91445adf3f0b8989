// D1 as the gate uses it: a read that succeeds or is unavailable, and a batch with three outcomes: done,
// refused, unknown. Invariant: a failure without an error from SQLite itself never counts as not done.

import type { Statement } from '../db/statements';
import { ApiError, refuse } from '../errors';

export type BatchEnd = { end: 'done' } | { end: 'refused'; why: string } | { end: 'unknown'; why: string };

export interface Database {
  /** One query; throws UNAVAILABLE if D1 does not respond. */
  all<T>(statement: Statement): Promise<T[]>;
  /** One transaction. */
  write(statements: Statement[]): Promise<BatchEnd>;
}

const PATIENCE = 10_000;

export function createDatabase(db: D1Database): Database {
  const bind = ({ sql, params }: Statement) => db.prepare(sql).bind(...params);
  const patiently = <T>(answer: Promise<T>): Promise<T> => {
    let timer: ReturnType<typeof setTimeout>;
    const late = new Promise<never>((_, fail) => {
      timer = setTimeout(() => fail(new Error('no response')), PATIENCE);
    });
    return Promise.race([answer, late]).finally(() => clearTimeout(timer));
  };
  const unavailable = (error: unknown): never => {
    console.error(JSON.stringify({ level: 'error', event: 'd1_read_failed', why: reason(error) }));
    throw new ApiError(refuse('UNAVAILABLE', { retry_after: 1 }));
  };
  return {
    all: async <T>(statement: Statement) =>
      (await patiently(bind(statement).all<T>()).catch(unavailable)).results,
    async write(statements) {
      try {
        await patiently(db.batch(statements.map(bind)));
        return { end: 'done' };
      } catch (error) {
        const why = reason(error);
        // safety: refused-by-constraint-only
        return { end: why.includes('constraint failed') || isTooLarge(why) ? 'refused' : 'unknown', why };
      }
    },
  };
}

/** What a promise answers; null after so many milliseconds, or without a promise. */
export async function withinTime<T>(answer: Promise<T> | null, ms: number): Promise<T | null> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<null>((done) => {
    timer = setTimeout(done, Math.max(0, ms), null);
  });
  return Promise.race([...(answer ? [answer] : []), late]).finally(() => clearTimeout(timer));
}

/**
 * Whether D1 rejected a row or a statement because of its size:
 * https://developers.cloudflare.com/d1/platform/limits/
 */
export const isTooLarge = (why: string): boolean =>
  /SQLITE_TOOBIG|string or blob too big|too large/i.test(why);

/** SQLite's messages name tables and columns, never contents; long ones are cut. */
const reason = (error: unknown) => (error instanceof Error ? error.message : 'unknown').slice(0, 200);
