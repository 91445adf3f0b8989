// Which audit entries a caller may see. Pure. Invariant: a caller limited to environments or names sees only
// its own entries and those about secrets that it can reach; an entry that does not name its subject is not
// shown; no entry names what lies outside its limits.
import { type Caller, reachesAll as isUnlimited, type PermissionSet } from '../../auth/authorize';
import { matches, widthOf } from '../../auth/globs';
import { covers } from '../../auth/scopes';
import { BULK_READS, type Entry } from '../../gate/audit/entry';
import { LOOKED_AT } from '../../gate/audit/log';

const SCOPE = 'audit:read';

/**
 * The ids whose entries are the caller's own, and the places that the caller can reach. Environments are
 * slugs, as in entries.
 */
export interface View {
  own: string[];
  places: { environments: string[] | null; secrets: readonly string[] | null }[];
}

/**
 * What the caller can see; null for everything. `slugOf` maps an environment id to the slug that entries use.
 */
export function viewOf(caller: Caller, slugOf: (environment: string) => string): View | null {
  if (isUnlimited(caller, [SCOPE])) return null;
  const places = caller.permissions
    .filter(({ scopes }: PermissionSet) => covers(scopes, SCOPE))
    .map(({ environments, secrets }) => ({ environments: environments?.map(slugOf) ?? null, secrets }));
  return { own: [caller.id, caller.credential], places };
}

/**
 * The most matching steps for one gate call; an entry has at most two names of 255 characters, each looked at
 * twice.
 */
const MOST_STEPS = 4_000_000;
const LONGEST = 1020;

/** How many entries one gate call may examine: fewer for a view with more patterns. */
export function mostLookedAt(view: View | null): number {
  const patterns = view?.places.flatMap(({ secrets }) => secrets ?? []) ?? [];
  return Math.max(
    1,
    Math.min(LOOKED_AT, Math.floor(MOST_STEPS / (LONGEST * Math.max(1, widthOf(patterns))))),
  );
}

const isOwn = ({ own }: View, { actor }: Pick<Entry, 'actor'>) =>
  [actor.id, actor.parent_id].some((id) => id !== null && own.includes(id));

/** What a view needs of an entry. */
type Subject = Pick<Entry, 'actor' | 'environment' | 'resource_name' | 'former_name' | 'use'> &
  Partial<Pick<Entry, 'imported'>>;

/** Whether a view includes the environment that a promotion copies from; true of other entries. */
const reachesSource = ({ places }: View, { imported }: Partial<Pick<Entry, 'imported'>>): boolean =>
  !imported?.copied ||
  // safety: audit-source-within-view
  places.some(({ environments }) => environments?.includes(imported.source) ?? true);

/** Whether a view includes an environment and, where its names are limited, all these names. */
const reachesAll = ({ places }: View, environment: string, named: readonly string[]): boolean =>
  places.some(
    ({ environments, secrets }) =>
      (environments === null || environments.includes(environment)) &&
      (secrets === null || named.every((name) => secrets.some((pattern) => matches(pattern, name)))),
  );

/** The names of the secrets of an entry: that of a call names its upstream, and the secrets in `use`. */
const namesIn = ({ resource_name, former_name, use }: Subject): string[] =>
  use?.secrets.map(({ name }) => name) ??
  [resource_name, former_name].filter((name) => typeof name === 'string');

/** Whether the view includes an entry. */
export function shows(view: View | null, entry: Subject): boolean {
  if (view === null || isOwn(view, entry)) return true;
  const { environment, resource_name } = entry;
  if (environment === null || !reachesSource(view, entry)) return false;
  // safety: audit-every-name-within-view
  const named = resource_name == null ? null : namesIn(entry);
  return view.places.some(
    (place) =>
      (place.secrets === null || named !== null) &&
      reachesAll({ own: [], places: [place] }, environment, named ?? []),
  );
}

/**
 * In place of what would tell, with the rest of the entry, whether a guess of the omitted fields is right.
 */
const WITHHELD = 'withheld';

/**
 * An entry as a view shows it. A caller's own entry about what lies outside its limits names neither the
 * secret nor the environment, and has no id and no hash.
 */
export function seenIn(view: View | null, entry: Entry): Entry {
  if (view === null || entry.environment === null) return entry;
  // The entry of a sync names the sync.
  const named = (BULK_READS as readonly string[]).includes(entry.action) ? [] : namesIn(entry);
  // safety: own-entries-within-limits
  if (reachesSource(view, entry) && reachesAll(view, entry.environment, named)) return entry;
  const {
    former_name: _,
    names: __,
    prefix: ___,
    prefixes: ____,
    patterns: _____,
    imported: ______,
    use: _______,
    ...rest
  } = entry;
  return {
    ...rest,
    id: `${WITHHELD}:${entry.sequence}`,
    environment: null,
    resource_name: null,
    version: null,
    hash: WITHHELD,
  };
}
