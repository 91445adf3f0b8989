// Carries out the steps of a plan, chunk by chunk. Invariants: the failure of one name does not stop others; for vendors that keep
// versions, a step that was begun before is settled by reading first; an error that ends the sync leaves unbegun steps alone.
import { type BatchTarget, CONCURRENCY, type EachTarget, type Put, readsEach, type Target, TargetError, type Written } from './adapter';
import { failed, type Result, type Step } from './plan';

/** A step with its inputs. */
export interface Work extends Step {
  /** The value to write; null for a removal. */
  value: string | null;
  token: string;
  /** Whether a consumer that was interrupted had begun it: then it may already be done. */
  begun: boolean;
}

export interface Applied {
  results: Result[];
  /** The error that ended the sync, if any. */
  end: TargetError | null;
}

/** Writes a chunk. Steps without a result were not begun. */
export const apply = (target: Target, chunk: Work[]): Promise<Applied> =>
  'write' in target ? applyBatch(target, chunk) : applyEach(chunk, (work) => writeOne(target, work));

/** What steps would do, for a dry run. If values are read one by one, equal ones are unchanged. */
export async function foreseen(target: Target, steps: Work[]): Promise<Result[]> {
  const { results, end } = await applyEach(steps, async ({ kind, remote, value }) => {
    if (kind === 'remove') return { action: 'deleted' };
    if (!remote) return { action: 'created' };
    const isSame = value !== null && 'read' in target && readsEach(target) && (await target.read?.(remote)) === value;
    return { action: isSame ? 'unchanged' : 'updated' };
  });
  if (!end) return results;
  const told = new Set(results.map((result) => result.targetName));
  return [...results, ...steps.filter((step) => !told.has(step.target)).map((step) => failed(step.name, step.target, end.problem))];
}

async function applyEach(chunk: Work[], one: (work: Work) => Promise<Written>): Promise<Applied> {
  const applied: Applied = { results: [], end: null };
  const open = [...chunk];
  const worker = async () => {
    for (let work = open.shift(); work; work = open.shift()) {
      if (applied.end) return;
      const { result, end } = await settled(work, () => one(work as Work));
      if (result) applied.results.push(result);
      applied.end ??= end;
    }
  };
  await Promise.all(Array.from({ length: CONCURRENCY }, worker));
  return applied;
}

async function writeOne(target: EachTarget, work: Work): Promise<Written> {
  const { kind, remote, value, token } = work;
  if (kind === 'remove') return target.remove({ target: work.target, remote: remote ?? { target: work.target } });
  const put: Put = { target: work.target, value: value as string, remote, token };
  // safety: sync-settled-by-reading
  if (target.read && (work.begun || (remote && readsEach(target)))) {
    const current = await target.read(remote ?? { target: work.target });
    if (current === value) return { action: remote && !work.begun ? 'unchanged' : remote ? 'updated' : 'created' };
  }
  return target.put(put);
}

async function applyBatch(target: BatchTarget, chunk: Work[]): Promise<Applied> {
  const puts = chunk.flatMap(({ kind, target, value, remote, token }) =>
    kind === 'put' ? [{ target, value: value as string, remote, token }] : [],
  );
  const removals = chunk.flatMap(({ kind, target, remote }) => (kind === 'remove' ? [{ target, remote: remote ?? { target } }] : []));
  const noted = new Map<string, Written>();
  try {
    const written = await target.write(puts, removals, noted);
    if (!written) return applyEach(chunk, (work) => writeOne(target as BatchTarget & EachTarget, work));
    return { results: chunk.map((work) => resultOf(work, written.get(work.target) ?? NOTHING)), end: null };
  } catch (error) {
    if (!(error instanceof TargetError)) throw error;
    const end = error.ends === 'name' ? null : error;
    // Results of earlier calls are kept; names of calls that were not made stay open.
    // safety: sync-parts-stand
    const told = end && noted.size ? chunk.filter((work) => noted.has(work.target)) : chunk;
    return { results: told.map((work) => resultOf(work, noted.get(work.target) ?? { action: 'failed', ...error.problem })), end };
  }
}

const NOTHING: Written = { action: 'failed', code: 'TARGET_REJECTED', message: 'The target did not report a result for this name.' };

/** Runs a write and converts a `TargetError` to its result. */
async function settled(work: Work, write: () => Promise<Written>): Promise<{ result: Result | null; end: TargetError | null }> {
  try {
    return { result: resultOf(work, await write()), end: null };
  } catch (error) {
    if (!(error instanceof TargetError)) throw error;
    return { result: failed(work.name, work.target, error.problem), end: error.ends === 'name' ? null : error };
  }
}

function resultOf({ name, target, kind, remote, begun }: Work, written: Written): Result {
  if (written.action === 'failed') return failed(name, target, written);
  // An interrupted earlier attempt may have written it, so the target says that it existed.
  const action = kind === 'put' && !remote && begun && written.action !== 'unchanged' ? 'created' : written.action;
  return { name, targetName: target, action, ...(written.message !== undefined && { message: written.message }) };
}
