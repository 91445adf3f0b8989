// Integrity violations: D1 does not have what this organisation wrote. Reported to the deployment's log and
// in a separate audit entry, with the system as actor, the event as reason and the id of the request that
// detected it. Invariant: one request causes at most one such entry, in addition to its own, never instead of
// it.
import type { IntegrityViolation } from '../../errors';
import { type Draft, systemEntry } from './entry';
import type { AuditLog } from './log';

/** The request that detected it, as in audit entries. */
type DetectedBy = Pick<Draft, 'request_id' | 'ip' | 'user_agent'>;

/** What it needs of a gate. */
interface Reporting {
  org: string;
  storage: Pick<DurableObjectStorage, 'transactionSync'>;
  auditLog: AuditLog;
  now(): number;
}

/** Reports an integrity violation. `detail` is only for the log, `entry` for the audit entry. */
export function reportViolation(
  core: Reporting,
  { event, resource, status = 500 }: IntegrityViolation,
  by: DetectedBy,
  detail: object = {},
  entry: Pick<Draft, 'missing'> = {},
): void {
  console.error(
    JSON.stringify({ level: 'error', event, org: core.org, resource, request_id: by.request_id, ...detail }),
  );
  const action = 'integrity.alarm';
  if (core.auditLog.newest({ action }, Number.MAX_SAFE_INTEGER, 1).entries[0]?.request_id === by.request_id)
    return;
  core.storage.transactionSync(() =>
    core.auditLog.append(
      systemEntry({
        action,
        resource,
        reason: event,
        ...entry,
        request_id: by.request_id,
        ip: by.ip,
        user_agent: by.user_agent,
      }),
      status,
      core.now(),
    ),
  );
}
