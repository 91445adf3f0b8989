// Batches of several calls. Invariant: a call's error applies only to the names that it writes; an error that
// ends the sync stops the remaining calls.
import { CONCURRENCY, type Put, type Removal, TargetError, type Written } from './adapter';

/** Makes a call that writes these names, and records its error as theirs. */
export async function part(
  written: Map<string, Written>,
  names: readonly string[],
  call: () => Promise<void>,
): Promise<void> {
  try {
    await call();
  } catch (error) {
    if (!(error instanceof TargetError)) throw error;
    for (const name of names) written.set(name, { action: 'failed', ...error.problem });
    if (error.ends !== 'name') throw error;
  }
}

/** The result of a put that the target took. */
export const written = ({ remote }: Put): Written => ({ action: remote ? 'updated' : 'created' });

/** The results of a call that wrote all names. */
export const allWritten = (puts: readonly Put[], removals: readonly Removal[]): Map<string, Written> =>
  new Map([
    ...puts.map((put): [string, Written] => [put.target, written(put)]),
    ...removals.map(({ target }): [string, Written] => [target, { action: 'deleted' }]),
  ]);

/**
 * A name refused within a success response: reported with the vendor's code, unless that might be sent data.
 */
export function refused(status: number, code: unknown, sent: unknown): Written {
  // safety: sync-refusals-hold-no-values
  const isCode =
    typeof code === 'string' && /^[A-Za-z_]{1,64}$/.test(code) && !JSON.stringify(sent).includes(code);
  return {
    action: 'failed',
    code: 'TARGET_REJECTED',
    message: `The target answered with status ${status}${isCode ? ` (${code})` : ''}.`,
  };
}

/**
 * Runs a function for each item, at most `CONCURRENCY` at a time; after an error, nothing more is started.
 */
export async function each<T>(items: readonly T[], run: (item: T) => Promise<void>): Promise<void> {
  const open = [...items];
  const errors: unknown[] = [];
  const worker = async () => {
    while (open.length && !errors.length) await run(open.shift() as T).catch((error) => errors.push(error));
  };
  await Promise.all(Array.from({ length: CONCURRENCY }, worker));
  if (errors.length) throw errors[0];
}
