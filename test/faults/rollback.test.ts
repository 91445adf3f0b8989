// Storage that was put back from a copy: of the gate, of D1, or of both to different times. Whatever is
// adopted or reset afterwards, nothing that one of the two recorded as ended is alive.
import { exports } from 'cloudflare:workers';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import { runTasks } from '../../src/gate/tasks/run';
import { newKey, newSession } from '../support/credentials';
import { faults } from '../support/faults';
import {
  copyStorage,
  evict,
  inCore,
  inGate,
  putBackStorage,
  runTasksLater,
  type StorageCopy,
} from '../support/gate';
import { few, slow } from '../support/slow';
import { type Backup, backUp, putBack } from '../support/storage/backups';
import { DAY, HOUR } from '../support/time';
import { BOOTSTRAP, type Caller, db, newOrg, newSecret, send, useWorld } from '../support/world';

useWorld();

const worker = exports.default as unknown as {
  scheduled(event: { scheduledTime: Date; cron: string }): Promise<unknown>;
};

let logged: { event?: string; org?: string; storage_of?: string }[] = [];
beforeEach(() => {
  logged = [];
  vi.restoreAllMocks();
  for (const level of ['warn', 'error'] as const)
    vi.spyOn(console, level).mockImplementation((line) => void logged.push(JSON.parse(line)));
});

const adopt = (o: Caller) =>
  send('POST', `/api/v1/orgs/${o.id}/adopt`, { token: BOOTSTRAP, body: { reason: 'restored' } });
const resetGate = (o: Caller) =>
  send('POST', `/api/v1/orgs/${o.id}/gate/reset`, { token: BOOTSTRAP, body: { reason: 'older than D1' } });
const codeOf = async (o: Caller, route = '/secrets') => {
  const { status, json } = await o.get(route);
  return json.error?.code ?? status;
};

describe('restore: a gate whose storage is older than D1', () => {
  it('refuses everything, runs no task, is not adopted, and names the command that gives it a new one', async () => {
    const o = await newOrg();
    const key = await newKey(o);
    const copy = await copyStorage(o);
    await o.del(`/api-keys/${key.id}`);
    await putBackStorage(o, copy);

    expect(await codeOf(key.o)).toBe('UNAVAILABLE');
    expect((await o.post('/secrets', { name: 'A', type: 'generic', value: 'v' })).json.error.code).toBe(
      'UNAVAILABLE',
    );
    const refused = await adopt(o);
    expect([refused.status, refused.json.error.message]).toEqual([
      503,
      expect.stringContaining(`npm run gate -- reset ${o.id}`),
    ]);
    expect(await inGate(o, (gate) => gate.vitals())).toBe('behind');
    await expect(inGate(o, (gate) => gate.alarm())).rejects.toThrow('older than the database');
    expect(logged).toContainEqual(expect.objectContaining({ event: 'gate_behind', org: o.id }));

    await worker.scheduled({ scheduledTime: new Date(), cron: '* * * * *' });
    const storageCheck = async () => {
      faults.isolate++;
      const { checks } = (await send('GET', '/healthz')).json;
      return checks.find(({ name }: { name: string }) => name === 'gate_storage');
    };
    expect(await storageCheck()).toMatchObject({ ok: false });

    expect((await resetGate(o)).status).toBe(200);
    expect(await storageCheck(), 'at once').toMatchObject({ ok: true });
    expect([await codeOf(key.o), await codeOf(o)]).toEqual(['TOKEN_REVOKED', 200]);
    expect(await inGate(o, (gate) => gate.vitals())).toBe('well');
  });

  it.each(['the health check', 'its alarm'])('goes on once D1 is as it was, as %s notices', async (who) => {
    const o = await newOrg();
    const before = await backUp();
    await newSecret(o);
    const backup = await backUp();
    await putBack(before);
    await evict(o);
    const make = (name: string) => o.post('/environments', { name });
    expect((await make('QA')).json.error.message).toContain('adopt');
    expect(await inGate(o, (gate) => gate.vitals())).toBe('diverged');
    await inCore(o, (core) => runTasks(core, core.now() + 61_000));
    expect((await make('QA')).json.error.message).toContain('adopt');
    await putBack(backup);
    if (who === 'its alarm') await inCore(o, (core) => runTasks(core, core.now() + 61_000));
    else expect(await inGate(o, (gate) => gate.vitals())).toBe('well');
    expect((await make('QA')).status).toBe(201);
    expect((await o.get('/secrets')).json.data).toHaveLength(1);
  });

  it('is found by its audit log, though no change was made since the copy', async () => {
    const o = await newOrg();
    const copy = await copyStorage(o);
    await o.get('/secrets');
    await send('POST', `/api/v1/orgs/${o.id}/audit-log/archive`, { token: BOOTSTRAP, body: {} });
    await putBackStorage(o, copy);
    expect(await codeOf(o)).toBe('UNAVAILABLE');
  });

  it('is found days after the last change, and a gate with that change goes on', async () => {
    const o = await newOrg();
    const copy = await copyStorage(o);
    await newSecret(o);
    await inCore(o, ({ schedule }) => schedule.at('retention', Date.now()));
    await runTasksLater(o, 3 * DAY);
    expect((await o.post('/environments', { name: 'QA' })).status).toBe(201);
    await putBackStorage(o, copy);
    expect(await codeOf(o)).toBe('UNAVAILABLE');
  });

  it('serves reads while D1 is away, and makes no change before D1 has answered', async () => {
    const o = await newOrg();
    const { id } = await newSecret(o);
    const copy = await copyStorage(o);
    await o.patch(`/secrets/${id}`, { value: 'later' });
    await putBackStorage(o, copy);
    faults.fail = () => 'before';
    expect(await codeOf(o)).toBe(200);
    faults.fail = null;
    expect((await o.patch(`/secrets/${id}`, { description: 'x' })).status).toBe(503);
    expect(await codeOf(o)).toBe('UNAVAILABLE');
  });

  it('is not served while D1 is away, if it was last written hours ago; a gate that lived until now is', async () => {
    const o = await newOrg();
    const key = await newKey(o);
    const copy = await copyStorage(o);
    await o.del(`/api-keys/${key.id}`);
    faults.clock = Date.now() + 3 * HOUR;
    await inCore(o, async (core) => {
      core.schedule.at('retention', 1);
      await runTasks(core);
    });
    const alive = await copyStorage(o);
    await putBackStorage(o, copy);
    faults.fail = () => 'before';
    expect(await codeOf(key.o)).toBe('UNAVAILABLE');
    await inGate(o, (gate) => gate.alarm());
    expect(await codeOf(key.o)).toBe('UNAVAILABLE');
    await putBackStorage(o, alive);
    expect([await codeOf(key.o), await codeOf(o)]).toEqual(['TOKEN_REVOKED', 200]);
  });

  slow('adopts what D1 has newer, row by row, where no position tells: what ended stays ended', async () => {
    const o = await newOrg();
    const revoked = await newKey(o);
    const stood = await db.prepare('select * from journal_positions where org_id = ?').bind(o.id).first();
    const copy = await copyStorage(o);
    await o.del(`/api-keys/${revoked.id}`);
    await o.patch(`/environments/production`, { name: 'Live' });
    await putBackStorage(o, copy);
    await db
      .prepare('update journal_positions set position = ?, record = ? where org_id = ?')
      .bind(stood?.position, stood?.record, o.id)
      .run();
    const adopted = await adopt(o);
    expect([adopted.status, adopted.json.newer]).toEqual([200, 2]);
    expect([await codeOf(revoked.o), (await o.get('/environments/production')).json.name]).toEqual([
      'TOKEN_REVOKED',
      'Live',
    ]);
    const [entry] = (await o.get('/audit-log?action=org.adopt')).json.data;
    expect(entry.adopted.newer).toBe(2);
    await evict(o);
    expect(await codeOf(revoked.o)).toBe('TOKEN_REVOKED');
  });

  it('is told from one whose last change is in doubt', async () => {
    const o = await newOrg();
    faults.fail = (_, n) => (n > faults.d1 - 1 ? 'after' : null);
    await o.post('/secrets', { name: 'A', type: 'generic', value: 'v' });
    faults.fail = null;
    await evict(o);
    expect(await codeOf(o)).toBe(200);
    expect((await o.post('/secrets', { name: 'B', type: 'generic', value: 'v' })).status).toBe(201);
  });

  it('is told from D1 put back under a running gate: it is noticed at once, and no further change is made', async () => {
    const o = await newOrg();
    const backup = await backUp();
    await newSecret(o);
    await putBack(backup);
    // The first is made, and D1 refuses it.
    expect((await o.post('/environments', { name: 'QA' })).status).toBe(201);
    expect((await o.post('/environments', { name: 'UAT' })).json.error.message).toContain('adopt');
    expect((await adopt(o)).status).toBe(200);
    expect((await o.post('/environments', { name: 'UAT' })).status).toBe(201);
    expect((await o.get('/environments/qa')).status).toBe(200);
    expect(await inGate(o, (gate) => gate.vitals())).toBe('well');
  });
});

it('restore: a newer row in D1 with a wrong MAC is not adopted', async () => {
  const o = await newOrg();
  const key = await newKey(o);
  await db
    .prepare('update credentials set revision = revision + 1, revoked_at = 1 where id = ?')
    .bind(key.id)
    .run();
  expect((await adopt(o)).json.newer).toBe(0);
  expect(await codeOf(key.o)).toBe(200);
});

describe('restore: a gate with the storage of another organisation', () => {
  it('refuses everything, runs no task, and names what mends it', async () => {
    const o = await newOrg();
    const other = await newOrg();
    const mine = await copyStorage(o);
    await putBackStorage(o, await copyStorage(other));
    await putBackStorage(other, mine);
    for (const org of [o, other]) {
      const refused = await org.get('/secrets');
      expect([refused.status, refused.json.error.message]).toEqual([
        503,
        expect.stringMatching(`put them back under their names.*npm run gate -- reset ${org.id}`),
      ]);
      expect((await org.post('/secrets', { name: 'A', type: 'generic', value: 'v' })).json.error.code).toBe(
        'UNAVAILABLE',
      );
      expect((await adopt(org)).status).toBe(503);
      expect(await inGate(org, (gate) => gate.vitals())).toBe('another');
      await expect(inGate(org, (gate) => gate.alarm())).rejects.toThrow('another organisation');
    }
    expect(logged).toContainEqual(
      expect.objectContaining({ event: 'gate_of_another', org: o.id, storage_of: other.id }),
    );
    logged = [];
    const told = (of: Caller) => logged.filter(({ org }) => org === of.id).map(({ event }) => event);
    for (let n = 0; n < 50 && !(told(o).length && told(other).length); n++)
      await worker.scheduled({ scheduledTime: new Date(), cron: '* * * * *' });
    for (const org of [o, other]) expect(new Set(told(org))).toEqual(new Set(['gate_of_another']));
    for (const org of [o, other]) {
      expect((await resetGate(org)).status).toBe(200);
      expect([
        await codeOf(org),
        (await org.post('/secrets', { name: 'A', type: 'generic', value: 'v' })).status,
      ]).toEqual([200, 201]);
    }
  });
});

/** A generator of numbers below `n`, from a seed (mulberry32). */
function numbers(seed: number) {
  let state = seed;
  return (n: number) => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) % n;
  };
}

interface Moment {
  gate: StorageCopy;
  d1: Backup;
  /** Tokens that had ended. */
  ended: Caller[];
}

/** Makes and ends credentials at random. Returns a copy of the gate and of D1 after each step. */
async function history(o: Caller, below: (n: number) => number): Promise<Moment[]> {
  const live: { o: Caller; path: string }[] = [];
  const ended: Caller[] = [];
  const moments: Moment[] = [];
  for (let step = 0; step < 8; step++) {
    const at = below(live.length || 1);
    const what = step < 2 ? below(2) : below(7);
    if (what === 0) {
      const key = await newKey(o);
      live.push({ o: key.o, path: `/api-keys/${key.id}` });
    } else if (what === 1) {
      const token = await newSession(o);
      live.push({ o: token.o, path: `/access-tokens/${token.id}` });
    } else if (what === 2) await newSecret(o);
    else if (what === 3) {
      await o.post('/panic', { reason: 'drill' });
      const keys = live.filter(({ path }) => path.startsWith('/api-keys'));
      ended.push(...live.filter((one) => !keys.includes(one)).map((one) => one.o));
      live.splice(0, live.length, ...keys);
    } else {
      const [one] = live.splice(at, 1);
      if (one && (await o.del(one.path)).status < 300) ended.push(one.o);
    }
    moments.push({ gate: await copyStorage(o), d1: await backUp(), ended: [...ended] });
  }
  return moments;
}

describe('restore: the gate, D1 or both at an earlier moment', () => {
  it.each(few([...Array(12).keys()], 3))(
    'leaves nothing alive that either recorded as ended (%i)',
    async (seed) => {
      const o = await newOrg();
      const below = numbers(seed);
      const moments = await history(o, below);
      const gate = below(moments.length);
      const d1 = below(moments.length);
      await putBackStorage(o, (moments[gate] as Moment).gate);
      await putBack((moments[d1] as Moment).d1);
      if (below(2))
        await db
          .prepare("update journal_positions set term = 'restored:x' where org_id = ?")
          .bind(o.id)
          .run();
      const { ended } = moments[Math.max(gate, d1)] as Moment;
      const alive = async () =>
        (await Promise.all(ended.map((token) => codeOf(token)))).filter((code) => code === 200);
      expect(await alive()).toEqual([]);
      const adopted = await adopt(o);
      if (adopted.status !== 200) expect([adopted.status, (await resetGate(o)).status]).toEqual([503, 200]);
      expect(await alive()).toEqual([]);
      await evict(o);
      expect([await codeOf(o), await alive()]).toEqual([200, []]);
      expect((await o.post('/secrets', { name: 'AFTER', type: 'generic', value: 'v' })).status).toBe(201);
    },
  );
});
