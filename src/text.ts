// Valid user text that logs and pages show later. Invariant: it has no character that is invisible, ends a
// line or changes the direction of the following text.

/**
 * Control, format (including bidi), unassigned and private characters and lone surrogates; line and paragraph
 * separators.
 */
const unprintable = /[\p{C}\p{Zl}\p{Zp}]/u;

export const isPrintable = (text: string): boolean => !unprintable.test(text);

/** The text without its unprintable characters, cut to a number of UTF-16 units. */
export const printable = (text: string, most: number): string =>
  text.slice(0, most).replace(/[\p{C}\p{Zl}\p{Zp}]/gu, '');
