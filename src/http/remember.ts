// Results that are made once an isolate and then kept.
import QuickLRU from 'quick-lru';

/**
 * `make`, with its results kept by its arguments, which hold no line ends. From `most` to twice as many are kept: a client may choose an
 * argument, such as the host of the base URL.
 */
export function remember<A extends string[], T extends object>(most: number, make: (...args: A) => T): (...args: A) => T {
  const kept = new QuickLRU<string, T>({ maxSize: most });
  return (...args) => {
    const key = args.join('\n');
    const known = kept.get(key) ?? make(...args);
    kept.set(key, known);
    return known;
  };
}
