import { expect, it } from 'vitest';
import { hcpTerraform } from '../../../src/adapters/sync/hcp-terraform';
import { startHcpTerraform } from '../fakes/hcp-terraform.ts';
import { running, short, sync } from '../sync';
import { readback } from './sdk';

it.skipIf(!readback)('sync: hcp-terraform and go-tfe see the same variables', async () => {
  const fake = await running(startHcpTerraform());
  fake.paging = 'meta';
  const config = { token: fake.token, workspaceId: 'ws-demo' };
  const secrets = Object.fromEntries(Array.from({ length: 7 }, (_, i) => [`NAME_${i}`, `value ${i}`]));
  await sync(hcpTerraform, config, fake, secrets);
  await sync(hcpTerraform, { token: fake.token, varsetId: 'varset-demo', category: 'terraform' }, fake, {
    region: 'eu',
  });
  const rows: { key: string }[] = await readback?.(
    'hcp-terraform',
    fake.url,
    fake.token,
    'ws-demo',
    'varset-demo',
  );
  expect(rows.sort((a, b) => (a.key < b.key ? -1 : 1))).toEqual([
    ...Object.keys(secrets).map((key) => ({ key, category: 'env', sensitive: true })),
    { key: 'region', category: 'terraform', sensitive: true },
  ]);
  // It has made THEIRS, which is not sensitive.
  expect(short(await sync(hcpTerraform, config, fake, { THEIRS: 'theirs' }))).toEqual(['THEIRS updated']);
});
