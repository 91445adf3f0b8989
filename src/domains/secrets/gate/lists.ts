// Lists of secrets, without values: sorted by creation or by name, or by folder. Invariant: lists are made
// from the gate's own rows, so that altered rows in D1 are not listed, and contain only secrets that the
// caller may list.

import { namesHeld, reaches, reachesEnvironment, type Steps, stepsFor } from '../../../auth/authorize';
import { RESTORABLE } from '../../../db/rows';
import type { EnvironmentRow, SecretRow, SecretType } from '../../../db/schema';
import { refuse } from '../../../errors';
import type { Call } from '../../../gate/request/call';
import { fail, type Outcome, ok } from '../../../gate/request/outcome';
import { environmentOf, MOST_ENVIRONMENTS, slugOf } from '../../../gate/request/target';
import { rotationOf } from '../../policies/gate/due';
import { statusOf } from '../rules';
import { rotationOut, secretOut } from '../wire';
import { type Below, below, type Place, reader } from './folders/folders';
import { unknownEnvironment } from './reads';
import { prefixesOf } from './selection';

export interface ListInput {
  limit: number;
  after: string | null;
  environment: string | null;
  type: SecretType | null;
  prefix: string | null;
  /** A part of the name after the prefix, in lower case. A Worker of 0.4.0 does not send it. */
  contains?: string | null;
  status: 'active' | 'expired' | 'revoked' | 'deleted' | null;
  tag: string | null;
  /** Only this secret. */
  id: string | null;
  /** Sorts by name; otherwise by creation. */
  by_name: boolean;
  /** Lists by folder, within an environment. A Worker of 0.4.0 does not send it. */
  by_folder?: boolean;
}

/**
 * The number of rows that one page examines, and of steps to compare their names with patterns. If few match,
 * a page may be short or empty without being the last.
 */
export const LOOKED_AT = 1000;
const PAGE = 200;
export const MOST_STEPS = 4_000_000;

/**
 * Whether a position belongs to this list, by its first character, so that no position of another list is
 * accepted.
 */
const isOf = ({ by_name, by_folder }: ListInput, [first = '']: string): boolean =>
  by_folder ? '/='.includes(first) : by_name ? first === '=' : !'/='.includes(first);

/** The number of name prefixes that a list reads one after the other. With more, it reads all names. */
const MOST_BEGINNINGS = 1000;

/** A call for names with a prefix. */
type Prefixed = Call<{ prefix: string | null }>;

/** The names in an environment that the caller's patterns can match, in order. */
export function placeOf({ caller, need, input }: Prefixed, environment: string): Place {
  const prefix = input.prefix ?? '';
  const beginnings = prefixesOf(prefix, namesHeld(caller, need.scopes, environment));
  return { environment, prefix, beginnings: beginnings.length > MOST_BEGINNINGS ? [prefix] : beginnings };
}

/** The number of names that are read ahead of each environment when a list covers all. */
const AHEAD = 10;

/**
 * The rows of several environments in the order of names, and of environments where names are the same.
 * Only of the names that the caller's patterns can match.
 * @param start where to continue: a name and the id of an environment, separated by a space
 */
export function* merged(
  call: Prefixed,
  environments: readonly { id: string }[],
  start: string,
): Generator<SecretRow> {
  const { rows } = call.core;
  const [name = '', at = ''] = start.split(' ');
  const queues = environments.map(({ id: environment }) => {
    // An environment after `at` may have the same name.
    const same = start && environment > at ? rows.find('secret', environment, name) : null;
    const names: { name: string; id: string }[] = same ? [same] : [];
    return { read: reader(call.core, placeOf(call, environment)), names, last: name };
  });
  for (;;) {
    let first: (typeof queues)[number] | undefined;
    for (const queue of queues) {
      if (!queue.names.length) queue.names = [...queue.read(queue.last, AHEAD)];
      const [next] = queue.names;
      if (next && (!first || next.name < (first.names[0]?.name ?? ''))) first = queue;
    }
    const next = first?.names.shift();
    if (!first || !next) return;
    first.last = next.name;
    const row = rows.get('secret', next.id);
    if (row) yield row;
  }
}

/** Pages of the rows of all environments that the caller may list, by name. */
function pagesOfAll(call: Call<ListInput>) {
  const { core, caller, need } = call;
  const environments = core.rows
    .after('environment', '', MOST_ENVIRONMENTS)
    .filter(({ id }) => reachesEnvironment(caller, need.scopes, id));
  let rows: Generator<SecretRow> | undefined;
  const from = (after: string): SecretRow[] => {
    rows ??= merged(call, environments, after.slice(1));
    const page: SecretRow[] = [];
    for (let next = rows.next(); !next.done; next = rows.next()) if (page.push(next.value) === PAGE) break;
    return page;
  };
  return { at: (row: SecretRow) => `=${row.name} ${row.environment_id}`, from };
}

/** Rows in the order of a list, after a position. */
function pagesOf(call: Call<ListInput>, environment: string | null) {
  const { core, input } = call;
  const { id } = input;
  if (id !== null)
    return {
      at: (row: SecretRow) => row.id,
      from: (after: string) =>
        [core.rows.get('secret', id)].filter((row) => row && row.id > after) as SecretRow[],
    };
  if (input.by_name && environment === null) return pagesOfAll(call);
  if (environment === null || !input.by_name)
    return {
      at: (row: SecretRow) => row.id,
      from: (after: string) => core.rows.after('secret', after, PAGE),
    };
  const read = reader(core, placeOf(call, environment));
  const from = (after: string): SecretRow[] => {
    const rows: SecretRow[] = [];
    for (let last = after.slice(1), more = true; more && rows.length < PAGE; ) {
      const names = read(last, PAGE - rows.length);
      rows.push(...names.flatMap(({ id: found }) => core.rows.get('secret', found) ?? []));
      more = names.length > 0;
      last = names.at(-1)?.name ?? last;
    }
    return rows;
  };
  return { at: (row: SecretRow) => `=${row.name}`, from };
}

/** A list without filters. */
export const UNFILTERED: ListInput = {
  limit: 1,
  after: null,
  environment: null,
  type: null,
  prefix: null,
  status: null,
  tag: null,
  id: null,
  by_name: false,
};

/** Whether a row is listed: it matches the filters and the caller may list it. */
export function matcherOf(
  { core, caller, need, input }: Call<ListInput>,
  environment: EnvironmentRow | null,
) {
  const now = core.now();
  const prefix = input.prefix ?? '';
  return (row: SecretRow): boolean =>
    (input.status === null
      ? row.deleted_at === null || input.id !== null
      : statusOf(row, now) === input.status) &&
    (row.deleted_at === null || row.deleted_at > now - RESTORABLE) &&
    (environment === null || row.environment_id === environment.id) &&
    (input.type === null || row.type === input.type) &&
    row.name.startsWith(prefix) &&
    (!input.contains || row.name.slice(prefix.length).toLowerCase().includes(input.contains)) &&
    (input.tag === null || hasTag(row.tags, input.tag)) &&
    reaches(caller, need.scopes, row.environment_id, row.name);
}

/** One page of rows, and where the next page begins. */
function rowsOfPage(
  call: Call<ListInput>,
  environment: EnvironmentRow | null,
  matches: (row: SecretRow) => boolean,
  steps: Steps,
) {
  const { limit, after: first } = call.input;
  const rows: SecretRow[] = [];
  const pages = pagesOf(call, environment?.id ?? null);
  const start = first ?? '';
  let after = start;
  for (let looked = 0; looked < LOOKED_AT; looked += PAGE) {
    const found = pages.from(after);
    for (const row of found) {
      // A page examines at least one row, so that the next page begins later.
      // safety: list-steps-bounded
      if (!steps.take(row.environment_id, row.name) && after !== start) return { rows, next: after };
      if (matches(row) && rows.push(row) > limit) {
        rows.pop();
        return { rows, next: after };
      }
      after = pages.at(row);
    }
    if (found.length < PAGE) return { rows, next: null };
  }
  return { rows, next: after };
}

/** Lists from the gate's own rows, so that altered rows in D1 are not listed. */
export function list(call: Call<ListInput>): Outcome {
  const { core, input, caller, need } = call;
  const now = core.now();
  const environment = input.environment === null ? null : environmentOf(core, input.environment);
  if (input.environment !== null && !environment) return fail(unknownEnvironment(input.environment));
  if (input.after !== null && !isOf(input, input.after)) return fail(refuse('INVALID_CURSOR'));
  const matches = matcherOf(call, environment);
  const steps = stepsFor(caller, need.scopes, MOST_STEPS);
  const page: Partial<Below> & Pick<Below, 'rows' | 'next'> =
    input.by_folder && environment
      ? below(core, placeOf(call, environment.id), { limit: input.limit, steps, matches }, input.after)
      : rowsOfPage(call, environment, matches, steps);
  const { rows, next, folders } = page;
  const items = rows.map((row) => ({
    ...secretOut(row, slugOf(core, row.environment_id), now),
    ...(input.id !== null && { rotation: rotationOut(rotationOf(core, row, now), now) }),
  }));
  return ok({ items, next, ...(folders && { folders }) });
}

/** Whether a secret has a tag: `key`, or `key:value`. Keys may contain colons, too. */
const hasTag = (tags: Record<string, string>, tag: string): boolean =>
  Object.entries(tags).some(([key, value]) => tag === key || tag === `${key}:${value}`);
