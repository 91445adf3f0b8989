// Glob patterns on names: `*` is any run of characters (`/` too), `?` is one, nothing else is special. Linear in time for each `*`:
// the matcher never looks back further than the last star. Our own, since SQL's LIKE and GLOB refuse patterns over 50 bytes in D1.

/** What a pattern may be: 1 to 256 bytes of a name's characters and at most five `*`. */
export const isPattern = (text: string): boolean => /^[A-Za-z0-9_./*?-]{1,256}$/.test(text) && (text.match(/\*/g)?.length ?? 0) <= 5;

/** Whether the whole of `name` matches `pattern`. */
export const matches = (pattern: string, name: string): boolean => run(pattern, name, (wild, char) => wild === '?' || wild === char);

/** Whether every name that matches `inner` surely matches `outer`: the stars of `inner` are met by stars of `outer` alone. */
export const contains = (outer: string, inner: string): boolean =>
  run(outer, inner, (wild, char) => char !== '*' && (wild === '?' || wild === char));

function run(pattern: string, text: string, one: (wild: string, char: string) => boolean): boolean {
  let [p, t] = [0, 0];
  let [star, resume] = [-1, 0];
  while (t < text.length) {
    if (pattern[p] === '*') {
      star = p++;
      resume = t;
    } else if (p < pattern.length && one(pattern[p] as string, text[t] as string)) {
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
