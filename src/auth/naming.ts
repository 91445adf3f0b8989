// Patterns of naming policies, in RE2 syntax, without backtracking: a match takes time linear in the name, whatever the pattern says.
// Invariants: what a pattern costs to compile, to keep and to run is bounded before it is stored; a pattern is searched for in the name,
// so who means the whole name anchors it.
import QuickLRU from 'quick-lru';
import { RE2JS, RE2Set } from 're2js';

export const MOST_PATTERN = 256;
/** Instructions of the compiled program. */
const MOST_INSTRUCTIONS = 600;
/** What counted repetitions of groups, as in `(…){8}`, multiply to at most: they would make a program large before it can be measured. */
const MOST_REPEATED = 64;
/** Bytes that the states of one pattern may take: past them they are made anew. */
const STATES = 65_536;

/** Names are ASCII: classes of Unicode (`\pL`) would only make programs large. */
function compile(pattern: string): RE2Set {
  const set = new RE2Set(RE2Set.UNANCHORED, RE2JS.DISABLE_UNICODE_GROUPS, STATES);
  set.add(pattern);
  set.compile();
  return set;
}

/** What counted repetitions of groups multiply to. */
const repeated = (pattern: string): number =>
  [...pattern.matchAll(/\)\{(\d+),?(\d*)\}/g)].reduce((product, [, least, most]) => product * Math.max(1, Number(most || least)), 1);

/** What is wrong with a pattern, or null. */
export function patternProblem(pattern: string): string | null {
  // safety: pattern-size-limited
  if (repeated(pattern) > MOST_REPEATED) return `must not repeat groups more than ${MOST_REPEATED} times`;
  let set: RE2Set;
  try {
    set = compile(pattern);
  } catch {
    return 'must be a regular expression in RE2 syntax (no back-references, no look-around, no Unicode classes)';
  }
  // safety: program-size-limited
  return set.prog.numInst() > MOST_INSTRUCTIONS ? 'is too large: use fewer or smaller counted repetitions' : null;
}

/** Compiled patterns that are kept, of all organisations of an isolate. */
const compiled = new QuickLRU<string, RE2Set>({ maxSize: 100 });

/** Whether a pattern is found in a name. */
export function isFound(pattern: string, name: string): boolean {
  let set = compiled.get(pattern);
  if (!set) {
    set = compile(pattern);
    compiled.set(pattern, set);
  }
  return set.match(name).length > 0;
}
