// File contents as text, and texts as parts of requests. Invariants: every byte of a file is part of the text that is scanned, in whatever
// encoding it is; parts of a long text overlap by more than a value can be long, so what crosses a border is found in one of them.
import { clean } from '../text.ts';

export interface Source {
  /** As shown and reported. */
  path: string;
  bytes: Buffer;
}

/** A text or a part of one, with the position of its start in the file. */
export interface Part {
  path: string;
  content: string;
  line: number;
  column: number;
}

/** The most bytes of JSON of one request: a body must be under 1 MiB. */
export const MOST_BYTES = 900_000;
/** How far parts of a text overlap: more than the 65,536 characters of the longest value that a scan finds. */
const OVERLAP = 66_000;
/** Parts are not made smaller than this. */
const LEAST = 2 * OVERLAP;

/** Characters of a wider encoding read byte by byte: each is followed by one to three NUL bytes. */
const WIDE = /(?:[^\0]\0{1,3}){4,}/g;

/**
 * The text of a file: UTF-16 with a byte order mark or with a NUL in every other byte, otherwise UTF-8. Elsewhere, as in a file of several
 * encodings or in UTF-32, the NUL bytes of wide characters are left out, and any other counts as a line break, so that texts in binary
 * files stand alone.
 */
export function textOf(bytes: Buffer): string {
  const encoding = utf16Of(bytes);
  const text = encoding ? new TextDecoder(encoding).decode(bytes) : bytes.toString('utf8').replace(/^\ufeff/, '');
  if (!text.includes('\0')) return text;
  // safety: cli-scan-wide
  return text.replace(WIDE, (wide) => wide.replaceAll('\0', '')).replaceAll('\0', '\n');
}

function utf16Of(bytes: Buffer): 'utf-16le' | 'utf-16be' | undefined {
  const [first, second] = bytes;
  if (first === 0xff && second === 0xfe) return 'utf-16le';
  if (first === 0xfe && second === 0xff) return 'utf-16be';
  const sample = bytes.subarray(0, 4096);
  const nuls = [0, 0];
  for (const [at, byte] of sample.entries()) if (byte === 0) nuls[at % 2] = (nuls[at % 2] as number) + 1;
  const [even = 0, odd = 0] = nuls;
  const most = sample.length / 4;
  if (odd > most && even === 0) return 'utf-16le';
  return even > most && odd === 0 ? 'utf-16be' : undefined;
}

const bytesOf = (part: Part) => Buffer.byteLength(JSON.stringify({ path: part.path, content: part.content }));

/** A file as parts that each fit in a request. */
export function* partsOf({ path, bytes }: Source): Generator<Part> {
  // The vault refuses control characters in a path, and paths over 1,024 characters.
  const whole = { path: clean(path).slice(-1024), content: textOf(bytes), line: 1, column: 1 };
  yield* fitting(whole);
}

function* fitting(part: Part): Generator<Part> {
  if (bytesOf(part) <= MOST_BYTES) yield part;
  else for (const half of halves(part) ?? []) yield* fitting(half);
}

/** The two overlapping halves of a part; undefined if it is too short for that. */
export function halves(part: Part): [Part, Part] | undefined {
  const { content } = part;
  if (content.length <= LEAST) return undefined;
  const end = Math.floor((content.length + OVERLAP) / 2);
  return [{ ...part, content: content.slice(0, end) }, after(part, end - OVERLAP)];
}

/** The rest of a part from an offset on. */
function after(part: Part, offset: number): Part {
  const before = part.content.slice(0, offset);
  const content = part.content.slice(offset);
  const lines = before.split('\n');
  const last = lines.at(-1)?.length ?? 0;
  return lines.length > 1
    ? { ...part, content, line: part.line + lines.length - 1, column: last + 1 }
    : { ...part, content, column: part.column + last };
}

/** A position within a part as a position in the file. */
export const inFile = ({ line, column }: Pick<Part, 'line' | 'column'>, at: { line: number; column: number }) => ({
  line: line + at.line - 1,
  column: at.line === 1 ? column + at.column - 1 : at.column,
});

/** The most files of one request. */
const MOST_FILES = 500;

/** Parts grouped into requests. A part that is not the whole of its file goes alone, so a position belongs to one part. */
export function* batches(files: Iterable<Source>): Generator<Part[]> {
  let batch: Part[] = [];
  let size = 0;
  for (const source of files) {
    const parts = [...partsOf(source)];
    if (parts.length > 1) {
      for (const part of parts) yield [part];
      continue;
    }
    for (const part of parts) {
      const length = bytesOf(part);
      if (batch.length === MOST_FILES || (batch.length > 0 && size + length > MOST_BYTES)) {
        yield batch;
        [batch, size] = [[], 0];
      }
      batch.push(part);
      size += length;
    }
  }
  if (batch.length > 0) yield batch;
}
