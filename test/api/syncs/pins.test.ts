// What a sync rests on: a connection that is changed, or a secret or policy that is changed after an
// approval, stops what was started.
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { newKey } from '../../support/credentials';
import { faults } from '../../support/faults';
import { approvalIn, approve, newApprovalPolicy, newOffice, under } from '../../support/governance/approvals';
import {
  askedFor,
  herokuConfig,
  short,
  statusOf,
  syncAll,
  type Targets,
  TOKEN,
  useTargets,
  workOn,
} from '../../support/integrations/syncs';
import { slow } from '../../support/slow';
import { type Caller, codeOf, newOrg, newSecret, useWorld } from '../../support/world';

useWorld();

let targets: Targets;
beforeEach(() => {
  targets = useTargets();
});
afterEach(() => vi.unstubAllGlobals());

const MISMATCH = [409, 'APPROVAL_MISMATCH'];
const STOPPED = ['HELD failed NOT_ATTEMPTED'];
const connection = { kind: 'sync', platform: 'heroku', name: 'app', config: herokuConfig };
const moved = { config: { appName: 'attacker', token: TOKEN } };

/** A held secret, a connection, and a key that may sync by it; an approval of the sync, given. */
async function newApprovedSync() {
  const { o, ann, bob } = await newOffice();
  const asked = o.as(
    (await newKey(bob.o, { scopes: ['integrations:*', 'secrets:*', 'approvals:read'] })).token,
  );
  const secret = await newSecret(o, { name: 'HELD', value: 'held' });
  const { id: integrationId } = (await o.post('/integrations', connection)).json;
  const policy = await newApprovalPolicy(o, ['secret.read']);
  const body = { integrationId, environmentId: 'production' };
  const { id } = approvalIn(await asked.post('/integrations/sync', body));
  expect((await approve(ann, id)).status).toBe(200);
  const use = () => asked.post('/integrations/sync', body, under(id));
  return {
    o,
    secret,
    policy,
    use,
    patch: (fields: object) => asked.patch(`/integrations/${integrationId}`, fields),
  };
}

describe('sync: what it rests on', () => {
  slow('sync: a connection that was changed between approval and use makes the approval void', async () => {
    const { o, use, patch } = await newApprovedSync();
    expect((await patch(moved)).status).toBe(200);
    expect(codeOf(await use())).toEqual(MISMATCH);
    await syncAll(o);
    expect(targets.calls).toEqual([]);
  });

  it('sync: a connection that was changed between use and sending stops the sync', async () => {
    const { o, use, patch } = await newApprovedSync();
    const { syncId } = (await use()).json;
    expect((await patch(moved)).status).toBe(200);
    await syncAll(o);
    expect(targets.calls).toEqual([]);
    const stopped = await statusOf(o, syncId);
    expect([stopped.status, short(stopped)]).toEqual(['failed', STOPPED]);
    expect(stopped.results[0].message).toContain('connection was changed');
  });

  it('sync: a held secret that was changed between use and sending is not sent', async () => {
    const { o, secret, use } = await newApprovedSync();
    const { syncId } = (await use()).json;
    expect((await o.patch(`/secrets/${secret.id}`, { value: 'another' })).status).toBe(200);
    await syncAll(o);
    expect([short(await statusOf(o, syncId)), targets.heroku]).toEqual([STOPPED, {}]);
  });

  it('sync: a policy that was changed between use and sending holds its secrets', async () => {
    const { o, policy, use } = await newApprovedSync();
    const { syncId } = (await use()).json;
    expect((await o.patch(`/policies/${policy}`, { applies_to: { environments: null } })).status).toBe(200);
    await syncAll(o);
    expect([short(await statusOf(o, syncId)), targets.heroku]).toEqual([STOPPED, {}]);
  });

  slow('sync: a connection that is changed while a sync is writing stops it', async () => {
    const o = await newOrg();
    for (const name of ['ALPHA', 'BETA']) await newSecret(o, { name, value: name });
    const { id } = (await o.post('/integrations', connection)).json;
    const { syncId } = (
      await o.post('/integrations/sync', { integrationId: id, environmentId: 'production' })
    ).json;
    targets.before = async ({ method }) => {
      if (method === 'GET')
        expect((await o.patch(`/integrations/${id}`, { name: 'renamed' })).status).toBe(200);
      return null;
    };
    await syncAll(o);
    expect(targets.writes()).toEqual([]);
    expect((await statusOf(o, syncId)).results.map(({ code }: { code: string }) => code)).toEqual([
      'NOT_ATTEMPTED',
      'NOT_ATTEMPTED',
    ]);
  });

  slow(
    'sync: an automatic sync of a connection that was changed meanwhile stops, and begins again as the connection says now',
    async () => {
      const o = await newOrg();
      const { id } = (await o.post('/integrations', { ...connection, auto: true, prune: true })).json;
      await newSecret(o, { name: 'ALPHA', value: 'a' });
      faults.clock = Date.now() + 10_000;
      await begin(o);
      expect((await o.patch(`/integrations/${id}`, { ...moved, prune: false })).status).toBe(200);
      await syncAll(o);
      const syncs = (await o.get('/integrations/syncs')).json.data;
      expect(syncs.map(({ status }: { status: string }) => status)).toEqual(['completed', 'failed']);
      expect(new Set(targets.calls.map(({ path }) => path))).toEqual(new Set(['/apps/attacker/config-vars']));
    },
  );
});

/** Starts the automatic syncs that are due, and works on none. */
async function begin(o: Caller): Promise<void> {
  for (const id of await askedFor(o)) if (id === null) await workOn(o, null);
  expect((await o.get('/integrations/syncs')).json.data).toHaveLength(1);
}
