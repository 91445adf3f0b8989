// Incidents: each containment and each panic leaves one, which still shows what was answered, follows what is
// done about it, and is kept within bounds.
import { describe, expect, it } from 'vitest';
import type { IncidentRow } from '../../../src/db/schema';
import { problemOf } from '../../model/invariants';
import {
  alive,
  contain,
  idsOf,
  newAgent,
  newBreakGlass,
  newKey,
  newProvider,
  newSession,
} from '../../support/credentials';
import { faults } from '../../support/faults';
import { inCore, inGate, leaveRows, runTasksLater } from '../../support/gate';
import { newUpstream } from '../../support/integrations/upstreams';
import { add, newMember } from '../../support/people';
import { newSignedIn, signIn } from '../../support/signin/browser';
import { newDevice, provenBy } from '../../support/signin/device';
import { signInTerminal } from '../../support/signin/terminal';
import { slow } from '../../support/slow';
import { moveLog } from '../../support/storage/planted';
import { DAY } from '../../support/time';
import {
  type Answer,
  type Caller,
  codeOf,
  db,
  GENERATED,
  newOrg,
  newSecret,
  send,
  useWorld,
} from '../../support/world';

useWorld();

const byToken = (o: Caller, token: string, body: object = {}) =>
  o.post('/credentials/contain', { token, ...body });
const openedIn = async (o: Caller) =>
  (await inGate(o, ({ core }) => core.outbox.oldest(1000)))
    .filter(({ type }) => type === 'INCIDENT_OPENED')
    .map(({ data }) => data);
const incidents = async (o: Caller, query = '') =>
  (await o.get(`/incidents${query}`)).json.data as { id: string; status: string }[];

/** The text of all rows in a database. */
async function textsIn(all: (sql: string) => Promise<object[]>): Promise<string[]> {
  const tables = (await all(
    "select name from sqlite_master where type = 'table' and name not like '\\_cf%' escape '\\'",
  )) as {
    name: string;
  }[];
  const found = [];
  for (const { name } of tables)
    found.push(...(await all(`select * from "${name}"`)).map((row) => JSON.stringify(row)));
  return found;
}

/** A key whose session read a generated password, and which read a URL itself. */
async function leaked(o: Caller) {
  const key = await newKey(o);
  const session = await newSession(key.o);
  const made = await newSecret(o, GENERATED);
  const due = await newSecret(o, { type: 'database_url' });
  await session.o.get(`/secrets/${made.id}`);
  await key.o.get(`/secrets/${due.id}`);
  return { key, session, made, due };
}

describe('incident: a containment', () => {
  slow('shows the report, the progress of rotation and what was done', async () => {
    const o = await newOrg();
    const { key, session, made, due } = await leaked(o);
    const answer = await contain(o, key.id, { rotate: 'generated' }, { 'X-Access-Reason': 'found in a log' });
    const { incident_id, rotated: _, rotation_due: __, ...report } = answer.json;
    expect(incident_id).toMatch(/^inc_/);
    const shown = await o.get(`/incidents/${incident_id}`);
    expect(shown.status, shown.text).toBe(200);
    expect(shown.headers.get('etag')).toBe('"r1"');
    const credential = { kind: 'api_key', id: key.id, name: 'k' };
    expect(shown.json).toMatchObject({
      id: incident_id,
      revision: 1,
      kind: 'contain',
      status: 'open',
      credential,
      since: null,
      note: null,
      closed_at: null,
      reason: 'found in a log',
      opened_by: { kind: 'api_key', id: o.keyId, name: 'first key' },
      report,
    });
    expect(shown.json.report.revoked.map(({ id }: { id: string }) => id)).toEqual([key.id, session.id]);
    expect(shown.json.rotation).toMatchObject({
      total: 2,
      rotated: 1,
      secrets: [
        {
          secret_id: due.id,
          name: due.name,
          version: 1,
          current_version: 1,
          status: 'due',
          rotated_at: null,
        },
        { secret_id: made.id, version: 1, current_version: 2, status: 'rotated' },
      ],
    });
    await o.post(`/secrets/${due.id}/rotate`, { value: 'postgres://new' });
    await o.patch(`/incidents/${incident_id}`, { status: 'closed' });
    const later = (await o.get(`/incidents/${incident_id}`)).json;
    expect(later.rotation).toMatchObject({ total: 2, rotated: 2 });
    expect(
      later.timeline.map(({ action, status }: { action: string; status?: string }) => [action, status]),
    ).toEqual([
      ['credential.create', undefined],
      ['credential.contain', 'open'],
      ['secret.rotate', undefined],
      ['secret.rotate', undefined],
      ['incident.update', 'closed'],
    ]);
    const entries = (await o.get('/audit-log?action=credential.contain')).json.data as {
      incident?: object;
    }[];
    expect(entries.find(({ incident }) => incident)).toMatchObject({
      resource: key.id,
      incident: { id: incident_id, status: 'open' },
    });
    expect(await openedIn(o)).toEqual([{ incident_id, kind: 'contain', credential_id: key.id, by: o.keyId }]);
    expect(await problemOf(o)).toBe(null);
  });

  it('is one for a credential, however often and at once it is contained, and never covers less', async () => {
    const o = await newOrg();
    const { key } = await leaked(o);
    const since = (ms: number) => ({ since: new Date(Date.now() + ms).toISOString() });
    faults.delay = 5;
    const answers = await Promise.all([1, 2, 3, 4, 5].map(() => contain(o, key.id, since(3_600_000))));
    faults.delay = 0;
    expect(new Set(answers.map(({ json }) => json.incident_id)).size).toBe(1);
    const { incident_id } = (answers[0] as Answer).json;
    const shown = async () => (await o.get(`/incidents/${incident_id}`)).json;
    expect((await shown()).report.read).toEqual([]);
    await contain(o, key.id, since(7_200_000));
    expect((await shown()).since).toBe((await shown()).since);
    await contain(o, key.id);
    expect([(await shown()).since, (await shown()).report.read.length]).toEqual([null, 2]);
    await contain(o, key.id, since(0));
    expect((await shown()).report.read).toHaveLength(2);
    expect(await openedIn(o)).toHaveLength(1);
    expect(await incidents(o)).toHaveLength(1);
    expect([
      await incidents(o, `?credential=${key.id}`),
      await incidents(o, `?credential=${o.keyId}`),
    ]).toMatchObject([[{ id: incident_id }], []]);
  });

  slow('still shows everything after the credentials have left, and the log has moved', async () => {
    const o = await newOrg();
    const { key, session } = await leaked(o);
    const { incident_id, ...answer } = (await contain(o, session.id)).json;
    const before = (await o.get(`/incidents/${incident_id}`)).json;
    expect(before.report).toEqual(answer);
    await leaveRows(o, session.id);
    await db.prepare('delete from credentials where org_id = ? and id = ?').bind(o.id, session.id).run();
    await moveLog(o, 2);
    const after = (await o.get(`/incidents/${incident_id}`)).json;
    expect(after.report.read).toEqual(before.report.read);
    expect(after.report.revoked).toEqual(before.report.revoked);
    expect(after.timeline).toEqual(before.timeline);
    expect((await contain(o, session.id)).json).toMatchObject({ incident_id, read: before.report.read });
    expect((await o.get(`/api-keys/${key.id}`)).status).toBe(200);
  });

  slow('opens again if somebody contains more of it', async () => {
    const o = await newOrg();
    const key = await newKey(o);
    const made = await newKey(key.o);
    const below = await newAgent(made.o);
    const { incident_id } = (await contain(made.o, key.id)).json;
    const { id } = await newSecret(o);
    await below.o.get(`/secrets/${id}`);
    await o.patch(`/incidents/${incident_id}`, { status: 'closed' });
    // What the first one spared is not in its report.
    expect((await o.get(`/incidents/${incident_id}`)).json).toMatchObject({
      status: 'closed',
      report: { read: [] },
    });
    expect((await contain(o, key.id)).json).toMatchObject({ incident_id, read: [{ secret_id: id }] });
    expect((await o.get(`/incidents/${incident_id}`)).json).toMatchObject({
      status: 'open',
      closed_at: null,
      report: { read: [{ secret_id: id }] },
    });
    expect(await openedIn(o)).toHaveLength(2);
    // A repeat that ends nothing more leaves it as it is.
    await o.patch(`/incidents/${incident_id}`, { status: 'closed' });
    await contain(o, key.id);
    expect(await incidents(o, '?status=open')).toEqual([]);
  });

  slow(
    'is written with the revocation: an interrupted request leaves both or neither, and one event',
    async () => {
      for (const fate of ['before', 'after'] as const) {
        const o = await newOrg();
        const { key } = await leaked(o);
        const again = () => contain(o, key.id, {}, { 'Idempotency-Key': 'c' });
        for (let cut = 1; ; cut++) {
          faults.gate = 0;
          faults.rpc = (n) => (n === cut ? { fate, retryable: false } : null);
          const answer = await again();
          faults.rpc = null;
          const ended = (await send('GET', '/api/v1/whoami', { token: key.token })).status === 401;
          expect(await incidents(o)).toHaveLength(ended ? 1 : 0);
          if (answer.status === 200) break;
        }
        expect(await openedIn(o)).toHaveLength(1);
        expect(await problemOf(o)).toBe(null);
      }
    },
  );

  slow(
    'permission: names secrets only to callers who may list them, and is changed with tokens:write alone',
    async () => {
      const o = await newOrg();
      const { key, made } = await leaked(o);
      const { incident_id } = (await contain(o, key.id)).json;
      const looking = await newKey(o, { scopes: ['tokens:read'] });
      const shown = await looking.o.get(`/incidents/${incident_id}`);
      expect(shown.json.report.read).toMatchObject([{ secret_id: made.id, name: null }, { name: null }]);
      expect(shown.json.rotation.secrets).toMatchObject([{ name: null }, { name: null }]);
      expect(shown.text).not.toContain(made.name);
      expect(codeOf(await looking.o.patch(`/incidents/${incident_id}`, { status: 'closed' }))).toEqual([
        403,
        'INSUFFICIENT_SCOPE',
      ]);
      const blind = await newKey(o, { scopes: ['secrets:read'] });
      for (const path of ['/incidents', `/incidents/${incident_id}`])
        expect(codeOf(await blind.o.get(path))).toEqual([403, 'INSUFFICIENT_SCOPE']);
      const other = await newOrg();
      for (const path of [`/incidents/${incident_id}`, '/incidents/inc_none', `/incidents/${key.id}`])
        expect(codeOf(await other.get(path))).toEqual([404, 'NOT_FOUND']);
      expect(codeOf(await o.patch(`/incidents/${incident_id}`, { status: 'over' }))).toEqual([
        400,
        'VALIDATION_FAILED',
      ]);
      expect(
        (await o.patch(`/incidents/${incident_id}`, { note: 'in a public repository' })).json,
      ).toMatchObject({
        revision: 2,
        note: 'in a public repository',
        status: 'open',
      });
      expect((await o.patch(`/incidents/${incident_id}`, { note: null })).json.note).toBe(null);
    },
  );
});

describe('incident: a panic', () => {
  it('keeps what was recent, for those who may list members', async () => {
    const o = await newOrg();
    await newMember(o);
    await newUpstream(o);
    await o.post('/domains', { domain: 'acme.example' });
    const { incident_id, ended_at } = (await o.post('/panic', { reason: 'a laptop was stolen' })).json;
    const shown = (await o.get(`/incidents/${incident_id}`)).json;
    expect(shown).toMatchObject({
      kind: 'panic',
      credential: null,
      reason: 'a laptop was stolen',
      created_at: ended_at,
    });
    expect(shown.recent.enrolments).not.toEqual([]);
    expect(shown.timeline).toMatchObject([{ action: 'org.panic', status: 'open', actor: { id: o.keyId } }]);
    await newMember(o);
    expect((await o.get(`/incidents/${incident_id}`)).json.recent.enrolments).toEqual(
      shown.recent.enrolments,
    );
    const looking = await newKey(o, { scopes: ['tokens:read'] });
    expect((await looking.o.get(`/incidents/${incident_id}`)).json.recent).toBe(undefined);
    expect([shown.recent.upstreams.length, shown.recent.domains.length]).toEqual([1, 1]);
    const limited = await newKey(o, { scopes: ['*'], environments: ['staging'] });
    const listing = await newKey(o, { scopes: ['tokens:read', 'members:read', 'upstreams:read'] });
    const seenBy = async (by: Caller) => (await by.get(`/incidents/${incident_id}`)).json.recent;
    expect([(await seenBy(limited.o)).upstreams, (await seenBy(listing.o)).domains]).toEqual([[], []]);
    expect((await seenBy(listing.o)).upstreams).toEqual(shown.recent.upstreams);
    const again = (await o.post('/panic', { reason: 'once more' })).json.incident_id;
    expect((await incidents(o)).map(({ id }) => id)).toEqual([again, incident_id]);
    expect((await openedIn(o)).map(({ kind }) => kind)).toEqual(['panic', 'panic']);
  });
});

describe('contain: by the text of a token', () => {
  slow('finds credentials of every kind and sessions of members, alive or not', async () => {
    const { o, browser } = await newSignedIn();
    const member = await signIn(o, 'developer');
    const terminal = await signInTerminal(browser);
    const key = await newKey(o);
    const made = [key, await newSession(key.o), await newAgent(o), await newProvider(o)];
    for (const { id, token } of made.reverse())
      expect((await byToken(o, token)).json.revoked[0]).toMatchObject({ id });
    // Ended ones are found too, in both spellings of an agent's prefix.
    expect((await byToken(o, key.token)).json.revoked[0]).toMatchObject({ id: key.id });
    const agent = await newAgent(o);
    expect((await byToken(o, agent.token.replace('svcag_', 'svc_agent_'))).json.revoked).toMatchObject([
      { id: agent.id },
    ]);
    expect((await byToken(o, member.token)).json.revoked).toMatchObject([{ kind: 'browser' }]);
    expect((await byToken(o, terminal.refreshToken)).json.revoked).toMatchObject([{ kind: 'browser' }]);
    expect((await terminal.whoami()).status).toBe(401);
    expect((await send('GET', '/api/v1/whoami', { token: browser.token })).status).toBe(200);
  });

  it('finds break-glass tokens, tokens bound to a device without their proof, and rotated keys while both work', async () => {
    const o = await newOrg();
    const glass = await newBreakGlass(o);
    expect((await byToken(o, glass.token)).json.revoked).toMatchObject([
      { kind: 'break_glass', id: glass.id },
    ]);
    expect(await alive(glass.o)).toBe('TOKEN_REVOKED');
    const { id: device_id, keys } = await newDevice(o);
    const bound = await newAgent(o, { device_id });
    expect((await byToken(o, bound.token)).json.revoked).toMatchObject([{ id: bound.id }]);
    expect((await provenBy(bound.o, keys).get('/secrets')).json.error.code).toBe('TOKEN_REVOKED');
    const old = await newKey(o);
    const { json: next } = await o.post(`/api-keys/${old.id}/rotate`, { overlap_seconds: 3600 });
    expect((await byToken(o, old.token)).json.revoked).toMatchObject([{ id: old.id }]);
    // Somebody else rotated it: the successor has not leaked.
    expect([await alive(old.o), await alive(o.as(next.token))]).toEqual(['TOKEN_REVOKED', 200]);
    const own = await newKey(o);
    const { json: successor } = await own.o.post(`/api-keys/${own.id}/rotate`, { overlap_seconds: 3600 });
    expect(idsOf((await byToken(o, own.token)).json.revoked)).toEqual([own.id, successor.id].sort());
    expect((await byToken(o, successor.token)).json.revoked).toMatchObject([{ id: successor.id }]);
  });

  it('finds a session token that has left the gate', async () => {
    const o = await newOrg();
    const key = await newKey(o);
    const session = await newSession(key.o, { ttlSeconds: 60 });
    const { id } = await newSecret(o);
    await session.o.get(`/secrets/${id}`);
    faults.clock = Date.now() + 61_000;
    await leaveRows(o, session.id);
    const answer = await byToken(o, session.token);
    expect(answer.json).toMatchObject({
      incident_id: expect.stringMatching(/^inc_/),
      read: [{ secret_id: id }],
    });
    const [entry] = (await o.get('/audit-log?action=credential.contain')).json.data;
    expect(entry.resource).toBe(session.id);
  });

  slow("tells nothing of other organisations' tokens, and keeps no token", async () => {
    const o = await newOrg();
    const other = await newOrg();
    const own = await newKey(o);
    const foreign = await newKey(other);
    const forged = `${own.token.slice(0, -1)}${own.token.endsWith('a') ? 'b' : 'a'}`;
    const signedIn = await newSignedIn();
    const answers = [];
    for (const text of [foreign.token, signedIn.browser.token, forged, 'svc_live_x', 'hunter2', 'a.b.c', ' '])
      answers.push(await byToken(o, text));
    for (const { status, text } of answers) expect([status, text]).toEqual([404, answers[0]?.text]);
    expect((await send('GET', '/api/v1/whoami', { token: foreign.token })).status).toBe(200);
    expect(codeOf(await byToken(own.o, own.token))).toEqual([409, 'CONFLICT']);
    expect(codeOf(await byToken((await newKey(o, { scopes: ['tokens:read'] })).o, own.token))).toEqual([
      403,
      'INSUFFICIENT_SCOPE',
    ]);
    expect(codeOf(await o.post('/credentials/contain', {}))).toEqual([400, 'VALIDATION_FAILED']);
    expect((await byToken(o, own.token, { dry_run: true })).json).toMatchObject({
      dry_run: true,
      revoked: [{ id: own.id }],
    });
    expect((await own.o.get('/incidents')).status).toBe(200);
    const log = (await o.get('/audit-log?limit=100')).text;
    for (const text of [own.token, foreign.token, forged, 'hunter2']) expect(log).not.toContain(text);
    expect(log).not.toContain(foreign.id);
  });

  slow(
    'idempotency: a replay gives the first answer, and neither D1 nor the gate keeps the token',
    async () => {
      const o = await newOrg();
      const { key } = await leaked(o);
      const ask = () =>
        o.post(
          '/credentials/contain',
          { token: key.token },
          { 'Idempotency-Key': 'c', 'X-Access-Reason': 'found in a log' },
        );
      const first = await ask();
      const second = await ask();
      expect([second.json, second.headers.get('idempotency-replayed')]).toEqual([first.json, 'true']);
      expect(
        codeOf(await o.post('/credentials/contain', { token: o.token }, { 'Idempotency-Key': 'c' })),
      ).toEqual([422, 'IDEMPOTENCY_KEY_REUSED']);
      const kept = [
        ...(await textsIn((sql) =>
          db
            .prepare(sql)
            .all()
            .then(({ results }) => results),
        )),
        ...(await inCore(o, ({ storage }) => textsIn(async (sql) => storage.sql.exec(sql).toArray()))),
      ].join('\n');
      expect(kept).toContain(key.id);
      expect(kept).not.toContain(key.token.slice('svc_live_'.length));
    },
  );
});

describe('limits: incidents', () => {
  const rows = (root: string, status: IncidentRow['status'], many: number) =>
    Array.from({ length: many }, (_, i) => ({
      id: `inc_${String(i).padStart(22, '0')}`,
      kind: 'contain' as const,
      status,
      since: null,
      spared: [],
      reason: null,
      note: null,
      credential: {
        id: `key_${root}${i}`,
        kind: 'api_key' as const,
        name: 'k',
        created_at: 0,
        member_id: null,
      },
      opened_by: { kind: 'api_key', id: root, parent_id: null, name: 'k' },
      root,
      created_at: i,
      updated_at: i,
      closed_at: status === 'closed' ? i : null,
    }));

  it('the oldest closed one leaves, and where all are open a containment goes on without a record', async () => {
    const o = await newOrg();
    await add(o, 'incident', rows(o.keyId, 'open', 250));
    const one = await newKey(o);
    const two = await newKey(o);
    const three = await newKey(o);
    expect((await contain(o, one.id)).json).toMatchObject({ incident_id: null, revoked: [{ id: one.id }] });
    expect((await one.o.get('/secrets')).status).toBe(401);
    // Another root still has room.
    const other = await newKey(o);
    expect((await contain(other.o, two.id)).json.incident_id).toMatch(/^inc_/);
    await o.patch(`/incidents/inc_${'7'.padStart(22, '0')}`, { status: 'closed' });
    await o.patch(`/incidents/inc_${'5'.padStart(22, '0')}`, { status: 'closed' });
    expect((await contain(o, three.id)).json.incident_id).toMatch(/^inc_/);
    const left = await inGate(o, ({ core }) => core.rows.after('incident', '', 1000).map(({ id }) => id));
    expect(left).toHaveLength(251);
    expect(left).not.toContain(`inc_${'5'.padStart(22, '0')}`);
    expect(await problemOf(o)).toBe(null);
  });

  it('leave with the audit log from which their reports follow', async () => {
    const o = await newOrg();
    const { key } = await leaked(o);
    await contain(o, key.id);
    faults.clock = Date.now() + 399 * DAY;
    await runTasksLater(o, 399 * DAY);
    const kept = () => db.prepare('select id from incidents where org_id = ?').bind(o.id).all();
    expect((await kept()).results).toHaveLength(1);
    faults.clock = Date.now() + 401 * DAY;
    await runTasksLater(o, 401 * DAY);
    expect((await kept()).results).toEqual([]);
    expect(await incidents(o)).toEqual([]);
  });
});
