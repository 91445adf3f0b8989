// The error of a change that was not made, because someone else changed the resource after the member saw it.
// Apart from what finds the differences, which the first page does not load.

/** A value that differs, in words. */
export interface Difference {
  label: string;
  before: string;
  now: string;
}

/** Differences as one line of text. */
export const wordsOf = (differences: Difference[]): string =>
  differences.map(({ label, before, now }) => `${label}: ${before} → ${now}`).join('; ') ||
  'nothing that you can see is different';

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
