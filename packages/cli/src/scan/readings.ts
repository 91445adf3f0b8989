// File contents as texts. Invariants: every byte of a file is part of a text that is scanned, and what is
// written in ASCII, UTF-8, UTF-16 or UTF-32 is readable in one of the texts, whatever comes before it; a text
// is changed as bytes before it is decoded, because a replacement in a long text takes thirty times its
// memory.

/** Text in a reading that may be none: four ASCII characters in a row. */
const READABLE = /[ -~]{4}/;
const LINE_BREAK = 0x0a;

/**
 * The texts that the bytes of a file can be. Without NUL bytes and byte order mark, that is the file as
 * UTF-8. Otherwise parts of the file may be in other encodings than its beginning: it is read byte by byte,
 * and as UTF-16 of both byte orders at even and odd offsets, as far as that shows text. What the whole file
 * seems to be comes first. NUL characters become line breaks, so that texts in binary files stand alone.
 */
export function* textsOf(bytes: Buffer): Generator<string> {
  const whole = utf16Of(bytes);
  if (whole) yield decoded(bytes, whole);
  const hasNuls = bytes.includes(0);
  // safety: cli-scan-bytes
  yield (hasNuls ? withoutNuls(bytes) : bytes).toString('utf8').replace(/^\ufeff/, '');
  if (!whole && !hasNuls) return;
  for (const encoding of ['utf-16le', 'utf-16be'] as const)
    for (const start of [0, 1]) {
      if (encoding === whole && start === 0) continue;
      const text = decoded(bytes.subarray(start), encoding);
      // safety: cli-scan-readings
      if (READABLE.test(text)) yield text;
    }
}

function withoutNuls(bytes: Buffer): Buffer {
  const copy = Buffer.from(bytes);
  for (let at = 0; at < copy.length; at++) if (copy[at] === 0) copy[at] = LINE_BREAK;
  return copy;
}

type Utf16 = 'utf-16le' | 'utf-16be';
const MARKS: Record<Utf16, [number, number]> = { 'utf-16le': [0xff, 0xfe], 'utf-16be': [0xfe, 0xff] };

const begins = (bytes: Buffer, [first, second]: [number, number]) =>
  bytes[0] === first && bytes[1] === second;

/** The code units of at least so many characters of UTF-32, each followed by a NUL, in bytes. */
const LEAST_WIDE = 4 * 4;

/** Bytes as UTF-16, or as the UTF-32 that parts of them are. */
function decoded(bytes: Buffer, encoding: Utf16): string {
  const units = Buffer.from(bytes.subarray(begins(bytes, MARKS[encoding]) ? 2 : 0));
  const isNul = (at: number) => units[at] === 0 && units[at + 1] === 0;
  const low = encoding === 'utf-16le' ? 0 : 1;
  let end = 0;
  let wideUntil = 0;
  for (let at = 0; at < units.length; at += 2) {
    if (at >= wideUntil) {
      let to = at;
      while (to + 3 < units.length && !isNul(to) && isNul(to + 2)) to += 4;
      // safety: cli-scan-wide
      if (to - at >= LEAST_WIDE) wideUntil = to;
    }
    const isBreak = isNul(at);
    if (isBreak && at < wideUntil) continue;
    units[end++] = isBreak && low === 0 ? LINE_BREAK : (units[at] as number);
    // The last byte of an odd number has no other half.
    if (at + 1 < units.length) units[end++] = isBreak && low === 1 ? LINE_BREAK : (units[at + 1] as number);
  }
  return new TextDecoder(encoding, { ignoreBOM: true }).decode(units.subarray(0, end));
}

/** The encoding of a file with a byte order mark, or with a NUL in every other byte at its beginning. */
function utf16Of(bytes: Buffer): Utf16 | undefined {
  if (begins(bytes, MARKS['utf-16le'])) return 'utf-16le';
  if (begins(bytes, MARKS['utf-16be'])) return 'utf-16be';
  const sample = bytes.subarray(0, 4096);
  const nuls = [0, 0];
  for (const [at, byte] of sample.entries()) if (byte === 0) nuls[at % 2] = (nuls[at % 2] as number) + 1;
  const [even = 0, odd = 0] = nuls;
  const most = sample.length / 4;
  if (odd > most && even === 0) return 'utf-16le';
  return even > most && odd === 0 ? 'utf-16be' : undefined;
}
