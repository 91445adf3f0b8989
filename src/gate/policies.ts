// The policies of an organisation, as the gate applies them: read from its own rows, which have MACs in D1, and cached while no policy
// changes. Invariant: a change applies from the turn in which it is committed.
import { isFound } from '../auth/naming';
import { appliesTo, type PolicyTarget } from '../auth/policies';
import type { ApprovalConfig, NamingConfig, PolicyKind, PolicyRow, RotationConfig, SecretRow } from '../db/schema';
import { refuse } from '../errors';
import type { Core } from './core';
import { slugOf } from './named';
import type { Raised } from './outbox';
import { fail } from './outcome';
import type { Plan } from './plan';
import type { Call, OperationOutcome } from './types';

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
}

type ByKind = { [K in PolicyKind]: readonly CompiledPolicy<K>[] };

/** The enabled policies, cached by the rows of a gate while no policy is written. */
const compiled = new WeakMap<Core['rows'], { edits: number; policies: ByKind }>();

/** The enabled policies of a kind, in creation order. */
export function policiesOf<K extends PolicyKind>({ rows }: Pick<Core, 'rows'>, kind: K): readonly CompiledPolicy<K>[] {
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
  const enabled = rows.within('policy', '').filter((row) => row.enabled === 1);
  const of = <K extends PolicyKind>(kind: K): CompiledPolicy<K>[] =>
    enabled
      .filter((row) => row.kind === kind)
      .sort((a, b) => (a.id < b.id ? -1 : 1))
      .map((row) => ({ row, config: row.config as Configs[K], applies: (target) => appliesTo(row, target) }));
  return { naming: of('naming'), rotation: of('rotation'), approval: of('approval') };
}

/**
 * The naming policy that a changed secret would violate, or null. A policy that it already violates with the same name does not block other
 * changes.
 */
function brokenBy(core: Core, row: SecretRow): CompiledPolicy<'naming'> | null {
  const before = core.rows.get('secret', row.id);
  const isNamedAnew = before === null || before.deleted_at !== null || before.name !== row.name;
  const wasBroken = (policy: CompiledPolicy) => !isNamedAnew && policy.applies(before);
  return (
    policiesOf(core, 'naming').find((policy) => policy.applies(row) && !wasBroken(policy) && !isFound(policy.config.pattern, row.name)) ??
    null
  );
}

/** The naming policy that a changed secret would violate, in words and as an event; null if none. */
export function violationOf({ core, ask, caller }: Call<unknown>, row: SecretRow): { message: string; event: Raised } | null {
  const broken = brokenBy(core, row);
  if (!broken) return null;
  const { id, name } = broken.row;
  const data = {
    ...{ policy_id: id, name: row.name, environment: slugOf(core, row.environment_id), action: ask.action },
    ...{ credential_id: caller.id, request_id: ask.request.id },
  };
  return {
    message: `The naming policy "${name}" (${id}) does not allow this name: it must match ${broken.config.pattern}`,
    event: { type: 'POLICY_VIOLATED', data },
  };
}

/**
 * Refuses a plan that would give a live secret a name that violates a naming policy, or bring it under a policy that its name violates;
 * null otherwise.
 */
export function namingViolation(call: Call<unknown>, { puts = [] }: Plan): OperationOutcome | null {
  for (const { kind, row } of puts) {
    if (kind !== 'secret' || row.deleted_at !== null) continue;
    const violation = violationOf(call, row);
    if (violation) return { ...fail(refuse('POLICY_VIOLATED', { message: violation.message })), events: [violation.event] };
  }
  return null;
}
