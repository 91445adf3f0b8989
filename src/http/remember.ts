// Results that are made once an isolate and then kept.
import QuickLRU from 'quick-lru';

/**
 * `make`, whose results are kept by its arguments, which hold no line ends: at least `most` of them, at most twice as many, since an argument such as a base may be
 * what a client makes of it.
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
