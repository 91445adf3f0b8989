// Valid user text that logs and pages show later. Invariant: it has no character that is invisible, ends a
// line or changes the direction of the following text.

/**
 * Control, format (including bidi), unassigned and private characters and lone surrogates; line and paragraph
 * separators; letters and marks without a shape, such as U+3164.
 */
const unprintable = /[\p{C}\p{Zl}\p{Zp}\u115f\u1160\u2800\u3164\uffa0]|\u034f|\u17b4|\u17b5/gu;

export const isPrintable = (text: string): boolean => text.search(unprintable) < 0;

/** The text without its unprintable characters, cut to a number of UTF-16 units. */
export const printable = (text: string, most: number): string => text.slice(0, most).replace(unprintable, '');
