// The row of a request that waits for approval: what was requested, by whom, and the state of its targets and
// policies. Invariants: the summary for deciders contains no value; an approval can be used only while
// targets and policies are unchanged.
import { kindNames } from '../../auth/authorize';
import { type Change, type Effect, environmentsOf, holds } from '../../auth/policies/effect';
import { newId } from '../../db/ids';
import { DAY } from '../../db/rows';
import type { ApprovalRow, HeldOperation, HoldingPolicy } from '../../db/schema';
import { accountableFor, accountableForRoot, isOfAgent } from '../identity/accountable';
import type { Call } from '../request/call';
import type { Doer, Fact } from '../request/plan';
import { slugOf } from '../request/target';
import type { CompiledPolicy } from './policies';
import { targetsOf } from './targets';

type Policy = CompiledPolicy<'approval'>;

/** How long an approval can be decided, and then used. */
export const APPROVAL_LASTS = DAY;
const MOST_PATH = 2048;

/** Which request it is, and what it requests. */
export type Asked = NonNullable<Call['ask']['approval']>;

/** What a request does and reads, and what its operation says of it. */
export interface Asking {
  effects: Effect[];
  changes: Change[];
  describes?: string | undefined;
  shows?: Fact[] | undefined;
  /** Those for whom it is made, besides its caller. */
  doers?: readonly Doer[] | undefined;
  /** A call of an upstream that can change something there. */
  isWriting?: boolean | undefined;
  /** One whose approval is never repeated: deciders are not shown all of it. */
  isOnce?: boolean | undefined;
}

/** The row of a new request. */
export function newRow(call: Call<unknown>, asked: Asked, asking: Asking, policies: Policy[], now: number) {
  const { core, ask, caller } = call;
  const { effects, changes, describes, doers = [] } = asking;
  const effect = effects.find((one) => policies.some((policy) => holds(policy, one))) as Effect;
  const secret =
    typeof effect.reach === 'object' && 'secrets' in effect.reach ? effect.reach.secrets[0] : undefined;
  const { request } = ask;
  const { device_id = null, passkey_id = null } = core.rows.get('credential', caller.credential) ?? {};
  return {
    org_id: ask.org,
    id: newId('apr', now),
    status: 'pending' as const,
    operation: operationOf(effect, policies),
    action: ask.action,
    requester: {
      kind: caller.kind,
      id: caller.id || null,
      parent_id: caller.parent_id,
      name: caller.name,
      credential: caller.credential,
      device_id,
      passkey_id,
      // safety: people-decide-nothing-of-theirs
      ...(isOfAgent(core, caller) && { for_agent: accountableFor(core, caller) }),
    },
    root: caller.root,
    // Whoever stored a connection is not among them: the requester chose it.
    // safety: accountable-for-all-doers
    accountable: [
      ...new Set([
        ...[caller, ...doers.filter((one) => one.accountable || isOfAgent(core, one))].flatMap((one) =>
          accountableFor(core, one),
        ),
        // safety: widener-accountable-for-sessions
        ...accountableForRoot(core, caller.root),
      ]),
    ],
    digest: asked.digest,
    method: asked.method,
    path: asked.path.slice(0, MOST_PATH),
    summary: summaryOf(call, effect, secret?.name ?? null, describes),
    resource: secret?.id ?? effect.targets[0]?.id ?? null,
    resource_name: secret?.name ?? null,
    environment: secret ? slugOf(core, secret.environment_id) : null,
    environments: concerned(effects),
    targets: targetsOf(core, effects, changes),
    policies: policiesThen(policies, asking),
    decisions: [],
    reason: request.reason,
    request_id: request.id,
    ip: request.ip,
    place: request.place,
    user_agent: request.user_agent,
    created_at: now,
    expires_at: now + APPROVAL_LASTS,
  };
}

/** The environments that a request concerns, with everything that it does. */
const concerned = (effects: readonly Effect[]): string[] | null => {
  const ids = environmentsOf(effects);
  return ids && [...ids];
};

/** The operation that a request waits for: the first of its effect that a policy names. */
const operationOf = ({ operations }: Effect, policies: readonly Policy[]): HeldOperation =>
  operations.find((operation) => policies.some(({ config }) => config.operations.includes(operation))) ??
  operations[0];

/** What each operation requests, worded for deciders. */
const ASKS: Record<HeldOperation, string> = {
  'secret.read': 'read',
  'secret.update': 'change',
  'secret.rotate': 'replace the value of',
  'secret.delete': 'delete',
  'secret.share': 'share',
  'secret.use': 'use',
  'break_glass.create': 'issue a break-glass token',
  'provider_token.create': 'create a provider token',
  'policy.change': 'change policies',
  'team.change': 'change teams',
  'member.change': 'change members',
};

/** The same for actions that are more specific than their operation. */
const BY_ACTION: Record<string, string> = { 'secret.restore': 'restore', 'secret.rollback': 'roll back' };

const isNewValue = ({ reach }: Effect): boolean => {
  const [before, after] = typeof reach === 'object' && 'secrets' in reach ? reach.secrets : [];
  return before !== undefined && after !== undefined && after.version > before.version;
};

/** What a request asks for, as a sentence without any value. */
function summaryOf(call: Call<unknown>, effect: Effect, name: string | null, describes?: string): string {
  const { caller, ask } = call;
  const who = `${caller.kind === 'member' ? 'The member' : kindNames[caller.kind].replace(/^an? /, 'The ')} ${caller.name === null ? caller.id : `"${caller.name}"`}`;
  const what =
    describes ??
    (name === null
      ? `${ASKS[effect.operations[0]]} (${ask.action})`
      : `${BY_ACTION[ask.action] ?? ASKS[isNewValue(effect) ? 'secret.rotate' : effect.operations[0]]} the secret ${name}`);
  return `${who} asks to ${what}.`;
}

function policiesThen(
  policies: readonly Policy[],
  { changes, isWriting = false, isOnce = false }: Asking,
): HoldingPolicy[] {
  // A sync reads too, but it is a change: it sends.
  // safety: only-reads-repeated
  const isRead = changes.length === 0 && !isOnce;
  return policies
    .map(
      ({
        row: { id, revision, name },
        config: { required, max_valid_seconds, repeat_writes, approvers },
      }) => ({
        id,
        revision,
        name,
        required,
        ...('accountable' in approvers && { accountable: true as const }),
        // safety: writing-calls-repeated-if-allowed
        ...(isRead && (!isWriting || repeat_writes) && max_valid_seconds && { max_valid_seconds }),
      }),
    )
    .sort((a, b) => (a.id < b.id ? -1 : 1));
}

/** For how many seconds a request may be repeated, at most: what all policies that hold it allow. */
export const mostValid = ({ policies }: ApprovalRow): number =>
  Math.min(...policies.map(({ max_valid_seconds }) => max_valid_seconds ?? 0));

/** Whether the targets and policies of a request are unchanged since it was made. */
export const isAsThen = (
  core: Call['core'],
  row: ApprovalRow,
  asking: Asking,
  policies: readonly Policy[],
): boolean =>
  JSON.stringify(row.targets) === JSON.stringify(targetsOf(core, asking.effects, asking.changes)) &&
  JSON.stringify(row.policies) === JSON.stringify(policiesThen(policies, asking));

/** What a caller sees of the approval that a request waits for. */
export const approvalShown = ({ id, status, operation, policies, decisions, expires_at }: ApprovalRow) => ({
  id,
  status,
  operation,
  required: Math.max(...policies.map(({ required }) => required)),
  approvals: decisions
    .filter(({ decision }) => decision === 'approve')
    .map(({ member, at }) => ({ member_id: member, time: new Date(at).toISOString() })),
  expires_at: new Date(expires_at).toISOString(),
});
