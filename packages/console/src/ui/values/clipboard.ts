// Copied values. Invariant: a value leaves the clipboard 30 seconds after it was copied, or as soon after
// that as the page has the focus: before, a browser refuses to write. Something else that was copied since
// stays if the browser lets the console read the clipboard.
import { tell, warn } from '../toast';

const KEPT_FOR = 30_000;
/** How long the browser may ask the member whether the console may read the clipboard. */
const ASKS_FOR = 10_000;

/** What the clipboard holds: the value, if it cannot be read or nobody answers the browser. */
async function heldOr(value: string): Promise<string> {
  const read = navigator.clipboard.readText().catch(() => value);
  return Promise.race([read, new Promise<string>((done) => setTimeout(done, ASKS_FOR, value))]);
}

/**
 * Clears the clipboard if it still holds the value, or if it cannot be read.
 * @returns whether the value is gone
 */
async function clear(value: string): Promise<boolean> {
  try {
    if ((await heldOr(value)) === value) await navigator.clipboard.writeText('');
    return true;
  } catch {
    return false;
  }
}

/** Clears the clipboard as soon as the page may: now, or when it has the focus again. */
async function clearSoon(value: string): Promise<void> {
  const isLate = !document.hasFocus();
  if (isLate) await new Promise((focused) => addEventListener('focus', focused, { once: true }));
  if (!(await clear(value)))
    warn('The clipboard could not be cleared', 'It may still hold the value: copy something else.');
  else if (isLate) tell('The copied value is cleared from the clipboard');
}

/** Copies a value, and clears the clipboard later. @param what its name */
export async function copyValue(what: string, value: string): Promise<void> {
  await navigator.clipboard.writeText(value);
  setTimeout(() => void clearSoon(value), KEPT_FOR);
  tell(
    `${what} copied`,
    'It is cleared from the clipboard in 30 seconds if this page is open and in front, otherwise when you come back to it.',
  );
}
