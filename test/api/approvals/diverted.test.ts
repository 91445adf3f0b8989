// An approval belongs to the credential as it was when it asked. Who makes a trust accept a workload of their
// own, or widens an agent, spends nothing that was approved before, and decides nothing that it asked.
import { expect, it } from 'vitest';
import { newAgent, newKey } from '../../support/credentials';
import {
  approvalIn,
  approve,
  colleague,
  newApprovalPolicy,
  newOffice,
  under,
} from '../../support/governance/approvals';
import { newIssuer, newTrust, newWorkload, trustIn } from '../../support/signin/issuers';
import { slow } from '../../support/slow';
import { type Caller, codeOf, newSecret, useWorld } from '../../support/world';

useWorld();

/** An office with a secret whose reads are held, another admin and another owner. */
async function newHeld() {
  const office = await newOffice();
  const eve = await colleague(office.o, 'admin');
  const olga = await colleague(office.o, 'owner');
  const path = `/secrets/${(await newSecret(office.o)).id}`;
  await newApprovalPolicy(office.o, ['secret.read']);
  const held = async (by: Caller) => approvalIn(await by.get(path)).id as string;
  return { ...office, eve, olga, path, held };
}

/** The trust accepts the workloads of another issuer from now on; answers one of them. */
async function repointed(by: Caller, trust: { id: string }) {
  const issuer = await newIssuer();
  const { issuer: url, claims, jwks } = trustIn(issuer);
  expect((await by.patch(`/trusts/${trust.id}`, { issuer: url, claims, jwks })).status).toBe(200);
  return newWorkload(by, trust, await issuer.sign());
}

it('attack: who repoints a trust spends nothing that its workload was given', async () => {
  const { ann, bob, eve, path, held } = await newHeld();
  const issuer = await newIssuer();
  const trust = await newTrust(bob.o, issuer);
  const id = await held((await newWorkload(bob.o, trust, await issuer.sign())).o);
  expect((await approve(ann, id)).status).toBe(200);
  const workload = await repointed(eve.o, trust);
  expect(codeOf(await workload.o.get(path, under(id)))).toEqual([409, 'APPROVAL_MISMATCH']);
  expect((await ann.o.get(`/approvals/${id}`)).json.status).toBe('void');
  // What the workload asks itself can be approved.
  const own = await held(workload.o);
  expect(own).not.toBe(id);
  expect((await approve(ann, own)).status).toBe(200);
  expect((await workload.o.get(path, under(own))).status).toBe(200);
});

it('attack: a workload neither spends, sees nor cancels what another workload of its trust asked', async () => {
  const { ann, bob, o, path, held } = await newHeld();
  const issuer = await newIssuer();
  const trust = await newTrust(bob.o, issuer, { claims: { sub: 'repo:acme/*' } });
  const workload = async (sub: string) => newWorkload(bob.o, trust, await issuer.sign({ sub }));
  const main = await workload('repo:acme/app:ref:refs/heads/main');
  const other = await workload('repo:acme/playground:ref:refs/heads/x');
  const id = await held(main.o);
  const own = await held(other.o);
  expect(own).not.toBe(id);
  expect(await held(main.o)).toBe(id);
  expect((await approve(ann, id)).status).toBe(200);
  expect(codeOf(await other.o.get(path, under(id)))).toEqual([409, 'APPROVAL_MISMATCH']);
  expect(codeOf(await other.o.get(`/approvals/${id}`))).toEqual([403, 'INSUFFICIENT_SCOPE']);
  expect(codeOf(await other.o.post(`/approvals/${id}/cancel`))).toEqual([403, 'INSUFFICIENT_SCOPE']);
  expect((await main.o.get(path, under(id))).status).toBe(200);
  // It ends with the session that asked.
  const last = await held(main.o);
  await o.del(`/access-tokens/${main.id}`);
  expect((await o.get(`/approvals/${last}`)).json.status).toBe('void');
});

slow('attack: who repoints a trust or widens an agent does not decide what it asked before', async () => {
  const { ann, bob, olga, path, held } = await newHeld();
  const issuer = await newIssuer();
  const trust = await newTrust(bob.o, issuer);
  const before = await held((await newWorkload(bob.o, trust, await issuer.sign())).o);
  const workload = await repointed(ann.o, trust);
  expect(codeOf(await approve(ann, before))).toEqual([409, 'CONFLICT']);
  const after = await held(workload.o);
  expect(codeOf(await approve(ann, after))).toEqual([403, 'INSUFFICIENT_SCOPE']);

  const agent = await newAgent(bob.o, { ttlSeconds: 3600 });
  const asked = await held(agent.o);
  expect((await ann.o.patch(`/agent-credentials/${agent.id}`, { ttlSeconds: 7200 })).status).toBe(200);
  expect(codeOf(await approve(ann, asked))).toEqual([409, 'CONFLICT']);
  const again = await held(agent.o);
  expect(codeOf(await approve(ann, again))).toEqual([403, 'INSUFFICIENT_SCOPE']);
  expect((await approve(olga, again)).status).toBe(200);
  expect((await agent.o.get(path, under(again))).status).toBe(200);
});

it('approval: narrowing an agent, or widening what is not above it, leaves what it asked', async () => {
  const { ann, bob, eve, path, held } = await newHeld();
  const agent = await newAgent(bob.o);
  const id = await held(agent.o);
  expect((await eve.o.patch(`/agent-credentials/${agent.id}`, { ttlSeconds: 3600 })).status).toBe(200);
  expect((await approve(ann, id)).status).toBe(200);
  const key = await newKey(bob.o);
  expect((await eve.o.patch(`/api-keys/${key.id}`, { name: 'another' })).status).toBe(200);
  expect((await agent.o.get(path, under(id))).status).toBe(200);
});

it('approval: who widened a key counts for what its session asks, though the session began before', async () => {
  const { ann, bob, held, path } = await newHeld();
  const key = await newKey(bob.o, { allowed_addresses: ['0.0.0.0/0', '::/0'] });
  const session = (await key.o.post('/access-tokens', { ttlSeconds: 600 })).json;
  expect((await ann.o.patch(`/api-keys/${key.id}`, { allowed_addresses: null })).status).toBe(200);
  const asker = bob.o.as(session.token);
  const id = await held(asker);
  expect(await held(asker)).toBe(id);
  expect(codeOf(await approve(ann, id))).toEqual([403, 'INSUFFICIENT_SCOPE']);
  expect((await asker.get(path)).status).toBe(403);
});
