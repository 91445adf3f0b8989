// A gate whose storage cannot be opened hurts its organisation alone, and a reset gives that organisation a
// new gate from D1.
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { problemOf } from '../model/invariants';
import { newKey } from '../support/credentials';
import { reset as endFaults, faults } from '../support/faults';
import { evict, inGate, loseStorage } from '../support/gate';
import { slow } from '../support/slow';
import { BOOTSTRAP, type Caller, codeOf, db, newOrg, newSecret, send, useWorld } from '../support/world';

useWorld();

let logged: { event: string; org?: string }[] = [];
beforeEach(() => {
  logged = [];
  vi.spyOn(console, 'error').mockImplementation((line) => void logged.push(JSON.parse(String(line))));
});
afterEach(() => void vi.restoreAllMocks());

const reset = (o: Caller, token = BOOTSTRAP, reason = 'its storage is broken') =>
  send('POST', `/api/v1/orgs/${o.id}/gate/reset`, { token, body: { reason } });

/** Leaves storage that no release can open. */
async function breakGate(o: Caller) {
  await inGate(o, (_, { storage }) => {
    storage.sql.exec('drop table meta');
    storage.sql.exec('create table meta (other text)');
  });
  await evict(o);
}

describe('gate: reset', () => {
  slow(
    'a gate with broken storage is refused with 503 and named in the log; other organisations work',
    async () => {
      const o = await newOrg();
      const other = await newOrg();
      await breakGate(o);
      expect(codeOf(await o.get('/secrets'))).toEqual([503, 'UNAVAILABLE']);
      expect(logged).toContainEqual(expect.objectContaining({ event: 'gate_unreachable', org: o.id }));
      expect((await other.get('/secrets')).status).toBe(200);
      const archived = await send('POST', `/api/v1/orgs/${o.id}/audit-log/archive`, { token: BOOTSTRAP });
      expect(codeOf(archived)).toEqual([503, 'UNAVAILABLE']);
    },
  );

  slow(
    'begins again from D1: values, revocations and the audit log stay; the entry has the reason and what is missing',
    async () => {
      const o = await newOrg();
      const { id } = await newSecret(o, { name: 'A', value: 'v' });
      const revoked = await newKey(o);
      await o.del(`/api-keys/${revoked.id}`);
      await breakGate(o);
      const { status, json } = await reset(o);
      expect([status, json.audit_entries_archived]).toEqual([200, false]);
      expect(json.missing).toMatchObject([{ reason: 'gate_lost' }]);
      expect((await o.get(`/secrets/${id}`)).json.value).toBe('v');
      expect(codeOf(await revoked.o.get('/secrets'))).toEqual([401, 'TOKEN_REVOKED']);
      expect((await o.patch(`/secrets/${id}`, { value: 'w' })).json.version).toBe(2);
      const [entry] = (await o.get('/audit-log?action=org.reset_gate')).json.data;
      expect(entry).toMatchObject({
        reason: 'its storage is broken',
        resource: o.id,
        missing: json.missing,
        actor: { kind: 'system' },
      });
      expect(logged.map(({ event }) => event)).toContain('gate_loaded_from_database');
      expect(await problemOf(o)).toBe(null);
    },
  );

  it('of a gate that cannot upgrade its storage, which is named in the log', async () => {
    const o = await newOrg();
    const { id } = await newSecret(o, { name: 'A', value: 'v' });
    // Without its version, storage is upgraded again, which fails in the middle of a step.
    await inGate(o, (_, { storage }) => void storage.sql.exec('delete from meta'));
    await evict(o);
    expect(codeOf(await o.get('/secrets'))).toEqual([503, 'UNAVAILABLE']);
    expect(logged.map(({ event, org }) => [event, org])).toEqual([['gate_unreachable', o.id]]);
    expect((await reset(o)).status).toBe(200);
    expect((await o.get(`/secrets/${id}`)).json.value).toBe('v');
  });

  slow('moves the audit entries of a gate that still answers first, and is safe to repeat', async () => {
    const o = await newOrg();
    await newSecret(o, { name: 'A', value: 'v' });
    for (const reason of ['once', 'twice']) {
      const { status, json } = await reset(o, BOOTSTRAP, reason);
      expect([status, json.audit_entries_archived]).toEqual([200, true]);
    }
    const { data } = (await o.get('/audit-log?limit=100')).json;
    const actions = data.map(({ action }: { action: string }) => action);
    expect(actions.filter((action: string) => action === 'org.reset_gate')).toHaveLength(2);
    expect(actions).toContain('secret.create');
    expect((await o.get('/audit-log/verify')).json.ok).toBe(true);
  });

  it('permission: the bootstrap token alone, for an organisation that exists', async () => {
    const o = await newOrg();
    const other = await newOrg();
    const begun = () => inGate(o, ({ core }) => core.meta.get('epoch'));
    const before = await begun();
    for (const caller of [o, other])
      expect(
        (
          await send('POST', `/api/v1/orgs/${o.id}/gate/reset`, {
            token: caller.token,
            body: { reason: 'x' },
          })
        ).status,
      ).toBeGreaterThan(400);
    expect((await reset(o, 'b'.repeat(40))).status).toBe(401);
    expect(
      (
        await send('POST', '/api/v1/orgs/org_00000000000000000000000000/gate/reset', {
          token: BOOTSTRAP,
          body: { reason: 'x' },
        })
      ).status,
    ).toBe(404);
    expect(
      (await send('POST', `/api/v1/orgs/${o.id}/gate/reset`, { token: BOOTSTRAP, body: {} })).status,
    ).toBe(400);
    expect(await begun()).toBe(before);
  });

  it.each([
    ['lost', 'delete from orgs where id = ?'],
    ['altered', "update orgs set name = 'Other' where id = ?"],
  ])('refuses an organisation whose row D1 has %s, before anything changes', async (_what, sql) => {
    const o = await newOrg();
    const key = await newKey(o);
    const term = () => inGate(o, ({ core }) => core.meta.get('term'));
    const before = await term();
    await db.prepare(sql).bind(o.id).run();
    const refused = await reset(o);
    expect([...codeOf(refused), refused.json.error.message]).toEqual([
      409,
      'CONFLICT',
      expect.stringContaining('restore the database'),
    ]);
    expect([await term(), (await key.o.get('/secrets')).status]).toEqual([before, 200]);
  });

  it('a lost gate does not begin without a right row of the organisation, and begins once it is there again', async () => {
    const o = await newOrg();
    const key = await newKey(o);
    await loseStorage(o);
    await db.prepare("update orgs set name = name || '!' where id = ?").bind(o.id).run();
    expect(codeOf(await key.o.get('/secrets'))).toEqual([503, 'UNAVAILABLE']);
    await db.prepare("update orgs set name = rtrim(name, '!') where id = ?").bind(o.id).run();
    expect((await key.o.get('/secrets')).status).toBe(200);
  });

  it('storage of a newer release stays', async () => {
    const o = await newOrg();
    await inGate(o, (_, { storage }) =>
      storage.sql.exec("update meta set value = '999' where key = 'schema'").toArray(),
    );
    await evict(o);
    expect(codeOf(await reset(o))).toEqual([503, 'UNAVAILABLE']);
    await inGate(o, (_, { storage }) =>
      storage.sql.exec("update meta set value = '5' where key = 'schema'").toArray(),
    );
    await evict(o);
    expect((await o.get('/audit-log?action=integrity.alarm')).json.data).toEqual([]);
  });

  slow(
    'a change that is under way ends with the old gate or is in D1, and its number is not used again',
    async () => {
      const o = await newOrg();
      const { id } = await newSecret(o, { name: 'A', value: 'first' });
      faults.delay = 20;
      const [, ...changes] = await Promise.all([
        reset(o),
        ...Array.from({ length: 5 }, (_, i) => o.patch(`/secrets/${id}`, { value: `w${i}` })),
      ]);
      endFaults();
      const done = changes.filter(({ status }) => status === 200).map(({ json }) => json.version as number);
      for (const { status } of changes) expect([200, 503]).toContain(status);
      const { version } = (await o.get(`/secrets/${id}`)).json;
      expect(version).toBeGreaterThanOrEqual(Math.max(1, ...done));
      expect(await problemOf(o)).toBe(null);
    },
  );
});
