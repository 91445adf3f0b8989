// How much of what failed an answer tells. Invariant: the answer of an import, encrypted, fits into one row of the gate's storage (2 MB), where it is
// kept: an item takes there what the name of a secret does, and the failures 100 kB more.
import type { Failure } from '../../adapters/import/source';
import { utf8 } from '../../crypto/bytes';

/** Bytes that failures take before they are cut short: an item that repeats a long title may be there 5,000 times. */
const MOST_FAILURES = 100_000;
/** Bytes of a name in an answer, before and after that. */
const [LONG, SHORT] = [1024, 100];

/** Bytes of a text in JSON. */
const bytesIn = (text: string): number => utf8(JSON.stringify(text)).length - 2;

/** Failures that fit into an answer: the later of too many with short names, and without their sentences. */
export function bounded(failed: readonly Failure[]): Failure[] {
  let bytes = 0;
  return failed.map(({ name, reason }) => {
    // safety: import-answer-bounded
    const isShort = bytes > MOST_FAILURES;
    const shown = { name: shortened(name, isShort ? SHORT : LONG), reason: isShort ? reason.replace(/:.*$/s, '') : reason };
    bytes += bytesIn(shown.name) + bytesIn(shown.reason);
    return shown;
  });
}

/** A name that takes so many bytes at most. */
export function shortened(name: string, most = LONG): string {
  const whole = name.slice(0, most).toWellFormed();
  if (whole.length === name.length && bytesIn(whole) <= most) return whole;
  let [text, bytes] = ['', 0];
  for (const character of whole) {
    bytes += bytesIn(character);
    if (bytes > most - 3) break;
    text += character;
  }
  return `${text}…`;
}
