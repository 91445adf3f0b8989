// Undoes the compression of an answer, so that it can be masked. Invariant: what a small piece of input
// unpacks to is bounded, and nothing is read ahead of whoever reads the result.
import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib';

const KINDS = {
  gzip: createGunzip,
  'x-gzip': createGunzip,
  deflate: createInflate,
  br: createBrotliDecompress,
} as const;
export type Kind = keyof typeof KINDS;

/** More than any server applies. */
const MOST_KINDS = 3;

/** The codings of a Content-Encoding, in the order in which to undo them; null if one is not supported. */
export function codingsOf(header: string | null): Kind[] | null {
  const names = (header ?? '')
    .toLowerCase()
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '' && name !== 'identity');
  const known = names.every((name): name is Kind => Object.hasOwn(KINDS, name));
  return known && names.length <= MOST_KINDS ? names.reverse() : null;
}

/** Bytes of input that are unpacked at a time. */
const PIECE = 2048;
/** Bytes that one piece may unpack to: more than gzip can make of it. */
const MOST_UNPACKED = 4 * 1024 * 1024;

/** One piece through a decompressor: all that it gives. */
function through(stream: ReturnType<typeof createGunzip>, piece: Uint8Array | null): Promise<Uint8Array[]> {
  return new Promise((resolve, reject) => {
    const parts: Uint8Array[] = [];
    let size = 0;
    const take = (part: Uint8Array) => {
      size += part.length;
      if (size > MOST_UNPACKED) stream.destroy(new Error('unpacks to too much'));
      else parts.push(new Uint8Array(part));
    };
    const done = (error?: Error | null) => {
      stream.off('data', take);
      stream.off('error', done);
      stream.off('end', finish);
      if (error) reject(error);
      else resolve(parts);
    };
    const finish = () => done();
    stream.on('data', take);
    stream.on('error', done);
    if (piece) stream.write(piece, done);
    else stream.on('end', finish).end();
  });
}

async function* unpackedOnce(source: AsyncIterable<Uint8Array>, kind: Kind): AsyncGenerator<Uint8Array> {
  const stream = KINDS[kind]();
  try {
    for await (const chunk of source)
      for (let at = 0; at < chunk.length; at += PIECE)
        yield* await through(stream, chunk.subarray(at, at + PIECE));
    yield* await through(stream, null);
  } finally {
    stream.destroy();
  }
}

/** What these bytes unpack to. Throws if they are not whole, or not of this kind. */
export const unpacked = (
  source: AsyncGenerator<Uint8Array>,
  kinds: readonly Kind[],
): AsyncGenerator<Uint8Array> => kinds.reduce(unpackedOnce, source);
