// Tokens that are no longer valid: their requests count for the rate limit, and cost at most a look-up.
import { decodeJwt } from 'jose';
import { describe, expect, it } from 'vitest';
import { formerSessions } from '../../../src/gate/identity/former-sessions';
import { unknownTokens } from '../../../src/gate/identity/identify';
import { runTasks } from '../../../src/gate/tasks/run';
import { signSession } from '../../../src/keys/jwt';
import { createSigningKeys } from '../../../src/keys/signing';
import { newSession } from '../../support/credentials';
import { faults } from '../../support/faults';
import { inCore, keyring } from '../../support/gate';
import { useComparisons, workOf } from '../../support/limits/work';
import { newSignedIn, ORIGIN } from '../../support/signin/browser';
import { slow } from '../../support/slow';
import { type Answer, codeOf, db, newOrg, send, useWorld } from '../../support/world';

useWorld();
useComparisons();

describe('rate limit: a token that the gate has forgotten', () => {
  /** A session token that was revoked, and that the gate has forgotten. */
  async function newForgottenSession() {
    const o = await newOrg();
    const session = await newSession(o);
    await o.del(`/access-tokens/${session.id}`);
    const now = Date.now() + 700_000;
    faults.clock = now;
    await inCore(o, (core) => {
      core.schedule.at('rows', now);
      return runTasks(core, now);
    });
    // As of an earlier release: in D1, and not among the ended ones of the gate.
    const row = await inCore(o, (core) => {
      const left = formerSessions(core).find('id', session.id);
      formerSessions(core).clear();
      return left as object;
    });
    const values = Object.values(row).map((value) =>
      typeof value === 'object' && value !== null ? JSON.stringify(value) : value,
    );
    await db
      .prepare(`insert into credentials (${Object.keys(row)}) values (${values.map(() => '?')})`)
      .bind(...values)
      .run();
    return { o, session, now };
  }

  slow('costs at most one query of D1 a minute, and none after 60 requests', async () => {
    const { o, session, now } = await newForgottenSession();
    const head = () => inCore(o, ({ auditLog }) => auditLog.head().sequence);
    for (const minute of [1, 2, 3]) {
      const before = await head();
      const { answer, work } = await workOf(o, async () => {
        const answers: Answer[] = [];
        for (let n = 0; n < 200; n++) answers.push(await session.o.get('/secrets'));
        return answers;
      });
      // Refusals by 401 come before 429, so that a caller is not told to try again.
      expect(new Set(answer.map((one) => codeOf(one).join(' ')))).toEqual(
        new Set(['401 TOKEN_REVOKED', ...(work.d1 ? [] : ['401 UNAUTHENTICATED'])]),
      );
      expect(work.d1).toBe(1);
      expect((await head()) - before).toBe(60);
      faults.clock = now + minute * 61_000;
    }
  });

  it('is not looked up over the limit, regardless of earlier responses', async () => {
    const { o, session } = await newForgottenSession();
    for (let n = 0; n < 60; n++) await session.o.get('/secrets');
    await inCore(o, (core) => unknownTokens(core).clear());
    const { answer, work: caused } = await workOf(o, () => session.o.get('/secrets'));
    expect([answer.status, caused.d1, caused.read]).toEqual([401, 0, 0]);
  });
});

describe('rate limit: an expired JWT of a browser session', () => {
  it('is 401 TOKEN_EXPIRED with an audit entry, and counts for the session', async () => {
    const { o, browser } = await newSignedIn();
    const key = await createSigningKeys(db, (await keyring().deployment()).signing).current();
    const { sid, jti } = decodeJwt(browser.token) as { sid: string; jti: string };
    const claims = { org: o.id, member: o.owner, session: sid, n: Number(jti) };
    const { token } = await signSession(key, ORIGIN, claims, Date.now() - 1000, Date.now() - 600_000);
    const left = async (token: string) => {
      const answer = await send('GET', `/api/v1/orgs/${o.id}/environments`, { token });
      return {
        code: codeOf(answer),
        left: Number(answer.headers.get('x-ratelimit-remaining')),
        id: answer.headers.get('request-id'),
      };
    };
    const before = await left(browser.token);
    const expired = [await left(token), await left(token), await left(token)];
    expect(expired.map(({ code }) => code)).toEqual(Array(3).fill([401, 'TOKEN_EXPIRED']));
    expect(expired.map((one) => before.left - one.left)).toEqual([1, 2, 3]);
    expect(before.left - (await left(browser.token)).left).toBe(4);
    const entries = (await o.get('/audit-log?limit=10')).json.data as {
      request_id: string;
      status: number;
      actor: object;
      action: string;
    }[];
    for (const { id } of expired)
      expect(entries.find(({ request_id }) => request_id === id)).toMatchObject({
        status: 401,
        action: 'environment.list',
        actor: { kind: 'member', id: o.owner, parent_id: sid },
      });
  });
});
