// Prune over HTTP: it deletes only names that this service was the last to write to a target, from the same
// environment.
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import {
  circleciConfig,
  herokuConfig,
  short,
  statusOf,
  syncAll,
  synced,
  type Targets,
  useTargets,
} from '../../support/integrations/syncs';
import { slow } from '../../support/slow';
import { type Caller, newOrg, newSecret, useWorld } from '../../support/world';

useWorld();

let targets: Targets;
beforeEach(() => {
  targets = useTargets();
});
afterEach(() => vi.unstubAllGlobals());

const platforms = {
  // It returns values.
  heroku: { platform: 'heroku', config: herokuConfig },
  // It masks them.
  circleci: { platform: 'circleci', config: circleciConfig },
} as const;
type Platform = keyof typeof platforms;
const both = Object.keys(platforms) as Platform[];

/** Secrets of an environment, by name. */
async function filled(o: Caller, environment: string, ...names: string[]) {
  const secrets = new Map<string, string>();
  for (const name of names)
    secrets.set(name, (await newSecret(o, { name, value: `${name} of ${environment}`, environment })).id);
  return {
    remove: async (name: string) => expect((await o.del(`/secrets/${secrets.get(name)}`)).status).toBe(204),
  };
}
const at = (platform: Platform, environmentId: string, fields: Record<string, unknown> = {}) => ({
  ...platforms[platform],
  environmentId,
  ...fields,
});

describe.each(both)('sync: prune at %s', (platform) => {
  it('sync: a name that a listing showed missing is not ours any more, whoever makes it anew', async () => {
    const o = await newOrg();
    const { remove } = await filled(o, 'production', 'ALPHA', 'BETA');
    await synced(o, at(platform, 'production'));
    await remove('BETA');
    const { BETA, ...rest } = targets[platform];
    targets[platform] = rest;
    // A dry run leaves no trace in what counts as written; a sync does, also one of another environment.
    await o.post('/integrations/sync', at(platform, 'production', { dryRun: true }));
    targets[platform] = { ...rest, BETA: BETA as string };
    expect(
      short(
        (await o.post('/integrations/sync', at(platform, 'production', { dryRun: true, prune: true }))).json,
      ),
    ).toContain('BETA deleted');
    targets[platform] = rest;
    await synced(o, at(platform, 'staging'));
    targets[platform] = { ...rest, BETA: BETA as string };
    expect(
      short(
        (await o.post('/integrations/sync', at(platform, 'production', { dryRun: true, prune: true }))).json,
      ),
    ).toEqual(['ALPHA unchanged']);
    expect(short(await synced(o, at(platform, 'production', { prune: true })))).toEqual(['ALPHA unchanged']);
    expect(targets[platform]).toHaveProperty('BETA');
  });

  it('sync: a name that is ours again after it was missing is pruned', async () => {
    const o = await newOrg();
    const { remove } = await filled(o, 'production', 'ALPHA', 'BETA');
    await synced(o, at(platform, 'production'));
    targets[platform] = {};
    expect(short(await synced(o, at(platform, 'production')))).toEqual(['ALPHA created', 'BETA created']);
    await remove('BETA');
    expect(short(await synced(o, at(platform, 'production', { prune: true })))).toEqual([
      'ALPHA unchanged',
      'BETA deleted',
    ]);
  });

  it('sync: if two environments have one target, the last writer owns a name, and the other deletes nothing', async () => {
    const o = await newOrg();
    const production = await filled(o, 'production', 'SHARED', 'OF_PROD');
    const staging = await filled(o, 'staging', 'SHARED', 'OF_STAGING');
    await synced(o, at(platform, 'production'));
    await synced(o, at(platform, 'staging'));
    await production.remove('SHARED');
    expect(short(await synced(o, at(platform, 'production', { prune: true })))).toEqual([
      'OF_PROD unchanged',
    ]);
    expect(targets[platform]).toMatchObject({ SHARED: 'SHARED of staging' });
    await staging.remove('SHARED');
    await staging.remove('OF_STAGING');
    expect(short(await synced(o, at(platform, 'production', { prune: true })))).toEqual([
      'OF_PROD unchanged',
    ]);
    expect(short(await synced(o, at(platform, 'staging', { prune: true })))).toEqual([
      'OF_STAGING deleted',
      'SHARED deleted',
    ]);
    expect(Object.keys(targets[platform])).toEqual(['OF_PROD']);
  });

  it('sync: a name that another environment wants is not deleted, although its write failed or was not needed', async () => {
    const o = await newOrg();
    const production = await filled(o, 'production', 'SHARED');
    await synced(o, at(platform, 'production'));
    await newSecret(o, { name: 'SHARED', value: 'SHARED of production', environment: 'staging' });
    // At a target that masks values it is written, and the answer is lost.
    targets.after = ({ method }) => (method === 'POST' ? 'drop' : null);
    await synced(o, at(platform, 'staging'));
    targets.after = null;
    await production.remove('SHARED');
    expect(short(await synced(o, at(platform, 'production', { prune: true })))).toEqual([]);
    expect(targets[platform]).toHaveProperty('SHARED');
  });
});

slow('sync: a value that somebody else has written since is not deleted', async () => {
  const o = await newOrg();
  const { remove } = await filled(o, 'production', 'ALPHA', 'BETA');
  await synced(o, at('heroku', 'production'));
  for (const name of ['ALPHA', 'BETA']) await remove(name);
  targets.heroku.BETA = 'of somebody else';
  expect(
    short(
      (await o.post('/integrations/sync', at('heroku', 'production', { dryRun: true, prune: true }))).json,
    ),
  ).toEqual(['ALPHA deleted']);
  expect(short(await synced(o, at('heroku', 'production', { prune: true })))).toEqual(['ALPHA deleted']);
  expect(targets.heroku).toEqual({ BETA: 'of somebody else' });
});

it('sync: two environments on one target run one after the other, so that no plan is overtaken', async () => {
  const o = await newOrg();
  const production = await filled(o, 'production', 'SHARED');
  await synced(o, at('circleci', 'production'));
  await production.remove('SHARED');
  await filled(o, 'staging', 'SHARED');
  const ask = async (environmentId: string) =>
    (await o.post('/integrations/sync', at('circleci', environmentId, { prune: true }))).json
      .syncId as string;
  const ids = [await ask('staging'), await ask('production')];
  await syncAll(o);
  expect(await Promise.all(ids.map(async (id) => short(await statusOf(o, id))))).toEqual([
    ['SHARED updated'],
    [],
  ]);
  expect(targets.circleci).toEqual({ SHARED: 'SHARED of staging' });
});

slow('sync: a name that was found equal where values are read one by one is not deleted', async () => {
  const o = await newOrg();
  const { remove } = await filled(o, 'production', 'ALPHA');
  let value: object = { SecretString: 'ALPHA of production' };
  const asked: string[] = [];
  targets.before = ({ headers }) => {
    const operation = headers.get('x-amz-target')?.split('.')[1] ?? '';
    asked.push(operation);
    return Response.json(operation === 'ListSecrets' ? { SecretList: [{ Name: 'ALPHA' }] } : value);
  };
  const keys = { accessKeyId: 'AKIA', secretAccessKey: 'x', region: 'eu-west-1' };
  const run = { platform: 'aws-secrets-manager', config: { ...keys, prefix: '' }, prune: true };
  expect(short(await synced(o, run))).toEqual(['ALPHA unchanged']);
  await remove('ALPHA');
  // It has no text any more that could be compared.
  value = { SecretBinary: 'AAAA' };
  expect(short(await synced(o, run))).toEqual([]);
  expect(asked).not.toContain('DeleteSecret');
});
