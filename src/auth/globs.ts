// Glob patterns on names: `*` matches any run of characters including `/`, `?` matches one, nothing else is
// special. A pattern runs as a bit-parallel automaton with one bit per state. Invariant: the cost of a call
// is bounded by the lengths alone (see `mostSteps`), regardless of the pattern. Own implementation, since
// SQL's LIKE and GLOB reject patterns over 50 bytes in D1.
import QuickLRU from 'quick-lru';

/** A valid pattern: 1 to 256 name characters or wildcards, with at most five `*`. */
export const isPattern = (text: string): boolean =>
  /^[A-Za-z0-9_./*?-]{1,256}$/.test(text) && (text.match(/\*/g)?.length ?? 0) <= 5;

/**
 * Counts steps, for tests. A step is one character of the pattern, or one word of 32 states for one character
 * of the text or table.
 */
export interface Steps {
  count: number;
}

/**
 * The most steps of one call, by the lengths of the pattern and of the text that it runs on: at most 3,163
 * for 256 and 256. The table has 67 rows: one for each character that a name can have, and one for all
 * others.
 */
export const mostSteps = (pattern: number, text: number): number =>
  pattern + (67 + text) * (1 + Math.floor(pattern / 32));

/** The most steps per character for comparing a name with patterns. */
export const widthOf = (patterns: readonly string[]): number =>
  patterns.reduce((sum, { length }) => sum + 1 + (length >> 5), 0);

/** Whether the whole of `name` matches `pattern`. */
export const matches = (pattern: string, name: string, steps?: Steps): boolean =>
  run(compiled(pattern, steps), name, false, steps);

/**
 * Whether every text that matches `inner` also matches `outer`. The result is exact.
 *
 * It is enough to consider texts in which every wildcard of `inner` stands for characters that `outer` does
 * not name, since only wildcards match those. A star of `inner` can stand for more of them than `outer` is
 * long, so everything between the first and the last literal of a block of `outer` (its text between two
 * stars) must be within one block of `inner`. A star can also stand for nothing, so the `?` around these
 * literals count for no more characters than `inner` has at least. If both hold, block after block and each
 * as far left as possible, every text of `inner` matches; if one does not, a text that mixes runs of both
 * lengths does not match. This is the containment mapping of linear paths with wildcards (Milo and Suciu,
 * Index Structures for Path Expressions, 1999).
 *
 * So `outer` runs on `inner` as if it were a name, and at a star of `inner` keeps only the states outside
 * such literals.
 */
export const contains = (outer: string, inner: string, steps?: Steps): boolean =>
  run(compiled(outer, steps), inner, true, steps);

/**
 * Whether some text matches both patterns. Walks a table of position pairs: from one pair, a star matches
 * nothing more, or one more character of the other pattern. The number of cells, at most 257 times 257,
 * bounds the cost.
 */
export function intersects(one: string, other: string): boolean {
  const width = other.length + 1;
  const seen = new Uint8Array((one.length + 1) * width);
  const open: [number, number][] = [[0, 0]];
  while (open.length) {
    const [i, j] = open.pop() as [number, number];
    if (seen[i * width + j]) continue;
    seen[i * width + j] = 1;
    if (i === one.length && j === other.length) return true;
    const a = one[i];
    const b = other[j];
    if (a === '*') open.push([i + 1, j]);
    if (b === '*') open.push([i, j + 1]);
    if (a === undefined || b === undefined) continue;
    if (a === '*' && b !== '*') open.push([i, j + 1]);
    if (b === '*' && a !== '*') open.push([i + 1, j]);
    if (a !== '*' && b !== '*' && (a === b || a === '?' || b === '?')) open.push([i + 1, j + 1]);
  }
  return false;
}

const STAR = 42;

/**
 * A pattern as an automaton. State i: the first i characters of the pattern, not counting stars, have
 * matched.
 */
interface Automaton {
  /** The last, accepting state; and how many 32-bit words hold all states. */
  end: number;
  words: number;
  /**
   * By character: the row of `masks` with the states that it advances. Row 0 is for characters that the
   * pattern does not name.
   */
  rows: Map<number, number>;
  masks: Int32Array;
  /** The states at a star, to which any character loops. */
  loops: Int32Array;
  /** The states that remain at a star of an inner pattern. */
  stays: Int32Array;
}

const set = (bits: Int32Array, at: number, offset = 0) => {
  bits[offset + (at >> 5)] = (bits[offset + (at >> 5)] as number) | (1 << (at & 31));
};

const known = new QuickLRU<string, Automaton>({ maxSize: 500 });

function compiled(pattern: string, steps?: Steps): Automaton {
  let automaton = known.get(pattern);
  if (!automaton) {
    automaton = compile(pattern);
    known.set(pattern, automaton);
  }
  // Counts as if compiled each time: what is cached depends on earlier calls.
  if (steps) steps.count += pattern.length + automaton.masks.length;
  return automaton;
}

function compile(pattern: string): Automaton {
  const blocks = pattern.split('*');
  const chars = blocks.join('');
  const words = 1 + (chars.length >> 5);
  const rows = new Map<number, number>();
  for (let i = 0; i < chars.length; i++) if (chars[i] !== '?') rows.set(chars.charCodeAt(i), 0);
  let row = 0;
  for (const char of rows.keys()) rows.set(char, ++row);

  const masks = new Int32Array((row + 1) * words);
  for (let i = 0; i < chars.length; i++) if (chars[i] === '?') set(masks, i);
  for (let at = words; at < masks.length; at++) masks[at] = masks[at % words] as number;
  for (let i = 0; i < chars.length; i++)
    if (chars[i] !== '?') set(masks, i, (rows.get(chars.charCodeAt(i)) as number) * words);

  const loops = new Int32Array(words);
  const strict = new Int32Array(words);
  const last = blocks.length - 1;
  let at = 0;
  for (const [index, block] of blocks.entries()) {
    if (index > 0) set(loops, at);
    let from = 0;
    let to = block.length;
    // The `?` next to a star are not between literals; the first block starts at the beginning of the text,
    // and the last one ends at its end.
    if (index > 0) while (block[from] === '?') from++;
    if (index < last) while (to > from && block[to - 1] === '?') to--;
    for (let state = index > 0 ? from + 1 : 0; state <= (index < last ? to - 1 : to); state++)
      set(strict, at + state);
    at += block.length;
  }
  return { end: chars.length, words, rows, masks, loops, stays: strict.map((bits) => ~bits) };
}

/**
 * Whether the automaton accepts the text. With `stars`, a star in the text is a star of an inner pattern,
 * otherwise a plain character.
 */
function run(
  { end, words, rows, masks, loops, stays }: Automaton,
  text: string,
  stars: boolean,
  steps?: Steps,
): boolean {
  const states = new Int32Array(words);
  states[0] = 1;
  for (let i = 0; i < text.length; i++) {
    const char = text.charCodeAt(i);
    const isStar = stars && char === STAR;
    const row = (rows.get(char) ?? 0) * words;
    let carry = 0;
    let alive = 0;
    for (let word = 0; word < words; word++) {
      const before = states[word] as number;
      const led = before & (masks[row + word] as number);
      const after = isStar
        ? before & (stays[word] as number)
        : (led << 1) | carry | (before & (loops[word] as number));
      carry = led >>> 31;
      alive |= after;
      states[word] = after;
    }
    if (steps) steps.count += words;
    if (alive === 0) return false;
  }
  return ((states[end >> 5] as number) & (1 << (end & 31))) !== 0;
}
