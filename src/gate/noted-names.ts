// The names of several secrets in an audit entry: as they are, or, where they are too long together, what they lie within. Invariant: what is noted covers
// every one of them, so that an exposure report may count more, and never less.

/** Characters of names that one audit entry holds. */
const MOST_NAMES = 16_384;

/** What an entry says of these names, which are sorted; `patterns` are those that they lie within, where the caller is limited to some. */
export function namesNoted(names: readonly string[], patterns: readonly string[] | null) {
  const isShort = names.join('').length <= MOST_NAMES;
  return { prefix: prefixOf(names), ...(isShort ? { names } : { patterns: patterns ?? undefined }) };
}

/** What they begin with: what the first and the last have in common all have. */
function prefixOf(names: readonly string[]): string {
  const [first = '', last = ''] = [names[0], names.at(-1)];
  let at = 0;
  while (at < first.length && first[at] === last[at]) at++;
  return first.slice(0, at);
}
