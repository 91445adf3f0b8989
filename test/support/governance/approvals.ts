// Approvals for tests: an organisation with an owner who can approve, and somebody whose requests wait.
import { newId } from '../../../src/db/ids';
import type { ApprovalRow, Role } from '../../../src/db/schema';
import { insertion, revision } from '../../../src/gate/request/writes';
import { newKey } from '../credentials';
import { type Browser, change, newSignedIn, signIn } from '../signin/browser';
import type { Answer, Caller } from '../world';
import { newPolicy } from './policies';

/** An approval policy, by default one that an owner's approval satisfies. */
export const newApprovalPolicy = async (
  o: Caller,
  operations: string[],
  { config = {}, ...fields }: { config?: object; applies_to?: object; name?: string; enabled?: boolean } = {},
): Promise<string> =>
  (
    await newPolicy(
      o,
      'approval',
      { operations, required: 1, approvers: { role: 'owner' }, ...config },
      { name: 'four eyes', ...fields },
    )
  ).id as string;

/** Everybody in an organisation has been there for longer than ties last: see auth/policies/ties.ts. */
export const settle = (o: Caller): Promise<void> =>
  change(o.id, (call) => {
    const { rows } = call.core;
    const members = rows.within('member', '').filter(({ connections }) => connections?.length);
    const added = rows.after('team_member', '', 1000);
    return {
      status: 200,
      data: null,
      writes: [
        ...members.map((row) => revision(call, 'member', row, { connections: [] })),
        ...added.map((row) => revision(call, 'team_member', row, { created_at: 0 })),
      ],
    };
  });

/** A member in a browser who has been in the organisation for longer than ties last. */
export async function colleague(
  o: Caller,
  role: Role,
  fields: { environments?: string[] } = {},
): Promise<Browser> {
  const browser = await signIn(o, role, fields);
  await settle(o);
  return browser;
}

/**
 * An org whose owner is signed in, and an admin of theirs with an API key: what the key asks, the owner may
 * approve.
 */
export async function newOffice() {
  const { o, browser: ann } = await newSignedIn();
  const bob = await colleague(o, 'admin');
  const key = await newKey(bob.o, {
    name: 'deploy',
    scopes: [
      'secrets:*',
      'tokens:*',
      'members:*',
      'teams:*',
      'policies:*',
      'approvals:read',
      'environments:*',
    ],
  });
  return { o, ann, bob, asked: key.o };
}

/** What a held request waits for. */
// biome-ignore lint/suspicious/noExplicitAny: tests look into answers freely
export const approvalIn = ({ status, json }: Answer): any => {
  if (status !== 403 || json.error.code !== 'APPROVAL_REQUIRED')
    throw new Error(`not held: ${status} ${JSON.stringify(json)}`);
  return json.error.approval;
};

/** Approves a request by an owner of no connection to who asked, without a browser. */
export async function plantApproval(o: Caller, id: string): Promise<void> {
  await change(o.id, (call, now) => {
    const row = call.core.rows.get('approval', id) as ApprovalRow;
    const member = newId('mem', now);
    const owner = {
      org_id: o.id,
      id: member,
      email: `${member}@example.com`,
      name: 'Owen',
      role: 'owner' as const,
      created_at: now,
    };
    const decisions = [{ member, decision: 'approve' as const, at: now }];
    return {
      status: 200,
      data: null,
      writes: [
        insertion(call, 'member', owner),
        revision(call, 'approval', row, { status: 'approved', decisions, expires_at: now + 86_400_000 }),
      ],
    };
  });
}

/** Approves a request in a browser. */
export const approve = (browser: Browser, id: string) => browser.o.post(`/approvals/${id}/approve`);

export const under = (id: string) => ({ 'Approval-Id': id });
