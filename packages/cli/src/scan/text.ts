// File contents as texts, and texts as parts of requests. Invariants: every byte of a file is part of a text that is scanned, and what is
// written in ASCII, UTF-8, UTF-16 or UTF-32 is readable in one of the texts, whatever comes before it; parts of a long text overlap by more than a value can be long, so what crosses a border is found in one of them.
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
  /** Which of the texts of the file. */
  reading: number;
  line: number;
  column: number;
}

/** The most bytes of JSON of one request: a body must be under 1 MiB. */
export const MOST_BYTES = 900_000;
/** How far parts of a text overlap: more than the 65,536 characters of the longest value that a scan finds. */
const OVERLAP = 66_000;
/** Parts are not made smaller than this. */
const LEAST = 2 * OVERLAP;

/** UTF-32 read as UTF-16: each character is followed by a NUL. */
const WIDE = /(?:[^\0]\0){4,}/g;
/** Text in a reading that may be none: four ASCII characters in a row. */
const READABLE = /[ -~]{4}/;

/**
 * The texts that the bytes of a file can be. Without NUL bytes and byte order mark, that is the file as UTF-8. Otherwise parts of the file
 * may be in other encodings than its beginning: it is read byte by byte, and as UTF-16 of both byte orders at even and odd offsets, as far as
 * that shows text. What the whole file seems to be comes first.
 */
export function* textsOf(bytes: Buffer): Generator<string> {
  const whole = utf16Of(bytes);
  if (whole) yield decoded(bytes, whole);
  // safety: cli-scan-bytes
  yield bytes
    .toString('utf8')
    .replace(/^\ufeff/, '')
    .replaceAll('\0', '\n');
  if (!whole && !bytes.includes(0)) return;
  for (const encoding of ['utf-16le', 'utf-16be'] as const)
    for (const start of [0, 1]) {
      if (encoding === whole && start === 0) continue;
      const text = decoded(bytes.subarray(start), encoding);
      // safety: cli-scan-readings
      if (READABLE.test(text)) yield text;
    }
}

type Utf16 = 'utf-16le' | 'utf-16be';

/** Bytes as UTF-16. NUL characters are part of UTF-32, or line breaks, so that texts in binary files stand alone. */
function decoded(bytes: Buffer, encoding: Utf16): string {
  const text = new TextDecoder(encoding).decode(bytes);
  if (!text.includes('\0')) return text;
  // safety: cli-scan-wide
  return text.replace(WIDE, (wide) => wide.replaceAll('\0', '')).replaceAll('\0', '\n');
}

/** The encoding of a file with a byte order mark, or with a NUL in every other byte at its beginning. */
function utf16Of(bytes: Buffer): Utf16 | undefined {
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

/** Each text of a file, as parts that fit in a request. */
function* partsOf({ path, bytes }: Source): Generator<Part[]> {
  let reading = 0;
  // The vault refuses control characters in a path, and paths over 1,024 characters.
  for (const content of textsOf(bytes))
    yield [...fitting({ path: clean(path).slice(-1024), content, reading: reading++, line: 1, column: 1 })];
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

/**
 * Parts grouped into requests. A part that is not the whole of its text goes alone, so a position belongs to one part. A request has one text
 * of a file at most, and further texts come after the first.
 */
export function* batches(files: Iterable<Source>): Generator<Part[]> {
  let open: Batch[] = [];
  for (const source of files)
    for (const parts of partsOf(source)) {
      const [part] = parts;
      if (parts.length > 1 || !part) {
        for (const each of parts) yield [each];
        continue;
      }
      const size = bytesOf(part);
      const batch = open[part.reading];
      if (batch && (batch.parts.length === MOST_FILES || batch.size + size > MOST_BYTES)) {
        yield* filled(open);
        open = [];
      }
      const { parts: others, size: before } = open[part.reading] ?? { parts: [], size: 0 };
      open[part.reading] = { parts: [...others, part], size: before + size };
    }
  yield* filled(open);
}

interface Batch {
  parts: Part[];
  size: number;
}

const filled = (open: Batch[]) => open.filter(Boolean).map(({ parts }) => parts);
