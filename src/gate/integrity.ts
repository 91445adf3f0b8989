// Integrity violations: D1 does not hold what this organisation wrote there. Reported to the log, and to the org in an audit entry of its own, whose
// actor is the system, whose reason is the event, and which bears the id of the request that met it.
// Invariant: one request leaves one such entry at most, and it comes before or after its own, never in its place.
import type { IntegrityViolation } from '../errors';
import type { Draft } from './audit-entry';
import type { Core } from './core';

/** Which request met it: as the audit entries spell it. */
type Met = Pick<Draft, 'request_id' | 'ip' | 'user_agent'>;

/** Reports an integrity violation. `detail` goes to the log alone, `about` to the entry. */
export function reportViolation(
  core: Core,
  org: string,
  { event, resource }: IntegrityViolation,
  met: Met,
  detail: object = {},
  about: Pick<Draft, 'missing'> = {},
): void {
  console.error(JSON.stringify({ level: 'error', event, org, resource, request_id: met.request_id, ...detail }));
  const action = 'integrity.alarm';
  if (core.auditLog.newest({ action }, Number.MAX_SAFE_INTEGER, 1).entries[0]?.request_id === met.request_id) return;
  core.storage.transactionSync(() =>
    core.auditLog.append(
      {
        actor: { kind: 'system', id: null, parent_id: null, name: null },
        action,
        resource,
        environment: null,
        version: null,
        reason: event,
        ...about,
        request_id: met.request_id,
        ip: met.ip,
        user_agent: met.user_agent,
      },
      500,
      core.now(),
    ),
  );
}
