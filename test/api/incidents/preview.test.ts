// What a containment would end is what it ends: graph, dry run and containment agree, whatever created what,
// and whoever asks.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { formerMakers } from '../../../src/gate/identity/former-makers';
import { isAlive } from '../../../src/gate/identity/lifetime';
import {
  contain,
  idsOf,
  newAgent,
  newKey,
  newProvider,
  newSession,
  statusOrCode,
} from '../../support/credentials';
import { faults } from '../../support/faults';
import { inGate, runTasksLater } from '../../support/gate';
import { newApprovalPolicy } from '../../support/governance/approvals';
import { newKeyInput } from '../../support/people';
import { newSignedIn } from '../../support/signin/browser';
import { signInTerminal } from '../../support/signin/terminal';
import { runs, slow } from '../../support/slow';
import { byMember, newSignedInMember } from '../../support/storage/planted';
import { DAY } from '../../support/time';
import { type Caller, GENERATED, newOrg, newSecret, send, useWorld } from '../../support/world';

useWorld();

const sorted = (ids: Iterable<string>) => [...ids].sort();

interface Child {
  id: string;
  depth: number;
  parent_id: string;
  dies_with: string | null;
  ended_by_contain: boolean;
}
const graphOf = async (o: Caller, id: string) =>
  (await o.get(`/credentials/${id}/graph`)).json.children as Child[];
const endedIn = (children: Child[]) => idsOf(children.filter(({ ended_by_contain }) => ended_by_contain));

/** The credentials that can be used now. */
const livingIn = (o: Caller) =>
  inGate(o, ({ core }) =>
    core.rows
      .after('credential', '', 1000)
      .filter((row) => isAlive(core, row))
      .map(({ id }) => id),
  );

describe('contain: preview', () => {
  it('the graph shows every live descendant with its depth, and what a containment would end', async () => {
    const o = await newOrg();
    const key = await newKey(o);
    const session = await newSession(key.o);
    const agent = await newAgent(session.o);
    const made = await newKey(key.o);
    const below = await newAgent(made.o);
    const dead = await newKey(key.o);
    const late = await newKey(dead.o);
    await o.del(`/api-keys/${dead.id}`);
    const children = await graphOf(o, key.id);
    expect(
      children.map(({ id, depth, parent_id, dies_with, ended_by_contain }) => [
        id,
        depth,
        parent_id,
        dies_with,
        ended_by_contain,
      ]),
    ).toEqual(
      expect.arrayContaining([
        [session.id, 1, key.id, key.id, true],
        [made.id, 1, key.id, null, true],
        [agent.id, 2, session.id, session.id, true],
        [below.id, 2, made.id, null, true],
        [late.id, 2, dead.id, null, true],
      ]),
    );
    expect(children).toHaveLength(5);
    // The caller and what only it created would stay.
    const spared = await graphOf(made.o, key.id);
    expect(endedIn(spared)).toEqual(sorted([session.id, agent.id, late.id]));
    expect(endedIn(await graphOf(key.o, key.id))).toEqual([]);
  });

  it('a dry run answers what the containment answers, and changes nothing', async () => {
    const o = await newOrg();
    const key = await newKey(o);
    const session = await newSession(key.o);
    const agent = await newAgent(session.o);
    const read = await newSecret(o, GENERATED);
    const due = await newSecret(o, { type: 'database_url' });
    // Read by the session and by the agent below it, not by the key.
    await session.o.get(`/secrets/${read.id}`);
    await agent.o.get(`/secrets/${due.id}`);
    const body = { rotate: 'generated' };
    const foreseen = await contain(o, key.id, { ...body, dry_run: true });
    expect(foreseen.status, foreseen.text).toBe(200);
    expect(foreseen.json).toMatchObject({
      dry_run: true,
      read: [{ secret_id: read.id }, { secret_id: due.id }],
    });
    for (const one of [key, session, agent]) expect((await one.o.get('/secrets/none')).status).toBe(404);
    expect((await o.get(`/secrets/${read.id}`)).json.version).toBe(1);
    const entries = async (action: string) => (await o.get(`/audit-log?action=${action}`)).json.data.length;
    expect([await entries('credential.contain'), await entries('credential.graph')]).toEqual([0, 1]);
    const { dry_run: _, incident_id, ...same } = foreseen.json;
    expect(incident_id).toBe(null);
    expect((await contain(o, key.id, body)).json).toMatchObject(same);
    expect((await o.get(`/secrets/${read.id}`)).json.version).toBe(2);
  });

  it('a dry run says what is not rotated, because a policy holds it or it is beyond the caller', async () => {
    const o = await newOrg();
    const agent = await newAgent(o, { scopes: ['secrets:read'] });
    const made: Record<string, string> = {};
    for (const [name, environment] of [
      ['open', 'development'],
      ['held', 'development'],
      ['beyond', 'production'],
    ] as const) {
      made[name] = (await newSecret(o, { ...GENERATED, name, environment })).id;
      await agent.o.get(`/secrets/${made[name]}`);
    }
    await newApprovalPolicy(o, ['secret.rotate'], {
      applies_to: { names: ['held'] },
    });
    const environments = ['development'];
    await o.patch(`/agent-credentials/${agent.id}`, { environments });
    const caller = await newKey(o, {
      scopes: ['tokens:write', 'secrets:list', 'secrets:rotate'],
      environments,
    });
    const act = async (dry_run: boolean) => {
      const { json } = await contain(caller.o, agent.id, { rotate: 'generated', dry_run });
      return [json.rotated, json.rotation_due].map((list) =>
        sorted(list.map(({ secret_id }: { secret_id: string }) => secret_id)),
      );
    };
    const foreseen = await act(true);
    expect(foreseen).toEqual([[made.open], sorted([made.held as string, made.beyond as string])]);
    expect(await act(false)).toEqual(foreseen);
  });

  slow('a dry run is refused as the containment would be, and is not replayed', async () => {
    const o = await newOrg();
    const key = await newKey(o);
    const dry = (one: Caller, id: string, more = {}) =>
      one.post(`/credentials/${id}/contain`, { dry_run: true, ...more }, { 'Idempotency-Key': 'd' });
    const without = await newKey(o, { scopes: ['tokens:write'] });
    expect(statusOrCode(await dry(without.o, key.id, { rotate: 'generated' }))).toBe('INSUFFICIENT_SCOPE');
    expect(statusOrCode(await dry((await newKey(o, { scopes: ['tokens:read'] })).o, key.id))).toBe(
      'INSUFFICIENT_SCOPE',
    );
    expect(statusOrCode(await dry(key.o, key.id))).toBe('CONFLICT');
    expect(statusOrCode(await dry(o, 'key_none'))).toBe('NOT_FOUND');
    expect((await dry(o, key.id)).json.read).toEqual([]);
    const { id } = await newSecret(o);
    await key.o.get(`/secrets/${id}`);
    expect((await dry(o, key.id)).json.read).toMatchObject([{ secret_id: id }]);
  });

  slow('bounds: a chain of any length is followed in a few calls', async () => {
    const o = await newOrg();
    const root = await newKey(o);
    let last = root;
    for (let i = 0; i < 60; i++) last = await newKey(last.o, { scopes: ['tokens:write'] });
    const children = await graphOf(o, root.id);
    expect(children).toHaveLength(60);
    expect(Math.max(...children.map(({ depth }) => depth))).toBe(60);
    expect((await contain(o, root.id)).json.revoked).toHaveLength(61);
  });
});

describe('contain: makers that are long gone', () => {
  it('what they made is followed, after the rows of several makers in a row have left the gate', async () => {
    const o = await newOrg();
    const key = await newKey(o);
    const one = await newKey(key.o);
    const beside = await newKey(o);
    const two = await newKey(one.o);
    const last = await newKey(two.o);
    const mine = await newKey(beside.o);
    for (const { id } of [two, one]) await o.del(`/api-keys/${id}`);
    faults.clock = Date.now() + 91 * DAY;
    await runTasksLater(o, 91 * DAY);
    expect(
      await inGate(o, ({ core }) => [one, two].map(({ id }) => core.rows.get('credential', id))),
    ).toEqual([null, null]);
    expect(await graphOf(o, key.id)).toMatchObject([
      { id: last.id, depth: 3, parent_id: two.id, ended_by_contain: true },
    ]);
    expect(idsOf((await contain(o, key.id)).json.revoked)).toEqual(sorted([key.id, last.id]));
    expect((await last.o.get('/secrets')).status).toBe(401);
    expect((await mine.o.get('/secrets')).status).toBe(200);
    // Nothing is kept of a maker once nothing that it made is left.
    const kept = () =>
      inGate(o, ({ core }) => core.storage.sql.exec('select id from former_makers').toArray().length);
    expect(await kept()).toBe(2);
    faults.clock = Date.now() + 183 * DAY;
    await runTasksLater(o, 183 * DAY);
    // One pass for each of the makers in a row.
    await inGate(o, ({ core }) => [1, 2].map(() => formerMakers(core).sweep()));
    expect(await kept()).toBe(0);
  });

  it('a key made in a terminal that was confirmed in a browser and signed out ends with the browser session', async () => {
    const { o, browser } = await newSignedIn();
    const terminal = await signInTerminal(browser);
    const made = await newKey(terminal.o, { scopes: ['secrets:read'] });
    const { data } = (await send('GET', '/api/v1/auth/sessions', { token: browser.token })).json;
    const [{ id: terminalId }] = data.filter(({ client }: { client: string }) => client === 'terminal');
    const [{ id: browserId }] = data.filter(({ client }: { client: string }) => client === 'browser');
    expect(
      (await send('DELETE', `/api/v1/auth/sessions/${terminalId}`, { token: browser.token })).status,
    ).toBe(204);
    faults.clock = Date.now() + 700_000;
    await runTasksLater(o, 700_000);
    expect(await inGate(o, ({ core }) => core.rows.get('credential', terminalId))).toBe(null);
    expect((await contain(o, browserId)).json.revoked).toMatchObject([{ id: browserId }, { id: made.id }]);
    expect((await made.o.get('/secrets')).status).toBe(401);
  });
});

const step = fc.record({
  kind: fc.constantFrom(
    'key',
    'key',
    'session',
    'session',
    'agent',
    'agent',
    'provider',
    'rotate',
    'browser key',
    'revoke',
    'lapse',
    'pass',
  ),
  by: fc.nat(50),
  to: fc.nat(50),
});

describe('contain: random lineages', () => {
  it('graph, dry run and containment name exactly what ends', async () => {
    let acted = 0;
    let refused = 0;
    await fc.assert(
      fc.asyncProperty(
        fc.array(step, { minLength: 4, maxLength: 18 }),
        fc.nat(50),
        fc.nat(50),
        async (steps, asking, asked) => {
          let clock = Date.now();
          faults.clock = clock;
          const o = await newOrg();
          const bea = await newSignedInMember(o);
          const all: { id: string; o: Caller }[] = [{ id: o.keyId, o }];
          const isKey = (id: string) => id.startsWith('key_');
          const made = async (one: Promise<{ id: string; o: Caller }>) => {
            const done = await one.catch(() => null);
            if (done) all.push(done);
          };
          for (const { kind, by, to } of steps) {
            const maker = all[by % all.length] as { id: string; o: Caller };
            const other = all[to % all.length] as { id: string; o: Caller };
            if (kind === 'key') await made(newKey(maker.o));
            if (kind === 'session') await made(newSession(maker.o));
            if (kind === 'lapse') await made(newSession(maker.o, { ttlSeconds: 60 }));
            if (kind === 'agent') await made(newAgent(maker.o, { scopes: ['*'] }));
            if (kind === 'provider') await made(newProvider(maker.o));
            if (kind === 'rotate' && isKey(other.id)) {
              const { status, json } = await maker.o.post(`/api-keys/${other.id}/rotate`, {
                overlap_seconds: by % 2 ? 0 : 3600,
              });
              if (status === 201) all.push({ id: json.id, o: o.as(json.token) });
            }
            if (kind === 'browser key')
              await byMember(o, bea.session, 'api_key.create', { input: newKeyInput() });
            if (kind === 'revoke' && isKey(other.id) && other.id !== o.keyId)
              await o.del(`/api-keys/${other.id}`);
            if (kind === 'pass') {
              clock += 61_000;
              faults.clock = clock;
            }
          }
          const before = await livingIn(o);
          const callers = all.filter(({ id }) => before.includes(id) && !id.startsWith('prv_'));
          const caller = callers[asking % callers.length] as { id: string; o: Caller };
          const targets = [...all.map(({ id }) => id), bea.session];
          const id = targets[asked % targets.length] as string;
          const children = await graphOf(caller.o, id);
          const foreseen = await contain(caller.o, id, { dry_run: true });
          const answer = await contain(caller.o, id);
          expect(statusOrCode(foreseen)).toBe(statusOrCode(answer));
          const after = new Set(await livingIn(o));
          const ended = before.filter((one) => !after.has(one));
          expect(endedIn(children)).toEqual(sorted(ended.filter((one) => one !== id)));
          if (answer.status !== 200) return void refused++;
          acted++;
          expect(after.has(id)).toBe(false);
          const { dry_run, incident_id: _, ...same } = foreseen.json;
          expect(dry_run).toBe(true);
          expect(answer.json).toMatchObject(same);
          // What had been revoked before is listed too.
          expect(idsOf(answer.json.revoked)).toEqual(expect.arrayContaining(ended));
        },
      ),
      { numRuns: runs(25, 3) },
    );
    faults.clock = null;
    expect([acted > runs(5, -1), refused > runs(0, -1)]).toEqual([true, true]);
  });
});
