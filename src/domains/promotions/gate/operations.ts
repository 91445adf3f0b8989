// Promotions in the gate: one plan for all secrets. Invariants: a promotion takes effect completely or not at
// all; what is written is the value that the source has in the turn of the change; a dry run judges the same
// and writes nothing.
import { mayAct } from '../../../auth/authorize';
import type { SecretRow } from '../../../db/schema';
import { type Refusal, refuse } from '../../../errors';
import { matchesETag } from '../../../etag';
import { compareAll, violationOf } from '../../../gate/approvals/policies';
import { inPieces } from '../../../gate/approvals/shown';
import { namesListed, type Subject } from '../../../gate/audit/entry';
import { type Call, isRefusal, type Operation } from '../../../gate/request/call';
import { wants } from '../../../gate/request/outcome';
import type { Fact, Plan, Proposal } from '../../../gate/request/plan';
import { writeReadable } from '../../../gate/request/rollout';
import { environmentOf } from '../../../gate/request/target';
import { removal } from '../../secrets/gate/changes';
import { advance, begin, isUsedId, joined, type Kept, keptOfAll, locksOf } from '../../secrets/gate/plans';
import { limits } from '../../secrets/gate/state';
import type { Delivered, EncryptedValue } from '../../secrets/rules';
import { deliveredOf } from '../../syncs/gate/sent-ciphertexts';
import { READ } from '../actions';
import type { PromotedValue, PromotionInput, PromotionResult, Wanted } from '../payloads';
import { type Chosen, choose, permitted, type Step, tagOf, targetOf } from './select';

type PromotionCall = Call<PromotionInput>;

/** The most bytes of values that one promotion copies: the plan is one record of the journal. */
const MOST_BYTES = 4 * 1024 ** 2;

/** What was fetched under the locks. */
interface Locked {
  kept: Map<string, Kept>;
  delivered: Delivered[];
}

/** A secret with the value to write. */
interface Writing extends Step {
  id: string;
  value: EncryptedValue;
}

const isCopied = ({ to }: Step): boolean => to !== 'unchanged';

const again = refuse('UNAVAILABLE', { retry_after: 1 });

/** Why a promotion is refused as a whole, whether or not it is a dry run. */
function refusalOf(call: PromotionCall, chosen: Chosen): Refusal | null {
  const { core, input } = call;
  // safety: promotion-if-match
  if (input.if_match !== null && !matchesETag(input.if_match, tagOf(chosen)))
    return refuse('VERSION_CONFLICT', {
      message: 'The secrets have changed since the dry run. Nothing was promoted.',
    });
  const copied = chosen.steps.filter(isCopied);
  const bytes = copied.reduce((sum, { source }) => sum + source.size, 0);
  // safety: promotion-bounded
  if (bytes > MOST_BYTES)
    return refuse('RESULT_TOO_LARGE', {
      message: 'A promotion copies at most 4 MiB of values. Name fewer secrets.',
    });
  const environment_id = chosen.to.id;
  compareAll(
    core,
    copied.map(({ source: { type, name }, target }) => target ?? { environment_id, type, name }),
  );
  return null;
}

/** What a dry run refuses that the commit of a change refuses by itself. */
function refusalOfDryRun(call: PromotionCall, { steps, to }: Chosen): Refusal | null {
  const created = steps.filter((step) => step.to === 'created').map(({ source }) => source);
  for (const source of created) {
    const violation = violationOf(call, { ...source, id: '', environment_id: to.id });
    if (violation) return refuse('POLICY_VIOLATED', { message: violation.message });
  }
  return limits(
    call.core,
    steps.filter(isCopied).reduce((sum, { source }) => sum + source.size, 0),
    created.length,
  );
}

/**
 * The steps with their values. A value counts only if it is the one that the source has now, encrypted for
 * the secret that has the name now; else the Worker is asked for all of them.
 */
function writingsOf(
  { core, ask, input }: PromotionCall,
  steps: readonly Step[],
  delivered: readonly Delivered[],
): Writing[] | Wanted | Refusal {
  const values = new Map((input.values ?? []).map((one) => [one.name, one]));
  const isFor = ({ source, target }: Step, { id, value }: PromotedValue) =>
    // safety: promoted-value-of-source
    value.fingerprint === source.fingerprint && (target ? target.id === id : !isUsedId(core, id));
  const writings = steps.flatMap((step): Writing[] => {
    const made = values.get(step.name);
    return made && isFor(step, made) ? [{ ...step, id: made.id, value: valueFor(step, made) }] : [];
  });
  if (writings.length === steps.length) return writings;
  // What was fetched for another state of the source is of no use.
  const current = new Map(
    delivered.flatMap((one) => ('row' in one ? [[one.version.seal_id, one] as const] : [])),
  );
  const items = steps.flatMap(({ source, target }) => {
    const found = current.get(source.seal_id);
    return found ? [{ source: writeReadable({ ...found, row: source }), id: target?.id ?? null }] : [];
  });
  return ask.is_last || items.length < steps.length ? again : { items };
}

/** What the gate knows of a value besides its ciphertext comes from the row of the source. */
const valueFor = ({ source }: Step, { value }: PromotedValue): EncryptedValue => ({
  ...value,
  generated: source.generated,
  binary: source.binary ?? null,
  request_token: null,
});

/** The tags of a secret after its value becomes, or stops being, base64-encoded bytes. */
function tagsOf(source: SecretRow, { tags: { encoding, ...others } }: SecretRow): SecretRow['tags'] {
  return source.tags.encoding === 'base64'
    ? { ...others, encoding: 'base64' }
    : { ...others, ...(encoding !== undefined && encoding !== 'base64' && { encoding }) };
}

function planOfStep(
  call: PromotionCall,
  { to }: Chosen,
  { source, target, id, value }: Writing,
  kept: Map<string, Kept>,
  now: number,
): Plan | Refusal {
  if (target)
    return advance(call, target, value, { tags: tagsOf(source, target) }, kept.get(target.id) ?? null, now);
  const { name, type, description, tags } = source;
  return begin(call, to, { id, name, type, description, tags, rotate_every_seconds: null }, value, null, now);
}

const named = (steps: readonly Step[], to: Step['to']): string[] =>
  steps.filter((step) => step.to === to).map(({ name }) => name);

const resultOf = ({ steps, removed }: Chosen): PromotionResult => ({
  created: named(steps, 'created'),
  updated: named(steps, 'updated'),
  unchanged: named(steps, 'unchanged'),
  removed: removed.map(({ name }) => name),
});

/** What the audit entry says: which versions were written, deleted and copied. */
function aboutOf(
  { from, to, steps, removed }: Chosen,
  plans: readonly Plan[],
  dry_run: boolean,
): Plan['audit'] {
  const written = plans.flatMap((plan) => plan.versions ?? []);
  const copied = steps.filter(isCopied);
  const versionsOf = (rows: readonly SecretRow[]) =>
    Object.fromEntries(rows.map(({ id, version }) => [id, version]));
  const imported: Subject['imported'] = {
    source: from.slug,
    created: named(steps, 'created').length,
    updated: named(steps, 'updated').length,
    skipped: named(steps, 'unchanged').length,
    failed: 0,
    ...namesListed([...copied, ...removed].map(({ name }) => name)),
    versions: Object.fromEntries(written.map(({ secret_id, version }) => [secret_id, version])),
    ...(!dry_run && removed.length > 0 && { deleted: versionsOf(removed) }),
    copied: versionsOf(dry_run ? [] : copied.map(({ source }) => source)),
    dry_run,
  };
  return { environment: to.slug, imported };
}

function describe({ from, to, steps, removed }: Chosen): string {
  const copied = steps.filter(isCopied).length;
  const existing = named(steps, 'updated').length;
  const deleted = removed.length ? `, and delete ${removed.length}` : '';
  return `promote ${copied} ${copied === 1 ? 'secret' : 'secrets'} from ${from.slug} to ${to.slug}, of which ${existing} exist${deleted}`;
}

/** Which secrets it writes and deletes, all by name. */
// safety: promoted-names-shown
const shownOf = (chosen: Chosen): Fact[] => {
  const { created, updated, removed } = resultOf(chosen);
  return [
    { name: 'From environment', value: chosen.from.slug },
    { name: 'To environment', value: chosen.to.slug },
    ...inPieces('Creates', created.join(', ')),
    ...inPieces('Replaces', updated.join(', ')),
    ...inPieces('Deletes', removed.join(', ')),
  ];
};

/** One plan for all secrets; the organisation's limits apply to all of them together. */
function planOf(
  call: PromotionCall,
  chosen: Chosen,
  writings: readonly Writing[],
  { kept }: Locked,
  now: number,
) {
  const { core } = call;
  const plans: Plan[] = [];
  for (const writing of writings) {
    const plan = planOfStep(call, chosen, writing, kept, now);
    if (isRefusal(plan)) return plan;
    plans.push(plan);
  }
  const { added, parts } = joined(core, [
    ...plans,
    ...chosen.removed.map((row) => removal(call, row, false, now)),
  ]);
  // safety: promotion-within-limits
  const limit = limits(core, added, named(chosen.steps, 'created').length);
  if (limit) return limit;
  const { to } = chosen;
  return {
    status: 200,
    data: resultOf(chosen),
    ...parts,
    environments: parts.writes.length ? [to.id] : [],
    copies: writings.map(({ source }) => source),
    audit: aboutOf(chosen, plans, false),
    describes: describe(chosen),
    shows: shownOf(chosen),
  } satisfies Plan;
}

function plan(call: PromotionCall, now: number, locked: Locked): Proposal {
  const chosen = choose(call, now);
  if (isRefusal(chosen)) return chosen;
  const refusal = refusalOf(call, chosen);
  if (refusal) return refusal;
  // safety: promotion-dry-run-writes-nothing
  if (call.input.dry_run)
    return (
      refusalOfDryRun(call, chosen) ?? {
        status: 200,
        data: resultOf(chosen),
        etag: tagOf(chosen),
        audit: aboutOf(chosen, [], true),
      }
    );
  const writings = writingsOf(call, chosen.steps.filter(isCopied), locked.delivered);
  if ('items' in writings) return wants('value', writings);
  return isRefusal(writings) ? writings : planOf(call, chosen, writings, locked, now);
}

/** What the promotion would copy now; nothing if it is refused, which the plan then says. */
function copiedNow(call: PromotionCall): Step[] {
  const refusal = permitted(call);
  const chosen = refusal ?? choose(call, call.core.now());
  return isRefusal(chosen) || refusalOf(call, chosen) ? [] : chosen.steps.filter(isCopied);
}

export const promotionOperations = {
  'secret.promote': {
    subject: (call) => ({ environment: targetOf(call)?.slug ?? null }),
    // safety: promotion-needs-read
    reach: ({ caller, ask }) => mayAct(caller, READ, ask.request.ip),
    authorize: permitted,
    change: {
      /**
       * No policy is judged for them: that takes turns. Without names nothing is locked. A secret that
       * changes while its versions are counted is then 503.
       */
      locks({ core, ask, input }) {
        const environment = environmentOf(core, ask.named.environment);
        const names = input.names ?? [];
        const rows = names.map((name) => core.rows.find('secret', environment?.id ?? '', name));
        return locksOf(environment, names, rows);
      },
      async locked(call): Promise<Locked> {
        const steps = copiedNow(call);
        const isReady = call.input.dry_run || Array.isArray(writingsOf(call, steps, []));
        return {
          delivered: isReady
            ? []
            : await deliveredOf(
                call,
                steps.map(({ source }) => source),
              ),
          kept: await keptOfAll(
            call,
            steps.flatMap(({ target }) => target ?? []),
          ),
        };
      },
      plan: (call, now, { locked }) => plan(call, now, locked as Locked),
    },
  } satisfies Operation<PromotionInput>,
};
