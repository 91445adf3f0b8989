// A dry run, in the Worker: asks the target, with one attempt per call, and reports what a sync would do.
// Invariants: nothing is written, to the target or here; the value of a secret held by an approval policy is
// not compared, so the result reveals nothing about it.
import { readsEach, type Target, TargetError } from '../../adapters/sync/adapter';
import { foreseen } from '../../adapters/sync/apply';
import { failed, type Item, itemOf, type Plan, plan, type Result, sorted } from '../../adapters/sync/steps';
import type { OrgKeys } from '../../keys/keyring';
import { decryptValue } from '../secrets/encryption';
import type { DryRun } from './gate/start';
import { redeployRequired } from './redeploy';
import { digestsAt, type Opened } from './target';

/** What a sync would do. */
export async function foresee(
  { adapter, config, target }: Opened,
  asked: DryRun,
  keys: OrgKeys,
  org: string,
): Promise<{ results: Result[]; redeployRequired: boolean }> {
  const held = new Set(asked.held);
  const digestOf = digestsAt(keys, asked.place, adapter);
  const values = new Map<string, string>();
  const items: Item[] = [];
  for (const delivered of asked.items) {
    const { row, value } = await decryptValue(keys, org, delivered);
    // safety: held-values-not-compared
    const isHeld = held.has(row.name);
    if (!isHeld) values.set(row.name, value);
    items.push(itemOf(adapter, config, row.name, value, (at) => (isHeld ? '' : digestOf(at, value))));
  }
  const skipped = asked.skipped.map((result) => {
    const mapped = adapter.name(result.name, config as never);
    return { ...result, targetName: 'target' in mapped ? mapped.target : null };
  });
  const remotes = await target.list().catch(known);
  const results =
    remotes instanceof TargetError
      ? items.map(({ name, target: at, problem }) => failed(name, at, problem ?? remotes.problem))
      : await compared(
          target,
          plan(adapter, { ...asked, items, remotes, digestOf, reads: readsEach(target) }),
          values,
          digestOf,
        );
  const removed = new Set(results.filter(({ action }) => action === 'deleted').map(({ name }) => name));
  const all = sorted([...results, ...skipped.filter(({ name }) => !removed.has(name))]);
  return { results: all, redeployRequired: redeployRequired(adapter, all) };
}

function known(error: unknown): TargetError {
  if (error instanceof TargetError) return error;
  throw error;
}

/**
 * If a target reads values one by one before a write, they are read here too. Those of held secrets are not,
 * because `values` lacks them.
 */
async function compared(
  target: Target,
  { steps, results }: Plan,
  values: Map<string, string>,
  digestOf: (at: string, value: string) => string,
): Promise<Result[]> {
  const work = steps.map((step) => {
    const isOurs = (current: string) => digestOf(step.target, current) === step.digest;
    return { ...step, value: values.get(step.name) ?? null, isOurs, token: '', begun: false };
  });
  return [...results, ...(await foreseen(target, work))];
}
