// Who widens somebody else's agent or trust is accountable for what it does, and decides none of its
// requests.
import { expect, it } from 'vitest';
import { newAgent } from '../../support/credentials';
import { inCore } from '../../support/gate';
import { colleague, newOffice } from '../../support/governance/approvals';
import { newIssuer, newTrust } from '../../support/signin/issuers';
import { useWorld } from '../../support/world';

useWorld();

it('attack: who widens an agent becomes accountable for it; who narrows it does not', async () => {
  const { o } = await newOffice();
  const other = await colleague(o, 'admin');
  const agent = await newAgent(o, {
    scopes: ['secrets:list', 'secrets:read'],
    environments: ['development'],
  });
  const accountable = () => inCore(o, ({ rows }) => rows.get('credential', agent.id)?.accountable ?? []);
  const before = await accountable();
  expect(before).not.toContain(other.member.id);
  const narrowed = await other.o.patch(`/agent-credentials/${agent.id}`, { secrets: ['a'] });
  expect([narrowed.status, await accountable()]).toEqual([200, before]);
  const widened = await other.o.patch(`/agent-credentials/${agent.id}`, { environments: null });
  expect([widened.status, await accountable()]).toEqual([200, [...before, other.member.id]]);
});

it('attack: who widens a trust becomes accountable for it; who narrows it does not', async () => {
  const { o } = await newOffice();
  const other = await colleague(o, 'admin');
  const issuer = await newIssuer();
  const trust = await newTrust(o, issuer, {
    scopes: ['secrets:list', 'secrets:read'],
    environments: ['development'],
  });
  const accountable = () => inCore(o, ({ rows }) => rows.get('credential', trust.id)?.accountable ?? []);
  const before = await accountable();
  const narrowed = await other.o.patch(`/trusts/${trust.id}`, { secrets: ['a'] });
  expect([narrowed.status, await accountable()]).toEqual([200, before]);
  const widened = await other.o.patch(`/trusts/${trust.id}`, { environments: null });
  expect([widened.status, await accountable()]).toEqual([200, [...before, other.member.id]]);
});
