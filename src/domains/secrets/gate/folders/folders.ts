// Folders of secrets: lists what is directly below a prefix, with `/` in names as the separator. Folders come
// first, then secrets, each sorted by name. Invariants: a folder is listed only if it contains a secret that
// the caller may list and that matches the filters; the contents of a folder are skipped, so that a folder of
// 50,000 secrets costs as much as one of two.
import type { Steps } from '../../../../auth/authorize';
import type { SecretRow } from '../../../../db/schema';
import type { Core } from '../../../../gate/core';
import type { Named } from '../../../../gate/rows/secrets';

/** The maximum cost of one page: 1 for ten names of the index, 10 for a row or for skipping a folder. */
const MOST_COST = 10_000;
const JUMP = 10;
const MOST_NAMES = 200;
/**
 * The number of names searched for the next folder after one was skipped. Each further search covers eight
 * times as many, up to the maximum.
 */
const SEARCHED = 16;
const MOST_SEARCHED = 10_000;

/** Names are ASCII: appended to a prefix, this sorts after every name with that prefix. */
const LAST = '\u007f';

/** The names that are listed: those with a prefix, in an environment. */
export interface Place {
  environment: string;
  prefix: string;
  /** The literal prefixes that listed names can have, sorted. */
  beginnings: readonly string[];
}

interface Limits {
  limit: number;
  steps: Steps;
  matches(row: SecretRow): boolean;
}

export interface Below {
  folders: string[];
  rows: SecretRow[];
  /**
   * Where the next page begins: `/` for folders or `=` for secrets, followed by the name after which it
   * continues.
   */
  next: string | null;
}

/** The state of a page while it is built. */
interface Walk extends Limits {
  core: Core;
  place: Place;
  page: Below;
  left: number;
  judged: number;
}

/** Returns a function that reads names after a given name: up to `size` at a time, none at the end. */
export function reader(core: Core, { environment, beginnings }: Place) {
  let current = 0;
  return (after: string, size: number): readonly Named[] => {
    // A prefix without further names is not read again.
    for (; current < beginnings.length; current++) {
      const beginning = beginnings[current] as string;
      const names = beginning + LAST <= after ? [] : core.rows.named(environment, beginning, after, size);
      if (names.length) return names;
    }
    return [];
  };
}

/** The row if it is listed, null if it is not, and undefined if the page ends before it. */
function judge(walk: Walk, { id, name }: { id: string; name: string }): SecretRow | null | undefined {
  const { core, place, page, limit, steps, matches } = walk;
  if (page.folders.length + page.rows.length === limit || walk.left <= 0) return undefined;
  // A page examines at least one row, so that the next page begins later.
  // safety: folder-steps-bounded
  if (!steps.take(place.environment, name) && walk.judged > 0) return undefined;
  walk.judged++;
  walk.left -= JUMP;
  const row = core.rows.get('secret', id);
  // safety: folder-within-permissions
  return row && matches(row) ? row : null;
}

/** Where the folder part of a name ends; 0 if the name has none. */
const folderEnd = (name: string, { prefix }: Place): number => name.indexOf('/', prefix.length) + 1;

/**
 * Adds the folders after a name to the page. Returns the name after which the next page continues, or null at
 * the end.
 */
function takeFolders(walk: Walk, from: string): string | null {
  const { core, place, page } = walk;
  let at = from;
  for (const beginning of place.beginnings) {
    const range = { environment: place.environment, prefix: beginning, length: place.prefix.length };
    for (let size = SEARCHED; beginning + LAST > at; size = Math.min(size * 8, MOST_SEARCHED)) {
      const { found, last, looked } = core.rows.nested(range, at, size);
      walk.left -= JUMP + looked / 10;
      if (last === null) break;
      if (!found) at = last;
      else {
        const row = judge(walk, found);
        if (row === undefined) return at;
        const folder = found.name.slice(0, folderEnd(found.name, place));
        at = row ? folder + LAST : found.name;
        size = SEARCHED / 8;
        if (row) page.folders.push(folder);
      }
      if (walk.left <= 0) return at;
    }
  }
  return null;
}

/** Adds the secrets after a name to the page, and skips folders. */
function takeSecrets(walk: Walk, from: string): string | null {
  const { core, place, page } = walk;
  const read = reader(core, place);
  let at = from;
  // After a skipped folder, one name is read, then twice as many each time, so that few names of the next
  // folder are read in vain.
  for (let size = 1; ; size = Math.min(size * 2, MOST_NAMES)) {
    const names = read(at, size);
    walk.left -= JUMP + names.length / 10;
    if (!names.length) return null;
    for (const named of names) {
      // Part of a skipped folder.
      if (named.name < at) continue;
      const end = folderEnd(named.name, place);
      if (end) {
        at = named.name.slice(0, end) + LAST;
        size = 1;
        continue;
      }
      const row = judge(walk, named);
      if (row === undefined) return at;
      if (row) page.rows.push(row);
      at = named.name;
    }
    if (walk.left <= 0) return at;
  }
}

/** One page of the folders and secrets directly below a prefix. */
export function below(core: Core, place: Place, limits: Limits, after: string | null): Below {
  const page: Below = { folders: [], rows: [], next: null };
  const walk = { ...limits, core, place, page, left: MOST_COST, judged: 0 };
  const start = after ?? '/';
  const isInSecrets = start.startsWith('=');
  const folder = isInSecrets ? null : takeFolders(walk, start.slice(1));
  if (folder !== null) return { ...page, next: `/${folder}` };
  const name = takeSecrets(walk, isInSecrets ? start.slice(1) : '');
  return { ...page, next: name === null ? null : `=${name}` };
}
