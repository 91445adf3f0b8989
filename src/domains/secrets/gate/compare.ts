// Comparing environments: which of them have a name, and whether its current values are the same. Invariants:
// no value is read, because keyed digests tell whether values are equal; equality is told only of values that
// the caller could read now without an approval, and an environment is left out for a name that the caller
// may not list there.
import { mayReach, reaches, stepsFor } from '../../../auth/authorize';
import type { EnvironmentRow, SecretRow } from '../../../db/schema';
import { type Refusal, refuse } from '../../../errors';
import { mayReveal } from '../../../gate/approvals/hold';
import type { Call } from '../../../gate/request/call';
import { fail, type Outcome, ok } from '../../../gate/request/outcome';
import { environmentOf } from '../../../gate/request/target';
import { iso } from '../../../http/wire';
import { readableVersion } from '../rules';
import { LOOKED_AT, MOST_STEPS, merged } from './lists';
import { unknownEnvironment } from './reads';

/** The scopes of which one is needed to read a value. */
const READ = ['secrets:read'] as const;
/** Sorts after every id. */
const LAST = '~';

export interface CompareInput {
  /** Ids or slugs. */
  environments: string[];
  prefix: string | null;
  limit: number;
  /** The name after which to continue. */
  after: string | null;
}

/** `present`: it exists, but there is nothing that the caller may compare it with. */
export type Comparison = 'absent' | 'present' | 'same' | 'different';

interface State {
  /** The slug. */
  environment: string;
  status: Comparison;
  version: number | null;
  /** When the version was created. */
  time: string | null;
  /** Equal for equal values; null where equality is not told. */
  group: number | null;
}

export interface Compared {
  name: string;
  /** In the order of the request. */
  environments: State[];
}

export function compare(call: Call<CompareInput>): Outcome {
  const { input, caller, need } = call;
  const found = environmentsOf(call);
  if ('code' in found) return fail(found);
  const steps = stepsFor(caller, need.scopes, MOST_STEPS);
  const bypassed = new Set<string>();
  const items: Compared[] = [];
  const ids: string[] = [];
  const page = (next: string | null): Outcome => ({
    ...ok({ items, next }),
    ...(bypassed.size && { audit: { bypassed_policies: [...bypassed] } }),
  });
  const start = input.after === null ? '' : `${input.after} ${LAST}`;
  let last: string | null = null;
  let looked = 0;
  for (const rows of byName(merged(call, found, start))) {
    const { name } = rows[0] as SecretRow;
    // A page examines at least one name, so that the next page begins later.
    // safety: compare-steps-bounded
    const isOver =
      looked >= LOOKED_AT || rows.some(({ environment_id }) => !steps.take(environment_id, name));
    if (items.length === input.limit || (isOver && last !== null)) return page(last);
    looked += rows.length;
    const states = statesOf(call, found, rows, bypassed);
    if (states) {
      items.push({ name, environments: states });
      ids.push(...rows.map(({ id }) => id));
    }
    last = name;
  }
  return page(null);
}

/** The environments to compare, in their order in the request; a refusal if the caller cannot reach one. */
function environmentsOf({ core, input, caller, need }: Call<CompareInput>): EnvironmentRow[] | Refusal {
  const found: EnvironmentRow[] = [];
  for (const ref of input.environments) {
    const row = environmentOf(core, ref);
    // safety: compare-within-reach
    const refusal = mayReach(caller, need, { environment: row?.id ?? '', shown: ref, name: undefined });
    if (refusal) return refusal;
    if (!row) return unknownEnvironment(ref);
    if (found.includes(row))
      return refuse('VALIDATION_FAILED', {
        details: [{ path: 'environments', message: 'must name each environment once' }],
      });
    found.push(row);
  }
  return found;
}

/** Adjacent rows of the same name together. */
function* byName(rows: Iterable<SecretRow>): Generator<SecretRow[]> {
  let same: SecretRow[] = [];
  for (const row of rows) {
    if (same.length && same[0]?.name !== row.name) {
      yield same;
      same = [];
    }
    same.push(row);
  }
  if (same.length) yield same;
}

/** The state of a name in each environment where the caller may list it; null if that is none that has it. */
function statesOf(
  call: Call<CompareInput>,
  environments: EnvironmentRow[],
  rows: SecretRow[],
  bypassed: Set<string>,
) {
  const { caller, need, core } = call;
  const now = core.now();
  const name = (rows[0] as SecretRow).name;
  // safety: compare-within-permissions
  const listed = environments.filter(({ id }) => reaches(caller, need.scopes, id, name));
  const present = rows.filter((row) => listed.some(({ id }) => id === row.environment_id));
  if (present.length === 0) return null;
  const known = present.filter((row) => mayCompare(call, row, now, bypassed));
  const values = [...new Set(known.map(({ fingerprint }) => fingerprint))];
  const verdict = known.length < 2 ? 'present' : values.length === 1 ? 'same' : 'different';
  return listed.map(({ id, slug }): State => {
    const row = present.find(({ environment_id }) => environment_id === id);
    if (!row) return { environment: slug, status: 'absent', version: null, time: null, group: null };
    const status = known.includes(row) ? verdict : 'present';
    const group = status === 'present' ? null : values.indexOf(row.fingerprint);
    const time = iso(row.rotated_at ?? row.updated_at);
    return { environment: slug, status, version: row.version, time, group };
  });
}

/** Whether the caller could read the current value now without an approval. */
function mayCompare(call: Call<CompareInput>, row: SecretRow, now: number, passed: Set<string>): boolean {
  // safety: compare-needs-read
  if (!reaches(call.caller, READ, row.environment_id, row.name) || readableVersion(row, row.version, now))
    return false;
  const { isHeld, bypassed } = mayReveal(call, row);
  for (const policy of bypassed) passed.add(policy);
  // safety: compare-withholds
  return !isHeld;
}
