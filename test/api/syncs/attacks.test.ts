// Attacks on a sync under way: rows that were altered, callers who end while values are fetched, addresses
// that became private, and two consumers at once.
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { createSyncs } from '../../../src/domains/syncs/gate/store';
import { ciphertexts } from '../../../src/gate/journal/ciphertexts';
import { newKey } from '../../support/credentials';
import { faults } from '../../support/faults';
import { inCore, inGate } from '../../support/gate';
import {
  herokuConfig,
  short,
  statusOf,
  syncAll,
  type Targets,
  useTargets,
  workOn,
} from '../../support/integrations/syncs';
import { newOrg, newSecret, useWorld } from '../../support/world';

useWorld();

let targets: Targets;
beforeEach(() => {
  targets = useTargets();
});
afterEach(() => {
  vi.unstubAllGlobals();
  faults.variables = {};
  faults.isolate++;
});

const body = { platform: 'heroku', config: herokuConfig, environmentId: 'production' };

it('sync: a row that was altered leads nowhere', async () => {
  const o = await newOrg();
  await newSecret(o, { name: 'ALPHA', value: 'a' });
  const { syncId } = (await o.post('/integrations/sync', body)).json;
  await inCore(o, ({ rows }) => {
    const row = rows.get('sync', syncId);
    if (row) rows.put('sync', { ...row, config: { appName: 'of-the-attacker' } });
  });
  await workOn(o, syncId).catch(() => {});
  expect(targets.calls).toEqual([]);
});

it('sync: a caller who ends while values are fetched gets nothing sent', async () => {
  const o = await newOrg();
  await newSecret(o, { name: 'ALPHA', value: 'a' });
  const key = await newKey(o, { scopes: ['integrations:sync', 'secrets:read'] });
  const { syncId } = (await o.as(key.token).post('/integrations/sync', body)).json;
  // Once the plan is made the gate has no ciphertext any more, and asks D1.
  targets.before = async ({ method }) => {
    if (method === 'GET') await inCore(o, (core) => ciphertexts(core).clear());
    return null;
  };
  let reads = 0;
  faults.before = async (kind) => {
    if (kind !== 'read' || targets.calls.length === 0 || reads++ > 0) return;
    await o.del(`/api-keys/${key.id}`);
  };
  await syncAll(o);
  expect(reads).toBeGreaterThan(0);
  expect(targets.heroku).toEqual({});
  expect(short(await statusOf(o, syncId))).toEqual(['ALPHA failed CALLER_REVOKED']);
});

it('sync: a connection that leads to a private address by now is not called', async () => {
  const o = await newOrg();
  await newSecret(o, { name: 'ALPHA', value: 'a' });
  const config = {
    apiServer: 'https://cluster.example.com:6443',
    token: 'x',
    namespace: 'default',
    secretName: 'app',
  };
  const { syncId } = (
    await o.post('/integrations/sync', { platform: 'kubernetes', config, environmentId: 'production' })
  ).json;
  faults.variables = { PLATFORM_BASE_URLS: JSON.stringify({ kubernetes: 'https://10.0.0.1' }) };
  faults.isolate++;
  const { env } = await import('cloudflare:workers');
  const { runJob } = await import('../../../src/queue');
  await runJob({ ...(env as never as object), ...faults.variables } as never, {
    kind: 'job',
    job: 'sync',
    org: o.id,
    id: syncId,
  });
  expect(targets.calls).toEqual([]);
  expect(short(await statusOf(o, syncId))).toEqual(['ALPHA failed NOT_ATTEMPTED']);
});

it('sync: a lease is held by one consumer, and the next consumer knows which steps were handed out', async () => {
  const o = await newOrg();
  await inGate(o, (_gate, { storage }) => {
    const syncs = createSyncs(storage.sql);
    const first = syncs.take('syn_1', 1000);
    expect(syncs.take('syn_1', 2000)).toBe(null);
    const place = { target: 'there', environment: 'env_1', folds: false };
    const step = { name: 'A', target: 'A', kind: 'put' as const, remote: null, digest: 'd' };
    syncs.plan('syn_1', place, {
      steps: [step, { ...step, name: 'B', target: 'B' }],
      results: [],
      missing: [],
    });
    syncs.begin('syn_1', place, [step]);
    const second = syncs.take('syn_1', 10_000_000);
    expect(second).toMatchObject({ planned: true });
    expect(syncs.renew('syn_1', first?.lease as number, 10_000_001)).toBe(false);
    expect(syncs.renew('syn_1', second?.lease as number, 10_000_001)).toBe(true);
    expect(syncs.steps('syn_1', 10).map(({ name, begun }) => [name, begun])).toEqual([
      ['A', true],
      ['B', false],
    ]);
    // A report that comes twice counts once.
    const report = { name: 'A', targetName: 'A', action: 'created' as const, digest: 'd' };
    for (let i = 0; i < 2; i++) syncs.report('syn_1', place, [report]);
    expect(syncs.results('syn_1')).toHaveLength(1);
    expect(syncs.owned(place)).toEqual([{ target: 'A', name: 'A', digest: 'd' }]);
    syncs.forget('syn_1');
    syncs.forgetEnvironment('env_1');
  });
});
