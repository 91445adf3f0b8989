// /healthz over a vault that is damaged: whether callers can be served, how many cannot, and nothing that names an organisation.

import { env, exports } from 'cloudflare:workers';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import { newSession } from '../support/credentials';
import { faults, until } from '../support/faults';
import { evict, inCore, inGate, loseStorage } from '../support/gate';
import { BOOTSTRAP, type Caller, db, newOrg, newSecret, send, useWorld } from '../support/world';

useWorld();

const bindings = env as unknown as { MASTER_KEYS: string };
const worker = exports.default as unknown as { scheduled(event: { scheduledTime: Date; cron: string }): Promise<unknown> };
interface Check {
  name: string;
  ok: boolean;
  message?: string;
}

/** What a new isolate answers. */
async function healthz(keys = bindings.MASTER_KEYS) {
  faults.isolate++;
  faults.variables = { MASTER_KEYS: keys };
  const { status, json, text } = await send('GET', '/healthz');
  const checks = (json.checks ?? []) as Check[];
  return { status, is: json.status, failing: checks.filter(({ ok }) => !ok).map(({ name }) => name), checks, text };
}
const verdict = async (keys?: string) => {
  const { status, is, failing } = await healthz(keys);
  return [status, is, failing];
};

/** Scheduled runs; the probe of the last one has come. */
async function schedule(times = 1) {
  for (let n = 0; n < times; n++) await worker.scheduled({ scheduledTime: new Date(), cron: '* * * * *' });
  await until(async () => !(await healthz()).failing.includes('queue'), 400);
}

let logged: { level: string; event?: string; org?: string }[] = [];
const events = () => logged.flatMap(({ event }) => event ?? []);

beforeEach(async () => {
  await db.batch(['deployment_keys', 'org_keys', 'orgs'].map((table) => db.prepare(`delete from ${table}`)));
  await inCore({ id: 'health' } as Caller, ({ meta }) => meta.forget('survey'));
  await healthz();
  logged = [];
  vi.restoreAllMocks();
  for (const level of ['log', 'warn', 'error'] as const)
    vi.spyOn(console, level).mockImplementation((line) => void logged.push(JSON.parse(line)));
});

/** Replaces a table of a gate by one that this release cannot use, as a damaged file would be. */
async function damage(o: Caller) {
  await inGate(o, (_gate, { storage }) => void storage.sql.exec('alter table marks rename to lost; create table marks (other text)'));
  await evict(o);
}

describe('health: a vault that works', () => {
  it('is ok, with a check for each part', async () => {
    await newOrg();
    await schedule();
    const { status, is, checks } = await healthz();
    expect([status, is]).toEqual([200, 'ok']);
    const names = [
      'database',
      'tables',
      'keys',
      'organisations',
      'gate',
      'organisation_rows',
      'gates',
      'gate_storage',
      'adoption',
      'rows',
      'clock',
      'schedule',
      'queue',
    ];
    expect(checks).toEqual(names.map((name) => ({ name, ok: true })));
  });

  it('is ok while it is empty: its key is made by the first request', async () => {
    await schedule();
    expect(await verdict()).toEqual([200, 'ok', []]);
    expect((await db.prepare('select * from deployment_keys').all()).results).toEqual([]);
  });

  it('is still ok after changes, deletions, ended sessions and a gate that has lost its storage', async () => {
    const [o, lost] = [await newOrg(), await newOrg()];
    await newSecret(o);
    const key = await o.post('/environments', { name: 'QA' });
    await o.del(`/environments/${key.json.id}`);
    await newSession(o);
    await loseStorage(lost);
    await schedule();
    expect(await verdict()).toEqual([200, 'ok', []]);
  });

  it('is new after a scheduled run, in the isolate that did it', async () => {
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
  it('with a master key of the right id and other bytes', async () => {
    await newOrg();
    await schedule();
    expect(await verdict(`k1:${Buffer.alloc(32, 1).toString('base64')}`)).toEqual([503, 'down', ['keys', 'organisations']]);
    const { checks } = await healthz(`k1:${Buffer.alloc(32, 1).toString('base64')}`);
    expect(checks.find(({ name }) => name === 'keys')?.message).toContain('other bytes');
  });

  it('with a master key that is missing', async () => {
    await newOrg();
    await schedule();
    const { status, checks } = await healthz(`k9:${Buffer.alloc(32, 1).toString('base64')}`);
    expect(status).toBe(503);
    expect(checks.find(({ name }) => name === 'keys')?.message).toContain('does not contain the master key k1');
  });

  it('without the deployment key, and makes none', async () => {
    await newOrg();
    await schedule();
    await db.prepare('delete from deployment_keys').run();
    expect(await verdict()).toEqual([503, 'down', ['keys']]);
    expect((await db.prepare('select * from deployment_keys').all()).results).toEqual([]);
  });

  it('with a database that was emptied: no new key is made, for any request', async () => {
    const o = await newOrg();
    await schedule();
    expect(await verdict()).toEqual([200, 'ok', []]);
    await db.batch(['deployment_keys', 'org_keys', 'orgs'].map((table) => db.prepare(`delete from ${table}`)));
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
    expect(await verdict()).toEqual([503, 'down', ['keys']]);
    expect((await db.prepare('select * from deployment_keys').all()).results).toEqual([]);
  });

  it('with an empty database, where it is not known whether it had organisations: no key is made', async () => {
    faults.isolate++;
    const gate = { id: 'health' } as Caller;
    await inGate(gate, (_gate, { storage }) => void storage.sql.exec('alter table meta rename to lost; create table meta (other text)'));
    await evict(gate);
    expect((await send('GET', '/.well-known/jwks.json')).status).toBeGreaterThanOrEqual(500);
    expect((await db.prepare('select * from deployment_keys').all()).results).toEqual([]);
    await inGate(gate, (_gate, { storage }) => void storage.sql.exec('drop table meta; alter table lost rename to meta'));
    await evict(gate);
  });

  it('without the keys of organisations, at once and after the next survey', async () => {
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
    expect(checks.find(({ name }) => name === 'tables')?.message).toContain('lacks the table org_keys: rows are lost');
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
    expect(logged.filter(({ event }) => event === 'gate_unreachable').map(({ org }) => org)).toContain(o.id);
    expect((await healthz()).text).not.toContain(o.id);
  });
});

describe('health: degraded, because some cannot be served', () => {
  it('with the key of one organisation altered, until it is put back', async () => {
    const [one, two] = [await newOrg(), await newOrg()];
    await schedule();
    const row = await db.prepare('select * from org_keys where org_id = ?').bind(two.id).first<{ key_sealed: string }>();
    await db.prepare("update org_keys set key_sealed = 'x' where org_id = ?").bind(two.id).run();
    expect(await verdict()).toEqual([200, 'degraded', ['organisations']]);
    await schedule();
    const { text, ...found } = await healthz();
    expect([found.status, found.is, found.failing]).toEqual([200, 'degraded', ['organisations']]);
    expect(found.checks.find(({ name }) => name === 'organisations')?.message).toContain('1 organisation');
    for (const { id } of [one, two]) expect(text).not.toContain(id);
    expect(logged).toContainEqual(expect.objectContaining({ level: 'error', event: 'org_key_does_not_open', org: two.id }));
    await db.prepare('update org_keys set key_sealed = ? where org_id = ?').bind(row?.key_sealed, two.id).run();
    await schedule();
    expect(await verdict()).toEqual([200, 'ok', []]);
  });

  it('with one gate of two that does not answer, and forgets it once the organisation is gone', async () => {
    const [, two] = [await newOrg(), await newOrg()];
    await damage(two);
    await schedule();
    expect(await verdict()).toEqual([200, 'degraded', ['gates']]);
    await db.prepare('delete from org_keys where org_id = ?').bind(two.id).run();
    await db.prepare('delete from orgs where id = ?').bind(two.id).run();
    await schedule();
    expect(await verdict()).toEqual([200, 'ok', []]);
  });

  it('with a gate that answers and cannot write, as on a full disk, until it can', async () => {
    const [, two] = [await newOrg(), await newOrg()];
    const full = "create trigger full before insert on meta begin select raise(abort, 'database or disk is full'); end";
    await inGate(two, (_gate, { storage }) => void storage.sql.exec(full));
    await schedule();
    expect(await verdict()).toEqual([200, 'degraded', ['gates']]);
    expect(logged).toContainEqual(expect.objectContaining({ event: 'gate_unreachable', org: two.id }));
    await inGate(two, (_gate, { storage }) => void storage.sql.exec('drop trigger full'));
    await schedule();
    expect(await verdict()).toEqual([200, 'ok', []]);
  });

  it('with organisations beyond a page, in a bounded number of calls a run', async () => {
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

  it('with a queue that does not deliver, and a schedule that has stopped', async () => {
    await newOrg();
    await schedule();
    const gate = { id: 'health' } as Caller;
    const ago = (ms: number) => String(Date.now() - ms);
    await inCore(gate, ({ meta }) => {
      meta.set('probe:came', ago(200_000));
      meta.set('probe:sent', ago(1000));
    });
    expect(await verdict(), 'though the last probe is on its way').toEqual([200, 'degraded', ['queue']]);
    await inCore(gate, ({ meta }) => {
      meta.set('probe:sent', ago(600_000));
      meta.set('probe:came', ago(599_000));
      meta.set('survey', JSON.stringify({ ...JSON.parse(meta.get('survey') ?? ''), at: Date.now() - 600_000 }));
    });
    expect(await verdict()).toEqual([200, 'degraded', ['schedule']]);
    await inCore(gate, ({ meta }) => meta.set('probe:sent', ago(500_000)));
    logged = [];
    await schedule();
    expect(events()).toContain('queue_stalled');
    expect(await verdict()).toEqual([200, 'ok', []]);
  });
});

describe('health: a database that awaits adoption', () => {
  const tables = ['orgs', 'org_keys', 'environments', 'members', 'credentials', 'secrets', 'secret_versions', 'fences', 'commits'];
  const backUp = () => Promise.all(tables.map(async (name) => (await db.prepare(`select * from ${name}`).all()).results));
  async function putBack(backup: Record<string, unknown>[][]) {
    const rows = tables.flatMap((name, at) =>
      (backup[at] ?? []).map((row) =>
        db.prepare(`insert into ${name} (${Object.keys(row)}) values (${Object.keys(row).map(() => '?')})`).bind(...Object.values(row)),
      ),
    );
    await db.batch([...tables.map((name) => db.prepare(`delete from ${name}`)), ...rows]);
  }
  const adopt = (o: Caller) => send('POST', `/api/v1/orgs/${o.id}/adopt`, { token: BOOTSTRAP, body: { reason: 'a drill' } });

  it.each<[string, (o: Caller, secret: string) => Promise<unknown>]>([
    ['a new secret', (o) => newSecret(o)],
    ['a new value', (o, secret) => o.patch(`/secrets/${secret}`, { value: 'later' })],
    ['a deleted environment', async (o) => o.del(`/environments/${(await o.get('/environments')).json.data[0].id}`)],
    [
      'a new secret, before a session token',
      async (o) => {
        await newSecret(o);
        await newSession(o);
      },
    ],
  ])('is degraded after %s since the backup, and ok once it is adopted', async (_what, change) => {
    const [o, other] = [await newOrg(), await newOrg()];
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
    expect(logged).toContainEqual(expect.objectContaining({ event: 'adoption_awaited', org: o.id }));
    await newSecret(other);
    expect((await adopt(o)).status).toBe(200);
    await schedule();
    expect(await verdict()).toEqual([200, 'ok', []]);
  });

  it('is degraded while the database lacks the row of an organisation that has a key', async () => {
    const o = await newOrg();
    const row = await db.prepare('select * from orgs where id = ?').bind(o.id).first<Record<string, unknown>>();
    await db.prepare('delete from orgs where id = ?').bind(o.id).run();
    await schedule();
    expect(await verdict()).toEqual([200, 'degraded', ['organisation_rows']]);
    expect(logged).toContainEqual(expect.objectContaining({ event: 'org_row_missing', org: o.id }));
    const columns = Object.keys(row as object);
    const put = `insert into orgs (${columns}) values (${columns.map(() => '?')})`;
    await db
      .prepare(put)
      .bind(...Object.values(row as object))
      .run();
    await schedule();
    expect(await verdict()).toEqual([200, 'ok', []]);
  });

  it('is degraded while the clock is behind the audit log', async () => {
    const o = await newOrg();
    faults.clock = Date.now() + 3_600_000;
    await newSecret(o);
    faults.clock = null;
    await schedule();
    expect(await verdict()).toEqual([200, 'degraded', ['clock']]);
    expect(logged).toContainEqual(expect.objectContaining({ event: 'clock_behind', org: o.id }));
    faults.clock = Date.now() + 3_600_000;
    await schedule();
    expect(await verdict()).toEqual([200, 'ok', []]);
    faults.clock = null;
  });

  it('is degraded, not down, if it holds for each organisation: those who read are served', async () => {
    const o = await newOrg();
    const backup = await backUp();
    await newSecret(o);
    await putBack(backup);
    await schedule();
    expect(await verdict()).toEqual([200, 'degraded', ['adoption']]);
    await adopt(o);
    await schedule();
    expect(await verdict()).toEqual([200, 'ok', []]);
  });

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

describe('health: rows that D1 and a gate do not both have', () => {
  const told = (o: Caller) => logged.filter(({ event, org }) => event === 'rows_differ' && org === o.id) as unknown as { rows: string[] }[];
  const key = (o: Caller, name: string) => o.post('/api-keys', { name, scopes: ['secrets:read'] });
  /** A row of a table, and how to put it back. */
  async function take(table: string, where: string, ...values: string[]) {
    const row = (await db
      .prepare(`select * from ${table} where ${where}`)
      .bind(...values)
      .first()) as Record<string, unknown>;
    await db
      .prepare(`delete from ${table} where ${where}`)
      .bind(...values)
      .run();
    const columns = Object.keys(row);
    return () =>
      db
        .prepare(`insert into ${table} (${columns}) values (${columns.map(() => '?')})`)
        .bind(...Object.values(row))
        .run();
  }
  /** What the gate holds last is a change of something else, so that the adoption check has nothing to tell. */
  const settle = (o: Caller) => o.patch('', { name: `Renamed ${Math.random()}` });

  it.each<[string, (o: Caller) => Promise<() => unknown>]>([
    ['a secret that D1 lost', async (o) => take('secrets', 'id = ?', (await newSecret(o)).id)],
    ['the current version of a secret', async (o) => take('secret_versions', 'secret_id = ?', (await newSecret(o)).id)],
    ['a key that D1 lost', async (o) => take('credentials', 'id = ?', (await key(o, 'ci')).json.id)],
    [
      'a key that was deleted, and put back in D1',
      async (o) => {
        const { id } = (await key(o, 'ci')).json;
        const { results } = await db.prepare('select * from credentials where id = ?').bind(id).all<Record<string, unknown>>();
        await o.del(`/api-keys/${id}`);
        const revoked = await db.prepare('select revoked_at, revision, mac from credentials where id = ?').bind(id).first();
        const put = (row: Record<string, unknown>) =>
          db
            .prepare('update credentials set revoked_at = ?, revision = ?, mac = ? where id = ?')
            .bind(row.revoked_at, row.revision, row.mac, id)
            .run();
        await put(results[0] as Record<string, unknown>);
        return () => put(revoked as Record<string, unknown>);
      },
    ],
    [
      'an environment of another organisation that was moved in D1',
      async (o) => {
        const other = await newOrg();
        const { id, slug } = (await other.get('/environments')).json.data[0];
        const move = (org: string, name: string) =>
          db.prepare('update environments set org_id = ?, slug = ? where id = ?').bind(org, name, id).run();
        await move(o.id, 'moved');
        return () => move(other.id, slug);
      },
    ],
  ])('is degraded with %s, until it is mended', async (_what, damage_) => {
    const o = await newOrg();
    const mend = await damage_(o);
    await settle(o);
    await schedule();
    const { text, ...found } = await healthz();
    expect(found.failing).toContain('rows');
    expect(found.is).toBe('degraded');
    expect(text).not.toContain(o.id);
    expect(text).toContain('npm run restore -- FILE --rows');
    expect(told(o)).toHaveLength(1);
    await mend();
    await schedule();
    expect((await healthz()).failing).not.toContain('rows');
  });

  it('is found beyond the first page, a page in each run', async () => {
    const o = await newOrg();
    const { id } = await newSecret(o);
    await inCore(o, ({ rows }) => {
      const secret = rows.get('secret', id);
      for (let n = 0; secret && n < 1100; n++) rows.put('secret', { ...secret, id: `sec_${n}`, name: `S${n}` });
    });
    const before = await inGate(o, (gate) => gate.agreement(null));
    let [at, pages, last] = [before.next, 1, before.differ];
    for (; at; pages++) {
      const page = await inGate(o, (gate) => gate.agreement(at));
      [at, last] = [page.next, page.differ.length ? page.differ : last];
    }
    expect(pages).toBeGreaterThan(3);
    expect(last.length).toBe(20);
  });

  it('is not taken from changes that are under way, or in doubt', async () => {
    const o = await newOrg();
    faults.delay = 30;
    let going = true;
    const busy = (async () => {
      while (going) await o.patch(`/secrets/${(await newSecret(o)).id}`, { value: 'later' });
    })();
    for (let n = 0; n < 5; n++) expect((await inGate(o, (gate) => gate.agreement(null))).differ).toEqual([]);
    going = false;
    await busy;
  });
});
