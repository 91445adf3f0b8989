// What in a text could be the value of a stored secret: words, quoted and assigned texts, lines, PEM blocks
// and the whole text. Invariants: the work is linear in the text; the likeliest candidates come first, so a
// limit drops the least likely ones; an ordinary word is none.
import { isOrdinary } from './ordinary';

/** The fewest characters of a value to search for: shorter ones occur in any text. */
export const LEAST = 8;
const MOST = 65_536;

export interface Candidate {
  value: string;
  at: number;
}

/** A character outside the basic plane has two code units but counts once. */
// safety: scan-no-short-values
const isLongEnough = (value: string) =>
  value.length >= LEAST && (value.length >= 2 * LEAST || [...value].length >= LEAST);

/** Candidates of a text in three lists, the likeliest first. */
export function candidatesOf(text: string): [Candidate[], Candidate[], Candidate[]] {
  const likely: Candidate[] = [];
  const mixed: Candidate[] = [];
  const rest: Candidate[] = [];
  const add = (list: Candidate[]) => (value: string, at: number) => {
    if (isLongEnough(value) && value.length <= MOST && !isOrdinary(value)) list.push({ value, at });
  };
  whole(text, add(likely));
  blocks(text, add(likely));
  for (const quote of '"\'`') quoted(text, quote, add(likely));
  lines(text, add(likely), add(rest));
  words(text, (value, at) => add(/\d/.test(value) && /\D/.test(value) ? mixed : rest)(value, at));
  return [likely, mixed, rest];
}

type Add = (value: string, at: number) => void;

function whole(text: string, add: Add): void {
  if (text.length > MOST) return;
  add(text, 0);
  trimmed(text, 0, add);
}

function trimmed(text: string, at: number, add: Add): void {
  const start = text.trimStart();
  const value = start.trimEnd();
  if (value !== text) add(value, at + text.length - start.length);
}

/**
 * PEM blocks, in the text's form and in the forms in which they are usually stored: with line feeds, with and
 * without a final one.
 */
function blocks(text: string, add: Add): void {
  for (let at = text.indexOf('-----BEGIN '); at >= 0; ) {
    const label = text.indexOf('-----', at + 11);
    const end = label < 0 ? -1 : text.indexOf('-----', label + 5);
    const close = end < 0 ? -1 : text.indexOf('-----', end + 5);
    if (close < 0) return;
    const block = text.slice(at, Math.min(close + 5, at + MOST));
    for (const spelled of new Set([block, block.replace(/\r\n/g, '\n'), block.replace(/\\n/g, '\n')])) {
      add(spelled, at);
      add(`${spelled}\n`, at);
    }
    at = text.indexOf('-----BEGIN ', end);
  }
}

/** The text between two quotation marks of one kind on a line. */
function quoted(text: string, quote: string, add: Add): void {
  for (let at = text.indexOf(quote); at >= 0; ) {
    let end = at + 1;
    let isEscaped = false;
    for (; end < text.length && text[end] !== '\n' && text[end] !== quote; end++)
      if (text[end] === '\\') {
        end++;
        isEscaped = true;
      }
    if (text[end] === quote) {
      const value = text.slice(at + 1, end);
      add(value, at + 1);
      if (isEscaped) unescaped(value, at + 1, add);
    }
    at = text.indexOf(quote, end + 1);
  }
}

/** A JSON string, unescaped. */
function unescaped(text: string, at: number, add: Add): void {
  if (text.length > MOST) return;
  try {
    add(JSON.parse(`"${text}"`), at);
  } catch {
    // Not JSON: the text is used unchanged.
  }
}

/** Lines, and the text after the first `=` or `:` in them. */
function lines(text: string, likely: Add, rest: Add): void {
  for (let at = 0; at < text.length; ) {
    const end = text.indexOf('\n', at) < 0 ? text.length : text.indexOf('\n', at);
    const line = text.slice(at, end);
    if (line.length <= MOST) {
      rest(line, at);
      trimmed(line, at, rest);
      for (const sign of '=:') {
        const assigned = line.indexOf(sign) + 1;
        if (assigned) trimmed(` ${line.slice(assigned)}`, at + assigned - 1, likely);
      }
    }
    at = end + 1;
  }
}

const WORD = /\S+/g;
const PART = /[^\s"'`<>()[\]{},;|\\]+/g;
const PIECE = /[^\s"'`<>()[\]{},;|\\=:&?@/#]+/g;

/** Words, their parts between brackets and quotation marks, and the pieces of these between delimiters. */
function words(text: string, add: Add): void {
  for (const { 0: word, index } of text.matchAll(WORD)) {
    if (word.length < LEAST) continue;
    add(word, index);
    for (const { 0: part, index: within } of word.matchAll(PART)) {
      if (part.length < LEAST) continue;
      const at = index + within;
      if (part !== word) add(part, at);
      const end = part.replace(/[.:!?]{1,3}$/, '');
      if (end !== part) add(end, at);
      for (const sign of '=:') {
        const assigned = part.indexOf(sign) + 1;
        if (assigned) add(part.slice(assigned), at + assigned);
      }
      for (const { 0: piece, index: inside } of part.matchAll(PIECE))
        if (piece !== part) add(piece, at + inside);
    }
  }
}
