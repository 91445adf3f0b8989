// Parses text by the rules of npm dotenv 17, in linear time. npm dotenv's own parser takes quadratic time for
// crafted texts and loses the name `__proto__`; a test compares the two. Only LF, CRLF and CR end a line
// here; in npm dotenv, U+2028 and U+2029 do so in some places.
import { Unreadable } from './json';
import { type Found, source } from './source';

const KEY = /(?:export\s+)?([\w.-]+)(?:\s*=|:\s)/y;
const SPACE = /\s*/y;
const BLANK = /[^\S\n]*/y;

/** The end of a pattern's match from a position. */
function endOf(pattern: RegExp, text: string, at: number): number {
  pattern.lastIndex = at;
  pattern.exec(text);
  return pattern.lastIndex;
}

/** Whether only white space or a comment follows a closing quote on its line. */
function isClosed(text: string, at: number): boolean {
  const next = text[endOf(BLANK, text, at)];
  return next === undefined || next === '\n' || next === '#';
}

/**
 * The end of a quoted value that starts here; null if there is none. A quote after a backslash ends it only
 * if no other quote does.
 */
function closing(text: string, from: number): number | null {
  const quote = text[from] as string;
  const escaped: number[] = [];
  for (let at = text.indexOf(quote, from + 1); at >= 0; at = text.indexOf(quote, at + 1)) {
    if (at > from + 1 && text[at - 1] === '\\') escaped.push(at);
    else if (isClosed(text, at + 1)) return at + 1;
    else break;
  }
  const last = escaped.findLast((at) => isClosed(text, at + 1));
  return last === undefined ? null : last + 1;
}

/**
 * A value without its quotes. In double quotes, `
 * ` and `\r` are line breaks.
 */
function unquoted(raw: string): string {
  const quote = raw[0] ?? '';
  const inner = raw.length > 1 && `'"\``.includes(quote) && raw.endsWith(quote) ? raw.slice(1, -1) : raw;
  return quote === '"' ? inner.replaceAll('\\n', '\n').replaceAll('\\r', '\r') : inner;
}

/** The assignments of a text, in order. */
export function* parseDotenv(whole: string): Generator<[name: string, value: string]> {
  const text = whole.replace(/\r\n?/g, '\n');
  for (let at = endOf(SPACE, text, 0); at < text.length; at = endOf(SPACE, text, at)) {
    const found = match(KEY, text, at);
    if (!found) {
      at = lineEnd(text, at);
      continue;
    }
    const start = endOf(SPACE, text, found.end);
    const end = `'"\``.includes(text[start] ?? ' ') ? closing(text, start) : null;
    if (end !== null) {
      yield [found.name, unquoted(text.slice(start, end))];
      at = lineEnd(text, end);
      continue;
    }
    const line = lineEnd(text, found.end);
    const comment = text.slice(found.end, line).indexOf('#');
    yield [found.name, unquoted(text.slice(found.end, comment < 0 ? line : found.end + comment).trim())];
    at = line;
  }
}

function match(pattern: RegExp, text: string, at: number): { name: string; end: number } | null {
  pattern.lastIndex = at;
  const found = pattern.exec(text);
  return found && { name: found[1] as string, end: pattern.lastIndex };
}

function lineEnd(text: string, at: number): number {
  const end = text.indexOf('\n', at);
  return end < 0 ? text.length : end;
}

export const dotenv = source({
  source: 'dotenv',
  accepts: 'text',
  lastWins: true,
  read(text): Found[] {
    const found = new Map(parseDotenv(text));
    if (found.size === 0 && /^[^\S\n]*[^\s#]/m.test(text))
      throw new Unreadable('the text has no assignment NAME=value');
    return [...found].map(([name, value]) => ({ name, value }));
  },
});
