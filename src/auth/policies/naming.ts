// Patterns of naming policies, in RE2 syntax without backtracking: matching takes time linear in the name,
// regardless of the pattern. Invariants: the cost of compiling, storing and running a pattern is bounded
// before it is stored; a pattern can match anywhere in a name, unless it is anchored.
import QuickLRU from 'quick-lru';
import { RE2JS, RE2Set } from 're2js';

export const MOST_PATTERN = 256;
/** The most instructions of the compiled program. */
const MOST_INSTRUCTIONS = 600;
/**
 * The highest product of counted group repetitions, as in `(…){8}`: more could make a program large before it
 * can be measured.
 */
const MOST_REPEATED = 64;
/** The most bytes for a pattern's cached states; beyond that, they are built again. */
const STATES = 65_536;

/** Names are ASCII, so Unicode classes (`\pL`) would only make programs large. */
function compile(pattern: string): RE2Set {
  const set = new RE2Set(RE2Set.UNANCHORED, RE2JS.DISABLE_UNICODE_GROUPS, STATES);
  set.add(pattern);
  set.compile();
  return set;
}

/** The product of counted group repetitions. */
const repeated = (pattern: string): number =>
  [...pattern.matchAll(/\)\{(\d+),?(\d*)\}/g)].reduce(
    (product, [, least, most]) => product * Math.max(1, Number(most || least)),
    1,
  );

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
  return set.prog.numInst() > MOST_INSTRUCTIONS
    ? 'is too large: use fewer or smaller counted repetitions'
    : null;
}

/** Cached compiled patterns of all organisations in an isolate. */
const compiled = new QuickLRU<string, RE2Set>({ maxSize: 100 });

function compiledOf(pattern: string): RE2Set {
  let set = compiled.get(pattern);
  if (!set) {
    set = compile(pattern);
    compiled.set(pattern, set);
  }
  return set;
}

/** The instructions of a pattern's program: what one character of a name costs at most. */
export const instructionsOf = (pattern: string): number => compiledOf(pattern).prog.numInst();

/** Whether a pattern matches in a name. */
export const isFound = (pattern: string, name: string): boolean => compiledOf(pattern).match(name).length > 0;
