// The outcome of an operation: a success, a refusal, or a request to the Worker to create something first.
// Invariant: an outcome is plain data that can be sent by RPC; a refusal is a value, never an exception.
import { ApiError, type Refusal, refuse } from '../../errors';

export type Outcome<T = unknown> =
  | { kind: 'ok'; status: number; data: T; etag?: string }
  | { kind: 'refused'; refusal: Refusal }
  | More<T>;

/**
 * What the gate needs before it can answer: a `value` that only the Worker can make (a generated or encrypted
 * one), or the `digest` of the request, under which it waits for approval; or that it has given a `page`, and
 * there is another. The Worker calls again with the same request id.
 */
export interface More<T = unknown> {
  kind: 'more';
  wants: 'value' | 'digest' | 'page';
  data: T;
}

export const wants = <T>(what: More['wants'], data: T): More<T> => ({ kind: 'more', wants: what, data });

/** A success, 200 unless `extra` has another status. */
export const ok = <T>(data: T, extra?: { status?: number; etag?: string }) => ({
  kind: 'ok' as const,
  status: 200,
  data,
  ...extra,
});

export const fail = (refusal: Refusal) => ({ kind: 'refused', refusal }) as const;

/** A row as shown to the caller; 404 without one. */
export const found = <T>(row: T | null | undefined, show: (row: T) => unknown): Outcome =>
  row ? ok(show(row)) : fail(refuse('NOT_FOUND'));

/** The refusal of an unsuccessful outcome. */
export const refusalOf = (outcome: Exclude<Outcome, { kind: 'ok' }>): Refusal =>
  outcome.kind === 'refused' ? outcome.refusal : refuse('INTERNAL');

/** Returns a success; throws the refusal otherwise. */
export function unwrap<T>(outcome: Outcome<T>): Outcome<T> & { kind: 'ok' } {
  if (outcome.kind === 'ok') return outcome;
  throw new ApiError(refusalOf(outcome));
}
