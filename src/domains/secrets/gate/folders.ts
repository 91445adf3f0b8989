// Folders of secrets: what is directly below a prefix, where `/` in names divides them. First the folders, then the secrets, each in the
// order of names. Invariants: a folder is shown only for a secret in it that the caller may list and that the filters match; and what a
// folder holds is jumped over, so that a folder of 50,000 secrets costs as much as one of two.
import type { Steps } from '../../../auth/authorize';
import type { SecretRow } from '../../../db/schema';
import type { Core } from '../../../gate/core';

/** What one page looks at: a name of the index costs 1, a row or a jump 10. */
const MOST_LOOKS = 10_000;
const LOOK = 10;
const MOST_NAMES = 200;

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

/** Reads the names of a place on and on, from after a name: up to `size` at a time, none at the end. */
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

/** One page of what is directly below a prefix. */
export function below(core: Core, place: Place, { limit, steps, matches }: Limits, after: string | null): Below {
  const found: Below = { folders: [], rows: [], witnesses: [], next: null };
  const start = after ?? '/';
  let [mark, at] = [start.slice(0, 1), start.slice(1)];
  let left = MOST_LOOKS;
  const until = (next: string | null): Below => ({ ...found, next });
  /** Looks at a name. Answers the name after which to go on, or null where the page ends before it. */
  const look = ({ id, name }: { id: string; name: string }): string | null => {
    const slash = name.indexOf('/', place.prefix.length);
    const folder = slash < 0 ? null : name.slice(0, slash + 1);
    if (mark === '/' && folder === null) return name;
    if (mark === '=' && folder !== null) return folder + LAST;
    if (found.folders.length + found.rows.length === limit) return null;
    // A page looks at one row at least, so that the next one begins later.
    // safety: folder-steps-bounded
    if (!steps.take(place.environment, name) && mark + at !== start) return null;
    left -= LOOK;
    const row = core.rows.get('secret', id);
    // safety: folder-within-permissions
    if (!row || !matches(row)) return name;
    if (folder === null) {
      found.rows.push(row);
      return name;
    }
    found.folders.push(folder);
    found.witnesses.push(id);
    return folder + LAST;
  };
  // After a jump one name is asked for, then twice as many each time, so that a jump does not read what it is about to pass.
  let read = reader(core, place);
  for (let size = 1; left > 0; size = Math.min(size * 2, MOST_NAMES)) {
    const names = read(at, size);
    left -= LOOK + names.length;
    if (!names.length && mark === '=') return until(null);
    if (!names.length) [mark, at, size, read] = ['=', '', 1, reader(core, place)];
    for (const named of names) {
      if (named.name < at) continue;
      const next = look(named);
      if (next === null) return until(mark + at);
      if (next !== named.name) size = 1;
      at = next;
    }
  }
  return until(mark + at);
}
