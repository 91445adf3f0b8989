// /healthz over a database that awaits adoption: a restored backup, or one that went back.

import { describe, expect, it } from 'vitest';
import { newSession } from '../support/credentials';
import { faults } from '../support/faults';
import { evict, inGate } from '../support/gate';
import { slow } from '../support/slow';
import { healthz, lines, schedule, useHealth, verdict } from '../support/storage/health';
import { BOOTSTRAP, type Caller, db, newOrg, newSecret, send } from '../support/world';

useHealth();

describe('health: a database that awaits adoption', () => {
  const tables = [
    'orgs',
    'org_keys',
    'environments',
    'members',
    'credentials',
    'secrets',
    'secret_versions',
    'journal_positions',
  ];
  const backUp = () =>
    Promise.all(tables.map(async (name) => (await db.prepare(`select * from ${name}`).all()).results));
  async function putBack(backup: Record<string, unknown>[][]) {
    const rows = tables.flatMap((name, at) =>
      (backup[at] ?? []).map((row) =>
        db
          .prepare(`insert into ${name} (${Object.keys(row)}) values (${Object.keys(row).map(() => '?')})`)
          .bind(...Object.values(row)),
      ),
    );
    await db.batch([...tables.map((name) => db.prepare(`delete from ${name}`)), ...rows]);
  }
  const adopt = (o: Caller) =>
    send('POST', `/api/v1/orgs/${o.id}/adopt`, { token: BOOTSTRAP, body: { reason: 'a drill' } });

  it.each<[string, (o: Caller, secret: string) => Promise<unknown>]>([
    ['a new secret', (o) => newSecret(o)],
    ['a new value', (o, secret) => o.patch(`/secrets/${secret}`, { value: 'later' })],
    [
      'a deleted environment',
      async (o) => o.del(`/environments/${(await o.get('/environments')).json.data[0].id}`),
    ],
    [
      'a new secret, before a session token',
      async (o) => {
        await newSecret(o);
        await newSession(o);
      },
    ],
  ])('is degraded after %s since the backup, and ok once it is adopted', async (_what, change) => {
    const o = await newOrg();
    const other = await newOrg();
    const { id } = await newSecret(o);
    const backup = await backUp();
    await change(o, id);
    await putBack(backup);
    // As after a restart: nothing is known from before.
    await evict(o);
    await schedule();
    const { text, ...found } = await healthz();
    expect([found.status, found.is, found.failing]).toEqual([200, 'degraded', ['adoption']]);
    expect(text).toContain('npm run restore -- --adopt');
    // Adoption gives up what the database lacks: where nobody restored it, a backup may have more.
    expect(text).toContain('If nobody restored it, do not adopt it yet');
    expect(text).not.toContain(o.id);
    expect(lines()).toContainEqual(expect.objectContaining({ event: 'adoption_awaited', org: o.id }));
    await newSecret(other);
    expect((await adopt(o)).status).toBe(200);
    expect(await verdict(), 'before a scheduled run').toEqual([200, 'ok', []]);
    await schedule();
    expect(await verdict()).toEqual([200, 'ok', []]);
  });

  it('is degraded while D1 refuses a change, though no instance of the gate remembers it', async () => {
    const o = await newOrg();
    await db.prepare('create trigger t before insert on secrets begin select raise(ignore); end').run();
    await newSecret(o);
    await evict(o);
    await schedule();
    expect(await verdict()).toEqual([200, 'degraded', ['adoption']]);
    await db.prepare('drop trigger t').run();
    await schedule();
    expect(await verdict()).toEqual([200, 'ok', []]);
  });

  it('tells at once of rows that an adoption leaves, such as a stored value that is missing', async () => {
    const o = await newOrg();
    const { id } = await newSecret(o);
    await schedule();
    await db.prepare('delete from secret_versions where secret_id = ?').bind(id).run();
    expect((await adopt(o)).status).toBe(200);
    expect(await verdict()).toEqual([200, 'degraded', ['rows']]);
    await schedule();
    expect(await verdict()).toEqual([200, 'degraded', ['rows']]);
  });

  slow('is degraded, not down, if it holds for each organisation: those who read are served', async () => {
    const o = await newOrg();
    const backup = await backUp();
    await newSecret(o);
    await putBack(backup);
    await schedule();
    expect(await verdict()).toEqual([200, 'degraded', ['adoption']]);
    const other = await newOrg();
    await adopt(other);
    expect(await verdict(), 'another one adopted').toEqual([200, 'degraded', ['adoption']]);
    await adopt(o);
    await schedule();
    expect(await verdict()).toEqual([200, 'ok', []]);
  });

  it.each(["term = 'restored:' || org_id", 'position = position - 1'])(
    'is told after a restore before the organisations were looked at again, by %s',
    async (moved) => {
      const many = [];
      for (let n = 0; n < 6; n++) many.push(await newOrg());
      await schedule();
      expect(await verdict()).toEqual([200, 'ok', []]);
      await db.prepare(`update journal_positions set ${moved}`).run();
      expect(await verdict(), 'before a scheduled run').toEqual([200, 'degraded', ['adoption']]);
      await schedule();
      expect(await verdict()).toEqual([200, 'degraded', ['adoption']]);
      for (const o of many) expect((await adopt(o)).status).toBe(200);
      expect(await verdict(), 'before another one').toEqual([200, 'ok', []]);
      await schedule(2);
      expect(await verdict()).toEqual([200, 'ok', []]);
    },
  );

  it('is not taken from a change that is under way, or in doubt', async () => {
    const o = await newOrg();
    faults.delay = 30;
    let going = true;
    const busy = (async () => {
      while (going) await newSecret(o);
    })();
    for (let n = 0; n < 10; n++) expect(await inGate(o, (gate) => gate.vitals())).toBe('well');
    going = false;
    await busy;
  });
});
