// What a sync will do, decided in the same way for all platforms, from the secrets, the target's listing and
// earlier writes. Invariants: a name that the target does not accept, or that two secrets would share, fails
// before anything is written; only names that this service was the last to write are deleted; a value is
// compared with plain text or with the digest of the last write, never with a masked value.
import type { Problem, Remote, SyncAdapter } from './adapter';

/** A secret to sync, without its value. */
export interface Item {
  name: string;
  target: string | null;
  /** Keyed digest of the value for this target. */
  digest: string;
  problem: Problem | null;
}

/** A name that this service was the last to write to this target, from this environment. */
export interface Owned {
  target: string;
  /** The secret whose value is stored there. */
  name: string;
  digest: string;
  /** Whether that secret is still active, or one whose name the callers cannot reach. */
  isTaken?: boolean;
}

/** One line of the result. */
export interface Result {
  name: string;
  targetName: string | null;
  action: 'created' | 'updated' | 'unchanged' | 'deleted' | 'skipped' | 'failed';
  code?: Problem['code'];
  message?: string;
}

/** A remaining step for a name. */
export interface Step {
  name: string;
  target: string;
  kind: 'put' | 'remove';
  remote: Omit<Remote, 'value'> | null;
  digest: string;
}

export interface Plan {
  steps: Step[];
  results: Result[];
  /** Names of ours that the target does not list. */
  missing: string[];
}

/** Maps and validates the name and value of a secret for a target. */
export function itemOf(
  adapter: SyncAdapter,
  config: unknown,
  name: string,
  value: string,
  digestOf: (target: string) => string,
): Item {
  const mapped = adapter.name(name, config as never);
  if ('code' in mapped) return { name, target: null, digest: '', problem: mapped };
  const { target } = mapped;
  return {
    name,
    target,
    digest: digestOf(target),
    problem: adapter.value?.(value, target, config as never) ?? null,
  };
}

export const failed = (name: string, targetName: string | null, { code, message }: Problem): Result => ({
  name,
  targetName,
  action: 'failed',
  code,
  message,
});

export interface Listed {
  items: Item[];
  remotes: Remote[];
  owned: Owned[];
  /** Names that this service was the last to write to this target, from other environments. */
  ownedElsewhere?: readonly string[];
  /**
   * Names at the target to delete if they still exist: written by this service, and their secrets are gone.
   */
  prunable: Owned[];
  digestOf(target: string, value: string): string;
  /** Whether the target is asked for the value before each write. */
  reads: boolean;
}

/** Plans a sync. */
export function plan(
  adapter: SyncAdapter,
  { items, remotes, owned, ownedElsewhere = [], prunable, digestOf, reads }: Listed,
): Plan {
  const fold = (target: string) => (adapter.folds ? target.toUpperCase() : target);
  const there = new Map(remotes.map((remote) => [fold(remote.target), remote]));
  const written = new Map(owned.map((one) => [fold(one.target), one]));
  const wanted = new Map<string, number>();
  for (const { target } of items)
    if (target !== null) wanted.set(fold(target), (wanted.get(fold(target)) ?? 0) + 1);

  const missing = [...owned.map(({ target }) => target), ...ownedElsewhere].filter(
    (target) => !there.has(fold(target)),
  );
  const made: Plan = { steps: [], results: [], missing };
  for (const { name, target, digest, problem } of items) {
    // safety: sync-collisions-fail
    const collides = target !== null && (wanted.get(fold(target)) ?? 0) > 1;
    const wrong = collides
      ? collision('Another selected secret has the same name at the target.')
      : target !== null && isAnothers(written.get(fold(target)), name)
        ? collision('The target stores the value of another secret under this name.')
        : problem;
    if (wrong || target === null) {
      made.results.push(failed(name, target, wrong as Problem));
      continue;
    }
    const remote = there.get(fold(target));
    const before = written.get(fold(target));
    // safety: sync-other-form-written
    const isSame =
      remote !== undefined && !remote.otherForm && !reads && sameValue(remote, before, digest, digestOf);
    if (isSame) made.results.push({ name, targetName: target, action: 'unchanged' });
    else made.steps.push({ name, target, kind: 'put', remote: remote ? withoutValue(remote) : null, digest });
  }
  for (const { name, target, digest } of prunable) {
    const remote = there.get(fold(target));
    // safety: prune-only-own-names
    if (
      remote &&
      !wanted.has(fold(target)) &&
      written.has(fold(target)) &&
      !isForeign(remote, digest, digestOf)
    )
      made.steps.push({ name, target: remote.target, kind: 'remove', remote: withoutValue(remote), digest });
  }
  return made;
}

const collision = (message: string): Problem => ({ code: 'NAME_COLLISION', message });

/** Whether a name at the target holds the value of a secret that is not selected, and is not to change. */
// safety: unselected-secrets-not-overwritten
const isAnothers = (before: Owned | undefined, name: string): boolean =>
  before?.isTaken === true && before.name !== name;

function sameValue(
  { target, value }: Remote,
  before: Owned | undefined,
  digest: string,
  digestOf: Listed['digestOf'],
): boolean {
  if (value === undefined) return before?.digest === digest;
  return value !== null && digestOf(target, value) === digest;
}

/** Whether the listed value shows that somebody else has written this name since. */
const isForeign = (
  { target, value, otherForm = false }: Remote,
  digest: string,
  digestOf: Listed['digestOf'],
): boolean =>
  // safety: prune-only-last-written
  otherForm || value === null || (value !== undefined && digestOf(target, value) !== digest);

const withoutValue = ({ target, handle }: Remote): Omit<Remote, 'value'> => ({
  target,
  ...(handle !== undefined && { handle }),
});

/** Sorted by name, in code unit order. */
export const sorted = (results: Result[]): Result[] =>
  [...results].sort((a, b) =>
    a.name < b.name ? -1 : a.name > b.name ? 1 : (a.targetName ?? '') < (b.targetName ?? '') ? -1 : 1,
  );
