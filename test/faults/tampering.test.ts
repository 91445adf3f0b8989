// Who may read and write every row of D1, but has neither a key nor a gate's storage, gains nothing: no value
// leaves but the one that is right, no credential can do more, and an altered row that is used is refused
// with an alarm in the log and in the org's audit log. The first org is tampered with; after each attempt the
// answers of all its callers are compared with those from before.
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { newToken } from '../../src/auth/authentication/token';
import { fromBase64, fromUtf8, toBase64, utf8 } from '../../src/crypto/bytes';
import { gunzip, gzip } from '../../src/crypto/gzip';
import { newId } from '../../src/db/ids';
import type { SecretRow, ShareRow, VersionRow } from '../../src/db/schema';
import { hashOf } from '../../src/gate/audit/chain';
import type { Entry } from '../../src/gate/audit/entry';
import { ciphertexts } from '../../src/gate/journal/ciphertexts';
import { mirror } from '../../src/gate/journal/mirror';
import { runTasks } from '../../src/gate/tasks/run';
import { newAgent } from '../support/credentials';
import { faults } from '../support/faults';
import { evict, inGate, loseStorage } from '../support/gate';
import { sampled } from '../support/limits/sampled';
import { newLink, view } from '../support/shares';
import { few, runs, slow } from '../support/slow';
import {
  alarms,
  all,
  asked,
  attempts,
  drop,
  dump,
  expectNothingGained,
  moveOn,
  put,
  putBack,
  type Row,
  run,
  seal,
  TABLES,
  type World,
  world,
} from '../support/storage/tampering';
import { type Answer, type Caller, newOrg, newSecret, useWorld } from '../support/world';

useWorld();

/** In which state the service meets the attempt. */
const states: Record<string, (o: Caller) => unknown> = {
  'all is warm': () => {},
  'its gate is evicted': (o) => evict(o),
  'an isolate without keys': () => faults.isolate++,
  'its ciphertexts are out of the gate': drop,
  'all but storage is cold': async (o) => {
    await drop(o);
    await evict(o);
    faults.isolate++;
  },
};

let logged: string[] = [];
beforeEach(() => {
  logged = [];
  vi.spyOn(console, 'error').mockImplementation((line) => void logged.push(String(line)));
});
afterEach(() => void vi.restoreAllMocks());
const events = () => logged.map((line) => JSON.parse(line).event as string);

describe('tampering: who writes D1 without the keys gains nothing', () => {
  it.each(few(sampled(Object.entries(attempts), 12), 1))('by %s', async (what, { attempt, alarm }) => {
    const w = await world();
    await moveOn(w);
    const before = await asked(w);
    expect(before['owner reads a']?.[0]).toBe(200);
    expect([
      before['low reads a']?.[0],
      before['dead lists']?.[0],
      before['bound from elsewhere']?.[0],
    ]).toEqual([403, 401, 403]);
    const byDevice = [
      'device reads a',
      'thief reads a with a stolen token and a key of their own',
      'lost device reads a',
    ];
    expect(byDevice.map((what) => before[what]?.[0])).toEqual([200, 401, 401]);
    expect(logged).toEqual([]);
    const stood = await dump(w);
    await attempt(w);
    expect(await dump(w)).not.toBe(stood);
    for (const [state, reach] of Object.entries(states)) {
      logged = [];
      await reach(w.o);
      const why = `${what}, ${state}`;
      const refused = expectNothingGained(before, await asked(w), why);
      if (!alarm) expect([refused, events()], why).toEqual([[], []]);
      // Who lists versions asks D1 in any state.
      if (refused.length) expect(events().length, why).toBeGreaterThan(0);
      if (alarm && /out of|cold/.test(state)) expect(refused.length, why).toBeGreaterThan(0);
    }
    const entries = await alarms(w.o);
    expect(entries.length > 0).toBe(alarm === true);
    expect(entries.every(({ actor, status }) => actor.kind === 'system' && status === 500)).toBe(true);
  });
});

describe('tampering: a purged secret that was put back', () => {
  slow('cannot be read, listed or restored', async () => {
    const w = await world();
    await moveOn(w);
    await putBack('secrets', (row) => row.id === w.gone.id)(w);
    await putBack('secret_versions', (row) => row.secret_id === w.gone.id)(w);
    expect((await w.o.post(`/secrets/${w.gone.id}/restore`)).status).toBe(404);
    expect((await w.o.post(`/secrets/${w.gone.id}/rollback`, { version: 1 })).status).toBe(404);
    expect((await w.o.get('/secrets?status=deleted')).text).not.toContain(w.gone.id);
  });
});

describe('tampering: an altered value in D1', () => {
  slow(
    'is returned again as soon as D1 is corrected; the integrity violation names secret and request',
    async () => {
      const w = await world();
      const [right] = await all(
        'select value_sealed from secret_versions where secret_id = ? and version = 2',
        w.a.id,
      );
      await run(
        'update secret_versions set value_sealed = ? where secret_id = ? and version = 2',
        'AAAA',
        w.a.id,
      );
      await drop(w.o);
      const refused = await w.o.get(`/secrets/${w.a.id}`);
      expect([refused.status, refused.json.error.code]).toEqual([500, 'INTERNAL']);
      expect(events()).toEqual(['value_does_not_open']);
      const { json } = await w.o.get('/audit-log?action=integrity.alarm');
      expect(json.data.length).toBe(1);
      expect(json.data[0]).toMatchObject({
        actor: { kind: 'system', id: 'system' },
        resource: w.a.id,
        reason: 'value_does_not_open',
        outcome: 'failed',
        status: refused.status,
        request_id: refused.headers.get('request-id'),
      });
      await run(
        'update secret_versions set value_sealed = ? where secret_id = ? and version = 2',
        right?.value_sealed,
        w.a.id,
      );
      expect((await w.o.get(`/secrets/${w.a.id}`)).json.value).toBe('second value of a');
      expect((await w.o.get('/audit-log/verify')).json.ok).toBe(true);
    },
  );

  slow(
    'can become the current version by a rollback, and is then not decrypted; earlier versions stay readable',
    async () => {
      const w = await world();
      await run(
        "update secret_versions set value_sealed = 'AAAA' where secret_id = ? and version = 1",
        w.a.id,
      );
      await drop(w.o);
      expect((await w.o.post(`/secrets/${w.a.id}/rollback`, { version: 1 })).json.version).toBe(3);
      expect((await w.o.get(`/secrets/${w.a.id}`)).status).toBe(500);
      expect((await w.o.get(`/secrets/${w.a.id}?version=2`)).json.value).toBe('second value of a');
    },
  );

  it('raises one integrity violation a request, however many values are altered', async () => {
    const w = await world();
    await run("update secret_versions set mac = 'x' where org_id = ?", w.o.id);
    await drop(w.o);
    const { values, unreadable } = (await w.o.get('/environments/production/values')).json;
    expect([values, unreadable]).toEqual([{}, ['A', 'B', 'D', 'E', 'G']]);
    expect((await w.o.get(`/secrets/${w.a.id}`)).status).toBe(500);
    expect((await alarms(w.o)).length).toBe(2);
  });

  slow('raises none while the secret is being purged', async () => {
    const w = await world();
    faults.delay = 20;
    for (let i = 0; i < 10; i++) {
      const { id } = await newSecret(w.o);
      await drop(w.o);
      const [destroyed, ...reads] = await Promise.all([
        w.o.del(`/secrets/${id}?permanent=true`),
        ...Array.from({ length: 4 }, () => w.o.get(`/secrets/${id}`)),
        w.o.get(`/secrets/${id}/versions`),
      ]);
      expect(destroyed?.status).toBe(204);
      expect(reads.every(({ status }) => [200, 404, 503].includes(status))).toBe(true);
    }
    expect(events()).toEqual([]);
  });
});

describe('tampering: a secret or version that was altered in the storage of its gate', () => {
  it.each(['row', 'version'] as const)('is not decrypted by the Worker: its %s', async (which) => {
    const w = await world();
    await inGate(w.o, ({ core }) => {
      const row = core.rows.get('secret', w.a.id) as SecretRow;
      const version = ciphertexts(core).get(w.a.id, row.version, 0) as VersionRow;
      if (which === 'row') core.rows.put('secret', { ...row, name: 'ELSE' });
      else {
        ciphertexts(core).drop(w.a.id);
        ciphertexts(core).keep({ ...version, created_by: 'key_else' }, 0);
      }
    });
    expect((await w.o.get(`/secrets/${w.a.id}`)).json.error.code).toBe('INTERNAL');
    expect(events()).toEqual(['value_does_not_open']);
  });

  it("is not decrypted by the Worker: another organisation's, which the Worker has just decrypted for it", async () => {
    const w = await world();
    expect((await w.other.get(`/secrets/${w.theirs.id}`)).status).toBe(200);
    const theirs = await inGate(w.other, ({ core }) => ({
      row: core.rows.get('secret', w.theirs.id) as SecretRow,
      version: ciphertexts(core).get(w.theirs.id, 1, 0) as VersionRow,
    }));
    await inGate(w.o, ({ core }) => {
      core.rows.put('secret', theirs.row);
      ciphertexts(core).keep(theirs.version, 0);
    });
    expect((await w.o.get(`/secrets/${w.theirs.id}`)).json.error.code).toBe('INTERNAL');
    expect(events()).toEqual(['value_does_not_open']);
  });
});

describe('tampering: a change that meets an altered D1', () => {
  const patch = (w: World) => w.o.patch(`/secrets/${w.a.id}`, { value: 'never' });
  const cases: Record<
    string,
    { attempt: (w: World) => unknown; change: (w: World) => Promise<Answer>; names: (w: World) => string }
  > = {
    'a secret put back to an older row': {
      attempt: async (w) => {
        await w.o.patch(`/secrets/${w.a.id}`, { description: 'newer' });
        await putBack('secrets', (row) => row.id === w.a.id)(w);
      },
      change: patch,
      names: (w) => w.a.id,
    },
    'a row raised to the revision that comes next': {
      attempt: (w) => run('update secrets set revision = revision + 1 where id = ?', w.a.id),
      change: patch,
      names: (w) => w.a.id,
    },
    'a deleted row': {
      attempt: (w) => run('delete from secrets where id = ?', w.a.id),
      change: patch,
      names: (w) => w.a.id,
    },
    'a row of another organisation': {
      attempt: (w) => run('update secrets set org_id = ? where id = ?', w.other.id, w.a.id),
      change: patch,
      names: (w) => w.a.id,
    },
    'a version that is there already': {
      attempt: (w) =>
        run(
          `insert into secret_versions (org_id, secret_id, version, ${seal}) select org_id, secret_id, 3, ${seal} from secret_versions where secret_id = ? and version = 1`,
          w.a.id,
        ),
      change: patch,
      names: (w) => w.a.id,
    },
    'another term': {
      attempt: (w) => run("update journal_positions set term = 'x' where org_id = ?", w.o.id),
      change: patch,
      names: (w) => w.a.id,
    },
    'a lowered position': {
      attempt: (w) => run('update journal_positions set position = position - 1 where org_id = ?', w.o.id),
      change: patch,
      names: (w) => w.a.id,
    },
    'no position': {
      attempt: (w) => run('delete from journal_positions where org_id = ?', w.o.id),
      change: patch,
      names: (w) => w.a.id,
    },
    'a name that a planted row takes': {
      attempt: (w) => run("update secrets set name = 'planted' where id = ?", w.b.id),
      change: (w) => w.o.post('/secrets', { name: 'planted', type: 'generic', value: 'v' }),
      names: () => '',
    },
    'a credential that is to be revoked': {
      attempt: (w) => run('update credentials set revision = 7 where id = ?', w.low.id),
      change: (w) => w.o.del(`/api-keys/${w.low.id}`),
      names: (w) => w.low.id,
    },
    'the org': {
      attempt: (w) => run('update orgs set revision = 9 where id = ?', w.o.id),
      change: (w) => w.o.patch('', { name: 'new' }),
      names: (w) => w.o.id,
    },
    'a policy that is to be changed': {
      attempt: (w) => run('update policies set revision = 9, enabled = 0 where id = ?', w.strict.id),
      change: (w) => w.o.patch(`/policies/${w.strict.id}`, { name: 'new' }),
      names: (w) => w.strict.id,
    },
    'an environment': {
      attempt: (w) => run('update environments set revision = 9 where id = ?', w.doomed.id),
      change: (w) => w.o.patch('/environments/doomed', { name: 'new' }),
      names: (w) => w.doomed.id,
    },
  };
  it.each(few(Object.entries(cases), 3))(
    'stands in the gate, and D1 is not followed any further: an integrity violation: %s',
    async (what, { attempt, change, names }) => {
      const w = await world();
      await attempt(w);
      const answer = await change(w);
      expect(answer.status).toBeLessThan(300);
      expect(events()).toContain('database_diverged');
      const [alarm, ...more] = await alarms(w.o);
      expect(alarm).toMatchObject({
        reason: 'database_diverged',
        status: 503,
        request_id: answer.headers.get('request-id'),
      });
      if (names(w)) expect(alarm?.resource).toBe(names(w));
      expect(await inGate(w.o, (gate) => gate.vitals())).toBe('diverged');
      // Tried again, it is not told again.
      const before = await asked(w);
      expect(await inGate(w.o, ({ core }) => mirror(core).follow())).toBe(false);
      expect(more.concat((await alarms(w.o)).slice(1)).map(({ reason }) => reason)).toEqual([]);
      expect(expectNothingGained(before, await asked(w), what)).toEqual([]);
    },
  );

  it.each(['position', 'record'] as const)(
    'is refused, as by a gate whose storage was put back, where D1 has another %s',
    async (which) => {
      const w = await world();
      const moved = which === 'position' ? 'position = position + 5' : "record = 'x'";
      await run(`update journal_positions set ${moved} where org_id = ?`, w.o.id);
      const before = await asked(w);
      await patch(w);
      expect(events()).toContain('gate_behind');
      const after = await asked(w);
      for (const [what, [status]] of Object.entries(after))
        if (before[what]?.[0] === 200) expect([what, status]).toEqual([what, 503]);
    },
  );

  slow('goes on once the row is as it was', async () => {
    const w = await world();
    const [row] = await all('select revision from secrets where id = ?', w.a.id);
    await run('update secrets set revision = 99 where id = ?', w.a.id);
    expect((await patch(w)).status).toBe(200);
    await run('update secrets set revision = ? where id = ?', row?.revision, w.a.id);
    expect((await w.o.post('/environments', { name: 'later' })).status).toBe(201);
    expect(await inGate(w.o, (gate) => gate.vitals())).toBe('well');
    expect((await all('select version from secrets where id = ?', w.a.id))[0]?.version).toBe(3);
  });
});

describe('tampering: a credential in D1 that the gate does not know', () => {
  it('is refused: planted without a genuine tag, for another org, put back after its end, or altered', async () => {
    const w = await world();
    const [own] = await all('select * from credentials where id = ?', w.o.keyId);
    const forged = newToken('api_key', w.o.id, new Uint8Array(32));
    const plant = (hash: string, more: Row = {}) =>
      put('credentials', { ...(own as Row), id: `key_${crypto.randomUUID()}`, token_hash: hash, ...more });
    await plant(forged.hash);
    expect((await w.o.as(forged.token).get('/secrets')).json.error.code).toBe('UNAUTHENTICATED');
    const [foreign] = await all('select token_hash from credentials where id = ?', w.other.keyId);
    await plant(foreign?.token_hash as string);
    expect((await w.o.as(w.other.token).get(`/secrets/${w.a.id}`)).json.error.code).toBe('NOT_FOUND');
    expect(events()).toEqual([]);

    const purge = (token: World['dead']) =>
      inGate(w.o, (gate) =>
        gate.core.storage.transactionSync(() => gate.core.rows.bury('credential', token.id, Date.now())),
      );
    await purge(w.dead);
    expect((await w.dead.o.get('/secrets')).json.error.code).toBe('UNAUTHENTICATED');
    await purge(w.low);
    await run(
      `update credentials set scopes = '["*"]', environments = null, secrets = null where id = ?`,
      w.low.id,
    );
    expect((await w.low.o.get(`/secrets/${w.a.id}`)).json.error.code).toBe('UNAUTHENTICATED');
    expect((await alarms(w.o)).map(({ reason, resource }) => [reason, resource])).toEqual([
      ['credential_altered', w.low.id],
      ['credential_put_back', w.dead.id],
    ]);
    const session = newId('tok');
    expect((await w.o.del(`/access-tokens/${session}`)).status).toBe(404);
    await put('credentials', { ...(own as Row), id: session, kind: 'session', token_hash: 'x' });
    expect((await w.o.del(`/access-tokens/${session}`)).status).toBe(404);
  });
});

describe('tampering: wrapped keys', () => {
  slow(
    'that are swapped between organisations, replaced or deleted unwrap nothing, and the log says so',
    async () => {
      const w = await world();
      const before = await asked(w);
      const keys = await all('select * from org_keys where org_id in (?, ?)', w.o.id, w.other.id);
      const [deployment] = await all('select * from deployment_keys');
      const [mine, theirs] = [w.o.id, w.other.id].map(
        (id) => keys.find(({ org_id }) => org_id === id) as Row,
      );
      const refused = async (event: string, answer: unknown[]) => {
        faults.isolate++;
        logged = [];
        const after = await asked(w);
        for (const [what, got] of Object.entries(after)) expect(got, what).toEqual(answer);
        expect(new Set(events())).toEqual(new Set([event]));
      };
      await put('org_keys', { ...(mine as Row), key_sealed: theirs?.key_sealed as string });
      await put('org_keys', { ...(theirs as Row), key_sealed: mine?.key_sealed as string });
      await refused('wrapped_key_does_not_open', [503, 'MISCONFIGURED']);
      await put('org_keys', { ...(mine as Row), key_sealed: deployment?.key_sealed as string });
      await refused('wrapped_key_does_not_open', [503, 'MISCONFIGURED']);
      await run('delete from org_keys where org_id = ?', w.o.id);
      await refused('org_key_missing', [503, 'MISCONFIGURED']);
      const { json } = await w.o.get('');
      expect(json.error).not.toHaveProperty('retry_after');
      expect(json.error.message).toContain('row of org_keys back');
      expect((await alarms(w.o))[0]).toMatchObject({
        reason: 'org_key_missing',
        resource: w.o.id,
        status: 503,
      });
      await put('org_keys', mine as Row);
      await put('org_keys', theirs as Row);
      await put('deployment_keys', { ...(deployment as Row), key_sealed: mine?.key_sealed as string });
      await refused('wrapped_key_does_not_open', [503, 'MISCONFIGURED']);
      await run('delete from deployment_keys');
      await refused('deployment_key_missing', [503, 'MISCONFIGURED']);
      expect(await all('select * from deployment_keys')).toEqual([]);
      await put('deployment_keys', deployment as Row);
      faults.isolate++;
      expect(await asked(w)).toEqual(before);
    },
  );
});

describe('tampering: a gate that lost its storage and recovers from D1', () => {
  const values = ([status, text]: unknown[]) =>
    status === 200 ? (JSON.parse(text as string).values as Record<string, string>) : {};
  const older = /older|before|destroyed|deleted secret|every older/;
  const newest = Object.entries(attempts).filter(([what]) => !older.test(what));
  it.each(few(sampled(newest, 6), 2))('refuses a row with a wrong MAC: %s', async (what, { attempt }) => {
    const w = await world();
    await moveOn(w);
    const before = await asked(w);
    await attempt(w);
    await loseStorage(w.o);
    const after = await asked(w);
    for (const [asks, answer] of Object.entries(after)) {
      if (answer[0] !== 200) continue;
      expect(before[asks]?.[0], `${what}: ${asks}`).toBe(200);
      if (/lists|all/.test(asks)) continue;
      if (asks === 'owner reads the org') {
        // What is not believed does not count.
        const [{ usage, ...org }, { usage: counted, ...stood }] = [answer, before[asks] as unknown[]].map(
          ([, text]) => JSON.parse(text as string),
        );
        expect(org, `${what}: ${asks}`).toEqual(stood);
        for (const [name, count] of Object.entries(usage as Record<string, number>).filter(
          ([name]) => name !== 'backlog',
        ))
          expect(count, `${what}: ${name}`).toBeLessThanOrEqual(counted[name]);
        continue;
      }
      expect(answer, `${what}: ${asks}`).toEqual(before[asks]);
    }
    for (const asks of ['owner reads all', 'low reads all of staging'])
      expect(values(before[asks] as unknown[]), what).toMatchObject(values(after[asks] as unknown[]));
    if (what === 'every row of the org deleted') return;
    expect((await alarms(w.o)).at(-1)).toMatchObject({
      sequence: 110_001,
      reason: 'gate_loaded_from_database',
      resource: w.o.id,
    });
  });

  slow('refuses a credential whose device is not in D1, or was altered there', async () => {
    const removals = [
      (w: World) => run('delete from devices where id = ?', w.devices.laptop),
      (w: World) =>
        run(
          'update devices set public_key = ? where id = ?',
          JSON.stringify(w.devices.thief.jwk),
          w.devices.laptop,
        ),
    ];
    for (const removed of removals) {
      const w = await world();
      await removed(w);
      await loseStorage(w.o);
      for (const by of [w.devices.by.held, w.devices.by.thief, w.devices.held.o])
        expect((await by.get(`/secrets/${w.a.id}`)).json.error.code).toBe('TOKEN_REVOKED');
    }
  });

  it('refuses a child whose parent is not in D1', async () => {
    const w = await world();
    const parent = await newAgent(w.o, { scopes: ['tokens:write', 'secrets:read'] });
    const child = await newAgent(parent.o, { scopes: ['secrets:read'] });
    await w.o.del(`/agent-credentials/${parent.id}`);
    await run('delete from credentials where id = ?', parent.id);
    await loseStorage(w.o);
    expect((await child.o.get(`/secrets/${w.a.id}`)).json.error.code).toBe('TOKEN_REVOKED');
    expect((await w.agent.o.get('/secrets')).status).toBe(200);
  });

  slow(
    'accepts an older row with its own MAC; its audit log begins with the report that it recovered',
    async () => {
      const w = await world();
      await moveOn(w);
      await putBack('credentials', (row) => row.id === w.dead.id)(w);
      await loseStorage(w.o);
      expect((await w.dead.o.get('/secrets')).status).toBe(200);
      const { json } = await w.o.get('/audit-log');
      expect(json.data.at(-1)).toMatchObject({
        sequence: 110_001,
        action: 'integrity.alarm',
        reason: 'gate_loaded_from_database',
      });
      const { json: verdict } = await w.o.get('/audit-log/verify');
      expect(verdict).toMatchObject({ ok: true, missing: [{ from: 1, to: 110_000, reason: 'gate_lost' }] });
    },
  );
});

describe('tampering: audit segments', () => {
  it('that were rewritten with right hashes, or removed from the middle, are reported by verify', async () => {
    const w = await world();
    await inGate(w.o, async (gate) => {
      const { core } = gate;
      const [{ id: _, sequence, time, outcome, status, count, emergency, prev_hash, hash, ...draft }] =
        core.auditLog.newest({}, 1e9, 1).entries as [Entry];
      core.storage.transactionSync(() => {
        for (let i = 0; i < 2500; i++) core.auditLog.append(draft, 200, Date.now());
      });
      core.now = () => Date.now() + 600_000;
      core.schedule.at('segments', Date.now());
      for (let i = 0; i < 4; i++) await runTasks(core);
      core.now = () => Date.now();
    });
    const segments = await all(
      'select * from audit_segments where org_id = ? order by first_sequence',
      w.o.id,
    );
    expect(segments.length).toBe(2);
    const check = async () => {
      for (let cursor = ''; ; ) {
        const { json } = await w.o.get(`/audit-log/verify${cursor && `?cursor=${cursor}`}`);
        if (!json.ok || json.next === null) return json;
        cursor = json.next;
      }
    };
    expect((await check()).ok).toBe(true);

    const last = segments[1] as Row;
    const retold = fromUtf8(await gunzip(fromBase64(last.entries as string) as Uint8Array))?.replace(
      '"status":200',
      '"status":204',
    ) as string;
    await put('audit_segments', { ...last, entries: toBase64(await gzip(utf8(retold))) });
    expect(await check()).toMatchObject({ ok: false, broken: { sequence: 1001 } });
    const rewritten = await inGate(w.o, (gate) => gate.core.auditLog.from(1, 1).entries);
    const entries: Entry[] = [];
    let prev = last.prev_hash as string;
    for (let i = 0; i < 1000; i++) {
      const entry = {
        ...(rewritten[0] as Entry),
        sequence: 1001 + i,
        action: 'nothing.happened',
        prev_hash: prev,
      };
      prev = hashOf(entry) as string;
      entries.push({ ...entry, hash: prev });
    }
    await put('audit_segments', {
      ...last,
      last_hash: prev,
      entries: toBase64(await gzip(utf8(JSON.stringify(entries)))),
    });
    expect(await check()).toMatchObject({ ok: false, broken: { sequence: 2001 } });
    await run('delete from audit_segments where org_id = ? and first_sequence = 1001', w.o.id);
    expect(await check()).toMatchObject({ ok: false });
  });
});

describe('tampering: any column of any row with any value', () => {
  it('gives the same response as before, or a refusal with an integrity violation', async () => {
    const w = await world();
    await moveOn(w);
    const before = await asked(w);
    const places: { table: string; column: string; rowid: number }[] = [];
    for (const table of TABLES)
      for (const { rowid, ...row } of await all(
        `select rowid, * from ${table} where ${table === 'orgs' ? 'id' : 'org_id'} = ?`,
        w.o.id,
      ))
        for (const column of Object.keys(row)) places.push({ table, column, rowid: rowid as number });
    const value = fc.oneof(
      fc.constantFrom<string | number | null>(
        null,
        '',
        '[]',
        '["*"]',
        '{}',
        'x',
        w.a.id,
        w.other.id,
        w.o.id,
        'A',
        'S',
        w.theirs.id,
      ),
      fc.integer({ min: -1, max: 4 }),
      fc.constant('another row’s'),
    );
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(...places),
        value,
        fc.constantFrom(...Object.keys(states)),
        async (place, to, state) => {
          const { table, column, rowid } = place;
          const [row] = await all(`select * from ${table} where rowid = ?`, rowid);
          const other = `(select ${column} from ${table} where rowid <> ?2 order by random() limit 1)`;
          const change = to === 'another row’s' ? other : '?1';
          const changed = await run(
            `update ${table} set ${column} = ${change} where rowid = ?2 and ?1 is ?1`,
            to,
            rowid,
          ).catch(() => null);
          if (changed === null) return;
          logged = [];
          await states[state]?.(w.o);
          const refused = expectNothingGained(
            before,
            await asked(w),
            JSON.stringify({ ...place, to, state }),
          );
          if (refused.length) expect(events().length).toBeGreaterThan(0);
          const columns = Object.keys(row as Row);
          await run(
            `update ${table} set (${columns}) = (${columns.map(() => '?')}) where rowid = ?`,
            ...Object.values(row as Row),
            rowid,
          );
          faults.isolate++;
          await drop(w.o);
        },
      ),
      // Below the rate limit of the device.
      { numRuns: runs(30, 5) },
    );
    expect(await asked(w)).toEqual(before);
  });
});

describe('tampering: a link', () => {
  const linksOf = (o: Caller) => all('select * from shares where org_id = ?', o.id);
  /**
   * A live link of two views, one of which is used, with a passphrase; and one of which all views are used.
   */
  async function linked() {
    const o = await newOrg();
    const a = await newSecret(o, { value: 'value of a' });
    const b = await newSecret(o, { value: 'value of b' });
    const link = await newLink(o, a.id, { max_views: 2, passphrase: 'p' });
    const open = await newLink(o, b.id, { max_views: 100 });
    const spent = await newLink(o, a.id, { max_views: 1 });
    const old = await linksOf(o);
    expect([(await view(link, 'p')).status, (await view(spent)).status]).toEqual([200, 200]);
    return { o, link, open, spent, old };
  }
  type Linked = Awaited<ReturnType<typeof linked>>;
  const altered = (assignment: string) => (w: Linked) =>
    run(`update shares set ${assignment} where id = ?1`, w.link.id);
  const attacks: Record<string, (w: Linked) => unknown> = {
    'its views counted back': altered('views = 0'),
    'more views': altered('max_views = 100'),
    'no passphrase': altered('passphrase = null'),
    'the key of another link': (w) =>
      run(
        'update shares set key_hash = (select key_hash from shares where id = ?2) where id = ?1',
        w.link.id,
        w.open.id,
      ),
    'the value of another link': (w) =>
      run(
        'update shares set value_sealed = (select value_sealed from shares where id = ?2) where id = ?1',
        w.link.id,
        w.open.id,
      ),
    'another secret': (w) =>
      run(
        'update shares set secret_id = (select secret_id from shares where id = ?2) where id = ?1',
        w.link.id,
        w.open.id,
      ),
    'another maker and a later end': altered("dies_with = 'mem_x', expires_at = expires_at * 2"),
    'its row of before': async (w) => {
      for (const row of w.old) await put('shares', row);
    },
  };

  it.each(few(Object.entries(attacks), 3))('%s gains nothing', async (_, attack) => {
    const w = await linked();
    await attack(w);
    await evict(w.o);
    expect((await view(w.link)).status).toBe(403);
    expect((await view({ ...w.link, key: w.open.key })).status).toBe(410);
    expect((await view(w.spent)).status).toBe(410);
    // One view is left, if D1 lets it be counted.
    const answers = [await view(w.link, 'p'), await view(w.link, 'p')];
    for (const { status, json } of answers)
      expect(status === 200 ? json.value : 'value of a').toBe('value of a');
    expect(answers.filter(({ status }) => status === 200).length).toBeLessThan(2);
  });

  it.each(Object.entries(attacks).filter(([name]) => name !== 'its row of before'))(
    '%s gains nothing after the gate has lost its storage',
    async (_, attack) => {
      const w = await linked();
      await attack(w);
      await loseStorage(w.o);
      expect([200]).not.toContain((await view(w.link)).status);
      expect([200]).not.toContain((await view({ ...w.link, key: w.open.key })).status);
      const answers = [await view(w.link, 'p'), await view(w.link, 'p')];
      for (const { status, json } of answers)
        expect(status === 200 ? json.value : 'value of a').toBe('value of a');
      expect(answers.filter(({ status }) => status === 200).length).toBeLessThan(2);
    },
  );

  it.each(['the storage of its gate', 'D1, from which the gate loads it'])(
    'an altered value, in %s, is an integrity violation that names link and request',
    async (where) => {
      const { o, open } = await linked();
      if (where.startsWith('D1')) {
        await run("update shares set value_sealed = 'AAAA' where id = ?", open.id);
        await evict(o);
        expect((await view(open)).json.value).toBe('value of b');
        await run("update shares set value_sealed = 'AAAA' where id = ?", open.id);
        await loseStorage(o);
        // The request that loads the gate leaves an entry about that.
        await o.get('/secrets');
      } else
        await inGate(o, ({ core }) =>
          core.rows.put('share', { ...(core.rows.get('share', open.id) as ShareRow), value_sealed: 'AAAA' }),
        );
      const refused = await view(open);
      expect([refused.status, refused.json.error.code]).toEqual([500, 'INTERNAL']);
      expect(events().at(-1)).toBe('value_does_not_open');
      const violations = (await alarms(o)).filter(({ reason }) => reason === 'value_does_not_open');
      expect(violations).toMatchObject([
        {
          actor: { kind: 'system' },
          resource: open.id,
          outcome: 'failed',
          request_id: refused.headers.get('request-id'),
        },
      ]);
    },
  );
});
