// Glob patterns on names: `*` is any run of characters (`/` too), `?` is one, nothing else is special. Matching is linear in time for
// each `*`: the matcher never looks back further than the last star. Our own, since SQL's LIKE and GLOB refuse patterns over 50 bytes in D1.

/** What a pattern may be: 1 to 256 bytes of a name's characters and at most five `*`. */
export const isPattern = (text: string): boolean => /^[A-Za-z0-9_./*?-]{1,256}$/.test(text) && (text.match(/\*/g)?.length ?? 0) <= 5;

/** Whether the whole of `name` matches `pattern`. */
export function matches(pattern: string, name: string): boolean {
  let [p, t] = [0, 0];
  let [star, resume] = [-1, 0];
  while (t < name.length) {
    if (pattern[p] === '*') {
      star = p++;
      resume = t;
    } else if (p < pattern.length && (pattern[p] === '?' || pattern[p] === name[t])) {
      p++;
      t++;
    } else if (star >= 0) {
      p = star + 1;
      t = ++resume;
    } else return false;
  }
  while (pattern[p] === '*') p++;
  return p === pattern.length;
}

/**
 * Whether every text that matches `inner` matches `outer`: exactly that, in steps no more than the product of their lengths.
 *
 * Only texts need be looked at in which all that a wildcard of `inner` stands for is a character that `outer` does not name, since only
 * wildcards match that. A star of `inner` can stand for more of them than `outer` is long, so what lies between the first and the last
 * literal of a block of `outer` (its text between two stars) has to lie within one block of `inner`. It can also stand for none, so the
 * `?` around these literals count for no more characters than `inner` has at least. Where both hold, block after block and each as far
 * left as can be, every text of `inner` matches; where one does not, a text that mixes runs of both lengths does not. This is the
 * containment mapping of linear paths with wildcards (Milo and Suciu, Index Structures for Path Expressions, 1999).
 */
export function contains(outer: string, inner: string): boolean {
  const blocks = outer.split('*');
  const [head, tail] = [blocks.shift() as string, blocks.pop()];
  if (tail === undefined) return inner.length === head.length && fits(head, inner, 0);

  const start = head.replace(/\?+$/, '');
  if (!fits(start, inner, 0)) return false;
  let at = after(inner, start.length, head.length - start.length);
  for (const block of blocks) {
    const [, before = '', literals = '', behind = ''] = /^(\?*)(.*?)(\?*)$/.exec(block) ?? [];
    at = after(inner, at, before.length);
    while (at < inner.length && !fits(literals, inner, at)) at++;
    if (!fits(literals, inner, at)) return false;
    at = after(inner, at + literals.length, behind.length);
  }
  const end = tail.replace(/^\?+/, '');
  const last = inner.length - end.length;
  return fits(end, inner, last) && after(inner, at, tail.length - end.length) <= last;
}

/** Whether a part of a block stands in `inner` from a place on, with no star in between. */
function fits(part: string, inner: string, at: number): boolean {
  for (let i = 0; i < part.length; i++) {
    const char = inner[at + i];
    if (char === undefined || char === '*' || (part[i] !== '?' && part[i] !== char)) return false;
  }
  return true;
}

/** Where `inner` has given so many characters more, its stars giving none; infinitely far where it has fewer. */
function after(inner: string, at: number, count: number): number {
  for (let left = count; left > 0; at++) {
    if (at >= inner.length) return Number.POSITIVE_INFINITY;
    if (inner[at] !== '*') left--;
  }
  return at;
}
