// Syncs against approval policies, audit and incidents: what is held is not sent, and what was sent is known
// to have been read.
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { IntegrationRow } from '../../../src/db/schema';
import { revision } from '../../../src/gate/request/writes';
import { newAgent, newKey } from '../../support/credentials';
import { faults } from '../../support/faults';
import { inGate } from '../../support/gate';
import {
  approvalIn,
  approve,
  colleague,
  newApprovalPolicy,
  newOffice,
  under,
} from '../../support/governance/approvals';
import {
  circleciConfig,
  herokuConfig,
  short,
  statusOf,
  syncAll,
  synced,
  type Targets,
  TOKEN,
  useTargets,
} from '../../support/integrations/syncs';
import { change, signIn } from '../../support/signin/browser';
import { slow } from '../../support/slow';
import { DAY } from '../../support/time';
import { type Caller, codeOf, db, newOrg, newSecret, send, useWorld } from '../../support/world';

useWorld();

let targets: Targets;
beforeEach(() => {
  targets = useTargets();
});
afterEach(() => vi.unstubAllGlobals());

const body = { platform: 'heroku', config: herokuConfig, environmentId: 'production' };

describe('sync: approval policies', () => {
  it('sync: a held secret holds the whole sync, until it is approved; then it is sent once', async () => {
    const { o, ann, bob } = await newOffice();
    const asked = o.as(
      (await newKey(bob.o, { scopes: ['integrations:sync', 'secrets:read', 'approvals:read'] })).token,
    );
    await newSecret(o, { name: 'FREE', value: 'free' });
    await newSecret(o, { name: 'HELD', value: 'held' });
    await newApprovalPolicy(o, ['secret.read'], { applies_to: { names: ['HELD'] } });
    const refused = await asked.post('/integrations/sync', body);
    const { id } = approvalIn(refused);
    await syncAll(o);
    expect(targets.calls).toEqual([]);
    expect((await o.get('/integrations/syncs')).json.data).toEqual([]);
    await approve(ann, id);
    const queued = await asked.post('/integrations/sync', body, under(id));
    expect(queued.status).toBe(202);
    await syncAll(o);
    expect(short(await statusOf(o, queued.json.syncId))).toEqual(['FREE created', 'HELD created']);
    expect(codeOf(await asked.post('/integrations/sync', body, under(id)))).toEqual([
      409,
      'APPROVAL_MISMATCH',
    ]);
    expect(short(await synced(o, { names: ['FREE'] }))).toEqual(['FREE unchanged']);
  });

  it('sync: a policy created between request and sending holds its secrets', async () => {
    const { o } = await newOffice();
    for (const name of ['FREE', 'HELD']) await newSecret(o, { name, value: name });
    const { json } = await o.post('/integrations/sync', body);
    await newApprovalPolicy(o, ['secret.read'], { applies_to: { names: ['HELD'] } });
    await syncAll(o);
    expect(short(await statusOf(o, json.syncId))).toEqual(['FREE created', 'HELD failed NOT_ATTEMPTED']);
    expect(targets.heroku).toEqual({ FREE: 'FREE' });
  });

  it('sync: a dry run is never held, and reveals nothing about held secrets', async () => {
    const { o } = await newOffice();
    await newSecret(o, { name: 'HELD', value: 'guess me' });
    await newApprovalPolicy(o, ['secret.read']);
    for (const guess of ['guess me', 'wrong']) {
      targets.heroku = { HELD: guess };
      const dry = await o.post('/integrations/sync', { ...body, dryRun: true });
      expect([dry.status, short(dry.json)]).toEqual([200, ['HELD updated']]);
    }
  });

  slow('sync: automatic syncs do not wait for approval, and do not send held secrets', async () => {
    const { o } = await newOffice();
    await newApprovalPolicy(o, ['secret.read'], { applies_to: { names: ['HELD'] } });
    await o.post('/integrations', {
      kind: 'sync',
      platform: 'heroku',
      name: 'app',
      config: herokuConfig,
      auto: true,
    });
    for (const name of ['FREE', 'HELD']) await newSecret(o, { name, value: name });
    faults.clock = Date.now() + 10_000;
    await syncAll(o);
    expect(targets.heroku).toEqual({ FREE: 'FREE' });
  });
});

describe('sync: approval policies on agents', () => {
  const SCOPES = ['integrations:*', 'secrets:*'];
  /** An office whose policy holds reads of agents, with a connection of the owner, and an agent of bob's. */
  async function newDesk(fields: object = {}) {
    const office = await newOffice();
    const { o, ann, bob } = office;
    await newApprovalPolicy(o, ['secret.read'], { config: { approvers: { accountable: true } } });
    const connection = {
      kind: 'sync',
      platform: 'heroku',
      name: 'app',
      config: herokuConfig,
      environments: ['development'],
      ...fields,
    };
    const { id } = (await ann.o.post('/integrations', connection)).json;
    return { ...office, id, agent: (await newAgent(bob.o, { scopes: SCOPES })).o };
  }
  const later = async (o: Caller) => {
    faults.clock = Date.now() + 10_000;
    await syncAll(o);
  };

  it('sync: an agent that widens what a connection sends is judged from then on, whoever changes it later', async () => {
    for (const [before, change] of [
      [{}, { auto: true, environments: ['development', 'production'] }],
      [{ environments: ['production'] }, { auto: true }],
      [{ auto: true }, { environments: ['development', 'production'] }],
      [{ auto: true, environments: ['production'] }, { prune: true }],
    ]) {
      const { o, ann, agent, id } = await newDesk(before);
      expect((await agent.patch(`/integrations/${id}`, change)).status).toBe(200);
      expect(
        (await ann.o.patch(`/integrations/${id}`, { environments: ['production'], prune: false })).status,
      ).toBe(200);
      await newSecret(o, { name: 'HELD', value: 'held' });
      await later(o);
      expect(targets.heroku).toEqual({});
      // Nor do syncs that others ask for.
      const { status, json } = await ann.o.post('/integrations/sync', {
        integrationId: id,
        environmentId: 'production',
      });
      expect([status, json.error.code]).toEqual([403, 'APPROVAL_REQUIRED']);
      faults.clock = null;
    }
  });

  slow('sync: a change of an agent that widens nothing holds nothing', async () => {
    const { o, agent, id } = await newDesk({
      auto: true,
      prune: true,
      environments: ['development', 'production'],
    });
    expect(
      (
        await agent.patch(`/integrations/${id}`, {
          name: 'renamed',
          environments: ['production'],
          prune: false,
        })
      ).status,
    ).toBe(200);
    await newSecret(o, { name: 'SENT', value: 'sent' });
    await later(o);
    expect(targets.heroku).toEqual({ SENT: 'sent' });
  });

  slow(
    'sync: a connection that an agent stored stays its own when a member sends its config again',
    async () => {
      const { o, ann, agent } = await newDesk();
      const { id } = (
        await agent.post('/integrations', {
          kind: 'sync',
          platform: 'heroku',
          name: 'its',
          config: herokuConfig,
          auto: true,
        })
      ).json;
      expect((await ann.o.patch(`/integrations/${id}`, { config: { token: TOKEN } })).status).toBe(200);
      await newSecret(o, { name: 'HELD', value: 'held' });
      await later(o);
      expect(targets.heroku).toEqual({});
    },
  );

  /** A connection that the agent stored, with a secret that it would send, and a run of it. */
  async function newRun(desk: Awaited<ReturnType<typeof newDesk>>) {
    const { id } = (
      await desk.agent.post('/integrations', {
        kind: 'sync',
        platform: 'heroku',
        name: 'its',
        config: herokuConfig,
      })
    ).json;
    await newSecret(desk.o, { name: 'HELD', value: 'held' });
    const body = { integrationId: id, environmentId: 'production' };
    return (by: Caller, approval?: string) =>
      by.post('/integrations/sync', body, approval ? under(approval) : undefined);
  }

  it('sync: nobody approves a run of their own by the connection of an agent', async () => {
    const desk = await newDesk();
    const { o, ann, bob, agent } = desk;
    const key = (await newKey(bob.o, { scopes: SCOPES })).o;
    const run = await newRun(desk);
    for (const by of [bob.o, key, ann.o]) {
      const held = await run(by);
      const { id } = approvalIn(held);
      expect(held.json.error.message).toContain('Nobody can approve a request of a member');
      for (const one of [bob, ann]) {
        expect(codeOf(await approve(one, id))).toEqual([403, 'INSUFFICIENT_SCOPE']);
        expect((await one.o.get(`/approvals/${id}`)).json.may_decide).toBe(false);
      }
      expect(codeOf(await run(by, id))).toEqual([409, 'APPROVAL_MISMATCH']);
    }
    await syncAll(o);
    expect(targets.heroku).toEqual({});
    // What the agent itself asks, its member decides.
    const { id } = approvalIn(await run(agent));
    expect(codeOf(await approve(ann, id))).toEqual([403, 'INSUFFICIENT_SCOPE']);
    expect((await approve(bob, id)).json.status).toBe('approved');
    const queued = await run(agent, id);
    expect(queued.status).toBe(202);
    await syncAll(o);
    expect(short(await statusOf(o, queued.json.syncId))).toEqual(['HELD created']);
  });

  it('sync: nobody who is accountable for the agent of a connection decides a run of it by a member', async () => {
    const desk = await newDesk();
    const { o, ann, bob, agent, id: widened } = desk;
    expect(
      (await agent.patch(`/integrations/${widened}`, { environments: ['development', 'production'] })).status,
    ).toBe(200);
    const [policy] = (await o.get('/policies')).json.data;
    expect((await o.del(`/policies/${policy.id}`)).status).toBe(204);
    const cara = await colleague(o, 'admin');
    const dora = await signIn(bob.o, 'admin');
    await newApprovalPolicy(o, ['secret.read'], { config: { approvers: { role: 'admin' } } });
    const stored = await newRun(desk);
    const other = (by: Caller) =>
      by.post('/integrations/sync', { integrationId: widened, environmentId: 'production' });
    for (const run of [stored, other]) {
      const { id } = approvalIn(await run(ann.o));
      const { requester } = (await ann.o.get(`/approvals/${id}`)).json;
      expect(requester.accountable.map((one: { member_id: string }) => one.member_id)).toEqual([
        ann.member.id,
        bob.member.id,
      ]);
      // Nor whoever they brought in.
      for (const one of [bob, dora])
        expect(codeOf(await approve(one, id))).toEqual([403, 'INSUFFICIENT_SCOPE']);
      expect((await approve(cara, id)).json.status).toBe('approved');
    }
    expect((await stored(ann.o, approvalIn(await stored(ann.o)).id)).status).toBe(202);
  });
});

describe('sync: who decided where a connection sends', () => {
  /** A policy that an admin's approval satisfies, and three admins; bob's key asks for syncs. */
  async function newDesk() {
    const { o, ann, bob } = await newOffice();
    const cara = await colleague(o, 'admin');
    const dora = await colleague(o, 'admin');
    await newSecret(o, { name: 'HELD', value: 'held' });
    await newApprovalPolicy(o, ['secret.read'], { config: { approvers: { role: 'admin' } } });
    const key = (await newKey(bob.o, { scopes: ['integrations:sync', 'approvals:read'] })).o;
    const stored = async (by: Caller, fields: object = {}): Promise<string> =>
      (
        await by.post('/integrations', {
          kind: 'sync',
          platform: 'heroku',
          name: 'app',
          config: herokuConfig,
          ...fields,
        })
      ).json.id;
    const ask = async (integrationId: string): Promise<string> =>
      approvalIn(await key.post('/integrations/sync', { integrationId, environmentId: 'production' })).id;
    return { o, ann, bob, cara, dora, key, stored, ask };
  }
  const DENIED = [403, 'INSUFFICIENT_SCOPE'];

  slow(
    'sync: who stored a connection approves a run that another asks for: the requester chose it',
    async () => {
      const { cara, stored, ask } = await newDesk();
      expect((await approve(cara, await ask(await stored(cara.o)))).json.status).toBe('approved');
    },
  );

  it('attack: who repointed or widened a connection approves no run of it for seven days', async () => {
    const { o, ann, bob, cara, dora, stored, ask } = await newDesk();
    const both = ['development', 'production'];
    const key = (await newKey(cara.o, { scopes: ['integrations:*', 'secrets:read'] })).o;
    for (const [by, body, before] of [
      [cara.o, { config: { appName: 'elsewhere', token: TOKEN } }, {}],
      [key, { config: { appName: 'elsewhere', token: TOKEN } }, {}],
      [cara.o, { auto: true }, {}],
      [cara.o, { prune: true }, {}],
      [cara.o, { environments: both }, { environments: ['production'] }],
    ] as [Caller, object, object][]) {
      const id = await stored(ann.o, before);
      expect((await by.patch(`/integrations/${id}`, body)).status).toBe(200);
      // Nor does it help that somebody else changes it afterwards.
      expect((await ann.o.patch(`/integrations/${id}`, { config: { token: TOKEN } })).status).toBe(200);
      const approval = await ask(id);
      expect(codeOf(await approve(cara, approval)), JSON.stringify(body)).toEqual(DENIED);
      const { requester } = (await dora.o.get(`/approvals/${approval}`)).json;
      expect(requester.accountable.map((one: { member_id: string }) => one.member_id)).toEqual([
        bob.member.id,
        cara.member.id,
        ann.member.id,
      ]);
      expect((await approve(dora, approval)).json.status).toBe('approved');
    }
    const id = await stored(ann.o);
    expect((await cara.o.patch(`/integrations/${id}`, { prune: true })).status).toBe(200);
    await change(o.id, (call) => {
      const row = call.core.rows.get('integration', id) as IntegrationRow;
      const changed_by =
        row.changed_by?.map(([member, at]): [string, number] => [member, at - 7 * DAY]) ?? null;
      return { status: 200, data: null, writes: [revision(call, 'integration', row, { changed_by })] };
    });
    expect((await approve(cara, await ask(id))).json.status).toBe('approved');
  });

  slow('sync: who renamed or narrowed a connection approves a run of it', async () => {
    const { ann, cara, stored, ask } = await newDesk();
    const id = await stored(ann.o, { environments: ['development', 'production'], auto: true });
    expect(
      (
        await cara.o.patch(`/integrations/${id}`, {
          name: 'renamed',
          environments: ['production'],
          auto: false,
        })
      ).status,
    ).toBe(200);
    expect((await approve(cara, await ask(id))).json.status).toBe('approved');
  });
});

describe('sync: audit', () => {
  const entries = async (o: Caller) =>
    (await o.get('/audit-log?limit=100')).json.data as Record<string, unknown>[];

  it('sync: request and sending have an entry each, attributed to the requester, without a value or a credential', async () => {
    const o = await newOrg();
    await newSecret(o, { name: 'ALPHA', value: 'the-value-of-alpha' });
    const key = await newKey(o, { scopes: ['integrations:sync', 'secrets:read'] });
    const sync = await synced(o.as(key.token), { names: ['ALPHA'] });
    const found = (await entries(o)).filter(({ action }) => String(action).startsWith('integration.sync'));
    const asking = found.find(({ action }) => action === 'integration.sync');
    const sending = found.find(({ action }) => action === 'integration.sync_run');
    expect(asking).toMatchObject({
      names: ['ALPHA'],
      sent: { platform: 'heroku', secrets: 1 },
      resource: sync.id,
      environment: 'production',
      status: 202,
      actor: { kind: 'api_key', id: key.id },
    });
    expect(sending).toMatchObject({
      environment: 'production',
      status: 200,
      actor: { kind: 'api_key', id: key.id },
      names: ['ALPHA'],
      sent: { platform: 'heroku', secrets: 1 },
    });
    const all = JSON.stringify(await entries(o));
    for (const text of ['the-value-of-alpha', TOKEN]) expect(all).not.toContain(text);
  });

  slow(
    'sync: who had a secret sent counts as a reader of it, for its readers and for a containment',
    async () => {
      const o = await newOrg();
      const alpha = await newSecret(o, { name: 'ALPHA', value: 'a' });
      const beta = await newSecret(o, { name: 'BETA', value: 'b' });
      const key = await newKey(o, { scopes: ['integrations:sync', 'secrets:read'] });
      await synced(o.as(key.token), { names: ['ALPHA'] });
      const contained = await o.post(`/credentials/${key.id}/contain`, {});
      expect([200, 201]).toContain(contained.status);
      expect(contained.text).toContain(alpha.id);
      expect(contained.text).not.toContain(beta.id);
    },
  );
});

describe('sync: secrecy', () => {
  it('sync: no value and no credential is in D1, on the queue, in events, or in responses', async () => {
    const o = await newOrg();
    await newSecret(o, { name: 'ALPHA', value: 'a-value-that-is-looked-for' });
    targets.before = ({ method }) =>
      method === 'GET'
        ? null
        : Response.json({ id: 'a-value-that-is-looked-for', message: TOKEN }, { status: 422 });
    const config = { ...circleciConfig, token: TOKEN };
    const sync = await synced(o, { platform: 'circleci', config });
    expect(sync.status).toBe('failed');
    const stored = await inGate(o, (_gate, state) =>
      state.storage.sql
        .exec<{ name: string }>("select name from sqlite_master where type = 'table'")
        .toArray()
        .filter(({ name }) => !name.startsWith('_cf'))
        .map(({ name }) =>
          JSON.stringify(state.storage.sql.exec(`select * from "${name}"`).toArray(), (_k, value) =>
            value instanceof ArrayBuffer ? [...new Uint8Array(value)] : value,
          ),
        ),
    );
    const texts = [
      JSON.stringify(sync),
      ...stored,
      JSON.stringify(faults.queued),
      (await o.get('/events')).text,
      (await o.get('/audit-log')).text,
    ];
    const { results } = await db.prepare('select * from syncs').all();
    texts.push(JSON.stringify(results));
    for (const text of texts)
      for (const secret of ['a-value-that-is-looked-for', TOKEN]) expect(text).not.toContain(secret);
    expect(
      (results as { credentials_sealed: string | null; org_id: string }[])
        .filter(({ org_id }) => org_id === o.id)
        .map((row) => row.credentials_sealed),
    ).toEqual([null]);
  });

  slow('sync: another organisation sees, cancels and uses nothing of it', async () => {
    const o = await newOrg();
    const other = await newOrg();
    await newSecret(o, { name: 'ALPHA', value: 'a' });
    const { json } = await o.post('/integrations/sync', body);
    expect(codeOf(await other.get(`/integrations/syncs/${json.syncId}`))).toEqual([404, 'NOT_FOUND']);
    expect(codeOf(await other.post(`/integrations/syncs/${json.syncId}/cancel`))).toEqual([404, 'NOT_FOUND']);
    expect(
      (await send('GET', `/api/v1/orgs/${o.id}/integrations/syncs/${json.syncId}`, { token: other.token }))
        .status,
    ).toBe(404);
  });
});
