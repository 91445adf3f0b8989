// The list of secrets, without values. Invariant: a page is bounded in rows looked at and in steps of comparing their names with patterns, so that
// it may be short, or empty, and still not the last.
import { reaches, stepsFor } from '../../../auth/authorize';
import { RESTORABLE } from '../../../db/rows';
import type { SecretRow, SecretType } from '../../../db/schema';
import { refuse } from '../../../errors';
import { environmentOf, slugOf } from '../../../gate/named';
import { fail, type Outcome, ok } from '../../../gate/outcome';
import type { Call } from '../../../gate/types';
import { statusOf } from '../rules';
import { secretOut } from '../wire';
import { unknownEnvironment } from './reads';
import { inDoubt } from './state';

export interface ListInput {
  limit: number;
  after: string | null;
  environment: string | null;
  type: SecretType | null;
  prefix: string | null;
  status: 'active' | 'expired' | 'revoked' | 'deleted' | null;
  tag: string | null;
  /** One secret alone. */
  id: string | null;
  /** By name, within an environment; else in the order of creation. */
  by_name: boolean;
}

/** Rows that one page looks at, and steps of comparing their names with patterns: where few match, it may be short, or empty, and still not the last. */
const LOOKED_AT = 1000;
const PAGE = 200;
const MOST_STEPS = 4_000_000;

/** Rows in the order of a list, from a position on. Positions of the two orders differ in their first character, so neither is taken for the other. */
function pagesOf({ core }: Call<ListInput>, input: ListInput, environment: string | null) {
  const { id, prefix } = input;
  if (id !== null)
    return {
      at: (row: SecretRow) => row.id,
      from: (after: string) => [core.rows.get('secret', id)].filter((row) => row && row.id > after) as SecretRow[],
    };
  if (!input.by_name || environment === null)
    return { at: (row: SecretRow) => row.id, from: (after: string) => core.rows.after('secret', after, PAGE) };
  return {
    at: (row: SecretRow) => `=${row.name}`,
    from: (after: string) =>
      core.rows.named(environment, prefix ?? '', after.slice(1), PAGE).flatMap((found) => core.rows.get('secret', found.id) ?? []),
  };
}

/** From the gate's own rows: what D1 was made to say is not listed. */
export function list(call: Call<ListInput>): Outcome {
  const { core, ask, input, caller } = call;
  const { scopes } = call.need;
  const now = core.now();
  const environment = input.environment === null ? null : environmentOf(core, ask.org, input.environment);
  if (input.environment !== null && !environment) return fail(unknownEnvironment(input.environment));
  if (input.after?.startsWith('=') === !input.by_name) return fail(refuse('INVALID_CURSOR'));
  const matches = (row: SecretRow) =>
    (input.status === null ? row.deleted_at === null || input.id !== null : statusOf(row, now) === input.status) &&
    (row.deleted_at === null || row.deleted_at > now - RESTORABLE) &&
    (environment === null || row.environment_id === environment.id) &&
    (input.type === null || row.type === input.type) &&
    row.name.startsWith(input.prefix ?? '') &&
    (input.tag === null || hasTag(row.tags, input.tag)) &&
    reaches(caller, scopes, row.environment_id, row.name);

  const steps = stepsFor(caller, scopes, MOST_STEPS);
  const shown: SecretRow[] = [];
  const answer = (next: string | null): Outcome => {
    const doubt = inDoubt(call, ...shown.map(({ id }) => id));
    if (doubt) return fail(doubt);
    return ok({ items: shown.map((row) => secretOut(row, slugOf(core, row.environment_id), now)), next });
  };
  const pages = pagesOf(call, input, environment?.id ?? null);
  const start = input.after ?? '';
  let after = start;
  for (let looked = 0; looked < LOOKED_AT; looked += PAGE) {
    const rows = pages.from(after);
    for (const row of rows) {
      // A page looks at one row at least, so that the next one begins later.
      // safety: list-steps-bounded
      if (!steps.take(row.environment_id, row.name) && after !== start) return answer(after);
      if (matches(row) && shown.push(row) > input.limit) {
        shown.pop();
        return answer(after);
      }
      after = pages.at(row);
    }
    if (rows.length < PAGE) return answer(null);
  }
  return answer(after);
}

function hasTag(tags: Record<string, string>, tag: string): boolean {
  const colon = tag.indexOf(':');
  const [key, value] = colon < 0 ? [tag, null] : [tag.slice(0, colon), tag.slice(colon + 1)];
  return Object.hasOwn(tags, key) && (value === null || tags[key] === value);
}
