// Holding requests for approval. A change is evaluated by the effects of its plan, a read by what it reveals:
// see auth/policies/effects.ts. Invariants: a request held by a policy does nothing except record that it
// waits; an approval works for exactly the request that it was given for, once, in the transaction of its
// effect, and only while its targets, policies and approvers are unchanged.

import { type Change, type Effect, environmentsOf, holds } from '../../auth/policies/effect';
import { effectsOf } from '../../auth/policies/effects';
import { copyEffect, type Placed, readEffect, useEffect } from '../../auth/policies/effects-of-secrets';
import type { ApprovalRow, SecretRow, UpstreamRow } from '../../db/schema';
import { type Refusal, refuse } from '../../errors';
import type { Core } from '../core';
import { isOfAgent } from '../identity/accountable';
import { type Call, isRefusal, type OperationOutcome, type Together } from '../request/call';
import { wants } from '../request/outcome';
import { isPlaced } from '../request/placed';
import type { Doer, Plan, Proposal, Put } from '../request/plan';
import { answerKeyOf, insertion, revision } from '../request/writes';
import { quotaRootOf } from '../rows/quota-root';
import {
  countApprovers,
  isAccountablePolicy,
  isEnough,
  isOfPerson,
  lacksApprovers,
  ofPerson,
} from './approvers';
import { approvalDetails } from './details';
import { type CompiledPolicy, policiesOf } from './policies';
import { isOfOneCredential, isRepeatable, repeatedBy } from './repeats';
import { type Asked, type Asking, approvalShown, isAsThen, newRow } from './row';
import { callFact, encryptFacts, factsOf } from './shown';
import { isRequesterGone, isVoid } from './state';

type Policy = CompiledPolicy<'approval'>;

/** The most waiting requests of one root. */
const MOST_PENDING = 100;

/** Asks the Worker to identify the request first: see `Ask.approval`. */
// Release 0.4.0 tells by the data what is wanted.
export const unidentified = wants('digest', { approval: true });

/**
 * The result for a request that may be held: it may continue, having used an approval if there is one; or it
 * waits.
 */
type Held = Allowed | { waits: Plan } | Refusal | typeof unidentified;

/** `approval` is the one that it is under; `use` changes that one. */
interface Allowed {
  use: Put | null;
  approval: string | null;
  bypassed: string[];
}

/** The plan of a change after approval policies have been applied. */
export function governed(call: Call<unknown>, made: Plan, now: number): Proposal {
  if (isUngoverned(call)) return made;
  const changes = changesOf(call, made);
  const effects = withCopies(call, made, [
    ...effectsOf(changes, call.caller.id, call.core.rows.get, placedIn(call.core)),
    // Only the held ones: an approval is void once one of its targets has changed.
    ...(made.reveals ?? [])
      .filter((row) => holdingReads(call.core, row, [call.caller, ...(made.doers ?? [])]).length)
      .map(readEffect),
    ...usesHeld(call, made),
  ]);
  const held = hold(
    call,
    {
      effects,
      changes,
      describes: made.describes,
      shows: made.shows,
      doers: made.doers,
      isWriting: made.uses?.isWriting,
      isOnce: made.uses?.isOnce,
    },
    now,
  );
  if (isRefusal(held) || 'wants' in held) return held;
  if ('waits' in held) return { ...held.waits, audit: { ...targetOf(made), ...held.waits.audit } };
  return underApproval(call, allowed(made, held), held);
}

/**
 * These effects with those of copying values, where a policy holds it. An approval of any of them rests on
 * every copied secret, so that no other value is written than the one that was approved.
 */
function withCopies({ core, caller }: Call<unknown>, { copies = [] }: Plan, others: Effect[]): Effect[] {
  const policies = policiesOf(core, 'approval').filter((policy) => binds(core, policy, [caller]));
  // safety: promotion-held-as-share
  const held = copies.map(copyEffect).filter((effect) => policies.some((policy) => holds(policy, effect)));
  // safety: approved-copies-kept
  const rests = copies;
  return [...others, ...held].map((effect, at) =>
    at === 0 ? { ...effect, targets: [...effect.targets, ...rests] } : effect,
  );
}

/**
 * The effects of a call of an upstream, where a policy holds it. One held secret holds all: each value that
 * is placed decides what the call does.
 */
function usesHeld({ core, caller }: Call<unknown>, { uses }: Plan): Effect[] {
  const effects = (uses?.secrets ?? []).map((row) => useEffect(row, uses?.upstream as UpstreamRow));
  const policies = policiesOf(core, 'approval').filter((policy) => binds(core, policy, [caller]));
  // safety: placed-beside-held-kept
  return effects.some((effect) => policies.some((policy) => holds(policy, effect))) ? effects : [];
}

/** A call under an approval: the Worker then sends exactly what was approved. */
function underApproval({ core }: Call<unknown>, made: Plan, { approval }: Allowed): Plan {
  const row = made.uses && approval !== null ? core.rows.get('approval', approval) : null;
  return row
    ? {
        ...made,
        data: { ...(made.data as object), held: { approval: row.id, isRepeatable: isRepeatable(row) } },
      }
    : made;
}

/** The plan of a read under an approval: it changes only the approval that it uses. */
export function governedRead(
  call: Call<unknown>,
  reveals: NonNullable<OperationOutcome['reveals']>,
  made: Plan,
  now: number,
): Proposal {
  // A bulk read leaves out held secrets, so no approval applies to it.
  if (reveals === 'unheld') return call.ask.approval?.id == null ? made : refuse('APPROVAL_MISMATCH');
  // For several secrets, only the held ones are approved: the others may change in the meantime.
  const effects =
    'all' in reveals
      ? reveals.all.filter((row) => holdingReads(call.core, row, [call.caller]).length).map(readEffect)
      : [readEffect(reveals)];
  const { describes, shows } = 'all' in reveals ? reveals : { describes: undefined, shows: undefined };
  const held = hold(call, { effects, changes: [], describes, shows }, now);
  if (isRefusal(held) || 'wants' in held) return held;
  return 'waits' in held ? held.waits : allowed(made, held);
}

const allowed = (made: Plan, { use, approval, bypassed }: Allowed): Plan => ({
  ...made,
  ...(use && { writes: [...(made.writes ?? []), use] }),
  audit: {
    ...made.audit,
    // safety: each-use-names-its-approval
    ...(approval !== null && { approval }),
    ...(bypassed.length && { bypassed_policies: bypassed }),
  },
});

/** The target of a held change in its audit entry: its current state, not the requested one. */
const targetOf = ({ audit }: Plan) => ({ ...audit, expires_at: undefined, former_name: undefined });

/**
 * Provider requests run without people; the bootstrap token belongs to the operator, who is above the rules
 * of an organisation. What a provider gives by single sign-on or SCIM cannot wait for people: it was held
 * when the connection or the token was made, and whom it brings in decides nothing for a while.
 */
// safety: provider-and-operator-ungoverned
const isUngoverned = ({ caller, ask: { bearer } }: Call<unknown>) =>
  ['provider', 'scim'].includes(caller.kind) ||
  caller.id === 'bootstrap' ||
  (typeof bearer === 'object' && 'sso' in bearer);

/** What upstreams place, by their rows. */
const placedIn = ({ rows }: Core): Placed => ({
  by: ({ environment_id, secrets }) =>
    secrets.flatMap((name) => rows.find('secret', environment_id, name) ?? []),
  isPlaced: ({ environment_id, name }) => isPlaced(rows, environment_id, name),
});

/** The rows that a plan writes and removes. */
function changesOf({ core }: Call<unknown>, { writes = [], deletes = [] }: Plan): Change[] {
  return [
    ...writes.map(({ kind, row }) => ({ kind, before: core.rows.get(kind, row.id), after: row }) as Change),
    ...deletes.map(({ kind, id }) => ({ kind, before: core.rows.get(kind, id), after: null }) as Change),
  ];
}

/** Cached decisions on whether a secret is held, by row; valid while no policy changes. */
const judged = new WeakMap<SecretRow, { edits: number; policies: Policy[] }>();

/**
 * Whether a policy holds what callers do: one whose approvers are the accountable members holds only agents
 * and what they created.
 */
const binds = (core: Pick<Core, 'rows'>, { config }: Policy, callers: readonly Doer[]): boolean =>
  // safety: accountable-holds-agents
  !('accountable' in config.approvers) || callers.some((caller) => isOfAgent(core, caller));

/** The policies that hold a read of a secret by these callers together. */
export function holdingReads(core: Pick<Core, 'rows'>, row: SecretRow, callers: readonly Doer[]): Policy[] {
  const before = judged.get(row);
  const edits = core.rows.edits('policy');
  if (before?.edits === edits) return before.policies.filter((policy) => binds(core, policy, callers));
  const effect = readEffect(row);
  const policies = policiesOf(core, 'approval').filter((policy) => holds(policy, effect));
  judged.set(row, { edits, policies });
  return policies.filter((policy) => binds(core, policy, callers));
}

/** Whether a policy holds a new value of a secret by a caller. */
export const isNewValueHeld = ({ core, caller }: Call<unknown>, row: SecretRow): boolean =>
  effectsOf([{ kind: 'secret', before: row, after: { ...row, version: row.version + 1 } }], caller.id).some(
    (effect) =>
      policiesOf(core, 'approval').some(
        (policy) =>
          binds(core, policy, [caller]) &&
          holds(policy, effect) &&
          !isBypassed(caller.kind, policy, [effect]),
      ),
  );

/** Whether a caller without an approval may read a secret now, and which policies that bypasses. */
export function mayReveal(
  { core, caller }: Call<unknown>,
  row: SecretRow,
): { isHeld: boolean; bypassed: string[] } {
  const policies = holdingReads(core, row, [caller]);
  if (policies.length === 0) return { isHeld: false, bypassed: [] };
  const bypassed = policies.filter((policy) => isBypassed(caller.kind, policy, [readEffect(row)]));
  return { isHeld: bypassed.length < policies.length, bypassed: bypassed.map(({ row: { id } }) => id) };
}

/** The same for everything that a read reveals: one held secret holds all. */
export function mayRevealAll(
  call: Call<unknown>,
  reveals: SecretRow | Together,
): { isHeld: boolean; bypassed: string[] } {
  const each = ('all' in reveals ? reveals.all : [reveals]).map((row) => mayReveal(call, row));
  // safety: one-held-holds-all
  return {
    isHeld: each.some(({ isHeld }) => isHeld),
    bypassed: [...new Set(each.flatMap(({ bypassed }) => bypassed))],
  };
}

/** Whether a break-glass token bypasses a policy. */
function isBypassed(kind: string, { config }: Policy, effects: readonly Effect[]): boolean {
  const { allow_break_glass } = config;
  // safety: break-glass-passes-only-if-allowed
  return (
    kind === 'break_glass' &&
    allow_break_glass === true &&
    effects.every(({ operations }) => operations[0].startsWith('secret.'))
  );
}

/**
 * Whether an owner adds an approver to a policy that has too few wherever that one would decide. For seven
 * days neither approves requests of the other: see auth/policies/ties.ts.
 */
const mends = ({ core, caller }: Call<unknown>, policy: Policy, effect: Effect): boolean =>
  // safety: only-owners-mend
  effect.adds === true && caller.isOwner && lacksApprovers(core, policy.row, environmentsOf([effect]));

/** Whether a policy requires more approvals than it has approvers for what concerns these environments. */
const isStuck = (core: Core, { row, config }: Policy, environments: readonly string[] | null): boolean =>
  countApprovers(core, row, environments) < config.required;

function hold(call: Call<unknown>, asking: Asking, now: number): Held {
  const { core, ask, caller } = call;
  const { effects } = asking;
  const holding = policiesOf(core, 'approval').filter(
    (policy) =>
      binds(core, policy, [caller, ...(asking.doers ?? [])]) &&
      effects.some((effect) => holds(policy, effect) && !mends(call, policy, effect)),
  );
  const passed = holding.filter((one) => isBypassed(caller.kind, one, effects));
  const policies = holding.filter((one) => !isBypassed(caller.kind, one, effects));
  const bypassed = passed.map(({ row }) => row.id);
  const { approval } = ask;
  // An approval that does not apply is refused even if none is needed: what was approved has changed.
  if (approval?.id != null) return useOf(call, approval.id, asking, policies, bypassed, now);
  if (policies.length === 0) return { use: null, approval: null, bypassed };
  // The service itself cannot wait for approval.
  if (caller.kind === 'system') return refuse('APPROVAL_REQUIRED');
  if (!approval) return unidentified;
  const found = approval.isFound ? repeatable(call, approval, asking, policies, now) : null;
  return found
    ? useOf(call, found.id, asking, policies, bypassed, now)
    : wait(call, approval, asking, policies, now);
}

/** The approval under which a credential may repeat this very request; null if there is none. */
function repeatable(
  call: Call<unknown>,
  { digest }: Asked,
  asking: Asking,
  policies: Policy[],
  now: number,
): ApprovalRow | null {
  const { core, caller } = call;
  const row = core.rows.find('approval', caller.root, repeatedBy(digest, caller.credential));
  // safety: only-repeatable-found
  return row && isRepeatable(row) && isStillGood(call, row, asking, policies, now) ? row : null;
}

/** Uses an approval; 409 if it does not apply to this request. */
function useOf(
  call: Call<unknown>,
  id: string,
  asking: Asking,
  policies: Policy[],
  bypassed: string[],
  now: number,
): Held {
  const { core, ask, caller } = call;
  const row = core.rows.get('approval', id);
  // safety: approval-of-this-root, approval-of-this-request
  if (!row || row.root !== caller.root || row.digest !== ask.approval?.digest)
    return refuse('APPROVAL_MISMATCH');
  // A repeat after a lost response: it was already done.
  if (row.status === 'used' && row.used_by === ask.request.id) return { use: null, approval: id, bypassed };
  // safety: approval-used-once, approval-expires
  if (row.status !== 'approved' || row.expires_at <= now)
    return refuse('APPROVAL_MISMATCH', { message: mismatch[row.status] });
  // safety: approval-void-once-changed
  if (!isAsThen(core, row, asking, policies)) {
    // It stays void when everything is changed back.
    // safety: void-approval-stays-void
    approvalDetails(core).void(id);
    return refuse('APPROVAL_MISMATCH', { message: mismatch.void });
  }
  // safety: approval-void-once-requester-ended
  if (approvalDetails(core).isVoid(id) || isRequesterGone(core, row))
    return refuse('APPROVAL_MISMATCH', { message: mismatch.void });
  // safety: repeated-by-same-credential
  if (isOfOneCredential(row) && row.requester.credential !== caller.credential)
    return refuse('APPROVAL_MISMATCH', { message: mismatch.other });
  // safety: approvers-judged-at-use
  if (lacksDecisions(core, row, policies, now))
    return refuse('APPROVAL_MISMATCH', { message: mismatch.approvers });
  const used = {
    used_by: ask.request.id,
    ...(!isRepeatable(row) && { status: 'used' as const, ended_at: now }),
  };
  // Of repeated uses only the first is written to the row; the audit log has all of them.
  const use = isRepeatable(row) && row.used_by !== null ? null : revision(call, 'approval', row, used);
  return { use, approval: id, bypassed };
}

/** Whether decisions do not count any more without which the request would not have been approved. */
const lacksDecisions = (core: Core, row: ApprovalRow, policies: readonly Policy[], now: number): boolean =>
  policies.some((policy) => !isEnough(core, row, policy.row, policy.config.required, now));

const mismatch = {
  pending: 'This request is not approved yet.',
  approved: 'This approval has expired. Repeat the request without Approval-Id to ask again.',
  rejected: 'This request was rejected.',
  cancelled: 'This request was cancelled.',
  used: 'This approval was used. Repeat the request without Approval-Id to ask again.',
  void: 'The target, a policy or the requester has changed since this request was made. Repeat the request without Approval-Id to ask again.',
  other:
    'Only the credential that made this request can repeat it. Repeat the request without Approval-Id to ask again.',
  approvers:
    'A member who approved this request may no longer approve it. Repeat the request without Approval-Id to ask again.',
} as const;

/** Whether a request that was held before still waits, or was approved and can be used by this caller. */
function isStillGood(
  { core, caller }: Call<unknown>,
  row: ApprovalRow,
  asking: Asking,
  policies: Policy[],
  now: number,
): boolean {
  if (row.expires_at <= now || !isAsThen(core, row, asking, policies) || isVoid(core, row)) return false;
  // One of an earlier release, which another credential may repeat.
  if (isOfOneCredential(row) && row.requester.credential !== caller.credential) return false;
  return row.status !== 'approved' || !lacksDecisions(core, row, policies, now);
}

const tooLong = refuse('LIMIT_REACHED', {
  message: 'This request is too long to be shown to approvers. Send fewer names or mappings at a time.',
});

/** Records that a request waits, or finds the existing approval. */
function wait(call: Call<unknown>, asked: Asked, asking: Asking, policies: Policy[], now: number): Held {
  const { core, ask, caller } = call;
  const known = [repeatedBy(asked.digest, caller.credential), asked.digest].flatMap(
    (key) => core.rows.find('approval', caller.root, key) ?? [],
  );
  const there = known.find((row) => isStillGood(call, row, asking, policies, now));
  if (there) return required(core, there, policies);
  const pending = core.rows.within('approval', caller.root).filter(({ expires_at }) => expires_at > now);
  // safety: pending-approvals-bounded
  if (pending.length >= MOST_PENDING)
    return refuse('LIMIT_REACHED', {
      message: `A credential can have at most ${MOST_PENDING} requests waiting for approval. Cancel some.`,
    });
  const put = insertion(call, 'approval', newRow(call, asked, asking, policies, now));
  const row = put.row as ApprovalRow;
  const facts = factsOf(core, asking.effects, asking.changes, asking.shows);
  if (facts === null) return tooLong;
  const shown = [...callFact(asked.call), ...facts];
  const sealed = encryptFacts(answerKeyOf(call), ask.org, row.id, shown);
  const payer = quotaRootOf(core, caller);
  if (!approvalDetails(core).hasRoom(payer, sealed.length))
    return refuse('LIMIT_REACHED', {
      message:
        'What approvers are shown of waiting requests has reached 16 MiB for this credential, or 256 MiB for the organisation. Cancel some.',
    });
  const replaced = known.map((row) =>
    revision(call, 'approval', row, { status: 'cancelled', ended_at: now }),
  );
  return {
    waits: {
      status: 403,
      data: null,
      refusal: required(core, row, policies),
      writes: [...replaced, put],
      details: { id: row.id, root: payer, credential: caller.credential, sealed, until: row.expires_at },
      events: [
        {
          type: 'APPROVAL_REQUESTED',
          data: { approval_id: row.id, operation: row.operation, resource_id: row.resource },
        },
      ],
      audit: { approval: row.id },
    },
  };
}

/**
 * 403 with the approval that a request waits for. If a policy currently has too few approvers, the message
 * names it and says who can fix that.
 */
function required(core: Core, row: ApprovalRow, policies: readonly Policy[]): Refusal {
  const ours = isOfPerson(row) ? policies.find((policy) => isAccountablePolicy(policy.row)) : undefined;
  const stuck = policies.find((policy) => isStuck(core, policy, row.environments));
  const names = policies.map(({ row: { name } }) => `"${name}"`).join(', ');
  const message = ours
    ? ofPerson(ours.row)
    : stuck
      ? `The policy "${stuck.row.name}" requires more approvals than it has approvers, so this request cannot be approved. An owner can invite approvers or add them to the approving team.`
      : row.status === 'approved'
        ? `This request is approved. Repeat it with the header "Approval-Id: ${row.id}".`
        : `This request needs approval (${names.slice(0, 500)}). Nothing was done.`;
  return refuse('APPROVAL_REQUIRED', { message, approval: approvalShown(row) });
}
