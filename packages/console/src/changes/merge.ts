// What a form saves when a colleague has changed the same resource: a three-way merge of the state that the
// form opened with (base), what the member entered (mine), and the current state (theirs). Pure. Invariants:
// what the member did not touch ends as theirs, and what they touched as mine; a merge never empties a list
// that neither of them emptied, because an empty list often means no restriction.
import { linesOf } from '../globs';

/** The key of a line of a text: lines with the same key are one entry. */
export type KeyOf = (line: string) => string;
/** For names and addresses: each line is an entry of its own. */
export const byLine: KeyOf = (line) => line;

type Fields = Record<string, unknown>;
const isFields = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
const isList = (value: unknown): value is string[] =>
  Array.isArray(value) && value.every((item) => typeof item === 'string');

function isSame(one: unknown, other: unknown): boolean {
  if (!isFields(one) || !isFields(other)) return JSON.stringify(one) === JSON.stringify(other);
  const keys = Object.keys(one);
  return (
    keys.length === Object.keys(other).length &&
    keys.every((key) => Object.hasOwn(other, key) && isSame(one[key], other[key]))
  );
}

type Entries = Map<string, unknown>;

/** The current entries, with the member's additions, changes and removals. */
function mergedEntries(base: Entries, mine: Entries, theirs: Entries): Entries {
  const result = new Map(theirs);
  for (const key of new Set([...base.keys(), ...mine.keys()])) {
    if (!mine.has(key)) result.delete(key);
    else if (!base.has(key) || !isSame(mine.get(key), base.get(key)))
      result.set(key, merged(base.get(key), mine.get(key), theirs.get(key)));
  }
  return result;
}

const fieldsIn = (fields: Fields): Entries => new Map(Object.entries(fields));
const itemsIn = (list: string[]): Entries => new Map(list.map((item) => [item, item]));

/**
 * The values of entries that restrict something. An empty list often means no restriction, which has no
 * entries to merge.
 */
function mergedItems(base: Entries, mine: Entries, theirs: Entries): string[] {
  if (base.size && (!mine.size || !theirs.size)) return [...mine.values()] as string[];
  const result = mergedEntries(base, mine, theirs);
  const isEmptied = !result.size && mine.size > 0;
  return [...(isEmptied ? mine : result).values()] as string[];
}

function merged(base: unknown, mine: unknown, theirs: unknown): unknown {
  if (isSame(mine, base)) return theirs;
  if (isSame(theirs, base)) return mine;
  if (isFields(base) && isFields(mine) && isFields(theirs))
    return Object.fromEntries(mergedEntries(fieldsIn(base), fieldsIn(mine), fieldsIn(theirs)));
  if (isList(base) && isList(mine) && isList(theirs))
    return mergedItems(itemsIn(base), itemsIn(mine), itemsIn(theirs));
  return mine;
}

function linesIn(text: string, keyOf: KeyOf): Entries {
  const entries = new Map<string, string>();
  for (const line of linesOf(text)) {
    const key = keyOf(line);
    entries.set(key, entries.has(key) ? `${entries.get(key)}\n${line}` : line);
  }
  return entries;
}

function mergedLines(base: string, mine: string, theirs: string, keyOf: KeyOf): string {
  if (mine === base) return theirs;
  if (theirs === base) return mine;
  return mergedItems(linesIn(base, keyOf), linesIn(mine, keyOf), linesIn(theirs, keyOf)).join('\n');
}

/** The fields of a form that are texts with an entry in each line, also in a group of fields. */
export type Lines<Draft> = {
  [Field in keyof Draft]?: Draft[Field] extends object ? Lines<Draft[Field]> : KeyOf;
};

/** The input of a form for the current state: the same changes as `mine` makes to `base`. */
export function mergedDraft<Draft extends object>(
  base: Draft,
  mine: Draft,
  theirs: Draft,
  lines: Lines<Draft> = {},
): Draft {
  const result = mergedEntries(
    ...([base, mine, theirs].map((draft) => new Map(Object.entries(draft))) as [Entries, Entries, Entries]),
  );
  for (const [field, how] of Object.entries(lines) as [keyof Draft & string, KeyOf | Lines<object>][]) {
    const one = base[field];
    const own = mine[field];
    const now = theirs[field];
    if (typeof how === 'function')
      result.set(field, mergedLines(String(one), String(own), String(now), how as KeyOf));
    else result.set(field, mergedDraft<object>(one as object, own as object, now as object, how));
  }
  return Object.fromEntries(result) as Draft;
}

/**
 * The fields that differ from those of the state that a form shows a change of. Only they are sent, each as a
 * whole.
 */
export const changedOf = <Body extends object>(first: Body, now: Body): Partial<Body> =>
  Object.fromEntries(
    Object.entries(now).filter(([field, value]) => !isSame(value, first[field as keyof Body])),
  ) as Partial<Body>;
