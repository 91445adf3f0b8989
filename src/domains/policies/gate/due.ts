// Rotation: every hour the gate looks for secrets that are due by a policy or their own
// `rotate_every_seconds`. It raises an event for each, or asks the Worker to replace the value, because only
// the Worker can encrypt one. Invariants: a run has pages, each in one turn together with the start of the
// next, so an interrupted run neither skips nor repeats a secret; a value is replaced only if the policy and
// the secret allow it and this service generated it.

import { dueSince, firstDue, type RotationRule } from '../../../auth/policies/rotation';
import { canGenerate } from '../../../crypto/generate';
import { newId } from '../../../db/ids';
import { DAY } from '../../../db/rows';
import type { PolicyRow, RotationConfig, SecretRow } from '../../../db/schema';
import { policiesOf } from '../../../gate/approvals/policies';
import { systemEntry } from '../../../gate/audit/entry';
import type { Core, Follow } from '../../../gate/core';
import { secretData } from '../../../gate/events/raised';
import { agentOf } from '../../../gate/identity/accountable';
import { WINDOW } from '../../../gate/limits/rate-limit';
import type { Doer } from '../../../gate/request/plan';
import { slugOf } from '../../../gate/request/target';
import { beginTurn, TurnSpent } from '../../../gate/request/yielding';
import { rotations } from './due-rotations';

const HOUR = 3_600_000;
/** The secrets examined per turn. */
const PAGE = 500;
/** Audit log entries in the gate above which the run waits for them to move to D1: it never fills the log. */
const CROWDED = 20_000;
/** How long a secret may wait for its new value before an event reports it. */
const PATIENCE = 6 * HOUR;
/** Where the next page begins. */
const PLACE = 'rotation:after';

/**
 * When the current value was created. A row of a release before 0.5.0 records this only if it has not been
 * amended since.
 */
export const madeAt = ({ rotated_at, amended, updated_at, created_at }: SecretRow): number =>
  rotated_at ?? (amended === 0 ? updated_at : created_at);

const isActive = ({ deleted_at, revoked_at, expires_at }: SecretRow, now: number): boolean =>
  deleted_at === null && revoked_at === null && (expires_at === null || expires_at > now);

const ruleOf = ({ cron, max_age_days = 0 }: RotationConfig): RotationRule =>
  cron ? { cron } : { every: max_age_days * DAY };

interface Due {
  since: number | null;
  isAutomatic: boolean;
}

/**
 * Since when a secret is due in the current period, or null; and whether a policy wants the service to rotate
 * it.
 */
export function dueOf(
  core: Pick<Core, 'rows'>,
  row: SecretRow,
  now: number,
  isCounted = (_policy: PolicyRow) => true,
): Due {
  // safety: only-active-rotated
  if (!isActive(row, now)) return { since: null, isAutomatic: false };
  const policies = policiesOf(core, 'rotation').filter(
    (policy) => isCounted(policy.row) && policy.applies(row),
  );
  const rules = policies.map(({ config }) => ruleOf(config));
  if (row.rotate_every_seconds !== null) rules.push({ every: row.rotate_every_seconds * 1000 });
  return {
    since: rules.length ? dueSince(rules, madeAt(row), now) : null,
    // safety: auto-rotation-opted-in
    isAutomatic: row.auto_rotate === 1 && policies.some(({ config }) => config.auto_rotate),
  };
}

/** The rule by which a secret is due first. `policy` is null for the secret's own `rotate_every_seconds`. */
export interface RotationPlan {
  policy: { id: string; name: string } | null;
  cron: string | null;
  every_seconds: number | null;
  due_at: number;
}

/** What makes a secret due first, or null if no rule applies. Secrets that cannot be read are never due. */
export function rotationOf(core: Pick<Core, 'rows'>, row: SecretRow, now: number): RotationPlan | null {
  if (!isActive(row, now)) return null;
  const since = madeAt(row);
  const plan = (policy: RotationPlan['policy'], { cron, every }: RotationRule): RotationPlan => ({
    policy,
    cron: cron ?? null,
    every_seconds: cron || !every ? null : every / 1000,
    due_at: firstDue({ cron, every }, since),
  });
  const plans = policiesOf(core, 'rotation')
    .filter(({ applies }) => applies(row))
    .map(({ row: { id, name }, config }) => plan({ id, name }, ruleOf(config)));
  if (row.rotate_every_seconds !== null)
    plans.unshift(plan(null, { every: row.rotate_every_seconds * 1000 }));
  return plans.length ? plans.reduce((first, one) => (one.due_at < first.due_at ? one : first)) : null;
}

/** Why the service cannot replace the value of a secret, or null. */
function irreplaceable({ type, generated }: SecretRow): string | null {
  if (!canGenerate(type)) return `Values of type ${type} cannot be generated.`;
  // safety: only-own-values-replaced
  return generated === 1 ? null : 'This service did not generate the current value.';
}

/** Whether the service should replace the value of a secret now. */
export function isToRotate(core: Core, row: SecretRow, now: number): boolean {
  const { since, isAutomatic } = dueOf(core, row, now);
  return since !== null && isAutomatic && irreplaceable(row) === null;
}

/**
 * The agents for whom the service replaces a value: those that wrote the policies without which it would not
 * do so now.
 */
export function agentsRotating(core: Core, row: SecretRow, now: number): Doer[] {
  const { since, isAutomatic } = dueOf(core, row, now, ({ of_agent }) => !of_agent);
  // safety: policy-of-agent-held
  if (since !== null && isAutomatic) return [];
  return policiesOf(core, 'rotation').flatMap((policy) =>
    policy.row.of_agent && policy.applies(row) ? [agentOf(policy.row.of_agent)] : [],
  );
}

/** Raises that a secret is due; `failed` says why it was not rotated automatically. */
export function raiseDue(
  core: Core,
  row: SecretRow,
  since: number,
  failed: string | null,
  now: number,
): void {
  const data = { ...secretData(core, row), due_at: new Date(since).toISOString() };
  core.outbox.put(
    { type: 'SECRET_ROTATION_DUE', data: { ...data, ...(failed !== null && { failed }) } },
    now,
  );
}

/** Whether any rotation rule exists. */
export const hasRules = (core: Core): boolean =>
  policiesOf(core, 'rotation').length > 0 || core.rows.rotating('', 1).length > 0;

/** A rotation policy that changes is looked at anew. */
export const followPolicy: Follow<'policy'> = (core, { after }, now) =>
  void (after?.kind === 'rotation' && core.schedule.at('rotation', now));

/** Schedules the run where a rule is not looked at yet. From then on it reschedules itself. */
export function rescheduled(core: Core, now: number): boolean {
  if (hasRules(core)) core.schedule.at('rotation', now + HOUR);
  return false;
}

/** One page of the run; the next follows immediately. */
export async function findDue(core: Core, now: number): Promise<number | null> {
  if (!hasRules(core)) {
    rotations(core).clear();
    core.meta.forget(PLACE);
    return null;
  }
  if (core.auditLog.size() > CROWDED) return now + WINDOW;
  const after = core.meta.get(PLACE) ?? '';
  // Without a policy, only secrets with their own rule are examined.
  const page = policiesOf(core, 'rotation').length
    ? core.rows.after('secret', after, PAGE)
    : core.rows.rotating(after, PAGE);
  let last = page.length < PAGE ? null : (page.at(-1)?.id ?? null);
  core.storage.transactionSync(() => {
    const seen = examine(core, page, now);
    if (seen < page.length) last = page[seen - 1]?.id ?? after;
    // safety: rotation-place-kept
    core.meta.set(PLACE, last ?? '');
    if (last === null) rotations(core).sweep();
  });
  if (last !== null) return now;
  if (rotations(core).waiting(1).length) await core.enqueue('rotate');
  return now + HOUR;
}

/** Examines secrets for one turn, and returns how many. */
function examine(core: Core, page: readonly SecretRow[], now: number): number {
  const request = newId('req', now);
  beginTurn(core);
  for (const [index, row] of page.entries()) {
    try {
      consider(core, row, request, now);
    } catch (error) {
      if (error instanceof TurnSpent) return index;
      throw error;
    }
  }
  return page.length;
}

function consider(core: Core, row: SecretRow, request: string, now: number): void {
  const { since, isAutomatic } = dueOf(core, row, now);
  if (since === null) return;
  const known = rotations(core).of(row.id);
  // safety: due-once-a-period
  const isNew = known === null || known.period < since;
  const problem = isAutomatic ? irreplaceable(row) : null;
  if (isNew && isAutomatic && problem === null) {
    rotations(core).set(row.id, {
      period: since,
      waiting: true,
      at: known?.waiting ? known.at : now,
      announced: false,
    });
    return;
  }
  const isLate = known?.waiting === true && !known.announced && now - known.at >= PATIENCE;
  if (!isNew && !isLate) return;
  const failed =
    problem ?? (isLate ? 'No new value has been generated yet; it is retried every hour.' : null);
  rotations(core).set(row.id, { period: since, waiting: isLate, at: known?.at ?? now, announced: true });
  raiseDue(core, row, since, failed, now);
  core.auditLog.append(
    systemEntry({
      action: 'secret.rotation_due',
      resource: row.id,
      resource_name: row.name,
      environment: slugOf(core, row.environment_id),
      version: row.version,
      reason: failed,
      request_id: request,
    }),
    200,
    now,
  );
}
