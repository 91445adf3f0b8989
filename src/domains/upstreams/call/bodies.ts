// The bodies of a call, streamed both ways. Invariants: nothing is read before whoever receives it asks for
// it; what goes past a bound, or ends before its time, arrives broken off.
import { concat } from '../../../crypto/bytes';
import { ApiError } from '../../../errors';
import { type Kind, unpacked } from './decode';
import { masker } from './mask';
import type { UseEnd } from './use-plan';
import { endOfCut, type Watch } from './watch';

/** A body that must be whole first. */
export const MOST_WHOLE = 4 * 1024 * 1024;

/** All of a body; null if it has more than `most` bytes. */
export async function wholeOf(body: ReadableStream<Uint8Array> | null, most = MOST_WHOLE) {
  const parts: Uint8Array[] = [];
  let size = 0;
  if (body)
    for await (const part of body) {
      size += part.length;
      if (size > most) return null;
      parts.push(part);
    }
  return concat(...parts);
}

/** How many bytes went each way. */
export interface Counts {
  request: number;
  response: number;
}

/** A body that is sent with its length; without one, in chunks. */
function ofLength(source: ReadableStream<Uint8Array>, length: number | null): ReadableStream<Uint8Array> {
  if (length === null) return source;
  const fixed = new FixedLengthStream(length);
  void source.pipeTo(fixed.writable).catch(() => {});
  return fixed.readable;
}

/** A body on its way to the upstream. `length`: as the caller said, if it did. */
export function uploadOf(
  body: ReadableStream<Uint8Array>,
  {
    length,
    most,
    counts,
    watching,
  }: { length: number | null; most: number; counts: Counts; watching: Watch },
): ReadableStream<Uint8Array> {
  const reader = body.getReader();
  const source = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const { done, value } = await reader.read();
        if (done) return controller.close();
        counts.request += value.length;
        // safety: use-request-bytes
        if (counts.request > most) watching.end('request_too_large');
        // safety: use-upload-ends
        if (watching.signal.aborted) {
          void reader.cancel().catch(() => {});
          throw new Error('the call ended');
        }
        watching.heard();
        controller.enqueue(value);
      },
      cancel: (reason) => reader.cancel(reason),
    },
    { highWaterMark: 0 },
  );
  return ofLength(source, length);
}

async function* readFrom(body: ReadableStream<Uint8Array>, watching: Watch): AsyncGenerator<Uint8Array> {
  const reader = body.getReader();
  try {
    for (;;) {
      const { done, value } = await watching.wait(reader.read());
      if (done) return;
      yield value;
    }
  } finally {
    void reader.cancel().catch(() => {});
  }
}

export interface Download {
  kinds: readonly Kind[];
  values: readonly string[];
  /** As the upstream said, and true of what is passed on; null otherwise. */
  length: number | null;
  most: number;
  counts: Counts;
  watching: Watch;
  /** Told once how it ended. */
  ended(how: UseEnd): void;
}

/** A body on its way to the caller: unpacked, masked and counted. */
export function downloadOf(body: ReadableStream<Uint8Array>, given: Download): ReadableStream<Uint8Array> {
  const { kinds, values, length, most, counts, watching, ended } = given;
  const parts = unpacked(readFrom(body, watching), kinds);
  const { take, end } = masker(values);
  const next = async (): Promise<Uint8Array | null> => {
    for (;;) {
      const { done, value } = await parts.next();
      const masked = done ? end() : take(value);
      if (masked.length > 0) return masked;
      if (done) return null;
    }
  };
  let isOver = false;
  /** At its end, whether or not somebody reads just then. */
  const over = (how: UseEnd, act: () => void) => {
    if (isOver) return;
    isOver = true;
    act();
    // What still comes from the upstream is not waited for.
    watching.end('caller_gone');
    void parts.return(undefined).catch(() => {});
    ended(how);
  };
  const source = new ReadableStream<Uint8Array>(
    {
      start(controller) {
        const cut = () => over(endOfCut(watching.cut()), () => controller.error(new Error('broken off')));
        // safety: use-answer-ends
        watching.signal.addEventListener('abort', cut);
        if (watching.signal.aborted) cut();
      },
      async pull(controller) {
        try {
          const part = await next();
          if (part === null) return over('complete', () => controller.close());
          counts.response += part.length;
          // safety: use-response-bytes
          if (counts.response > most) watching.end('too_large');
          if (!isOver) controller.enqueue(part);
        } catch (error) {
          // Masking took too many steps.
          if (error instanceof ApiError) watching.end('too_large');
          over(endOfCut(watching.cut()), () => controller.error(new Error('broken off')));
        }
      },
      cancel() {
        watching.end('caller_gone');
      },
    },
    { highWaterMark: 0 },
  );
  return ofLength(source, length);
}
