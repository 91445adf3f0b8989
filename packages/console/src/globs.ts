// Glob patterns for names, matched like the API: `*` is any sequence of characters, `?` is one. Only for
// previews: the service decides.

/**
 * Whether `name` as a whole matches `pattern`. Backtracks only to the last star, so the cost is bounded by
 * the product of the lengths.
 */
export function matches(pattern: string, name: string): boolean {
  let at = 0;
  let from = 0;
  let star = -1;
  let mark = 0;
  while (at < name.length) {
    if (pattern[from] === '*') [star, mark] = [from++, at];
    else if (from < pattern.length && (pattern[from] === '?' || pattern[from] === name[at]))
      [at, from] = [at + 1, from + 1];
    else if (star >= 0) [from, at] = [star + 1, ++mark];
    else return false;
  }
  while (pattern[from] === '*') from += 1;
  return from === pattern.length;
}

/** The lines of a text, without empty ones. */
export const linesOf = (text: string): string[] => [
  ...new Set(
    text
      .split('\n')
      .map((line) => line.trim())
      .filter(Boolean),
  ),
];
