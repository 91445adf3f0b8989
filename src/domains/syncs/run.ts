// The job of a sync, in the Worker: plans it once, then writes chunk by chunk and reports each result to the
// gate. Invariants: it can be repeated or stop at any point, because the plan and the results are stored in
// the gate; no value, credential or target response is logged or reported; it stops after a number of calls,
// and another message continues; each call begins under a permit of the gate (permit.ts).
import { CONCURRENCY, readsEach, TargetError } from '../../adapters/sync/adapter';
import { type Applied, apply, type Work } from '../../adapters/sync/apply';
import { failed, type Item, itemOf, plan, type Result } from '../../adapters/sync/steps';
import type { JobContext } from '../../delivery/job';
import { settingsOf } from '../../env';
import { unwrap } from '../../gate/request/outcome';
import { decryptValue } from '../secrets/encryption';
import type { Chunk, EndInput, NextInput, Permission, Stop, Taken, ValuesPage } from './gate/run';
import { isHandedOver, permitOf, stale } from './permit';
import { configOf, digestsAt, type Opened, openTarget, tokenOf } from './target';

/** The most calls to a target per message, and how long it runs: a Worker can make 1,000 subrequests. */
const MOST_CALLS = 300;
const LASTS = 60_000;
/** Names in one chunk: what may have to be repeated if a consumer is interrupted. */
const CHUNK = CONCURRENCY * 8;

interface Run extends Taken {
  context: JobContext;
  opened: Opened;
  /** Asks the gate for the next part of this sync. */
  ask<T>(operation: string, input?: object): Promise<T | null>;
}

/** Why a sync ended early, and the error of its remaining names. */
type End = Omit<EndInput, 'sync' | 'lease'>;

/** Works on one sync; without an id, starts the automatic syncs that are due. */
export async function run(context: JobContext): Promise<void> {
  const { id, ask, env } = context;
  const settings = settingsOf(env);
  if ('problem' in settings) return;
  if (id === null) return void unwrap(await ask('integration.sync_auto', {}));
  const taken = unwrap(await ask('integration.sync_run', { sync: id }, 'integration.sync_take'))
    .data as Taken | null;
  if (!taken) return;
  const asked: Run['ask'] = async (operation, input = {}) =>
    unwrap(await ask('integration.sync_run', { sync: id, lease: taken.lease, ...input }, operation))
      .data as never;
  try {
    const config = taken.integration
      ? configOf(context.keys, context.org, 'integration', taken.integration)
      : taken.row.integration_id === null
        ? configOf(context.keys, context.org, 'sync', taken.row)
        : null;
    const permit = permitOf((input) => asked<Permission>('integration.sync_permit', input));
    const opened = config && openTarget(taken.row.platform, config, settings, permit);
    const work = { ...taken, context, ask: asked };
    const end = opened
      ? await carryOut({ ...work, opened })
      : await without({ ...work, isGone: config === null });
    if (end) unwrap(await ask('integration.sync_end', { sync: id, lease: taken.lease, ...end }));
  } catch (error) {
    // Release the sync, so the next message need not wait for the lease.
    await asked('integration.sync_next', {
      report: [],
      foreign: [],
      most: 0,
    } satisfies Partial<NextInput>).catch(() => null);
    throw error;
  }
}

const finished: End = { problem: null, results: [], retryAfter: null };

/** What a chunk did. */
type Done = Pick<NextInput, 'report' | 'foreign'>;

/** Plans a sync if necessary and writes it; null if another message continues, or another job has it now. */
async function carryOut(run: Run): Promise<End | null> {
  if (!run.planned) {
    const end = await prepare(run);
    if (end !== 'planned') return end;
  }
  const until = Date.now() + LASTS;
  let done: Done = { report: [], foreign: [] };
  for (;;) {
    const isLast = Date.now() > until || run.opened.client.calls() > MOST_CALLS;
    const most = isLast
      ? 0
      : 'write' in run.opened.target
        ? (run.opened.adapter.most ?? Number.MAX_SAFE_INTEGER)
        : CHUNK;
    const chunk = await run.ask<Chunk>('integration.sync_next', { ...done, most });
    if (!chunk) return null;
    if (chunk.stop) return { ...finished, problem: chunk.stop };
    if (isLast) return null;
    if (chunk.work.length === 0 && !chunk.more) return finished;
    const { end, ...written } = await write(run, chunk);
    done = written;
    if (end === stale) {
      const rest = await run.ask<Chunk>('integration.sync_next', { ...done, most: 0 });
      // It may have been stopped in the meantime.
      return rest?.stop ? { ...finished, problem: rest.stop } : null;
    }
    if (end) return ended(run, done, end);
  }
}

/** Reports the last results and the error of the remaining names. */
async function ended(run: Run, done: Done, { ends, problem, retryAfter }: TargetError): Promise<End | null> {
  const chunk = await run.ask<Chunk>('integration.sync_next', { ...done, most: 1 });
  if (!chunk) return null;
  const notAttempted: Stop = {
    code: 'NOT_ATTEMPTED',
    message: 'An error for another name ended the sync before this one was written.',
  };
  return { problem: chunk.stop ?? (ends === 'sync' ? problem : notAttempted), results: [], retryAfter };
}

/** Reads the secrets page by page, lists the target, and stores the plan. */
async function prepare(run: Run): Promise<End | 'planned' | null> {
  const { context, opened, row } = run;
  const { adapter, config, target } = opened;
  const digestOf = digestsAt(context.keys, row.place, adapter);
  const items: Item[] = [];
  let first: ValuesPage | null = null;
  const withheld: Result[] = [];
  for (let after: string | null = null; ; ) {
    const page: ValuesPage | null = await run.ask<ValuesPage>('integration.sync_run', { after });
    if (!page) return null;
    if (page.stop) return without({ ...run, stop: page.stop });
    first ??= page;
    withheld.push(...page.results);
    for (const delivered of page.items) {
      const { row: secret, value } = await decryptValue(context.keys, context.org, delivered);
      items.push(itemOf(adapter, config, secret.name, value, (at) => digestOf(at, value)));
    }
    if (page.next === null) break;
    after = page.next;
  }
  const targeted = withheld.map((result) => ({ ...result, targetName: targetOf(run, result.name) }));
  const remotes = await listed(opened);
  if (remotes instanceof TargetError) {
    const results = items.map(({ name, target, problem }) =>
      failed(name, target, problem ?? remotes.problem),
    );
    return { problem: null, results: [...targeted, ...results], retryAfter: remotes.retryAfter };
  }
  const made = plan(adapter, { ...first, items, remotes, digestOf, reads: readsEach(target) });
  // A name pruned because its secret is not active is reported as deleted, not as skipped.
  const removed = new Set(made.steps.filter(({ kind }) => kind === 'remove').map(({ name }) => name));
  const results = [...made.results, ...targeted.filter(({ name }) => !removed.has(name))];
  const stored = await run.ask<{ stop: Stop | null }>('integration.sync_plan', { ...made, results });
  if (!stored) return null;
  return stored.stop ? { ...finished, problem: stored.stop } : 'planned';
}

const listed = ({ target }: Opened) =>
  target.list().catch((error: unknown) => {
    if (error instanceof TargetError) return error;
    throw error;
  });

/** The target name of a secret that is not sent; null if it cannot have one. */
function targetOf({ opened: { adapter, config } }: Pick<Run, 'opened'>, name: string): string | null {
  const mapped = adapter.name(name, config as never);
  return 'target' in mapped ? mapped.target : null;
}

/** Writes a chunk. */
async function write(run: Run, { work }: Chunk): Promise<Done & { end: TargetError | null }> {
  const { context, opened, row } = run;
  const digestOf = digestsAt(context.keys, row.place, opened.adapter);
  const digests = new Map<string, string>();
  const report: Done['report'] = [];
  const ready: Work[] = [];
  for (const { step, delivered } of work) {
    const value = delivered && (await decryptValue(context.keys, context.org, delivered)).value;
    const digest = value === null ? '' : digestOf(step.target, value);
    digests.set(step.target, digest);
    // The value may be newer than in the plan.
    const problem =
      value === null ? null : (opened.adapter.value?.(value, step.target, opened.config as never) ?? null);
    if (problem) report.push({ ...failed(step.name, step.target, problem), digest });
    else {
      const isOurs = (current: string) => digestOf(step.target, current) === step.digest;
      ready.push({
        ...step,
        value,
        digest,
        isOurs,
        token: tokenOf(context.keys, row.id, step.target, digest),
      });
    }
  }
  const applied: Applied = ready.length
    ? await apply(opened.target, ready)
    : { results: [], foreign: [], end: null };
  // What another job goes on with has no result.
  // safety: handed-over-names-stay-open
  const isOpen = ({ message }: Result) =>
    isHandedOver(applied.end) && message === applied.end?.problem.message;
  const results = applied.results.filter((result) => !isOpen(result));
  report.push(
    ...results.map((result) => ({
      ...result,
      digest: digests.get(result.targetName as string) ?? '',
    })),
  );
  return { report, foreign: applied.foreign, end: applied.end };
}

const REJECTED: Stop = {
  code: 'NOT_ATTEMPTED',
  message: 'The connection leads to an address that this deployment does not allow.',
};
const REMOVED: Stop = { code: 'NOT_ATTEMPTED', message: 'The connection was removed.' };

/** Ends a sync that cannot begin: each requested name fails with the reason. */
async function without(
  run: Pick<Run, 'ask' | 'row'> & { opened?: Opened; stop?: Stop; isGone?: boolean },
): Promise<End | null> {
  const problem = run.stop ?? (run.isGone ? REMOVED : REJECTED);
  const names = await run.ask<string[]>('integration.sync_names');
  if (!names) return null;
  const { opened } = run;
  const results = names.map((name) =>
    failed(name, opened ? targetOf({ opened }, name) : null, problem as never),
  );
  return { problem, results, retryAfter: null };
}
