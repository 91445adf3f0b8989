// Which events a caller may see. Pure. Invariants: a caller limited to environments or names, or without
// `events:read`, sees only events of the kinds SECRET_* for names it can reach; an event is shown only if the
// caller can reach every name in it.
import { type Caller, reachesAll } from '../../auth/authorize';
import { matches, widthOf } from '../../auth/globs';
import { covers } from '../../auth/scopes';
import type { EventType, StoredEvent } from '../../gate/outbox';

/**
 * Each of these scopes grants the events of secrets in its environments and for its names. The first one,
 * without limits, grants all events.
 */
const SCOPES = ['events:read', 'secrets:list', 'secrets:read'] as const;

/** The places that a caller can reach. Environments are ids, because a slug can be reused. */
export interface View {
  places: { environments: readonly string[] | null; secrets: readonly string[] | null }[];
}

/** What a caller can see; null for everything. */
export function viewOf(caller: Caller): View | null {
  if (reachesAll(caller, ['events:read'])) return null;
  return {
    places: caller.permissions
      .filter(({ scopes }) => SCOPES.some((scope) => covers(scopes, scope)))
      .map(({ environments, secrets }) => ({ environments, secrets })),
  };
}

/** The most matching steps for one request; an event has at most two names of 255 characters. */
const MOST_STEPS = 4_000_000;
const LONGEST = 510;
/** Events that one request examines. */
const LOOKED_AT = 5000;

/** How many events one request may examine: fewer for a view with more patterns. */
export function mostLookedAt(view: View | null): number {
  const width = widthOf(view?.places.flatMap(({ secrets }) => secrets ?? []) ?? []);
  return Math.max(1, Math.min(LOOKED_AT, Math.floor(MOST_STEPS / (LONGEST * Math.max(1, width)))));
}

/** Whether a view includes an event, and the event is of a requested kind. */
export function shows(
  view: View | null,
  types: readonly EventType[] | null,
  { type, data }: Pick<StoredEvent, 'type' | 'data'>,
): boolean {
  if (types !== null && !types.includes(type)) return false;
  if (view === null) return true;
  // safety: events-of-reached-names
  if (!type.startsWith('SECRET_')) return false;
  const { environment_id, name, former_name = name } = data;
  return [name, former_name].every(
    (one) => typeof one === 'string' && reachesName(view, environment_id, one),
  );
}

const reachesName = ({ places }: View, environment: unknown, name: string): boolean =>
  places.some(
    ({ environments, secrets }) =>
      (environments === null || (typeof environment === 'string' && environments.includes(environment))) &&
      (secrets === null || secrets.some((pattern) => matches(pattern, name))),
  );
