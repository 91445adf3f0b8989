// Checks on approvals: who decided, whether there were enough approvals, and whether approvers were
// independent of the requester. Pure. It evaluates the decisions itself and does not rely on the gate's
// count.
import type { ApprovalConfig, PolicyRow } from '../../../db/schema';
import { iso, isoOrNull } from '../../../http/wire';
import { counted, findingOf, newTally, statusBy } from '../finding';
import type { ApprovalFacts } from '../payloads';
import type { Evidence, Finding } from '../wire';

export interface ApprovalChecks {
  add(rows: ApprovalFacts[]): void;
  finding(): Finding;
}

/** The members who approved, each once. */
const approvers = ({ decisions }: ApprovalFacts): string[] => [
  ...new Set(decisions.filter(({ decision }) => decision === 'approve').map(({ member }) => member)),
];

/** What is wrong with the approvals of a used request; null if nothing is. */
function flawOf(row: ApprovalFacts): string | null {
  const by = approvers(row);
  const isOwn = (member: string) => member === row.requester.id || row.accountable?.includes(member) === true;
  // A policy on agents counts the decision of their accountable members alone, and no other policy counts it.
  const checked = row.policies.some(({ accountable }) => accountable);
  const others = row.policies.filter(({ accountable }) => !accountable);
  const required = Math.max(0, ...others.map((policy) => policy.required));
  const own = by.filter(isOwn);
  const second = by.filter((member) => !isOwn(member));
  const forAgent = by.filter((member) => row.requester.for_agent?.includes(member));
  if (second.length < required) return `used with ${second.length} of ${required} approvals`;
  if (checked)
    return forAgent.length ? null : 'used without the approval of a member accountable for the agent';
  return own[0] === undefined ? null : `approved by ${own[0]}, who requested it or is accountable for it`;
}

/** An approval that may be repeated stays approved after its first use. */
const isUsed = ({ status, used_by }: ApprovalFacts): boolean =>
  status === 'used' || (used_by ?? null) !== null;

const statusOf = (row: ApprovalFacts, now: number): string =>
  isUsed(row) ? 'used' : unusedStatusOf(row, now);

const unusedStatusOf = ({ status, expires_at }: ApprovalFacts, now: number): string =>
  (status === 'pending' || status === 'approved') && expires_at <= now
    ? status === 'pending'
      ? 'expired undecided'
      : 'expired unused'
    : status;

/** @param nameOf the name of a member, where it is known */
export function newApprovalChecks(
  policies: readonly PolicyRow[],
  nameOf: (member: string) => string | null,
  now: number,
): ApprovalChecks {
  // A policy whose approvers are the accountable members is one person's check on a program, not a second
  // person.
  const enabled = policies.filter(
    ({ kind, enabled, config }) =>
      kind === 'approval' && enabled === 1 && !('accountable' in (config as ApprovalConfig).approvers),
  );
  const held = [...new Set(enabled.flatMap(({ config }) => (config as ApprovalConfig).operations))].sort();
  const tally = newTally();
  const seen = { total: 0, flawed: 0, undecided: 0 };

  const evidenceOf = (row: ApprovalFacts, status: string, flaw: string | null): Evidence => ({
    id: row.id,
    name: row.resource_name,
    environment: row.environment,
    time: iso(row.created_at),
    detail: `${row.operation}: ${status}${flaw === null ? '' : `; ${flaw}`}.`,
    facts: {
      operation: row.operation,
      status,
      resource: row.resource,
      reason: row.reason,
      requester: row.requester.id,
      requester_kind: row.requester.kind,
      requester_name: row.requester.name,
      policies: row.policies.map(({ name, required }) => `${name} (${required})`).join(', '),
      expires_at: iso(row.expires_at),
      ended_at: isoOrNull(row.ended_at),
    },
    people: row.decisions.map(({ member, decision, at }) => ({
      id: member,
      name: nameOf(member),
      decision,
      time: iso(at),
    })),
  });

  return {
    add(rows) {
      for (const row of rows) {
        const status = statusOf(row, now);
        const flaw = isUsed(row) ? flawOf(row) : null;
        seen.total++;
        if (flaw !== null) seen.flawed++;
        if (status === 'expired undecided') seen.undecided++;
        tally.add(() => evidenceOf(row, status, flaw));
      }
    },
    finding: () =>
      findingOf('approvals', {
        status: statusBy({ fail: seen.flawed > 0, warn: enabled.length === 0 || seen.undecided > 0 }),
        tested: `Whether sensitive operations need approval (${counted(enabled.length, 'enabled policy', 'enabled policies')}${held.length ? ` hold ${held.join(', ')}` : ''}), and whether each of ${counted(seen.total, 'request')} for approval in the period that was used had as many distinct approvers as its policies require, none of whom was the requester or accountable for it. Warn: no approval policy is enabled, or a request expired undecided (${seen.undecided} did). Fail: one was used without them.`,
        examined: seen.total,
        tally,
      }),
  };
}
