// What a failure of D1 is to a caller: 503, and try again. Invariant: the log has D1's own message, which
// names tables and columns, never a statement with its values.
import { DrizzleQueryError } from 'drizzle-orm/errors';
import { ApiError, type Refusal, refuse } from '../errors';

/** Answers a query that failed with UNAVAILABLE. */
export function unavailable(error: unknown): never {
  throw new ApiError(refusalOf(error));
}

/** The refusal for an error that comes from D1; null for any other. */
export function databaseRefusal(error: unknown): Refusal | null {
  const isOfD1 =
    error instanceof DrizzleQueryError || (error instanceof Error && error.message.startsWith('D1_'));
  return isOfD1 ? refusalOf(error) : null;
}

function refusalOf(error: unknown): Refusal {
  // The message of Drizzle is the statement with its values.
  const cause = error instanceof DrizzleQueryError ? error.cause : error;
  const why = cause instanceof Error ? cause.message.slice(0, 200) : 'unknown';
  console.error(JSON.stringify({ level: 'error', event: 'd1_read_failed', why }));
  return refuse('UNAVAILABLE', { retry_after: 2 });
}
