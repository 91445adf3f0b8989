// Operations on approvals in the gate. Holding a request and using an approval are in gate/hold.ts.
// Invariants: a member decides once, and only while eligible; a request that has ended cannot be decided;
// only the requester can cancel.

import { reachesAll } from '../../../auth/authorize';
import { idStart } from '../../../db/ids';
import type { ApprovalRow, MemberRow } from '../../../db/schema';
import { invalid, type Refusal, refuse } from '../../../errors';
import { approvalsFor, ineligible, isEnough, isTiedToApprover } from '../../../gate/approvals/approvers';
import { approvalDetails } from '../../../gate/approvals/details';
import { policiesOf } from '../../../gate/approvals/policies';
import { isAsker, validFor } from '../../../gate/approvals/repeats';
import { APPROVAL_LASTS, approvalShown, mostValid } from '../../../gate/approvals/row';
import { decryptFacts } from '../../../gate/approvals/shown';
import { type Status, statusNow } from '../../../gate/approvals/state';
import { approvalWaiters } from '../../../gate/approvals/waiters';
import { isByPasskey } from '../../../gate/identity/sso';
import type { Call, Operation } from '../../../gate/request/call';
import { type ListInput, listed } from '../../../gate/request/listing';
import { fail, type Outcome, ok } from '../../../gate/request/outcome';
import type { Fact, Plan } from '../../../gate/request/plan';
import { namedId } from '../../../gate/request/target';
import { revision } from '../../../gate/request/writes';
import { quotaRootOf } from '../../../gate/rows/quota-root';
import { iso, isoOrNull } from '../../../http/wire';

const find = ({ core, ask }: Call<unknown>): ApprovalRow | null =>
  core.rows.get('approval', namedId(ask, 'approval'));

/** Whether the caller made the request or is accountable for the credential that made it. */
const isOwn = ({ caller }: Call<unknown>, row: ApprovalRow): boolean =>
  isAsker(row, caller) || (caller.kind === 'member' && row.accountable.includes(caller.id));

/**
 * Why the calling member may not decide the request under any of its policies; null if they may under at
 * least one.
 */
function barred({ core, caller }: Call<unknown>, row: ApprovalRow, now: number): string | null {
  // safety: terminal-decides-nothing
  const member = caller.kind === 'member' && !caller.isTerminal ? core.rows.get('member', caller.id) : null;
  if (!member) return 'Only members can decide, in a browser session.';
  const reasons = heldBy(core, row).map((policy) => ineligible(core, row, policy, member, now));
  if (reasons.includes(null)) return null;
  return reasons[0] ?? 'The policies that held this request are no longer in force.';
}

/** The policies of a request that are still enabled. */
const heldBy = (core: Call['core'], row: ApprovalRow) =>
  policiesOf(core, 'approval').flatMap((policy) =>
    row.policies.some(({ id }) => id === policy.row.id) ? [policy.row] : [],
  );

/** What the request would do: for its root, and for members who may decide it. */
function factsFor({ core, ask, caller }: Call<unknown>, row: ApprovalRow, mayDecide: boolean): Fact[] | null {
  // safety: shown-to-root-and-deciders
  const isFor = isAsker(row, caller) || mayDecide;
  const ciphertext = isFor ? approvalDetails(core).of(row.id) : null;
  return ciphertext !== null && ask.keys
    ? decryptFacts(ask.keys.answer, row.org_id, row.id, ciphertext)
    : null;
}

function shown(call: Call<unknown>, row: ApprovalRow): object {
  const { core } = call;
  const now = core.now();
  const nameOf = (id: string) => (core.rows.get('member', id) as MemberRow | null)?.name ?? null;
  const { required, approvals } = approvalShown(row);
  const { id, operation, action, summary, method, path, digest, place, user_agent, reason } = row;
  const { credential: _, device_id: __, passkey_id: ___, for_agent: ____, ...requester } = row.requester;
  const ip = requester.kind === 'workload' && row.ip === 'unknown' ? null : row.ip;
  const status = statusNow(core, row);
  const isOpen = status === 'pending' || status === 'approved';
  const mayDecide = isOpen && barred(call, row, now) === null;
  return {
    id,
    status,
    operation,
    action,
    summary,
    required,
    approvals,
    decisions: row.decisions.map(({ member, decision, at }) => ({
      member_id: member,
      name: nameOf(member),
      decision,
      time: iso(at),
    })),
    policies: row.policies.map(({ id, name, required, accountable }) => ({
      id,
      name,
      required,
      ...(accountable && { accountable }),
    })),
    requester: {
      ...requester,
      accountable: row.accountable.map((id) => ({ member_id: id, name: nameOf(id) })),
    },
    target: { id: row.resource, name: row.resource_name, environment: row.environment },
    request: { id: row.request_id, method, path, digest, ip, place, user_agent, reason },
    shown: isOpen ? factsFor(call, row, mayDecide) : null,
    max_valid_seconds: mostValid(row),
    valid_for_seconds: validFor(row),
    may_decide: status === 'pending' && mayDecide,
    created_at: iso(row.created_at),
    expires_at: iso(row.expires_at),
    ended_at: isoOrNull(row.ended_at),
  };
}

/**
 * The answer to a change. It is stored for repeats, longer than an approval may last, so it leaves out what
 * the request would do.
 */
const answered = (call: Call<unknown>, row: ApprovalRow): object => ({ ...shown(call, row), shown: null });

const list: Operation<ListInput & { status: Status | null; isForMe: boolean }> = {
  read(call): Outcome {
    const { core, caller, need, input } = call;
    const isAll = reachesAll(caller, need.scopes);
    // safety: approvals-of-others-hidden
    const isShown = (row: ApprovalRow) => isAll || isOwn(call, row) || barred(call, row, core.now()) === null;
    return listed(core, 'approval', idStart('approval'), input, (row) => {
      if (!isShown(row) || (input.status !== null && statusNow(core, row) !== input.status)) return null;
      if (input.isForMe && (statusNow(core, row) !== 'pending' || barred(call, row, core.now()) !== null))
        return null;
      return shown(call, row);
    });
  },
};

/**
 * 404 for an approval that the caller may not see. Who is limited to environments sees those that they may
 * decide.
 */
function visible(call: Call<unknown>): ApprovalRow | null {
  const row = find(call);
  const isShown =
    row &&
    (isOwn(call, row) ||
      reachesAll(call.caller, call.need.scopes) ||
      barred(call, row, call.core.now()) === null);
  return isShown ? row : null;
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
    const isWaiting = () => {
      const row = core.rows.get('approval', before.id);
      return row !== null && statusNow(core, row) === 'pending';
    };
    if (input.wait === 0 || !isWaiting()) return ok(shown(call, before));
    await approvalWaiters(core).wait(quotaRootOf(core, call.caller), isWaiting, input.wait * 1000);
    // safety: waiter-judged-again
    const refusal = call.recheck();
    const row = visible(call);
    return refusal || !row ? fail(refusal ?? refuse('NOT_FOUND')) : ok(shown(call, row));
  },
};

/** 409: the request can no longer be decided. */
const ended = (status: Status): Refusal =>
  refuse('CONFLICT', { message: `This request can no longer be decided: its status is ${status}.` });

/** Members accountable for an agent decide its requests under such a policy without approvals:decide. */
function decidesAsAccountable(call: Call<unknown>): boolean {
  const row = find(call);
  return (
    row?.policies.some(({ accountable }) => accountable) === true &&
    row.requester.for_agent?.includes(call.caller.id) === true
  );
}

function decide(decision: 'approve' | 'reject'): Operation<{ valid_for?: number }> {
  return {
    exempt: decidesAsAccountable,
    change: {
      plan(call, now): Plan | Refusal {
        const { core, caller } = call;
        const valid_for = call.input.valid_for || undefined;
        const row = find(call);
        if (!row) return refuse('NOT_FOUND');
        const status = statusNow(core, row);
        const mine = row.decisions.find(({ member }) => member === caller.id);
        // Repeating the same decision changes nothing, unless it does not count any more.
        if (
          mine?.decision === decision &&
          mine.valid_for === valid_for &&
          ((status === 'pending' && counts(call, row, now)) || status === 'approved' || status === 'rejected')
        )
          return { status: 200, data: answered(call, row) };
        if (status !== 'pending') return ended(status);
        const why = barred(call, row, now);
        // safety: decider-eligible
        if (why !== null) return refuse('INSUFFICIENT_SCOPE', { message: why });
        // safety: provider-approves-nothing
        if (decision === 'approve' && isOnWordOfProvider(call))
          return refuse('INSUFFICIENT_SCOPE', { message: NEEDS_PASSKEY });
        if (decision === 'approve' && addsNothing(call, row, now))
          return refuse('INSUFFICIENT_SCOPE', { message: COUNTS_AS_ONE });
        // safety: repeats-within-policies
        if (valid_for !== undefined && valid_for > mostValid(row)) return tooLong(row);
        const passkey = core.rows.get('credential', caller.credential)?.passkey_id;
        const mineNow = {
          member: caller.id,
          decision,
          at: now,
          ...(passkey && { passkey }),
          ...(valid_for !== undefined && { valid_for }),
        };
        return decided(
          call,
          { ...row, decisions: [...row.decisions.filter(({ member }) => member !== caller.id), mineNow] },
          row,
          now,
        );
      },
    },
  };
}

const NEEDS_PASSKEY =
  'Approving takes a session that began with a passkey or was confirmed by one. You can reject the request, or another approver can approve it.';

/** Whether single sign-on alone says who the calling member is: whoever controls the provider can sign in. */
function isOnWordOfProvider({ core, caller }: Call<unknown>): boolean {
  const session = core.rows.get('credential', caller.credential);
  return session === null || !isByPasskey(core, session);
}

const COUNTS_AS_ONE =
  'Within the last seven days you or somebody who approved this request invited, re-enrolled or promoted the other, changed their address, freed their links, or added them to an approving team, directly or through other members. So both of you count as one. You can reject the request, or another approver can approve it.';

/** Whether the calling member is tied to who approved already, for each policy for which they may decide. */
const addsNothing = ({ core, caller }: Call<unknown>, row: ApprovalRow, now: number): boolean => {
  const member = core.rows.get('member', caller.id) as MemberRow;
  return heldBy(core, row)
    .filter((policy) => ineligible(core, row, policy, member, now) === null)
    .every((policy) => isTiedToApprover(core, row, policy, caller.id, now));
};

/** Whether the approval of the calling member counts for any of the policies that hold a request. */
const counts = ({ core, caller }: Call<unknown>, row: ApprovalRow, now: number): boolean =>
  heldBy(core, row).some((policy) => approvalsFor(core, row, policy, now).includes(caller.id));

/** 400: the request cannot be repeated, or not for so long. */
const tooLong = (row: ApprovalRow): Refusal =>
  invalid(
    'valid_for_seconds',
    mostValid(row) === 0
      ? 'cannot be given: this request can only be made once, because it does more than read or a policy does not allow repeating it'
      : `must be at most ${mostValid(row)}, as the policies that hold this request say`,
  );

/**
 * The plan that adds one decision: a rejection ends the request; the last required approval lets it be
 * repeated for a day.
 */
function decided(call: Call<unknown>, after: ApprovalRow, before: ApprovalRow, now: number): Plan {
  const { core } = call;
  const { decisions } = after;
  const isRejected = decisions.some(({ decision }) => decision === 'reject');
  const isApproved =
    !isRejected &&
    heldBy(core, after).every((policy) => isEnough(core, after, policy, requiredBy(after, policy.id), now));
  const fields = {
    decisions,
    ...(isRejected && { status: 'rejected' as const, ended_at: now }),
    ...(isApproved && {
      status: 'approved' as const,
      expires_at: now + (validFor(after) * 1000 || APPROVAL_LASTS),
    }),
  };
  const put = revision(call, 'approval', before, fields);
  const row = put.row as ApprovalRow;
  const { id, operation, status } = row;
  return {
    status: 200,
    data: answered(call, row),
    writes: [put],
    events: [
      {
        type: 'APPROVAL_DECIDED',
        data: {
          approval_id: id,
          operation,
          status,
          member_id: call.caller.id,
          decision: decisions.at(-1)?.decision,
        },
      },
    ],
  };
}

/**
 * How many approvals a policy required when the request was made. If the policy has changed, the request is
 * void when it is used.
 */
const requiredBy = ({ policies }: ApprovalRow, id: string): number =>
  policies.find((policy) => policy.id === id)?.required ?? Number.POSITIVE_INFINITY;

const cancel: Operation<Record<string, never>> = {
  exempt: isExempt,
  reach(call) {
    const row = find(call);
    // safety: cancel-by-requester
    return row && !isOwn(call, row)
      ? refuse('INSUFFICIENT_SCOPE', { message: 'Only the requester can cancel a request.' })
      : null;
  },
  change: {
    plan(call, now): Plan | Refusal {
      const row = find(call);
      if (!row) return refuse('NOT_FOUND');
      const status = statusNow(call.core, row);
      if (status === 'cancelled') return { status: 200, data: answered(call, row) };
      if (status !== 'pending' && status !== 'approved') return ended(status);
      const put = revision(call, 'approval', row, { status: 'cancelled', ended_at: now });
      return {
        status: 200,
        data: answered(call, put.row as ApprovalRow),
        writes: [put],
        events: [
          {
            type: 'APPROVAL_DECIDED',
            data: { approval_id: row.id, operation: row.operation, status: 'cancelled' },
          },
        ],
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
