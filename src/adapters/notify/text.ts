// Makes foreign text safe for a platform, and cuts it to the platform's limits. Invariants: text is escaped character by character and
// cut between characters, so a cut never leaves half an escape or half a character; a text that was cut is never longer than its limit,
// `…` included.

/** How a character is written. */
export type Escape = (character: string) => string;

/** A zero-width character. It separates characters that would form a mention or a link. */
export const APART = '\u200b';

const ELLIPSIS = '…';

/** Control characters but tab and line feed, and those that turn the direction of text. */
const hidden = /(?![\n\t])\p{Cc}|[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]/gu;

/** Well-formed Unicode that shows what it holds: line feeds alone end lines. */
export const clean = (text: string): string =>
  text
    .toWellFormed()
    .replace(/\r\n?|[\u2028\u2029]/g, '\n')
    .replace(hidden, '');

const inUnits = (text: string) => text.length;

const encoder = new TextEncoder();
/** Bytes of a text within JSON. */
export const inJson = (text: string): number => encoder.encode(JSON.stringify(text)).length - 2;

export interface Limit {
  most: number;
  /** How each character is written; by default as it is. */
  as?: Escape;
  /** How long a text is; by default in UTF-16 code units. */
  measure?: (text: string) => number;
}

/** Text escaped and cut to a limit. What fits stays whole. */
export function cut(text: string, { most, as = (character) => character, measure = inUnits }: Limit): string {
  const reserved = measure(ELLIPSIS);
  let [length, whole, kept] = [0, '', ''];
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

/** One line. */
export const oneLine = (text: string): string => clean(text).replace(/\s+/g, ' ').trim();

// ---------------------------------------------------------------- escapes

const entities: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;' };

/** Entities, as Slack and HTML have them. */
export const html: Escape = (character) => entities[character] ?? character;

/** Entities; a name after an at sign is no mention. */
export const htmlApart: Escape = (character) => (character === '@' ? `@${APART}` : (entities[character] ?? character));

/** Tags are none. */
export const tagless: Escape = (character) => (character === '<' ? `<${APART}` : character);

/** Markdown: a backslash before each of `special`; no tag, no mention. */
export const markdown =
  (special: string): Escape =>
  (character) => {
    // safety: notification-markup-escaped
    if (special.includes(character)) return `\\${character}`;
    return character === '@' || character === '<' ? `${character}${APART}` : character;
  };

/** Lines that begin with what would make a heading, quote, list, rule or block of code in Markdown: kept from the start of their line. */
export const blockless = (text: string): string => clean(text).replace(/^(?=[ \t]*(?:[-+#>=]|\d{1,9}[.)])|[ ]{4}|\t)/gm, APART);
