// What a caller may see of the audit log. Pure. Invariant: a caller who is limited to environments or names sees the entries of what it
// reaches and its own, and nothing else; an entry that does not say what it concerns is not shown.
import { type Caller, type PermissionSet, reachesAll } from '../../auth/authorize';
import { matches, widthOf } from '../../auth/globs';
import { covers } from '../../auth/scopes';
import type { Entry } from '../../gate/audit-entry';
import { LOOKED_AT } from '../../gate/audit-log';

const SCOPE = 'audit:read';

/** The ids whose entries are the caller's own, and the places that it reaches. Environments are slugs, as entries spell them. */
export interface View {
  own: string[];
  places: { environments: string[] | null; secrets: readonly string[] | null }[];
}

/** What a caller sees; null for everything. `slugOf` says how entries spell an environment. */
export function viewOf(caller: Caller, slugOf: (environment: string) => string): View | null {
  if (reachesAll(caller, [SCOPE])) return null;
  const places = caller.permissions
    .filter(({ scopes }: PermissionSet) => covers(scopes, SCOPE))
    .map(({ environments, secrets }) => ({ environments: environments?.map(slugOf) ?? null, secrets }));
  return { own: [caller.id, caller.credential], places };
}

/** Steps of comparing names with patterns that one call of the gate may take; a name has 255 characters. */
const MOST_STEPS = 4_000_000;
const LONGEST = 255;

/** How many entries one call of the gate may look at: the fewer, the more patterns a view has. */
export function mostLookedAt(view: View | null): number {
  const patterns = view?.places.flatMap(({ secrets }) => secrets ?? []) ?? [];
  return Math.max(1, Math.min(LOOKED_AT, Math.floor(MOST_STEPS / (LONGEST * Math.max(1, widthOf(patterns))))));
}

/** Whether an entry is shown in a view. */
export function shows(view: View | null, { actor, environment, resource_name }: Entry): boolean {
  if (view === null || [actor.id, actor.parent_id].some((id) => id !== null && view.own.includes(id))) return true;
  if (environment === null) return false;
  return view.places.some(
    ({ environments, secrets }) =>
      (environments === null || environments.includes(environment)) &&
      (secrets === null || (resource_name != null && secrets.some((pattern) => matches(pattern, resource_name)))),
  );
}
