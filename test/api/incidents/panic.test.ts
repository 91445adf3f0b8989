// Panic: from its answer on, no credential but the caller's own does anything, whatever is under way; what is
// made after it lives.
import { describe, expect, it } from 'vitest';
import { newToken } from '../../../src/auth/authentication/token';
import { newId } from '../../../src/db/ids';
import type { CredentialRow, OrgRow } from '../../../src/db/schema';
import { countLive } from '../../../src/gate/identity/lifetime';
import { runTasks } from '../../../src/gate/tasks/run';
import { problemOf } from '../../model/invariants';
import {
  alive,
  newAgent,
  newBreakGlass,
  newKey,
  newProvider,
  newSession,
  statusOrCode,
} from '../../support/credentials';
import { type Fate, faults, reset, until } from '../../support/faults';
import { ageTo, evict, inGate, leaveRows, loseStorage } from '../../support/gate';
import { few, slow } from '../../support/slow';
import { byMember, newSignedInMember } from '../../support/storage/planted';
import { DAY } from '../../support/time';
import { BOOTSTRAP, type Caller, db, newOrg, newSecret, send, useWorld } from '../../support/world';

useWorld();

const panic = (o: Caller, fields: Record<string, unknown> = {}, headers?: Record<string, string>) =>
  o.post('/panic', { reason: 'a laptop was stolen', ...fields }, headers);
const orgOf = (o: Caller) => inGate(o, ({ core }) => core.rows.get('org', o.id) as OrgRow);

/** One credential of each kind that a token admits, by kind. */
async function oneOfEach(o: Caller) {
  return {
    session: (await newSession(o)).o,
    agent: (await newAgent(o)).o,
    provider: (await newProvider(o)).o,
    break_glass: (await newBreakGlass(o)).o,
  };
}

describe('panic', () => {
  it('ends session tokens, agents, provider and break-glass tokens and browser sessions, and keeps API keys and the caller', async () => {
    const o = await newOrg();
    const other = await newKey(o);
    const member = await newSignedInMember(o);
    const each = await oneOfEach(o);
    const of = await newSession(other.o);
    for (const one of [...Object.values(each), of.o]) expect(await alive(one)).toBe(200);
    const answer = await panic(o);
    expect(answer.status).toBe(200);
    expect(Object.keys(answer.json)).toEqual(['ended_at', 'incident_id', 'recent']);
    for (const one of [...Object.values(each), of.o]) expect(await alive(one)).toBe('TOKEN_REVOKED');
    expect((await byMember(o, member.session, 'caller.read')).outcome).toMatchObject({
      kind: 'refused',
      refusal: { code: 'TOKEN_REVOKED' },
    });
    expect([await alive(o), await alive(other.o)]).toEqual([200, 200]);
    expect((await o.get('/agent-credentials')).json.data).toEqual([]);
    const [entry] = (await o.get('/audit-log?action=org.panic')).json.data;
    expect(entry).toMatchObject({ resource: o.id, reason: 'a laptop was stolen', status: 200 });
    expect(await problemOf(o)).toBe(null);
  });

  slow('keeps what is created after it', async () => {
    const o = await newOrg();
    await panic(o);
    for (const one of Object.values(await oneOfEach(o))) expect(await alive(one)).toBe(200);
    expect(await alive((await newKey(o)).o)).toBe(200);
  });

  it('with api_keys ends every API key, the calling one too, and returns a new one with all scopes', async () => {
    const o = await newOrg();
    const other = await newKey(o);
    const session = await newSession(other.o);
    const answer = await panic(o, { api_keys: true });
    const { token, ...shown } = answer.json.api_key;
    expect(shown).toMatchObject({ scopes: ['*'], environments: null, parent_id: null, revoked_at: null });
    for (const one of [o, other.o, session.o]) expect(await alive(one)).toBe('TOKEN_REVOKED');
    const next = o.as(token);
    expect(await alive(next)).toBe(200);
    expect((await next.get('/api-keys')).json.data.map(({ id }: { id: string }) => id)).toEqual([shown.id]);
    for (const one of Object.values(await oneOfEach(next))) expect(await alive(one)).toBe(200);
    expect(await alive((await newKey(next)).o)).toBe(200);
    // The new key counts as made after both panics that may follow, and the one that is alone.
    expect((await panic(next)).status).toBe(200);
    expect(await alive(next)).toBe(200);
    expect(await problemOf(next)).toBe(null);
  });

  it('by a member ends the API keys and keeps the browser session of the member', async () => {
    const o = await newOrg();
    const { session } = await newSignedInMember(o);
    const made = newToken('api_key', o.id, new Uint8Array(32));
    const token = { id: newId('key'), hash: made.hash, hint: made.hint };
    const reply = await byMember(o, session, 'org.panic', { input: { reason: 'x', token } });
    expect(reply.outcome).toMatchObject({ kind: 'ok', status: 200, data: { api_key: { id: token.id } } });
    expect(await alive(o)).toBe('TOKEN_REVOKED');
    expect((await byMember(o, session, 'caller.read')).outcome.kind).toBe('ok');
    expect(await inGate(o, ({ core }) => core.rows.get('credential', token.id))).toMatchObject({
      generation: 1,
      created_in: session,
    });
    // Spared by one panic, it ends by the next that is another's.
    const second = await newSignedInMember(o);
    expect(
      (await byMember(o, second.session, 'org.panic', { input: { reason: 'x', token: null } })).outcome.kind,
    ).toBe('ok');
    expect((await byMember(o, session, 'caller.read')).outcome).toMatchObject({
      refusal: { code: 'TOKEN_REVOKED' },
    });
    expect(
      (await byMember(o, second.session, 'org.panic', { input: { reason: 'x', token: null } })).outcome.kind,
    ).toBe('ok');
    expect((await byMember(o, second.session, 'caller.read')).outcome.kind).toBe('ok');
  });

  it('ends a key that an earlier panic kept, and the session tokens of a kept key', async () => {
    const o = await newOrg();
    const second = await newKey(o);
    const session = await newSession(second.o);
    await panic(second.o);
    expect([await alive(second.o), await alive(session.o)]).toEqual([200, 'TOKEN_REVOKED']);
    await panic(o, { api_keys: true });
    expect([await alive(second.o), await alive(o)]).toEqual(['TOKEN_REVOKED', 'TOKEN_REVOKED']);
  });

  it('keeps what a bootstrap recovery creates later, and does not count ended credentials as live', async () => {
    const o = await newOrg();
    for (let i = 0; i < 3; i++) await newAgent(o);
    await panic(o, { api_keys: true });
    const recovered = await send('POST', `/api/v1/orgs/${o.id}/recovery`, {
      token: BOOTSTRAP,
      body: { reason: 'the answer was lost' },
    });
    const next = o.as(recovered.json.api_key.token);
    expect(await alive(next)).toBe(200);
    expect(await inGate(o, ({ core }) => countLive(core, Date.now()))).toBe(2);
  });

  it('permission: owners, and keys with all scopes and no limits', async () => {
    const o = await newOrg();
    const limited = await newKey(o, { environments: ['staging'] });
    const narrow = await newKey(o, { scopes: ['tokens:write'] });
    for (const one of [limited, narrow]) expect(statusOrCode(await panic(one.o))).toBe('INSUFFICIENT_SCOPE');
    expect(statusOrCode(await panic((await newSession(o)).o))).toBe('CREDENTIAL_KIND_NOT_ALLOWED');
    expect(statusOrCode(await panic((await newAgent(o, { scopes: ['*'] })).o))).toBe(
      'CREDENTIAL_KIND_NOT_ALLOWED',
    );
    const { session } = await newSignedInMember(o, 'developer');
    expect(
      (await byMember(o, session, 'org.panic', { input: { reason: 'x', token: null } })).outcome,
    ).toMatchObject({ kind: 'refused' });
    expect(statusOrCode(await panic(o, { reason: '' }))).toBe('VALIDATION_FAILED');
    expect((await orgOf(o)).generation).toBe(null);
  });

  it('events: reports one event', async () => {
    const o = await newOrg();
    const before = await inGate(o, ({ core }) => core.outbox.head());
    await panic(o, { api_keys: true }, { 'Idempotency-Key': 'p' });
    const events = await inGate(o, ({ core }) => core.outbox.from(before, 10));
    expect(events.map(({ type }) => type)).toEqual([
      'CREDENTIAL_REVOKED',
      'INCIDENT_OPENED',
      'CREDENTIAL_CREATED',
    ]);
  });
});

describe('idempotency: a repeated panic', () => {
  it('returns the first response, and ends nothing more', async () => {
    const o = await newOrg();
    const first = await panic(o, {}, { 'Idempotency-Key': 'once' });
    const agent = await newAgent(o);
    const again = await panic(o, {}, { 'Idempotency-Key': 'once' });
    expect([again.json, again.headers.get('idempotency-replayed')]).toEqual([first.json, 'true']);
    expect(await alive(agent.o)).toBe(200);
    expect((await orgOf(o)).generation).toBe(1);
  });

  it('is refused for a key that ended with it: the response was given once', async () => {
    const o = await newOrg();
    await panic(o, { api_keys: true }, { 'Idempotency-Key': 'once' });
    expect(statusOrCode(await panic(o, { api_keys: true }, { 'Idempotency-Key': 'once' }))).toBe(
      'TOKEN_REVOKED',
    );
    expect((await orgOf(o)).generation).toBe(1);
  });

  it('returns the new key when the reply of the gate was lost', async () => {
    const o = await newOrg();
    faults.gate = 0;
    faults.rpc = (n) => (n === 1 ? { fate: 'after', retryable: true } : null);
    const answer = await panic(o, { api_keys: true });
    expect(answer.status).toBe(200);
    expect(await alive(o.as(answer.json.api_key.token))).toBe(200);
    expect((await orgOf(o)).generation).toBe(1);
  });

  it('is refused when a concurrent panic ended its caller', async () => {
    const o = await newOrg();
    const other = await newKey(o);
    const answers = await Promise.all([panic(o, { api_keys: true }), panic(other.o, { api_keys: true })]);
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 401]);
    const token = answers.find(({ status }) => status === 200)?.json.api_key.token;
    expect(await alive(o.as(token))).toBe(200);
    expect(await problemOf(o.as(token))).toBe(null);
  });
});

describe('panic: ended credentials stay ended', () => {
  slow('after eviction of the gate, and after it lost its storage', async () => {
    const o = await newOrg();
    const { session, agent } = await oneOfEach(o);
    const after = await panic(o, { api_keys: true });
    const next = o.as(after.json.api_key.token);
    await evict(o);
    for (const one of [o, session, agent]) expect(await alive(one)).toBe('TOKEN_REVOKED');
    await loseStorage(o);
    expect(await alive(next)).toBe(200);
    for (const one of [o, agent]) expect(await alive(one)).toBe('TOKEN_REVOKED');
    // Session tokens were in the lost storage alone.
    expect(await alive(session)).toBe('UNAUTHENTICATED');
  });

  slow('after adoption of a database from before', async () => {
    const o = await newOrg();
    const { agent } = await oneOfEach(o);
    const row = await db
      .prepare('select * from orgs where id = ?')
      .bind(o.id)
      .first<Record<string, unknown>>();
    await panic(o);
    const columns = Object.keys(row ?? {});
    await db
      .prepare(`insert or replace into orgs (${columns}) values (${columns.map(() => '?')})`)
      .bind(...Object.values(row ?? {}))
      .run();
    const adopted = await send('POST', `/api/v1/orgs/${o.id}/adopt`, {
      token: BOOTSTRAP,
      body: { reason: 'a fire' },
    });
    expect(adopted.status).toBe(200);
    expect([await alive(o), await alive(agent)]).toEqual([200, 'TOKEN_REVOKED']);
    const stored = await db.prepare('select generation, spared from orgs where id = ?').bind(o.id).first();
    expect(stored).toEqual({ generation: 1, spared: o.keyId });
  });

  it('after a session token left the gate', async () => {
    const o = await newOrg();
    const session = await newSession(o);
    await panic(o);
    await leaveRows(o, session.id);
    faults.clock = Date.now() + 3_600_000;
    expect(await alive(session.o)).toBe('TOKEN_REVOKED');
  });

  slow('for 90 days, and are then purged', async () => {
    const o = await newOrg();
    const agents: { id: string; o: Caller }[] = [];
    for (let i = 0; i < 3; i++) agents.push(await newAgent(o));
    const kept = await newKey(o);
    await panic(o);
    const since = await newAgent(o);
    const later = (days: number) =>
      inGate(o, async ({ core }) => {
        faults.clock = Date.now() + days * DAY;
        ageTo(core, faults.clock);
        core.schedule.at('retention', 1);
        for (let i = 0; i < 4; i++) await runTasks(core);
        faults.clock = null;
      });
    const idsIn = async () =>
      (
        await db
          .prepare("select id from credentials where org_id = ? and kind = 'agent'")
          .bind(o.id)
          .all<{ id: string }>()
      ).results.map(({ id }) => id);
    await later(89);
    expect(await idsIn()).toHaveLength(4);
    await later(91);
    expect(await idsIn()).toEqual([since.id]);
    expect(await inGate(o, ({ core }) => core.rows.isBuried('credential', agents[0]?.id as string))).toBe(
      true,
    );
    expect(await alive((agents[0] as { o: Caller }).o)).toBe('UNAUTHENTICATED');
    for (const one of [o, kept.o, since.o]) expect(await alive(one)).toBe(200);
    expect(await problemOf(o)).toBe(null);
  });
});

describe('panic: while one is in progress', () => {
  slow('no request that starts after its response succeeds, of fifty in flight', async () => {
    const o = await newOrg();
    const { id } = await newSecret(o);
    const each = await oneOfEach(o);
    const others = [each.session, each.agent, each.break_glass, (await newSession(o)).o];
    faults.delay = 4;
    const seen: { started: number; status: number }[] = [];
    let clock = 0;
    const run = async (at: number) => {
      for (let n = 0; n < 12; n++) {
        const one = others[(at + n) % others.length] as Caller;
        const started = ++clock;
        const { status } = await ((at + n) % 3
          ? one.get(`/secrets/${id}`)
          : one.patch(`/secrets/${id}`, { description: `${at}.${n}` }));
        seen.push({ started, status });
        await new Promise((done) => setTimeout(done, 2));
      }
    };
    const running = Array.from({ length: 50 }, (_, at) => run(at));
    await until(() => seen.length > 60);
    const answer = await panic(o);
    const answered = ++clock;
    expect(answer.status).toBe(200);
    await Promise.all(running);
    expect(seen.filter(({ started }) => started > answered).length).toBeGreaterThan(50);
    expect(seen.some(({ status }) => status === 200)).toBe(true);
    expect([
      ...new Set(seen.filter(({ started }) => started > answered).map(({ status }) => status)),
    ]).toEqual([401]);
    faults.delay = 0;
    expect(await problemOf(o)).toBe(null);
  });

  slow('a credential that is being created ends too', async () => {
    const o = await newOrg();
    const maker = await newKey(o);
    const session = await newSession(maker.o);
    faults.delay = (n) => (n === 1 ? 150 : 0);
    faults.d1 = 0;
    const making = newAgent(session.o).catch(() => null);
    await until(() => faults.d1 > 0);
    await panic(o);
    const made = await making;
    if (made) expect(await alive(made.o)).toBe('TOKEN_REVOKED');
    expect(await problemOf(o)).toBe(null);
  });

  it.each(few(['after', 'before'] as const, 1))(
    'takes effect while D1 is away, when its batch ends %s',
    async (fate) => {
      const o = await newOrg();
      const { id } = await newSecret(o);
      const { session } = await oneOfEach(o);
      await session.get(`/secrets/${id}`);
      // D1 takes the batch, or not, and says nothing any more.
      faults.d1 = 0;
      faults.fail = (_, n) => (n === 1 ? fate : 'before');
      expect((await panic(o)).status).toBe(200);
      expect([await alive(session), await alive(o)]).toEqual(['TOKEN_REVOKED', 200]);
      faults.fail = null;
      expect(await problemOf(o)).toBe(null);
    },
  );
});

slow('panic: one that revokes the API keys is atomic, whichever call fails', async () => {
  const fates: Fate[] = ['before', 'after', 'late', 'reset before', 'reset after', 'reset late'];
  const cuts: Partial<typeof faults>[] = [
    ...[1, 2, 3].flatMap((n) =>
      fates.map((fate) => ({ fail: (_: unknown, at: number) => (at === n ? fate : null) })),
    ),
    ...(['before', 'after'] as const).flatMap((fate) =>
      [true, false].map((retryable) => ({ rpc: (at: number) => (at === 1 ? { fate, retryable } : null) })),
    ),
    ...Array.from({ length: 16 }, (_, n) => ({
      storage: (at: number) => (at === n + 1 ? ('before' as const) : null),
    })),
  ];
  for (const how of cuts) {
    const o = await newOrg();
    const agent = await newAgent(o);
    Object.assign(faults, { d1: 0, gate: 0, statements: 0 }, how);
    const answer = await panic(o, { api_keys: true });
    const { orphans } = faults;
    reset();
    for (const land of orphans) await land().catch(() => {});
    await until(async () => (await send('GET', '/api/v1/whoami', { token: o.token })).status !== 503, 200);
    const ended = (await orgOf(o)).generation === 1;
    if (answer.status === 200) expect(ended).toBe(true);
    expect([await alive(o), await alive(agent.o)]).toEqual(
      ended ? ['TOKEN_REVOKED', 'TOKEN_REVOKED'] : [200, 200],
    );
    const keys = await inGate(o, ({ core }) =>
      core.rows.within('credential', 'api_key').map(({ generation }) => generation ?? 0),
    );
    expect(keys.sort()).toEqual(ended ? [0, 1] : [0]);
    if (answer.status === 200) expect(await alive(o.as(answer.json.api_key.token))).toBe(200);
    expect(await problemOf(o)).toBe(null);
  }
});

slow('panic: ends ten thousand credentials with a few rows written', async () => {
  const o = await newOrg();
  faults.asked.clear();
  await panic(o, { api_keys: true });
  const statements = [...faults.asked.keys()].filter((sql) => /^(insert|update)/.test(sql));
  expect(statements.map((sql) => sql.split(' ').slice(0, 3).join(' ')).sort()).toEqual([
    'insert into credentials',
    'insert into incidents',
    'insert into journal_positions',
    'update orgs set',
  ]);
  const row = await inGate(o, ({ core }) => core.rows.get('credential', o.keyId) as CredentialRow);
  expect(row.revoked_at).toBe(null);
});
