// Policies whose approvers are the members accountable for an agent: one person's check on a program, which
// is no second person's.

import { describe, expect, it } from 'vitest';
import { newAgent, newKey, newSession } from '../../support/credentials';
import { approvalIn, newApprovalPolicy, newOffice } from '../../support/governance/approvals';
import { newIssuer, newTrust, newWorkload } from '../../support/signin/issuers';
import { slow } from '../../support/slow';
import { type Answer, newSecret, useWorld } from '../../support/world';

useWorld();

const ACCOUNTABLE = { config: { approvers: { accountable: true } } };
const WARNING =
  'This policy holds only agents and credentials that they created, and one accountable member approves. Other callers pass, unless another policy holds them.';

/** An office with a held secret, and an agent that bob made. */
async function newDesk(operations = ['secret.read']) {
  const office = await newOffice();
  const { o, bob } = office;
  const secret = await newSecret(o, { name: 'HELD' });
  const policy = await newApprovalPolicy(o, operations, { applies_to: { names: ['HELD'] }, ...ACCOUNTABLE });
  const agent = await newAgent(bob.o, {
    scopes: ['secrets:read', 'secrets:write', 'tokens:read', 'tokens:write', 'policies:write'],
  });
  const read = (by = agent.o, id?: string) =>
    by.get(`/secrets/${secret.id}`, id ? { 'Approval-Id': id } : undefined);
  return { ...office, secret, policy, agent, read };
}

const codeOf = ({ status, json }: Answer) => [status, json?.error?.code];

describe('accountable approvers: of an agent', () => {
  it('the member accountable for the agent approves alone, confirmed, and others cannot', async () => {
    const { ann, bob, read } = await newDesk();
    const { id } = approvalIn(await read());
    expect((await ann.o.post(`/approvals/${id}/approve`)).json.error.message).toContain(
      'Only members accountable for the agent',
    );
    const shown = (await bob.o.get(`/approvals/${id}`)).json;
    expect([shown.may_decide, shown.required, shown.policies[0].accountable]).toEqual([true, 1, true]);
    expect((await bob.o.post(`/approvals/${id}/approve`)).status).toBe(200);
    expect((await read(undefined, id)).status).toBe(200);
    expect(codeOf(await read(undefined, id))).toEqual([409, 'APPROVAL_MISMATCH']);
  });

  slow('needs no approvals:decide, and a fresh confirmation', async () => {
    const { o, bob, read } = await newDesk();
    expect((await o.patch(`/members/${bob.member.id}`, { role: 'developer' })).status).toBe(200);
    const { id } = approvalIn(await read());
    const answer = await bob.o.post(`/approvals/${id}/approve`);
    expect([answer.status, answer.json.status]).toEqual([200, 'approved']);
    expect((await bob.o.get('/approvals')).json.data.map(({ id }: { id: string }) => id)).toContain(id);
  });

  it('holds agents and what they created, and lets everybody else pass', async () => {
    const { o, ann, bob, asked, agent, read } = await newDesk();
    for (const by of [o, ann.o, bob.o, asked, (await newSession(asked)).o])
      expect((await read(by)).status).toBe(200);
    const sub = await newAgent(agent.o, { scopes: ['secrets:read'] });
    const key = await newKey(agent.o, { scopes: ['secrets:read'] });
    for (const by of [agent.o, sub.o, key.o, (await newSession(key.o)).o])
      expect(codeOf(await read(by))).toEqual([403, 'APPROVAL_REQUIRED']);
    expect((await agent.o.get('/environments/production/values')).json.withheld).toEqual(['HELD']);
    expect((await o.get('/environments/production/values')).json.withheld).toEqual([]);
  });

  slow('its decision counts for no other policy', async () => {
    const { o, ann, bob, read } = await newDesk();
    await newApprovalPolicy(o, ['secret.read'], { applies_to: { names: ['HELD'] } });
    const { id } = approvalIn(await read());
    expect((await bob.o.post(`/approvals/${id}/approve`)).json.status).toBe('pending');
    expect(codeOf(await read(undefined, id))).toEqual([409, 'APPROVAL_MISMATCH']);
    expect((await ann.o.post(`/approvals/${id}/approve`)).json.status).toBe('approved');
    expect((await read(undefined, id)).status).toBe(200);
  });

  slow('an agent cannot weaken the policy, and a person who holds policies:write can', async () => {
    const { o, agent, policy } = await newDesk(['secret.read', 'policy.change']);
    for (const change of [{ enabled: false }, { applies_to: { names: ['OTHER'] } }])
      expect(codeOf(await agent.o.patch(`/policies/${policy}`, change))).toEqual([403, 'APPROVAL_REQUIRED']);
    expect(codeOf(await agent.o.del(`/policies/${policy}`))).toEqual([403, 'APPROVAL_REQUIRED']);
    expect((await o.patch(`/policies/${policy}`, { enabled: false })).status).toBe(200);
  });
});

describe('accountable approvers: what an agent makes others do', () => {
  slow('an agent widens no trust of a person, and what its own trusts give is held', async () => {
    const { o, bob, read } = await newDesk();
    const issuer = await newIssuer();
    const scopes = ['secrets:*', 'tokens:*'];
    const agent = (await newAgent(bob.o, { scopes })).o;
    const limits = { scopes: ['secrets:list'], environments: ['staging'], secrets: ['APP_*'] };
    const trust = await newTrust(bob.o, issuer, limits);
    const wider = [
      ...[
        { scopes: ['secrets:list', 'secrets:read'] },
        { environments: ['staging', 'production'] },
        { environments: null },
      ],
      ...[{ secrets: ['*'] }, { secrets: null }, { ttlSeconds: 86_400 }],
    ];
    const accepting = [
      { claims: { sub: 'repo:acme/*' } },
      { claims: { sub: ['repo:acme/app:*', 'repo:mallory/app:*'] } },
      { jwks: null },
    ];
    for (const fields of [...wider, ...accepting])
      expect(codeOf(await agent.patch(`/trusts/${trust.id}`, fields)), JSON.stringify(fields)).toEqual([
        403,
        'SCOPE_EXCEEDS_PARENT',
      ]);
    // Its own trust is judged like the agent, also once a person has made it accept other tokens.
    const own = await newTrust(agent, issuer);
    expect(codeOf(await read((await newWorkload(o, own, await issuer.sign())).o))).toEqual([
      403,
      'APPROVAL_REQUIRED',
    ]);
    expect((await bob.o.patch(`/trusts/${own.id}`, { claims: { sub: 'repo:acme/*' } })).status).toBe(200);
    expect(codeOf(await read((await newWorkload(o, own, await issuer.sign())).o))).toEqual([
      403,
      'APPROVAL_REQUIRED',
    ]);
  });
});

describe('accountable approvers: the policy', () => {
  it('warns that other callers pass, requires one approval, and replaces no second person', async () => {
    const { o } = await newOffice();
    const config = { operations: ['secret.read'], required: 1, approvers: { accountable: true } };
    const made = (await o.post('/policies', { name: 'agents', kind: 'approval', config })).json;
    expect(made.warning).toBe(WARNING);
    expect((await o.patch(`/policies/${made.id}`, { name: 'programs' })).json.warning).toBe(WARNING);
    expect((await o.get(`/policies/${made.id}`)).json.warning).toBeUndefined();
    for (const wrong of [
      { required: 2 },
      { approvers: { accountable: false } },
      { approvers: { accountable: true, role: 'owner' } },
    ])
      expect(
        (await o.post('/policies', { name: 'x', kind: 'approval', config: { ...config, ...wrong } })).status,
      ).toBe(400);
    // Replacing a second person by it weakens a policy, which that policy holds.
    const strict = await newApprovalPolicy(o, ['secret.read']);
    expect(codeOf(await o.patch(`/policies/${strict}`, { config }))).toEqual([403, 'APPROVAL_REQUIRED']);
  });
});
