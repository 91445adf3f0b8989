// Expiry: warnings 7 days and 1 day ahead, and the end of a secret's lifetime, each once, also after an
// outage.
import { beforeEach, describe, expect, it } from 'vitest';
import { runTasks } from '../../../src/gate/tasks/run';
import { newAgent, newBreakGlass, newKey, newSession } from '../../support/credentials';
import { faults, holdNext } from '../../support/faults';
import { evict, inCore, loseStorage } from '../../support/gate';
import { slow } from '../../support/slow';
import { DAY, HOUR, MINUTE } from '../../support/time';
import { type Caller, newOrg, newSecret, useWorld } from '../../support/world';

useWorld();

const START = Date.parse('2027-03-01T00:00:00.000Z');
beforeEach(() => {
  faults.clock = START;
});
const at = (ms: number) => {
  faults.clock = START + ms;
};
const seconds = (ms: number) => ms / 1000;

/** Runs what is due, as the alarm would. */
const run = (o: Caller, turns = 6) =>
  inCore(o, async (core) => {
    for (let turn = 0; turn < turns; turn++) await runTasks(core);
  });

const KINDS = ['SECRET_EXPIRING', 'SECRET_EXPIRED', 'CREDENTIAL_EXPIRING'];
/** What was told of expiry, oldest first: the kind, the days ahead, the name. */
const told = (o: Caller) =>
  inCore(o, ({ outbox }) =>
    outbox
      .oldest(5000)
      .flatMap(({ type, data }) =>
        KINDS.includes(type) ? [[type, data.days ?? 0, data.name] as const] : [],
      ),
  );
const entries = async (o: Caller, action: string) =>
  (await o.get(`/audit-log?action=${action}&limit=100`)).json.data;

describe('expiry of a secret', () => {
  it('raises an event 7 days and 1 day ahead, and at the end, each once, with an audit entry', async () => {
    const o = await newOrg();
    const { id } = await newSecret(o, { name: 'short-lived', ttlSeconds: seconds(10 * DAY) });
    const seen: number[] = [];
    for (const time of [
      0,
      3 * DAY - 1,
      3 * DAY,
      4 * DAY,
      9 * DAY - 1,
      9 * DAY,
      10 * DAY - 1,
      10 * DAY,
      20 * DAY,
    ]) {
      at(time);
      await run(o);
      seen.push((await told(o)).length);
    }
    expect(seen).toEqual([0, 0, 1, 1, 1, 2, 2, 3, 3]);
    expect(await told(o)).toEqual([
      ['SECRET_EXPIRING', 7, 'short-lived'],
      ['SECRET_EXPIRING', 1, 'short-lived'],
      ['SECRET_EXPIRED', 0, 'short-lived'],
    ]);
    const { data } = (await o.get('/events?types=SECRET_EXPIRED')).json;
    expect(data[0].data).toEqual({
      secret_id: id,
      name: 'short-lived',
      environment: 'production',
      environment_id: expect.stringMatching(/^env_/),
      version: 1,
      expires_at: new Date(START + 10 * DAY).toISOString(),
    });
    expect(await entries(o, 'secret.expiring')).toHaveLength(2);
    expect(await entries(o, 'secret.expired')).toMatchObject([
      {
        actor: { kind: 'system' },
        resource: id,
        resource_name: 'short-lived',
        environment: 'production',
        outcome: 'success',
      },
    ]);
    expect((await o.get('/audit-log/verify')).json.ok).toBe(true);
  });

  it('a lifetime that is shorter than a warning has none', async () => {
    const o = await newOrg();
    await newSecret(o, { name: 'hour', ttlSeconds: seconds(HOUR) });
    await newSecret(o, { name: 'days', ttlSeconds: seconds(3 * DAY) });
    at(4 * DAY);
    await run(o);
    expect(await told(o)).toEqual([
      ['SECRET_EXPIRED', 0, 'hour'],
      ['SECRET_EXPIRED', 0, 'days'],
    ]);
  });

  it('after a week of outage, each event is raised once, and no warning comes after the expiry', async () => {
    const o = await newOrg();
    await newSecret(o, { name: 'over', ttlSeconds: seconds(8 * DAY) });
    await newSecret(o, { name: 'near', ttlSeconds: seconds(8 * DAY + 12 * HOUR) });
    await newSecret(o, { name: 'far', ttlSeconds: seconds(12 * DAY) });
    at(8 * DAY + HOUR);
    await run(o);
    await run(o);
    expect((await told(o)).sort()).toEqual([
      ['SECRET_EXPIRED', 0, 'over'],
      ['SECRET_EXPIRING', 1, 'near'],
      ['SECRET_EXPIRING', 7, 'far'],
      ['SECRET_EXPIRING', 7, 'near'],
    ]);
  });

  slow('a new lifetime replaces the events of the former one', async () => {
    const o = await newOrg();
    const { id } = await newSecret(o, { name: 'a', ttlSeconds: seconds(2 * DAY) });
    await o.patch(`/secrets/${id}`, { ttlSeconds: seconds(20 * DAY) });
    at(5 * DAY);
    await run(o);
    expect(await told(o)).toEqual([]);
    at(13 * DAY);
    await run(o);
    // Other changes neither repeat a warning nor lose one.
    await o.patch(`/secrets/${id}`, { description: 'x' });
    at(19 * DAY);
    await o.patch(`/secrets/${id}`, { description: 'y' });
    await run(o);
    await o.patch(`/secrets/${id}`, { ttlSeconds: null });
    at(30 * DAY);
    await run(o);
    expect(await told(o)).toEqual([
      ['SECRET_EXPIRING', 7, 'a'],
      ['SECRET_EXPIRING', 1, 'a'],
    ]);
  });

  it('a deleted or revoked secret raises none; one that is restored in time does', async () => {
    const o = await newOrg();
    const gone = await newSecret(o, { name: 'gone', ttlSeconds: seconds(3 * DAY) });
    const back = await newSecret(o, { name: 'back', ttlSeconds: seconds(3 * DAY) });
    const purged = await newSecret(o, { name: 'purged', ttlSeconds: seconds(3 * DAY) });
    for (const { id } of [gone, back]) await o.del(`/secrets/${id}`);
    await o.del(`/secrets/${purged.id}?permanent=true`);
    await o.post(`/secrets/${back.id}/restore`);
    at(4 * DAY);
    await run(o);
    expect(await told(o)).toEqual([['SECRET_EXPIRED', 0, 'back']]);
  });

  it('a change in progress comes first', async () => {
    const o = await newOrg();
    const { id } = await newSecret(o, { name: 'a', ttlSeconds: seconds(2 * DAY) });
    const held = holdNext('batch');
    const change = o.patch(`/secrets/${id}`, { ttlSeconds: seconds(20 * DAY) });
    await held.held();
    at(3 * DAY);
    const ran = run(o);
    for (let n = 0; n < 5; n++) await inCore(o, () => null);
    held.release();
    await change;
    await ran;
    expect(await told(o)).toEqual([]);
  });

  slow('is raised once after a restart of the gate, and not again after its storage is lost', async () => {
    const o = await newOrg();
    await newSecret(o, { name: 'a', ttlSeconds: seconds(10 * DAY) });
    at(3 * DAY);
    await run(o);
    await evict(o);
    await run(o);
    expect(await told(o)).toHaveLength(1);
    await loseStorage(o);
    await o.get('/secrets');
    at(4 * DAY);
    await run(o);
    expect(await told(o)).toEqual([]);
    at(9 * DAY);
    await run(o);
    expect(await told(o)).toEqual([['SECRET_EXPIRING', 1, 'a']]);
  });

  it('a run is bounded, and continues immediately', async () => {
    const o = await newOrg();
    await inCore(o, ({ storage }) => {
      storage.transactionSync(() => {
        for (let n = 0; n < 450; n++)
          storage.sql.exec(
            "insert into expiries values (?, 0, 'secret', ?)",
            `sec_${String(n).padStart(4, '0')}`,
            START,
          );
      });
    });
    const left = (turns: number) =>
      inCore(o, async (core) => {
        core.schedule.at('expiry', core.now());
        for (let turn = 0; turn < turns; turn++) await runTasks(core);
        return core.storage.sql.exec<{ n: number }>('select count(*) n from expiries').one().n;
      });
    expect([await left(1), await left(1), await left(1)]).toEqual([250, 50, 0]);
  });

  it('a deleted organisation raises none', async () => {
    const o = await newOrg();
    await newSecret(o, { name: 'a', ttlSeconds: seconds(HOUR) });
    const { name } = (await o.get('')).json;
    expect((await o.del('', { confirm: name })).status).toBeLessThan(300);
    at(2 * HOUR);
    await run(o);
    expect(await told(o)).toEqual([]);
  });
});

describe('expiry of a credential', () => {
  slow('raises an event 7 days and 1 day ahead, but none for session tokens', async () => {
    const o = await newOrg();
    await newKey(o, { name: 'key', expires_at: new Date(START + 10 * DAY).toISOString() });
    await newAgent(o, { name: 'agent', ttlSeconds: seconds(8 * DAY) });
    await newBreakGlass(o);
    await newSession(o);
    for (const time of [DAY, 3 * DAY, 7 * DAY, 9 * DAY, 11 * DAY]) {
      at(time);
      await run(o);
    }
    expect(await told(o)).toEqual([
      ['CREDENTIAL_EXPIRING', 7, 'agent'],
      ['CREDENTIAL_EXPIRING', 7, 'key'],
      ['CREDENTIAL_EXPIRING', 1, 'agent'],
      ['CREDENTIAL_EXPIRING', 1, 'key'],
    ]);
    expect(await entries(o, 'credential.expiring')).toHaveLength(4);
  });

  it('raises none for a credential that was revoked, or ended with its parent or in a panic', async () => {
    const o = await newOrg();
    const expires_at = new Date(START + 2 * DAY).toISOString();
    const revoked = await newKey(o, { name: 'revoked', expires_at });
    await o.del(`/api-keys/${revoked.id}`);
    const parent = await newAgent(o, {
      name: 'parent',
      scopes: ['tokens:write', 'secrets:read'],
      ttlSeconds: seconds(20 * DAY),
    });
    await newAgent(parent.o, { name: 'child', ttlSeconds: seconds(2 * DAY) });
    await o.del(`/agent-credentials/${parent.id}`);
    await newAgent(o, { name: 'panicked', ttlSeconds: seconds(2 * DAY) });
    await o.post('/panic', { reason: 'stolen' });
    await newAgent(o, { name: 'alive', ttlSeconds: seconds(2 * DAY) });
    at(DAY + MINUTE);
    await run(o);
    expect(await told(o)).toEqual([['CREDENTIAL_EXPIRING', 1, 'alive']]);
  });
});
