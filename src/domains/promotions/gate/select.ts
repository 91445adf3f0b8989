// Which secrets a promotion copies and removes, and whether the caller may. Invariants: the caller reads each
// secret that is copied, and writes or deletes each one that is changed; a name outside these permissions
// looks the same whether or not it exists; nothing is removed whose name the source has.
import { mayReach, namesHeld, reaches, stepsFor } from '../../../auth/authorize';
import { sha256 } from '../../../crypto/digest';
import type { EnvironmentRow, SecretRow } from '../../../db/schema';
import { invalid, type Refusal, refuse } from '../../../errors';
import { mayReveal } from '../../../gate/approvals/hold';
import { type Call, isRefusal } from '../../../gate/request/call';
import { environmentOf } from '../../../gate/request/target';
import { noEnvironment, unknownEnvironment } from '../../secrets/gate/reads';
import { inOrder, prefixesOf, rowsOf } from '../../secrets/gate/selection';
import { etagOf, readable } from '../../secrets/rules';
import { DELETE, READ } from '../actions';
import type { PromotionInput } from '../payloads';

type PromotionCall = Call<PromotionInput>;

/** The most matching steps of one promotion. */
const MOST_STEPS = 20_000_000;
/** The most names of the target that are looked at to prune. */
const MOST_LOOKED_AT = 20_000;
/** The most secrets that one promotion deletes. */
const MOST_REMOVED = 2000;

/** One name: the secret to copy, and what it becomes. */
export interface Step {
  name: string;
  source: SecretRow;
  target: SecretRow | null;
  to: 'created' | 'updated' | 'unchanged';
}

export interface Chosen {
  from: EnvironmentRow;
  to: EnvironmentRow;
  steps: Step[];
  removed: SecretRow[];
}

export const targetOf = ({ core, ask }: PromotionCall) => environmentOf(core, ask.named.environment);

const tooMany = refuse('RESULT_TOO_LARGE', { message: 'This promotes too many secrets. Name fewer.' });

/** 400 for the same environment twice, 403 for what only the body names. */
export function permitted(call: PromotionCall): Refusal | null {
  const { core, caller, need, input } = call;
  const from = environmentOf(core, input.from);
  const to = targetOf(call);
  // safety: promotion-within-source
  const barred = mayReach(caller, READ, { environment: from?.id ?? '', shown: input.from });
  if (barred) return barred;
  if (from && from.id === to?.id) return invalid('from', 'must be another environment');
  const here = { environment: to?.id ?? '', shown: to?.slug ?? '' };
  // safety: prune-needs-delete
  const undeletable = input.prune ? mayReach(caller, DELETE, here) : null;
  if (undeletable || !from || !to) return undeletable;
  const steps = stepsFor(caller, [...READ.scopes, ...need.scopes, ...DELETE.scopes], MOST_STEPS);
  for (const name of input.names ?? []) {
    // safety: promotion-steps-bounded
    if (!steps.take(from.id, name) || !steps.take(to.id, name)) return tooMany;
    // safety: promotion-within-source-names
    const outside =
      mayReach(caller, READ, { environment: from.id, shown: from.slug, name }) ??
      mayReach(caller, need, { ...here, name });
    if (outside) return outside;
  }
  return null;
}

/** What the promotion would do now. */
export function choose(call: PromotionCall, now: number): Chosen | Refusal {
  const { core, input } = call;
  const from = environmentOf(core, input.from);
  const to = targetOf(call);
  if (!to) return noEnvironment(call);
  if (!from) return unknownEnvironment(input.from);
  const between = { from, to };
  const sources = input.names
    ? namedSources(call, between, input.names, now)
    : prefixedSources(call, between, now);
  if (isRefusal(sources)) return sources;
  const steps: Step[] = [];
  for (const source of sources) {
    const step = stepOf(call, source, to, now);
    if (isRefusal(step)) return step;
    steps.push(step);
  }
  const removed = input.prune ? removals(call, between) : [];
  return isRefusal(removed) ? removed : { from, to, steps, removed };
}

type Between = Pick<Chosen, 'from' | 'to'>;

/** The named secrets. One that the source does not have is refused, unless it is to be removed. */
function namedSources(
  { core, caller, input }: PromotionCall,
  { from }: Between,
  names: readonly string[],
  now: number,
): SecretRow[] | Refusal {
  const rows: SecretRow[] = [];
  const missing: string[] = [];
  for (const name of names) {
    const row = core.rows.find('secret', from.id, name);
    if (row && readable(row, now) === null) rows.push(row);
    else if (row || !input.prune) missing.push(name);
  }
  if (missing.length === 0) return rows.sort(inOrder);
  return refuse(caller.kind === 'agent' ? 'SECRET_ACCESS_DENIED' : 'NOT_FOUND', {
    message: `The environment ${from.slug} lacks some of these secrets. See details.`,
    details: missing.map((path) => ({ path, message: 'is not an active secret there' })),
  });
}

/** All active secrets with the prefix that the caller may read. */
function prefixedSources(call: PromotionCall, { from, to }: Between, now: number): SecretRow[] | Refusal {
  const { caller, need, input } = call;
  const patterns = namesHeld(caller, READ.scopes, from.id);
  const found = rowsOf(
    call,
    { environment: from.id, scopes: READ.scopes, patterns },
    now,
    input.prefix ?? '',
  );
  if (found === null) return tooMany;
  const rows = [...found.rows, ...found.held].sort(inOrder);
  const steps = stepsFor(caller, need.scopes, MOST_STEPS);
  for (const { name } of rows) {
    if (!steps.take(to.id, name)) return tooMany;
    // safety: promotion-within-target-names
    const outside = mayReach(caller, need, { environment: to.id, shown: to.slug, name });
    if (outside) return outside;
  }
  return rows;
}

function stepOf(call: PromotionCall, source: SecretRow, to: EnvironmentRow, now: number): Step | Refusal {
  const { name } = source;
  const target = call.core.rows.find('secret', to.id, name);
  if (!target) return { name, source, target, to: 'created' };
  const gone = readable(target, now);
  // safety: promotion-revives-nothing
  if (gone) return { ...gone, details: [{ path: name, message: `is not active in ${to.slug}` }] };
  return { name, source, target, to: isKept(call, source, target) ? 'unchanged' : 'updated' };
}

/** Whether a secret has the value already, and the caller may know that. */
function isKept(call: PromotionCall, source: SecretRow, target: SecretRow): boolean {
  const isSame =
    source.fingerprint === target.fingerprint &&
    (source.binary ?? null) === (target.binary ?? null) &&
    source.tags.encoding === target.tags.encoding;
  const mayRead = (row: SecretRow) =>
    reaches(call.caller, READ.scopes, row.environment_id, row.name) && !mayReveal(call, row).isHeld;
  // safety: promotion-equal-told-to-readers
  return isSame && mayRead(target) && mayRead(source);
}

/** The secrets here, of those chosen, whose names the source does not have. */
function removals(call: PromotionCall, { from, to }: Between): SecretRow[] | Refusal {
  const { core, caller, input } = call;
  const removed: SecretRow[] = [];
  const steps = stepsFor(caller, [...READ.scopes, ...DELETE.scopes], MOST_STEPS);
  let looked = 0;
  for (const name of input.names ?? namesHere(call, to)) {
    if (++looked > MOST_LOOKED_AT || removed.length > MOST_REMOVED) return tooMany;
    if (!steps.take(from.id, name) || !steps.take(to.id, name)) return tooMany;
    const row = core.rows.find('secret', to.id, name);
    // safety: prune-keeps-what-the-source-has
    if (!row || core.rows.find('secret', from.id, name)) continue;
    // Otherwise it would tell which names the source has.
    // safety: prune-within-names
    const isAllowed =
      reaches(caller, READ.scopes, from.id, name) && reaches(caller, DELETE.scopes, to.id, name);
    if (isAllowed) removed.push(row);
    else if (input.names)
      return mayReach(caller, DELETE, { environment: to.id, shown: to.slug, name }) ?? refuse('NOT_FOUND');
  }
  return removed;
}

/** The names here with the prefix that the caller may delete, in order. */
function* namesHere({ core, caller, input }: PromotionCall, to: EnvironmentRow): Generator<string> {
  for (const prefix of prefixesOf(input.prefix ?? '', namesHeld(caller, DELETE.scopes, to.id)))
    for (let after = ''; ; ) {
      const page = core.rows.named(to.id, prefix, after, 1000);
      for (const { name } of page) yield name;
      if (page.length < 1000) break;
      after = page.at(-1)?.name as string;
    }
}

/** The ETag of what would happen: it changes with each secret that takes part. */
export function tagOf({ from, to, steps, removed }: Chosen): string {
  const stateOf = (row: SecretRow | null) => row && [row.id, etagOf(row)];
  const all = [
    [from.id, to.id],
    steps.map(({ name, source, target, to }) => [name, to, stateOf(source), stateOf(target)]),
    removed.map(stateOf),
  ];
  return `"${sha256(JSON.stringify(all)).slice(0, 32)}"`;
}
