// What `npm test` leaves out because it takes long; `npm run test:whole` and a run of single files include
// it.
import { it, type TestFunction, type TestOptions } from 'vitest';

/** A test with the tag `slow`. */
export function slow(name: string, run: TestFunction): void;
export function slow(name: string, options: TestOptions, run: TestFunction): void;
export function slow(name: string, ...[first, second]: [TestFunction] | [TestOptions, TestFunction]) {
  if (second) it(name, { ...(first as TestOptions), tags: 'slow' }, second);
  else it(name, { tags: 'slow' }, first as TestFunction);
}

/** A list of cases, of which `npm test` tries about so many (QUICK=1), the first among them. */
export const few = <T>(list: readonly T[], count: number): T[] =>
  process.env.QUICK ? list.filter((_, at) => at % Math.ceil(list.length / count) === 0) : [...list];
