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

/** Why an outcome is no success. */
export const refusalOf = (outcome: Exclude<Outcome, { kind: 'ok' }>): Refusal =>
  outcome.kind === 'refused' ? outcome.refusal : refuse('INTERNAL');

/** A success, or throws the refusal. */
export function unwrap<T>(outcome: Outcome<T>): Outcome<T> & { kind: 'ok' } {
  if (outcome.kind === 'ok') return outcome;
  throw new ApiError(refusalOf(outcome));
}

// Release 0.4.0 has `ok` in place of `kind`. During a deployment its Workers meet newer gates and the reverse, and its stored responses are
// replayed for a day: so both are written, and either is read.
type Written = Outcome & { ok: true | false | 'more' };
const oks = { ok: true, refused: false, more: 'more' } as const;

export const writeOutcome = (outcome: Outcome): Written => ({ ...outcome, ok: oks[outcome.kind] });

/** An outcome as a gate, or a stored response, of this release or of 0.4.0 gives it. */
export function readOutcome<T>({ ok, ...outcome }: Outcome<T> & Partial<Pick<Written, 'ok'>>): Outcome<T> {
  if (ok === undefined || outcome.kind) return outcome;
  return { ...(outcome as object), kind: ok === 'more' ? 'more' : ok ? 'ok' : 'refused' } as Outcome<T>;
}
