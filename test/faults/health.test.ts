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
    const names = ['database', 'keys', 'organisations', 'gate', 'rows', 'gates', 'gate_storage', 'adoption', 'clock', 'schedule', 'queue'];
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

  it('without the keys of organisations, at once and after the next survey', async () => {
    await newOrg();
    await schedule();
    await db.prepare('delete from org_keys').run();
    expect(await verdict()).toEqual([503, 'down', ['organisations']]);
    await schedule();
    expect(await verdict()).toEqual([503, 'down', ['organisations']]);
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
    expect(faults.gate).toBe(5);
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
    expect(await verdict()).toEqual([200, 'degraded', ['rows']]);
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
