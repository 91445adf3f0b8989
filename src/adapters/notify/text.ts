// Makes user text safe for a platform, and cuts it to the platform's limits. Invariants: text is escaped
// character by character and cut between characters, so a cut never leaves half an escape or half a
// character; a cut text is never longer than its limit, including the `…`.

/** How a character is written. */
export type Escape = (character: string) => string;

/** A zero-width character. It separates characters that would form a mention or a link. */
const APART = '\u200b';

const ELLIPSIS = '…';

/** Control characters except tab and line feed, and those that change text direction. */
const hidden = /(?![\n\t])\p{Cc}|[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]/gu;

/** Well-formed Unicode without hidden characters; only line feeds end lines. */
export const clean = (text: string): string =>
  text
    .toWellFormed()
    .replace(/\r\n?|[\u2028\u2029]/g, '\n')
    .replace(hidden, '');

const inUnits = (text: string) => text.length;

const encoder = new TextEncoder();
/** The size of a text in JSON, in bytes. */
export const inJson = (text: string): number => encoder.encode(JSON.stringify(text)).length - 2;

export interface Limit {
  most: number;
  /** How each character is written; unchanged by default. */
  as?: Escape;
  /** The length of a text; in UTF-16 code units by default. */
  measure?: (text: string) => number;
}

/** Text escaped and cut to a limit. Text that fits is not cut. */
export function cut(text: string, { most, as = (character) => character, measure = inUnits }: Limit): string {
  const reserved = measure(ELLIPSIS);
  let length = 0;
  let whole = '';
  let kept = '';
  for (const character of clean(text)) {
    const written = as(character);
    length += measure(written);
    // safety: notification-within-limit
    if (length > most) return `${kept}${ELLIPSIS}`;
    whole += written;
    if (length <= most - reserved) kept = whole;
  }
  return whole;
}

/** The text on one line. */
export const oneLine = (text: string): string => clean(text).replace(/\s+/g, ' ').trim();

// ---------------------------------------------------------------- escapes

const entities: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;' };

/** Entities for Slack and HTML. */
export const html: Escape = (character) => entities[character] ?? character;

/** Entities; an at sign does not start a mention. */
export const htmlApart: Escape = (character) =>
  character === '@' ? `@${APART}` : (entities[character] ?? character);

/** Without tags. */
export const tagless: Escape = (character) => (character === '<' ? `<${APART}` : character);

/** Markdown: `special` characters are escaped with a backslash; tags and mentions are broken up. */
export const markdown =
  (special: string): Escape =>
  (character) => {
    // safety: notification-markup-escaped
    if (special.includes(character)) return `\\${character}`;
    return character === '@' || character === '<' ? `${character}${APART}` : character;
  };

/** Prevents lines from becoming a Markdown heading, quote, list, rule or code block. */
export const blockless = (text: string): string =>
  clean(text).replace(/^(?=[ \t]*(?:[-+#>=]|\d{1,9}[.)])|[ ]{4}|\t)/gm, APART);
