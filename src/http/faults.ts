// What was thrown while a request was handled, as a refusal. Invariant: an unexpected error is logged without
// the data of the request, and not described to the caller.
import { databaseRefusal } from '../db/unavailable';
import { ApiError, type Refusal, refuse } from '../errors';

export function refusalOfFault(error: unknown, request_id: string): Refusal {
  if (error instanceof ApiError) return error.refusal;
  const ofDatabase = databaseRefusal(error);
  if (ofDatabase) return ofDatabase;
  const { name, message, stack } = error instanceof Error ? error : new Error('unknown');
  console.error(
    JSON.stringify({
      level: 'error',
      event: 'fault',
      request_id,
      why: `${name}: ${message}`.slice(0, 300),
      stack: stack?.slice(0, 600),
    }),
  );
  return refuse('INTERNAL');
}
