// Operations on approvals in the gate. Holding a request and using an approval are in gate/hold.ts. Invariants: a member decides once, and
// only while eligible; a request that has ended cannot be decided; only the requester can cancel.
import { reachesAll } from '../../../auth/authorize';
import { idStart } from '../../../db/ids';
import type { ApprovalRow, MemberRow } from '../../../db/schema';
import { type Refusal, refuse } from '../../../errors';
import { APPROVAL_LASTS, approvalShown } from '../../../gate/approval-row';
import { approvalsFor, ineligible } from '../../../gate/approvers';
import { type ListInput, listed } from '../../../gate/listing';
import { fail, type Outcome, ok } from '../../../gate/outcome';
import type { Plan } from '../../../gate/plan';
import { policiesOf } from '../../../gate/policies';
import { revision } from '../../../gate/puts';
import type { Call, Operation } from '../../../gate/types';
import { iso, isoOrNull } from '../../../http/wire';
import { type Status, statusOf } from '../rules';

const find = ({ core, ask }: Call<unknown>): ApprovalRow | null => core.rows.get('approval', ask.named.approval as string);

/** Whether the caller made the request or is accountable for the credential that made it. */
const isOwn = ({ caller }: Call<unknown>, row: ApprovalRow): boolean =>
  row.root === caller.root || (caller.kind === 'member' && row.accountable.includes(caller.id));

/** Why the calling member may not decide the request under any of its policies; null if they may under at least one. */
function barred({ core, caller }: Call<unknown>, row: ApprovalRow, now: number): string | null {
  const member = caller.kind === 'member' ? core.rows.get('member', caller.id) : null;
  if (!member) return 'Only members can decide, in a browser session.';
  const reasons = heldBy(core, row).map((policy) => ineligible(core, row, policy, member, now));
  if (reasons.includes(null)) return null;
  return reasons[0] ?? 'The policies that held this request are no longer in force.';
}

/** The policies of a request that are still enabled. */
const heldBy = (core: Call['core'], row: ApprovalRow) =>
  policiesOf(core, 'approval').flatMap((policy) => (row.policies.some(({ id }) => id === policy.row.id) ? [policy.row] : []));

function shown(call: Call<unknown>, row: ApprovalRow): object {
  const { core } = call;
  const now = core.now();
  const nameOf = (id: string) => (core.rows.get('member', id) as MemberRow | null)?.name ?? null;
  const { required, approvals } = approvalShown(row);
  const { id, operation, action, summary, requester, method, path, digest, ip, place, user_agent, reason } = row;
  const status = statusOf(row, now);
  return {
    ...{ id, status, operation, action, summary, required, approvals },
    decisions: row.decisions.map(({ member, decision, at }) => ({ member_id: member, name: nameOf(member), decision, time: iso(at) })),
    policies: row.policies.map(({ id, name, required }) => ({ id, name, required })),
    requester: { ...requester, accountable: row.accountable.map((id) => ({ member_id: id, name: nameOf(id) })) },
    target: { id: row.resource, name: row.resource_name, environment: row.environment },
    request: { id: row.request_id, method, path, digest, ip, place, user_agent, reason },
    may_decide: status === 'pending' && barred(call, row, now) === null,
    created_at: iso(row.created_at),
    expires_at: iso(row.expires_at),
    ended_at: isoOrNull(row.ended_at),
  };
}

const list: Operation<ListInput & { status: Status | null; isForMe: boolean }> = {
  read(call): Outcome {
    const { core, caller, need, input } = call;
    // safety: approvals-of-others-hidden
    const isShown = (row: ApprovalRow) => reachesAll(caller, need.scopes) || isOwn(call, row);
    return listed(core, 'approval', idStart('approval'), input, (row) => {
      const now = core.now();
      if (!isShown(row) || (input.status !== null && statusOf(row, now) !== input.status)) return null;
      if (input.isForMe && (statusOf(row, now) !== 'pending' || barred(call, row, now) !== null)) return null;
      return shown(call, row);
    });
  },
};

/** 404 for an approval that the caller may not see. */
function visible(call: Call<unknown>): ApprovalRow | null {
  const row = find(call);
  return row && (isOwn(call, row) || reachesAll(call.caller, call.need.scopes)) ? row : null;
}

const isExempt = (call: Call<unknown>): boolean => {
  const row = find(call);
  return row !== null && isOwn(call, row);
};

const read: Operation<{ wait: number }> = {
  exempt: isExempt,
  async read(call): Promise<Outcome> {
    const { core, input } = call;
    const before = visible(call);
    if (!before) return fail(refuse('NOT_FOUND'));
    if (input.wait === 0 || statusOf(before, core.now()) !== 'pending') return ok(shown(call, before));
    await core.approvalWaiters.wait(before.id, input.wait * 1000);
    // safety: waiter-judged-again
    const refusal = call.recheck();
    const row = visible(call);
    return refusal || !row ? fail(refusal ?? refuse('NOT_FOUND')) : ok(shown(call, row));
  },
};

/** 409: the request can no longer be decided. */
const ended = (status: Status): Refusal =>
  refuse('CONFLICT', { message: `This request can no longer be decided: its status is ${status}.` });

function decide(decision: 'approve' | 'reject'): Operation<Record<string, never>> {
  return {
    change: {
      locks: (call) => [call.ask.named.approval as string, call.caller.credential, call.caller.id],
      plan(call, now): Plan | Refusal {
        const { caller } = call;
        const row = find(call);
        if (!row) return refuse('NOT_FOUND');
        const status = statusOf(row, now);
        const mine = row.decisions.find(({ member }) => member === caller.id);
        // Repeating the same decision changes nothing.
        if (mine?.decision === decision && (status === 'pending' || status === 'approved' || status === 'rejected'))
          return { status: 200, data: shown(call, row) };
        if (status !== 'pending') return ended(status);
        const why = barred(call, row, now);
        // safety: decider-eligible
        if (why !== null) return refuse('INSUFFICIENT_SCOPE', { message: why });
        return decided(
          call,
          { ...row, decisions: [...row.decisions.filter(({ member }) => member !== caller.id), { member: caller.id, decision, at: now }] },
          row,
          now,
        );
      },
    },
  };
}

/** The plan that adds one decision: a rejection ends the request; the last required approval lets it be repeated for a day. */
function decided(call: Call<unknown>, after: ApprovalRow, before: ApprovalRow, now: number): Plan {
  const { core } = call;
  const { decisions } = after;
  const isRejected = decisions.some(({ decision }) => decision === 'reject');
  const isApproved =
    !isRejected && heldBy(core, after).every((policy) => approvalsFor(core, after, policy, now).length >= requiredBy(after, policy.id));
  const fields = {
    decisions,
    ...(isRejected && { status: 'rejected' as const, ended_at: now }),
    ...(isApproved && { status: 'approved' as const, expires_at: now + APPROVAL_LASTS }),
  };
  const put = revision(call, 'approval', before, fields);
  const row = put.row as ApprovalRow;
  const { id, operation, status } = row;
  return {
    status: 200,
    data: shown(call, row),
    puts: [put],
    events: [
      {
        type: 'APPROVAL_DECIDED',
        data: { approval_id: id, operation, status, member_id: call.caller.id, decision: decisions.at(-1)?.decision },
      },
    ],
  };
}

/** How many approvals a policy required when the request was made. If the policy has changed, the request is void when it is used. */
const requiredBy = ({ policies }: ApprovalRow, id: string): number =>
  policies.find((policy) => policy.id === id)?.required ?? Number.POSITIVE_INFINITY;

const cancel: Operation<Record<string, never>> = {
  exempt: isExempt,
  reach(call) {
    const row = find(call);
    // safety: cancel-by-requester
    return row && !isOwn(call, row) ? refuse('INSUFFICIENT_SCOPE', { message: 'Only the requester can cancel a request.' }) : null;
  },
  change: {
    locks: (call) => [call.ask.named.approval as string],
    plan(call, now): Plan | Refusal {
      const row = find(call);
      if (!row) return refuse('NOT_FOUND');
      const status = statusOf(row, now);
      if (status === 'cancelled') return { status: 200, data: shown(call, row) };
      if (status !== 'pending' && status !== 'approved') return ended(status);
      const put = revision(call, 'approval', row, { status: 'cancelled', ended_at: now });
      return {
        status: 200,
        data: shown(call, put.row as ApprovalRow),
        puts: [put],
        events: [{ type: 'APPROVAL_DECIDED', data: { approval_id: row.id, operation: row.operation, status: 'cancelled' } }],
      };
    },
  },
};

export const approvalOperations = {
  'approval.list': list,
  'approval.read': read,
  'approval.approve': decide('approve'),
  'approval.reject': decide('reject'),
  'approval.cancel': cancel,
};
