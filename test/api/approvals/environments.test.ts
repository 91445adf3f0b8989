// Deciders whose role is limited to environments: they decide, and are shown, what concerns those alone, when
// they decide and when it counts.

import { describe, expect, it } from 'vitest';
import { newAgent } from '../../support/credentials';
import {
  approvalIn,
  approve,
  colleague,
  newApprovalPolicy,
  newOffice,
  settle,
  under,
} from '../../support/governance/approvals';
import { newGrant, newMember, newTeam } from '../../support/people';
import { slow } from '../../support/slow';
import { type Caller, codeOf, newSecret, useWorld } from '../../support/world';

useWorld();

const LACKS = [403, 'INSUFFICIENT_SCOPE'];
const IMPOSSIBLE = [422, 'APPROVAL_IMPOSSIBLE'];
const BY_ADMINS = { approvers: { role: 'admin' } };

/**
 * An office with a secret in each of two environments, of which admins approve every deletion, and an admin
 * of the first.
 */
async function newDesk() {
  const office = await newOffice();
  const { o, asked } = office;
  const near = await newSecret(o, { name: 'NEAR', environment: 'development' });
  const far = await newSecret(o, { name: 'FAR', environment: 'production' });
  const dev = await colleague(o, 'admin', { environments: ['development'] });
  const policy = await newApprovalPolicy(o, ['secret.delete'], { config: BY_ADMINS });
  const ask = async ({ id }: { id: string }) => approvalIn(await asked.del(`/secrets/${id}`)).id as string;
  return { ...office, near, far, dev, policy, ask };
}

const listed = async (by: Caller, query = '') =>
  (await by.get(`/approvals${query}`)).json.data.map(({ id }: { id: string }) => id);

describe('approvals: a decider with environments', () => {
  it('decides for those, and is shown no others', async () => {
    const { asked, near, far, dev, ask } = await newDesk();
    const here = await ask(near);
    const there = await ask(far);
    expect([await listed(dev.o), await listed(dev.o, '?waiting_for=me')]).toEqual([[here], [here]]);
    const shown = (await dev.o.get(`/approvals/${here}`)).json;
    expect([shown.may_decide, shown.shown[0]]).toEqual([true, { name: 'Secret', value: 'NEAR' }]);
    expect(codeOf(await dev.o.get(`/approvals/${there}`))).toEqual([404, 'NOT_FOUND']);
    for (const decision of ['approve', 'reject']) {
      const refused = await dev.o.post(`/approvals/${there}/${decision}`);
      expect([codeOf(refused), refused.json.error.message]).toEqual([
        LACKS,
        'Your role is limited to environments, and this request concerns others too.',
      ]);
    }
    expect((await approve(dev, here)).json.status).toBe('approved');
    expect((await asked.del(`/secrets/${near.id}`, undefined, under(here))).status).toBe(204);
  });

  slow('counts at the use only if they still decide there', async () => {
    const { o, asked } = await newOffice();
    const dev = await colleague(o, 'admin', { environments: ['development', 'staging'] });
    const team = await newTeam(o, dev.member.id);
    const near = await newSecret(o, { name: 'NEAR', environment: 'development' });
    await newApprovalPolicy(o, ['secret.update'], {
      config: { approvers: { team_id: team } },
      applies_to: { environments: ['development'] },
    });
    await settle(o);
    const change = (headers = {}) => asked.patch(`/secrets/${near.id}`, { value: 'new' }, headers);
    const { id } = approvalIn(await change());
    expect((await approve(dev, id)).json.status).toBe('approved');
    expect((await o.patch(`/members/${dev.member.id}`, { environments: ['staging'] })).status).toBe(200);
    const used = await change(under(id));
    expect([codeOf(used), used.json.error.message]).toEqual([
      [409, 'APPROVAL_MISMATCH'],
      'A member who approved this request may no longer approve it. Repeat the request without Approval-Id to ask again.',
    ]);
  });

  slow('does not decide what concerns other environments too, or the whole organisation', async () => {
    const { o, asked, ann, dev } = await newDesk();
    await newApprovalPolicy(o, ['secret.share', 'team.change'], { config: { approvers: { role: 'admin' } } });
    const viewer = await newMember(o, 'viewer');
    const grant = (environments?: string[]) =>
      asked.post('/grants', {
        grantee: { type: 'member', id: viewer.id },
        permission: 'read',
        ...(environments && { environments }),
      });
    const both = approvalIn(await grant(['development', 'production'])).id;
    const all = approvalIn(await grant()).id;
    const one = approvalIn(await grant(['development'])).id;
    for (const id of [both, all]) expect(codeOf(await approve(dev, id))).toEqual(LACKS);
    expect((await approve(dev, one)).status).toBe(200);
    const team = await newTeam(ann.o);
    const changed = approvalIn(await asked.del(`/teams/${team}`)).id;
    expect(codeOf(await approve(dev, changed))).toEqual(LACKS);
  });

  slow('narrowing an approver of the role that decides is held by the policy itself', async () => {
    const { o, dev } = await newDesk();
    for (const environments of [['staging'], ['development', 'staging'], null])
      expect(codeOf(await o.patch(`/members/${dev.member.id}`, { environments }))).toEqual([
        403,
        'APPROVAL_REQUIRED',
      ]);
  });

  slow('decides on a member of those environments, and on a policy of those', async () => {
    const { o, asked, dev } = await newDesk();
    await newApprovalPolicy(o, ['member.change', 'policy.change'], { config: BY_ADMINS });
    const invite = (environments?: string[]) =>
      asked.post('/members', {
        email: 'v@x.io',
        name: 'v',
        role: 'viewer',
        ...(environments && { environments }),
      });
    expect(codeOf(await invite(['development']))).toEqual([403, 'SCOPE_EXCEEDS_PARENT']);
    const make = (environments?: string[]) =>
      asked.post('/policies', {
        name: 'p',
        kind: 'naming',
        config: { pattern: '.' },
        ...(environments && { applies_to: { environments } }),
      });
    const one = approvalIn(await make(['development'])).id;
    const all = approvalIn(await make()).id;
    expect((await approve(dev, one)).status).toBe(200);
    expect(codeOf(await approve(dev, all))).toEqual(LACKS);
    const viewer = async (environments?: string[]) =>
      approvalIn(
        await o.post('/members', {
          email: 'w@x.io',
          name: 'w',
          role: 'viewer',
          ...(environments && { environments }),
        }),
      ).id;
    const near = await viewer(['development']);
    const wide = await viewer();
    expect((await approve(dev, near)).status).toBe(200);
    expect(codeOf(await approve(dev, wide))).toEqual(LACKS);
  });

  slow('a member accountable for an agent decides where they hold anything, by a grant too', async () => {
    const { o } = await newOffice();
    const far = await newSecret(o, { name: 'FAR', environment: 'production' });
    const dev = await colleague(o, 'developer', { environments: ['development'] });
    await newApprovalPolicy(o, ['secret.read'], { config: { approvers: { accountable: true } } });
    const grant = await newGrant(o, 'member', dev.member.id, { environments: ['production'] });
    const agent = await newAgent(dev.o, { scopes: ['secrets:read'], environments: ['production'] });
    const read = () => agent.o.get(`/secrets/${far.id}`);
    const { id } = approvalIn(await read());
    await o.del(`/grants/${grant.id}`);
    expect(codeOf(await approve(dev, id))).toEqual(LACKS);
    await newGrant(o, 'member', dev.member.id, { environments: ['production'] });
    expect((await approve(dev, id)).json.status).toBe('approved');
  });
});

describe('approvals: possible', () => {
  it('approvers count in each environment that the policy applies to', async () => {
    const { o } = await newOffice();
    const team = await newTeam(
      o,
      (await newMember(o, 'admin', { environments: ['development', 'staging'] })).id,
    );
    const create = (environments?: string[], fields = {}) =>
      o.post('/policies', {
        name: 'p',
        kind: 'approval',
        enabled: false,
        ...(environments && { applies_to: { environments } }),
        config: { operations: ['secret.read'], required: 1, approvers: { team_id: team }, ...fields },
      });
    const { status, json } = await create(['development', 'staging']);
    expect(status).toBe(201);
    for (const environments of [undefined, ['production'], ['development', 'production']])
      expect(codeOf(await create(environments))).toEqual(IMPOSSIBLE);
    expect(codeOf(await create(['development'], { operations: ['secret.read', 'team.change'] }))).toEqual(
      IMPOSSIBLE,
    );
    const path = `/policies/${json.id}`;
    for (const applies_to of [{ environments: ['production'] }, {}])
      expect(codeOf(await o.patch(path, { applies_to }))).toEqual(IMPOSSIBLE);
    expect((await o.patch(path, { applies_to: { environments: ['staging'] } })).status).toBe(200);
    await o.post(`/teams/${team}/members`, {
      member_id: (await newMember(o, 'admin', { environments: ['production'] })).id,
    });
    expect((await create(['development', 'production'])).status).toBe(201);
    expect(codeOf(await create(['development', 'production'], { required: 2 }))).toEqual(IMPOSSIBLE);
  });

  slow(
    'an owner adds an approver alone only where there are too few for everything that the new one would decide',
    async () => {
      const { o, ann } = await newOffice();
      const dev = await newMember(o, 'admin', { environments: ['development'] });
      const team = await newTeam(o, dev.id);
      const policy = { operations: ['secret.read'], required: 1, approvers: { team_id: team } };
      const invite = (environments: string[] | undefined, n: number) =>
        ann.o.post('/members', {
          email: `m${n}@example.com`,
          name: 'M',
          role: 'admin',
          ...(environments && { environments }),
        });
      await newApprovalPolicy(o, policy.operations, {
        config: policy,
        applies_to: { environments: ['development'] },
      });
      const HELD = [403, 'APPROVAL_REQUIRED'];
      expect((await invite(['staging'], 1)).status).toBe(201);
      for (const [n, environments] of [['development'], ['development', 'staging'], undefined].entries())
        expect(codeOf(await invite(environments, n + 2)), String(environments)).toEqual(HELD);
      const other = await newMember(o, 'viewer');
      expect(codeOf(await ann.o.post(`/teams/${team}/members`, { member_id: other.id }))).toEqual(HELD);
    },
  );

  it('a decider with environments lifts no policy that guards the whole organisation', async () => {
    const { asked, dev, o, ann } = await newDesk();
    const policy = await newApprovalPolicy(o, ['secret.read', 'break_glass.create'], {
      config: BY_ADMINS,
      applies_to: { environments: ['development'] },
    });
    await settle(o);
    const { id } = approvalIn(await ann.o.del(`/policies/${policy}`));
    expect(codeOf(await dev.o.post(`/approvals/${id}/approve`))).toEqual(LACKS);
    expect(codeOf(await asked.get(`/policies/${policy}`))).not.toEqual([404, 'NOT_FOUND']);
  });
});
