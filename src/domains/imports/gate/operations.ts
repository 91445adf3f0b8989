// Imports in the gate: which secrets are created, updated or skipped, all in one plan. Invariants: an import
// takes effect completely or not at all; secrets that the caller may not write are neither examined nor
// revealed; a dry run creates the same plan and writes nothing.

import { type Failure, failure } from '../../../adapters/import/source';
import { reaches, reasons, stepsFor } from '../../../auth/authorize';
import type { PolicyTarget } from '../../../auth/policies/policies';
import type { EnvironmentRow, SecretRow } from '../../../db/schema';
import { type Refusal, refuse } from '../../../errors';
import { mayReveal } from '../../../gate/approvals/hold';
import { compareAll, violationOf } from '../../../gate/approvals/policies';
import { namesListed } from '../../../gate/audit/entry';
import { type Call, isRefusal, type Operation } from '../../../gate/request/call';
import { type More, wants } from '../../../gate/request/outcome';
import type { Plan, Proposal } from '../../../gate/request/plan';
import { environmentOf } from '../../../gate/request/target';
import { advance, begin, changed, joined, type Kept, keptOfAll, locksOf } from '../../secrets/gate/plans';
import { limits } from '../../secrets/gate/state';
import { readable } from '../../secrets/rules';
import { bounded } from '../answer';
import type { ImportInput, ImportItem, ImportResult, Wanted } from '../payloads';

const IMPORT = ['integrations:import'] as const;
const WRITE = ['secrets:write'] as const;

/** The most matching steps for one import. */
const MOST_STEPS = 20_000_000;

type ImportCall = Call<ImportInput>;

const environmentFor = ({ core, input }: ImportCall) => environmentOf(core, input.environment);

/**
 * The caller's permissions for imports into an environment: both scopes must come from the same permission
 * set.
 */
const permissionsIn = ({ caller }: ImportCall, environment: string) =>
  // safety: import-scopes-of-one-permission-set
  reasons(reasons(caller.permissions, IMPORT, { environment }), WRITE, { environment });

/** 403 without the second scope. */
function mayWrite({ caller }: ImportCall): Refusal | null {
  // safety: import-needs-write
  return reasons(caller.permissions, WRITE, null).length
    ? null
    : refuse('INSUFFICIENT_SCOPE', {
        message: 'This credential does not hold the scope secrets:write, which this request needs.',
      });
}

/** An environment outside the caller's reach looks non-existent. */
function mayEnter(call: ImportCall): Refusal | null {
  const environment = environmentFor(call);
  if (environment && permissionsIn(call, environment.id).length) return null;
  if (call.caller.kind === 'agent')
    return refuse('SECRET_ACCESS_DENIED', {
      message: 'This agent may not write secrets in this environment.',
    });
  return refuse('NOT_FOUND', { message: 'The environment does not exist.' });
}

/** An item with the secret of its name; null if the caller may not write it. */
interface Found {
  item: ImportItem;
  row: SecretRow | null;
  isAllowed: boolean;
}

function judged(call: ImportCall, environment: EnvironmentRow): Found[] | Refusal {
  const { core, caller, input } = call;
  const permissions = permissionsIn(call, environment.id);
  const steps = stepsFor(caller, WRITE, MOST_STEPS);
  const found = [];
  for (const item of input.items) {
    // safety: import-steps-bounded
    if (!steps.take(environment.id, item.name))
      return refuse('PAYLOAD_TOO_LARGE', {
        message:
          'Comparing these names with the name patterns of the credential takes too long. Import fewer items at a time.',
      });
    // safety: import-within-names
    const isAllowed =
      reasons(permissions, WRITE, { environment: environment.id, name: item.name }).length > 0;
    found.push({
      item,
      isAllowed,
      row: isAllowed ? core.rows.find('secret', environment.id, item.name) : null,
    });
  }
  return found;
}

/** The result of one item. */
type Writing = { to: 'created' | 'updated'; plan: Plan; item: ImportItem; row: SecretRow | null };
type Step =
  | Writing
  | { to: 'skipped'; item: ImportItem }
  | { to: 'failed'; item: ImportItem; failure: Failure; event?: NonNullable<Plan['events']>[number] };

const failed = (item: ImportItem, code: string, why?: string): Step => ({
  to: 'failed',
  item,
  failure: failure(item.original, code, why),
});

const encodingOf = (is_base64: boolean): Record<string, string> => (is_base64 ? { encoding: 'base64' } : {});

/** The type of the secret that an item creates. */
const typeOf = ({ type = 'generic' }: ImportItem) => type;

/** An unused name gets a new secret. */
function creation(
  call: ImportCall,
  environment: EnvironmentRow,
  item: ImportItem,
  now: number,
): Step | Refusal {
  const { id, name, value, is_base64 } = item;
  const fields = {
    id,
    name,
    type: typeOf(item),
    description: null,
    tags: encodingOf(is_base64),
    rotate_every_seconds: null,
  };
  const plan = begin(call, environment, fields, value, null, now);
  if (isRefusal(plan)) return plan;
  const violation = violationOf(call, plan.writes?.[0]?.row as SecretRow);
  // safety: import-naming-policies
  if (violation)
    return { ...failed(item, 'POLICY_VIOLATED', violation.message), event: violation.event } as Step;
  return { to: 'created', plan, item, row: null };
}

/** The tags of a secret after its value becomes, or stops being, base64-encoded bytes. */
function tagsWith({ tags }: SecretRow, is_base64: boolean): SecretRow['tags'] {
  const { encoding, ...others } = tags;
  if (is_base64) return { ...tags, encoding: 'base64' };
  return encoding === 'base64' ? others : tags;
}

const mayRead = (call: ImportCall, row: SecretRow): boolean =>
  reaches(call.caller, ['secrets:read'], row.environment_id, row.name) && !mayReveal(call, row).isHeld;

/** Whether a secret keeps its value: the import has the same one, and the caller may know that. */
function isKept(call: ImportCall, row: SecretRow, { value }: ImportItem): boolean {
  const isSame = value.fingerprint === row.fingerprint && (value.binary ?? null) === (row.binary ?? null);
  // safety: import-equal-told-to-readers
  return isSame && mayRead(call, row);
}

/** An existing secret gets a new version, unless it already has the value and the caller may read it. */
function overwriting(
  call: ImportCall,
  row: SecretRow,
  item: ImportItem,
  kept: Map<string, Kept>,
  now: number,
): Step | Refusal {
  const refusal = readable(row, now);
  if (refusal) {
    const isExpired = refusal.code === 'SECRET_EXPIRED';
    return failed(
      item,
      isExpired ? 'EXPIRED' : 'DISABLED',
      `the secret with this name is ${isExpired ? 'expired' : 'revoked'}`,
    );
  }
  const tags = tagsWith(row, item.is_base64);
  const isTagged = JSON.stringify(tags) === JSON.stringify(row.tags);
  const same = isKept(call, row, item);
  if (same && isTagged) return { to: 'skipped', item };
  const plan = same
    ? changed(call, row, { tags }, now)
    : advance(call, row, item.value, { tags }, kept.get(row.id) ?? null, now);
  return isRefusal(plan) ? plan : { to: 'updated', plan, item, row };
}

const named = (steps: readonly Step[], to: Step['to']): string[] =>
  steps.filter((step) => step.to === to).map(({ item }) => item.name);

/** What the audit entry says about an import. */
function aboutOf(
  { input }: ImportCall,
  environment: EnvironmentRow,
  result: ImportResult,
  plans: readonly Plan[],
): Plan['audit'] {
  const versions = input.dry_run ? [] : plans.flatMap((plan) => plan.versions ?? []);
  return {
    environment: environment.slug,
    imported: {
      source: input.source,
      created: result.created.length,
      updated: result.updated.length,
      skipped: result.skipped.length,
      failed: result.failed.length,
      ...namesListed([...result.created, ...result.updated]),
      dry_run: input.dry_run,
      versions: Object.fromEntries(versions.map(({ secret_id, version }) => [secret_id, version])),
    },
  };
}

/** One plan for all items; the organisation's limits apply to all of them together. */
function planOf(call: ImportCall, environment: EnvironmentRow, steps: readonly Step[]): Plan | Refusal {
  const { core, input } = call;
  const writing = steps.filter((step): step is Writing => step.to === 'created' || step.to === 'updated');
  const plans = writing.map(({ plan }) => plan);
  const { added, parts } = joined(core, plans);
  // safety: import-within-limits
  const limit = limits(core, added, writing.filter(({ to }) => to === 'created').length);
  if (limit) return limit;
  const broken = steps.filter((step) => step.to === 'failed');
  const result: ImportResult = {
    created: named(steps, 'created'),
    updated: named(steps, 'updated'),
    skipped: named(steps, 'skipped'),
    failed: bounded([...input.failed, ...broken.map(({ failure }) => failure)]),
  };
  const made: Plan = {
    status: 200,
    data: result,
    audit: aboutOf(call, environment, result, plans),
    describes: `import ${writing.length} secrets into ${environment.slug}, of which ${result.updated.length} exist`,
  };
  // safety: dry-run-writes-nothing
  if (input.dry_run) return made;
  return {
    ...made,
    ...parts,
    environments: parts.writes.length ? [environment.id] : [],
    events: broken.flatMap(({ event }) => event ?? []),
  };
}

/**
 * Values are encrypted for a secret's id. Asks the Worker to encrypt those again whose names belong to other
 * secrets: see `encryptFor`. Nothing is planned before it has.
 */
function encryptAgain(call: ImportCall, found: readonly Found[], now: number): Refusal | More<Wanted> | null {
  const { ask, input } = call;
  if (input.dry_run || input.on_conflict !== 'overwrite') return null;
  const ids = found.flatMap(({ item, row }, at): Wanted['ids'] =>
    row && row.id !== item.id && readable(row, now) === null && !isKept(call, row, item)
      ? [[at, row.id]]
      : [],
  );
  if (ids.length === 0) return null;
  return ask.is_last ? refuse('UNAVAILABLE', { retry_after: 1 }) : wants('value', { ids });
}

function plan(call: ImportCall, now: number, kept: Map<string, Kept>): Proposal {
  const { input } = call;
  const environment = environmentFor(call);
  if (!environment) return refuse('NOT_FOUND', { message: 'The environment does not exist.' });
  // safety: import-unreadable-refused
  if (input.refusal) return input.refusal;
  const found = judged(call, environment);
  if (isRefusal(found)) return found;
  const conflicts = input.on_conflict === 'fail' ? found.filter(({ row }) => row) : [];
  // safety: import-conflict-writes-nothing
  if (conflicts.length)
    return refuse('IMPORT_CONFLICT', {
      details: conflicts.map(({ item }) => ({ path: item.name, message: 'exists' })),
    });
  const environment_id = environment.id;
  const compared = found.flatMap(({ item, row, isAllowed }): PolicyTarget | [] => {
    if (isAllowed && !row) return { environment_id, type: typeOf(item), name: item.name };
    return row && input.on_conflict === 'overwrite' ? row : [];
  });
  const more = encryptAgain(call, found, now);
  if (more) return more;
  compareAll(call.core, compared);
  const steps: Step[] = [];
  for (const { item, row, isAllowed } of found) {
    const step = !isAllowed
      ? failed(item, 'NOT_ALLOWED')
      : !row
        ? creation(call, environment, item, now)
        : input.on_conflict === 'skip'
          ? ({ to: 'skipped', item } as const)
          : overwriting(call, row, item, kept, now);
    if (isRefusal(step)) return step;
    steps.push(step);
  }
  return planOf(call, environment, steps);
}

/** The secrets that the import may change. */
const existing = (call: ImportCall): SecretRow[] => {
  const environment = environmentFor(call)?.id ?? '';
  return call.input.on_conflict === 'overwrite'
    ? call.input.items.flatMap(({ name }) => call.core.rows.find('secret', environment, name) ?? [])
    : [];
};

export const importOperations = {
  'integration.import': {
    subject: (call) => ({ environment: environmentFor(call)?.slug ?? null }),
    reach: mayWrite,
    authorize: mayEnter,
    change: {
      locks: (call) =>
        locksOf(
          environmentFor(call),
          call.input.items.map(({ name }) => name),
          existing(call),
        ),
      locked: async (call) => keptOfAll(call, existing(call)),
      plan: (call, now, { locked }) => plan(call, now, locked as Map<string, Kept>),
    },
  } satisfies Operation<ImportInput>,
};
