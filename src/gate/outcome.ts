// What an operation answers: a success, a refusal, or that the Worker has to make something first. Invariant: an outcome is plain data that
// survives an RPC; a refusal is a value, never an exception.
import { ApiError, type Refusal, refuse } from '../errors';

export type Outcome<T = unknown> =
  | { kind: 'ok'; status: number; data: T; etag?: string }
  | { kind: 'refused'; refusal: Refusal }
  /** The Worker has to make something first (a generated value), and then asks again under the same request id. */
  | { kind: 'more'; data: T };

/** A success, 200 where `extra` gives no other status. */
export const ok = <T>(data: T, extra?: { status?: number; etag?: string }) => ({ kind: 'ok' as const, status: 200, data, ...extra });

export const fail = (refusal: Refusal) => ({ kind: 'refused', refusal }) as const;

/** A row as it is shown; 404 where there is none. */
export const found = <T>(row: T | null | undefined, show: (row: T) => unknown): Outcome =>
  row ? ok(show(row)) : fail(refuse('NOT_FOUND'));

/** Why an outcome is no success. */
export const refusalOf = (outcome: Exclude<Outcome, { kind: 'ok' }>): Refusal =>
  outcome.kind === 'refused' ? outcome.refusal : refuse('INTERNAL');

/** A success, or throws the refusal. */
export function unwrap<T>(outcome: Outcome<T>): Outcome<T> & { kind: 'ok' } {
  if (outcome.kind === 'ok') return outcome;
  throw new ApiError(refusalOf(outcome));
}
