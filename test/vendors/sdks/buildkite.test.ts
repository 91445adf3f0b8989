import { expect, it } from 'vitest';
import { buildkite } from '../../../src/adapters/sync/buildkite';
import { CLUSTER, startBuildkite } from '../fakes/buildkite.ts';
import { running, short, sync } from '../sync';
import { readback } from './sdk';

it.skipIf(!readback)('sync: buildkite and go-buildkite see the same secrets', async () => {
  const fake = await running(startBuildkite());
  const config = { token: fake.token, org: 'demo', clusterId: CLUSTER };
  const secrets = Object.fromEntries(Array.from({ length: 7 }, (_, i) => [`NAME_${i}`, `value ${i}`]));
  await sync(buildkite, config, fake, secrets);
  const rows: { key: string }[] = await readback?.('buildkite', fake.url, fake.token, 'demo', CLUSTER);
  expect(rows.map(({ key }) => key).sort()).toEqual(Object.keys(secrets).sort());
  // It has made THEIRS.
  expect(short(await sync(buildkite, config, fake, { THEIRS: 'ours' }))).toEqual(['THEIRS updated']);
});
