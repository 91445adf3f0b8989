// Which audit entries a filter finds, in the gate's table and in a list. Pure. Invariant: both ways find the
// same entries. A caller limited to some environments or names sees entries of its own in part alone
// (domains/audit/view.ts), so a filter compares only what such a caller sees.
import { type Entry, secretsIn } from './entry';

export interface Filter {
  /** A credential, a member, a browser session of one, or `system`. */
  actor?: string;
  action?: string;
  /** Any of these. */
  actions?: readonly string[];
  /** Also finds the imports that wrote this secret. */
  resource?: string;
  outcome?: string;
  from?: number;
  to?: number;
}

/** The id of the service itself as an actor. */
export const SYSTEM = 'system';

/** Actions of the service itself whose entries have no actor id if a release before 0.5.0 wrote them. */
export const NAMELESS: readonly string[] = ['integrity.alarm', 'audit.missing'];

/** Whether a filter finds an entry. */
export function finds(
  { actor, action, actions, resource, outcome, from, to }: Filter,
  entry: Entry,
): boolean {
  const at = Date.parse(entry.time);
  return (
    (actor === undefined || isBy(entry.actor, actor)) &&
    (action === undefined || entry.action === action) &&
    (actions === undefined || actions.includes(entry.action)) &&
    (resource === undefined || entry.resource === resource || secretsIn(entry).includes(resource)) &&
    (outcome === undefined || entry.outcome === outcome) &&
    (from === undefined || at >= from) &&
    (to === undefined || at < to)
  );
}

const isBy = ({ kind, id, parent_id }: Entry['actor'], wanted: string): boolean =>
  // A member acts through a browser session.
  id === wanted ||
  (kind === 'member' && parent_id === wanted) ||
  (id === null && kind === SYSTEM && wanted === SYSTEM);

/** The same as conditions on the gate's table. */
export function conditionsOf({ actor, action, actions, resource, outcome, from, to }: Filter) {
  const where: string[] = [];
  const params: (string | number)[] = [];
  const add = (condition: string, ...values: (string | number)[]) => {
    where.push(condition);
    params.push(...values);
  };
  if (actor === SYSTEM) add(`(actor = ? or (actor = '' and body ->> '$.actor.kind' = ?))`, SYSTEM, SYSTEM);
  else if (actor !== undefined)
    add(`(actor = ? or (parent = ? and body ->> '$.actor.kind' = 'member'))`, actor, actor);
  if (action !== undefined) add('action = ?', action);
  if (actions !== undefined) add('action in (select value from json_each(?))', JSON.stringify(actions));
  if (resource !== undefined)
    add(
      `(resource = ? or (action in ('integration.import', 'secret.promote', 'secret.write_folder', 'secret.delete_folder') and (
        exists (select 1 from json_each(body, '$.imported.versions') where key = ?)
        or exists (select 1 from json_each(body, '$.imported.deleted') where key = ?)
        or exists (select 1 from json_each(body, '$.imported.copied') where key = ?))))`,
      ...[resource, resource, resource, resource],
    );
  if (outcome !== undefined) add('outcome = ?', outcome);
  if (from !== undefined) add('at >= ?', from);
  if (to !== undefined) add('at < ?', to);
  return { where, params };
}
