// What a sync reports at its end: every name that it was to send, and `completed` only if nothing failed.
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { syncs } from '../../../src/domains/syncs/gate/store';
import { GATHERED } from '../../../src/domains/syncs/gate/task';
import type { Core } from '../../../src/gate/core';
import { ciphertexts, createCiphertextCache } from '../../../src/gate/journal/ciphertexts';
import { newSession } from '../../support/credentials';
import { faults } from '../../support/faults';
import { inCore } from '../../support/gate';
import { newPolicy } from '../../support/governance/policies';
import {
  circleciConfig,
  herokuConfig,
  short,
  statusOf,
  syncAll,
  type Targets,
  useTargets,
} from '../../support/integrations/syncs';
import { newSignedIn, signIn } from '../../support/signin/browser';
import { few, slow } from '../../support/slow';
import { type Caller, newOrg, newSecret, useWorld, whoami } from '../../support/world';

useWorld();

let targets: Targets;
beforeEach(() => {
  targets = useTargets();
});
afterEach(() => vi.unstubAllGlobals());

const body = { platform: 'heroku', config: herokuConfig, environmentId: 'production' };
const SCOPES = { scopes: ['integrations:*', 'secrets:read'] };

/** A sync that stopped before it began; its status and results, and the events of syncs. */
async function stopped(o: Caller, by: Caller, stop: () => Promise<unknown>) {
  await newSecret(o, { name: 'ALPHA', value: 'a' });
  const { syncId } = (await by.post('/integrations/sync', body)).json;
  await stop();
  await syncAll(o);
  const sync = await statusOf(o, syncId);
  const kinds = (await o.get('/events?limit=100')).json.data.map(({ type }: { type: string }) => type);
  return {
    status: sync.status,
    results: short(sync),
    events: kinds.filter((kind: string) => kind.startsWith('SYNC_')),
  };
}

it('sync: one whose member was removed before it began has not completed', async () => {
  const o = await newOrg();
  const member = await signIn(o, 'admin');
  const { id } = (await whoami(member)).json;
  expect(await stopped(o, member.o, () => o.del(`/members/${id}`))).toEqual({
    status: 'failed',
    results: [],
    events: ['SYNC_FAILED'],
  });
});

slow('sync: one whose browser session ended before it began has not completed', async () => {
  const { o, browser } = await newSignedIn();
  expect(await stopped(o, browser.o, () => browser.logout())).toEqual({
    status: 'failed',
    results: ['ALPHA failed CALLER_REVOKED'],
    events: ['SYNC_FAILED'],
  });
});

it('sync: one whose session token was revoked before it began has not completed', async () => {
  const o = await newOrg();
  const session = await newSession(o, SCOPES);
  expect(await stopped(o, session.o, () => o.del(`/access-tokens/${session.id}`))).toEqual({
    status: 'failed',
    results: ['ALPHA failed CALLER_REVOKED'],
    events: ['SYNC_FAILED'],
  });
});

slow('sync: an automatic one of a connection whose creator was removed has not completed', async () => {
  const START = Date.now();
  faults.clock = START;
  const o = await newOrg();
  const member = await signIn(o, 'admin');
  const { id } = (await whoami(member)).json;
  const connection = { kind: 'sync', name: 'x', platform: 'heroku', config: herokuConfig, auto: true };
  expect((await member.o.post('/integrations', connection)).status).toBe(201);
  await o.del(`/members/${id}`);
  await newSecret(o, { name: 'ALPHA', value: 'a' });
  faults.clock = START + GATHERED;
  await syncAll(o);
  const [sync] = (await o.get('/integrations/syncs')).json.data;
  expect([sync.status, short(sync)]).toEqual(['failed', ['ALPHA failed CALLER_REVOKED']]);
  expect(targets.calls).toEqual([]);
});

/** Two secrets that do not fit one page of what a sync reads. */
async function largeSecrets(o: Caller, n: number) {
  const data = Object.fromEntries(
    Array.from({ length: n }, (_, i) => [`NAME_${String(i).padStart(3, '0')}`, 'x'.repeat(60_000)]),
  );
  for (let from = 0; from < n; from += 15) {
    const part = Object.fromEntries(Object.entries(data).slice(from, from + 15));
    const made = await o.post('/integrations/import', { source: 'svc', onConflict: 'fail', data: part });
    expect(made.status).toBe(200);
  }
  return Object.keys(data);
}

/** Runs `stop` once the first page of a sync's secrets has been read. */
async function afterFirstPage(o: Caller, stop: () => Promise<unknown>) {
  let pages = 0;
  faults.before = async (kind) => {
    if (kind !== 'read' || pages++ !== 1) return;
    await stop();
  };
  await inCore(o, (core) => ciphertexts(core).clear());
}

it.each(few(['names', 'all'], 1))(
  'sync: a secret that a policy holds once its sync has read others is in the report (%s)',
  { timeout: 60_000 },
  async (which) => {
    const o = await newOrg();
    const names = await largeSecrets(o, 150);
    const asked = await o.post('/integrations/sync', {
      ...body,
      platform: 'circleci',
      config: circleciConfig,
      ...(which === 'names' && { names }),
    });
    const config = {
      operations: ['secret.read'],
      required: 1,
      approvers: { role: 'owner' },
    };
    const applies_to = { names: ['NAME_14*'] };
    await afterFirstPage(o, () => newPolicy(o, 'approval', config, { applies_to }));
    await syncAll(o);
    const { status, results } = await statusOf(o, asked.json.syncId);
    expect([status, results.length]).toEqual(['partial', 150]);
  },
);

slow(
  'sync: a secret that was named, and is deleted once its sync has read others, is in the report',
  {
    timeout: 60_000,
  },
  async () => {
    const o = await newOrg();
    const names = await largeSecrets(o, 150);
    const { syncId } = (
      await o.post('/integrations/sync', { ...body, platform: 'circleci', config: circleciConfig, names })
    ).json;
    const { id } = (await o.get('/secrets?prefix=NAME_149')).json.data[0];
    await afterFirstPage(o, () => o.del(`/secrets/${id}`));
    await syncAll(o);
    const { status, results } = await statusOf(o, syncId);
    expect([status, results.length, results.at(-1)]).toMatchObject([
      'completed',
      150,
      { name: 'NAME_149', action: 'skipped', code: 'NOT_FOUND' },
    ]);
  },
);

slow('sync: names whose ciphertexts leave the cache for those of others are sent', async () => {
  const o = await newOrg();
  const names = ['ALPHA', 'BETA', 'GAMMA', 'DELTA'];
  for (const name of names) await newSecret(o, { name, value: name.repeat(50) });
  const { syncId } = (await o.post('/integrations/sync', body)).json;
  await inCore(o, (core) => {
    // Full, with the two that were read longest ago.
    const cache = ciphertexts(core);
    const rows = core.rows.within('secret', core.rows.find('environment', '', 'production')?.id ?? '');
    for (const row of rows) if (['GAMMA', 'DELTA'].includes(row.name)) cache.drop(row.id);
    const { n } = core.storage.sql.exec<{ n: number }>('select sum(bytes) n from seals').one();
    core.parts.set(ciphertexts, createCiphertextCache(core.storage.sql, n));
  });
  await syncAll(o);
  const { status, results } = await statusOf(o, syncId);
  expect([status, results.length, Object.keys(targets.heroku).sort()]).toEqual([
    'completed',
    4,
    [...names].sort(),
  ]);
  expect(await inCore(o, (core) => syncs(core).steps(syncId, 1))).toEqual([]);
});

it('sync: a job that another one replaced reports no failure for what it did not begin', async () => {
  const o = await newOrg();
  const data = Object.fromEntries(Array.from({ length: 20 }, (_, i) => [`NAME_${i}`, `${i}`]));
  await o.post('/integrations/import', { source: 'svc', onConflict: 'fail', data });
  const asked = { ...body, platform: 'circleci', config: circleciConfig };
  const { syncId } = (await o.post('/integrations/sync', asked)).json;
  let writes = 0;
  const release = (core: Core) => {
    syncs(core).release(syncId);
    core.schedule.at('syncs', core.now());
  };
  targets.before = async ({ method }) => {
    if (method === 'POST' && ++writes === 5) await inCore(o, release);
    // The permit of this job runs out.
    if (method === 'POST') await new Promise((resolve) => setTimeout(resolve, 150));
    return null;
  };
  await syncAll(o);
  const { status, results } = await statusOf(o, syncId);
  expect([status, results.length, Object.keys(targets.circleci).length]).toEqual(['completed', 20, 20]);
});

it('sync: a name whose answer was lost is written by the job that goes on', async () => {
  const o = await newOrg();
  await newSecret(o, { name: 'LOST', value: 'value of LOST' });
  const asked = { ...body, platform: 'circleci', config: circleciConfig };
  const { syncId } = (await o.post('/integrations/sync', asked)).json;
  let writes = 0;
  targets.before = async ({ method }) => {
    if (method !== 'POST' || ++writes > 1) return null;
    // What callers may read is judged again: the reply waits for the end of the permit.
    const config = { operations: ['secret.read'], required: 1, approvers: { role: 'owner' } };
    const policy = { name: 'others', kind: 'approval', applies_to: { names: ['OTHER'] }, config };
    expect((await o.post('/policies', policy)).status).toBe(201);
    return 'drop';
  };
  await syncAll(o);
  expect([writes, short(await statusOf(o, syncId)), targets.circleci]).toEqual([
    2,
    ['LOST created'],
    { LOST: 'value of LOST' },
  ]);
});
