// What `npm test` leaves out because it takes long: tests with the tag `slow`, most cases of long lists, and
// most random histories (QUICK=1). `npm run test:whole` runs them, and so does a run of single files.
import { env } from 'cloudflare:workers';
import { it, type TestFunction, type TestOptions } from 'vitest';

const isQuick = Boolean((env as { QUICK?: string }).QUICK);

/** A test with the tag `slow`. */
export function slow(name: string, run: TestFunction): void;
export function slow(name: string, options: TestOptions, run: TestFunction): void;
export function slow(name: string, ...[first, second]: [TestFunction] | [TestOptions, TestFunction]) {
  if (second) it(name, { ...(first as TestOptions), tags: 'slow' }, second);
  else it(name, { tags: 'slow' }, first as TestFunction);
}

/** A list of cases, of which `npm test` tries about so many, the first among them. */
export const few = <T>(list: readonly T[], count: number): T[] =>
  isQuick ? list.filter((_, at) => at % Math.ceil(list.length / count) === 0) : [...list];

/** How many random runs a property has: so many, and in `npm test` fewer. */
export const runs = (all: number, few: number) => (isQuick ? few : all);
