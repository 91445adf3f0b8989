// What differs between the state of a resource that a member saw and the current one. Pure.
/** A value that differs. */
export interface Difference {
  /** Its field in the API, and the fields in that: `['config', 'max_age_days']`. */
  path: string[];
  before: unknown;
  now: unknown;
}

/** Fields that change by themselves, or say only that something else did. */
const INCIDENTAL = /^(revision|etag|updated_?at|last_used_(at|place)|use_count|usage|next_times)$/i;

type Fields = Record<string, unknown>;
const isFields = (value: unknown): value is Fields => typeof value === 'object' && value !== null && !Array.isArray(value);
const at = (fields: Fields, key: string): unknown => (Object.hasOwn(fields, key) ? fields[key] : undefined);

function within(before: unknown, now: unknown, path: string[]): Difference[] {
  if (JSON.stringify(before) === JSON.stringify(now)) return [];
  if (!isFields(before) || !isFields(now)) return [{ path, before, now }];
  return [...new Set([...Object.keys(before), ...Object.keys(now)])].flatMap((key) =>
    path.length === 0 && INCIDENTAL.test(key) ? [] : within(at(before, key), at(now, key), [...path, key]),
  );
}

/** What differs between two states of a resource. */
export const differencesOf = (before: object, now: object): Difference[] => within(before, now, []);

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
