// The policies of an organisation, as the gate applies them: read from its own rows, which have MACs in D1,
// and cached while no policy changes. Invariants: a change applies from the turn in which it is committed; a
// name is compared with all policies once, and its steps count towards the turn (see request/turns.ts).
import QuickLRU from 'quick-lru';
import { widthOf } from '../../auth/globs';
import { instructionsOf, isFound } from '../../auth/policies/naming';
import { appliesTo, type PolicyTarget } from '../../auth/policies/policies';
import type {
  ApprovalConfig,
  NamingConfig,
  PolicyKind,
  PolicyRow,
  RotationConfig,
  SecretRow,
} from '../../db/schema';
import { refuse } from '../../errors';
import type { Core } from '../core';
import type { Raised } from '../outbox';
import type { Call, OperationOutcome } from '../request/call';
import { fail } from '../request/outcome';
import type { Plan } from '../request/plan';
import { slugOf } from '../request/target';
import { spend } from '../request/yielding';

interface Configs {
  naming: NamingConfig;
  rotation: RotationConfig;
  approval: ApprovalConfig;
}

/** An enabled policy. */
export interface CompiledPolicy<K extends PolicyKind = PolicyKind> {
  row: PolicyRow;
  config: Configs[K];
  applies(target: PolicyTarget): boolean;
  /** For a naming policy: whether it applies and the name violates it. */
  isBroken(target: PolicyTarget): boolean;
}

type ByKind = { [K in PolicyKind]: readonly CompiledPolicy<K>[] };

/** Which policies apply to a secret, by id, and the naming policies that its name violates. */
interface Verdict {
  applies: ReadonlySet<string>;
  broken: ReadonlySet<string>;
}

/** The enabled policies, cached by the rows of a gate while no policy is written. */
const compiled = new WeakMap<Core['rows'], { edits: number; policies: ByKind }>();

/** The enabled policies of a kind, in creation order. */
export function policiesOf<K extends PolicyKind>(
  { rows }: Pick<Core, 'rows'>,
  kind: K,
): readonly CompiledPolicy<K>[] {
  const edits = rows.edits('policy');
  let known = compiled.get(rows);
  // safety: policies-read-again
  if (known?.edits !== edits) {
    known = { edits, policies: compile(rows) };
    compiled.set(rows, known);
  }
  return known.policies[kind];
}

function compile(rows: Core['rows']): ByKind {
  // safety: disabled-policy-ignored
  const enabled = rows
    .within('policy', '')
    .filter((row) => row.enabled === 1)
    .sort((a, b) => (a.id < b.id ? -1 : 1));
  const judge = judgeOf(rows, enabled);
  const of = <K extends PolicyKind>(kind: K): CompiledPolicy<K>[] =>
    enabled
      .filter((row) => row.kind === kind)
      .map((row) => ({
        row,
        config: row.config as Configs[K],
        applies: (target) => judge(target).applies.has(row.id),
        isBroken: (target) => judge(target).broken.has(row.id),
      }));
  return { naming: of('naming'), rotation: of('rotation'), approval: of('approval') };
}

/** How many verdicts of a gate are cached at least. */
const MOST_KEPT = 5000;
/** What a step of a naming pattern costs, in steps of a name pattern. */
const NAMING_STEP = 2;

/** The most steps for one character of a name: patterns of names, and patterns of naming policies. */
export const stepsOf = (rows: readonly Pick<PolicyRow, 'names' | 'config'>[]): number =>
  rows.reduce(
    (sum, { names, config }) =>
      sum + widthOf(names ?? []) + ('pattern' in config ? NAMING_STEP * instructionsOf(config.pattern) : 0),
    0,
  );

/** Compares targets with policies. Equal verdicts are one object, because there are few. */
function judgeOf(rows: Core['rows'], enabled: readonly PolicyRow[]): (target: PolicyTarget) => Verdict {
  const steps = stepsOf(enabled);
  const kept = new QuickLRU<string, Verdict>({ maxSize: MOST_KEPT });
  const distinct = new QuickLRU<string, Verdict>({ maxSize: MOST_KEPT });
  return (target) => {
    const key = `${target.environment_id} ${target.type} ${target.name}`;
    const known = kept.get(key);
    if (known) return known;
    spend(rows, steps * target.name.length);
    const applying = enabled.filter((row) => appliesTo(row, target));
    const broken = applying.filter(
      ({ config }) => 'pattern' in config && !isFound(config.pattern, target.name),
    );
    const applies = new Set(applying.map(({ id }) => id));
    const made = { applies, broken: new Set(broken.map(({ id }) => id)) };
    const shape = `${[...made.applies]} ${[...made.broken]}`;
    const verdict = distinct.get(shape) ?? made;
    distinct.set(shape, verdict);
    kept.set(key, verdict);
    return verdict;
  };
}

/**
 * Compares targets with all policies before a request plans anything for them: where that takes several
 * turns, each begins where the last one ended, and not with plans made again.
 */
export function compareAll(core: Core, targets: readonly PolicyTarget[]): void {
  // Any of them: a target is compared with all at once.
  const policy = policiesOf(core, 'naming').at(0) ?? policiesOf(core, 'approval').at(0);
  if (policy) for (const target of targets) policy.applies(target);
}

/**
 * The naming policy that a changed secret would violate, or null. A policy that it already violates with the
 * same name does not block other changes.
 */
function brokenBy(core: Core, row: SecretRow): CompiledPolicy<'naming'> | null {
  const before = core.rows.get('secret', row.id);
  const isNamedAnew = before === null || before.deleted_at !== null || before.name !== row.name;
  const wasBroken = (policy: CompiledPolicy) => !isNamedAnew && policy.applies(before);
  return policiesOf(core, 'naming').find((policy) => policy.isBroken(row) && !wasBroken(policy)) ?? null;
}

/** The naming policy that a changed secret would violate, in words and as an event; null if none. */
export function violationOf(
  { core, ask, caller }: Call<unknown>,
  row: SecretRow,
): { message: string; event: Raised } | null {
  const broken = brokenBy(core, row);
  if (!broken) return null;
  const { id, name } = broken.row;
  const data = {
    policy_id: id,
    name: row.name,
    environment: slugOf(core, row.environment_id),
    action: ask.action,
    credential_id: caller.id,
    request_id: ask.request.id,
  };
  return {
    message: `The naming policy "${name}" does not allow this name: it must match ${broken.config.pattern}`,
    event: { type: 'POLICY_VIOLATED', data },
  };
}

/**
 * Refuses a plan that would give a live secret a name that violates a naming policy, or bring it under a
 * policy that its name violates; null otherwise.
 */
export function namingViolation(call: Call<unknown>, { writes = [] }: Plan): OperationOutcome | null {
  for (const { kind, row } of writes) {
    if (kind !== 'secret' || row.deleted_at !== null) continue;
    const violation = violationOf(call, row);
    if (violation)
      return {
        ...fail(refuse('POLICY_VIOLATED', { message: violation.message })),
        events: [violation.event],
      };
  }
  return null;
}
