// /healthz over a vault that is damaged: whether callers can be served, how many cannot, and nothing that
// names an organisation.

import { describe, expect, it, vi } from 'vitest';
import { newSession } from '../support/credentials';
import { faults } from '../support/faults';
import { evict, inCore, inGate, loseStorage } from '../support/gate';
import { newConnection } from '../support/signin/sso-signin';
import { slow } from '../support/slow';
import {
  CHECKS,
  events,
  forgetLines,
  HEALTH,
  healthz,
  lines,
  schedule,
  useHealth,
  verdict,
  worker,
} from '../support/storage/health';
import { BOOTSTRAP, type Caller, db, newOrg, newSecret, send } from '../support/world';

useHealth();

/** Replaces a table of a gate by one that this release cannot use, as a damaged file would be. */
async function damage(o: Caller) {
  await inGate(
    o,
    (_gate, { storage }) =>
      void storage.sql.exec('alter table journal rename to lost; create table journal (other text)'),
  );
  await evict(o);
}

describe('health: a vault that works', () => {
  slow('is ok, with a check for each part', async () => {
    await newOrg();
    await schedule();
    const { status, is, checks } = await healthz();
    expect([status, is]).toEqual([200, 'ok']);
    expect(checks).toEqual(CHECKS.map((name) => ({ name, ok: true })));
  });

  it('is degraded once D1 has lacked the changes of a gate for five minutes, and ok once it has them', async () => {
    const o = await newOrg();
    faults.lags = true;
    faults.isAlarmHeld = true;
    await newSecret(o);
    const write = await inCore(o, ({ database }) => database.write);
    await inCore(o, ({ database }) => {
      database.write = async () => ({ end: 'unknown' }) as never;
    });
    await schedule();
    expect(await verdict()).toEqual([200, 'ok', []]);
    await inCore(o, (core) => {
      core.now = () => Date.now() + 301_000;
    });
    await schedule();
    expect(await verdict()).toEqual([200, 'degraded', ['changes']]);
    expect(lines()).toContainEqual(expect.objectContaining({ event: 'database_late', org: o.id }));
    await inCore(o, ({ database }) => {
      database.write = write;
    });
    await schedule();
    expect(await verdict()).toEqual([200, 'ok', []]);
  });

  it('is degraded while D1 answers slowly', async () => {
    await newOrg();
    await schedule();
    expect(await verdict()).toEqual([200, 'ok', []]);
    faults.delay = () => {
      vi.setSystemTime(Date.now() + 1500);
      return 0;
    };
    const { status, is, checks } = await healthz();
    vi.useRealTimers();
    faults.delay = 0;
    expect([status, is]).toEqual([200, 'degraded']);
    expect(checks.find(({ name }: { name: string }) => name === 'database')).toMatchObject({
      ok: false,
      message: expect.stringMatching(/^The database answers slowly: it took \d+ seconds\./),
    });
  });

  it('is ok while it is empty: its key is made by the first request', async () => {
    await schedule();
    expect(await verdict()).toEqual([200, 'ok', []]);
    expect((await db.prepare('select * from deployment_keys').all()).results).toEqual([]);
  });

  it('is still ok after changes, deletions, ended sessions and a gate that has lost its storage', async () => {
    const o = await newOrg();
    const lost = await newOrg();
    await newSecret(o);
    const key = await o.post('/environments', { name: 'QA' });
    await o.del(`/environments/${key.json.id}`);
    await newSession(o);
    await loseStorage(lost);
    await schedule();
    expect(await verdict()).toEqual([200, 'ok', []]);
  });

  slow('is new after a scheduled run, in the isolate that did it', async () => {
    const o = await newOrg();
    await schedule();
    faults.isolate++;
    expect((await send('GET', '/healthz')).json.status).toBe('ok');
    await damage(o);
    await schedule();
    expect((await send('GET', '/healthz')).json.status).toBe('down');
  });

  it('is answered from memory: many requests of one isolate cause one batch of D1 and no call of an organisation', async () => {
    const o = await newOrg();
    await schedule();
    await healthz();
    faults.d1 = 0;
    faults.gate = 0;
    faults.isolate++;
    const answers = await Promise.all(Array.from({ length: 50 }, () => send('GET', '/healthz')));
    for (const { status, text } of answers) {
      expect(status).toBe(200);
      expect(text).not.toContain(o.id);
    }
    expect([faults.d1, faults.gate]).toEqual([1, 0]);
  });
});

describe('health: down, because nobody can be served', () => {
  slow('with a master key of the right id and other bytes', async () => {
    await newOrg();
    await schedule();
    expect(await verdict(`k1:${Buffer.alloc(32, 1).toString('base64')}`)).toEqual([
      503,
      'down',
      ['keys', 'organisations'],
    ]);
    const { checks } = await healthz(`k1:${Buffer.alloc(32, 1).toString('base64')}`);
    expect(checks.find(({ name }) => name === 'keys')?.message).toContain('other bytes');
  });

  it('with a master key that is missing', async () => {
    await newOrg();
    await schedule();
    const { status, checks } = await healthz(`k9:${Buffer.alloc(32, 1).toString('base64')}`);
    expect(status).toBe(503);
    expect(checks.find(({ name }) => name === 'keys')?.message).toContain(
      'does not contain the master key k1',
    );
  });

  it('without the deployment key, and makes none', async () => {
    const o = await newOrg();
    await schedule();
    await db.prepare('delete from deployment_keys').run();
    expect(await verdict()).toEqual([503, 'down', ['keys']]);
    // Isolates keep the key that they have read, so no caller misses it yet.
    await schedule();
    expect(events()).toContain('deployment_key_missing');
    // A request says what health says: the row is lost, and not the database.
    for (const send_ of [() => o.get(''), () => send('GET', '/.well-known/jwks.json')]) {
      faults.isolate++;
      const { status, json } = await send_();
      expect([status, json.error?.code]).toEqual([503, 'MISCONFIGURED']);
      expect(json.error?.message).toContain('but not the deployment key');
    }
    expect(events()).toContain('deployment_key_missing');
    expect(events()).not.toContain('database_lost');
    expect((await db.prepare('select * from deployment_keys').all()).results).toEqual([]);
  });

  it('with a database that was emptied: no new key is made, for any request', async () => {
    const o = await newOrg();
    await schedule();
    expect(await verdict()).toEqual([200, 'ok', []]);
    await db.batch(
      ['deployment_keys', 'org_keys', 'orgs'].map((table) => db.prepare(`delete from ${table}`)),
    );
    const { status, failing, checks } = await healthz();
    expect([status, failing]).toEqual([503, ['keys']]);
    expect(checks.find(({ name }) => name === 'keys')?.message).toContain('lost or emptied');
    for (const send_ of [
      () => o.get(''),
      () => send('POST', '/api/v1/orgs', { token: BOOTSTRAP, body: {} }),
      () => send('GET', '/.well-known/jwks.json'),
    ]) {
      faults.isolate++;
      const { status, json } = await send_();
      expect([status, json.error?.code]).toEqual([503, 'MISCONFIGURED']);
    }
    expect(events()).toContain('database_lost');
    await schedule();
    expect(await verdict()).toEqual([503, 'down', ['keys', 'organisation_rows']]);
    expect((await db.prepare('select * from deployment_keys').all()).results).toEqual([]);
  });

  it('with an empty database, where it is not known whether it had organisations: no key is made', async () => {
    faults.isolate++;
    await inGate(
      HEALTH,
      (_gate, { storage }) =>
        void storage.sql.exec('alter table meta rename to lost; create table meta (other text)'),
    );
    await evict(HEALTH);
    expect((await send('GET', '/.well-known/jwks.json')).status).toBeGreaterThanOrEqual(500);
    expect((await db.prepare('select * from deployment_keys').all()).results).toEqual([]);
    await inGate(
      HEALTH,
      (_gate, { storage }) => void storage.sql.exec('drop table meta; alter table lost rename to meta'),
    );
    await evict(HEALTH);
  });

  slow('without the keys of organisations, at once and after the next survey', async () => {
    await newOrg();
    await schedule();
    await db.prepare('delete from org_keys').run();
    expect(await verdict()).toEqual([503, 'down', ['organisations']]);
    await schedule();
    expect(await verdict()).toEqual([503, 'down', ['organisations']]);
  });

  it('without a table of keys, which is named', async () => {
    await newOrg();
    await schedule();
    await db.prepare('alter table org_keys rename to lost').run();
    const { status, is, failing, checks } = await healthz();
    await db.prepare('alter table lost rename to org_keys').run();
    expect([status, is, failing]).toEqual([503, 'down', ['tables']]);
    expect(checks.find(({ name }) => name === 'tables')?.message).toContain(
      'lacks the table org_keys: rows are lost',
    );
    expect(await verdict()).toEqual([200, 'ok', []]);
  });

  it('without a database that answers', async () => {
    await newOrg();
    await schedule();
    faults.fail = () => 'before';
    expect((await verdict()).slice(0, 2)).toEqual([503, 'down']);
    expect((await verdict())[2]).toContain('database');
    faults.fail = null;
    expect(await verdict()).toEqual([200, 'ok', []]);
  });

  it('if no gate that the schedule asks answers', async () => {
    const o = await newOrg();
    await damage(o);
    await schedule();
    expect(await verdict()).toEqual([503, 'down', ['gates']]);
    expect(
      lines()
        .filter(({ event }) => event === 'gate_unreachable')
        .map(({ org }) => org),
    ).toContain(o.id);
    expect((await healthz()).text).not.toContain(o.id);
  });
});

describe('health: degraded, because some cannot be served', () => {
  slow('with the key of one organisation altered, until it is put back', async () => {
    const one = await newOrg();
    const two = await newOrg();
    await schedule();
    const row = await db
      .prepare('select * from org_keys where org_id = ?')
      .bind(two.id)
      .first<{ key_sealed: string }>();
    await db.prepare("update org_keys set key_sealed = 'x' where org_id = ?").bind(two.id).run();
    expect(await verdict()).toEqual([200, 'degraded', ['organisations']]);
    await schedule();
    const { text, ...found } = await healthz();
    expect([found.status, found.is, found.failing]).toEqual([200, 'degraded', ['organisations']]);
    expect(found.checks.find(({ name }) => name === 'organisations')?.message).toContain('1 organisation');
    for (const { id } of [one, two]) expect(text).not.toContain(id);
    expect(lines()).toContainEqual(
      expect.objectContaining({ level: 'error', event: 'org_key_does_not_open', org: two.id }),
    );
    await db
      .prepare('update org_keys set key_sealed = ? where org_id = ?')
      .bind(row?.key_sealed, two.id)
      .run();
    await schedule();
    expect(await verdict()).toEqual([200, 'ok', []]);
  });

  it('with one gate of two that does not answer, and forgets it once the organisation is gone', async () => {
    await newOrg();
    const two = await newOrg();
    await damage(two);
    await schedule();
    expect(await verdict()).toEqual([200, 'degraded', ['gates']]);
    await db.prepare('delete from org_keys where org_id = ?').bind(two.id).run();
    await db.prepare('delete from orgs where id = ?').bind(two.id).run();
    await schedule();
    expect(await verdict()).toEqual([200, 'ok', []]);
  });

  it('with a gate that answers and cannot write, as on a full disk, until it can', async () => {
    await newOrg();
    const two = await newOrg();
    const full =
      "create trigger full before insert on meta begin select raise(abort, 'database or disk is full'); end";
    await inGate(two, (_gate, { storage }) => void storage.sql.exec(full));
    await schedule();
    expect(await verdict()).toEqual([200, 'degraded', ['gates']]);
    expect(lines()).toContainEqual(expect.objectContaining({ event: 'gate_unreachable', org: two.id }));
    await inGate(two, (_gate, { storage }) => void storage.sql.exec('drop trigger full'));
    await schedule();
    expect(await verdict()).toEqual([200, 'ok', []]);
  });

  slow('with organisations beyond a page, in a bounded number of calls a run', async () => {
    const first = await newOrg();
    const orgs = await Promise.all(Array.from({ length: 12 }, () => newOrg()));
    const last = orgs
      .map(({ id }) => id)
      .sort()
      .at(-1);
    await damage(orgs.find(({ id }) => id === last) as Caller);
    faults.gate = 0;
    await worker.scheduled({ scheduledTime: new Date(), cron: '* * * * *' });
    // Five for their vitals, and five to compare rows.
    expect(faults.gate).toBe(10);
    await schedule(2);
    expect(await verdict()).toEqual([200, 'degraded', ['gates']]);
    expect(events()).toContain('gate_unreachable');
    expect(first.id < (last as string)).toBe(true);
  });

  slow('with a queue that does not deliver, and a schedule that has stopped', async () => {
    await newOrg();
    await schedule();
    const ago = (ms: number) => String(Date.now() - ms);
    await inCore(HEALTH, ({ meta }) => {
      meta.set('probe:came', ago(200_000));
      meta.set('probe:sent', ago(1000));
    });
    expect(await verdict(), 'though the last probe is on its way').toEqual([200, 'degraded', ['queue']]);
    await inCore(HEALTH, ({ meta }) => {
      meta.set('probe:sent', ago(600_000));
      meta.set('probe:came', ago(599_000));
      meta.set(
        'survey',
        JSON.stringify({ ...JSON.parse(meta.get('survey') ?? ''), at: Date.now() - 600_000 }),
      );
    });
    expect(await verdict()).toEqual([200, 'degraded', ['schedule']]);
    await inCore(HEALTH, ({ meta }) => meta.set('probe:sent', ago(500_000)));
    forgetLines();
    await schedule();
    expect(events()).toContain('queue_stalled');
    expect(await verdict()).toEqual([200, 'ok', []]);
  });
});

describe('health: connections by SAML', () => {
  it('is degraded while there are some and no SAML Worker', async () => {
    const o = await newOrg();
    await schedule();
    expect(await verdict()).toEqual([200, 'ok', []]);
    await newConnection(o, { issuer: { url: 'https://idp.example.com' } }, { kind: 'saml' });
    await schedule();
    expect(await verdict()).toEqual([200, 'degraded', ['saml']]);
    const { checks } = await healthz();
    expect(checks.find(({ name }) => name === 'saml')?.message).toContain('npm start -- --saml');
  });
});
