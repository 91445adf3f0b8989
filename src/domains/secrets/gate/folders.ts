// Folders of secrets: what is directly below a prefix, where `/` in names divides them. First the folders, then the secrets, each in the
// order of names. Invariants: a folder is shown only for a secret in it that the caller may list and that the filters match; and what a
// folder holds is jumped over, so that a folder of 50,000 secrets costs as much as one of two.
import type { Steps } from '../../../auth/authorize';
import type { SecretRow } from '../../../db/schema';
import type { Core } from '../../../gate/core';

/** What one page may cost: 1 for ten names of the index, 10 for a row or a jump. */
const MOST_COST = 10_000;
const JUMP = 10;
const MOST_NAMES = 200;
/** Names that are searched for a folder after a jump; then eight times as many each time, and the most at once. */
const SEARCHED = 16;
const MOST_SEARCHED = 10_000;

/** Names are ASCII: this comes after every name that begins with what stands before it. */
const LAST = '\u007f';

/** What is listed: names that begin so, in an environment. */
export interface Place {
  environment: string;
  prefix: string;
  /** The literal beginnings that listed names can have, in the order of names. */
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
  /** For each folder the secret that it is shown for. */
  witnesses: string[];
  /** Where the next page begins: `/` for folders or `=` for secrets, and the name after which it goes on. */
  next: string | null;
}

/** One page in the making. */
interface Walk extends Limits {
  core: Core;
  place: Place;
  page: Below;
  left: number;
  judged: number;
}

/** Reads the names of a place on and on, from a name: up to `size` at a time, none at the end. */
export function reader(core: Core, { environment, beginnings }: Place) {
  let current = 0;
  return (after: string, size: number): { name: string; id: string }[] => {
    // A beginning that has no more names is not asked again.
    for (; current < beginnings.length; current++) {
      const beginning = beginnings[current] as string;
      const names = beginning + LAST <= after ? [] : core.rows.named(environment, beginning, after, size);
      if (names.length) return names;
    }
    return [];
  };
}

/** A row that is listed, null for one that is not, and undefined where the page ends before it. */
function judge(walk: Walk, { id, name }: { id: string; name: string }): SecretRow | null | undefined {
  const { core, place, page, limit, steps, matches } = walk;
  if (page.folders.length + page.rows.length === limit || walk.left <= 0) return undefined;
  // A page looks at one row at least, so that the next one begins later.
  // safety: folder-steps-bounded
  if (!steps.take(place.environment, name) && walk.judged > 0) return undefined;
  walk.judged++;
  walk.left -= JUMP;
  const row = core.rows.get('secret', id);
  // safety: folder-within-permissions
  return row && matches(row) ? row : null;
}

/** Where the part of a name that is a folder ends; 0 where it has none. */
const folderEnd = (name: string, { prefix }: Place): number => name.indexOf('/', prefix.length) + 1;

/** Takes folders from a name on. Answers the name after which the next page goes on, or null at the end. */
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
        if (row) page.witnesses.push(row.id);
      }
      if (walk.left <= 0) return at;
    }
  }
  return null;
}

/** Takes secrets from a name on, and jumps over folders. */
function takeSecrets(walk: Walk, from: string): string | null {
  const { core, place, page } = walk;
  const read = reader(core, place);
  let at = from;
  // After a jump one name is asked for, then twice as many each time, so that a jump does not read what it is about to pass.
  for (let size = 1; ; size = Math.min(size * 2, MOST_NAMES)) {
    const names = read(at, size);
    walk.left -= JUMP + names.length / 10;
    if (!names.length) return null;
    for (const named of names) {
      // What a jump has passed.
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

/** One page of what is directly below a prefix. */
export function below(core: Core, place: Place, limits: Limits, after: string | null): Below {
  const page: Below = { folders: [], rows: [], witnesses: [], next: null };
  const walk = { ...limits, core, place, page, left: MOST_COST, judged: 0 };
  const start = after ?? '/';
  const isInSecrets = start.startsWith('=');
  const folder = isInSecrets ? null : takeFolders(walk, start.slice(1));
  if (folder !== null) return { ...page, next: `/${folder}` };
  const name = takeSecrets(walk, isInSecrets ? start.slice(1) : '');
  return { ...page, next: name === null ? null : `=${name}` };
}
