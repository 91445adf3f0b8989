// The policies of an organisation, as the gate decides by them: read from its own rows, which are under MACs in D1, and kept in memory
// while no policy changes. Invariant: a change applies from the turn in which it is committed.
import { appliesTo, type PolicyTarget } from '../auth/policies';
import type { ApprovalConfig, NamingConfig, PolicyKind, PolicyRow, RotationConfig } from '../db/schema';
import type { Core } from './core';

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

/** The enabled policies by the rows of a gate: right while none of the policies has been written. */
const compiled = new WeakMap<Core['rows'], { edits: number; policies: ByKind }>();

/** The enabled policies of a kind, in the order in which they were made. */
export function policiesOf<K extends PolicyKind>({ rows }: Pick<Core, 'rows'>, kind: K): readonly CompiledPolicy<K>[] {
  const edits = rows.edits('policy');
  let known = compiled.get(rows);
  if (known?.edits !== edits) {
    // safety: policies-read-again
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
