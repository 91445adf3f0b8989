// Glob patterns on names, as the API matches them: `*` is any run of characters, `?` is one. For previews: the service decides.

/** Whether the whole of `name` matches `pattern`. Goes back to the last star alone, so the cost is bounded by the product of the lengths. */
export function matches(pattern: string, name: string): boolean {
  let [at, from, star, mark] = [0, 0, -1, 0];
  while (at < name.length) {
    if (pattern[from] === '*') [star, mark] = [from++, at];
    else if (from < pattern.length && (pattern[from] === '?' || pattern[from] === name[at])) [at, from] = [at + 1, from + 1];
    else if (star >= 0) [from, at] = [star + 1, ++mark];
    else return false;
  }
  while (pattern[from] === '*') from += 1;
  return from === pattern.length;
}

/** What somebody typed one a line, without empty lines. */
export const linesOf = (text: string): string[] => [
  ...new Set(
    text
      .split('\n')
      .map((line) => line.trim())
      .filter(Boolean),
  ),
];
