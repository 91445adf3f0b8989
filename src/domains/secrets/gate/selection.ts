// Which secrets a bulk read selects: those whose names begin with one of the prefixes, in order. Invariants:
// a secret is selected only if the caller may read it now, and is set apart if its read needs approval; of
// two that would get the same name, the later prefix wins.

import { reaches, stepsFor } from '../../../auth/authorize';
import type { SecretRow, VersionRow } from '../../../db/schema';
import { mayReveal } from '../../../gate/approvals/hold';
import type { Core } from '../../../gate/core';
import { ciphertexts } from '../../../gate/journal/ciphertexts';
import type { Call } from '../../../gate/request/call';
import { type Delivered, readable } from '../rules';
import { deliver } from './reads';
import { keyOf, type WantedVersion } from './versions';

/**
 * Limits of a bulk read: secrets, bytes of plaintext, bytes of ciphertext in one RPC, and steps to compare
 * names with patterns.
 */
export const MOST_BULK = { secrets: 2000, bytes: 16 * 1024 ** 2, part: 8 * 1024 ** 2, steps: 20_000_000 };

/** A place in the order of a bulk read: the number of the prefix, then the name. */
export interface Place {
  prefix: number;
  name: string;
}

export interface Selection {
  environment: string;
  scopes: readonly string[];
  prefixes: readonly string[];
  /** Whether names are shown without their prefix. */
  strip: boolean;
  /** Only what is directly below a prefix, not in folders there. */
  isDirect?: boolean;
  /** The name patterns that limit the caller, or null. */
  patterns: readonly string[] | null;
  /** Where the previous page ended. */
  after: Place | null;
  /** The most secrets to select, and the most to set apart. */
  limit: number;
}

/** A selected secret and the name under which it is shown. */
export interface Selected {
  row: SecretRow;
  name: string;
}

export interface Found {
  selected: Selected[];
  /** Secrets whose reads need approval. */
  held: SecretRow[];
  /** The approval policies that the caller bypasses. */
  bypassed: string[];
  /** Where the next page begins; null at the end. */
  next: Place | null;
}

/**
 * Selects up to `limit` secrets, 16 MiB of values and a bounded number of matching steps. Rows are read only
 * for names that match.
 */
export function select(call: Call<unknown>, selection: Selection, now: number): Found {
  const { core, caller } = call;
  const { environment, scopes, limit } = selection;
  const selected: Selected[] = [];
  const held: SecretRow[] = [];
  const passed: Set<string> = new Set();
  const steps = stepsFor(caller, scopes, MOST_BULK.steps);
  const hides = later(call, selection, (name) => steps.take(environment, name), now);
  let bytes = 0;
  let last: Place | null = selection.after;
  const end = (next: Place | null): Found => ({ selected, held, bypassed: [...passed], next });
  for (const { prefix, name, id } of candidates(core, selection)) {
    // safety: bulk-read-steps-bounded
    if (!steps.take(environment, name)) return end(last ?? { prefix, name: '' });
    const row = reaches(caller, scopes, environment, name) ? core.rows.get('secret', id) : null;
    if (row && readable(row, now) === null && !hides(prefix, name)) {
      const { isHeld, bypassed } = mayReveal(call, row);
      for (const policy of bypassed) passed.add(policy);
      const isFull = isHeld
        ? held.length === limit
        : selected.length === limit || bytes + row.size > MOST_BULK.bytes;
      if (isFull) return end(last);
      // safety: bulk-read-withholds
      if (isHeld) held.push(row);
      else {
        selected.push({ row, name: shownAs(selection, prefix, name) });
        bytes += row.size;
      }
    }
    last = { prefix, name };
  }
  return end(null);
}

/** The names with each prefix, in order, as far as a pattern can match them. */
function* candidates({ rows }: Core, { environment, prefixes, patterns, after, isDirect }: Selection) {
  for (let prefix = after?.prefix ?? 0; prefix < prefixes.length; prefix++)
    for (const beginning of prefixesOf(prefixes[prefix] as string, patterns))
      for (let at = prefix === after?.prefix ? after.name : ''; ; ) {
        const page = rows.named(environment, beginning, at, 1000);
        for (const { id, name } of page)
          if (!isDirect || isDirectly(name, prefixes[prefix] as string)) yield { prefix, name, id };
        if (page.length < 1000) break;
        at = page.at(-1)?.name as string;
      }
}

/** Whether a name with a prefix is in no folder below it. */
export const isDirectly = (name: string, prefix: string): boolean => !name.includes('/', prefix.length);

/** The name under which a secret is shown. One that is only the prefix keeps its name. */
const shownAs = ({ prefixes, strip }: Selection, prefix: number, name: string): string =>
  strip && name !== prefixes[prefix] ? name.slice(prefixes[prefix]?.length) : name;

/**
 * Whether a later prefix has a readable secret that is shown under the same name. One that needs approval
 * counts too.
 */
function later(
  { core, caller }: Call<unknown>,
  selection: Selection,
  take: (name: string) => boolean,
  now: number,
) {
  const { environment, scopes, prefixes, strip } = selection;
  const isThere = (name: string) => {
    if (!take(name) || !reaches(caller, scopes, environment, name)) return false;
    return readable(core.rows.find('secret', environment, name), now) === null;
  };
  return (prefix: number, name: string): boolean => {
    if (prefix === prefixes.length - 1) return false;
    const shown = shownAs(selection, prefix, name);
    // safety: bulk-later-prefix-wins
    return prefixes
      .slice(prefix + 1)
      .some((other) =>
        strip ? isThere(other + shown) || (shown === other && isThere(other)) : name.startsWith(other),
      );
  };
}

/**
 * All secrets of an environment that the caller may read, or those with a prefix, sorted by name, and those
 * that are held for approval; null for too many.
 */
export function rowsOf(
  call: Call<unknown>,
  { environment, scopes, patterns }: Pick<Selection, 'environment' | 'scopes' | 'patterns'>,
  now: number,
  prefix = '',
) {
  const whole = { prefixes: [prefix], strip: false, after: null, limit: MOST_BULK.secrets };
  const { selected, held, next } = select(call, { environment, scopes, patterns, ...whole }, now);
  return next ? null : { rows: selected.map(({ row }) => row).sort(inOrder), held: held.sort(inOrder) };
}

export const inOrder = (a: SecretRow, b: SecretRow) => (a.name < b.name ? -1 : 1);

/** Whether secrets exceed the limits of a bulk read. */
export const exceedsBulk = (rows: readonly SecretRow[]): boolean =>
  rows.length > MOST_BULK.secrets || rows.reduce((sum, { size }) => sum + size, 0) > MOST_BULK.bytes;

/**
 * The selected secrets of a bulk read, those of their versions that had to be fetched, and those that D1 does
 * not have as written.
 */
export interface Bulk {
  rows: readonly SecretRow[];
  fetched: ReadonlyMap<string, VersionRow>;
  broken?: ReadonlySet<string>;
  environment: string;
  now: number;
}

/**
 * The part of a bulk read that fits in one RPC, from the row with this index on, where it ends, and the
 * versions that must be fetched first.
 */
export function partOf(
  core: Core,
  { rows, fetched, broken, environment, now }: Bulk,
  input: { as_text?: true; from: number },
) {
  const part: { item: Delivered; index: number }[] = [];
  const missing: WantedVersion[] = [];
  const unreadable: string[] = [];
  let bytes = 0;
  let index = input.from;
  for (; index < rows.length; index++) {
    const row = rows[index] as SecretRow;
    bytes += row.size * 1.4 + 1024;
    if (index > input.from && bytes > MOST_BULK.part) break;
    const key = keyOf(row.id, row.version);
    const version = fetched.get(key) ?? ciphertexts(core).get(row.id, row.version, now);
    if (version) part.push({ item: deliver(input, { row, version }, environment, now), index });
    else if (broken?.has(key)) unreadable.push(row.name);
    else missing.push({ secret: row.id, version: row.version });
  }
  return { part, missing, unreadable, next: index < rows.length ? String(index) : null };
}

/**
 * The literal prefixes, sorted, that names with a given prefix can have if patterns limit them. None is a
 * prefix of another.
 */
export function prefixesOf(prefix: string, patterns: readonly string[] | null): string[] {
  if (patterns === null) return [prefix];
  const beginnings = patterns.flatMap((pattern) => {
    const literal = /^[^*?]*/.exec(pattern)?.[0] ?? '';
    return literal.startsWith(prefix) ? [literal] : prefix.startsWith(literal) ? [prefix] : [];
  });
  const distinct: string[] = [];
  // In sorted order, names that begin with another one directly follow it.
  for (const one of beginnings.sort())
    if (distinct.length === 0 || !one.startsWith(distinct.at(-1) as string)) distinct.push(one);
  return distinct;
}
