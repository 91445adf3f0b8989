// Limits how many failures a response lists. Invariant: the encrypted response of an import fits into one row
// of the gate's storage (2 MB). Each item takes at most the size of a secret's name there, and all failures
// together 100 kB more.
import type { Failure } from '../../adapters/import/source';
import { utf8 } from '../../crypto/bytes';

/** Bytes of failures before the rest are shortened: up to 5,000 items may repeat a long title. */
const MOST_FAILURES = 100_000;
/** Bytes of a name before and after that limit. */
const LONG = 1024;
const SHORT = 100;

/** The size of a text in JSON, in bytes. */
const bytesIn = (text: string): number => utf8(JSON.stringify(text)).length - 2;

/** Failures that fit into a response. Beyond the limit, names are shortened and sentences dropped. */
export function bounded(failed: readonly Failure[]): Failure[] {
  let bytes = 0;
  return failed.map(({ name, reason }) => {
    // safety: import-answer-bounded
    const isShort = bytes > MOST_FAILURES;
    const shown = {
      name: shortened(name, isShort ? SHORT : LONG),
      reason: isShort ? reason.replace(/:.*$/s, '') : reason,
    };
    bytes += bytesIn(shown.name) + bytesIn(shown.reason);
    return shown;
  });
}

/** A name of at most this many bytes. */
export function shortened(name: string, most = LONG): string {
  const whole = name.slice(0, most).toWellFormed();
  if (whole.length === name.length && bytesIn(whole) <= most) return whole;
  let text = '';
  let bytes = 0;
  for (const character of whole) {
    bytes += bytesIn(character);
    if (bytes > most - 3) break;
    text += character;
  }
  return `${text}…`;
}
