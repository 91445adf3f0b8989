// Texts of files as parts of requests. Invariant: parts of a long text overlap by more than a value can be
// long, so what crosses a border is found in one of them.
import { clean } from '../text.ts';
import { textsOf } from './readings.ts';

export interface Source {
  /** As shown and reported. */
  path: string;
  bytes: Buffer;
}

/** A text or a part of one, with the position of its start in the file. */
export interface Part {
  path: string;
  content: string;
  /** Which of the texts of the file. */
  reading: number;
  line: number;
  column: number;
}

/** The most bytes of JSON of one request: a body must be under 1 MiB. */
export const MOST_BYTES = 900_000;
/**
 * How far parts of a text overlap: more than the 65,536 characters of the longest value that a scan finds.
 */
const OVERLAP = 66_000;
/** Parts are not made smaller than this. */
const LEAST = 2 * OVERLAP;

/**
 * Where a text must end for its bytes in JSON, from an offset on, to stay within a limit; and these bytes.
 */
function fit(text: string, from: number, limit: number): { end: number; size: number } {
  let size = 0;
  let end = from;
  for (; end < text.length; end++) {
    const more = jsonSize(text.charCodeAt(end));
    if (size + more > limit) break;
    size += more;
  }
  return { end, size };
}

/**
 * The most bytes that JSON has for a code unit of a text. A half of a pair counts as if it stood alone, and
 * is then written as an escape.
 */
function jsonSize(unit: number): number {
  if (unit === 0x22 || unit === 0x5c || (unit >= 0x08 && unit <= 0x0d && unit !== 0x0b)) return 2;
  if (unit < 0x20 || (unit >= 0xd800 && unit <= 0xdfff)) return 6;
  return unit < 0x80 ? 1 : unit < 0x800 ? 2 : 3;
}

/** What a part needs in a request beside its content. */
const beside = (path: string) => JSON.stringify({ path, content: '' }).length * 4;

/** A part and its size in a request. */
interface Sized {
  part: Part;
  size: number;
  /** Whether the part is the whole of its text. */
  isWhole: boolean;
}

/** Each text of a file, as parts that fit in a request. */
function* partsOf({ path, bytes }: Source): Generator<Sized> {
  let reading = 0;
  // The vault refuses control characters in a path, and paths over 1,024 characters.
  const shown = clean(path).slice(-1024);
  for (const content of textsOf(bytes))
    yield* fitting({ path: shown, content, reading: reading++, line: 1, column: 1 });
}

/** The parts of a text, in one pass. Each begins before the end of the one before it. */
function* fitting(text: Part): Generator<Sized> {
  const { content } = text;
  const around = beside(text.path);
  let start = { at: 0, line: text.line, column: text.column };
  for (;;) {
    const { end, size } = fit(content, start.at, MOST_BYTES - around);
    const part = { ...text, content: content.slice(start.at, end), line: start.line, column: start.column };
    yield { part, size: size + around, isWhole: part.content.length === content.length };
    if (end === content.length) return;
    start = moved(content, start, end - OVERLAP);
  }
}

/** The two overlapping halves of a part; undefined if it is too short for that. */
export function halves(part: Part): [Part, Part] | undefined {
  const { content } = part;
  if (content.length <= LEAST) return undefined;
  const end = Math.floor((content.length + OVERLAP) / 2);
  const { at, line, column } = moved(content, { at: 0, line: part.line, column: part.column }, end - OVERLAP);
  return [
    { ...part, content: content.slice(0, end) },
    { ...part, content: content.slice(at), line, column },
  ];
}

interface Place {
  at: number;
  line: number;
  column: number;
}

/** A later place in a text. */
function moved(text: string, { at, line, column }: Place, to: number): Place {
  let lineStart = at - column + 1;
  let lines = line;
  for (let end = text.indexOf('\n', at); end >= 0 && end < to; end = text.indexOf('\n', end + 1)) {
    lines++;
    lineStart = end + 1;
  }
  return { at: to, line: lines, column: to - lineStart + 1 };
}

/** A position within a part as a position in the file. */
export const inFile = (
  { line, column }: Pick<Part, 'line' | 'column'>,
  at: { line: number; column: number },
) => ({
  line: line + at.line - 1,
  column: at.line === 1 ? column + at.column - 1 : at.column,
});

/** The most files of one request. */
const MOST_FILES = 500;

/**
 * Parts grouped into requests. A part that is not the whole of its text goes alone, so a position belongs to
 * one part. A request has one text of a file at most, and further texts come after the first.
 */
export function* batches(files: Iterable<Source>): Generator<Part[]> {
  let open: Batch[] = [];
  for (const source of files)
    for (const { part, size, isWhole } of partsOf(source)) {
      if (!isWhole) {
        yield [part];
        continue;
      }
      const batch = open[part.reading];
      if (batch && (batch.parts.length === MOST_FILES || batch.size + size > MOST_BYTES)) {
        yield* filled(open);
        open = [];
      }
      const { parts, size: before } = open[part.reading] ?? { parts: [], size: 0 };
      parts.push(part);
      open[part.reading] = { parts, size: before + size };
    }
  yield* filled(open);
}

interface Batch {
  parts: Part[];
  size: number;
}

const filled = (open: Batch[]) => open.filter(Boolean).map(({ parts }) => parts);
