// Holding requests for approval. A change is judged by the effects of its plan, a read by what it reveals: see auth/effects.ts. Invariants: a
// request that a policy holds does nothing but note that it waits; an approval serves the very request that it was given for, once, in the
// transaction of its effect, and only while its targets, its policies and its approvers are as they were.

import { type Change, type Effect, effectsOf, holds, readEffect } from '../auth/effects';
import type { ApprovalRow, SecretRow } from '../db/schema';
import { type Refusal, refuse } from '../errors';
import { type Asked, approvalShown, isAsThen, newRow } from './approval-row';
import { approvalsFor, countApprovers } from './approvers';
import { insertion, revision } from './commit';
import type { Core } from './core';
import type { Plan, Put } from './plan';
import { type CompiledPolicy, policiesOf } from './policies';
import { type Call, isRefusal, type OperationOutcome, type Together } from './types';

type Policy = CompiledPolicy<'approval'>;

/** Requests of one root that wait at a time. */
const MOST_PENDING = 100;

/** What is answered where the Worker has to say first which request this is: see `Ask.approval`. */
export const unidentified = { more: { approval: true } } as const;

/** What a step of a held request comes to: it may go on, having used an approval where there is one; or it waits. */
type Held = { use: Put | null; bypassed: string[] } | { waits: Plan } | Refusal | typeof unidentified;

/** The plan of a change, as far as approval policies let it. */
export function governed(call: Call<unknown>, made: Plan, now: number): Plan | Refusal | { more: unknown } {
  if (isUngoverned(call)) return made;
  const held = hold(
    call,
    [
      ...effectsOf(changesOf(call, made), call.caller.id, (id) => call.core.rows.get('secret', id)),
      // Only what is held: an approval is void once one of its targets has changed.
      ...(made.reveals ?? []).filter((row) => holdingReads(call.core, row).length).map(readEffect),
    ],
    now,
    made.describes,
  );
  if (isRefusal(held) || 'more' in held) return held;
  if ('waits' in held) return { ...held.waits, about: { ...targetOf(made), ...held.waits.about } };
  return allowed(made, held);
}

/** The plan of a read under an approval: it changes nothing but the approval that it uses. */
export function governedRead(
  call: Call<unknown>,
  reveals: NonNullable<OperationOutcome['reveals']>,
  made: Plan,
  now: number,
): Plan | Refusal | { more: unknown } {
  // A bulk read leaves out what is held: no approval is for it.
  if (reveals === 'unheld') return call.ask.approval?.id == null ? made : refuse('APPROVAL_MISMATCH');
  // Of several secrets those that are held are approved: the others may change meanwhile.
  const effects =
    'all' in reveals ? reveals.all.filter((row) => holdingReads(call.core, row).length).map(readEffect) : [readEffect(reveals)];
  const held = hold(call, effects, now, 'all' in reveals ? reveals.describes : undefined);
  if (isRefusal(held) || 'more' in held) return held;
  return 'waits' in held ? held.waits : allowed(made, held);
}

const allowed = (made: Plan, { use, bypassed }: { use: Put | null; bypassed: string[] }): Plan => ({
  ...made,
  ...(use && { puts: [...(made.puts ?? []), use] }),
  about: {
    ...made.about,
    ...(use && { approval: use.row.id }),
    ...(bypassed.length && { bypassed_policies: bypassed }),
  },
});

/** What the audit entry of a held change says of its target: as it is, and not as it would be. */
const targetOf = ({ about }: Plan) => ({ ...about, expires_at: undefined, former_name: undefined });

/** Provider calls need no person; the bootstrap token is the operator's, who is beyond all rules of an organisation. */
// safety: provider-and-operator-ungoverned
const isUngoverned = ({ caller }: Call<unknown>) => caller.kind === 'provider' || caller.id === 'bootstrap';

/** The rows that a plan writes and removes. */
function changesOf({ core }: Call<unknown>, { puts = [], gone = [] }: Plan): Change[] {
  return [
    ...puts.map(({ kind, row }) => ({ kind, before: core.rows.get(kind, row.id), after: row }) as Change),
    ...gone.map(({ kind, id }) => ({ kind, before: core.rows.get(kind, id), after: null }) as Change),
  ];
}

/** The secrets that were found to be held or not, by their rows: right while no policy changes. */
const judged = new WeakMap<SecretRow, { edits: number; policies: Policy[] }>();

/** The policies that hold a read of a secret. */
export function holdingReads(core: Pick<Core, 'rows'>, row: SecretRow): Policy[] {
  const before = judged.get(row);
  const edits = core.rows.edits('policy');
  if (before?.edits === edits) return before.policies;
  const effect = readEffect(row);
  const policies = policiesOf(core, 'approval').filter((policy) => holds(policy, effect));
  judged.set(row, { edits, policies });
  return policies;
}

/** Whether a caller who uses no approval may read a secret now, and which policies that passes. */
export function mayReveal({ core, caller }: Call<unknown>, row: SecretRow): { isHeld: boolean; bypassed: string[] } {
  const policies = holdingReads(core, row);
  if (policies.length === 0) return { isHeld: false, bypassed: [] };
  const bypassed = policies.filter((policy) => isBypassed(caller.kind, policy, [readEffect(row)]));
  return { isHeld: bypassed.length < policies.length, bypassed: bypassed.map(({ row: { id } }) => id) };
}

/** The same of all that a read reveals: one secret that is held holds the others. */
export function mayRevealAll(call: Call<unknown>, reveals: SecretRow | Together): { isHeld: boolean; bypassed: string[] } {
  const each = ('all' in reveals ? reveals.all : [reveals]).map((row) => mayReveal(call, row));
  // safety: one-held-holds-all
  return { isHeld: each.some(({ isHeld }) => isHeld), bypassed: [...new Set(each.flatMap(({ bypassed }) => bypassed))] };
}

/** Whether a break-glass token passes a policy. */
function isBypassed(kind: string, { config }: Policy, effects: readonly Effect[]): boolean {
  const { allow_break_glass } = config;
  // safety: break-glass-passes-only-if-allowed
  return kind === 'break_glass' && allow_break_glass === true && effects.every(({ operations }) => operations[0].startsWith('secret.'));
}

/** Whether an owner adds an approver to a policy that has too few. Whoever is added does not approve for this owner within the next seven days. */
const mends = ({ core, caller }: Call<unknown>, policy: Policy, { adds }: Effect): boolean =>
  // safety: only-owners-mend
  adds === true && caller.isOwner && isStuck(core, policy);

/** Whether a policy requires more approvals than it has approvers. */
const isStuck = (core: Core, { row, config }: Policy): boolean => countApprovers(core, row) < config.required;

function hold(call: Call<unknown>, effects: Effect[], now: number, describes?: string): Held {
  const { core, ask, caller } = call;
  const holding = policiesOf(core, 'approval').filter((policy) =>
    effects.some((effect) => holds(policy, effect) && !mends(call, policy, effect)),
  );
  const [passed, policies] = [
    holding.filter((one) => isBypassed(caller.kind, one, effects)),
    holding.filter((one) => !isBypassed(caller.kind, one, effects)),
  ];
  const bypassed = passed.map(({ row }) => row.id);
  const { approval } = ask;
  // An approval that does not serve is refused even where none is needed: what was approved has changed.
  if (approval?.id != null) return useOf(call, approval.id, effects, policies, bypassed, now);
  if (policies.length === 0) return { use: null, bypassed };
  // The service itself can wait for nobody.
  if (caller.kind === 'system') return refuse('APPROVAL_REQUIRED');
  return approval ? wait(call, { ...approval, describes }, effects, policies, now) : unidentified;
}

/** Uses an approval; 409 if it does not serve this request. */
function useOf(call: Call<unknown>, id: string, effects: Effect[], policies: Policy[], bypassed: string[], now: number): Held {
  const { core, ask, caller } = call;
  const row = core.rows.get('approval', id);
  // safety: approval-of-this-root, approval-of-this-request
  if (!row || row.root !== caller.root || row.digest !== ask.approval?.digest) return refuse('APPROVAL_MISMATCH');
  // Its reply was lost, and it is repeated: it was done.
  if (row.status === 'used' && row.used_by === ask.request.id) return { use: null, bypassed };
  // safety: approval-used-once, approval-expires
  if (row.status !== 'approved' || row.expires_at <= now) return refuse('APPROVAL_MISMATCH', { message: mismatch[row.status] });
  // safety: approval-void-once-changed
  if (!isAsThen(row, effects, policies)) return refuse('APPROVAL_MISMATCH', { message: mismatch.void });
  for (const policy of policies) {
    const { required } = policy.config;
    // safety: approvers-judged-at-use
    if (approvalsFor(core, row, policy.row, now).length < required) return refuse('APPROVAL_MISMATCH', { message: mismatch.approvers });
  }
  return { use: revision(call, 'approval', row, { status: 'used', used_by: ask.request.id, ended_at: now }), bypassed };
}

const mismatch = {
  pending: 'This request is not approved yet.',
  approved: 'This approval has expired. Repeat the request without Approval-Id to ask again.',
  rejected: 'This request was rejected.',
  cancelled: 'This request was cancelled.',
  used: 'This approval was used. Repeat the request without Approval-Id to ask again.',
  void: 'The target or a policy has changed since this request was made. Repeat the request without Approval-Id to ask again.',
  approvers: 'Somebody who approved this request may no longer approve it. Repeat the request without Approval-Id to ask again.',
} as const;

/** Notes that a request waits, or finds that it does already. */
function wait(call: Call<unknown>, asked: Asked, effects: Effect[], policies: Policy[], now: number): Held {
  const { core, caller } = call;
  const there = core.rows.find('approval', caller.root, asked.digest);
  const isGood = there !== null && there.expires_at > now && isAsThen(there, effects, policies);
  if (there && isGood) return required(core, there, policies);
  const pending = core.rows.within('approval', caller.root).filter(({ expires_at }) => expires_at > now);
  // safety: pending-approvals-bounded
  if (pending.length >= MOST_PENDING)
    return refuse('LIMIT_REACHED', {
      message: `A credential can have at most ${MOST_PENDING} requests that wait for approval. Cancel some.`,
    });
  const put = insertion(call, 'approval', newRow(call, asked, effects, policies, now));
  const row = put.row as ApprovalRow;
  const replaced = there ? [revision(call, 'approval', there, { status: 'cancelled', ended_at: now })] : [];
  return {
    waits: {
      status: 403,
      data: null,
      refusal: required(core, row, policies),
      puts: [...replaced, put],
      events: [{ type: 'APPROVAL_REQUESTED', data: { approval_id: row.id, operation: row.operation, resource_id: row.resource } }],
      about: { approval: row.id },
    },
  };
}

/** 403 with the approval that a request waits for; it names a policy that has too few approvers now, and who can mend that. */
function required(core: Core, row: ApprovalRow, policies: readonly Policy[]): Refusal {
  const stuck = policies.find((policy) => isStuck(core, policy));
  const names = policies.map(({ row: { name } }) => `"${name}"`).join(', ');
  const message = stuck
    ? `The policy "${stuck.row.name}" requires more approvals than it has approvers, so this request cannot be approved. An owner can invite approvers or add them to the approving team.`
    : row.status === 'approved'
      ? `This request is approved. Repeat it with the header "Approval-Id: ${row.id}".`
      : `This request needs approval (${names.slice(0, 500)}). Nothing was done.`;
  return refuse('APPROVAL_REQUIRED', { message, approval: approvalShown(row) });
}
