// Carries out the steps of a plan, chunk by chunk. Invariants: the failure of one name does not stop others;
// for vendors that keep versions, a step that was begun before is settled by reading first; an error that
// ends the sync leaves unbegun steps alone.
import {
  type BatchTarget,
  CONCURRENCY,
  type EachTarget,
  type Put,
  readsEach,
  type Target,
  TargetError,
  type Written,
} from './adapter';
import { failed, type Result, type Step } from './steps';

/** A step with its inputs. */
export interface Work extends Step {
  /** The value to write; null for a removal. */
  value: string | null;
  token: string;
  /** Whether a consumer that was interrupted had begun it: then it may already be done. */
  begun: boolean;
  /** For a removal: whether this value is the one that this service wrote last. */
  isOurs?(value: string): boolean;
}

export interface Applied {
  results: Result[];
  /** Names that are not deleted, because somebody else has written them since. */
  foreign: string[];
  /** The error that ended the sync, if any. */
  end: TargetError | null;
}

/** Writes a chunk. Steps without a result were not begun. */
export const apply = (target: Target, chunk: Work[]): Promise<Applied> =>
  'write' in target ? applyBatch(target, chunk) : applyEach(chunk, (work) => writeOne(target, work));

/** What steps would do, for a dry run. If values are read one by one, equal ones are unchanged. */
export async function foreseen(target: Target, steps: Work[]): Promise<Result[]> {
  const { results, foreign, end } = await applyEach(steps, async (work) => {
    const { kind, remote, value } = work;
    if (kind === 'remove') return (await isForeign(target, work)) ? FOREIGN : { action: 'deleted' };
    if (!remote) return { action: 'created' };
    const isSame =
      value !== null && 'read' in target && readsEach(target) && (await target.read?.(remote)) === value;
    return { action: isSame ? 'unchanged' : 'updated' };
  });
  if (!end) return results;
  const known = new Set([...results.map((result) => result.targetName), ...foreign]);
  return [
    ...results,
    ...steps
      .filter((step) => !known.has(step.target))
      .map((step) => failed(step.name, step.target, end.problem)),
  ];
}

/** In place of a result: the name is not deleted. */
const FOREIGN = 'foreign';

/**
 * Whether the value at the target is not the one that this service wrote last: another text, or none, as of
 * bytes or a disabled version. What an interrupted consumer began to delete may have no value any more.
 */
async function isForeign(target: Target, { target: name, remote, isOurs, begun }: Work): Promise<boolean> {
  if (!isOurs || !('read' in target) || !target.read || !readsEach(target)) return false;
  const current = await target.read(remote ?? { target: name });
  // safety: removal-only-last-written
  return current === null ? !begun : !isOurs(current);
}

async function applyEach(
  chunk: Work[],
  one: (work: Work) => Promise<Written | typeof FOREIGN>,
): Promise<Applied> {
  const applied: Applied = { results: [], foreign: [], end: null };
  const open = [...chunk];
  const worker = async () => {
    for (let work = open.shift(); work; work = open.shift()) {
      if (applied.end) return;
      const { result, end } = await settled(work, () => one(work as Work));
      if (result === FOREIGN) applied.foreign.push(work.target);
      else if (result) applied.results.push(result);
      applied.end ??= end;
    }
  };
  await Promise.all(Array.from({ length: CONCURRENCY }, worker));
  return applied;
}

async function writeOne(target: EachTarget, work: Work): Promise<Written | typeof FOREIGN> {
  const { kind, remote, value, token } = work;
  if (kind === 'remove' && (await isForeign(target, work))) return FOREIGN;
  if (kind === 'remove')
    return target.remove({ target: work.target, remote: remote ?? { target: work.target } });
  const put: Put = { target: work.target, value: value as string, remote, token };
  // safety: sync-settled-by-reading
  if (target.read && (work.begun || (remote && readsEach(target)))) {
    const current = await target.read(remote ?? { target: work.target });
    if (current === value)
      return { action: remote && !work.begun ? 'unchanged' : remote ? 'updated' : 'created' };
  }
  return target.put(put);
}

async function applyBatch(target: BatchTarget, chunk: Work[]): Promise<Applied> {
  const puts = chunk.flatMap(({ kind, target, value, remote, token }) =>
    kind === 'put' ? [{ target, value: value as string, remote, token }] : [],
  );
  const removals = chunk.flatMap(({ kind, target, remote }) =>
    kind === 'remove' ? [{ target, remote: remote ?? { target } }] : [],
  );
  const noted = new Map<string, Written>();
  try {
    const written = await target.write(puts, removals, noted);
    if (!written) return applyEach(chunk, (work) => writeOne(target as BatchTarget & EachTarget, work));
    return {
      results: chunk.map((work) => resultOf(work, written.get(work.target) ?? NOTHING)),
      foreign: [],
      end: null,
    };
  } catch (error) {
    if (!(error instanceof TargetError)) throw error;
    const end = error.ends === 'name' ? null : error;
    // Results of earlier calls are kept; names of calls that were not made stay open.
    // safety: sync-parts-stand
    const reported = end && noted.size ? chunk.filter((work) => noted.has(work.target)) : chunk;
    return {
      results: reported.map((work) =>
        resultOf(work, noted.get(work.target) ?? { action: 'failed', ...error.problem }),
      ),
      foreign: [],
      end,
    };
  }
}

const NOTHING: Written = {
  action: 'failed',
  code: 'TARGET_REJECTED',
  message: 'The target did not report a result for this name.',
};

/** Runs a write and converts a `TargetError` to its result. */
async function settled(
  work: Work,
  write: () => Promise<Written | typeof FOREIGN>,
): Promise<{ result: Result | typeof FOREIGN | null; end: TargetError | null }> {
  try {
    const written = await write();
    return { result: written === FOREIGN ? FOREIGN : resultOf(work, written), end: null };
  } catch (error) {
    if (!(error instanceof TargetError)) throw error;
    return {
      result: failed(work.name, work.target, error.problem),
      end: error.ends === 'name' ? null : error,
    };
  }
}

function resultOf({ name, target, kind, remote, begun }: Work, written: Written): Result {
  if (written.action === 'failed') return failed(name, target, written);
  // An interrupted earlier attempt may have written it, so the target says that it existed.
  const action =
    kind === 'put' && !remote && begun && written.action !== 'unchanged' ? 'created' : written.action;
  return {
    name,
    targetName: target,
    action,
    ...(written.message !== undefined && { message: written.message }),
  };
}
