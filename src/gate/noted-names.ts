// The names of several secrets in an audit entry: in full or, if too long, the prefix or patterns that contain them. Invariant: the entry
// covers every name, so an exposure report may count too many, never too few.

/** The most characters of names in one audit entry. */
const MOST_NAMES = 16_384;

/** What an entry records of these sorted names; `patterns` are the name patterns that limit the caller, if any. */
export function namesNoted(names: readonly string[], patterns: readonly string[] | null) {
  const isShort = names.join('').length <= MOST_NAMES;
  return { prefix: prefixOf(names), ...(isShort ? { names } : { patterns: patterns ?? undefined }) };
}

/** The common prefix: that of the first and the last name. */
function prefixOf(names: readonly string[]): string {
  const [first = '', last = ''] = [names[0], names.at(-1)];
  let at = 0;
  while (at < first.length && first[at] === last[at]) at++;
  return first.slice(0, at);
}
