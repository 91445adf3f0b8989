// Revocation under load: fifty readers are in flight when a credential, or one that it descends from, ends.
// Not one read that started after the reply to that succeeds, of any kind of credential.
import { decodeJwt } from 'jose';
import { describe, expect, it } from 'vitest';
import { newAgent, newBreakGlass, newKey, newProvider, newSession } from '../support/credentials';
import { faults } from '../support/faults';
import { newGrant, newTeam } from '../support/people';
import { another, signIn } from '../support/signin/browser';
import { few } from '../support/slow';
import { type Answer, type Caller, newOrg, newSecret, send, useWorld } from '../support/world';

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
    return {
      token: emergency.token,
      end: () => o.del(`/break-glass-tokens/${emergency.id}`),
      reads: [50, 10],
    };
  },
  'a provider token, revoked': async (o) => {
    const provider = await newProvider(o);
    return { token: provider.token, end: () => o.del(`/provider-tokens/${provider.id}`) };
  },
  "a member's browser session, signed out": async (o) => {
    const browser = await signIn(o, 'developer');
    return { token: browser.token, end: () => browser.logout() };
  },
  'a browser session, ended from another one': async (o) => {
    const browser = await signIn(o, 'developer');
    const other = await another(browser);
    const sid = decodeJwt(browser.token).sid as string;
    return {
      token: browser.token,
      end: () => send('DELETE', `/api/v1/auth/sessions/${sid}`, { token: other.token }),
    };
  },
  'a member, removed': async (o) => {
    const browser = await signIn(o, 'developer');
    return { token: browser.token, end: () => o.del(`/members/${browser.member.id}`) };
  },
  'what a removed member made, ended with the member': async (o) => {
    const browser = await signIn(o, 'developer');
    const key = await newKey(browser.o, { scopes: ['secrets:read'] });
    return { token: key.token, end: () => o.del(`/members/${browser.member.id}?revoke_credentials=true`) };
  },
  'an agent, in a panic': async (o) => {
    const agent = await newAgent(o, { rate_limit: 6000 });
    return { token: agent.token, end: () => o.post('/panic', { reason: 'a rehearsal' }) };
  },
  'what a contained key made': async (o) => {
    const key = await newKey(o);
    const child = await newKey(key.o);
    return { token: child.token, end: () => o.post(`/credentials/${key.id}/contain`) };
  },
};

/** Each way in which somebody may less than before. */
const narrowings: Record<string, (o: Caller) => Promise<{ token: string; narrow(): Promise<Answer> }>> = {
  'an agent, given other names': async (o) => {
    const agent = await newAgent(o, { rate_limit: 6000 });
    return {
      token: agent.token,
      narrow: () => o.patch(`/agent-credentials/${agent.id}`, { secrets: ['a'] }),
    };
  },
  'a member, given a lesser role': async (o) => {
    const browser = await signIn(o, 'developer');
    return {
      token: browser.token,
      narrow: () => o.patch(`/members/${browser.member.id}`, { role: 'viewer' }),
    };
  },
  'a member, whose grant is taken away': async (o) => {
    const browser = await signIn(o, 'viewer');
    const grant = await newGrant(o, 'member', browser.member.id);
    return { token: browser.token, narrow: () => o.del(`/grants/${grant.id}`) };
  },
  'a member, taken out of a team that holds a grant': async (o) => {
    const browser = await signIn(o, 'viewer');
    const team = await newTeam(o, browser.member.id);
    await newGrant(o, 'team', team);
    return { token: browser.token, narrow: () => o.del(`/teams/${team}/members/${browser.member.id}`) };
  },
  'a member, whose team is deleted': async (o) => {
    const browser = await signIn(o, 'viewer');
    const team = await newTeam(o, browser.member.id);
    await newGrant(o, 'team', team);
    return { token: browser.token, narrow: () => o.del(`/teams/${team}`) };
  },
};

describe.each(few(Object.entries(races), 4))(
  'revocation: %s, with fifty reads in flight',
  (name, prepare) => {
    it.each(few([25, 0], 1))(
      'is refused from the response on, with replies of D1 up to %d ms late',
      async (delay) => {
        const o = await newOrg();
        const { id } = await newSecret(o);
        const { token, end, reads = [150, 50] } = await prepare(o);
        // A provider token reads no secret.
        const read = () =>
          name.startsWith('a provider')
            ? send('GET', '/api/v1/whoami', { token })
            : send('GET', `/api/v1/orgs/${o.id}/secrets/${id}`, { token });

        let ended = false;
        let left = reads[0];
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
      },
    );
  },
);

describe.each(few(Object.entries(narrowings), 2))(
  'revocation: %s, with fifty reads in flight',
  (_, prepare) => {
    it('reads nothing outside its new limits from the response on', async () => {
      const o = await newOrg();
      const { id } = await newSecret(o, { name: 'b' });
      const { token, narrow } = await prepare(o);
      let narrowed = false;
      let many = 200;
      const seen: [boolean, number][] = [];
      const reader = async () => {
        while (many-- > 0) {
          const startedAfter = narrowed;
          seen.push([startedAfter, (await o.as(token).get(`/secrets/${id}`)).status]);
        }
      };
      const readers = Array.from({ length: 50 }, reader);
      expect((await narrow()).status).toBeLessThan(300);
      narrowed = true;
      many = Math.max(many, 0) + 50;
      await Promise.all([...readers, reader()]);
      const after = seen.filter(([startedAfter]) => startedAfter);
      expect(after.length).toBeGreaterThan(5);
      for (const [, status] of after) expect(status).toBe(403);
      expect(seen.some(([, status]) => status === 200)).toBe(true);
    });
  },
);
