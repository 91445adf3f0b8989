// What text may hold that people write, and that logs and pages show later. Invariant: no character of it is invisible, ends a line or
// changes the direction of what follows.

/** Control, format (bidi too), unassigned and private characters and lone surrogates; line and paragraph separators. */
const unprintable = /[\p{C}\p{Zl}\p{Zp}]/u;

export const isPrintable = (text: string): boolean => !unprintable.test(text);

/** The text without its unprintable characters, cut to a number of UTF-16 units. */
export const printable = (text: string, most: number): string => text.slice(0, most).replace(/[\p{C}\p{Zl}\p{Zp}]/gu, '');
