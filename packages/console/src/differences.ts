// What differs between the state of a resource that a member saw and the current one. Pure.
/** A field that differs, by its name in the API. */
export interface Difference {
  field: string;
  before: unknown;
  now: unknown;
}

/** Fields that change by themselves, or say only that something else did. */
const INCIDENTAL = /^(revision|etag|updated_?at|last_used_(at|place)|use_count|usage|next_times)$/i;

/** What differs between two states of a resource. */
export function differencesOf(before: object, now: object): Difference[] {
  const [one, other] = [before, now] as Record<string, unknown>[];
  return [...new Set([...Object.keys(before), ...Object.keys(now)])]
    .filter((field) => !INCIDENTAL.test(field) && JSON.stringify(one?.[field]) !== JSON.stringify(other?.[field]))
    .map((field) => ({ field, before: one?.[field], now: other?.[field] }));
}

/** The change was not made: someone else changed the resource after the member saw it. */
export class ChangedError extends Error {
  constructor(
    readonly differences: Difference[],
    /** Makes the next attempt apply to the current state. */
    readonly accept: () => void,
  ) {
    super('Someone else changed this in the meantime');
  }
}
