// Revocation under load: fifty readers are in flight when a credential, or one that it descends from, ends. Not one read that started
// after the reply to that succeeds, of any kind of credential.
import { describe, expect, it } from 'vitest';
import { faults } from './faults';
import {
  type Answer,
  type Caller,
  newAgent,
  newBreakGlass,
  newKey,
  newOrg,
  newProvider,
  newSecret,
  newSession,
  send,
  useWorld,
} from './world';

useWorld();

interface Race {
  /** Who reads. */
  token: string;
  /** What ends it. */
  end(): Promise<Answer>;
  /** Reads before the end and after it, where its rate limit lets it make no more. */
  reads?: [number, number];
}

/** Each way in which a credential ends by an act. */
const races: Record<string, (o: Caller) => Promise<Race>> = {
  'an API key, revoked': async (o) => {
    const key = await newKey(o);
    return { token: key.token, end: () => o.del(`/api-keys/${key.id}`) };
  },
  'an API key, rotated without an overlap': async (o) => {
    const key = await newKey(o);
    return { token: key.token, end: () => o.post(`/api-keys/${key.id}/rotate`, {}) };
  },
  'a session token, revoked': async (o) => {
    const session = await newSession(o);
    return { token: session.token, end: () => o.del(`/access-tokens/${session.id}`) };
  },
  'a session token, whose key is revoked': async (o) => {
    const key = await newKey(o);
    return { token: (await newSession(key.o)).token, end: () => o.del(`/api-keys/${key.id}`) };
  },
  'an agent, revoked': async (o) => {
    const agent = await newAgent(o, { rate_limit: 6000 });
    return { token: agent.token, end: () => o.del(`/agent-credentials/${agent.id}`) };
  },
  'what an agent made, whose agent is revoked': async (o) => {
    const agent = await newAgent(o, { scopes: ['*'], rate_limit: 6000 });
    const child = await newAgent(agent.o, { scopes: ['*'], rate_limit: 6000 });
    const key = await newKey(child.o);
    return { token: (await newSession(key.o)).token, end: () => o.del(`/agent-credentials/${agent.id}`) };
  },
  'a break-glass token, revoked': async (o) => {
    const emergency = await newBreakGlass(o);
    return { token: emergency.token, end: () => o.del(`/break-glass-tokens/${emergency.id}`), reads: [50, 10] };
  },
  'a provider token, revoked': async (o) => {
    const provider = await newProvider(o);
    return { token: provider.token, end: () => o.del(`/provider-tokens/${provider.id}`) };
  },
};

describe.each(Object.entries(races))('%s, while fifty readers are in flight', (name, prepare) => {
  it.each([0, 25])('is refused from the reply on, with replies of D1 up to %d ms late', async (delay) => {
    const o = await newOrg();
    const { id } = await newSecret(o);
    const { token, end, reads = [150, 50] } = await prepare(o);
    // A provider token reads no secret.
    const read = () =>
      name.startsWith('a provider')
        ? send('GET', '/api/v1/whoami', { token })
        : send('GET', `/api/v1/orgs/${o.id}/secrets/${id}`, { token });

    let [ended, left] = [false, reads[0]];
    const seen: { startedAfter: boolean; status: number; code?: string }[] = [];
    const reader = async () => {
      while (left-- > 0) {
        const startedAfter = ended;
        const { status, json } = await read();
        seen.push({ startedAfter, status, code: json.error?.code });
      }
    };
    faults.delay = delay;
    const readers = Array.from({ length: 50 }, reader);
    const reply = await end();
    ended = true;
    expect(reply.status).toBeLessThan(300);
    left = reads[1];
    await Promise.all([...readers, reader()]);

    const after = seen.filter(({ startedAfter }) => startedAfter);
    expect(after.length).toBeGreaterThan(5);
    for (const { status, code } of after) expect([status, code]).toEqual([401, 'TOKEN_REVOKED']);
    // What was on its way may have been turned away while the end was in doubt.
    for (const { code } of seen) expect([undefined, 'TOKEN_REVOKED', 'UNAVAILABLE']).toContain(code);
    expect(seen.some(({ status }) => status === 200)).toBe(true);
  });
});

describe('a credential that is narrowed, while fifty readers are in flight', () => {
  it('reads nothing outside what it then holds from the reply on', async () => {
    const o = await newOrg();
    const { id } = await newSecret(o, { name: 'b' });
    const agent = await newAgent(o, { rate_limit: 6000 });
    let [narrowed, many] = [false, 300];
    const seen: [boolean, number][] = [];
    const reader = async () => {
      while (many-- > 0) {
        const startedAfter = narrowed;
        seen.push([startedAfter, (await agent.o.get(`/secrets/${id}`)).status]);
      }
    };
    const readers = Array.from({ length: 50 }, reader);
    expect((await o.patch(`/agent-credentials/${agent.id}`, { secrets: ['a'] })).status).toBe(200);
    narrowed = true;
    many = Math.max(many, 0) + 50;
    await Promise.all([...readers, reader()]);
    const after = seen.filter(([startedAfter]) => startedAfter);
    expect(after.length).toBeGreaterThan(5);
    for (const [, status] of after) expect(status).toBe(403);
    expect(seen.some(([, status]) => status === 200)).toBe(true);
  });
});
