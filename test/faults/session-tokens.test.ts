// Session tokens are in the gate alone: what ends with its storage, what D1 may still have of them, and what
// is known of those that ended.
import { afterEach, describe, expect, it } from 'vitest';
import { formerSessionQuota, formerSessions } from '../../src/gate/identity/former-sessions';
import { runTasks } from '../../src/gate/tasks/run';
import { newAgent, newKey, newSession } from '../support/credentials';
import { faults } from '../support/faults';
import { ageTo, copyStorage, inCore, loseStorage, putBackStorage } from '../support/gate';
import { exchange, newIssuer, newTrust } from '../support/signin/issuers';
import { slow } from '../support/slow';
import { type Caller, codeOf, db, newOrg, useWorld } from '../support/world';

useWorld();

const HOUR = 3_600_000;
const reads = async (by: Caller) => codeOf(await by.get('/secrets'));
const ROWS = "select count(*) n from credentials where org_id = ? and kind = 'session'";
const rowsInD1 = async (o: Caller) => (await db.prepare(ROWS).bind(o.id).first<{ n: number }>())?.n;
/** Puts the row of a session token into D1, as an earlier release did. */
async function storedInD1(o: Caller, id: string): Promise<void> {
  const row = await inCore(o, ({ rows }) => rows.get('credential', id));
  const columns = Object.keys(row as object);
  const values = Object.values(row as object).map((value) =>
    typeof value === 'object' && value !== null ? JSON.stringify(value) : value,
  );
  await db
    .prepare(`insert into credentials (${columns}) values (${columns.map(() => '?')})`)
    .bind(...values)
    .run();
}

describe('session tokens: D1', () => {
  afterEach(() => {
    faults.fail = null;
  });

  slow('session token: minting and exchanging write no D1 row, and need no batch', async () => {
    const o = await newOrg();
    const issuer = await newIssuer();
    const trust = await newTrust(o, issuer);
    faults.fail = (kind) => (kind === 'batch' ? 'before' : null);
    const session = await newSession(o);
    expect((await exchange(o, trust, await issuer.sign())).status).toBe(201);
    expect(await reads(session.o)).toEqual([200, undefined]);
    expect(await rowsInD1(o)).toBe(0);
  });

  it('session token: a gate that lost its storage ends them, those that an earlier release stored too', async () => {
    const o = await newOrg();
    const key = await newKey(o);
    const kept = await newSession(key.o);
    const revoked = await newSession(key.o);
    for (const { id } of [kept, revoked]) await storedInD1(o, id);
    await o.del(`/access-tokens/${revoked.id}`);
    expect(await reads(kept.o)).toEqual([200, undefined]);
    await loseStorage(o);
    for (const one of [kept, revoked]) expect(await reads(one.o)).toEqual([401, 'UNAUTHENTICATED']);
    expect(await rowsInD1(o)).toBe(0);
    // Their key mints again.
    expect(await reads((await newSession(key.o)).o)).toEqual([200, undefined]);
  });

  it('session token: a storage that was put back from a copy revives none that was revoked', async () => {
    const o = await newOrg();
    const session = await newSession(o);
    const copy = await copyStorage(o);
    await o.del(`/access-tokens/${session.id}`);
    await putBackStorage(o, copy);
    // The marker of the revocation in D1 tells the storage that it is older.
    expect(await reads(session.o)).toEqual([503, 'UNAVAILABLE']);
  });
});

describe('session tokens: ended ones', () => {
  const ended = async () => {
    const o = await newOrg();
    const expired = await newSession(o, { ttlSeconds: 60 });
    const revoked = await newSession(o);
    await o.del(`/access-tokens/${revoked.id}`);
    const leave = async (after: number) => {
      faults.clock = Date.now() + after;
      await inCore(o, async (core) => {
        ageTo(core, core.now());
        await runTasks(core);
      });
    };
    return { o, expired, revoked, leave };
  };

  it('session token: one that has left is expired or revoked for half a day, then unknown', async () => {
    const { o, expired, revoked, leave } = await ended();
    await leave(HOUR);
    expect(await inCore(o, ({ rows }) => rows.get('credential', expired.id))).toBe(null);
    expect([await reads(expired.o), await reads(revoked.o)]).toEqual([
      [401, 'TOKEN_EXPIRED'],
      [401, 'TOKEN_REVOKED'],
    ]);
    expect((await o.del(`/access-tokens/${expired.id}`)).status).toBe(204);
    await leave(14 * HOUR);
    for (const one of [expired, revoked]) expect(await reads(one.o)).toEqual([401, 'UNAUTHENTICATED']);
    expect((await o.del(`/access-tokens/${expired.id}`)).status).toBe(404);
  });

  slow('session token: a token of another kind never finds one that has left', async () => {
    const { o, expired, leave } = await ended();
    await leave(HOUR);
    expect((await o.del(`/agent-credentials/${expired.id}`)).status).toBe(404);
    expect(codeOf(await o.post(`/credentials/${(await newAgent(o)).id}/contain`, {}))[0]).toBe(200);
  });

  it('session token: a root keeps its newest ended ones, and pushes out none of another', async () => {
    const o = await newOrg();
    const { root, org } = formerSessionQuota;
    expect(root).toBeLessThan(org);
    const newest = await newSession(o);
    const left = await inCore(o, (core) => {
      const row = core.rows.get('credential', newest.id);
      if (!row) throw new Error('no session');
      core.storage.transactionSync(() => {
        const { sql } = core.storage;
        sql.exec("insert into ended_sessions values ('tok_of_another', 'x', '{}', 'another', 0)");
        sql.exec(
          `with recursive n (i) as (select 1 union all select i + 1 from n where i < ?)
            insert into ended_sessions select printf('tok_%06d', i), printf('%06d', i), '{}', ?, i from n`,
          root + 50,
          o.keyId,
        );
        formerSessions(core).leave([row]);
      });
      return core.storage.sql
        .exec<{ root: string; n: number }>('select root, count(*) n from ended_sessions group by root')
        .toArray();
    });
    expect(Object.fromEntries(left.map(({ root, n }) => [root, n]))).toEqual({ another: 1, [o.keyId]: root });
    expect(await inCore(o, (core) => formerSessions(core).find('id', newest.id)?.id)).toBe(newest.id);
  });
});
