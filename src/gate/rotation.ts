// Rotation: every hour the gate looks for secrets that are due by a policy or their own `rotate_every_seconds`. It raises an event for
// each, or asks the Worker to replace the value, because only the Worker can encrypt one. Invariants: a run has pages, each in one turn
// together with the start of the next, so an interrupted run neither skips nor repeats a secret; a value is replaced only if the policy and
// the secret allow it and this service generated it.
import { dueSince, type RotationRule } from '../auth/rotation';
import { canGenerate } from '../crypto/generate';
import { newId } from '../db/ids';
import { DAY } from '../db/rows';
import type { SecretRow } from '../db/schema';
import type { Core } from './core';
import { slugOf } from './named';
import { policiesOf } from './policies';
import { secretData } from './raised';
import { WINDOW } from './rate-limit';

const HOUR = 3_600_000;
/** The secrets examined per turn. */
const PAGE = 500;
/** Audit log entries in the gate above which the run waits for them to move to D1: it never fills the log. */
const CROWDED = 20_000;
/** How long a secret may wait for its new value before an event reports it. */
const PATIENCE = 6 * HOUR;
/** Where the next page begins. */
const PLACE = 'rotation:after';

/** When the current value was created. A row of a release before 0.5.0 records this only if it has not been amended since. */
export const madeAt = ({ rotated_at, amended, updated_at, created_at }: SecretRow): number =>
  rotated_at ?? (amended === 0 ? updated_at : created_at);

/** Since when a secret is due in the current period, or null; and whether a policy wants the service to rotate it. */
export function dueOf(core: Pick<Core, 'rows'>, row: SecretRow, now: number): { since: number | null; isAutomatic: boolean } {
  const isActive = row.deleted_at === null && row.revoked_at === null && (row.expires_at === null || row.expires_at > now);
  // safety: only-active-rotated
  if (!isActive) return { since: null, isAutomatic: false };
  const policies = policiesOf(core, 'rotation').filter(({ applies }) => applies(row));
  const rules: RotationRule[] = policies.map(({ config: { cron, max_age_days = 0 } }) => (cron ? { cron } : { every: max_age_days * DAY }));
  if (row.rotate_every_seconds !== null) rules.push({ every: row.rotate_every_seconds * 1000 });
  return {
    since: rules.length ? dueSince(rules, madeAt(row), now) : null,
    // safety: auto-rotation-opted-in
    isAutomatic: row.auto_rotate === 1 && policies.some(({ config }) => config.auto_rotate),
  };
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

/** Raises that a secret is due; `failed` says why it was not rotated automatically. */
export function raiseDue(core: Core, row: SecretRow, since: number, failed: string | null, now: number): void {
  const data = { ...secretData(core, row), due_at: new Date(since).toISOString() };
  core.outbox.put({ type: 'SECRET_ROTATION_DUE', data: { ...data, ...(failed !== null && { failed }) } }, now);
}

/** Whether any rotation rule exists. */
export const hasRules = (core: Core): boolean => policiesOf(core, 'rotation').length > 0 || core.rows.rotating('', 1).length > 0;

/** One page of the run; the next follows immediately. */
export async function findDue(core: Core, _org: string, now: number): Promise<number | null> {
  if (!hasRules(core)) {
    core.rotations.clear();
    core.meta.forget(PLACE);
    return null;
  }
  if (core.auditLog.size() > CROWDED) return now + WINDOW;
  const after = core.meta.get(PLACE) ?? '';
  // Without a policy, only secrets with their own rule are examined.
  const page = policiesOf(core, 'rotation').length ? core.rows.after('secret', after, PAGE) : core.rows.rotating(after, PAGE);
  const last = page.length < PAGE ? null : (page.at(-1)?.id ?? null);
  core.storage.transactionSync(() => {
    const request = newId('req', now);
    for (const row of page) consider(core, row, request, now);
    // safety: rotation-place-kept
    core.meta.set(PLACE, last ?? '');
    if (last === null) core.rotations.sweep();
  });
  if (last !== null) return now;
  if (core.rotations.waiting(1).length) await core.enqueue('rotate');
  return now + HOUR;
}

function consider(core: Core, row: SecretRow, request: string, now: number): void {
  const { since, isAutomatic } = dueOf(core, row, now);
  if (since === null) return;
  const known = core.rotations.of(row.id);
  // safety: due-once-a-period
  const isNew = known === null || known.period < since;
  const problem = isAutomatic ? irreplaceable(row) : null;
  if (isNew && isAutomatic && problem === null) {
    core.rotations.set(row.id, { period: since, waiting: true, at: known?.waiting ? known.at : now, told: false });
    return;
  }
  const isLate = known?.waiting === true && !known.told && now - known.at >= PATIENCE;
  if (!isNew && !isLate) return;
  const failed = problem ?? (isLate ? 'No new value has been generated yet; it is retried every hour.' : null);
  core.rotations.set(row.id, { period: since, waiting: isLate, at: known?.at ?? now, told: true });
  raiseDue(core, row, since, failed, now);
  core.auditLog.append(
    {
      actor: { kind: 'system', id: 'system', parent_id: null, name: null },
      action: 'secret.rotation_due',
      resource: row.id,
      resource_name: row.name,
      environment: slugOf(core, row.environment_id),
      version: row.version,
      reason: failed,
      request_id: request,
      ip: '',
      user_agent: null,
    },
    200,
    now,
  );
}
