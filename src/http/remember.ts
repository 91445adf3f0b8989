// Results computed once per isolate and then cached.
import QuickLRU from 'quick-lru';

/**
 * `make`, with results cached by its arguments, which contain no line breaks. Between `most` and twice as
 * many are cached: clients can choose an argument, such as the host of the base URL.
 */
export function remember<A extends string[], T extends object>(
  most: number,
  make: (...args: A) => T,
): (...args: A) => T {
  const kept = new QuickLRU<string, T>({ maxSize: most });
  return (...args) => {
    const key = args.join('\n');
    const known = kept.get(key) ?? make(...args);
    kept.set(key, known);
    return known;
  };
}
