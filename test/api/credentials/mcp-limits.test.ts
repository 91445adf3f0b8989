// What svc mcp may do with an agent: stored with the credential, passed on to what it creates, widened only
// by those who may.
import { describe, expect, it } from 'vitest';
import { newAgent, newKey } from '../../support/credentials';
import { newOrg, useWorld, whoami } from '../../support/world';

useWorld();

const BIND = 'STRIPE_KEY=api.stripe.com/v1,header=Authorization';
const limits = (given: object = {}) => ({
  bindings: [],
  hosts: [],
  run: false,
  commands: null,
  read: false,
  ...given,
});
const SCOPES = ['secrets:read', 'tokens:write', 'tokens:read'];

describe('agent: limits of svc mcp', () => {
  it('are stored, shown to the agent, and none by default', async () => {
    const o = await newOrg();
    const agent = await newAgent(o, { mcp_limits: { bindings: [BIND] } });
    expect(agent.mcp_limits).toEqual(limits({ bindings: [BIND] }));
    expect((await whoami(agent)).json.mcp_limits).toEqual(limits({ bindings: [BIND] }));
    const free = await newAgent(o);
    expect((await whoami(free)).json.mcp_limits).toBeNull();
    expect((await whoami(await newKey(o))).json).not.toHaveProperty('mcp_limits');
    const narrowed = await o.patch(`/agent-credentials/${free.id}`, { mcp_limits: { read: true } });
    expect([narrowed.status, narrowed.json.mcp_limits]).toEqual([200, limits({ read: true })]);
    expect((await o.patch(`/agent-credentials/${free.id}`, { mcp_limits: null })).json.mcp_limits).toBeNull();
  });

  it('validation: unknown fields, control characters and long lists are 400', async () => {
    const o = await newOrg();
    for (const wrong of [
      { all: true },
      { bindings: ['A=a\nb'] },
      { hosts: Array(51).fill('a.example') },
      { run: 'yes' },
      'none',
    ])
      expect(
        (await o.post('/agent-credentials', { name: 'a', scopes: ['secrets:read'], mcp_limits: wrong }))
          .status,
      ).toBe(400);
  });

  it('attack: an agent with limits neither creates nor becomes one with wider limits', async () => {
    const o = await newOrg();
    const held = limits({ bindings: [BIND], run: true, commands: ['psql'] });
    const agent = await newAgent(o, { scopes: SCOPES, mcp_limits: held });
    const other = await newAgent(o, { scopes: ['secrets:read'] });
    for (const wider of [
      { read: true },
      { hosts: ['evil.example'] },
      { bindings: [BIND, 'B=b.example'] },
      { run: true },
    ]) {
      const made = await agent.o.post('/agent-credentials', {
        name: 'b',
        scopes: ['secrets:read'],
        mcp_limits: wider,
      });
      expect([made.status, made.json.error?.code]).toEqual([403, 'SCOPE_EXCEEDS_PARENT']);
      const own = await agent.o.patch(`/agent-credentials/${agent.id}`, {
        mcp_limits: { ...held, ...wider },
      });
      if (!('run' in wider))
        expect([own.status, own.json.error?.code]).toEqual([403, 'SCOPE_EXCEEDS_PARENT']);
    }
    expect((await agent.o.patch(`/agent-credentials/${agent.id}`, { mcp_limits: null })).status).toBe(403);
    expect(
      (await agent.o.patch(`/agent-credentials/${other.id}`, { scopes: ['secrets:read', 'tokens:read'] }))
        .status,
    ).toBe(403);
    const child = await newAgent(agent.o);
    expect(child.mcp_limits).toEqual(held);
    // Without its binding, the secret could go to programs.
    const unbound = { name: 'b', scopes: ['secrets:read'], mcp_limits: { run: true, commands: ['psql'] } };
    expect((await agent.o.post('/agent-credentials', unbound)).json.error?.code).toBe('SCOPE_EXCEEDS_PARENT');
    expect((await newAgent(agent.o, { mcp_limits: {} })).mcp_limits).toEqual(limits());
    // What it creates of another kind passes them on too.
    const key = await newKey(agent.o, { scopes: SCOPES });
    expect((await newAgent(key.o)).mcp_limits).toEqual(held);
    // Limits narrowed later apply to what it created.
    await o.patch(`/agent-credentials/${agent.id}`, { mcp_limits: { bindings: [BIND] } });
    expect((await whoami(child)).json.mcp_limits).toEqual(limits({ bindings: [BIND], commands: ['psql'] }));
    await o.patch(`/agent-credentials/${agent.id}`, {
      mcp_limits: { bindings: ['STRIPE_KEY=other.example'], read: true },
    });
    await o.patch(`/agent-credentials/${child.id}`, { mcp_limits: { bindings: [BIND], read: true } });
    expect((await whoami(child)).json.mcp_limits).toEqual(limits());
  });
});
