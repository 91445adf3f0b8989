// Which audit entries a caller may see. Pure. Invariant: a caller limited to environments or names sees only its own entries and those
// about secrets that it can reach; an entry that does not name its subject is not shown.
import { type Caller, type PermissionSet, reachesAll } from '../../auth/authorize';
import { matches, widthOf } from '../../auth/globs';
import { covers } from '../../auth/scopes';
import type { Entry } from '../../gate/audit-entry';
import { LOOKED_AT } from '../../gate/audit-log';

const SCOPE = 'audit:read';

/** The ids whose entries are the caller's own, and the places that the caller can reach. Environments are slugs, as in entries. */
export interface View {
  own: string[];
  places: { environments: string[] | null; secrets: readonly string[] | null }[];
}

/** What the caller can see; null for everything. `slugOf` maps an environment id to the slug that entries use. */
export function viewOf(caller: Caller, slugOf: (environment: string) => string): View | null {
  if (reachesAll(caller, [SCOPE])) return null;
  const places = caller.permissions
    .filter(({ scopes }: PermissionSet) => covers(scopes, SCOPE))
    .map(({ environments, secrets }) => ({ environments: environments?.map(slugOf) ?? null, secrets }));
  return { own: [caller.id, caller.credential], places };
}

/** The most matching steps for one gate call; a name has up to 255 characters. */
const MOST_STEPS = 4_000_000;
const LONGEST = 255;

/** How many entries one gate call may examine: fewer for a view with more patterns. */
export function mostLookedAt(view: View | null): number {
  const patterns = view?.places.flatMap(({ secrets }) => secrets ?? []) ?? [];
  return Math.max(1, Math.min(LOOKED_AT, Math.floor(MOST_STEPS / (LONGEST * Math.max(1, widthOf(patterns))))));
}

/** Whether the view includes an entry. */
export function shows(view: View | null, { actor, environment, resource_name }: Entry): boolean {
  if (view === null || [actor.id, actor.parent_id].some((id) => id !== null && view.own.includes(id))) return true;
  if (environment === null) return false;
  return view.places.some(
    ({ environments, secrets }) =>
      (environments === null || environments.includes(environment)) &&
      (secrets === null || (resource_name != null && secrets.some((pattern) => matches(pattern, resource_name)))),
  );
}
